//! The results of the oracle trials and of the no-op check.

use std::collections::BTreeMap;

use assay_store::Outcome;
use serde::Serialize;

/// The results of the oracle trials and of the no-op check.
#[derive(Debug, Default, Serialize)]
pub struct OracleResults {
    /// Whether nothing was to be executed.
    pub is_static: bool,
    /// The kind of sandbox.
    pub sandbox: Option<String>,
    /// The trials.
    pub trials: Vec<OracleTrial>,
    /// What could not be executed, and why.
    pub unchecked: Vec<String>,
}

/// A trial of the solution, or of doing nothing.
#[derive(Debug, Serialize)]
pub struct OracleTrial {
    /// `oracle` or `no-op`.
    pub agent: &'static str,
    /// Its outcome.
    pub outcome: Outcome,
    /// Its reward, if there is one.
    pub reward: Option<f64>,
    /// The reward of each test, if the verifier wrote several.
    pub tests: BTreeMap<String, f64>,
    /// How long it took.
    pub seconds: Option<f64>,
}

impl OracleTrial {
    /// A trial of `oracle` or `no-op`, with its reward, that of each test, and its seconds.
    pub fn new(
        agent: &'static str,
        outcome: Outcome,
        reward: Option<f64>,
        tests: BTreeMap<String, f64>,
        seconds: Option<f64>,
    ) -> Self {
        Self { agent, outcome, reward, tests, seconds }
    }
}

impl OracleResults {
    /// Whether something was to be executed and could not be.
    pub fn is_unchecked(&self) -> bool {
        !self.unchecked.is_empty()
    }

    /// Why nothing is known of the oracle.
    pub fn not_executed(&self) -> Option<String> {
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
