//! Coverage, error rates and power over simulated suites.

use std::collections::BTreeMap;
use std::ops::{AddAssign, Range};

use assay_stats::FEWEST_UNITS;
use assay_stats::alpha;
use assay_stats::moments::Quantiles;
use assay_stats::sample::Sample;
use assay_stats::simulate::Design;
use assay_stats::{Decision, Losses, VerdictKind, has_enough_units};

/// The tail of the 95% interval whose coverage is counted, whatever the family.
const TAIL: f64 = 0.025;

/// True lifts below this count as 0.
const NONE: f64 = 1e-9;

/// Counts over simulated suites. The counts of two ranges of suites add up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Suites.
    pub suites: u64,
    /// Suites in which at least one comparison helps or harms.
    pub suites_decided: u64,
    /// Comparisons: suites times arms.
    pub comparisons: u64,
    /// Comparisons with an interval.
    pub intervals: u64,
    /// Those whose 95% interval contains the true lift.
    pub covered: u64,
    /// Sum of the widths of the 95% intervals, in parts of 2^40, so that sums do not depend on
    /// their order.
    pub widths: u64,
    /// Verdicts that an arm helps.
    pub helps: u64,
    /// Verdicts that an arm harms.
    pub harms: u64,
    /// Verdicts `negligible`.
    pub negligible: u64,
}

/// A width of 1 in [`Tally::widths`].
const WIDTH: f64 = (1_u64 << 40) as f64;

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.suites += other.suites;
        self.suites_decided += other.suites_decided;
        self.comparisons += other.comparisons;
        self.intervals += other.intervals;
        self.covered += other.covered;
        self.widths += other.widths;
        self.helps += other.helps;
        self.harms += other.harms;
        self.negligible += other.negligible;
    }
}

/// The results of a design. Shares are in [0, 1]; `None` if not applicable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Share of comparisons whose 95% interval contains the true lift.
    pub coverage: Option<f64>,
    /// Mean width of that interval.
    pub width: Option<f64>,
    /// Share of suites with a verdict of helps or harms if no arm has an effect.
    pub false_verdicts: Option<f64>,
    /// Share of comparisons with the right one of helps and harms if there is a lift.
    pub power: Option<f64>,
    /// Share of comparisons with `negligible`.
    pub negligible: Option<f64>,
    /// Share of comparisons with the wrong one of helps and harms if there is a lift.
    pub wrong_sign: Option<f64>,
}

impl Tally {
    /// The shares of `helps`, `harms`, `negligible` and `inconclusive`; `None` without a
    /// comparison.
    pub fn verdicts(&self) -> Option<[f64; 4]> {
        let inconclusive = self.comparisons - self.helps - self.harms - self.negligible;
        let share = |count: u64| count as f64 / self.comparisons as f64;
        (self.comparisons > 0).then(|| [self.helps, self.harms, self.negligible, inconclusive].map(share))
    }

    /// The shares, given the true lift.
    pub fn cell(&self, true_lift: f64) -> Cell {
        let share = |count: u64, of: u64| (of > 0).then(|| count as f64 / of as f64);
        let (right, wrong) =
            if true_lift > 0.0 { (self.helps, self.harms) } else { (self.harms, self.helps) };
        let none = true_lift.abs() < NONE;
        Cell {
            coverage: share(self.covered, self.intervals),
            width: (self.intervals > 0).then(|| self.widths as f64 / WIDTH / self.intervals as f64),
            false_verdicts: share(self.suites_decided, self.suites).filter(|_| none),
            power: share(right, self.comparisons).filter(|_| !none),
            negligible: share(self.negligible, self.comparisons),
            wrong_sign: share(wrong, self.comparisons).filter(|_| !none),
        }
    }
}

/// Draws the suites numbered `suites` under `seed` and counts their verdicts.
///
/// The numbers of two ranges that follow each other add up to those of both: split them over
/// threads.
pub fn simulate_suites(design: &Design, suites: Range<u64>, seed: u64) -> Tally {
    let mut tally = Tally::default();
    let lift = design.true_lift();
    let mut critical = Critical { alpha: alpha(design.arms), values: BTreeMap::new() };
    for index in suites {
        let suite = design.suite(seed, index);
        let mut decided = false;
        for (at, tasks) in suite.arms.iter().enumerate() {
            let sample = Sample::of(tasks);
            tally.comparisons += 1;
            if let Some([_, _, quantiles]) = critical.at(&sample) {
                let interval = sample.moments().interval_of(quantiles, (-1.0, 1.0));
                tally.intervals += 1;
                tally.covered += u64::from(interval.low <= lift && lift <= interval.high);
                tally.widths += parts(interval.width());
            }
            let kind = critical.kind(&sample, design.margin, suite.losses.get(at));
            tally.helps += u64::from(kind == VerdictKind::Helps);
            tally.harms += u64::from(kind == VerdictKind::Harms);
            tally.negligible += u64::from(kind == VerdictKind::Negligible);
            decided |= matches!(kind, VerdictKind::Helps | VerdictKind::Harms);
        }
        tally.suites += 1;
        tally.suites_decided += u64::from(decided);
    }
    tally
}

