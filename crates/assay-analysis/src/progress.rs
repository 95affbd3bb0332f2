//! How far a run is.

use serde::Serialize;

/// How many of a run's planned trials are done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Trials that are valid or finally lost.
    pub trials: usize,
    /// Trials planned; of a comparison that its sequential rule stopped, those of the rounds up to the stop.
    pub planned: usize,
}

impl Progress {
    /// The share of the planned trials that is done, at most 1.
    pub fn share(self) -> f64 {
        if self.planned == 0 { 1.0 } else { (self.trials as f64 / self.planned as f64).min(1.0) }
    }
}
