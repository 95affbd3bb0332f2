//! The decision of a gate as text, Markdown, JSON and JUnit.

mod comment;
mod junit;

use std::path::Path;

use assay_analysis::RecordOrigins;
use assay_gate::{Change, Decision, Reference};
use assay_report::clean;
use serde::Serialize;

use super::checks::CheckChanges;
use super::cost::Forecast;
use crate::args::gate::GateArgs;
use crate::failure::Failure;
use crate::machine;

/// Paths of changed rules that are printed.
const PATHS: usize = 8;

/// The word of a gate or of a skill, from the best to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) enum Word {
    /// Nothing changed that a rule covers.
    #[serde(rename = "nothing to decide")]
    Nothing,
    /// It meets the policy.
    #[serde(rename = "pass")]
    Pass,
    /// Neither that it meets the policy is shown, nor that it does not.
    #[serde(rename = "undecided")]
    Undecided,
    /// There is no decision: something is missing.
    #[serde(rename = "blocked")]
    Blocked,
    /// It does not meet the policy.
    #[serde(rename = "fail")]
    Fail,
}

impl Word {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Nothing => "nothing to decide",
            Self::Pass => "pass",
            Self::Undecided => "undecided",
            Self::Blocked => "blocked",
            Self::Fail => "fail",
        }
    }

    /// Whether a gate that says it exits with 0.
    pub(super) fn is_green(self) -> bool {
        matches!(self, Self::Nothing | Self::Pass)
    }
}

/// The decision on a skill.
#[derive(Debug, Clone, Serialize)]
pub(super) struct SkillRow {
    /// Its folder, relative to the policy's.
    pub(super) skill: String,
    /// The name of the tasks that it is measured by, whatever it is called.
    pub(super) lineage: Option<String>,
    /// What the pull request does to it.
    pub(super) change: Change,
    /// Where it was, if it was moved or renamed.
    pub(super) from: Option<String>,
    pub(super) changed: bool,
    #[serde(rename = "decision")]
    pub(super) verdict: Word,
    /// Whether it does not change the exit status.
    pub(super) warn: bool,
    pub(super) reason: String,
    pub(super) trials_executed: usize,
    pub(super) trials_reused: usize,
    #[serde(rename = "claim")]
    pub(super) require: Option<&'static str>,
    pub(super) run: Option<String>,
    pub(super) lift: Option<f64>,
    /// The CI of the lift at the level of the decision.
    pub(super) interval: Option<[f64; 2]>,
    /// What the lift must be above.
    pub(super) bound: Option<f64>,
    /// Which version of the lineage it is since the last merge, from 1.
    pub(super) version: Option<u32>,
    pub(super) look: Option<u32>,
    #[serde(flatten)]
    pub(super) decision: Option<Decision>,
    /// The version that it may not fall behind.
    pub(super) reference_version: Option<Reference>,
    /// The probability that an equal version passes.
    pub(super) power_equal: Option<f64>,
    pub(super) tasks: Option<usize>,
    /// What the executed trials cost.
    pub(super) cost_usd: Option<f64>,
    pub(super) checks: CheckChanges,
    /// What the records of the run prove about where they come from.
    pub(super) keys: Option<RecordOrigins>,
    pub(super) notes: Vec<String>,
}

impl SkillRow {
    /// Where it was, before the reason.
    fn moved(&self) -> String {
        self.from.as_ref().map_or(String::new(), |from| {
            let word = if self.change == Change::Renamed { "renamed" } else { "moved" };
            format!("{word} from {}: ", clean(from))
        })
    }
}

/// The looks that are counted.
#[derive(Debug, Default, Serialize)]
pub(super) struct LedgerSummary {
    /// How many the ledger has.
    pub(super) looks: usize,
    /// Where it is kept; `null` if no look is counted.
    #[serde(rename = "where")]
    pub(super) place: Option<String>,
}

/// The decision of a gate.
#[derive(Debug, Serialize)]
pub(super) struct Document {
    pub(super) schema: &'static str,
    pub(super) policy: String,
    pub(super) policy_hash: String,
    pub(super) commit: Option<String>,
    pub(super) changed_since: Option<String>,
    #[serde(rename = "decision")]
    pub(super) verdict: Word,
    pub(super) skills: Vec<SkillRow>,
    /// Paths of rules that the pull request changes.
    pub(super) rules_changed: Vec<String>,
    /// Those that are not applied.
    pub(super) untrusted: Vec<String>,
    /// How the pull request's rules demand less.
    pub(super) weakened: Vec<String>,
    pub(super) ledger: LedgerSummary,
    /// What the trials were expected to cost; `null` if none was planned.
    pub(super) forecast: Option<Forecast>,
    /// Where the trials can be seen.
    pub(super) view_url: Option<String>,
    pub(super) notes: Vec<String>,
}

