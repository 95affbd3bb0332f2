//! A comparison that is planned.

use crate::simulate::Baseline;

/// A comparison that is planned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Tasks, or clusters.
    pub tasks: usize,
    /// Trials a task under the arm.
    pub repetitions: usize,
    /// Trials a task under the baseline.
    pub base_repetitions: usize,
    /// Comparisons in the family; 0 counts as 1.
    pub family: usize,
    /// The equivalence margin, in (0, 1).
    pub margin: f64,
    /// The tasks' rates under the baseline: [`Baseline::default`], or a pilot's.
    pub baseline: Baseline,
    /// Standard deviation of the shifts over affected tasks, before rates are clamped; in [0, 1].
    pub spread: f64,
    /// The share of affected tasks, in (0, 1].
    pub moving: f64,
}

/// The default of [`Plan::spread`], together with [`MOVING`].
///
/// The two give true task effects a standard deviation of 0.33 to 0.35, with 6 of 10 tasks within
/// ±5 pp. In 55 pairs of submissions to Terminal-Bench these were 0.34 and 50% (equal after five
/// trials each), in 171 pairs of models of MCPMark 0.33 and 56% (four trials).
pub const SPREAD: f64 = 0.5;

/// The default of [`Plan::moving`].
pub const MOVING: f64 = 0.5;
