//! Tests of the public surface.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]
#![expect(clippy::float_cmp, reason = "values that are exact are compared exactly")]

mod agreement;
mod bad_input;
mod brute_force;
mod cases;
mod pairwise;
mod plan;
mod power_check;
mod properties;
mod reference;
mod simulation;

use assay_stats::PairedTask;

/// A task without a cluster.
fn task(arm: &[f64], base: &[f64]) -> PairedTask {
    PairedTask { arm: arm.to_vec(), base: base.to_vec(), cluster: None }
}

/// `passes` out of `of` trials.
fn trials(passes: usize, of: usize) -> Vec<f64> {
    (0..of).map(|i| if i < passes { 1.0 } else { 0.0 }).collect()
}

/// A suite in passes out of `of` trials, arm first.
fn suite(of: usize, passes: &[(usize, usize)]) -> Vec<PairedTask> {
    passes.iter().map(|&(arm, base)| task(&trials(arm, of), &trials(base, of))).collect()
}

#[track_caller]
fn close(got: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((got - expected).abs() <= tolerance, "{what}: {got}, expected {expected}");
}
