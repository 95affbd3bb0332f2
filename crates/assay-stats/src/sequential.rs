//! Verdicts at looks after each complete round of an experiment.
//!
//! A round is one repetition of every task under every condition that is not decided. After round k the mean over
//! tasks has the variance (τ² + σ²/k)/n, and the covariance of two rounds is the variance of the later one: the
//! canonical joint distribution of group-sequential designs. With φ = τ²/(σ²/K), the information after round k is
//! (φ + 1)/(φ + K/k) of that after round K. φ = 0, whose times are k/K, is the most cautious; φ is estimated from
//! round 2 on, divided by 1.5 and rounded down to a power of two from ¼ to 16, or 0.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::estimate::FEWEST_UNITS;
use crate::level::alpha;
use crate::moments::Quantiles;
use crate::paired_task::PairedTask;
use crate::random::{Purpose, index, stream};
use crate::sample::{Sample, mean, scores};
use crate::second_stage;
use crate::spending::{Looks, Sides, upper_tail};
use crate::verdict::{Levels, Losses, Verdict, VerdictKind, has_enough_units, verdict_at};

/// A comparison whose chance of a verdict at the last look is below this is futile.
pub const FUTILITY: f64 = 0.02;

/// The first look at which futility ends a comparison.
const FIRST_FUTILE: usize = 2;

/// The same of a plan that does not look after every round; and a third of its rounds, if that is later.
const FIRST_FUTILE_OF_FEW: usize = 3;

/// Rounds of a plan at most.
pub const MOST_ROUNDS: usize = 200;

/// Under this many independent units, rounds are looked at three times only.
pub const FEW_UNITS: usize = 20;

/// Under this many, twice.
pub const VERY_FEW_UNITS: usize = 12;

/// Values of φ for which levels are computed.
const RATIOS: [f64; 8] = [0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0];

/// What an estimate of φ is divided by: too large a value would spend too much of the error rate early.
const CAUTION: f64 = 1.5;

/// The rounds after which a comparison of so many independent units is looked at.
pub fn rounds_to_look_at(rounds: usize, units: usize) -> Vec<usize> {
    spread_looks(rounds, looks_of(units))
}

/// How many of its rounds a plan of so many independent units looks at; `None` for all.
///
/// The effects of few tasks differ by more than their trials vary, so that the later rounds of a task tell little that
/// is new; each look spends some of the error rate all the same.
pub fn looks_of(units: usize) -> Option<u32> {
    match units {
        0..VERY_FEW_UNITS => Some(2),
        VERY_FEW_UNITS..FEW_UNITS => Some(3),
        _ => None,
    }
}

/// So many looks, evenly spread over the rounds, the last of them after the last round; after every round for `None`.
pub fn spread_looks(rounds: usize, looks: Option<u32>) -> Vec<usize> {
    let Some(looks) = looks.map(|looks| looks as usize).filter(|looks| (1..rounds).contains(looks)) else {
        return (1..=rounds).collect();
    };
    (1..=looks).map(|part| (rounds * part).div_ceil(looks)).collect()
}

/// The rounds of a comparison and the levels of their looks, fixed before the first trial.
#[derive(Debug, Clone)]
pub struct SequentialPlan {
    /// Comparisons that share the error rate.
    pub(crate) family: usize,
    /// The equivalence margin.
    pub(crate) margin: f64,
    /// Rounds at most.
    rounds: usize,
    /// The rounds after which is looked.
    looks: Vec<usize>,
    /// The share of the tasks that take part in rounds; the others come after the last round. 1 without others.
    pub(crate) share: f64,
    /// The levels for each of [`RATIOS`], computed when needed.
    levels: [OnceLock<Arc<AllLevels>>; RATIOS.len()],
}

/// The looks of a plan at one value of φ. With more tasks after the rounds there is one look more.
#[derive(Debug)]
pub(crate) struct AllLevels {
    /// For `helps` and `harms`.
    pub(crate) two_sided: Looks,
    /// For each of the two tests for `negligible`.
    pub(crate) one_sided: Looks,
}

