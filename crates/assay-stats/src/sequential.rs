//! Verdicts at looks after each complete round of an experiment.
//!
//! A round is one repetition of every task under every condition that is not decided. After round k the mean over
//! tasks has the variance (τ² + σ²/k)/n, and the covariance of two rounds is the variance of the later one: the
//! canonical joint distribution of group-sequential designs. With φ = τ²/(σ²/K), the information after round k is
//! (φ + 1)/(φ + K/k) of that after round K. φ = 0, whose times are k/K, is the most cautious; φ is estimated from
//! round 2 on, divided by 1.5 and rounded down to a power of two from ¼ to 16, or 0.

use std::sync::OnceLock;

use crate::interval::{FEWEST_UNITS, PairedTask};
use crate::moments::Quantiles;
use crate::random::{Purpose, index, stream};
use crate::sample::{Sample, mean, scores};
use crate::spending::{Sides, nominal_levels, upper_tail};
use crate::verdict::{Levels, Losses, Verdict, VerdictKind, alpha, has_enough_units, verdict_at};

/// A comparison whose chance of a verdict at the last look is below this is futile.
pub const FUTILITY: f64 = 0.02;

/// The first look at which futility ends a comparison.
const FIRST_FUTILE: usize = 2;

/// Rounds of a plan at most.
pub const MOST_ROUNDS: usize = 200;

/// Values of φ for which levels are computed.
const RATIOS: [f64; 8] = [0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0];

/// What an estimate of φ is divided by: too large a value would spend too much of the error rate early.
const CAUTION: f64 = 1.5;

/// The rounds of a comparison and the levels of their looks, fixed before the first trial.
#[derive(Debug, Clone)]
pub struct SequentialPlan {
    /// Comparisons that share the error rate.
    family: usize,
    /// The equivalence margin.
    margin: f64,
    /// Rounds at most.
    rounds: usize,
    /// The levels for each of [`RATIOS`], computed when needed.
    levels: [OnceLock<AllLevels>; RATIOS.len()],
}

/// Nominal levels, look by look.
#[derive(Debug, Clone)]
struct AllLevels {
    /// Two-sided levels for `helps` and `harms`.
    two_sided: Vec<f64>,
    /// One-sided levels of each of the two tests for `negligible`.
    one_sided: Vec<f64>,
}

/// What a look at complete rounds finds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// The verdict if the comparison ended here. Its interval is the repeated confidence interval: those of all
    /// looks together cover the lift with the probability of the design.
    pub verdict: Verdict,
    /// Whether a verdict at the last look is so improbable that further rounds are futile. Not binding: a
    /// comparison that goes on all the same keeps its error rate.
    pub futile: bool,
}

impl Look {
    /// Whether the comparison ends.
    pub fn ends(&self) -> bool {
        self.verdict.kind != VerdictKind::Inconclusive || self.futile
    }
}

impl SequentialPlan {
    /// A plan of at most `rounds` rounds for a family of `family` comparisons (0 counts as 1). `None` without rounds,
    /// or with more than [`MOST_ROUNDS`].
    pub fn new(rounds: usize, family: usize, margin: f64) -> Option<Self> {
        (1..=MOST_ROUNDS).contains(&rounds).then(|| Self {
            family,
            margin,
            rounds,
            levels: Default::default(),
        })
    }

    /// Rounds at most.
    pub fn rounds(&self) -> usize {
        self.rounds
    }

    fn levels(&self, ratio: usize) -> &AllLevels {
        self.levels[ratio].get_or_init(|| {
            let (phi, rounds) = (RATIOS[ratio], self.rounds as f64);
            let times: Vec<f64> =
                (1..=self.rounds).map(|round| (phi + 1.0) / (phi + rounds / round as f64)).collect();
            let alpha = alpha(self.family);
            AllLevels {
                two_sided: nominal_levels(alpha, &times, Sides::Two),
                one_sided: nominal_levels(alpha, &times, Sides::One),
            }
        })
    }

