//! The Counterfactual Trace Auditor as released in 2026 (WillChow66/CTA, commit bafb67b), stage by
//! stage.
//!
//! It is kept so that results can be compared, not because it measures what it says: pairs of runs
//! that differ in nothing show as many influence patterns as pairs with and without a skill. What
//! it gets wrong it gets wrong here too.
//!
//! [`read`] makes a [`Log`] of a session (M1). A [`Task`] holds a skill and makes [`Trace`]s of
//! logs, with phases (M2), sentences and all else that hangs on one run. [`Task::pair`] aligns two
//! traces (M3) and looks for patterns in each divergence (M4). The fifth stage, a label of utility,
//! only repeats the pass rates it is given, and is left out.

mod align;
mod corpus;
mod literals;
mod log;
mod phases;
mod python;
mod report;
mod sentences;
mod sips;
mod skill;
mod tables;
mod trace;
mod vectors;
mod vocabulary;
mod words;
mod writings;

pub use align::{Divergence, DivergenceKind};
pub use corpus::{audit, findings};
pub use log::{Event, Kind, Log, Remark, Tokens, read};
pub use phases::{Phase, PhaseKind};
pub use report::{Both, DivergenceCounts, PairLine, Record, SipCounts};
pub use sips::Sip;
pub use tables::{Bucket, PassRates, Row, Tables};
pub use trace::Trace;

use skill::Skill;
use vocabulary::Vocabulary;

/// A task: its skill, and the words of whatever was compared with it.
pub struct Task {
    skill: Skill,
    words: Vocabulary,
    terms: Vocabulary,
}

impl Task {
    /// With the text of the skill's SKILL.md, front matter included. An empty text means no
    /// skill.
    pub fn new(skill: &str) -> Self {
        let (mut words, mut terms) = (Vocabulary::default(), Vocabulary::default());
        let skill = Skill::new(skill, &mut words, &mut terms);
        Self { skill, words, terms }
    }

    /// Prepares a run. Every run of a task is prepared by the task that pairs it.
    pub fn trace(&mut self, log: Log) -> Trace {
        Trace::new(log, &self.skill, &mut self.words, &mut self.terms)
    }

    /// What differs between two runs: `plus` plays the one with the skill.
    pub fn pair<'a>(&'a mut self, plus: &'a Trace, minus: &'a Trace) -> Vec<Divergence<'a>> {
        align::align(plus, minus, &self.skill, &mut self.words, &self.terms)
    }
}
