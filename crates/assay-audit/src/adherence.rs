//! Which directives of a skill a run followed, and how much of that the skill explains.
//!
//! Three facts are kept apart: whether a directive was *delivered* (its line was in a tool result
//! or message), whether it was *followed*, and whether it *mattered* (a check of the verifier that
//! changed between the runs shares a literal, file or column with it). The adoption score uses the
//! second only.

use serde::{Deserialize, Serialize};

use crate::directive::Directive;
use crate::evidence::Manner;

mod assess;
mod call;
mod command_match;
mod declared;
mod delivery;
mod left;
mod matching;
mod matter;
mod number;
mod passage;
mod recover;
mod run_evidence;
mod score;
#[cfg(test)]
mod tests;

pub use assess::assess;
pub use declared::{DeclaredAnswer, DeclaredCheck};
pub use delivery::{Delivery, deliveries};
pub use left::Left;
pub use matter::{Change, Mattered, TestCheck, changed, mattered};
pub use passage::Passage;
pub use recover::files_shown;
pub use run_evidence::RunEvidence;
pub use score::{Cohort, Known, adherences, attainable, can_adopt, combine_scores};

/// What a run shows of one directive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The run did what it demands.
    Followed,
    /// The run did what it forbids, or something else in place of what it demands.
    Violated,
    /// The situation in which it applies did not arise.
    NotApplicable,
    /// The run shows neither.
    Unknown,
}

/// The place in a run that shows a status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Location {
    /// ATIF's `step_id`; 0 for the files that the run left.
    pub step: usize,
    /// How the text reached the run.
    pub manner: Manner,
    /// The file that was written, relative to the workspace; `None` for commands and messages.
    pub file: Option<String>,
    /// The line of the run.
    pub text: String,
}

/// One directive in one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Assessment {
    /// What the run shows.
    pub status: Status,
    /// Where; `None` for [`Status::NotApplicable`] and [`Status::Unknown`].
    pub place: Option<Location>,
    /// Weight of the directive in this run's score, in [0, 1]: 0 unless it is followed, is rare or a number,
    /// and is not followed by most other runs of the task.
    pub weight: f64,
}

/// What a run shows of a skill.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Adherence {
    /// Adoption score, in [0, 1].
    pub score: f64,
    /// One for each directive, in their order.
    pub assessments: Vec<Assessment>,
    /// Declared answers that it gave and that count for the score, in the order of the checks.
    pub declared: Vec<DeclaredAnswer>,
    /// Lines of the skill that it wrote out again, in their order.
    pub passages: Vec<Passage>,
    /// How each directive's line reached the agent, in their order; `None` where it did not. The
    /// score does not use it.
    pub deliveries: Vec<Option<Delivery>>,
}

/// Counts of one run, as in JSON.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct DirectiveCounts {
    /// Directives of the skill.
    pub total: usize,
    /// Those whose line reached the agent.
    pub delivered: usize,
    /// Those that the run followed.
    pub followed: usize,
    /// Those that it violated.
    pub violated: usize,
    /// Those of which the run shows neither. Directives that do not apply are in none of these three.
    pub unknown: usize,
}

/// The least score that counts as adoption: one and a half directives that nothing but the skill
/// explains. It is not fitted; the thresholds that the data of docs/AUDIT.md give for each task left
/// out are no higher.
pub const ADOPTED: f64 = 0.25;

impl DirectiveCounts {
    /// The counts of some directives, of which so many reached the agent. Every page and command that counts what a run
    /// followed counts here.
    pub fn of(statuses: impl Iterator<Item = Status>, delivered: usize) -> Self {
        let mut counts = Self { delivered, ..Self::default() };
        for status in statuses {
            counts.total += 1;
            match status {
                Status::Followed => counts.followed += 1,
                Status::Violated => counts.violated += 1,
                Status::Unknown => counts.unknown += 1,
                Status::NotApplicable => {}
            }
        }
        counts
    }
}

impl Adherence {
    /// Whether the run adopted something of the skill.
    pub fn adopted(&self) -> bool {
        self.score >= ADOPTED
    }

    /// How many directives have which status.
    pub fn counts(&self) -> DirectiveCounts {
        let statuses = self.assessments.iter().map(|assessment| assessment.status);
        DirectiveCounts::of(statuses, self.deliveries.iter().flatten().count())
    }

    /// The directives with a status.
    pub fn with_status<'a>(
        &'a self,
        directives: &'a [Directive],
        status: Status,
    ) -> impl Iterator<Item = (&'a Directive, &'a Assessment)> {
        directives.iter().zip(&self.assessments).filter(move |(_, found)| found.status == status)
    }
}