impl AllLevels {
    /// Those of the last look.
    fn last(&self) -> Option<Levels> {
        Some(Levels {
            two_sided: *self.two_sided.levels().last()?,
            one_sided: *self.one_sided.levels().last()?,
        })
    }
}

/// What the levels of a plan follow from.
type Key = (usize, Vec<usize>, u64, usize, usize);

/// The levels that were computed, as they take a while.
static KNOWN: Mutex<BTreeMap<Key, Arc<AllLevels>>> = Mutex::new(BTreeMap::new());

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

/// The end of a comparison of a plan with tasks after the rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StagedEnd {
    /// The last round.
    pub round: usize,
    /// Whether the rounds left the comparison open, so that the tasks after them decided.
    pub goes_on: bool,
    /// The verdict.
    pub kind: VerdictKind,
}

impl Look {
    /// Whether the comparison ends.
    pub fn ends(&self) -> bool {
        self.verdict.kind != VerdictKind::Inconclusive || self.futile
    }
}

impl SequentialPlan {
    /// A plan of at most `rounds` rounds, with a look after each, for a family of `family` comparisons (0 counts as 1).
    /// `None` without rounds, or with more than [`MOST_ROUNDS`].
    pub fn new(rounds: usize, family: usize, margin: f64) -> Option<Self> {
        (1..=MOST_ROUNDS).contains(&rounds).then(|| Self {
            family,
            margin,
            rounds,
            looks: (1..=rounds).collect(),
            share: 1.0,
            levels: Default::default(),
        })
    }

    /// The plan with looks after these rounds only, and after the last one. Others than those of the plan are left out.
    #[must_use]
    pub fn looking_after(mut self, rounds: &[usize]) -> Self {
        self.looks = rounds.iter().copied().filter(|round| (1..=self.rounds).contains(round)).collect();
        self.looks.push(self.rounds);
        self.looks.sort_unstable();
        self.looks.dedup();
        self.levels = Default::default();
        self
    }

    /// The plan with more tasks after the rounds: `first` tasks take part in rounds, and a comparison that these leave
    /// open is decided with `more` others.
    #[must_use]
    pub fn with_more_tasks(mut self, first: usize, more: usize) -> Self {
        self.share = if more == 0 { 1.0 } else { first as f64 / (first + more) as f64 };
        self.levels = Default::default();
        self
    }

    /// Rounds at most.
    pub fn rounds(&self) -> usize {
        self.rounds
    }

    /// The rounds after which is looked, in order.
    pub fn looks(&self) -> &[usize] {
        &self.looks
    }

    pub(crate) fn levels(&self, ratio: usize) -> &AllLevels {
        self.levels[ratio].get_or_init(|| {
            let key = (self.rounds, self.looks.clone(), self.share.to_bits(), self.family.max(1), ratio);
            let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
            known.unwrap_or_else(|| {
                let found = Arc::new(self.compute_levels(ratio));
                KNOWN.lock().unwrap_or_else(PoisonError::into_inner).insert(key, found.clone());
                found
            })
        })
    }

    fn compute_levels(&self, ratio: usize) -> AllLevels {
        let mut times: Vec<f64> =
            self.looks.iter().map(|round| self.share * self.time_of(ratio, *round)).collect();
        if self.share < 1.0 {
            times.push(1.0);
        }
        let alpha = alpha(self.family);
        let of = |sides| Looks::new(alpha, &times, sides).unwrap_or_default();
        AllLevels { two_sided: of(Sides::Two), one_sided: of(Sides::One) }
    }

    /// The information after a round, as a share of that after the last.
    fn time_of(&self, ratio: usize, round: usize) -> f64 {
        (RATIOS[ratio] + 1.0) / (RATIOS[ratio] + self.rounds as f64 / round as f64)
    }

