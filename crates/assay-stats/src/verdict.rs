//! The verdict on a comparison (docs/STATISTICS.md, "Family and verdict").
//!
//! A family of m comparisons shares an error rate of 5%: each is judged at α = 0.05/m (Bonferroni).
//! In this order:
//!
//! 1. **Negligible**, if the (1 − 2α) interval is inside (−d, d): two one-sided tests (Schuirmann
//!    1987). If the lift differs from 0 as well, the direction is given. At least ln α/ln(1 − d)
//!    units are required: with fewer, more than a share α of suites contain no task of an effect
//!    that shifts a share d of the tasks from 0 to 1.
//! 2. **Helps** or **harms**, if the (1 − α) interval excludes 0.
//! 3. **Inconclusive** otherwise, for `Design` or `Noise`.
//!
//! **Losses** make a comparison `Inconclusive` if one of the first two verdicts changes when lost
//! trials count 0.25 above or below the rates of their cells ([`Losses::of`]), if the shares of
//! lost trials differ by more than 5 pp, or if they leave fewer than five units. They are not the
//! reason of a comparison that is inconclusive without them.

use serde::{Deserialize, Serialize};

use crate::estimate::FEWEST_UNITS;
use crate::interval::Interval;
use crate::level::alpha;
use crate::moments::Quantiles;
use crate::paired_task::PairedTask;
use crate::power;
use crate::sample::{Sample, mean, scores};
use crate::spending::spent;

/// The smallest p reported; quantiles are not exact below it.
const LEAST_P: f64 = 1e-15;

/// Lifts that differ by less are equal.
const SAME: f64 = 1e-9;

/// How far lost trials may differ from the rate of their cell.
const TIPPING: f64 = 0.25;

/// The shifts that are tried for the least one that changes a verdict, from 0 to 1.
const SHIFTS: u32 = 100;

/// The verdict on a comparison, with its intervals and reason.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// The verdict.
    pub kind: VerdictKind,
    /// The interval that decides between helps and harms, at level 1 − .05/m; `None` under 5 tasks
    /// or effective clusters.
    pub interval: Option<Interval>,
    /// The interval that decides on `negligible`, at level 1 − 2·.05/m, with d(1 − d) added to the
    /// variance of its pseudo-tasks, d being the margin.
    pub equivalence: Option<Interval>,
    /// Why it is inconclusive; `None` for the other kinds.
    pub reason: Option<Reason>,
    /// Tasks that detect a lift of the margin's size with 80% power, and no fewer than `negligible`
    /// requires. Given for `Design` and `Noise`, if two units or more allow a variance.
    pub tasks_needed: Option<usize>,
    /// Sign of the lift, for a verdict whose (1 − .05/m) interval excludes 0; `None` if it is
    /// inconclusive.
    pub direction: Option<Direction>,
}

/// The four verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictKind {
    /// The lift is above 0.
    Helps,
    /// The lift is below 0.
    Harms,
    /// The lift is within the margin, whether or not it is 0.
    #[serde(alias = "no-effect")]
    Negligible,
    /// Neither a lift nor its absence is shown.
    #[serde(alias = "underpowered")]
    Inconclusive,
}

impl VerdictKind {
    /// The word in reports and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Helps => "helps",
            Self::Harms => "harms",
            Self::Negligible => "negligible",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// Why a comparison is inconclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// The design is too small: fewer than 5 tasks or clusters, or a minimum detectable effect
    /// above 1.
    Design,
    /// Lost trials could change the verdict, or the arms lost unequal shares.
    Losses,
    /// The variance between tasks is too large for their number.
    Noise,
    /// The judge gave wrong answers to planted items, so that no verdict of it counts.
    Judge,
    /// The treatment that is compared was not there in most trials.
    #[serde(rename = "not-delivered")]
    NotDelivered,
}

/// Sign of a lift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Above 0.
    Positive,
    /// Below 0.
    Negative,
}

impl Direction {
    /// The word in reports and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Positive => "positive",
            Self::Negative => "negative",
        }
    }
}

