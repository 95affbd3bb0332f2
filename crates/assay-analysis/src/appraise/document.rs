//! The document of an appraisal, as `assay appraise --format json` prints it.

use std::collections::BTreeMap;

use assay_stats::{Reason, VerdictKind};
use assay_store::ToolResults;
use serde::Serialize;

/// An appraisal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Appraisal {
    /// [`super::APPRAISAL_SCHEMA`].
    pub schema: &'static str,
    /// Where the results come from.
    pub source: AppraisedSource,
    /// What the tool says, of the first comparison.
    pub theirs: TheirFigures,
    /// What the results support, of the first comparison.
    pub ours: OurFigures,
    /// What is not comparable, or not known.
    pub warnings: Vec<AppraisalWarning>,
    /// What the results contain and the appraisal does not use.
    pub unused: Vec<String>,
    /// The cheapest next step.
    pub next: AppraisalStep,
    /// Why a value is null, by its path.
    pub missing: BTreeMap<String, String>,
    /// Whether the skill was opened, where that is known.
    pub exposure: Option<ExposureFigures>,
    /// What single checks decided, the largest difference between the arms first.
    pub checks: Vec<AppraisedCheck>,
    /// The equivalence margin.
    pub margin: f64,
    /// All comparisons; the first one is above.
    pub comparisons: Vec<AppraisedComparison>,
}

/// The origin of results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AppraisedSource {
    /// The format.
    pub format: String,
    /// The program that wrote them.
    pub tool: String,
    /// Its version.
    pub version: Option<String>,
    /// What was evaluated.
    pub subject: Option<String>,
    /// The files.
    pub files: Vec<String>,
}

/// What the tool says.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TheirFigures {
    /// Its difference.
    pub delta: Option<f64>,
    /// Its verdict.
    pub verdict: Option<String>,
    /// The difference by its own rule, recomputed from the attempts; `None` if they are not in the file.
    pub recomputed: Option<f64>,
    /// What it measures.
    pub measure: Option<String>,
}

/// What the results support.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct OurFigures {
    /// The mean over cases of the difference between the arms.
    pub lift: Option<f64>,
    /// Its 95% interval.
    pub ci95: Option<[f64; 2]>,
    /// `helps`, `harms`, `negligible` or `inconclusive`.
    pub verdict: Option<&'static str>,
    /// Why: `design`, `noise` or `losses` if it is inconclusive, `never-opened`, `no-baseline`, `rates-only`.
    pub reason: Option<&'static str>,
    /// Cases under both arms.
    pub tasks: usize,
    /// Attempts of each case under each arm, if all have as many.
    pub repetitions: Option<usize>,
    /// The fewest and the most of them.
    pub repetitions_range: Option<[usize; 2]>,
    /// The probability that this design detects a lift of the margin's size.
    pub power: Option<f64>,
    /// The smallest lift that it detects with 80% power.
    pub mde: Option<f64>,
    /// Cases that detect a lift of this size, or of the margin's if that is larger, with 80% power at the observed variance.
    pub tasks_needed: Option<usize>,
    /// Run-to-run noise: how far the baseline is from itself, at the 95th percentile.
    pub noise: Option<f64>,
    /// The arms' mean scores over cases.
    pub arms: Vec<AppraisedArm>,
    /// Attempts that errored or were skipped, which count as no result.
    pub lost: LostAttempts,
    /// The narrowest and the widest 95% interval that the rates allow, if scores of cases are not known.
    pub ci95_bounds: Option<[[f64; 2]; 2]>,
}

/// One arm of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct AppraisedArm {
    /// Its name.
    pub name: String,
    /// Its mean score over cases.
    pub score: Option<f64>,
    /// The 95% interval of that mean.
    pub ci95: Option<[f64; 2]>,
    /// Attempts with a score that counts.
    pub attempts: usize,
    /// Its models.
    pub models: Vec<String>,
    /// Mean cost of an attempt with its judges in US dollars.
    pub cost_usd: Option<f64>,
}

/// Attempts without a result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LostAttempts {
    /// Of the arm.
    pub arm: usize,
    /// Of the baseline.
    pub baseline: usize,
}

