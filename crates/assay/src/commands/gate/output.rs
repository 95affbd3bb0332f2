//! The decision of a gate as text, Markdown, JSON and JUnit.

use assay_analysis::RecordOrigins;
use assay_gate::{Change, Decision};
use assay_report::{clean, counted};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use serde::Serialize;

use super::checks::CheckChanges;

/// The lines of a comment at most.
const LINES: usize = 15;

/// Paths of changed rules that are printed.
const PATHS: usize = 8;

/// By this an older comment is found and replaced.
const MARK: &str = "<!-- assay gate -->";

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

    /// At most 15 lines for a pull request, skills that changed first.
    pub(super) fn comment(&self) -> String {
        let mut lines =
            vec![MARK.to_owned(), format!("**assay gate: {}**", self.verdict.word()), String::new()];
        let weaker =
            self.weakened.iter().take(3).map(|weaker| format!("- Weaker policy: {}", markdown(weaker)));
        lines.extend(weaker);
        let rows: Vec<&SkillRow> = self.skills.iter().filter(|row| row.changed).collect();
        let end = format!(
            "Policy `{}`, {} changed, {} unchanged.",
            self.policy_hash.get(..19).unwrap_or(&self.policy_hash),
            counted(rows.len(), "skill", "skills"),
            self.skills.len() - rows.len()
        );
        if rows.is_empty() {
            lines.push(end);
            return lines.join("\n") + "\n";
        }
        lines.extend(["| skill | verdict | why |".to_owned(), "|---|---|---|".to_owned()]);
        let left = LINES - lines.len() - 3;
        for row in rows.iter().take(left) {
            lines.push(format!(
                "| {} | {} | {} |",
                markdown(&row.skill),
                row.verdict.word(),
                markdown(&row.reason)
            ));
        }
        if rows.len() > left {
            lines.push(format!("| and {} more | | |", rows.len() - left));
        }
        lines.extend([String::new(), end]);
        lines.join("\n") + "\n"
    }

    /// A suite with a case for each skill that changed, and one for the policy.
    pub(super) fn junit(&self) -> Result<String, quick_junit::SerializeError> {
        let mut suite = TestSuite::new("assay gate");
        let case = |name: &str, kind: Option<NonSuccessKind>, message: &str| {
            let status = kind.map_or_else(TestCaseStatus::success, |kind| {
                let mut status = TestCaseStatus::non_success(kind);
                status.set_message(message).set_type("gate");
                status
            });
            let mut case = TestCase::new(name, status);
            case.set_classname("assay gate");
            case
        };
        let weaker = self.weakened.join("; ");
        let kind = (!weaker.is_empty()).then_some(NonSuccessKind::Failure);
        suite.add_test_case(case("policy", kind, &weaker));
        for row in self.skills.iter().filter(|row| row.changed) {
            let kind = match row.verdict {
                Word::Pass | Word::Nothing => None,
                _ if row.warn => None,
                Word::Fail | Word::Undecided => Some(NonSuccessKind::Failure),
                Word::Blocked => Some(NonSuccessKind::Error),
            };
            suite.add_test_case(case(&row.skill, kind, &row.reason));
        }
        let mut report = Report::new("assay gate");
        report.add_test_suite(suite);
        report.to_string()
    }
}

/// Text in a cell of a Markdown table.
fn markdown(text: &str) -> String {
    let mut escaped = String::new();
    for c in clean(text).chars() {
        if matches!(c, '|' | '`' | '*' | '_' | '<' | '>' | '[' | ']' | '#' | '\\') {
            escaped.push('\\');
        }
        escaped.push(if c == '\n' { ' ' } else { c });
        // A backslash does not prevent a mention; an invisible word joiner does.
        if c == '@' {
            escaped.push('\u{2060}');
        }
    }
    escaped
}
