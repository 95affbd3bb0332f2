//! Simulated suites: their true effects and their trials.

use rand_chacha::ChaCha8Rng;

use crate::paired_task::PairedTask;
use crate::quantile::normal_tail;
use crate::random::{Purpose, normal, stream, uniform};
use crate::simulate::Baseline;
use crate::verdict::{Losses, LossyTask};

/// Points at which a normal spread of lifts is averaged.
const NODES: u32 = 500;

/// The effect of an arm on the pass rates of the tasks, which are clamped to [0, 1].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect {
    /// Nothing.
    None,
    /// Every task shifts by a normal variate, drawn separately for each arm.
    Uniform {
        /// Mean of the shifts before rates are clamped.
        lift: f64,
        /// Their standard deviation over tasks.
        spread: f64,
    },
    /// A share of the tasks shifts by a normal variate; the others do not. Drawn separately for
    /// each arm.
    Partial {
        /// Mean of the shifts before rates are clamped.
        lift: f64,
        /// Their standard deviation over the affected tasks.
        spread: f64,
        /// Probability that a task is affected.
        share: f64,
    },
    /// A share of the tasks shifts by a constant; the others do not. Drawn separately for each arm.
    Sparse {
        /// Shift of the affected tasks.
        lift: f64,
        /// Probability that a task is affected.
        share: f64,
    },
    /// Every task shifts by this much, up or down with equal probability. Drawn separately for each arm.
    Opposite {
        /// Size of the shifts.
        shift: f64,
    },
}

impl Effect {
    fn draw_shift(self, random: &mut ChaCha8Rng) -> f64 {
        match self {
            Effect::None => 0.0,
            Effect::Uniform { lift, spread } => lift + spread * normal(random),
            Effect::Partial { lift, spread, share } => {
                if uniform(random) < share {
                    lift + spread * normal(random)
                } else {
                    0.0
                }
            }
            Effect::Sparse { lift, share } => {
                if uniform(random) < share {
                    lift
                } else {
                    0.0
                }
            }
            Effect::Opposite { shift } => {
                if uniform(random) < 0.5 {
                    shift
                } else {
                    -shift
                }
            }
        }
    }
}

/// How often a trial is lost, by the outcome it would have had. Equal probabilities mean loss at
/// random.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Loss {
    /// Probability that a trial that would have passed has no result.
    pub passed: f64,
    /// The same of one that would have failed.
    pub failed: f64,
}

impl Loss {
    fn none(self) -> bool {
        self.passed <= 0.0 && self.failed <= 0.0
    }
}

/// How a simulated experiment comes about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Design {
    /// The tasks' rates under the baseline.
    pub baseline: Baseline,
    /// The effect of each arm. All arms share the tasks and the baseline's trials.
    pub effect: Effect,
    /// Tasks.
    pub tasks: usize,
    /// Trials a task and arm.
    pub repetitions: usize,
    /// Trials a task of the baseline.
    pub base_repetitions: usize,
    /// Arms compared with the baseline: the size of the family.
    pub arms: usize,
    /// The equivalence margin.
    pub margin: f64,
    /// By how much rates rise from the first repetition to the last, equally in every arm (arms are
    /// interleaved).
    pub drift: f64,
    /// Losses of the arms.
    pub arm_loss: Loss,
    /// Losses of the baseline.
    pub base_loss: Loss,
}

/// One simulated suite.
#[derive(Clone, Debug, PartialEq)]
pub struct Suite {
    /// The paired tasks of each arm; lost trials are missing.
    pub arms: Vec<Vec<PairedTask>>,
    /// The losses of each arm; empty if the design loses nothing.
    pub losses: Vec<Losses>,
}

#[cfg(test)]
impl Design {
    /// One arm with as many trials as the baseline, skewed pass rates, no drift and no losses.
    pub(crate) fn skewed(effect: Effect, tasks: usize, repetitions: usize) -> Self {
        Self {
            baseline: Baseline::beta(0.6, 0.9).unwrap(),
            effect,
            tasks,
            repetitions,
            base_repetitions: repetitions,
            arms: 1,
            margin: 0.1,
            drift: 0.0,
            arm_loss: Loss::default(),
            base_loss: Loss::default(),
        }
    }
}

impl Design {
    /// The true lift in the population of tasks, before drift and losses.
    pub fn true_lift(&self) -> f64 {
        match self.effect {
            Effect::None => 0.0,
            Effect::Sparse { lift, share } => share.clamp(0.0, 1.0) * self.baseline.shifted(lift),
            Effect::Opposite { shift } => {
                f64::midpoint(self.baseline.shifted(shift), self.baseline.shifted(-shift))
            }
            Effect::Partial { lift, spread, share } => {
                let moving = Design { effect: Effect::Uniform { lift, spread }, ..*self };
                share.clamp(0.0, 1.0) * moving.true_lift()
            }
            Effect::Uniform { lift, spread } if spread > 0.0 => {
                // Pairs of normal quantiles at the middles of equal parts.
                let at = |i: u32| normal_tail((f64::from(i) + 0.5) / f64::from(2 * NODES)).unwrap_or(0.0);
                let pair = |z: f64| {
                    self.baseline.shifted(lift + spread * z) + self.baseline.shifted(lift - spread * z)
                };
                (0..NODES).map(|i| pair(at(i))).sum::<f64>() / f64::from(2 * NODES)
            }
            Effect::Uniform { lift, .. } => self.baseline.shifted(lift),
        }
    }

