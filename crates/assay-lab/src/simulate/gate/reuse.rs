//! A skill without effect, measured today against a baseline that was recorded in earlier sessions.

use assay_gate::{BudgetScope, Claim, Outcome, Requirement, Session, drift_sd, outcomes};
use assay_stats::simulate::Baseline;
use assay_stats::{PairedTask, SessionDrift};

use crate::simulate::Versions;

/// The one-sided level of the simulated claims.
pub const NOMINAL: f64 = 0.02;

/// The share of false passes that is accepted at [`NOMINAL`]: the sessions' spread is estimated from few of them.
pub const MOST_FALSE: f64 = 0.035;

/// One design.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReuseCell {
    /// Tasks.
    pub tasks: usize,
    /// Trials of each task in each session.
    pub repetitions: usize,
    /// Sessions of the baseline in the store; the last of them is the recorded arm.
    pub sessions: usize,
    /// The standard deviation of what all tasks share in a session.
    pub sd: f64,
}

/// The designs.
pub fn reuse_grid() -> Vec<ReuseCell> {
    [
        (30, 3, 6, 0.05),
        (84, 3, 6, 0.05),
        (84, 3, 10, 0.05),
        (127, 5, 6, 0.05),
        (127, 5, 10, 0.05),
        (84, 3, 6, 0.1),
    ]
    .map(|(tasks, repetitions, sessions, sd)| ReuseCell { tasks, repetitions, sessions, sd })
    .to_vec()
}

impl ReuseCell {
    /// The share of suites in which `helps` passes for a skill without effect. The last session is today's.
    pub fn false_passes(&self, suites: u64, seed: u64) -> f64 {
        let passes = (0..suites).filter(|index| self.passes(seed, *index)).count();
        passes as f64 / suites.max(1) as f64
    }

    fn passes(&self, seed: u64, index: u64) -> bool {
        let mut versions = Versions::new(Baseline::default(), self.tasks, seed, index);
        let rates = versions.rates();
        let mut trials = |_: usize| {
            let shifted = versions.session(&rates, self.sd);
            versions.trials(&shifted, self.repetitions)
        };
        let recorded: Vec<Vec<Vec<f64>>> = (0..self.sessions).map(&mut trials).collect();
        let today = trials(self.sessions);
        let cells: Vec<Session> = recorded
            .iter()
            .enumerate()
            .flat_map(|(session, tasks)| {
                tasks.iter().enumerate().map(move |(task, scores)| Session {
                    session: session.to_string(),
                    task: task.to_string(),
                    scores: scores.clone(),
                })
            })
            .collect();
        let (Some(base), Some(drift)) = (recorded.last(), drift_sd(&cells)) else { return false };
        let pair = |(arm, base): (Vec<f64>, &Vec<f64>)| PairedTask { arm, base: base.clone(), cluster: None };
        let claim = Claim {
            skill: String::new(),
            require: Requirement::Helps,
            margin: 0.1,
            tasks: today.into_iter().zip(base).map(pair).collect(),
            reference: None,
            reference_level: NOMINAL,
            level: NOMINAL,
            drift: SessionDrift { sd: drift.sd, sessions: Some(drift.sessions), recorded: 1 },
        };
        outcomes(&[claim], BudgetScope::Skill).iter().any(|found| found.0 == Outcome::Pass)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_baseline_passes_few_skills_without_effect() {
        let suites = 1_000;
        for cell in reuse_grid().into_iter().filter(|cell| cell.tasks < 100) {
            let found = cell.false_passes(suites, 1);
            let error = (MOST_FALSE * (1.0 - MOST_FALSE) / suites as f64).sqrt();
            assert!(found <= MOST_FALSE + 2.0 * error, "{cell:?}: {found}");
        }
        // Without an estimate there is no decision.
        let few = ReuseCell { sessions: 5, tasks: 30, repetitions: 3, sd: 0.0 };
        assert!(few.false_passes(20, 1) < 1e-12);
    }
}
