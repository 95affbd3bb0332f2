//! A run that read the skill, and what it followed.

use serde::Serialize;

use super::pattern::Finding;
use super::task::RunName;
use crate::adherence::Mattered;
use crate::directive::Kind;

/// A run that read the skill.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reader {
    /// The task.
    pub task: String,
    /// The skill.
    pub skill: String,
    /// Condition, repetition and trial.
    #[serde(flatten)]
    pub name: RunName,
    /// The trace.
    pub trace: String,
    /// The step in which the skill had been read.
    pub opened_at: Option<usize>,
    /// Its score; `None` where it cannot be measured.
    pub adoption: Option<f64>,
    /// Whether it reaches the threshold; `None` where no run could.
    pub adopted: Option<bool>,
    /// The highest score for another skill; `None` without another.
    pub best_placebo: Option<f64>,
    /// The directives that it followed and that count for its score, the heaviest first.
    pub spans: Vec<ReaderSpan>,
    /// Findings in it against every control of its task.
    pub findings: Vec<RunFinding>,
}

/// A finding with its run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunFinding {
    /// The task.
    pub task: String,
    /// Condition, repetition and trial.
    #[serde(flatten)]
    pub name: RunName,
    /// The finding.
    #[serde(flatten)]
    pub finding: Finding,
}

/// A directive that was followed, and where.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReaderSpan {
    /// The file of the skill.
    pub skill_file: String,
    /// The line in it.
    pub skill_line: usize,
    /// Its text.
    pub skill_text: String,
    /// The part of the line that is checked.
    pub subject: String,
    /// What it demands.
    pub demand: Kind,
    /// Whether it comes from an example.
    pub example: bool,
    /// ATIF's `step_id`; 0 for the files that the run left.
    pub step: usize,
    /// `said`, `thought`, `wrote`, `printed` or `ran`.
    pub manner: &'static str,
    /// The file that was written; `None` for commands and messages.
    pub file: Option<String>,
    /// Its text.
    pub trace_text: String,
    /// Its weight in the score.
    pub weight: f64,
    /// Whether that was after the skill was read. Earlier text cannot come from it.
    pub after_opening: bool,
    /// Runs of the task without the skill that follow it too.
    pub followed_without: usize,
    /// Checks that changed against a run without the skill, and share a literal, file or column with
    /// it.
    pub checks: Vec<Mattered>,
}
