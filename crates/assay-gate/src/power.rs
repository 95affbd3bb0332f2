//! What a gate can show before it runs: whether a claim is attainable, and with what probability a version passes.
//!
//! Power is that of [`outcomes`] on simulated suites with the tasks, clusters and repetitions of the experiment.

use assay_stats::plan::{MOVING, Plan, SPREAD};
use assay_stats::simulate::{Baseline, Design, Effect};
use assay_stats::{PairedTask, SessionDrift, least_margin, sample_quantile};

use crate::decide::{Claim, Outcome, outcomes};
use crate::policy::{BudgetScope, Requirement};

/// The power without a warning.
pub const ENOUGH: f64 = 0.8;

/// The margin of policies that name none, and the least that is written for a suite.
pub const MARGIN: f64 = 0.10;

/// The largest margin that is written for a suite: a version that loses more than this is not equal in any sense.
pub const WIDEST_MARGIN: f64 = 0.30;

/// Simulated suites of a design.
const SUITES: u64 = 2_000;

/// Simulated suites of a number of tasks that is tried.
const FEWER_SUITES: u64 = 1_000;

/// The most tasks that are suggested.
const MOST_TASKS: usize = 2_000;

/// The fewest tasks with an interval.
const FEWEST_TASKS: usize = 5;

/// Numbers of tasks that are tried before the search gives up.
const TRIES: usize = 8;

/// The seed: a power that is printed is the same in each run.
const SEED: u64 = 1;

/// The size of a skill's experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct ExperimentSize {
    /// The cluster of each task; tasks without one are on their own.
    pub clusters: Vec<Option<u64>>,
    /// Trials of each task under each arm.
    pub repetitions: usize,
    /// The tasks' pass rates under the baseline.
    pub baseline: Baseline,
    /// The level of the test against a reference version, if one is measured as well.
    pub reference: Option<f64>,
}

impl ExperimentSize {
    /// Tasks without clusters, with the default pass rates.
    pub fn of(tasks: usize, repetitions: usize) -> Self {
        Self { clusters: vec![None; tasks], repetitions, baseline: Baseline::default(), reference: None }
    }

    /// The results with the smallest p, if the baseline passes this share of its trials: every trial of the skill passes.
    pub fn best_case(&self, baseline: f64) -> Vec<PairedTask> {
        self.clusters
            .iter()
            .map(|cluster| PairedTask {
                arm: vec![1.0; self.repetitions],
                base: vec![baseline; self.repetitions],
                cluster: *cluster,
            })
            .collect()
    }

    /// Simulated suites: a tested version, and each of `arms` versions beside it, under an effect on the latter.
    fn design(&self, effect: Effect, arms: usize) -> Design {
        let plan = Plan {
            tasks: self.clusters.len(),
            repetitions: self.repetitions,
            base_repetitions: self.repetitions,
            family: arms,
            margin: 0.1,
            baseline: self.baseline,
            spread: SPREAD,
            moving: MOVING,
        };
        Design { effect, arms, ..plan.design(0.0) }
    }

    fn with_clusters(&self, mut tasks: Vec<PairedTask>) -> Vec<PairedTask> {
        for (task, cluster) in tasks.iter_mut().zip(&self.clusters) {
            task.cluster = *cluster;
        }
        tasks
    }

    /// For each simulated suite of equal versions, the margin above which the version passes at this level; ascending.
    /// Empty under 5 tasks or effective clusters.
    fn margins_of_equal(&self, level: f64, suites: u64) -> Vec<f64> {
        let design = self.design(Effect::None, if self.reference.is_some() { 2 } else { 1 });
        let mut margins: Vec<f64> = (0..suites)
            .filter_map(|index| {
                let levels = [level, self.reference.unwrap_or(level)];
                let bounds = design.suite(SEED, index).arms.into_iter().zip(levels).map(|(tasks, level)| {
                    let tasks = self.with_clusters(tasks);
                    least_margin(&tasks, 2.0 * level)
                });
                bounds.reduce(|one, other| Some(one?.max(other?)))?
            })
            .collect();
        margins.sort_by(f64::total_cmp);
        margins
    }

    /// The probability that an equal version passes `non-inferior` or `not-harmful` at a margin and a level.
    pub fn equal_power(&self, margin: f64, level: f64) -> f64 {
        share_below(&self.margins_of_equal(level, SUITES), margin)
    }

    /// The smallest margin, in whole points, at which an equal version passes with [`ENOUGH`] power. `None` if no margin
    /// below 1 has it.
    pub fn supported_margin(&self, level: f64) -> Option<f64> {
        let margins = self.margins_of_equal(level, SUITES);
        let margin = (100.0 * sample_quantile(&margins, ENOUGH)?).ceil() / 100.0;
        (margin < 1.0).then_some(margin)
    }

    /// The number of tasks without clusters with which an equal version passes with [`ENOUGH`] power at a margin and a level, to
    /// within some percent. `None` if it is large.
    pub fn tasks_for_equal(&self, margin: f64, level: f64) -> Option<usize> {
        let mut tasks = self.clusters.len().max(FEWEST_TASKS);
        for _ in 0..TRIES {
            let size = Self { clusters: vec![None; tasks], ..self.clone() };
            let supported = sample_quantile(&size.margins_of_equal(level, FEWER_SUITES), ENOUGH)?;
            let ratio = supported / margin;
            if ratio <= 1.0 && (ratio > 0.96 || tasks == FEWEST_TASKS) {
                return Some(tasks);
            }
            // The margin falls with the root of the number of tasks; a little more than that ends above it.
            let next = rounded(tasks as f64 * (ratio / 0.985).powi(2)).max(FEWEST_TASKS);
            if next > MOST_TASKS {
                return None;
            }
            if next == tasks {
                return Some(tasks);
            }
            tasks = next;
        }
        Some(tasks)
    }