    /// The look after `round` complete rounds. Trials beyond the round must be left out by the caller: an
    /// incomplete round is not analysed. `losses` is `None` if no trial was lost. `None` for a round after which the
    /// plan does not look.
    pub fn decide_round(&self, tasks: &[PairedTask], round: usize, losses: Option<&Losses>) -> Option<Look> {
        let at = self.looks.binary_search(&round).ok()?;
        let (sample, noise) = (Sample::of(tasks), within_variance(tasks));
        let all = self.levels(self.ratio(&sample, noise, round));
        let levels = Levels {
            two_sided: *all.two_sided.levels().get(at)?,
            one_sided: *all.one_sided.levels().get(at)?,
        };
        let verdict = verdict_at(tasks, levels, self.family, self.margin, losses);
        let futile = verdict.kind == VerdictKind::Inconclusive
            && verdict.interval.is_some()
            && (self.first_futile()..self.rounds).contains(&round)
            && self.chance(all, &sample, noise, round).is_some_and(|chance| chance < FUTILITY);
        Some(Look { verdict, futile })
    }

    /// The first round after which futility ends a comparison.
    fn first_futile(&self) -> usize {
        if self.looks.len() == self.rounds {
            FIRST_FUTILE
        } else {
            FIRST_FUTILE_OF_FEW.max(self.rounds.div_ceil(3))
        }
    }

    /// The median-unbiased lift of a comparison that ended after a round: the lift at which such a design ends with a
    /// higher result as often as with a lower one (docs/STATISTICS.md, "Sequential verdicts"). `None` if the plan does
    /// not look after the round, or with fewer than five units.
    pub fn unbiased_lift(&self, tasks: &[PairedTask], round: usize) -> Option<f64> {
        let at = self.looks.binary_search(&round).ok()?;
        let sample = Sample::of(tasks);
        if !sample.has(FEWEST_UNITS) {
            return None;
        }
        let moments = sample.moments();
        let all = self.levels(self.ratio(&sample, within_variance(tasks), round));
        let z = second_stage::score(&moments, 0.0);
        // The lift of one standard error, in the scale of z.
        let unit = if z.abs() > 1e-3 {
            moments.mean / z
        } else {
            (moments.variance().max(moments.shrunk(moments.n)) / moments.n).sqrt()
        };
        Some((all.two_sided.unbiased(at, z) * unit).clamp(-1.0, 1.0))
    }

    /// The decision of a comparison that its rounds left open, with `more` tasks that took part in none of them.
    ///
    /// `first` are the tasks of the rounds as they were after `round`. The z of both are combined with weights fixed in
    /// the plan: Lehmacher & Wassmer, *Adaptive sample size calculations in group sequential trials*, Biometrics 55
    /// (1999), 1286–1290. `None` if the plan has no such tasks or does not look after the round.
    pub fn decide_more(
        &self,
        first: &[PairedTask],
        round: usize,
        more: &[PairedTask],
        losses: Option<[&Losses; 2]>,
    ) -> Option<Verdict> {
        let (all, weights) = self.second_stage(first, round)?;
        let levels = all.last()?;
        Some(second_stage::decide([first, more], weights, levels, self.family, self.margin, losses))
    }

    /// The kind of the verdict of [`SequentialPlan::decide_more`] without losses, which is quicker to compute. Of each stage
    /// the tasks with lost trials filled in, or as they are, and the tasks with the recorded trials alone, which say how
    /// much scores vary.
    pub fn kind_of_stages(
        &self,
        [first, more]: [&[PairedTask]; 2],
        round: usize,
        kept: [&[PairedTask]; 2],
    ) -> Option<VerdictKind> {
        let (all, weights) = self.second_stage(first, round)?;
        let (levels, tasks) = (all.last()?, [first, more]);
        Some(second_stage::kind_of_filled(tasks, kept, weights, levels, self.family, self.margin))
    }

    /// The median-unbiased lift of a comparison that [`SequentialPlan::decide_more`] decides: as
    /// [`SequentialPlan::unbiased_lift`], with the z of both stages at the last look. `None` without such a decision, and
    /// if neither stage has five units.
    pub fn unbiased_lift_of_stages(
        &self,
        first: &[PairedTask],
        round: usize,
        more: &[PairedTask],
    ) -> Option<f64> {
        let (all, weights) = self.second_stage(first, round)?;
        let (z, lift) = second_stage::estimate([first, more], weights)?;
        // Without a z there is no scale, and nothing to correct.
        let unit = if z.abs() > 1e-3 { lift / z } else { return Some(lift) };
        let end = all.two_sided.levels().len().checked_sub(1)?;
        Some((all.two_sided.unbiased(end, z) * unit).clamp(-1.0, 1.0))
    }

