//! Metrics: numbers without bounds, such as costs, compared between two arms.
//!
//! The effect is the mean over tasks of the difference of task means, as for scores. On a log scale
//! the values are logarithms, so that a task's mean is that of its geometric mean, and the effect is
//! a ratio. The interval is Student's over tasks, or over clusters with CR2's variance and
//! Satterthwaite's degrees of freedom, a little longer on the side to which the differences are
//! skewed (half of Johnson's correction): the default interval of scores without what follows from
//! their bounds.

use crate::estimate::FEWEST_UNITS;
use crate::interval::Interval;
use crate::paired_task::PairedTask;
use crate::sample::{Sample, paired_by, tail_of};

/// How two arms are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricScale {
    /// By differences.
    Linear,
    /// By ratios. Values that are not positive are dropped.
    Log,
}

/// The effect of an arm on a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricEffect {
    /// The difference, or on a log scale the ratio, arm to baseline.
    pub effect: f64,
    /// In the terms of `effect`; `None` under five tasks or effective clusters.
    pub interval: Option<Interval>,
    /// Tasks with a usable value under each arm.
    pub tasks: usize,
    /// Trials with a usable value in these tasks.
    pub trials: usize,
    /// Units, if any task names a cluster.
    pub clusters: Option<usize>,
}

/// What an interval shows of a metric, about the arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricVerdict {
    /// The arm's values are higher.
    Higher,
    /// They are lower.
    Lower,
    /// The change is within the margin.
    Negligible,
    /// None of these is shown.
    Inconclusive,
}

/// What an interval shows of a guard, the largest deterioration that is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// The deterioration is smaller.
    Held,
    /// It is larger.
    Violated,
    /// Neither is shown.
    Inconclusive,
}

/// The effect on a metric, with its interval at `level`. `None` if no task has a usable value under
/// both arms.
pub fn metric_effect(tasks: &[PairedTask], scale: MetricScale, level: f64) -> Option<MetricEffect> {
    let read = |values: &[f64]| {
        let usable = |value: &f64| value.is_finite() && (scale == MetricScale::Linear || *value > 0.0);
        let transformed = |value: f64| if scale == MetricScale::Log { value.ln() } else { value };
        let mut kept: Vec<f64> = values.iter().copied().filter(usable).map(transformed).collect();
        kept.sort_by(f64::total_cmp);
        kept
    };
    let sample = Sample::of_paired(&paired_by(tasks, read), 0.0, f64::MAX);
    if sample.units.is_empty() {
        return None;
    }
    let moments = sample.moments();
    let tail = tail_of(level).filter(|_| sample.has(FEWEST_UNITS));
    let interval = tail.and_then(|tail| moments.interval(tail, (f64::MIN, f64::MAX)));
    let back = |value: f64| if scale == MetricScale::Log { value.exp() } else { value };
    Some(MetricEffect {
        effect: back(moments.mean),
        interval: interval.map(|found| Interval { low: back(found.low), high: back(found.high) }),
        tasks: sample.tasks,
        trials: sample.trials,
        clusters: sample.clusters,
    })
}

/// The verdict of an interval that [`metric_effect`] gave at the family's level. Without a margin
/// nothing is negligible.
pub fn metric_verdict(interval: Interval, scale: MetricScale, margin: Option<f64>) -> MetricVerdict {
    let none = if scale == MetricScale::Log { 1.0 } else { 0.0 };
    let within = margin.is_some_and(|margin| match scale {
        MetricScale::Linear => interval.within(margin),
        MetricScale::Log => 1.0 / margin < interval.low && interval.high < margin,
    });
    if within {
        MetricVerdict::Negligible
    } else if interval.low > none {
        MetricVerdict::Higher
    } else if interval.high < none {
        MetricVerdict::Lower
    } else {
        MetricVerdict::Inconclusive
    }
}