    /// The look after `round` complete rounds. Trials beyond the round must be left out by the caller: an
    /// incomplete round is not analysed. `losses` is `None` if no trial was lost. `None` for a round that the plan
    /// does not have.
    pub fn decide_round(&self, tasks: &[PairedTask], round: usize, losses: Option<&Losses>) -> Option<Look> {
        let at = round.checked_sub(1).filter(|at| *at < self.rounds)?;
        let sample = Sample::of(tasks);
        let noise = within_variance(tasks);
        let variance = if sample.has(FEWEST_UNITS) { sample.moments().variance() } else { 0.0 };
        let all = self.levels(self.ratio(variance, noise, round));
        let levels = Levels { two_sided: all.two_sided[at], one_sided: all.one_sided[at] };
        let verdict = verdict_at(tasks, levels, self.family, self.margin, losses);
        let futile = verdict.kind == VerdictKind::Inconclusive
            && verdict.interval.is_some()
            && (FIRST_FUTILE..self.rounds).contains(&round)
            && self.chance(all, &sample, noise, round).is_some_and(|chance| chance < FUTILITY);
        Some(Look { verdict, futile })
    }

    /// The round at which a comparison with the trials of all rounds stops, and the look there. The trials of a task
    /// and arm are in order of rounds.
    pub fn stop(&self, tasks: &[PairedTask]) -> Option<(usize, Look)> {
        (1..=self.rounds).find_map(|round| {
            let look = self.decide_round(&first_rounds(tasks, round), round, None)?;
            (look.ends() || round == self.rounds).then_some((round, look))
        })
    }

    /// The position in [`RATIOS`] of the estimate of φ, given the variance of the tasks' differences and that of
    /// a trial's difference within a task. After one round the two cannot be told apart.
    fn ratio(&self, variance: f64, noise: f64, round: usize) -> usize {
        if round < 2 {
            return 0;
        }
        let between = (variance - noise / round as f64).max(0.0);
        let cautious = between * self.rounds as f64 / (noise * CAUTION);
        // Not a number without variance of either kind.
        RATIOS.iter().rposition(|ratio| *ratio <= cautious).unwrap_or(0)
    }

    /// The probability of a verdict at the last look if the lift is the one that was observed: d_K given d_k is
    /// normal with mean d_k and variance (s²_k − s²_K)/n.
    fn chance(&self, levels: &AllLevels, sample: &Sample, noise: f64, round: usize) -> Option<f64> {
        let enough = has_enough_units(sample.effective, alpha(self.family), self.margin);
        let moments = sample.moments();
        let (n, rounds) = (moments.n, self.rounds as f64);
        let now = moments.shrunk(n).max(moments.variance());
        let between = (now - noise / round as f64).max(0.0);
        let last = between + noise / rounds;
        let spread = ((now - last).max(0.0) / n).sqrt();
        let half = Quantiles::of(n, 0.5 * levels.two_sided.last()?)?.plain * (last / n).sqrt();
        let margin_half = Quantiles::of(n, *levels.one_sided.last()?)?.plain * (last / n).sqrt();
        let above = |bound: f64| -> f64 {
            if spread > 0.0 {
                upper_tail((bound - moments.mean) / spread)
            } else {
                f64::from(u8::from(moments.mean > bound))
            }
        };
        let moved = above(half) + 1.0 - above(-half);
        let room = self.margin - margin_half;
        let negligible = if enough && room > 0.0 { above(-room) - above(room) } else { 0.0 };
        Some(moved + negligible)
    }
}

/// Puts the recorded trials of the cell with number `cell` into a random order, so that they can be taken for rounds.
pub fn shuffle(trials: &mut [f64], seed: u64, cell: u64) {
    let mut random = stream(seed, Purpose::Replay, cell);
    // Fisher & Yates.
    for last in (1..trials.len()).rev() {
        trials.swap(last, index(&mut random, last + 1));
    }
}

/// The trials of the first rounds.
pub(crate) fn first_rounds(tasks: &[PairedTask], rounds: usize) -> Vec<PairedTask> {
    let cut = |trials: &[f64]| trials[..rounds.min(trials.len())].to_vec();
    tasks
        .iter()
        .map(|task| PairedTask { arm: cut(&task.arm), base: cut(&task.base), cluster: task.cluster })
        .collect()
}

