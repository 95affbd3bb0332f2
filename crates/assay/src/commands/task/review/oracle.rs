//! The results of the oracle trials and of the no-op check.

use std::collections::BTreeMap;

use assay_store::Outcome;
use serde::Serialize;

use super::super::execute::Executed;

/// The results of the oracle trials and of the no-op check.
#[derive(Debug, Default, Serialize)]
pub(super) struct Oracle {
    /// Whether nothing was to be executed.
    pub(super) is_static: bool,
    pub(super) sandbox: Option<String>,
    pub(super) trials: Vec<OracleTrial>,
    /// What could not be executed, and why.
    pub(super) unchecked: Vec<String>,
}

/// A trial of the solution, or of doing nothing.
#[derive(Debug, Serialize)]
pub(super) struct OracleTrial {
    /// `oracle` or `no-op`.
    pub(super) agent: &'static str,
    pub(super) outcome: Outcome,
    pub(super) reward: Option<f64>,
    /// The reward of each test, if the verifier wrote several.
    pub(super) tests: BTreeMap<String, f64>,
    pub(super) seconds: Option<f64>,
}

impl Oracle {
    pub(super) fn new(executed: &Executed, is_static: bool) -> Self {
        let trials = executed.trials().into_iter().map(|(agent, trial)| OracleTrial {
            agent,
            outcome: trial.outcome,
            reward: trial.reward,
            tests: trial.rewards.clone(),
            seconds: trial.seconds,
        });
        Self {
            is_static,
            sandbox: executed.sandbox().map(str::to_owned),
            trials: trials.collect(),
            unchecked: executed.unchecked().to_vec(),
        }
    }

    /// Whether something was to be executed and could not be.
    pub(super) fn is_unchecked(&self) -> bool {
        !self.unchecked.is_empty()
    }

    /// Why nothing is known of the oracle.
    pub(super) fn not_executed(&self) -> Option<String> {
        match self.unchecked.first() {
            Some(reason) => Some(reason.clone()),
            None if self.trials.is_empty() => Some("oracle and no-op check were not executed".to_owned()),
            None => None,
        }
    }

    #[cfg(test)]
    pub(super) fn executed_for_test() -> Self {
        let trial = OracleTrial {
            agent: "oracle",
            outcome: Outcome::Passed,
            reward: Some(1.0),
            tests: BTreeMap::new(),
            seconds: Some(1.0),
        };
        Self { trials: vec![trial], ..Self::default() }
    }
}
