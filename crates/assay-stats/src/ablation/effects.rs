//! The effects of parts: least squares within a task, the default interval over tasks.

use super::design::{MOST_PARTS, PartSet};
use crate::estimate::{Estimate, FEWEST_UNITS, estimate};
use crate::interval::Interval;
use crate::moments::Quantiles;
use crate::sample::{LARGEST_VARIANCE, Sample, Unit, order, scores, tail_of};

/// The scores of one variant's trials.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VariantScores {
    /// The parts that the variant has.
    pub kept: PartSet,
    /// The scores of its trials in [0, 1].
    pub scores: Vec<f64>,
}

/// A task with the variants that were tried on it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AblatedTask {
    /// The variants; those without a score do not count.
    pub variants: Vec<VariantScores>,
    /// The cluster of tasks that share a skill or a repository; `None` for a single task.
    pub cluster: Option<u64>,
}

/// The estimate of a sum of parts' effects, and whether the parts may be left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartTest {
    /// The effect with the interval at the requested level.
    pub estimate: Estimate,
    /// The upper end of the effect at a one-sided level of 95%, with the variance of a share d of tasks that only pass with
    /// the parts added to its pseudo-tasks (`interval_for_bound`), d being the margin.
    pub most: f64,
}

/// The fit of one task.
struct Fit {
    /// The sum of the effects.
    value: f64,
    /// Its variance in units of the variance of one trial.
    scale: f64,
    trials: usize,
    squares: f64,
    freedom: f64,
    fractional: bool,
    cluster: Option<u64>,
}

/// The effect of each part with its interval at `level`; `None` for a part that no task estimates.
///
/// An effect is the least-squares coefficient of the part's presence, with an intercept and all other parts, each trial
/// being one observation. With all rows of [`super::screening`] it is the mean of the variants with the part less the mean
/// of those without, and the interval is that of [`crate::lift`] over these differences. A task whose remaining variants
/// do not separate the parts is left out.
pub fn part_estimates(tasks: &[AblatedTask], parts: usize, level: f64) -> Vec<Option<Estimate>> {
    (0..parts.min(MOST_PARTS))
        .map(|part| {
            estimate(&sample_of(tasks, parts, PartSet::of([part]))?, level, FEWEST_UNITS, (-1.0, 1.0))
        })
        .collect()
}

/// The sum of the effects of `of`, at `level`, and its one-sided upper end for a margin. `None` under five tasks or effective
/// clusters.
pub fn part_effect(
    tasks: &[AblatedTask],
    parts: usize,
    of: PartSet,
    level: f64,
    margin: f64,
) -> Option<PartTest> {
    let sample = sample_of(tasks, parts, of)?;
    let estimate = estimate(&sample, level, FEWEST_UNITS, (-1.0, 1.0))?;
    let moments = sample.moments();
    let tail = tail_of(0.9)?;
    let default = estimate.interval.and_then(|_| moments.interval(tail, (-1.0, 1.0)))?;
    // As for a lift: without the parts the loss is the effect with the other sign.
    let bound = moments.equivalence(Quantiles::of_bound(moments.n, tail)?, margin);
    let Interval { high, .. } = if default.high < 0.0 { default } else { bound };
    Some(PartTest { estimate, most: high })
}

fn sample_of(tasks: &[AblatedTask], parts: usize, of: PartSet) -> Option<Sample> {
    let mut fits: Vec<Fit> = tasks.iter().filter_map(|task| fit_task(task, parts, of)).collect();
    if fits.is_empty() {
        return None;
    }
    // Sums over tasks do not depend on the order in which they come.
    fits.sort_by(|one, other| {
        let key = |fit: &Fit| [fit.value, fit.scale, fit.squares];
        order(&key(one), &key(other)).then_with(|| one.cluster.cmp(&other.cluster))
    });
    let variance = variance_of(&fits);
    let trials = fits.iter().map(|fit| fit.trials).sum();
    let units = fits.iter().map(|fit| {
        let unit = Unit {
            weight: 1.0,
            arm: fit.value,
            base: 0.0,
            arm_noise: variance * fit.scale,
            base_noise: 0.0,
            leverage: 1.0,
        };
        (unit, fit.cluster)
    });
    Some(Sample::of_clustered(units, trials))
}

/// The variance of one trial in v₀, as of other lifts: ¼ where all scores are 0 or 1, otherwise the pooled variance about
/// the fits with one observation more, of variance ¼.
fn variance_of(fits: &[Fit]) -> f64 {
    let (squares, freedom) = fits.iter().fold((0.0, 0.0), |(s, f), fit| (s + fit.squares, f + fit.freedom));
    if !fits.iter().any(|fit| fit.fractional) || squares < 1e-12 {
        return LARGEST_VARIANCE;
    }
    (squares + LARGEST_VARIANCE) / (freedom + 1.0)
}