    /// How a comparison with the trials of all rounds ends, if it goes on with `more` tasks where its rounds leave it open.
    pub fn end_in_stages(&self, first: &[PairedTask], more: &[PairedTask]) -> Option<StagedEnd> {
        let (round, look) = self.stop(first)?;
        if look.verdict.kind != VerdictKind::Inconclusive || self.share >= 1.0 {
            return Some(StagedEnd { round, goes_on: false, kind: look.verdict.kind });
        }
        let first = first_rounds(first, round);
        let (all, weights) = self.second_stage(&first, round)?;
        let kind = second_stage::kind([&first, more], weights, all.last()?, self.family, self.margin);
        Some(StagedEnd { round, goes_on: true, kind })
    }

    /// The levels of a plan with tasks after the rounds, and the weights of both stages if the rounds ended after `round`.
    fn second_stage(&self, first: &[PairedTask], round: usize) -> Option<(&AllLevels, [f64; 2])> {
        self.looks.binary_search(&round).ok()?;
        if self.share >= 1.0 {
            return None;
        }
        let ratio = self.ratio(&Sample::of(first), within_variance(first), round);
        let weights = [self.share * self.time_of(ratio, round), 1.0 - self.share];
        Some((self.levels(ratio), weights))
    }

    /// The round at which a comparison with the trials of all rounds stops, and the look there. The trials of a task
    /// and arm are in order of rounds.
    pub fn stop(&self, tasks: &[PairedTask]) -> Option<(usize, Look)> {
        self.looks.iter().find_map(|round| {
            let look = self.decide_round(&first_rounds(tasks, *round), *round, None)?;
            (look.ends() || *round == self.rounds).then_some((*round, look))
        })
    }

    /// The position in [`RATIOS`] of the estimate of φ, given the tasks and the variance of a trial's difference within
    /// a task. After one round the two cannot be told apart.
    fn ratio(&self, sample: &Sample, noise: f64, round: usize) -> usize {
        if round < 2 {
            return 0;
        }
        let variance = if sample.has(FEWEST_UNITS) { sample.moments().variance() } else { 0.0 };
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
        let end = self.looks.len().checked_sub(1)?;
        let half = Quantiles::of(n, 0.5 * levels.two_sided.levels().get(end)?)?.plain * (last / n).sqrt();
        let margin_half = Quantiles::of(n, *levels.one_sided.levels().get(end)?)?.plain * (last / n).sqrt();
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
pub fn first_rounds(tasks: &[PairedTask], rounds: usize) -> Vec<PairedTask> {
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
    use crate::simulate::{Design, Effect};
    use crate::verdict;

    #[test]
    fn one_look_is_the_fixed_verdict_bit_for_bit() {
        for (family, effect) in [(1, Effect::None), (4, Effect::Uniform { lift: 0.2, spread: 0.2 })] {
            let plan = SequentialPlan::new(1, family, 0.1).unwrap();
            for index in 0..200 {
                let suite = Design::skewed(effect, 30, 5).suite(7, index);
                let fixed = verdict(&suite.arms[0], family, 0.1, None);
                assert!(is_fixed(&plan, &suite.arms[0], &fixed), "{index}");
            }
        }
    }

    /// Shares of suites with a verdict of a direction, of trials used, and of futile ends.
    fn run(effect: Effect, tasks: usize, rounds: usize, suites: u64) -> [f64; 3] {
        let plan = SequentialPlan::new(rounds, 1, 0.1).unwrap();
        let design = Design::skewed(effect, tasks, rounds);
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
        let suite = Design::skewed(Effect::None, 30, 3).suite(1, 0);
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
