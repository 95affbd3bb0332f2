//! How long the phases of a trial took.

use serde::{Deserialize, Serialize};

/// The phases of a trial, in seconds; `null` for a phase that was not measured or did not take place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Seconds {
    /// Preparing the sandbox.
    pub prepare: Option<f64>,
    /// The agent's own time.
    pub agent: Option<f64>,
    /// Of it, waiting for a provider between retries. Behind the gateway this does not count as the
    /// agent's time.
    pub throttled: Option<f64>,
    /// The verifier.
    pub verify: Option<f64>,
    /// The sum.
    pub total: Option<f64>,
}

impl Seconds {
    /// Makes phases unknown that took no time: earlier formats have 0 for a phase that was not measured
    /// or did not take place.
    pub(crate) fn forget_zeros(&mut self) {
        let Self { prepare, agent, throttled: _, verify, total } = self;
        for phase in [prepare, agent, verify, total] {
            *phase = phase.filter(|seconds| *seconds > 0.0);
        }
    }
}
