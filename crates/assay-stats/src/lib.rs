//! Estimators, intervals, tests and power for paired trials: numbers in, numbers out.
//!
//! The unit of analysis is the task. A task's repetitions under one arm give its mean, the
//! difference of two such means is the task's lift, and tasks weigh equally. Nothing here knows of
//! files, skills or agents.
//!
//! Every function guarantees:
//!
//! - **No NaN comes out.** Scores that are not finite are dropped, finite ones are brought into [0,
//!   1]; only the values of metrics have no bounds. What cannot be estimated is `None`.
//! - **Order does not count.** Tasks, and repetitions within a task, may come in any order.
//! - **Randomness is seeded.** The same numbers and the same seed give the same answer on any
//!   number of threads.

pub mod ablation;
mod agreement;
mod bootstrap;
mod difficulty;
mod estimate;
mod exposure;
mod few_tasks;
mod gain;
mod heterogeneity;
mod interval;
pub mod judge;
mod level;
mod metric;
pub mod moments;
mod moved;
mod noise;
mod opposite;
mod paired_task;
pub mod pairwise;
mod permutation;
pub mod plan;
mod power;
mod prediction;
pub mod prediction_powered;
mod quantile;
pub mod random;
mod random_effects;
mod reliability;
mod requirement;
pub mod sample;
mod second_stage;
pub mod sequential;
pub mod simulate;
pub mod spending;
mod verdict;
mod wilcoxon;

pub use agreement::{Agreement, Measure, RaterPair, agreement};
pub use bootstrap::{
    cluster_bootstrap, skillsbench_interval, stratified_cluster_bootstrap, within_tasks_interval,
};
pub use difficulty::{Difficulty, HeldOut, held_out};
pub use estimate::{Estimate, FEWEST_UNITS, clopper_pearson, differences, lift, rate};
pub use exposure::{opened_share_bound, unopened_tasks_needed};
pub use few_tasks::{ArmRates, IntervalBounds, interval_of_any};
pub use gain::{Gain, normalized_gain};
pub use heterogeneity::{Heterogeneity, heterogeneity, shrunk_lifts};
pub use interval::Interval;
pub use level::alpha;
pub use metric::{Guard, MetricEffect, MetricScale, MetricVerdict, guard, metric_effect, metric_verdict};
pub use moved::moved_share;
pub use noise::run_to_run_noise;
pub use opposite::{OppositeEffects, opposite_effects};
pub use paired_task::PairedTask;
pub use permutation::{holm, sign_flip};
pub use power::{mde, power_to_detect, tasks_needed};
pub use prediction::predicted_sum;
pub use quantile::{normal_tail, sample_quantile};
pub use random_effects::{RandomEffects, UnitEffect, random_effects};
pub use reliability::{Reliability, ReliabilityLift, reliability_lift};
pub use requirement::{SessionDrift, interval_for_bound, least_margin, mcnemar, p_above, p_below};
pub use verdict::{
    Decision, Direction, Losses, LossyTask, Reason, Verdict, VerdictKind, closing_level, closing_verdict,
    has_enough_units, interval_p, tasks_to_detect, verdict,
};
pub use wilcoxon::wilcoxon;
