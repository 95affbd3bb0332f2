//! Pass rates of simulated tasks, with the true effect of each known.

use rand_chacha::ChaCha8Rng;

use assay_stats::PairedTask;
use assay_stats::random::{normal, uniform};
use assay_stats::simulate::Baseline;

/// How an arm moves the pass rates of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskEffects {
    /// Not at all, over Beta(0.6, 0.9).
    Null,
    /// Not at all, with every pass rate ½.
    NullHalf,
    /// Every task by 0.2 with a standard deviation of 0.2, over Beta(0.6, 0.9).
    Uniform,
    /// 15% of the tasks by 0.8, over Beta(0.6, 0.9).
    Sparse,
    /// 15% of the tasks by 0.8; half of the tasks never pass without it, and half in 0.2 of their trials.
    Bimodal,
    /// Half of the tasks by 0.3 with a standard deviation of 0.5, over the baseline of plans.
    Partial,
}

impl TaskEffects {
    /// All.
    pub(super) const ALL: [Self; 6] =
        [Self::Null, Self::NullHalf, Self::Uniform, Self::Sparse, Self::Bimodal, Self::Partial];

    /// In tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::NullHalf => "null, pass rate .5",
            Self::Uniform => "uniform",
            Self::Sparse => "sparse",
            Self::Bimodal => "bimodal",
            Self::Partial => "planning model",
        }
    }

    /// Whether no task moves.
    pub fn is_null(self) -> bool {
        matches!(self, Self::Null | Self::NullHalf)
    }

    /// The pass rates of a task, baseline and arm.
    pub(super) fn draw_rates(self, random: &mut ChaCha8Rng) -> [f64; 2] {
        let skewed = Baseline::beta(0.6, 0.9).unwrap_or_default();
        let base = match self {
            Self::Null | Self::Uniform | Self::Sparse => skewed.draw_rate(random),
            Self::NullHalf => 0.5,
            Self::Bimodal if uniform(random) < 0.5 => 0.0,
            Self::Bimodal => 0.2,
            Self::Partial => Baseline::default().draw_rate(random),
        };
        let shift = match self {
            Self::Uniform => 0.2 + 0.2 * normal(random),
            Self::Sparse | Self::Bimodal if uniform(random) < 0.15 => 0.8,
            Self::Partial if uniform(random) < 0.5 => 0.3 + 0.5 * normal(random),
            Self::Null | Self::NullHalf | Self::Sparse | Self::Bimodal | Self::Partial => 0.0,
        };
        [base, (base + shift).clamp(0.0, 1.0)]
    }
}

/// The trials of a task with given pass rates, baseline and arm.
pub(super) fn draw_task([base, arm]: [f64; 2], repetitions: usize, random: &mut ChaCha8Rng) -> PairedTask {
    let mut trials =
        |rate: f64| (0..repetitions).map(|_| f64::from(u8::from(uniform(random) < rate))).collect();
    PairedTask { base: trials(base), arm: trials(arm), cluster: None }
}