/// σ²: the variance of the difference of one trial of each arm within a task, averaged over tasks.
fn within_variance(tasks: &[PairedTask]) -> f64 {
    let variance = |trials: &[f64]| {
        let trials = scores(trials);
        if trials.len() < 2 {
            return None;
        }
        let mean = mean(&trials);
        let squares: f64 = trials.iter().map(|score| (score - mean).powi(2)).sum();
        Some(squares / (trials.len() as f64 - 1.0))
    };
    let mut found: Vec<f64> =
        tasks.iter().filter_map(|task| Some(variance(&task.arm)? + variance(&task.base)?)).collect();
    found.sort_by(f64::total_cmp);
    if found.is_empty() { 0.0 } else { mean(&found) }
}

/// Whether the verdict of a plan with one look is that of the fixed design.
#[cfg(test)]
fn is_fixed(plan: &SequentialPlan, tasks: &[PairedTask], fixed: &Verdict) -> bool {
    plan.decide_round(tasks, 1, None).is_some_and(|look| look.verdict == *fixed && !look.futile)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{Baseline, Design, Effect, Loss};
    use crate::verdict;

    fn design(effect: Effect, tasks: usize, repetitions: usize) -> Design {
        let loss = Loss::default();
        Design {
            baseline: Baseline::beta(0.6, 0.9).unwrap(),
            effect,
            tasks,
            repetitions,
            base_repetitions: repetitions,
            arms: 1,
            margin: 0.1,
            drift: 0.0,
            arm_loss: loss,
            base_loss: loss,
        }
    }

    #[test]
    fn one_look_is_the_fixed_verdict_bit_for_bit() {
        for (family, effect) in [(1, Effect::None), (4, Effect::Uniform { lift: 0.2, spread: 0.2 })] {
            let plan = SequentialPlan::new(1, family, 0.1).unwrap();
            for index in 0..200 {
                let suite = design(effect, 30, 5).suite(7, index);
                let fixed = verdict(&suite.arms[0], family, 0.1, None);
                assert!(is_fixed(&plan, &suite.arms[0], &fixed), "{index}");
            }
        }
    }

    /// Shares of suites with a verdict of a direction, of trials used, and of futile ends.
    fn run(effect: Effect, tasks: usize, rounds: usize, suites: u64) -> [f64; 3] {
        let plan = SequentialPlan::new(rounds, 1, 0.1).unwrap();
        let design = design(effect, tasks, rounds);
        let mut sums = [0.0; 3];
        for index in 0..suites {
            let suite = design.suite(11, index);
            let (round, look) = plan.stop(&suite.arms[0]).unwrap();
            let directed = matches!(look.verdict.kind, VerdictKind::Helps | VerdictKind::Harms);
            sums[0] += f64::from(u8::from(directed));
            sums[1] += round as f64 / rounds as f64;
            sums[2] += f64::from(u8::from(look.futile));
        }
        sums.map(|sum| sum / suites as f64)
    }

    #[test]
    fn stopping_early_keeps_the_error_rate_and_saves_trials() {
        let suites = 4_000;
        let [false_verdicts, _, _] = run(Effect::None, 30, 6, suites);
        // 5% and four standard errors.
        assert!(false_verdicts <= 0.05 + 4.0 * (0.05 * 0.95 / suites as f64).sqrt(), "{false_verdicts}");
        let [found, share, _] = run(Effect::Uniform { lift: 0.4, spread: 0.1 }, 30, 6, 1_000);
        assert!(found > 0.95 && share < 0.6, "{found} {share}");
    }

    #[test]
    fn rounds_that_the_plan_does_not_have_have_no_look() {
        let plan = SequentialPlan::new(3, 1, 0.1).unwrap();
        let suite = design(Effect::None, 30, 3).suite(1, 0);
        assert!(
            plan.decide_round(&suite.arms[0], 0, None).is_none()
                && plan.decide_round(&suite.arms[0], 4, None).is_none()
        );
        assert!(SequentialPlan::new(0, 1, 0.1).is_none());
        let few = plan.decide_round(&suite.arms[0][..4], 3, None).unwrap();
        assert!(!few.ends() && few.verdict.interval.is_none());
        assert!(SequentialPlan::new(MOST_ROUNDS + 1, 1, 0.1).is_none());
    }
}
