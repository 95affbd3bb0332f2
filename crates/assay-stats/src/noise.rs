//! Run-to-run noise: the lift of the baseline against itself.

use crate::quantile::sample_quantile;
use crate::random::{Purpose, index, stream};
use crate::sample::{order, scores};

/// Random splits of the baseline.
const SPLITS: usize = 1000;

/// The quantile of |mean| over splits.
const SHARE: f64 = 0.95;

/// The 95th percentile of |mean difference| over 1,000 random splits of the baseline's repetitions
/// into halves.
///
/// `base` has the baseline's scores by task, `arm_repetitions` the arm's number of trials of the
/// same tasks. A task's halves of h₁ and h₂ trials differ more than the arms do, because they are
/// smaller; the difference is multiplied by √((1/r_arm + 1/r_base)/(1/h₁ + 1/h₂)). Tasks with one
/// baseline trial cannot be split: if they are part of the comparison the figure is that of the
/// others, scaled by √(split tasks / all tasks). Tasks without a trial under one of the arms are
/// not part of the comparison.
///
/// `None` if no task has two baseline trials, or if the slices differ in length. It is not a
/// threshold.
pub fn run_to_run_noise(base: &[Vec<f64>], arm_repetitions: &[usize], seed: u64) -> Option<f64> {
    if base.len() != arm_repetitions.len() {
        return None;
    }
    let mut compared: Vec<(Vec<f64>, usize)> = base
        .iter()
        .zip(arm_repetitions)
        .map(|(task, &repetitions)| (scores(task), repetitions))
        .filter(|(task, repetitions)| !task.is_empty() && *repetitions > 0)
        .collect();
    let all = compared.len();
    compared.retain(|(task, _)| task.len() >= 2);
    compared.sort_by(|one, other| order(&one.0, &other.0).then(one.1.cmp(&other.1)));
    if compared.is_empty() {
        return None;
    }
    let split = compared.len() as f64;
    let scale = (split / all as f64).sqrt() / split;
    let mut random = stream(seed, Purpose::NoiseFloor, 0);
    let mut means = Vec::with_capacity(SPLITS);
    for _ in 0..SPLITS {
        let mut sum = 0.0;
        for (task, repetitions) in &mut compared {
            let r = task.len();
            let half = r / 2;
            // A partial shuffle: the first half is a random one, whatever the order after the last
            // split.
            for at in 0..half {
                task.swap(at, at + index(&mut random, r - at));
            }
            let (one, other) = task.split_at(half);
            let (h1, h2) = (half as f64, (r - half) as f64);
            let difference = one.iter().sum::<f64>() / h1 - other.iter().sum::<f64>() / h2;
            let size = (1.0 / *repetitions as f64 + 1.0 / r as f64) / (1.0 / h1 + 1.0 / h2);
            // With an odd number the halves are unequal; which of them is the arm is drawn as well.
            let sign = if index(&mut random, 2) == 0 { 1.0 } else { -1.0 };
            sum += sign * difference * size.sqrt();
        }
        means.push((sum * scale).abs());
    }
    means.sort_by(f64::total_cmp);
    // Scaled to an arm of one trial it can exceed 1, which no lift does.
    sample_quantile(&means, SHARE).map(|floor| floor.min(1.0))
}
