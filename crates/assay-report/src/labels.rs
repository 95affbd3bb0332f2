//! Names of arms, with the agent only if there are several.

use std::collections::BTreeSet;

use assay_analysis::{AgentKey, Arm, Report};

use crate::doc::{Cell, Grid};
use crate::text::clean;

/// Whether agents and sandboxes have to be distinguished, and how.
#[expect(clippy::struct_excessive_bools, reason = "independent questions")]
pub(crate) struct Labels {
    agents: bool,
    /// Whether the model identifies the agent.
    by_model: bool,
    sandboxes: bool,
    fractional: bool,
    sequential: bool,
}

impl Labels {
    pub(crate) fn of(report: &Report) -> Self {
        let sequential = report.comparisons.iter().any(|found| found.sequential.is_some());
        Self { fractional: report.fractional_scores, sequential, ..Self::new(&report.arms) }
    }

    pub(crate) fn new(arms: &[Arm]) -> Self {
        let agents: BTreeSet<_> = arms.iter().map(|arm| (&arm.who.agent, &arm.who.model)).collect();
        let models: BTreeSet<_> = arms.iter().filter_map(|arm| arm.who.model.as_ref()).collect();
        let sandboxes: BTreeSet<_> = arms.iter().map(|arm| &arm.who.sandbox).collect();
        Self {
            agents: agents.len() > 1,
            by_model: agents.len() == models.len(),
            sandboxes: sandboxes.len() > 1,
            fractional: arms.iter().any(|arm| arm.score != arm.pass_rate),
            sequential: false,
        }
    }

    /// Whether scores are shown besides pass rates: a trial has a score between 0 and 1.
    pub(crate) fn fractional(&self) -> bool {
        self.fractional
    }

    /// Whether comparisons are decided after rounds, so that the interval of an arm alone is one of a single look.
    pub(crate) fn sequential(&self) -> bool {
        self.sequential
    }

    /// Whether there is more than one group of arms.
    pub(crate) fn several(&self) -> bool {
        self.agents || self.sandboxes
    }

    /// The shortest unambiguous name of an agent; `None` with one agent in one sandbox. Not
    /// cleaned.
    pub(crate) fn group(&self, who: &AgentKey) -> Option<String> {
        let mut parts = Vec::new();
        if self.agents {
            if !self.by_model || who.model.is_none() {
                parts.push(who.agent.as_str());
            }
            parts.extend(who.model.as_deref());
        }
        if self.sandboxes {
            parts.push(&who.sandbox);
        }
        (!parts.is_empty()).then(|| parts.join(" · "))
    }

    /// A short name of an arm. Not cleaned.
    pub(crate) fn arm(&self, who: &AgentKey, condition: &str) -> String {
        match self.group(who) {
            Some(group) => format!("{condition} · {group}"),
            None => condition.to_owned(),
        }
    }

    /// A table whose first columns are the agent, if there are several, and the condition; then
    /// columns of words, then of numbers.
    pub(crate) fn grid(&self, caption: &str, words: &[&str], numbers: &[&str]) -> Grid {
        let agent: &[&str] = if self.several() { &["agent"] } else { &[] };
        let grid = Grid::new(caption, &[agent, &["condition"], words].concat(), numbers);
        Grid { grouped: self.several(), ..grid }
    }

    /// The first cells of a row of such a table.
    pub(crate) fn cells(&self, who: &AgentKey, condition: &str) -> Vec<Cell> {
        let who = self.group(who).map(|who| Cell::Name(clean(&who)));
        who.into_iter().chain([Cell::Name(clean(condition))]).collect()
    }
}
