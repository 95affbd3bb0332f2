//! Simulated drafts of skills without effect, from proposals to verdicts: each item is tried blind, items that blind attempts
//! meet are dropped, and tasks are replaced until as many are accepted as were asked for. What is measured then is fresh trials
//! with and without a skill that changes nothing.

use assay_stats::random::{Purpose, stream, uniform};
use assay_stats::simulate::Baseline;
use assay_stats::{PairedTask, VerdictKind, verdict};
use rand_chacha::ChaCha8Rng;

/// Items of a proposed task: knowledge and convention. `assay draft` chooses 6 to 12 directives for a task.
const KNOWLEDGE: usize = 5;
const CONVENTION: usize = 3;

/// Blind attempts on a task. An item stays if most of them fail it.
const BLIND: usize = 3;
const FAILED: usize = 2;

/// Items that a task needs after validation, at least one of them of knowledge.
const FEWEST_ITEMS: usize = 4;

/// The probability that an attempt reaches the goal of a task.
const GOAL: f64 = 0.97;

/// The share of items that stand or fall together in a trial, as those that hang on one name do.
const SHARED: f64 = 0.3;

/// Proposals for each accepted task at most: a draft that finds no more ends with fewer tasks.
const PROPOSALS: usize = 60;

/// Tasks that are to be accepted.
const ACCEPTED: [usize; 2] = [10, 20];

/// Trials of a task and condition in the experiment.
const REPETITIONS: [usize; 2] = [2, 5];

/// The equivalence margin.
const MARGIN: f64 = 0.10;

/// The upper limit of wrong verdicts in favor of the skill.
const WRONG: f64 = 0.05;

/// One cell of the grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NullDraftCell {
    /// What the items are called.
    pub name: &'static str,
    /// The probabilities that an attempt meets items. The skill changes none.
    pub known: Baseline,
    /// Whether items are dropped that an attempt with the skill does not meet.
    pub has_solver: bool,
    /// Tasks that are to be accepted.
    pub tasks: usize,
    /// Trials of a task and condition in the experiment.
    pub repetitions: usize,
}

/// The results of many simulated drafts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NullDraftFigures {
    /// The share of drafts with the verdict "helps" on the reward.
    pub helps: f64,
    /// The same with "harms".
    pub harms: f64,
    /// The share of drafts whose items of knowledge improve.
    pub improves: f64,
    /// The share of drafts whose items of knowledge would improve if the blind attempts counted as the baseline's trials.
    pub improves_with_blind: f64,
    /// Accepted tasks, the mean over drafts.
    pub accepted: f64,
    /// Items that stay, as a share of those of proposed tasks.
    pub kept: f64,
}

/// The cells: items that few models know, that half of them know, and that most know, as items of public skills.
pub fn null_draft_grid() -> Vec<NullDraftCell> {
    let beta = |a: f64, b: f64| Baseline::beta(a, b).unwrap_or_default();
    // Blind attempts met 7 of 57 items of counterfactual copies, 16 of 28 of obscure skills, 75 of 92 of all.
    let kinds = [("unknown", beta(0.3, 2.1)), ("half", beta(0.6, 0.5)), ("public", beta(1.0, 0.3))];
    let mut cells = Vec::new();
    for (name, known) in kinds {
        for has_solver in [false, true] {
            for tasks in ACCEPTED {
                for repetitions in REPETITIONS {
                    cells.push(NullDraftCell { name, known, has_solver, tasks, repetitions });
                }
            }
        }
    }
    cells
}

/// A task as it was accepted: what an attempt meets of it, and how often its blind attempts met each item.
struct AcceptedTask {
    /// The probabilities of its items; those of knowledge first.
    known: Vec<f64>,
    /// How many are of knowledge.
    knowledge: usize,
    /// For each item, the results of the blind attempts.
    blind: Vec<Vec<f64>>,
}

/// Whether each item is met in one attempt, and whether the goal is reached.
fn attempt(known: &[f64], random: &mut ChaCha8Rng) -> (Vec<bool>, bool) {
    let common = uniform(random);
    let met = known.iter().map(|probability| {
        let own = uniform(random);
        let is_shared = uniform(random) < SHARED;
        (if is_shared { common } else { own }) < *probability
    });
    let met: Vec<bool> = met.collect();
    (met, uniform(random) < GOAL)
}

fn score(met: bool) -> f64 {
    f64::from(u8::from(met))
}

impl NullDraftCell {
    /// Whether the figures are outside their limit.
    pub fn is_missed(&self, figures: &NullDraftFigures) -> bool {
        figures.helps > WRONG || figures.improves > WRONG
    }

    /// Proposes a task and validates it; `None` if it is rejected. Counts the items that stay.
    fn propose(&self, random: &mut ChaCha8Rng, kept: &mut usize) -> Option<AcceptedTask> {
        let items = KNOWLEDGE + CONVENTION;
        let known: Vec<f64> = (0..items).map(|_| self.known.draw_rate(random)).collect();
        let blind: Vec<(Vec<bool>, bool)> = (0..BLIND).map(|_| attempt(&known, random)).collect();
        let with = self.has_solver.then(|| attempt(&known, random).0);
        let failed = |item: usize| blind.iter().filter(|(met, _)| !met[item]).count();
        let stays = |item: &usize| failed(*item) >= FAILED && with.as_ref().is_none_or(|met| met[*item]);
        let left: Vec<usize> = (0..items).filter(stays).collect();
        *kept += left.len();
        let knowledge = left.iter().filter(|item| **item < KNOWLEDGE).count();
        if left.len() < FEWEST_ITEMS || knowledge == 0 || blind.iter().any(|(_, reached)| !reached) {
            return None;
        }
        let task = AcceptedTask {
            known: left.iter().map(|item| known[*item]).collect(),
            knowledge,
            blind: left.iter().map(|item| blind.iter().map(|(met, _)| score(met[*item])).collect()).collect(),
        };
        Self::stays_after_pilot(&task, random).then_some(task)
    }