/// Trials that were executed and have no result, and bounds of their effect on a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Losses {
    /// The arm's trials without a result.
    pub arm_lost: usize,
    /// The arm's executed trials.
    pub arm_planned: usize,
    /// The baseline's trials without a result.
    pub base_lost: usize,
    /// The baseline's executed trials.
    pub base_planned: usize,
    /// The tasks with lost trials filled in, in the arm's favour.
    pub best: Vec<PairedTask>,
    /// The tasks with lost trials filled in, against the arm.
    pub worst: Vec<PairedTask>,
    /// The tasks, from which any other shift is filled in.
    pub tasks: Vec<LossyTask>,
}

/// A task with the number of its trials that have no result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LossyTask {
    /// The available scores; an arm may have none.
    pub kept: PairedTask,
    /// The arm's trials without a result.
    pub arm_lost: usize,
    /// The baseline's trials without a result.
    pub base_lost: usize,
}

impl LossyTask {
    fn filled(&self, arm: f64, base: f64) -> PairedTask {
        let fill = |kept: &[f64], lost: usize, value: f64| {
            kept.iter().copied().chain(std::iter::repeat_n(value, lost)).collect()
        };
        PairedTask {
            arm: fill(&self.kept.arm, self.arm_lost, arm),
            base: fill(&self.kept.base, self.base_lost, base),
            cluster: self.kept.cluster,
        }
    }
}

impl Losses {
    /// The losses of a comparison, by a tipping-point analysis (Ratitch, O'Kelly & Tosiello 2013):
    /// each lost trial counts as the rate of its cell, a quarter above it in one arm and a quarter
    /// below it in the other, and vice versa. A cell without results has its arm's rate, and ½ if
    /// the arm has none.
    ///
    /// Counting them as passed in one arm and failed in the other would be too pessimistic: trials
    /// that break for unrelated reasons pass about as often as the others of their task.
    pub fn of(tasks: &[LossyTask]) -> Losses {
        let total = |count: &dyn Fn(&LossyTask) -> usize| tasks.iter().map(count).sum();
        Losses {
            arm_lost: total(&|task| task.arm_lost),
            arm_planned: total(&|task| task.kept.arm.len() + task.arm_lost),
            base_lost: total(&|task| task.base_lost),
            base_planned: total(&|task| task.kept.base.len() + task.base_lost),
            best: filled(tasks, TIPPING),
            worst: filled(tasks, -TIPPING),
            tasks: tasks.to_vec(),
        }
    }

    /// The least shift at which lost trials change a verdict, in steps of 0.01: each lost trial counts so much above the rate of
    /// its cell in one arm and so much below it in the other. `kind_with` is the verdict on the recorded trials with these losses,
    /// or without any.
    ///
    /// `None` if nothing was lost, if there is no verdict, and if no shift changes it.
    pub fn tipping_shift(
        &self,
        mut kind_with: impl FnMut(Option<&Losses>) -> Option<VerdictKind>,
    ) -> Option<f64> {
        let kind = kind_with(None)?;
        self.tipping_shift_of(kind, |by| kind_with(Some(&self.shifted(by))))
    }

    /// The lost trials at a shift, in both directions, without their numbers.
    fn shifted(&self, by: f64) -> Losses {
        Losses { best: self.filled(by), worst: self.filled(-by), ..Losses::default() }
    }

    /// The same, with `kind` the verdict without the lost trials and `kind_at` the one at a shift.
    pub fn tipping_shift_of(
        &self,
        kind: VerdictKind,
        mut kind_at: impl FnMut(f64) -> Option<VerdictKind>,
    ) -> Option<f64> {
        if self.arm_lost + self.base_lost == 0 || kind == VerdictKind::Inconclusive {
            return None;
        }
        let mut changes = |by: f64| kind_at(by).is_some_and(|found| found != kind);
        (0..=SHIFTS).map(|step| f64::from(step) / f64::from(SHIFTS)).find(|by| changes(*by) || changes(-by))
    }