/// Whether a guard holds. `largest` is the largest deterioration that is accepted, in units on a
/// linear scale, as a ratio above 1 on a log scale; `lower_is_better` says which change is one.
pub fn guard(interval: Interval, scale: MetricScale, lower_is_better: bool, largest: f64) -> Guard {
    let limit = match (scale, lower_is_better) {
        (MetricScale::Linear | MetricScale::Log, true) => largest,
        (MetricScale::Linear, false) => -largest,
        (MetricScale::Log, false) => 1.0 / largest,
    };
    let (held, violated) = if lower_is_better {
        (interval.high < limit, interval.low > limit)
    } else {
        (interval.low > limit, interval.high < limit)
    };
    if held {
        Guard::Held
    } else if violated {
        Guard::Violated
    } else {
        Guard::Inconclusive
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(arm: &[f64], base: &[f64]) -> PairedTask {
        PairedTask { arm: arm.to_vec(), base: base.to_vec(), cluster: None }
    }

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0), "{found} is not {expected}");
    }

    #[test]
    fn equal_differences_have_an_interval_of_no_width() {
        let tasks: Vec<_> = (1..=5).map(|n| task(&[f64::from(n) + 2.0], &[f64::from(n)])).collect();
        let found = metric_effect(&tasks, MetricScale::Linear, 0.95).unwrap();
        assert_eq!((found.effect, found.interval), (2.0, Some(Interval { low: 2.0, high: 2.0 })));
    }

    /// The values of scipy 1.x: exp of the mean of log differences ± t(5)·s/√6, the upper end with half of
    /// Johnson's correction.
    #[test]
    fn ratio_and_interval_equal_those_of_scipy() {
        let tasks = [
            task(&[0.2, 0.3], &[0.1, 0.2]),
            task(&[1.1, 0.9, 1.3], &[1.0, 1.0]),
            task(&[0.5], &[0.6, 0.4]),
            task(&[2.5, 2.0], &[1.5, 1.9]),
            task(&[0.7, 0.8], &[0.72]),
            task(&[0.31, 0.29], &[0.2, 0.2, 0.0]),
        ];
        let found = metric_effect(&tasks, MetricScale::Log, 0.95).unwrap();
        let interval = found.interval.unwrap();
        close(found.effect, 1.258_261_346_640_062_5);
        close(interval.low, 1.001_250_829_249_666_2);
        close(interval.high, 1.602_134_698_486_144_6);
        assert_eq!((found.tasks, found.trials), (6, 23));
    }

    /// CR2's variance of cluster means, .202 653 667, and Satterthwaite's 2.680 965 degrees of freedom by
    /// matrices with numpy; the differences are skewed upwards, so the lower end has no correction.
    #[test]
    fn clusters_of_unequal_size_have_the_variance_of_cr2() {
        let differences = [
            (1.0, 0),
            (2.5, 0),
            (0.5, 0),
            (-1.0, 1),
            (3.0, 1),
            (2.0, 2),
            (0.2, 3),
            (4.0, 4),
            (1.5, 5),
            (-2.0, 5),
        ];
        let tasks = differences.map(|(arm, cluster)| PairedTask {
            arm: vec![arm],
            base: vec![0.0],
            cluster: Some(cluster),
        });
        let found = metric_effect(&tasks, MetricScale::Linear, 0.95).unwrap();
        let interval = found.interval.unwrap();
        close(found.effect, 1.17);
        let shorter = (found.effect - interval.low).min(interval.high - found.effect);
        close(shorter, 1.534_090_636_620_054_8);
        assert_eq!(found.clusters, Some(6));
    }

    #[test]
    fn few_tasks_have_no_interval_and_none_no_effect() {
        let four = [(); 4].map(|()| task(&[2.0], &[1.0]));
        let found = metric_effect(&four, MetricScale::Log, 0.95).unwrap();
        close(found.effect, 2.0);
        assert_eq!((found.interval, found.tasks, found.trials), (None, 4, 8));
        assert_eq!(metric_effect(&[task(&[0.0, -1.0], &[1.0])], MetricScale::Log, 0.95), None);
        assert_eq!(metric_effect(&[task(&[f64::NAN], &[1.0])], MetricScale::Linear, 0.95), None);
        assert_eq!(metric_effect(&[], MetricScale::Linear, 0.95), None);
    }

    #[test]
    fn verdicts_and_guards_follow_from_the_interval() {
        let log = MetricScale::Log;
        let interval = |low, high| Interval { low, high };
        let check = |found: Interval, margin, expected| {
            assert_eq!(metric_verdict(found, log, margin), expected, "{found:?}");
        };
        check(interval(0.95, 1.05), Some(1.1), MetricVerdict::Negligible);
        check(interval(0.95, 1.05), None, MetricVerdict::Inconclusive);
        check(interval(1.01, 1.2), Some(1.1), MetricVerdict::Higher);
        check(interval(1.01, 1.05), Some(1.1), MetricVerdict::Negligible);
        check(interval(0.7, 0.95), Some(1.1), MetricVerdict::Lower);
        let check = |found: Interval, scale, lower_is_better, largest, expected| {
            assert_eq!(guard(found, scale, lower_is_better, largest), expected, "{found:?}");
        };
        check(interval(0.9, 1.09), log, true, 1.1, Guard::Held);
        check(interval(1.11, 1.3), log, true, 1.1, Guard::Violated);
        check(interval(0.9, 1.3), log, true, 1.1, Guard::Inconclusive);
        check(interval(0.95, 1.3), log, false, 1.1, Guard::Held);
        check(interval(0.5, 0.8), log, false, 1.1, Guard::Violated);
        check(interval(-3.0, 1.0), MetricScale::Linear, true, 2.0, Guard::Held);
        check(interval(-5.0, -3.0), MetricScale::Linear, false, 2.0, Guard::Violated);
    }
}
