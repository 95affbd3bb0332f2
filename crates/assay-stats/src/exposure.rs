//! What trials in which a skill was not opened say about its effect.
//!
//! If the listing of a skill alone changes nothing, a trial in which the skill is not opened is like one without it, and
//! lift = P(open)·E(effect | open). Effects are within [−1, 1], so that |lift| ≤ P(open).

use crate::estimate::clopper_pearson;
use crate::interval::Interval;

/// The one-sided level of the bound, that of each of the two tests for `negligible`.
const LEVEL: f64 = 0.95;

/// The upper bound of the share of tasks in which a skill is opened, and with it of |lift|, at 95%: the upper end of the
/// one-sided interval of Clopper & Pearson (1934) for `opened` out of `tasks`; 1 − .05^(1/n) if none was opened.
///
/// `tasks` counts tasks, and not trials: trials of a task share its wording. A task with several trials, none of which
/// opened the skill, says more than one trial does, so that counting it once is conservative. Only tasks whose every trial is
/// known count as not opened.
pub fn opened_share_bound(opened: u64, tasks: u64) -> f64 {
    let Interval { high, .. } = clopper_pearson(opened, tasks, 2.0 * LEVEL - 1.0);
    high
}

/// The fewest tasks without an opened skill with which the bound is below `margin`; `None` with a margin outside (0, 1).
pub fn unopened_tasks_needed(margin: f64) -> Option<usize> {
    if !(margin > 0.0 && margin < 1.0) {
        return None;
    }
    let needed = (1.0 - LEVEL).ln() / (1.0 - margin).ln();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "above 0, and a cast saturates"
    )]
    let tasks = needed.floor() as usize + 1;
    Some(tasks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream, uniform};

    #[test]
    fn the_bound_by_hand() {
        let check = |opened: u64, tasks: u64, expected: f64| {
            let found = opened_share_bound(opened, tasks);
            assert!((found - expected).abs() < 5e-4, "{opened} of {tasks}: {found}");
        };
        // 1 − .05^(1/n).
        check(0, 29, 0.0981);
        check(0, 20, 0.1391);
        check(0, 12, 0.2209);
        check(0, 1, 0.95);
        check(0, 0, 1.0);
        // Clopper & Pearson, one-sided: 1 of 20 has .2161.
        check(1, 20, 0.2161);
        check(20, 20, 1.0);
        assert_eq!(unopened_tasks_needed(0.1), Some(29));
        assert!(opened_share_bound(0, 28) >= 0.1 && opened_share_bound(0, 29) < 0.1);
        assert_eq!(unopened_tasks_needed(0.0), None);
        assert_eq!(unopened_tasks_needed(1.0), None);
    }

    /// Skills whose lift is as large as it can be, the share of trials that open them, and at least the margin: how often the
    /// bound calls them negligible. Tasks differ in how often they open the skill; repetitions share the task.
    #[test]
    fn a_lift_of_the_margin_is_called_negligible_in_at_most_five_percent() {
        const SUITES: u64 = 20_000;
        let margin = 0.1;
        for (tasks, repetitions, certain) in
            [(29, 1, 0.0), (29, 3, 0.0), (29, 3, 0.5), (29, 3, 1.0), (60, 1, 1.0), (60, 2, 0.3)]
        {
            let mut wrong = 0;
            for suite in 0..SUITES {
                let mut random = stream(11, Purpose::Suite, suite);
                let mut opened = 0;
                for _ in 0..tasks {
                    // A share `certain` of the openings is in tasks that always open the skill.
                    let always = uniform(&mut random) < margin * certain;
                    let rate = margin * (1.0 - certain) / (1.0 - margin * certain);
                    let trials = (0..repetitions).filter(|_| always || uniform(&mut random) < rate).count();
                    opened += u64::from(trials > 0);
                }
                wrong += u64::from(opened_share_bound(opened, tasks) < margin);
            }
            let share = wrong as f64 / SUITES as f64;
            // Two standard errors of a share of .05.
            assert!(
                share <= 0.05 + 2.0 * (0.05 * 0.95 / SUITES as f64).sqrt(),
                "{tasks} {repetitions} {certain}: {share}"
            );
        }
    }
}
