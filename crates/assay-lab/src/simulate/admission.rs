//! Simulated drafts: tasks are admitted by attempts of another model and a pilot of the baseline, and a skill without any effect is measured on them.

use assay_stats::PairedTask;
use assay_stats::random::{Purpose, stream, uniform};
use assay_stats::simulate::Baseline;
use assay_stats::{VerdictKind, verdict};

/// Trials of a task in the pilot. A task is admitted if one of them fails.
const PILOT: usize = 3;

/// Attempts of another model on a task. A task is admitted if one of them passes.
const SOLVER: usize = 4;

/// Tasks that are proposed.
const PROPOSED: [usize; 3] = [8, 16, 40];

/// Trials of a task and condition in the experiment.
const REPETITIONS: [usize; 2] = [3, 5];

/// The equivalence margin.
const MARGIN: f64 = 0.10;

/// The upper limit of wrong verdicts in favour of the skill.
const WRONG: f64 = 0.05;

/// One cell of the grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdmissionCell {
    /// What the baseline is called.
    pub name: &'static str,
    /// The pass rates of proposed tasks without a skill. The skill changes none.
    pub baseline: Baseline,
    /// Tasks that are proposed.
    pub proposed: usize,
    /// Trials of a task and condition in the experiment.
    pub repetitions: usize,
}

/// The results of many simulated drafts, as shares of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdmissionFigures {
    /// The verdict "helps", from new trials.
    pub helps: f64,
    /// The verdict "harms", from new trials.
    pub harms: f64,
    /// The verdict "helps" if the trials of the pilot counted as the baseline's.
    pub helps_with_pilot: f64,
    /// Tasks that are removed as too easy, as a share of those proposed.
    pub removed: f64,
    /// Tasks that are removed because another model solves none of them, as a share of those proposed.
    pub unsolved: f64,
}

/// The cells: baselines as in public suites, easy ones and even ones.
pub fn admission_grid() -> Vec<AdmissionCell> {
    let beta = |a: f64, b: f64| Baseline::beta(a, b).unwrap_or_default();
    let baselines = [("public", Baseline::default()), ("easy", beta(1.6, 0.4)), ("even", beta(1.0, 1.0))];
    let mut cells = Vec::new();
    for (name, baseline) in baselines {
        for proposed in PROPOSED {
            for repetitions in REPETITIONS {
                cells.push(AdmissionCell { name, baseline, proposed, repetitions });
            }
        }
    }
    cells
}

impl AdmissionCell {
    /// Whether the figures are outside their limit.
    pub fn is_missed(&self, figures: &AdmissionFigures) -> bool {
        figures.helps > WRONG
    }

    /// Draws `drafts` drafts, each with its own random stream.
    pub fn simulate(&self, drafts: u64, seed: u64) -> AdmissionFigures {
        let [mut helps, mut harms, mut reused, mut removed, mut unsolved] = [0_u64; 5];
        for draft in 0..drafts {
            let mut random = stream(seed, Purpose::Admission, draft);
            let (mut tasks, mut with_pilot) = (Vec::new(), Vec::new());
            for _ in 0..self.proposed {
                let rate = self.baseline.draw_rate(&mut random);
                let mut trials = |count: usize| -> Vec<f64> {
                    (0..count).map(|_| f64::from(u8::from(uniform(&mut random) < rate))).collect()
                };
                let pilot = trials(PILOT);
                // The other model has the agent's rate, which makes its results as informative as they can be. Half of its
                // attempts have the skill, which changes no rate.
                let attempts = trials(SOLVER);
                let [base, arm] = [(); 2].map(|()| trials(self.repetitions));
                if attempts.iter().all(|score| *score < 0.5) {
                    unsolved += 1;
                    continue;
                }
                if pilot.iter().all(|score| *score > 0.5) {
                    removed += 1;
                    continue;
                }
                with_pilot.push(PairedTask { arm: arm.clone(), base: pilot, cluster: None });
                tasks.push(PairedTask { arm, base, cluster: None });
            }
            match verdict(&tasks, 1, MARGIN, None).kind {
                VerdictKind::Helps => helps += 1,
                VerdictKind::Harms => harms += 1,
                VerdictKind::Negligible | VerdictKind::Inconclusive => {}
            }
            reused += u64::from(verdict(&with_pilot, 1, MARGIN, None).kind == VerdictKind::Helps);
        }
        let share = |count: u64| count as f64 / drafts.max(1) as f64;
        AdmissionFigures {
            helps: share(helps),
            harms: share(harms),
            helps_with_pilot: share(reused),
            removed: share(removed) / self.proposed.max(1) as f64,
            unsolved: share(unsolved) / self.proposed.max(1) as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `assay lab simulate --grid admission` prints the whole grid.
    #[test]
    fn a_skill_without_effect_rarely_helps_on_admitted_tasks() {
        let mut biased = 0;
        for cell in admission_grid() {
            let found = cell.simulate(1_000, 1);
            assert!(!cell.is_missed(&found), "{cell:?}: {found:?}");
            biased += usize::from(found.helps_with_pilot > WRONG);
        }
        // The rule that new trials are needed is not idle: with the pilot's, the skill seems to help.
        assert!(biased > 0);
    }
}
