//! Effects of both signs: a lift near 0 that is made of gains and losses.

use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::paired_task::PairedTask;
use crate::sample::{mean, scores};

/// The level of the test that effects differ between tasks.
const LEVEL: f64 = 0.05;

/// A task's difference counts as clear at 1.645 standard errors: one-sided 5%.
const CLEAR: f64 = 1.644_853_626_951_472_2;

/// The largest variance of a score in [0, 1].
const LARGEST_VARIANCE: f64 = 0.25;

/// Tasks that a condition makes clearly better, and tasks that it makes clearly worse.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OppositeEffects {
    /// Indices of the tasks, largest gain first.
    pub better: Vec<usize>,
    /// Indices of the tasks, largest loss first.
    pub worse: Vec<usize>,
}

/// Which tasks gained and which lost, if effects of both signs are shown; `None` otherwise.
///
/// Two conditions must hold. Cochran's Q (Cochran 1954) rejects equal effects at 5%, with the
/// variance of each difference at its largest, ¼(1/r_arm + 1/r_base): the test is conservative,
/// since a score in [0, 1] never varies more. And at least one task is better and one worse by more
/// than 1.645 of these standard errors. With one trial a cell no single difference can be that large,
/// so this finds nothing in runs that cannot show it.
pub fn opposite_effects(tasks: &[PairedTask]) -> Option<OppositeEffects> {
    let effects: Vec<(usize, f64, f64)> = tasks
        .iter()
        .enumerate()
        .filter_map(|(at, task)| {
            let (arm, base) = (scores(&task.arm), scores(&task.base));
            let variance = LARGEST_VARIANCE * (1.0 / arm.len() as f64 + 1.0 / base.len() as f64);
            (!arm.is_empty() && !base.is_empty()).then(|| (at, mean(&arm) - mean(&base), variance))
        })
        .collect();
    let weight: f64 = effects.iter().map(|(_, _, variance)| 1.0 / variance).sum();
    let common = effects.iter().map(|(_, effect, variance)| effect / variance).sum::<f64>() / weight;
    let q: f64 = effects.iter().map(|(_, effect, variance)| (effect - common).powi(2) / variance).sum();
    let degrees = effects.len().checked_sub(1).filter(|degrees| *degrees > 0)?;
    let chi_squared = ChiSquared::new(degrees as f64).ok()?;
    if chi_squared.sf(q) > LEVEL {
        return None;
    }
    let clear = |sign: f64| -> Vec<usize> {
        let mut found: Vec<_> =
            effects.iter().filter(|(_, effect, variance)| sign * effect > CLEAR * variance.sqrt()).collect();
        found.sort_by(|one, other| (sign * other.1).total_cmp(&(sign * one.1)).then(one.0.cmp(&other.0)));
        found.into_iter().map(|(at, ..)| *at).collect()
    };
    let found = OppositeEffects { better: clear(1.0), worse: clear(-1.0) };
    (!found.better.is_empty() && !found.worse.is_empty()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tasks with so many of five trials passed under the baseline and under the arm.
    fn suite(passed: &[(usize, usize)], repetitions: usize) -> Vec<PairedTask> {
        let trials = |passed: usize| {
            (0..repetitions).map(|trial| if trial < passed { 1.0 } else { 0.0 }).collect::<Vec<_>>()
        };
        passed
            .iter()
            .map(|(base, arm)| PairedTask { arm: trials(*arm), base: trials(*base), cluster: None })
            .collect()
    }

    #[test]
    fn gains_and_losses_are_found_where_trials_can_show_them() {
        let check =
            |passed: &[(usize, usize)], repetitions: usize, expected: Option<(&[usize], &[usize])>| {
                let found = opposite_effects(&suite(passed, repetitions));
                let found = found.as_ref().map(|found| (&found.better[..], &found.worse[..]));
                assert_eq!(found, expected, "{passed:?} of {repetitions}");
            };
        // By hand: v = ¼(1/5 + 1/5) = 0.1, Q = 4·1/0.1 = 40 on 5 degrees of freedom.
        check(&[(0, 5), (5, 0), (0, 5), (5, 0), (2, 2), (3, 3)], 5, Some((&[0, 2], &[1, 3])));
        // All gain, or hardly anything moves.
        check(&[(0, 5), (1, 5), (0, 4), (0, 5), (2, 5), (0, 3)], 5, None);
        check(&[(2, 3), (3, 2), (2, 2), (3, 3), (2, 3), (3, 2)], 5, None);
        // One trial cannot tell an effect from chance.
        check(&[(0, 1), (1, 0), (0, 1), (1, 0), (0, 1), (1, 0)], 1, None);
        check(&[], 5, None);
    }
}
