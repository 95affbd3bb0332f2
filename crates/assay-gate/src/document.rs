//! The decision of a gate as text, Markdown, JSON and JUnit.

mod comment;
mod junit;

use assay_analysis::RecordOrigins;
use assay_report::clean;
use serde::Serialize;

pub use self::comment::refused_comment;
pub use self::junit::refused_junit;
use crate::checks::CheckChanges;
use crate::cost::CostForecast;
use crate::decide::{Decision, Outcome};
use crate::evaluation::Change;
use crate::ledger::Reference;

/// Paths of changed rules that are printed.
const PATHS: usize = 8;

/// The word of a gate or of a skill, from the best to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum GateVerdict {
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

impl GateVerdict {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Nothing => "nothing to decide",
            Self::Pass => "pass",
            Self::Undecided => "undecided",
            Self::Blocked => "blocked",
            Self::Fail => "fail",
        }
    }

    /// Whether a gate that says it exits with 0.
    pub(crate) fn is_green(self) -> bool {
        matches!(self, Self::Nothing | Self::Pass)
    }
}

impl From<Outcome> for GateVerdict {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Pass => Self::Pass,
            Outcome::Undecided => Self::Undecided,
            Outcome::Fail => Self::Fail,
        }
    }
}

/// The decision on a skill.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SkillRow {
    /// Its folder, relative to the policy's.
    pub(crate) skill: String,
    /// The name of the tasks that it is measured by, whatever it is called.
    pub(crate) lineage: Option<String>,
    /// What the pull request does to it.
    pub(crate) change: Change,
    /// Where it was, if it was moved or renamed.
    pub(crate) from: Option<String>,
    pub(crate) changed: bool,
    #[serde(rename = "decision")]
    pub(crate) verdict: GateVerdict,
    /// Whether it does not change the exit status.
    pub(crate) warn: bool,
    pub(crate) reason: String,
    pub(crate) trials_executed: usize,
    pub(crate) trials_reused: usize,
    #[serde(rename = "claim")]
    pub(crate) require: Option<&'static str>,
    pub(crate) run: Option<String>,
    pub(crate) lift: Option<f64>,
    /// The CI of the lift at the level of the decision.
    pub(crate) interval: Option<[f64; 2]>,
    /// What the lift must be above.
    pub(crate) bound: Option<f64>,
    /// Which version of the lineage it is since the last merge, from 1.
    pub(crate) version: Option<u32>,
    pub(crate) look: Option<u32>,
    #[serde(flatten)]
    pub(crate) decision: Option<Decision>,
    /// The version that it may not fall behind.
    pub(crate) reference_version: Option<Reference>,
    /// The probability that an equal version passes.
    pub(crate) power_equal: Option<f64>,
    pub(crate) tasks: Option<usize>,
    /// What the executed trials cost.
    pub(crate) cost_usd: Option<f64>,
    pub(crate) checks: CheckChanges,
    /// What the records of the run prove about where they come from.
    pub(crate) keys: Option<RecordOrigins>,
    pub(crate) notes: Vec<String>,
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
pub(crate) struct LedgerSummary {
    /// How many the ledger has.
    pub(crate) looks: usize,
    /// Where it is kept; `null` if no look is counted.
    #[serde(rename = "where")]
    pub(crate) place: Option<String>,
}

/// The decision of a gate.
#[derive(Debug, Serialize)]
pub struct GateDocument {
    pub(crate) schema: &'static str,
    pub(crate) policy: String,
    pub(crate) policy_hash: String,
    pub(crate) commit: Option<String>,
    pub(crate) changed_since: Option<String>,
    #[serde(rename = "decision")]
    pub(crate) verdict: GateVerdict,
    pub(crate) skills: Vec<SkillRow>,
    /// Paths of rules that the pull request changes.
    pub(crate) rules_changed: Vec<String>,
    /// Those that are not applied.
    pub(crate) untrusted: Vec<String>,
    /// How the pull request's rules demand less.
    pub(crate) weakened: Vec<String>,
    pub(crate) ledger: LedgerSummary,
    /// What the trials were expected to cost; `null` if none was planned.
    pub(crate) forecast: Option<CostForecast>,
    /// Where the trials can be seen.
    pub(crate) view_url: Option<String>,
    pub(crate) notes: Vec<String>,
}

impl GateDocument {
    /// Changed rules that apply.
    fn applied(&self) -> Vec<String> {
        self.rules_changed.iter().filter(|path| !self.untrusted.contains(path)).cloned().collect()
    }

    /// The verdict that the exit status reports: what is only reported does not count.
    pub fn exit_verdict(&self) -> GateVerdict {
        if self.verdict == GateVerdict::Blocked {
            return GateVerdict::Blocked;
        }
        let counted = self.skills.iter().filter(|row| !row.warn).map(|row| row.verdict);
        counted.max().unwrap_or(GateVerdict::Nothing)
    }

    /// For a terminal.
    pub fn to_text(&self) -> String {
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
                    row.checks.summarize()
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
