//! Simulated suites with known effects, and what experiments that are looked at after each round come to.
//!
//! A [`Design`] describes tasks, effects, noise and losses; [`Design::suite`] draws one suite of it. Each suite has its own
//! random stream. Forecasts of plans and gates read them; `assay-lab` counts how often intervals and verdicts are right.

mod baseline;
mod sequential;
mod truth;

pub use baseline::Baseline;
pub use sequential::{SequentialFigures, StagedFigures, simulate_rounds, simulate_stages};
pub use truth::{Design, Effect, Loss, Suite};
