//! Rounds of repetitions, after each of which a claim may be decided.

use assay_stats::sequential::{rounds_to_look_at, spread_looks};
use assay_stats::spending::{Sides, nominal_levels};

use crate::decide::{Claim, Decision, decide_at};
use crate::policy::BudgetScope;
use crate::terms::SkillTerms;

/// The end of a round.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// Repetitions by then.
    pub repetitions: u32,
    /// Which round it is, from 0.
    number: usize,
    /// The share of all repetitions that each round ends with.
    times: Vec<f64>,
}

impl Round {
    /// The level of the test after this round, where all rounds together have a level.
    pub fn level(&self, of: f64) -> f64 {
        nominal_levels(of, &self.times, Sides::One).get(self.number).copied().unwrap_or(0.0)
    }
}

impl SkillTerms {
    /// Tasks, or clusters of them, that count for the requirement.
    pub fn units(&self) -> usize {
        let tasks = || self.tasks.values().filter(|task| !task.negative_control);
        let mut clusters: Vec<&str> = tasks().filter_map(|task| task.cluster.as_deref()).collect();
        clusters.sort_unstable();
        clusters.dedup();
        clusters.len() + tasks().filter(|task| task.cluster.is_none()).count()
    }

    /// The rounds of the experiment, whose levels share that of the look by the spending function of `[stopping]`. Without
    /// `[stopping]` there are up to twice as many rounds as the experiment has repetitions.
    ///
    /// Rounds are taken for independent of each other in time (k/K): where effects differ between tasks, less is spent than
    /// could be.
    pub fn rounds(&self) -> Vec<Round> {
        let Some(experiment) = &self.experiment else { return Vec::new() };
        let (most, looks) = match &experiment.stopping {
            Some(stopping) => (stopping.rounds, stopping.looks),
            None => (2 * experiment.repetitions, None),
        };
        let count = usize::try_from(most).unwrap_or(usize::MAX);
        let after = match looks {
            Some(_) => spread_looks(count, looks),
            None => rounds_to_look_at(count, self.units()),
        };
        rounds_after(&after, most)
    }
}

/// Rounds that end after some of at most `most` repetitions.
fn rounds_after(after: &[usize], most: u32) -> Vec<Round> {
    let repetitions: Vec<u32> = after.iter().filter_map(|round| u32::try_from(*round).ok()).collect();
    let times: Vec<f64> =
        repetitions.iter().map(|round| f64::from(*round) / f64::from(most.max(1))).collect();
    let round = |(number, repetitions)| Round { repetitions, number, times: times.clone() };
    repetitions.iter().copied().enumerate().map(round).collect()
}

/// What the results after the rounds of some claims say about all of them; a claim without a round has no further one.
///
/// A level that a claim of `helps` leaves to the others is spent by their own rounds: Holm's procedure with group
/// sequential tests (Maurer and Bretz, Statistics in Biopharmaceutical Research 5, 2013, 311–320).
pub fn decide_rounds(claims: &[(Claim, Option<Round>)], scope: BudgetScope) -> Vec<Decision> {
    let alone: Vec<Claim> = claims.iter().map(|(claim, _)| claim.clone()).collect();
    decide_at(&alone, scope, &|at, level| {
        let round = claims.get(at).and_then(|(_, round)| round.as_ref());
        round.map_or(level, |round| round.level(level))
    })
}

#[cfg(test)]
mod tests {
    use assay_stats::{PairedTask, SessionDrift};

    use super::*;
    use crate::decide::{Outcome, one_sided_p};
    use crate::policy::Requirement;

    /// 20 tasks of three trials, a share of which the skill lifts from 0 to 1.
    fn claim(lift: f64, level: f64) -> Claim {
        let task = |at: usize| {
            let moved = (at as f64) < 20.0 * lift;
            PairedTask { arm: vec![if moved { 1.0 } else { 0.0 }; 3], base: vec![0.0; 3], cluster: None }
        };
        Claim {
            skill: "s".to_owned(),
            require: Requirement::Helps,
            margin: 0.1,
            tasks: (0..20).map(task).collect(),
            reference: None,
            reference_level: 0.05,
            level,
            drift: SessionDrift::NONE,
        }
    }

    #[test]
    fn rounds_share_a_level() {
        let rounds = rounds_after(&[3, 6], 6);
        assert_eq!(rounds.iter().map(|round| round.repetitions).collect::<Vec<_>>(), [3, 6]);
        for level in [0.05, 0.0243, 0.001] {
            let [first, last] = [0, 1].map(|at: usize| rounds[at].level(level));
            // Both together reject as often as the level says; the last alone less often than that.
            assert!(0.0 < first && first < level && last < level && first + last > level, "{first} {last}");
        }
        // The last round of a stricter look has not the same part of its level.
        let part = |level: f64| rounds[1].level(level) / level;
        assert!(part(0.0243 / 25.0) < part(0.0243) - 0.01, "{} {}", part(0.0243 / 25.0), part(0.0243));
        let only = rounds_after(&[4], 4);
        assert!((only[0].level(0.03) - 0.03).abs() < 1e-9);
    }

    #[test]
    fn levels_that_are_left_over_are_spent_by_the_rounds_of_the_others() {
        use BudgetScope::{PullRequest, Skill};
        use Outcome::{Pass, Undecided};

        let rounds = rounds_after(&[3, 6], 6);
        let p = |lift: f64| one_sided_p(&claim(lift, 0.1).tasks, 0.0, SessionDrift::NONE).unwrap();
        // The first round of half a level does not show a lift of 30 points, and that of a whole one does.
        // The level of a first round is a fixed part of that of all rounds.
        let level = 1.001 * p(0.3) * 0.1 / rounds[0].level(0.1);
        let of = |lift: f64, round: usize| (claim(lift, level), Some(rounds[round].clone()));
        let outcomes = |claims: &[(Claim, Option<Round>)], scope: BudgetScope| -> Vec<Outcome> {
            decide_rounds(claims, scope).iter().map(|found| found.outcome).collect()
        };
        assert_eq!(outcomes(&[of(0.3, 0)], PullRequest), [Pass]);
        assert_eq!(outcomes(&[of(0.3, 0), of(0.0, 0)], PullRequest), [Undecided, Undecided]);
        assert_eq!(outcomes(&[of(0.3, 0), of(0.0, 0)], Skill), [Pass, Undecided]);
        // Another one that passed, in whatever round, leaves its level.
        assert_eq!(outcomes(&[of(0.3, 0), of(0.9, 1)], PullRequest), [Pass, Pass]);
        let found = decide_rounds(&[of(0.3, 0), of(0.9, 1)], PullRequest);
        assert!((found[0].level - rounds[0].level(level)).abs() < 1e-12);
        assert!((found[1].level - rounds[1].level(level / 2.0)).abs() < 1e-12);
    }
}