/// Least squares within a task; `None` if its variants do not separate the parts.
fn fit_task(task: &AblatedTask, parts: usize, of: PartSet) -> Option<Fit> {
    let mut rows: Vec<(PartSet, Vec<f64>)> = task
        .variants
        .iter()
        .map(|variant| (variant.kept, scores(&variant.scores)))
        .filter(|(_, kept)| !kept.is_empty())
        .collect();
    rows.sort_by(|one, other| one.0.cmp(&other.0).then_with(|| order(&one.1, &other.1)));
    let size = parts.min(MOST_PARTS) + 1;
    // Levels of ±½ with an intercept: the coefficients are those of 0 and 1, and the matrix is well conditioned.
    let levels = |kept: PartSet| {
        let mut row = vec![1.0; size];
        for (part, level) in row[1..].iter_mut().enumerate() {
            *level = if kept.has(part) { 0.5 } else { -0.5 };
        }
        row
    };
    let mut matrix = vec![vec![0.0; size]; size];
    let mut sums = vec![0.0; size];
    for (kept, values) in &rows {
        let row = levels(*kept);
        let (count, sum) = (values.len() as f64, values.iter().sum::<f64>());
        for (i, left) in row.iter().enumerate() {
            sums[i] += left * sum;
            for (j, right) in row.iter().enumerate() {
                matrix[i][j] += count * left * right;
            }
        }
    }
    let weights: Vec<f64> = (0..size).map(|i| f64::from(u8::from(i > 0 && of.has(i - 1)))).collect();
    let [coefficients, direction] = solve(matrix, [sums, weights.clone()])?;
    let dot = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
    let trials: usize = rows.iter().map(|(_, values)| values.len()).sum();
    let squares = rows
        .iter()
        .flat_map(|(kept, values)| {
            let fitted = dot(&levels(*kept), &coefficients);
            values.iter().map(move |value| (value - fitted).powi(2))
        })
        .sum();
    Some(Fit {
        value: dot(&weights, &coefficients),
        scale: dot(&weights, &direction),
        trials,
        squares,
        freedom: (trials - size.min(trials)) as f64,
        fractional: rows.iter().flat_map(|(_, values)| values).any(|score| *score > 0.0 && *score < 1.0),
        cluster: task.cluster,
    })
}