    /// The tasks with each lost trial counted `by` above the rate of its cell in the arm, and below it in the baseline.
    pub fn filled(&self, by: f64) -> Vec<PairedTask> {
        filled(&self.tasks, by)
    }

    /// The lift with lost trials filled in against the arm, and in its favour. `None` if nothing
    /// was lost, and if no task would have trials under both arms.
    pub fn lifts(&self) -> Option<[f64; 2]> {
        if self.arm_lost + self.base_lost == 0 {
            return None;
        }
        let lift =
            |tasks: &[PairedTask]| Some(Sample::of(tasks)).filter(|s| s.tasks > 0).map(|s| s.moments().mean);
        Some([lift(&self.worst)?, lift(&self.best)?])
    }

    /// The numbers of two stages together, without the tasks.
    pub(crate) fn sum(stages: [&Losses; 2]) -> Losses {
        let total = |count: fn(&Losses) -> usize| stages.iter().map(|losses| count(losses)).sum();
        Losses {
            arm_lost: total(|losses| losses.arm_lost),
            arm_planned: total(|losses| losses.arm_planned),
            base_lost: total(|losses| losses.base_lost),
            base_planned: total(|losses| losses.base_planned),
            ..Losses::default()
        }
    }

    /// Whether the shares lost differ by more than 5 points. An arm without planned trials has lost
    /// none.
    pub(crate) fn unequal(&self) -> bool {
        let share = |lost: usize, planned: usize| (lost.min(planned) as u128, planned.max(1) as u128);
        let (arm, arm_of) = share(self.arm_lost, self.arm_planned);
        let (base, base_of) = share(self.base_lost, self.base_planned);
        let saturating = |a: u128, b: u128| a.saturating_mul(b);
        // |a/A − b/B| > 1/20, in whole numbers: a difference of exactly 5 points is not more than 5.
        saturating(arm, base_of).abs_diff(saturating(base, arm_of)).saturating_mul(20)
            > saturating(arm_of, base_of)
    }

    /// Whether losses make the comparison inconclusive: `kind` is its verdict without them, and
    /// `verdict_of` computes the verdict on tasks whose lost trials are filled in.
    pub fn decide(
        &self,
        kind: VerdictKind,
        sample: &Sample,
        mut verdict_of: impl FnMut(&Sample) -> VerdictKind,
    ) -> bool {
        // What is filled in says nothing of how much recorded scores vary.
        let filled = |tasks: &[PairedTask]| Sample::with_variance(tasks, Some(sample.variance));
        let best = filled(&self.best);
        if kind == VerdictKind::Inconclusive {
            // Losses are the reason only if they left too few units.
            return !sample.has(FEWEST_UNITS) && best.has(FEWEST_UNITS);
        }
        self.unequal() || verdict_of(&best) != kind || verdict_of(&filled(&self.worst)) != kind
    }
}

/// Tasks whose lost trials count as the rate of their cells, `by` above it in the arm and below it in the baseline.
fn filled(tasks: &[LossyTask], by: f64) -> Vec<PairedTask> {
    let arm_rate = overall(tasks.iter().map(|task| task.kept.arm.as_slice()));
    let base_rate = overall(tasks.iter().map(|task| task.kept.base.as_slice()));
    let rate = |kept: &[f64], all: f64| {
        let kept = scores(kept);
        if kept.is_empty() { all } else { mean(&kept) }
    };
    tasks
        .iter()
        .map(|task| {
            let arm = rate(&task.kept.arm, arm_rate) + by;
            let base = rate(&task.kept.base, base_rate) - by;
            task.filled(arm.clamp(0.0, 1.0), base.clamp(0.0, 1.0))
        })
        .collect()
}

/// The mean over tasks of the mean over a task's trials; ½ without trials.
fn overall<'a>(tasks: impl Iterator<Item = &'a [f64]>) -> f64 {
    let mut means: Vec<f64> =
        tasks.map(scores).filter(|kept| !kept.is_empty()).map(|kept| mean(&kept)).collect();
    means.sort_by(f64::total_cmp);
    if means.is_empty() { 0.5 } else { mean(&means) }
}

