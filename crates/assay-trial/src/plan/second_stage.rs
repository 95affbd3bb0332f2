//! Tasks that take part in no round, drawn by the seed before the first trial.

use std::collections::{BTreeMap, BTreeSet};

use assay_skill::{Diagnostic, Severity};
use assay_store::{Stopping, TrialId};
use serde_json::json;

use crate::experiment::FEWEST_TASKS;
use crate::plan::Plan;
use crate::plan::error::PlanError;

/// The code of the diagnostic for a second stage with fewer tasks than the experiment names.
const FEWER: &str = "more-tasks";

/// A task that can be in either stage: its name, and its cluster if it has one.
pub(super) type Candidate<'a> = (&'a str, Option<&'a str>);

/// Draws at most `most` tasks. The tasks of a cluster stay together, since the two stages must be independent; a cluster
/// that does not fit is passed over.
pub(super) fn draw_tasks<'a>(tasks: &[Candidate<'a>], most: usize, seed: u64) -> BTreeSet<&'a str> {
    let mut groups: BTreeMap<(bool, &str), Vec<&'a str>> = BTreeMap::new();
    for (name, cluster) in tasks {
        groups.entry((cluster.is_some(), cluster.unwrap_or(name))).or_default().push(name);
    }
    let rank = |name: &str| TrialId::of(&json!({ "second_stage": name, "seed": seed }));
    let mut groups: Vec<_> = groups.into_iter().map(|((_, name), tasks)| (rank(name), tasks)).collect();
    groups.sort();
    let mut drawn = BTreeSet::new();
    for (_, tasks) in groups {
        if drawn.len() + tasks.len() <= most {
            drawn.extend(tasks);
        }
    }
    drawn
}

impl Plan {
    /// Takes the tasks of `more_tasks` out of the rounds: they have the repetitions of the fixed design.
    pub(super) fn hold_back_tasks(&mut self) -> Result<(), PlanError> {
        let Some(most) = self.experiment.stopping.and_then(|stopping| stopping.more_tasks) else {
            return Ok(());
        };
        let planned: BTreeSet<&str> = self.cells.iter().map(|cell| cell.task.as_str()).collect();
        let candidates: Vec<Candidate<'_>> = self
            .tasks
            .iter()
            .filter(|task| !task.negative_control && planned.contains(task.name.as_str()))
            .map(|task| (task.name.as_str(), task.cluster.as_deref()))
            .collect();
        let all = candidates.len();
        let drawn = draw_tasks(&candidates, most as usize, self.experiment.seed);
        let drawn: BTreeSet<String> = drawn.into_iter().map(str::to_owned).collect();
        let fewest = FEWEST_TASKS as usize;
        if drawn.len() < fewest || all - drawn.len() < fewest {
            let message = format!(
                "`more_tasks = {most}` divides {all} tasks into {} for the rounds and {} after them: each stage needs at least {fewest}",
                all - drawn.len(),
                drawn.len()
            );
            return Err(PlanError::Name { path: self.experiment.path.clone(), message });
        }
        if drawn.len() < most as usize {
            let message = format!(
                "{} tasks come after the rounds, not `more_tasks = {most}`: the tasks of a cluster stay together",
                drawn.len()
            );
            let warning = Diagnostic::new(Severity::Warning, FEWER, &self.experiment.path, message);
            self.diagnostics.push(warning);
        }
        let repetitions = self.experiment.repetitions;
        self.cells.retain(|cell| cell.repetition <= repetitions || !drawn.contains(&cell.task));
        let kept: BTreeSet<&TrialId> = self.cells.iter().map(|cell| &cell.trial).collect();
        self.trials.retain(|id, _| kept.contains(id));
        self.second_stage = drawn;
        Ok(())
    }

    /// The rule of the run, with the number of tasks in each stage.
    pub(super) fn stopping(&self) -> Option<Stopping> {
        let stopping = self.experiment.stopping?;
        if self.second_stage.is_empty() {
            return Some(stopping);
        }
        let planned: BTreeSet<&str> = self.cells.iter().map(|cell| cell.task.as_str()).collect();
        let count = |second: bool| {
            let is_of = |name: &str| planned.contains(name) && self.second_stage.contains(name) == second;
            let tasks = self.tasks.iter().filter(|task| !task.negative_control && is_of(&task.name)).count();
            u32::try_from(tasks).ok()
        };
        Some(Stopping { more_tasks: count(true), first_tasks: count(false), ..stopping })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_draws_tasks_and_keeps_clusters_together() {
        let names: Vec<String> = (0..12).map(|number| format!("t{number}")).collect();
        let alone: Vec<Candidate<'_>> = names.iter().map(|name| (name.as_str(), None)).collect();
        let drawn = draw_tasks(&alone, 5, 1);
        assert_eq!((drawn.len(), &draw_tasks(&alone, 5, 1)), (5, &drawn));
        assert!((2..9).any(|seed| draw_tasks(&alone, 5, seed) != drawn));
        // One task more changes the draw of at most one.
        let more: Vec<Candidate<'_>> = alone.iter().copied().chain([("new", None)]).collect();
        assert!(draw_tasks(&more, 5, 1).difference(&drawn).count() <= 1);
        let clustered: Vec<Candidate<'_>> = names
            .iter()
            .enumerate()
            .map(|(number, name)| (name.as_str(), Some(["a", "b", "c", "d"][number / 3])))
            .collect();
        for seed in 0..9 {
            let drawn = draw_tasks(&clustered, 7, seed);
            assert_eq!(drawn.len(), 6, "{seed}");
            for three in clustered.chunks(3) {
                let of_cluster = three.iter().filter(|(name, _)| drawn.contains(name)).count();
                assert!(of_cluster == 0 || of_cluster == 3, "{seed}: {three:?}");
            }
        }
    }
}