/// Solves a symmetric positive definite system for two right sides by Gauss's elimination; `None` if it is singular.
fn solve(mut matrix: Vec<Vec<f64>>, mut sides: [Vec<f64>; 2]) -> Option<[Vec<f64>; 2]> {
    let size = matrix.len();
    for at in 0..size {
        let pivot = (at..size).max_by(|a, b| matrix[*a][at].abs().total_cmp(&matrix[*b][at].abs()))?;
        // Entries are sums of at most a few trials of ±½ and 1.
        if matrix[pivot][at].abs() < 1e-9 {
            return None;
        }
        matrix.swap(at, pivot);
        for side in &mut sides {
            side.swap(at, pivot);
        }
        let row = matrix[at].clone();
        for below in at + 1..size {
            let factor = matrix[below][at] / row[at];
            if factor == 0.0 {
                continue;
            }
            for (value, pivot) in matrix[below].iter_mut().zip(&row).skip(at) {
                *value -= factor * pivot;
            }
            for side in &mut sides {
                side[below] -= factor * side[at];
            }
        }
    }
    for at in (0..size).rev() {
        for side in &mut sides {
            let known: f64 = (at + 1..size).map(|column| matrix[at][column] * side[column]).sum();
            side[at] = (side[at] - known) / matrix[at][at];
        }
    }
    Some(sides)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ablation::screening;
    use crate::random::{Purpose, stream, uniform};
    use crate::{PairedTask, lift};

    /// A task with one trial of each variant, whose score is a function of the parts.
    fn task(rows: &[PartSet], score: impl Fn(PartSet) -> f64) -> AblatedTask {
        let variants =
            rows.iter().map(|kept| VariantScores { kept: *kept, scores: vec![score(*kept)] }).collect();
        AblatedTask { variants, cluster: None }
    }

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-12
    }

    /// Two parts in all four sets: 0, .1, .5, .9 give the first (.1 − 0 + .9 − .5)/2 = .25 and the second .65.
    #[test]
    fn a_factorial_by_hand() {
        let score = |kept: PartSet| match (kept.has(0), kept.has(1)) {
            (false, false) => 0.0,
            (true, false) => 0.1,
            (false, true) => 0.5,
            (true, true) => 0.9,
        };
        let rows = [[].as_slice(), &[0], &[1], &[0, 1]].map(|parts| PartSet::of(parts.iter().copied()));
        let tasks = vec![task(&rows, score); 5];
        let found = part_estimates(&tasks, 2, 0.95);
        assert!(close(found[0].unwrap().mean, 0.25) && close(found[1].unwrap().mean, 0.65), "{found:?}");
        // Both together: the sum, although they interact.
        let both = part_effect(&tasks, 2, PartSet::all(2), 0.95, 0.1).unwrap();
        assert!(close(both.estimate.mean, 0.9) && both.most > 0.9, "{both:?}");
        // Three of the four sets separate two parts: .1 − 0 and .5 − 0. Two do not.
        let three = vec![task(&rows[..3], score); 5];
        let found = part_estimates(&three, 2, 0.95);
        assert!(close(found[0].unwrap().mean, 0.1) && close(found[1].unwrap().mean, 0.5), "{found:?}");
        assert_eq!(part_estimates(&vec![task(&rows[..2], score); 5], 2, 0.95), [None, None]);
        assert_eq!(part_estimates(&[], 2, 0.95), [None, None]);
    }

    /// With all rows, the interval is that of the lift of the variants with the part over those without.
    #[test]
    fn complete_designs_have_the_interval_of_the_lift() {
        let random = &mut stream(5, Purpose::Suite, 0);
        for (folds, clusters) in [(1, false), (2, false), (1, true)] {
            let tasks: Vec<AblatedTask> = (0..9)
                .map(|at| {
                    let rows = screening(8, folds, 3, at);
                    let scores: Vec<f64> =
                        rows.iter().map(|_| f64::from(u8::from(uniform(random) < 0.5))).collect();
                    let variants = rows.iter().zip(scores);
                    AblatedTask {
                        variants: variants
                            .map(|(kept, score)| VariantScores { kept: *kept, scores: vec![score] })
                            .collect(),
                        cluster: (clusters && at < 4).then_some(at / 2),
                    }
                })
                .collect();
            for (part, found) in part_estimates(&tasks, 8, 0.99).into_iter().enumerate() {
                let side = |task: &AblatedTask, has: bool| {
                    let variants = task.variants.iter().filter(|variant| variant.kept.has(part) == has);
                    variants.flat_map(|variant| variant.scores.clone()).collect()
                };
                let pairs: Vec<PairedTask> = tasks
                    .iter()
                    .map(|task| PairedTask {
                        arm: side(task, true),
                        base: side(task, false),
                        cluster: task.cluster,
                    })
                    .collect();
                let (found, expected) = (found.unwrap(), lift(&pairs, 0.99).unwrap());
                let ends = |estimate: &Estimate| estimate.interval.map(|i| [i.low, i.high]).unwrap();
                assert!(close(found.mean, expected.mean), "{part}");
                assert!(
                    ends(&found).iter().zip(ends(&expected)).all(|(a, b)| (a - b).abs() < 1e-9),
                    "{part}"
                );
                assert_eq!((found.trials, found.clusters), (expected.trials, expected.clusters));
                let expected = crate::interval_for_bound(&pairs, -0.1, 0.1, crate::SessionDrift::NONE);
                // The bound of the effect from above is that of the loss from below, where the skew has the other sign.
                let reversed: Vec<PairedTask> = pairs
                    .iter()
                    .map(|task| PairedTask {
                        arm: task.base.clone(),
                        base: task.arm.clone(),
                        cluster: task.cluster,
                    })
                    .collect();
                let loss =
                    crate::interval_for_bound(&reversed, -0.1, 0.1, crate::SessionDrift::NONE).unwrap();
                let most = part_effect(&tasks, 8, PartSet::of([part]), 0.99, 0.1).unwrap().most;
                assert!((most + loss.low).abs() < 1e-9, "{part}: {most} {loss:?} {expected:?}");
            }
        }
    }

    /// Over designs, the estimates average to the effects of the full factorial, whatever the interactions.
    #[test]
    fn designs_average_to_the_full_factorial() {
        // Interactions of two, three and four parts.
        let score = |kept: PartSet| {
            let all = |parts: &[usize]| f64::from(u8::from(parts.iter().all(|part| kept.has(*part))));
            0.1 + 0.3 * all(&[0, 1]) + 0.2 * all(&[2, 3, 4]) + 0.1 * all(&[0, 5]) + 0.2 * all(&[1, 2, 3, 6])
        };
        let rate = |part: usize| {
            let sets = || (0..256_usize).map(|bits| PartSet::of((0..8).filter(|at| bits >> at & 1 == 1)));
            let mean =
                |has: bool| sets().filter(|kept| kept.has(part) == has).map(score).sum::<f64>() / 128.0;
            mean(true) - mean(false)
        };
        let tasks: Vec<AblatedTask> = (0..4000).map(|at| task(&screening(8, 1, 9, at), score)).collect();
        for (part, found) in part_estimates(&tasks, 8, 0.9999).into_iter().enumerate() {
            let interval = found.unwrap().interval.unwrap();
            let truth = rate(part);
            assert!(interval.low < truth && truth < interval.high, "{part}: {truth} {interval:?}");
            assert!(interval.width() < 0.03, "{part}: {interval:?}");
        }
    }

    #[test]
    fn order_does_not_count_and_no_nan_comes_out() {
        let random = &mut stream(6, Purpose::Suite, 0);
        let mut tasks: Vec<AblatedTask> = (0..6)
            .map(|at| {
                let mut task = task(&screening(5, 1, 3, at), |_| 0.0);
                for variant in &mut task.variants {
                    variant.scores = vec![uniform(random), f64::NAN];
                }
                task
            })
            .collect();
        let found = part_estimates(&tasks, 5, 0.95);
        assert!(found.iter().flatten().all(|estimate| estimate.mean.is_finite()), "{found:?}");
        tasks.reverse();
        for task in &mut tasks {
            task.variants.reverse();
        }
        assert_eq!(part_estimates(&tasks, 5, 0.95), found);
    }
}
