//! Results that another tool recorded, as data: cases × arms × attempts, and what the tool concluded from them.
//!
//! Readers of formats fill [`ToolResults`] and judge nothing; an appraisal computes from it. What a file does not say is
//! `None`, never 0.

use std::collections::BTreeSet;
use std::path::PathBuf;

/// The results of one evaluation by another tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolResults {
    /// Where they come from.
    pub source: ResultSource,
    /// The skill or suite that was evaluated.
    pub subject: Option<String>,
    /// The arms, in the order of the file.
    pub arms: Vec<ResultArm>,
    /// Every attempt of every case under every arm.
    pub attempts: Vec<ResultAttempt>,
    /// Comparisons that the tool itself published.
    pub published: Vec<PublishedComparison>,
    /// Models that judged.
    pub judges: BTreeSet<String>,
    /// Cases that exist beside the file and have no result in it.
    pub absent_cases: Vec<String>,
    /// Why the results are not complete, in the tool's words.
    pub partial: Option<String>,
    /// Whether the tasks come with the skill, and were written by its authors.
    pub own_tasks: bool,
    /// Whether the tool scores attempts that ended in an error, or whose graders were skipped.
    pub scores_failures: bool,
    /// The command that runs the tool again; `None` if it is not known.
    pub rerun: Option<String>,
    /// What the results contain and the appraisal does not use.
    pub unused: Vec<String>,
    /// What a reader noticed.
    pub remarks: Vec<ResultRemark>,
}

/// The origin of results.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResultSource {
    /// The name of the format.
    pub format: String,
    /// The program that wrote them.
    pub tool: String,
    /// Its version.
    pub version: Option<String>,
    /// The files that were read.
    pub files: Vec<PathBuf>,
}

/// What an arm is in a comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ArmRole {
    /// Without the skill.
    Baseline,
    /// With the skill.
    Treatment,
    /// Its name does not say.
    #[default]
    Unnamed,
}

/// One arm: what all its attempts have in common.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResultArm {
    /// Its name in the file.
    pub name: String,
    /// What it is.
    pub role: ArmRole,
    /// The models of its attempts; empty if unknown.
    pub models: BTreeSet<String>,
}

/// How an attempt ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum AttemptEnd {
    /// It was graded.
    #[default]
    Graded,
    /// It ended in an error, whether or not the tool scored it.
    Errored(String),
    /// It was not executed or not fully graded.
    Skipped(String),
}

/// One attempt of one case under one arm.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResultAttempt {
    /// The position of its arm in [`ToolResults::arms`].
    pub arm: usize,
    /// The case.
    pub case: String,
    /// Cases that share something and are not independent.
    pub cluster: Option<String>,
    /// The category of the case.
    pub category: Option<String>,
    /// The difficulty of the case.
    pub difficulty: Option<String>,
    /// How many skills the agent had; `None` if unknown.
    pub skills: Option<usize>,
    /// Tokens of their bodies together; `None` if unknown.
    pub skill_tokens: Option<usize>,
    /// How it ended.
    pub end: AttemptEnd,
    /// The score that the tool counts, whatever the end; `None` if it counts none.
    pub score: Option<f64>,
    /// What its graders decided.
    pub checks: Vec<ResultCheck>,
    /// Cost of the agent in US dollars.
    pub cost_usd: Option<f64>,
    /// Cost of its judges in US dollars.
    pub judge_cost_usd: Option<f64>,
    /// Duration in seconds.
    pub seconds: Option<f64>,
    /// Whether the agent opened the skill.
    pub opened: Option<bool>,
}

/// One decision of one grader.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResultCheck {
    /// Its name.
    pub name: String,
    /// Whether it passed.
    pub passed: bool,
    /// The reason that was given.
    pub reason: Option<String>,
    /// Whether a model decided.
    pub judged: bool,
}

/// How a tool averages attempts into its difference.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DeltaRule {
    /// The mean over cases of the difference between the arms' means of a case.
    #[default]
    ByCase,
    /// The difference between the arms' means over attempts.
    ByAttempt,
}

/// A comparison that the tool published.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PublishedComparison {
    /// Whose comparison it is, such as an agent's; empty if there is one only.
    pub label: String,
    /// The arm and the baseline by name; empty if the file has rates only.
    pub arms: Option<(String, String)>,
    /// What was measured.
    pub measure: String,
    /// The difference, as a fraction.
    pub delta: Option<f64>,
    /// Half a unit of the last printed digit of the difference.
    pub rounding: f64,
    /// How the tool averages.
    pub rule: DeltaRule,
    /// What the tool concluded.
    pub verdict: Option<String>,
    /// Rates without scores per case.
    pub rates: Option<PublishedRates>,
}

/// Rates of two arms, without scores per case.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PublishedRates {
    /// With the skill.
    pub with: f64,
    /// Without it.
    pub without: f64,
    /// Tasks.
    pub tasks: usize,
    /// Attempts of each task under each arm.
    pub attempts: Option<usize>,
}

/// Something that a reader noticed in results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultRemark {
    /// A stable word for programs.
    pub code: &'static str,
    /// A sentence.
    pub text: String,
}

impl ToolResults {
    /// The position of an arm by name, which is added if it is new.
    pub fn arm_index(&mut self, name: &str, role: ArmRole) -> usize {
        if let Some(at) = self.arms.iter().position(|arm| arm.name == name) {
            return at;
        }
        self.arms.push(ResultArm { name: name.to_owned(), role, models: BTreeSet::new() });
        self.arms.len() - 1
    }

    /// Adds a remark.
    pub fn remark(&mut self, code: &'static str, text: impl Into<String>) {
        self.remarks.push(ResultRemark { code, text: text.into() });
    }
}
