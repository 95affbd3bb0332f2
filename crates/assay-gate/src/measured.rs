//! What the trials of a gate's skills show.

use assay_analysis::{AgentKey, Evidence, Report};
use assay_stats::{PairedTask, SessionDrift, interval_for_bound};
use assay_store::ConditionRole;

use crate::decide::REFERENCE_BUDGET;
use crate::document::{GateVerdict, SkillRow};
use crate::ledger::{Numbers, Reference, level};
use crate::reference::ReferenceVersion;
use crate::rounds::Round;

/// The name of the guard on costs among the metrics.
pub(crate) const COST: &str = "cost_usd";

/// The condition that is required to meet the policy.
pub(crate) const CONDITION: ConditionRole = ConditionRole::Curated;

/// The reason of a skill whose trials are still to be executed.
pub(crate) const OPEN: &str = "not measured";

/// What the trials of a skill show.
pub(crate) struct Measured {
    pub(crate) run: String,
    pub(crate) report: Report,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) executed: usize,
    pub(crate) reused: usize,
    /// What the executed trials cost.
    pub(crate) spent_usd: f64,
    /// The results against the reference version, by agent; none where that is the baseline.
    pub(crate) reference: Vec<Evidence>,
    /// The version that the skill may not fall behind.
    pub(crate) reference_version: Option<ReferenceVersion>,
    /// The level of the look's test against it.
    pub(crate) reference_level: f64,
    /// The drift between reused trials of the baseline and new ones.
    pub(crate) drift: Option<MeasuredDrift>,
    /// With `on_undecided = "extend"`, the round that the trials end with.
    pub(crate) round: Option<Round>,
}

impl Measured {
    /// The results of an agent against the reference version.
    pub(crate) fn against_reference(&self, who: &AgentKey) -> Option<Vec<PairedTask>> {
        self.reference.iter().find(|found| found.who == *who).map(|found| found.tasks.clone())
    }

    /// The level of a test against the reference version.
    pub(crate) fn reference_level(&self) -> f64 {
        self.round.as_ref().map_or(self.reference_level, |round| round.level(self.reference_level))
    }

    /// A hash of all results.
    pub(crate) fn digest_results(&self) -> String {
        let digests: Vec<&str> = self.evidence.iter().map(|evidence| evidence.digest.as_str()).collect();
        format!("blake3:{}", blake3::hash(digests.join(" ").as_bytes()).to_hex())
    }

    /// The reference version with the least lift over it among the agents, as the ledger records it.
    pub(crate) fn reference_record(&self) -> Option<Reference> {
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
pub(crate) struct MeasuredDrift {
    /// What is added to the interval.
    pub(crate) between: SessionDrift,
    /// The smallest drift that the sentinel detects with 80% power.
    pub(crate) detectable: Option<f64>,
    /// The drift that it shows: new minus recorded.
    pub(crate) observed: Option<f64>,
}

/// Which look at which version of a skill it is, and the one-sided levels of all its tests together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LookLevel {
    pub(crate) version: u32,
    pub(crate) look: u32,
    pub(crate) level: f64,
    /// That of the tests against the reference version.
    pub(crate) reference_level: f64,
}

impl LookLevel {
    pub(crate) fn of(numbers: Numbers, error_budget: f64) -> Self {
        let Numbers { version, look } = numbers;
        let of = |budget| level(budget, version, look);
        Self { version, look, level: of(error_budget), reference_level: of(REFERENCE_BUDGET) }
    }
}

/// A skill with what was measured.
pub(crate) struct Gated {
    pub(crate) row: SkillRow,
    pub(crate) measured: Option<Measured>,
    /// The look at it, once it is opened.
    pub(crate) look: Option<LookLevel>,
    /// Whether the target has it, so that its version there can be the baseline.
    pub(crate) is_known: bool,
}

impl Gated {
    /// Whether its trials are still to be read or executed.
    pub(crate) fn is_open(&self) -> bool {
        self.row.verdict == GateVerdict::Blocked && self.row.reason == OPEN
    }
}
