//! Exposure of a run to a skill.

use std::path::Path;

use assay_trace::read::{self, Sink, TraceError};
use assay_trace::{Exposure, Follower, OfferedSkill, Step, Trajectory};
use serde::Serialize;

/// Exposure of a run to the skill.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Exposed {
    /// A message to the agent listed it.
    pub listed: bool,
    /// The agent read it.
    pub opened: bool,
    /// Tool calls that name it or a path in it.
    pub mentions: usize,
    /// Lines of its body, of 40 characters or more, in results of tools.
    pub body_lines_ingested: usize,
    /// A file of it was run.
    pub executed: bool,
}

struct Following<'a>(Follower<'a>);

impl Sink for Following<'_> {
    fn step(&mut self, _session: usize, lane: Option<&str>, step: Step) {
        if lane.is_none() {
            self.0.see(&step);
        }
    }
}

impl Exposed {
    /// In a trajectory, with the step in which the skill had been read. Known facts take precedence
    /// over the steps.
    pub(crate) fn in_trajectory(
        trajectory: &Trajectory,
        skill: &OfferedSkill<'_>,
        known: Option<&Exposure>,
    ) -> (Self, Option<usize>) {
        let mut follower = Follower::new(skill);
        trajectory.steps.iter().for_each(|step| follower.see(step));
        Self::of(follower, known)
    }

    /// In a transcript, which is read step by step and not kept.
    pub fn in_file(path: &Path, skill: &OfferedSkill<'_>) -> Result<Self, TraceError> {
        let mut following = Following(Follower::new(skill));
        read::stream_file(path, None, &mut following)?;
        Ok(Self::of(following.0, None).0)
    }

    fn of(follower: Follower<'_>, known: Option<&Exposure>) -> (Self, Option<usize>) {
        let (mentions, ingestion) = (follower.mentions(), follower.ingestion());
        let shown = follower.finish();
        let facts = known.unwrap_or(&shown);
        let exposed = Self {
            listed: facts.advertised.is_some(),
            opened: facts.opened.is_some(),
            mentions,
            body_lines_ingested: ingestion.ingested,
            executed: facts.executed.is_some(),
        };
        (exposed, facts.opened)
    }
}
