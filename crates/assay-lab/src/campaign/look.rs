//! A look at the results of a finalist on held-out tasks.

use assay_stats::moments::Quantiles;
use assay_stats::sample::Sample;
use assay_stats::{Interval, Losses, LossyTask, PairedTask, SessionDrift, interval_for_bound};
use statrs::function::erf::erfc;

use super::decision::{CandidateDecision, HeldOut};
use super::results::{Results, TrialArm};
use super::step::Campaign;

/// A finalist whose chance of being accepted at the last look is below this is dropped.
const FUTILITY: f64 = 0.05;

/// The difference of the shares of lost trials from which on nothing is decided, as of verdicts.
const UNEQUAL_LOSSES: f64 = 0.05;

/// What a look finds.
pub(super) struct Look {
    pub(super) decision: CandidateDecision,
    /// Whether only lost trials stand against a decision.
    pub(super) is_lossy: bool,
    /// Whether further tasks are unlikely to lead to an acceptance. Not binding: a candidate that goes on all the same keeps its
    /// error rate.
    pub(super) is_futile: bool,
    pub(super) held_out: HeldOut,
}

impl Campaign {
    /// The look with number `at` at a candidate, whose trials are all there.
    pub(super) fn read_look(&self, results: &Results, candidate: usize, at: usize) -> Look {
        let design = &self.design;
        let end = design.development + design.looks.get(at).copied().unwrap_or(0);
        let level = design.levels.get(at).copied().unwrap_or(0.0);
        let lossy: Vec<LossyTask> =
            (design.development..end).map(|task| self.task(results, candidate, task)).collect();
        let tasks: Vec<PairedTask> = lossy.iter().map(|task| task.kept.clone()).collect();
        let losses = Losses::of(&lossy);
        let margin = design.margin.filter(|_| self.shorter.get(candidate).copied().unwrap_or(false));
        let found = decide(&tasks, margin, level);
        let is_safe =
            found == CandidateDecision::Undecided || !can_losses_change(&losses, found, margin, level);
        let sample = Sample::of(&tasks);
        let held_out = HeldOut {
            effect: if sample.tasks == 0 { 0.0 } else { sample.moments().mean },
            interval: interval_for_bound(&tasks, 0.0, 2.0 * level, SessionDrift::NONE),
            confidence: 1.0 - 2.0 * design.level / design.finalists as f64,
            tasks: sample.tasks,
        };
        let decision = if is_safe { found } else { CandidateDecision::Undecided };
        let is_last = at + 1 >= design.looks.len();
        let is_futile = decision == CandidateDecision::Undecided
            && !is_last
            && self.chance(&sample, margin).is_some_and(|chance| chance < FUTILITY);
        Look { decision, is_lossy: !is_safe, is_futile, held_out }
    }

    fn task(&self, results: &Results, candidate: usize, task: usize) -> LossyTask {
        let (arm, arm_lost) = results.of(TrialArm::Candidate(candidate), task);
        let (base, base_lost) = results.of(TrialArm::Incumbent, task);
        let cluster = self.clusters.get(task).copied().flatten();
        LossyTask { kept: PairedTask { arm, base, cluster }, arm_lost, base_lost }
    }

    /// The probability of an acceptance at the last look if the effect is the one that was observed: the mean over all N
    /// tasks given that over n of them is normal around it with the variance s²(1/n − 1/N).
    fn chance(&self, sample: &Sample, margin: Option<f64>) -> Option<f64> {
        let moments = sample.moments();
        let share = sample.tasks as f64 / self.design.held_out().max(1) as f64;
        let end = moments.n / share;
        let quantile = Quantiles::of(end, *self.design.levels.last()?)?.plain;
        let chance = |bound: f64| {
            let sparse = -bound * (1.0 + bound);
            let noise = moments.noise + sparse.max(0.0);
            let variance = moments.variance().max((moments.squares + 2.0 * noise) / (moments.n + 1.0));
            let needed = bound + quantile * (variance / end).sqrt();
            let spread = (variance * (1.0 / moments.n - 1.0 / end).max(0.0)).sqrt();
            if spread > 0.0 {
                upper_tail((needed - moments.mean) / spread)
            } else {
                f64::from(u8::from(moments.mean > needed))
            }
        };
        let better = chance(0.0);
        Some(margin.map_or(better, |margin| better.max(chance(-margin))))
    }
}