    /// The pilot: an attempt without and one with the skill, which changes nothing. Both have to reach the goal, and the first has to
    /// miss enough items, one of them of knowledge.
    fn stays_after_pilot(task: &AcceptedTask, random: &mut ChaCha8Rng) -> bool {
        let [(met, without), (_, with)] = [(); 2].map(|()| attempt(&task.known, random));
        let missed: Vec<usize> = (0..met.len()).filter(|item| !met[*item]).collect();
        let knows = missed.iter().any(|item| *item < task.knowledge);
        without && with && missed.len() >= FEWEST_ITEMS && knows
    }

    /// The results of fresh trials of one arm: the rewards, and for each item whether it is met.
    fn measure(&self, task: &AcceptedTask, random: &mut ChaCha8Rng) -> (Vec<f64>, Vec<Vec<f64>>) {
        let mut rewards = Vec::new();
        let mut items = vec![Vec::new(); task.known.len()];
        for _ in 0..self.repetitions {
            let (met, reached) = attempt(&task.known, random);
            rewards.push(score(reached && met.iter().all(|met| *met)));
            for (item, met) in items.iter_mut().zip(met) {
                item.push(score(met));
            }
        }
        (rewards, items)
    }

    /// Draws `drafts` drafts, each with its own random stream.
    pub fn simulate(&self, drafts: u64, seed: u64) -> NullDraftFigures {
        let [mut helps, mut harms, mut improves, mut reused] = [0_u64; 4];
        let [mut accepted, mut proposed, mut kept] = [0_usize; 3];
        for draft in 0..drafts {
            let mut random = stream(seed, Purpose::NullDraft, draft);
            let (mut rewards, mut items, mut with_blind) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..self.tasks * PROPOSALS {
                if rewards.len() == self.tasks {
                    break;
                }
                proposed += KNOWLEDGE + CONVENTION;
                let Some(task) = self.propose(&mut random, &mut kept) else { continue };
                let cluster = Some(rewards.len() as u64);
                let [base, arm] = [(); 2].map(|()| self.measure(&task, &mut random));
                rewards.push(PairedTask { arm: arm.0, base: base.0, cluster: None });
                let knowledge = arm.1.into_iter().zip(base.1).zip(task.blind).take(task.knowledge);
                for ((arm, base), blind) in knowledge {
                    with_blind.push(PairedTask { arm: arm.clone(), base: blind, cluster });
                    items.push(PairedTask { arm, base, cluster });
                }
            }
            accepted += rewards.len();
            let of = |tasks: &[PairedTask]| verdict(tasks, 1, MARGIN, None).kind;
            let kind = of(&rewards);
            helps += u64::from(kind == VerdictKind::Helps);
            harms += u64::from(kind == VerdictKind::Harms);
            improves += u64::from(of(&items) == VerdictKind::Helps);
            reused += u64::from(of(&with_blind) == VerdictKind::Helps);
        }
        let share = |count: u64| count as f64 / drafts.max(1) as f64;
        NullDraftFigures {
            helps: share(helps),
            harms: share(harms),
            improves: share(improves),
            improves_with_blind: share(reused),
            accepted: accepted as f64 / drafts.max(1) as f64,
            kept: kept as f64 / proposed.max(1) as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `assay lab simulate --grid null-drafts` prints the whole grid, with 1,000 drafts a row.
    #[test]
    fn a_skill_without_effect_rarely_helps_on_items_that_blind_attempts_failed() {
        let mut biased = 0;
        for cell in null_draft_grid() {
            let found = cell.simulate(100, 1);
            // With three standard errors of 100 drafts.
            assert!(found.helps < 0.115 && found.improves < 0.115, "{cell:?}: {found:?}");
            biased += usize::from(found.improves_with_blind > 0.5);
        }
        // The rule that new trials are needed is not idle: against the blind attempts a skill without effect improves items.
        assert!(biased > 0);
    }

    #[test]
    fn accepted_tasks_have_items_that_blind_attempts_failed() {
        let cell = null_draft_grid().into_iter().find(|cell| cell.name == "half").unwrap();
        let mut random = stream(3, Purpose::NullDraft, 0);
        let (mut accepted, mut kept) = (0, 0);
        for _ in 0..500 {
            let Some(task) = cell.propose(&mut random, &mut kept) else { continue };
            accepted += 1;
            assert!(task.known.len() >= FEWEST_ITEMS && task.knowledge > 0 && task.knowledge <= KNOWLEDGE);
            for blind in &task.blind {
                assert!(blind.len() == BLIND && blind.iter().sum::<f64>() <= 1.0, "{blind:?}");
            }
        }
        assert!(accepted > 50 && kept >= FEWEST_ITEMS * accepted, "{accepted} {kept}");
    }
}