/// One comparison.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct AppraisedComparison {
    /// Whose it is, such as an agent's; empty if there is one only.
    pub label: String,
    /// What the tool says.
    pub theirs: TheirFigures,
    /// What the results support.
    pub ours: OurFigures,
}

/// Something that is not comparable, or not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AppraisalWarning {
    /// A stable word for programs.
    pub code: String,
    /// A sentence.
    pub text: String,
}

/// The cheapest next step.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct AppraisalStep {
    /// A command, if one does it.
    pub command: Option<String>,
    /// Attempts that it takes.
    pub trials: Option<usize>,
    /// What they cost at the mean cost of those in the file.
    pub cost_usd: Option<f64>,
    /// What to do, in a sentence.
    pub text: String,
}

/// What one check decided, over all cases that have it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct AppraisedCheck {
    /// Its name.
    pub name: String,
    /// Whether a model decided.
    pub judged: bool,
    /// How often it passed under the arm, and of how many.
    pub arm: [usize; 2],
    /// The same under the baseline.
    pub baseline: [usize; 2],
    /// The reason of the first failure under the arm.
    pub reason: Option<String>,
}

/// How often the skill was opened.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ExposureFigures {
    /// Attempts with the skill.
    pub attempts: usize,
    /// Those of which it is known.
    pub known: usize,
    /// Those that opened it.
    pub opened: usize,
    /// Cases.
    pub tasks: usize,
    /// Cases in which at least one attempt opened it.
    pub tasks_opened: usize,
    /// The bound of |lift| at 95%, if exposure is known in every attempt.
    pub bound: Option<f64>,
}

/// The word of a verdict's reason.
pub(super) fn reason_word(reason: Reason) -> &'static str {
    match reason {
        Reason::Design => "design",
        Reason::Losses => "losses",
        Reason::Noise => "noise",
        Reason::Judge => "judge",
        Reason::NotDelivered => "not-delivered",
    }
}

/// The word of a verdict.
pub(super) fn verdict_word(kind: VerdictKind) -> &'static str {
    kind.word()
}

/// Says of every null why it is one.
pub(super) fn explain_missing(
    missing: &mut BTreeMap<String, String>,
    first: &AppraisedComparison,
    next: &AppraisalStep,
    results: &ToolResults,
) {
    let mut say = |path: &str, absent: bool, why: &str| {
        if absent {
            missing.insert(path.to_owned(), why.to_owned());
        }
    };
    let (ours, theirs) = (&first.ours, &first.theirs);
    let rates = results.attempts.is_empty();
    let no_baseline = ours.reason == Some("no-baseline");
    let why = |otherwise: &'static str| match (no_baseline, rates) {
        (true, _) => "there is no baseline to compare with",
        (_, true) => "the file has rates and no scores of cases",
        _ => otherwise,
    };
    say("source.version", results.source.version.is_none(), "the file does not say");
    say(
        "theirs.delta",
        theirs.delta.is_none(),
        if no_baseline { "there is no baseline to compare with" } else { "the tool prints none" },
    );
    say("theirs.verdict", theirs.verdict.is_none(), "the tool gives none");
    say("ours.lift", ours.lift.is_none(), why("no case has a result under both arms"));
    say("ours.ci95", ours.ci95.is_none(), why("no case has a result under both arms"));
    say("ours.verdict", ours.verdict.is_none(), why("no case has a result under both arms"));
    say("ours.reason", ours.reason.is_none(), "a verdict of this kind needs none");
    let unequal = if rates { "the file does not say" } else { "cases have different numbers of attempts" };
    say("ours.repetitions", ours.repetitions.is_none(), unequal);
    say("ours.power", ours.power.is_none(), why("the variance between cases is not known"));
    say("ours.mde", ours.mde.is_none(), why("under 5 cases no lift can be detected"));
    say("ours.noise", ours.noise.is_none(), why("no case has two baseline attempts"));
    let no_step = "no command does it";
    say("next.command", next.command.is_none(), no_step);
    say("next.trials", next.trials.is_none(), "it takes no number of trials that can be known");
    let cost = if next.trials.is_none() {
        "it takes no number of trials that can be known"
    } else {
        "the file has no cost of an attempt under each arm"
    };
    say("next.cost_usd", next.cost_usd.is_none(), cost);
}