/// The decision at a one-sided level. To be better is also to be non-inferior, so that both may be tested at the same level
/// (a fixed sequence: Maurer, Hothorn & Lehmacher 1995).
fn decide(tasks: &[PairedTask], margin: Option<f64>, level: f64) -> CandidateDecision {
    let interval = |bound: f64| interval_for_bound(tasks, bound, 2.0 * level, SessionDrift::NONE);
    let Some(Interval { low, high }) = interval(0.0) else { return CandidateDecision::Undecided };
    if low > 0.0 {
        return CandidateDecision::Better;
    }
    if high < 0.0 {
        return CandidateDecision::Worse;
    }
    let non_inferior =
        margin.is_some_and(|margin| interval(-margin).is_some_and(|found| found.low > -margin));
    if non_inferior { CandidateDecision::NonInferiorAndShorter } else { CandidateDecision::Undecided }
}

/// Whether lost trials could change a decision, by the rule of verdicts: they count as a quarter above the rate of their cell in
/// one arm and a quarter below it in the other, and the shares of lost trials may not differ by more than 5 points.
fn can_losses_change(losses: &Losses, decision: CandidateDecision, margin: Option<f64>, level: f64) -> bool {
    if losses.arm_lost + losses.base_lost == 0 {
        return false;
    }
    let share = |lost: usize, planned: usize| lost as f64 / planned.max(1) as f64;
    let difference =
        share(losses.arm_lost, losses.arm_planned) - share(losses.base_lost, losses.base_planned);
    let filled = if decision == CandidateDecision::Worse { &losses.best } else { &losses.worst };
    difference.abs() > UNEQUAL_LOSSES + 1e-12 || decide(filled, margin, level) != decision
}

/// P(Z > z) of the standard normal distribution.
fn upper_tail(z: f64) -> f64 {
    erfc(z / std::f64::consts::SQRT_2) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use CandidateDecision::{Better, NonInferiorAndShorter, Undecided, Worse};

    fn tasks(differences: &[f64]) -> Vec<PairedTask> {
        let task = |difference: &f64| PairedTask {
            arm: vec![0.5 + difference / 2.0; 4],
            base: vec![0.5 - difference / 2.0; 4],
            cluster: None,
        };
        differences.iter().map(task).collect()
    }

    #[test]
    fn decisions() {
        let check = |differences: &[f64], margin: Option<f64>, expected: CandidateDecision| {
            assert_eq!(decide(&tasks(differences), margin, 0.0125), expected, "{differences:?} {margin:?}");
        };
        check(&[0.5; 20], None, Better);
        check(&[0.5; 20], Some(0.1), Better);
        check(&[-0.5; 20], Some(0.1), Worse);
        check(&[0.0; 60], None, Undecided);
        check(&[0.0; 60], Some(0.1), NonInferiorAndShorter);
        check(&[0.0; 60], Some(0.01), Undecided);
        check(&[0.5; 4], None, Undecided);
    }

    #[test]
    fn lost_trials_can_stand_against_a_decision() {
        let task = |arm_lost: usize| LossyTask {
            kept: PairedTask { arm: vec![1.0; 4], base: vec![0.0; 4], cluster: None },
            arm_lost,
            base_lost: 0,
        };
        let check = |lost: usize, expected: bool| {
            let all: Vec<LossyTask> = (0..20).map(|at| task(usize::from(at < lost))).collect();
            assert_eq!(can_losses_change(&Losses::of(&all), Better, None, 0.0125), expected, "{lost}");
        };
        check(0, false);
        check(1, false);
        // 12 of 92 is more than 5 points above 0 of 80.
        check(12, true);
    }
}