/// A width in whole parts.
fn parts(width: f64) -> u64 {
    // At most 2 × 2^40.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a width is in [0, 2]")]
    let parts = (width.clamp(0.0, 2.0) * WIDTH).round() as u64;
    parts
}

/// Student's quantiles by number of units: of the adjusted, the equivalence and the 95% interval.
struct Critical {
    alpha: f64,
    values: BTreeMap<u64, Option<[Quantiles; 3]>>,
}

impl Critical {
    fn at(&mut self, sample: &Sample) -> Option<[Quantiles; 3]> {
        let alpha = self.alpha;
        if !sample.has(FEWEST_UNITS) {
            return None;
        }
        *self.values.entry(sample.n.to_bits()).or_insert_with(|| {
            let t = |tail: f64| Quantiles::of(sample.n, tail);
            Some([t(0.5 * alpha)?, t(alpha)?, t(TAIL)?])
        })
    }

    /// The rule of [`assay_stats::verdict`], with known quantiles and without the reason.
    fn kind(&mut self, sample: &Sample, margin: f64, losses: Option<&Losses>) -> VerdictKind {
        let kind = self.decide(sample, margin);
        let lost =
            losses.is_some_and(|losses| losses.decide(kind, sample, |bound| self.decide(bound, margin)));
        if lost { VerdictKind::Inconclusive } else { kind }
    }

    fn decide(&mut self, sample: &Sample, margin: f64) -> VerdictKind {
        let Some([decisive, equivalence, _]) = self.at(sample) else {
            return VerdictKind::Inconclusive;
        };
        let moments = sample.moments();
        let enough = has_enough_units(sample.effective, self.alpha, margin);
        let interval = moments.interval_of(decisive, (-1.0, 1.0));
        Decision::read(Some(interval), Some(moments.equivalence(equivalence, margin)), margin, enough).kind
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_stats::simulate::{Baseline, Effect, Loss};

    fn design(effect: Effect) -> Design {
        Design {
            baseline: Baseline::beta(0.6, 0.9).unwrap(),
            effect,
            tasks: 10,
            repetitions: 3,
            base_repetitions: 3,
            arms: 4,
            margin: 0.1,
            drift: 0.0,
            arm_loss: Loss::default(),
            base_loss: Loss::default(),
        }
    }

    #[test]
    fn verdicts_match_the_rule() {
        let mut design = design(Effect::Uniform { lift: 0.4, spread: 0.2 });
        design.arm_loss = Loss { passed: 0.02, failed: 0.02 };
        let mut counts = [0; 4];
        for index in 0..60 {
            let suite = design.suite(5, index);
            for (tasks, losses) in suite.arms.iter().zip(&suite.losses) {
                counts[assay_stats::verdict(tasks, 4, 0.1, Some(losses)).kind as usize] += 1;
            }
        }
        let tally = simulate_suites(&design, 0..60, 5);
        assert_eq!([tally.helps, tally.harms, tally.negligible], [counts[0], counts[1], counts[2]]);
        assert!(tally.helps > 0 && counts[3] > 0);
    }

    #[test]
    fn ranges_add_up() {
        let design = design(Effect::None);
        let mut parts = simulate_suites(&design, 0..7, 1);
        parts += simulate_suites(&design, 7..40, 1);
        assert_eq!(parts, simulate_suites(&design, 0..40, 1));
        assert_eq!((parts.suites, parts.comparisons, parts.intervals), (40, 160, 160));
    }

    #[test]
    fn cell_measures_depend_on_the_truth() {
        let tally = Tally {
            suites: 10,
            suites_decided: 3,
            comparisons: 40,
            intervals: 20,
            covered: 19,
            widths: 20 << 39,
            helps: 8,
            harms: 2,
            negligible: 4,
        };
        let null = tally.cell(0.0);
        assert_eq!((null.coverage, null.width, null.negligible), (Some(0.95), Some(0.5), Some(0.1)));
        assert_eq!((null.false_verdicts, null.power, null.wrong_sign), (Some(0.3), None, None));
        let gain = tally.cell(0.2);
        assert_eq!((gain.false_verdicts, gain.power, gain.wrong_sign), (None, Some(0.2), Some(0.05)));
        let loss = tally.cell(-0.2);
        assert_eq!((loss.power, loss.wrong_sign), (Some(0.05), Some(0.2)));
        assert_eq!(tally.verdicts(), Some([0.2, 0.05, 0.1, 0.65]));
        assert_eq!(Tally::default().verdicts(), None);
        let empty = Tally::default().cell(0.2);
        assert_eq!((empty.coverage, empty.width, empty.power), (None, None, None));
    }

    #[test]
    fn too_few_tasks_are_inconclusive() {
        for tasks in [0, 1, 4] {
            let mut design = design(Effect::Uniform { lift: 1.0, spread: 0.0 });
            design.tasks = tasks;
            let tally = simulate_suites(&design, 0..5, 1);
            assert_eq!((tally.intervals, tally.helps + tally.harms + tally.negligible), (0, 0));
        }
        let mut design = design(Effect::None);
        design.repetitions = 0;
        assert_eq!(simulate_suites(&design, 0..5, 1).intervals, 0);
    }
}