    /// The probability that a skill with this true lift passes `helps` at a level; `None` for a lift that the base rates do
    /// not allow.
    pub fn helps_power(&self, lift: f64, level: f64) -> Option<f64> {
        let plan = Plan {
            tasks: self.clusters.len(),
            repetitions: self.repetitions,
            base_repetitions: self.repetitions,
            family: 1,
            margin: 0.1,
            baseline: self.baseline,
            spread: SPREAD,
            moving: MOVING,
        };
        let design = plan.design_of_lift(lift).ok()?;
        let passes = (0..SUITES)
            .filter(|index| {
                let tasks = design.suite(SEED, *index).arms.into_iter().next().unwrap_or_default();
                let claim = Claim {
                    skill: String::new(),
                    require: Requirement::Helps,
                    margin: 0.0,
                    tasks: self.with_clusters(tasks),
                    reference: None,
                    reference_level: level,
                    level,
                    drift: SessionDrift::NONE,
                };
                outcomes(&[claim], BudgetScope::Skill).first().is_some_and(|found| found.0 == Outcome::Pass)
            })
            .count();
        Some(passes as f64 / SUITES as f64)
    }
}

/// The margin that `assay init ci` writes for a suite that supports this one; `None` if it writes a policy that only warns.
pub fn written_margin(supported: f64) -> Option<f64> {
    (supported <= WIDEST_MARGIN).then(|| supported.max(MARGIN))
}

/// The share of ascending margins below one.
fn share_below(margins: &[f64], margin: f64) -> f64 {
    margins.partition_point(|least| *least < margin) as f64 / margins.len().max(1) as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of tasks")]
fn rounded(value: f64) -> usize {
    value.ceil().clamp(0.0, 1e9) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::one_sided_p;

    const LEVEL: f64 = 0.0243;

    #[test]
    fn the_best_case_of_every_requirement_is_a_perfect_skill() {
        let p = |size: &ExperimentSize, baseline: f64, bound: f64| {
            one_sided_p(&size.best_case(baseline), bound, SessionDrift::NONE)
        };
        let size = ExperimentSize::of(12, 3);
        assert!(p(&size, 0.0, 0.0).unwrap() < 1e-6 && p(&size, 0.0, -0.1).unwrap() < 1e-6);
        // The more the baseline passes, the less can be shown.
        assert!(
            p(&size, 1.0, -0.05).unwrap() > LEVEL
                && p(&size, 0.9, 0.0).unwrap() > p(&size, 0.5, 0.0).unwrap()
        );
        // 8 tasks of which 6 are one cluster.
        let mut clustered = ExperimentSize::of(8, 3);
        for cluster in clustered.clusters.iter_mut().take(6) {
            *cluster = Some(1);
        }
        assert_eq!(p(&clustered, 0.0, 0.0), None);
        assert_eq!((clustered.equal_power(0.5, LEVEL), clustered.supported_margin(LEVEL)), (0.0, None));
    }

    #[test]
    fn more_tasks_repetitions_and_margin_have_more_power() {
        let power = |tasks: usize, repetitions: usize, margin: f64| {
            ExperimentSize::of(tasks, repetitions).equal_power(margin, LEVEL)
        };
        assert!(power(12, 3, 0.1) < power(30, 3, 0.1) && power(30, 3, 0.1) < power(30, 5, 0.1));
        assert!(power(12, 3, 0.1) < 0.5 && power(12, 3, 0.27) > 0.8, "{}", power(12, 3, 0.27));
        let size = ExperimentSize::of(30, 3);
        assert!(size.equal_power(0.1, 0.001) < size.equal_power(0.1, LEVEL));
        let with_reference = ExperimentSize { reference: Some(LEVEL), ..size.clone() };
        assert!(with_reference.equal_power(0.1, LEVEL) < size.equal_power(0.1, LEVEL));
        // Tasks that always or never pass have nothing to lose.
        let sure = ExperimentSize { baseline: Baseline::beta(0.01, 0.01).unwrap(), ..size.clone() };
        assert!(sure.equal_power(0.1, LEVEL) > size.equal_power(0.1, LEVEL));
    }

    #[test]
    fn what_a_suite_supports_has_the_power() {
        for (tasks, repetitions) in [(12, 3), (12, 5), (30, 3)] {
            let size = ExperimentSize::of(tasks, repetitions);
            let margin = size.supported_margin(LEVEL).unwrap();
            assert!(size.equal_power(margin, LEVEL) >= ENOUGH, "{tasks} {repetitions}: {margin}");
            assert!(size.equal_power(margin - 0.011, LEVEL) < ENOUGH, "{tasks} {repetitions}: {margin}");
        }
        let needed = ExperimentSize::of(12, 3).tasks_for_equal(0.1, LEVEL).unwrap();
        let power = |tasks: usize| ExperimentSize::of(tasks, 3).equal_power(0.1, LEVEL);
        assert!(
            power(needed) > ENOUGH - 0.03 && power(needed * 4 / 5) < ENOUGH,
            "{needed}: {}",
            power(needed)
        );
        assert_eq!(ExperimentSize::of(12, 3).tasks_for_equal(0.001, LEVEL), None);
    }

    #[test]
    fn a_large_lift_is_shown_more_often_than_a_small_one() {
        let power = |tasks: usize, lift: f64| ExperimentSize::of(tasks, 3).helps_power(lift, LEVEL);
        assert!(power(30, 0.4).unwrap() > 0.8 && power(30, 0.1).unwrap() < power(30, 0.2).unwrap());
        assert!(power(12, 0.2).unwrap() < power(60, 0.2).unwrap());
        assert_eq!(power(12, 0.9), None);
    }
}