impl Document {
    /// Changed rules that apply.
    fn applied(&self) -> Vec<String> {
        self.rules_changed.iter().filter(|path| !self.untrusted.contains(path)).cloned().collect()
    }

    /// For a terminal.
    pub(super) fn text(&self) -> String {
        let mut text = format!("Policy: {} ({})\n", clean(&self.policy), self.policy_hash);
        if let Some(forecast) = &self.forecast {
            text.push_str(&format!("{}\n", forecast.words()));
        }
        for note in &self.notes {
            text.push_str(&format!("! {}\n", clean(note)));
        }
        for weaker in &self.weakened {
            text.push_str(&format!("Weaker than at the base revision: {}\n", clean(weaker)));
        }
        for (paths, what) in [(&self.untrusted, "not applied"), (&self.applied(), "applied")] {
            if !paths.is_empty() {
                let shown: Vec<String> = paths.iter().take(PATHS).map(|path| clean(path)).collect();
                let more = paths.len().saturating_sub(PATHS);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                text.push_str(&format!("Rules changed, {what}: {}{more}\n", shown.join(", ")));
            }
        }
        let width = self.skills.iter().map(|row| row.skill.chars().count()).max().unwrap_or(0);
        for row in &self.skills {
            let skill = clean(&row.skill);
            text.push_str(&format!(
                "\n {:<9}  {skill:<width$}  {}{}\n",
                row.verdict.word(),
                row.moved(),
                clean(&row.reason)
            ));
            if row.changed && row.run.is_some() {
                text.push_str(&format!(
                    "   trials: {} executed, {} reused; checks: {}\n",
                    row.trials_executed,
                    row.trials_reused,
                    row.checks.summary()
                ));
            }
            for check in &row.checks.newly_failing {
                text.push_str(&format!("   newly failing: {}\n", clean(check)));
            }
            for note in &row.notes {
                text.push_str(&format!("   {}\n", clean(note)));
            }
        }
        text.push_str(&format!("\nGate: {}\n", self.verdict.word()));
        text
    }
}

/// Writes the files that were asked for, and the summary of a GitHub workflow step.
fn write_files(
    args: &GateArgs,
    comment: &str,
    junit: Result<String, quick_junit::SerializeError>,
) -> Result<(), Failure> {
    if let Some(path) = &args.junit {
        write(path, &junit.map_err(|error| Failure::infrastructure(error.to_string()))?, false)?;
    }
    if let Some(path) = &args.comment {
        write(path, comment, false)?;
    }
    if let Some(path) = machine::env("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) {
        write(Path::new(&path), comment, true)?;
    }
    Ok(())
}

/// Writes the files of a gate that decided.
pub(super) fn write_decision(document: &Document, args: &GateArgs) -> Result<(), Failure> {
    write_files(args, &document.comment(), document.junit())
}

/// Writes the files of a gate that was refused or could not go on: an older comment must not go on saying otherwise.
pub(super) fn write_failure(failure: &Failure, args: &GateArgs) -> Result<(), Failure> {
    let (word, hint) = match failure {
        Failure::BadInput { hint, .. } => ("refused", hint.as_deref()),
        Failure::Infrastructure { hint, .. } => ("blocked", hint.as_deref()),
        Failure::BrokenPipe => return Ok(()),
    };
    let mut message = failure.to_string();
    let mut cause = std::error::Error::source(failure);
    while let Some(error) = cause {
        message.push_str(&format!(": {error}"));
        cause = error.source();
    }
    write_files(args, &comment::refused(word, &message, hint), junit::refused(&message))
}

fn write(path: &Path, text: &str, append: bool) -> Result<(), Failure> {
    let written = std::fs::OpenOptions::new()
        .create(true)
        .write(true)
        .append(append)
        .truncate(!append)
        .open(path)
        .and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
    written.map_err(|error| Failure::infrastructure(format!("cannot write {}: {error}", path.display())))
}
