//! What a number of tasks can show of parts, before any trial.

use crate::estimate::FEWEST_UNITS;
use crate::level::alpha;
use crate::moments::{Moments, Quantiles};
use crate::quantile::student_tail;
use crate::sample::{LARGEST_VARIANCE, mean, scores};

/// 1 − power.
const MISSED: f64 = 0.2;

/// The mean variance of a trial within its task where none is known: m(1 − m)·(a + b)/(a + b + 1) of pass rates Beta(a, b)
/// with a mean m of .4 and a + b = .48, the median of public suites (docs/STATISTICS.md, "Planning").
pub const TRIAL_VARIANCE: f64 = 0.4 * 0.6 * 0.48 / 1.48;

/// The variance of a trial within its task, pooled over the cells of an arm, with one observation more, of variance ¼;
/// `None` without a cell of two trials.
pub fn pooled_trial_variance(cells: &[Vec<f64>]) -> Option<f64> {
    let cells: Vec<Vec<f64>> = cells.iter().map(|cell| scores(cell)).filter(|cell| cell.len() > 1).collect();
    if cells.is_empty() {
        return None;
    }
    let squares = cells.iter().map(|cell| {
        let centre = mean(cell);
        cell.iter().map(|score| (score - centre).powi(2)).sum::<f64>()
    });
    let freedom: usize = cells.iter().map(|cell| cell.len() - 1).sum();
    Some((squares.sum::<f64>() + LARGEST_VARIANCE) / (freedom as f64 + 1.0))
}

/// The smallest effect of one part that is found with 80% power: `tasks` tasks, `rows` variants of one trial each, `parts`
/// parts tested as one family, `variance` that of a trial within its task.
///
/// Half of the tasks are assumed to need the part and the others not, so that an effect d has a standard deviation of d over
/// tasks (in public suites half of the tasks do not move at all): d² = c²(4v/rows + d²)/n with c the sum of Student's
/// quantiles of the level and the power. `None` if no effect is found with this power, and under five tasks.
pub fn detectable_part(tasks: usize, rows: usize, parts: usize, variance: f64) -> Option<f64> {
    if tasks < FEWEST_UNITS || rows == 0 {
        return None;
    }
    let n = tasks as f64;
    let c = student_tail(n - 1.0, 0.5 * alpha(parts))? + student_tail(n - 1.0, MISSED)?;
    let left = n - c * c;
    let effect = c * (4.0 * variance / rows as f64 / left.max(f64::MIN_POSITIVE)).sqrt();
    (left > 0.0 && effect <= 1.0).then_some(effect)
}

/// Whether a part without any effect is shown to lack one of `margin` with 80% power, at `tasks` tasks of `rows` trials, half
/// with the part, `variance` being that of a trial within its task. The test is that of [`super::part_effect`], and the same as
/// that of two arms with half of the trials each.
pub fn has_power_for_margin(tasks: usize, rows: usize, variance: f64, margin: f64) -> bool {
    if tasks < FEWEST_UNITS || rows == 0 || !(margin > 0.0 && margin < 1.0) {
        return false;
    }
    let n = tasks as f64;
    let spread = 4.0 * variance / rows as f64;
    let moments = Moments {
        n,
        mean: 0.0,
        squares: (n - 1.0) * spread,
        cubes: 0.0,
        noise: 4.0 * variance.min(LARGEST_VARIANCE) / rows as f64,
    };
    let bound = Quantiles::of_bound(n, 0.05).map(|quantiles| moments.equivalence(quantiles, margin).high);
    let missed = student_tail(n - 1.0, MISSED).map(|t| t * (spread / n).sqrt());
    bound.zip(missed).is_some_and(|(bound, missed)| bound + missed < margin)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// n = 30, 12 rows, 8 parts, v = 1/6: t(29) of .003125 is 2.9444, of .2 it is .8542; c² = 14.4297; √(.055556/15.5703)
    /// = .059733, times 3.79864 is .22690.
    #[test]
    fn the_detectable_effect_by_hand() {
        let found = detectable_part(30, 12, 8, 1.0 / 6.0).unwrap();
        assert!((found - 0.2269).abs() < 5e-4, "{found}");
        let large = detectable_part(84, 12, 8, 1.0 / 6.0).unwrap();
        assert!(large > 0.09 && large < 0.12, "{large}");
        assert_eq!(detectable_part(12, 12, 8, 1.0 / 6.0), None);
        assert_eq!(detectable_part(4, 12, 8, 0.1), None);
    }

    #[test]
    fn margins_need_tasks() {
        let check = |tasks: usize, margin: f64, expected: bool| {
            assert_eq!(has_power_for_margin(tasks, 12, TRIAL_VARIANCE, margin), expected, "{tasks} {margin}");
        };
        check(84, 0.1, true);
        check(30, 0.1, true);
        check(20, 0.1, true);
        check(84, 0.05, true);
        check(60, 0.05, false);
        check(30, 0.05, false);
        check(12, 0.1, false);
        check(4, 0.5, false);
        check(84, 0.0, false);
    }

    #[test]
    fn variance_is_pooled_within_cells() {
        assert_eq!(pooled_trial_variance(&[vec![1.0], vec![]]), None);
        // Squares ½ + 0, freedom 2: (.5 + .25)/3.
        let found = pooled_trial_variance(&[vec![0.0, 1.0], vec![1.0, 1.0]]).unwrap();
        assert!((found - 0.25).abs() < 1e-12, "{found}");
    }
}
