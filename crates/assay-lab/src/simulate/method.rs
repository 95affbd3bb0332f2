//! The default interval and the alternatives to it.

use std::ops::Range;

use rand_chacha::ChaCha8Rng;

use assay_stats::FEWEST_UNITS;
use assay_stats::Interval;
use assay_stats::PairedTask;
use assay_stats::moments::{Moments, PSEUDO, Quantiles};
use assay_stats::random::{Purpose, index, stream};
use assay_stats::sample::{Sample, mean, paired, tail_of};
use assay_stats::sample_quantile;
use assay_stats::simulate::Design;

/// Resamples of the bootstrap.
const RESAMPLES: usize = 1000;

/// An interval for the lift over tasks. Verdicts use the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The interval of [`assay_stats::lift`].
    Default,
    /// mean ± t(n − 1)·s̃/√n with two pseudo-tasks at ¼(1/r_arm + 1/r_base): the earlier default.
    PseudoTasks,
    /// mean ± t(n − 1)·s/√n.
    Student,
    /// The default without its longer skewed side.
    Symmetric,
    /// The default shifted by all of Johnson's (1978) term, instead of one longer side.
    Moved,
    /// Pseudo-tasks at the variance of Laplace's rate (x + 1)/(r + 2) of each task, or s² if it is
    /// larger, with t(n − 1).
    Estimated,
    /// The larger of t(n − 1)·s and 1.96·√v₀, over √n: never narrower than the binomial's largest
    /// noise.
    Noise,
    /// Percentile bootstrap of the tasks, 1,000 resamples.
    Percentile,
}

impl Method {
    /// All of them, the default first.
    pub const ALL: [Method; 8] = [
        Method::Default,
        Method::PseudoTasks,
        Method::Student,
        Method::Symmetric,
        Method::Moved,
        Method::Estimated,
        Method::Noise,
        Method::Percentile,
    ];

    /// Name for a table.
    pub fn name(self) -> &'static str {
        match self {
            Method::Default => "default",
            Method::PseudoTasks => "pseudo-tasks",
            Method::Student => "Student",
            Method::Symmetric => "symmetric",
            Method::Moved => "moved",
            Method::Estimated => "estimated",
            Method::Noise => "noise",
            Method::Percentile => "percentile",
        }
    }

    /// The interval at `level`, within [−1, 1]. `None` below five tasks or clusters, and at an
    /// invalid level.
    ///
    /// The bootstrap draws under `seed`. Estimated noise and the bootstrap ignore clusters.
    pub fn interval(self, tasks: &[PairedTask], level: f64, seed: u64) -> Option<Interval> {
        let tail = tail_of(level)?;
        let sample = Sample::of(tasks);
        let quantiles = Quantiles::of(sample.n, tail).filter(|_| sample.has(FEWEST_UNITS))?;
        self.with(tasks, &sample, quantiles, tail, &mut stream(seed, Purpose::Bootstrap, 0))
    }

    fn with(
        self,
        tasks: &[PairedTask],
        sample: &Sample,
        quantiles: Quantiles,
        tail: f64,
        random: &mut ChaCha8Rng,
    ) -> Option<Interval> {
        let moments = sample.moments();
        let n = moments.n;
        let t = quantiles.plain;
        let (centre, half) = match self {
            Method::Default => return Some(moments.interval_of(quantiles, (-1.0, 1.0))),
            Method::PseudoTasks => (moments.mean, t * (moments.shrunk(n) / n).sqrt()),
            Method::Student => (moments.mean, t * (moments.variance() / n).sqrt()),
            Method::Symmetric => (moments.mean, moments.half(n, quantiles)),
            Method::Moved => (moments.mean + 2.0 * moments.skew(quantiles), moments.half(n, quantiles)),
            Method::Estimated => {
                let noise = estimated_noise(tasks)?.max(moments.variance());
                (moments.mean, t * (Moments { noise, ..moments }.shrunk(n) / n).sqrt())
            }
            Method::Noise => {
                let normal = assay_stats::normal_tail(tail)?;
                let spread = (t * moments.variance().sqrt()).max(normal * moments.noise.sqrt());
                (moments.mean, spread / n.sqrt())
            }
            Method::Percentile => return percentile(sample, tail, random),
        };
        Some(Interval { low: (centre - half).max(-1.0), high: (centre + half).min(1.0) })
    }
}

/// Mean over tasks of p̃(1 − p̃)/r of either arm, p̃ = (x + 1)/(r + 2).
fn estimated_noise(tasks: &[PairedTask]) -> Option<f64> {
    let tasks = paired(tasks);
    let noise = |scores: &[f64]| {
        let r = scores.len() as f64;
        let rate = (mean(scores) * r + 1.0) / (r + PSEUDO);
        rate * (1.0 - rate) / r
    };
    let sum: f64 = tasks.iter().map(|task| noise(&task.arm) + noise(&task.base)).sum();
    (!tasks.is_empty()).then(|| sum / tasks.len() as f64)
}

fn percentile(sample: &Sample, tail: f64, random: &mut ChaCha8Rng) -> Option<Interval> {
    let lifts: Vec<f64> = sample.units.iter().map(|u| u.weight * (u.arm - u.base)).collect();
    let mut draw = || (0..lifts.len()).map(|_| lifts[index(random, lifts.len())]).sum::<f64>();
    let mut means: Vec<f64> = (0..RESAMPLES).map(|_| draw() / lifts.len() as f64).collect();
    means.sort_by(f64::total_cmp);
    Some(Interval { low: sample_quantile(&means, tail)?, high: sample_quantile(&means, 1.0 - tail)? })
}

