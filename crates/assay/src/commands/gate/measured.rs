//! What the trials of a gate's skills show.

use assay_analysis::{AgentKey, Evidence, Report};
use assay_gate::{Numbers, REFERENCE_BUDGET, Reference, ReferenceVersion, Round, level};
use assay_stats::{PairedTask, SessionDrift, interval_for_bound};
use assay_store::ConditionRole;

use super::output::{SkillRow, Word};

/// The name of the guard on costs among the metrics.
pub(super) const COST: &str = "cost_usd";

/// The condition that is required to meet the policy.
pub(super) const CONDITION: ConditionRole = ConditionRole::Curated;

/// The reason of a skill whose trials are still to be executed.
pub(super) const OPEN: &str = "not measured";

/// What the trials of a skill show.
pub(super) struct Measured {
    pub(super) run: String,
    pub(super) report: Report,
    pub(super) evidence: Vec<Evidence>,
    pub(super) executed: usize,
    pub(super) reused: usize,
    /// What the executed trials cost.
    pub(super) spent_usd: f64,
    /// The results against the reference version, by agent; none where that is the baseline.
    pub(super) reference: Vec<Evidence>,
    /// The version that the skill may not fall behind.
    pub(super) reference_version: Option<ReferenceVersion>,
    /// The level of the look's test against it.
    pub(super) reference_level: f64,
    /// The drift between reused trials of the baseline and new ones.
    pub(super) drift: Option<Drift>,
    /// With `on_undecided = "extend"`, the round that the trials end with.
    pub(super) round: Option<Round>,
}

impl Measured {
    /// The results of an agent against the reference version.
    pub(super) fn against_reference(&self, who: &AgentKey) -> Option<Vec<PairedTask>> {
        self.reference.iter().find(|found| found.who == *who).map(|found| found.tasks.clone())
    }

    /// The level of a test against the reference version.
    pub(super) fn reference_level(&self) -> f64 {
        self.round.as_ref().map_or(self.reference_level, |round| round.level(self.reference_level))
    }

    /// The reference version with the least lift over it among the agents, as the ledger records it.
    pub(super) fn reference_record(&self) -> Option<Reference> {
        let version = self.reference_version.as_ref()?;
        let level = self.reference_level();
        let drift = self.drift.map_or(SessionDrift::NONE, |drift| drift.between);
        let against = if self.reference.is_empty() { &self.evidence } else { &self.reference };
        let lift = |tasks: &[PairedTask]| assay_stats::lift(tasks, 0.95).map(|found| found.mean);
        // Whether it is better: without a margin.
        let interval = |tasks: &[PairedTask]| interval_for_bound(tasks, 0.0, 2.0 * level, drift);
        let bound = |tasks: &[PairedTask]| interval(tasks).map(|interval| interval.low);
        // One without a value leaves all without one.
        let least = |of: &dyn Fn(&[PairedTask]) -> Option<f64>| {
            let values: Option<Vec<f64>> = against.iter().map(|found| of(&found.tasks)).collect();
            values?.into_iter().reduce(f64::min)
        };
        Some(version.record(least(&lift), least(&bound)))
    }
}

/// Reuse of the baseline.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drift {
    /// What is added to the interval.
    pub(super) between: SessionDrift,
    /// The smallest drift that the sentinel detects with 80% power.
    pub(super) detectable: Option<f64>,
    /// The drift that it shows: new minus recorded.
    pub(super) observed: Option<f64>,
}

/// Which look at which version of a skill it is, and the one-sided levels of all its tests together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LookLevel {
    pub(super) version: u32,
    pub(super) look: u32,
    pub(super) level: f64,
    /// That of the tests against the reference version.
    pub(super) reference_level: f64,
}

impl LookLevel {
    pub(super) fn of(numbers: Numbers, error_budget: f64) -> Self {
        let Numbers { version, look } = numbers;
        let of = |budget| level(budget, version, look);
        Self { version, look, level: of(error_budget), reference_level: of(REFERENCE_BUDGET) }
    }
}

/// A skill with what was measured.
pub(super) struct Gated {
    pub(super) row: SkillRow,
    pub(super) measured: Option<Measured>,
    /// The look at it, once it is opened.
    pub(super) look: Option<LookLevel>,
    /// Whether the target has it, so that its version there can be the baseline.
    pub(super) is_known: bool,
}

impl Gated {
    /// Whether its trials are still to be read or executed.
    pub(super) fn is_open(&self) -> bool {
        self.row.verdict == Word::Blocked && self.row.reason == OPEN
    }
}
