//! Suites with a known truth, and what the rules make of them.
//!
//! A [`Design`] says how tasks, lifts, noise and losses come about; [`Design::suite`] draws one suite of it, and
//! [`simulate_suites`] draws many and counts how often the intervals and verdicts were right. A suite is drawn from a stream of
//! its own, so ranges of suites can be judged on any number of threads and their [`Tally`]s added up.

mod baseline;
mod grid;
mod method;
mod tally;
mod threads;
mod truth;

pub use baseline::Baseline;
pub use grid::{GridCell, Miss, planned_grid, validity_grid};
pub use method::{Method, compare};
pub use tally::{Cell, Tally, simulate_suites};
pub use threads::simulate_all;
pub use truth::{Design, Effect, Loss, Suite};