/// Coverage and mean width of each method's 95% interval, over suites of one arm.
///
/// `None` if no suite had five tasks left.
pub fn compare(
    design: &Design,
    methods: &[Method],
    suites: Range<u64>,
    seed: u64,
) -> Vec<Option<(f64, f64)>> {
    let lift = design.true_lift();
    let tail = 0.025;
    let mut sums = vec![(0_u64, 0.0_f64, 0_u64); methods.len()];
    let mut known = std::collections::BTreeMap::new();
    for suite in suites {
        let drawn = design.suite(seed, suite);
        let Some(tasks) = drawn.arms.first() else { break };
        let sample = Sample::of(tasks);
        let quantiles = *known
            .entry(sample.n.to_bits())
            .or_insert_with(|| Quantiles::of(sample.n, tail).filter(|_| sample.has(FEWEST_UNITS)));
        let Some(quantiles) = quantiles else { continue };
        for (method, sum) in methods.iter().zip(&mut sums) {
            let mut random = stream(seed, Purpose::Bootstrap, suite);
            if let Some(interval) = method.with(tasks, &sample, quantiles, tail, &mut random) {
                sum.0 += u64::from(interval.low <= lift && lift <= interval.high);
                sum.1 += interval.width();
                sum.2 += 1;
            }
        }
    }
    let share = |(covered, widths, of): (u64, f64, u64)| {
        (of > 0).then(|| (covered as f64 / of as f64, widths / of as f64))
    };
    sums.into_iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks(lifts: &[f64]) -> Vec<PairedTask> {
        lifts
            .iter()
            .map(|&lift| PairedTask { arm: vec![lift.max(0.0)], base: vec![(-lift).max(0.0)], cluster: None })
            .collect()
    }

    #[test]
    fn intervals_match_hand_computation() {
        // d = 1, 0, 0, 0, 0: mean .2, s² = .2, v₀ = ½, s̃² = (.8 + 1)/6 = .3; t(4) = 2.776445, t(9)
        // = 2.262157. m₃ = (.512 − 4 · .008)/5 = .096; Johnson's term is .096/(6 · .3 · 5) · (1 + 2
        // · 7.708647) = .175118.
        let tasks = tasks(&[1.0, 0.0, 0.0, 0.0, 0.0]);
        // s/√n = .2 with t(4) is .555289, s̃/√n = √.06 with t(9) is .554113.
        let half = 2.776_445 * 0.2;
        // Laplace's rate of one trial is ⅔ or ⅓: 2 · 2/9 is above s², and s̃² = (.8 + 8/9)/6.
        let estimated = 2.776_445 * ((0.8 + 8.0 / 9.0) / 6.0 / 5.0_f64).sqrt();
        let cases = [
            (Method::Default, 0.2 - half, 0.2 + half + 0.5 * 0.175_118),
            (Method::PseudoTasks, 0.2 - 2.776_445 * 0.06_f64.sqrt(), 0.2 + 2.776_445 * 0.06_f64.sqrt()),
            (Method::Student, 0.2 - 2.776_445 * 0.2, 0.2 + 2.776_445 * 0.2),
            (Method::Symmetric, 0.2 - half, 0.2 + half),
            (Method::Moved, 0.2 + 0.175_118 - half, 0.2 + 0.175_118 + half),
            (Method::Estimated, 0.2 - estimated, 0.2 + estimated),
            (Method::Noise, 0.2 - 1.959_964 * 0.1_f64.sqrt(), 0.2 + 1.959_964 * 0.1_f64.sqrt()),
        ];
        for (method, low, high) in cases {
            let got = method.interval(&tasks, 0.95, 1).unwrap();
            assert!((got.low - low).abs() < 1e-5 && (got.high - high).abs() < 1e-5, "{method:?}: {got:?}");
        }
        assert_eq!(
            assay_stats::lift(&tasks, 0.95).unwrap().interval,
            Method::Default.interval(&tasks, 0.95, 1)
        );
        for method in Method::ALL {
            assert_eq!(method.interval(&tasks[..4], 0.95, 1), None);
            assert_eq!(method.interval(&tasks, 1.0, 1), None);
        }
    }

    /// The reason for its choice: the bootstrap and Student's t give no width to equal differences,
    /// the default does.
    #[test]
    fn equal_differences_have_width() {
        let tasks = tasks(&[0.0; 12]);
        for method in Method::ALL {
            let width = method.interval(&tasks, 0.95, 1).unwrap().width();
            let none = matches!(method, Method::Student | Method::Percentile);
            assert_eq!(width == 0.0, none, "{method:?}: {width}");
        }
    }

    #[test]
    fn comparing_is_counting() {
        let cells = crate::simulate::validity_grid();
        let design = cells[1].design;
        let got = compare(&design, &Method::ALL, 0..200, 4);
        let tally = crate::simulate::simulate_suites(&design, 0..200, 4).cell(0.0);
        let (coverage, width) = got[0].unwrap();
        assert_eq!(Some(coverage), tally.coverage);
        assert!((width - tally.width.unwrap()).abs() < 1e-9);
        // Percentiles of ten tasks cover less, as is known of them.
        assert!(got[7].unwrap().0 < coverage);
    }
}