    /// The suite with number `index` under `seed`.
    pub fn suite(&self, seed: u64, index: u64) -> Suite {
        let mut random = stream(seed, Purpose::Suite, index);
        let rates: Vec<f64> = (0..self.tasks).map(|_| self.baseline.draw_rate(&mut random)).collect();
        let base: Vec<Trials> = rates
            .iter()
            .map(|&p| self.trials(&mut random, p, self.base_repetitions, self.base_loss))
            .collect();
        let mut suite = Suite { arms: Vec::with_capacity(self.arms), losses: Vec::new() };
        for _ in 0..self.arms {
            let arm: Vec<Trials> = rates
                .iter()
                .map(|p| {
                    let moved = (p + self.effect.draw_shift(&mut random)).clamp(0.0, 1.0);
                    self.trials(&mut random, moved, self.repetitions, self.arm_loss)
                })
                .collect();
            let one = |(arm, base): (&Trials, &Trials)| LossyTask {
                kept: PairedTask { arm: arm.kept.clone(), base: base.kept.clone(), cluster: None },
                arm_lost: arm.lost,
                base_lost: base.lost,
            };
            let tasks: Vec<LossyTask> = arm.iter().zip(&base).map(one).collect();
            if !(self.arm_loss.none() && self.base_loss.none()) {
                suite.losses.push(Losses::of(&tasks));
            }
            suite.arms.push(tasks.into_iter().map(|task| task.kept).collect());
        }
        suite
    }

    fn trials(&self, random: &mut ChaCha8Rng, rate: f64, repetitions: usize, loss: Loss) -> Trials {
        let mut trials = Trials { kept: Vec::with_capacity(repetitions), lost: 0 };
        for repetition in 0..repetitions {
            // From −drift/2 at the first to drift/2 at the last.
            let time = (repetition as f64 + 0.5) / repetitions as f64 - 0.5;
            let passed = uniform(random) < rate + self.drift * time;
            let risk = if passed { loss.passed } else { loss.failed };
            if risk > 0.0 && uniform(random) < risk {
                trials.lost += 1;
            } else {
                trials.kept.push(if passed { 1.0 } else { 0.0 });
            }
        }
        trials
    }
}

/// The trials of one task and arm.
struct Trials {
    kept: Vec<f64>,
    lost: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn design(baseline: Baseline, effect: Effect) -> Design {
        let loss = Loss::default();
        Design {
            baseline,
            effect,
            tasks: 2000,
            repetitions: 20,
            base_repetitions: 20,
            arms: 1,
            margin: 0.1,
            drift: 0.0,
            arm_loss: loss,
            base_loss: loss,
        }
    }

    #[test]
    fn a_large_suite_shows_the_true_lift() {
        let baseline = Baseline::beta(0.6, 0.9).unwrap();
        let effects = [
            Effect::None,
            Effect::Uniform { lift: 0.2, spread: 0.0 },
            Effect::Uniform { lift: -0.1, spread: 0.2 },
            Effect::Sparse { lift: 0.8, share: 0.15 },
            Effect::Partial { lift: 0.3, spread: 0.5, share: 0.5 },
        ];
        for effect in effects {
            let design = design(baseline, effect);
            let suite = design.suite(3, 0);
            let seen = crate::lift(&suite.arms[0], 0.999).unwrap();
            let interval = seen.interval.unwrap();
            let lift = design.true_lift();
            assert!(interval.low < lift && lift < interval.high, "{effect:?}: {lift} against {seen:?}");
            assert!(interval.width() < 0.05, "{effect:?}: too wide to tell");
            let rates: Vec<Vec<f64>> = suite.arms[0].iter().map(|t| t.base.clone()).collect();
            let base = crate::rate(&rates, 0.999).unwrap().interval.unwrap();
            assert!(base.low < baseline.mean() && baseline.mean() < base.high, "{base:?}");
        }
    }

    #[test]
    fn arms_share_the_baselines_trials_and_losses_are_counted() {
        let mut design = design(Baseline::beta(2.0, 2.0).unwrap(), Effect::None);
        (design.tasks, design.arms) = (50, 3);
        let plain = design.suite(1, 4);
        assert!(plain.losses.is_empty());
        let base = |arm: usize| plain.arms[arm].iter().map(|t| &t.base).collect::<Vec<_>>();
        assert_eq!(base(0), base(2));
        assert_ne!(plain.arms[0], plain.arms[2]);
        assert_eq!(plain, design.suite(1, 4));
        assert_ne!(plain, design.suite(1, 5));
        // Only the arms' failures are lost, half of them: of 1,000 trials at ½ some 250.
        design.arm_loss.failed = 0.5;
        let lossy = design.suite(1, 4);
        assert_eq!(lossy.losses.len(), 3);
        for (losses, tasks) in lossy.losses.iter().zip(&lossy.arms) {
            let kept: usize = tasks.iter().map(|t| t.arm.len()).sum();
            assert_eq!((losses.arm_planned, losses.base_planned, losses.base_lost), (1000, 1000, 0));
            assert_eq!(kept + losses.arm_lost, 1000);
            assert!((150..350).contains(&losses.arm_lost), "{}", losses.arm_lost);
            let (best, worst) =
                (crate::lift(&losses.best, 0.95).unwrap(), crate::lift(&losses.worst, 0.95).unwrap());
            // Half a point of a lost trial at most, less where a cell's rate is within a quarter of
            // 0 or 1.
            let gap = losses.arm_lost as f64 / 1000.0;
            assert!(best.mean - worst.mean > 0.3 * gap && best.mean - worst.mean <= 0.5 * gap + 1e-12);
        }
    }
}