/// The two-sided p of the interval that decides: the smallest α at which the (1 − α) interval
/// excludes 0.
///
/// Times m, and at most 1, it is at most .05 exactly if a comparison judged at .05/m helps, harms
/// or has a direction. At least 10⁻¹⁵. `None` under 5 tasks or effective clusters.
pub fn interval_p(tasks: &[PairedTask]) -> Option<f64> {
    let sample = Sample::of(tasks);
    if !sample.has(FEWEST_UNITS) {
        return None;
    }
    let moments = sample.moments();
    let excludes = |p: f64| moments.interval(0.5 * p, (-1.0, 1.0)).is_some_and(Interval::excludes_zero);
    let (mut low, mut high) = (LEAST_P, 1.0 - f64::EPSILON);
    if !excludes(high) {
        return Some(1.0);
    }
    if excludes(low) {
        return Some(low);
    }
    // By halving the ratio, so that small ones are known as well as large ones.
    for _ in 0..80 {
        let middle = (low * high).sqrt();
        if excludes(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}

/// The verdict on one comparison.
///
/// `m` is the number of comparisons in its family (0 counts as 1), `margin` the equivalence margin.
/// With a margin outside (0, 1) there is no `negligible`. `losses` is `None` if no trial was lost.
pub fn verdict(tasks: &[PairedTask], m: usize, margin: f64, losses: Option<&Losses>) -> Verdict {
    verdict_at(tasks, Levels::fixed(m), m, margin, losses)
}

/// The verdict on one comparison of a run that ends for good with a share `share` of its planned trials: judged once, at
/// [`closing_level`]. With a share of 1 it is [`verdict`].
pub fn closing_verdict(
    tasks: &[PairedTask],
    m: usize,
    margin: f64,
    losses: Option<&Losses>,
    share: f64,
) -> Verdict {
    let level = closing_level(m, share);
    verdict_at(tasks, Levels { two_sided: level, one_sided: level }, m, margin, losses)
}

/// The level at which a comparison in a family of `m` is judged when its run ends with a share `share` of its planned
/// trials: what the spending function of sequential designs has spent by then ([`spent`]), .05/m at 1.
pub fn closing_level(m: usize, share: f64) -> f64 {
    spent(alpha(m), share)
}

/// The verdict on one comparison at given levels, for a family of `m`.
pub(crate) fn verdict_at(
    tasks: &[PairedTask],
    levels: Levels,
    m: usize,
    margin: f64,
    losses: Option<&Losses>,
) -> Verdict {
    let sample = Sample::of(tasks);
    let decision = Decision::of(&sample, levels, m, margin);
    let lost = losses.is_some_and(|losses| {
        losses.decide(decision.kind, &sample, |bound| Decision::of(bound, levels, m, margin).kind)
    });
    let kind = if lost { VerdictKind::Inconclusive } else { decision.kind };
    let inconclusive = kind == VerdictKind::Inconclusive;
    let reason = inconclusive.then(|| if lost { Reason::Losses } else { reason(&sample, m) });
    let tasks_needed = match reason {
        Some(Reason::Design | Reason::Noise) => tasks_to_detect_of(&sample, m, margin, margin),
        Some(Reason::Losses | Reason::Judge | Reason::NotDelivered) | None => None,
    };
    Verdict {
        kind,
        interval: decision.interval,
        equivalence: decision.equivalence,
        reason,
        tasks_needed,
        direction: decision.direction.filter(|_| !inconclusive),
    }
}

/// The number of tasks that detect a lift of `effect` with 80% power, as [`crate::tasks_needed`]
/// has it; for an effect of the margin's size or a smaller one no fewer than `negligible` requires.
/// With `effect` equal to `margin` it is [`Verdict::tasks_needed`].
pub fn tasks_to_detect(tasks: &[PairedTask], m: usize, effect: f64, margin: f64) -> Option<usize> {
    tasks_to_detect_of(&Sample::of(tasks), m, effect, margin)
}

fn tasks_to_detect_of(sample: &Sample, m: usize, effect: f64, margin: f64) -> Option<usize> {
    let needed = power::tasks_needed_of(sample, m, effect)?;
    let is_beyond = effect > margin + SAME;
    Some(if is_beyond { needed } else { needed.max(fewest_for_negligible(sample, m, margin)) })
}

pub(crate) fn reason(sample: &Sample, m: usize) -> Reason {
    match power::mde_of(sample, m) {
        Some(lift) if lift <= 1.0 => Reason::Noise,
        _ => Reason::Design,
    }
}

/// The levels at which one comparison is judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Levels {
    /// Of the interval that decides between `helps` and `harms`, both tails together.
    pub(crate) two_sided: f64,
    /// Of each of the two tests for `negligible`.
    pub(crate) one_sided: f64,
}

impl Levels {
    /// Those of a comparison in a family of `m` that is judged once.
    pub(crate) fn fixed(m: usize) -> Self {
        Self { two_sided: alpha(m), one_sided: alpha(m) }
    }
}

/// A verdict before losses are considered, without its reason.
pub struct Decision {
    /// The verdict.
    pub kind: VerdictKind,
    /// The interval that decides whether a skill helps or harms.
    pub interval: Option<Interval>,
    /// The interval that is compared with the margin.
    pub equivalence: Option<Interval>,
    /// The sign of the lift, if the deciding interval excludes 0.
    pub direction: Option<Direction>,
}

impl Decision {
    pub(crate) fn of(sample: &Sample, levels: Levels, m: usize, margin: f64) -> Decision {
        if !sample.has(FEWEST_UNITS) {
            let kind = VerdictKind::Inconclusive;
            return Decision { kind, interval: None, equivalence: None, direction: None };
        }
        let moments = sample.moments();
        let decisive = moments.interval(0.5 * levels.two_sided, (-1.0, 1.0));
        let equivalence = Quantiles::of(moments.n, levels.one_sided).map(|t| moments.equivalence(t, margin));
        // The number of units that `negligible` needs is a matter of the family alone.
        Decision::read(decisive, equivalence, margin, has_enough_units(sample.effective, alpha(m), margin))
    }

    /// The verdict of the two intervals; `enough` means that there are enough units for
    /// `negligible`.
    pub fn read(
        interval: Option<Interval>,
        equivalence: Option<Interval>,
        margin: f64,
        enough: bool,
    ) -> Decision {
        let direction = interval
            .filter(|i| i.excludes_zero())
            .map(|i| if i.low > 0.0 { Direction::Positive } else { Direction::Negative });
        let kind = if enough && equivalence.is_some_and(|e| e.within(margin)) {
            VerdictKind::Negligible
        } else {
            match direction {
                Some(Direction::Positive) => VerdictKind::Helps,
                Some(Direction::Negative) => VerdictKind::Harms,
                None => VerdictKind::Inconclusive,
            }
        };
        Decision { kind, interval, equivalence, direction }
    }
}

/// Whether there are enough units for `negligible` within ±`margin`: at least ln α/ln(1 − d), so
/// that a suite contains no task of an effect on a share d of them with a probability of at most α.
/// Never with a margin outside (0, 1).
pub fn has_enough_units(units: f64, alpha: f64, margin: f64) -> bool {
    margin > 0.0 && margin < 1.0 && units * (1.0 - margin).ln() <= alpha.ln()
}

/// The fewest tasks, in clusters of the same sizes, with which `negligible` is possible; 0 for an
/// invalid margin.
pub(crate) fn fewest_for_negligible(sample: &Sample, m: usize, margin: f64) -> usize {
    if !(margin > 0.0 && margin < 1.0) {
        return 0;
    }
    let units = (alpha(m).ln() / (1.0 - margin).ln()).ceil();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "above 0, and a cast saturates"
    )]
    let tasks = (units * sample.tasks as f64 / sample.effective).ceil() as usize;
    tasks
}
