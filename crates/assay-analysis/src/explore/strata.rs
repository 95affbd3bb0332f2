//! Lifts by what tasks and skills have in common.

use std::collections::BTreeMap;

use assay_stats::PairedTask;
use assay_store::{ConditionRole, PlannedProvision, PlannedTask, RunFolder};
use serde::Serialize;

use super::pair::{Pair, ends, paired};
use crate::model::AgentKey;

/// The limits of the classes of length, in tokens of the body (cl100k). The field names the four
/// classes and publishes no limits for them; these are this project's, fixed before anything was
/// measured with them.
const LENGTHS: [(usize, &str); 3] = [(500, "compact"), (1500, "standard"), (4000, "detailed")];

/// Longer than all of them.
const LONGEST: &str = "comprehensive";

/// Difficulties in their order; others come after them by name.
const DIFFICULTIES: [&str; 3] = ["easy", "medium", "hard"];

/// The stratum of tasks without a value.
const NOT_STATED: &str = "not stated";

/// What parts the suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StratumKind {
    /// The task's domain.
    Domain,
    /// Its difficulty.
    Difficulty,
    /// How many skills the condition provides.
    Skills,
    /// The length of the curated skills' bodies.
    Length,
}

impl StratumKind {
    /// All, in the order of a report.
    const ALL: [Self; 4] = [Self::Domain, Self::Difficulty, Self::Skills, Self::Length];
}

/// The lift on a part of the tasks. Exploratory: there is no verdict on it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stratum {
    /// `domain` and `difficulty` as in the task; `skills`, how many the condition provides;
    /// `length`, the class of the curated skills' bodies together: `compact` below 500 tokens,
    /// `standard` below 1500, `detailed` below 4000, `comprehensive`.
    pub by: StratumKind,
    /// Which part.
    pub value: String,
    /// Whose results these are.
    #[serde(flatten)]
    pub who: AgentKey,
    /// The condition compared with.
    pub baseline: String,
    /// The condition compared.
    pub condition: String,
    /// Tasks with a valid trial in every arm.
    pub tasks: usize,
    /// Mean over them of the difference of mean scores.
    pub lift: Option<f64>,
    /// Its 95 % interval, unadjusted; `null` below 5 tasks or clusters.
    pub ci95: Option<[f64; 2]>,
}

/// A part with its place among the others.
type Part = (usize, String);

pub(super) fn strata(run: &RunFolder, pairs: &[Pair<'_>], clusters: &BTreeMap<&str, u64>) -> Vec<Stratum> {
    let parts = Parts::of(run);
    let mut strata = Vec::new();
    for by in StratumKind::ALL {
        for pair in pairs {
            let mut tasks: BTreeMap<Part, Vec<PairedTask>> = BTreeMap::new();
            for (task, arm, base) in &pair.tasks {
                if let Some(part) = parts.part(by, task, pair.condition) {
                    tasks.entry(part).or_default().push(paired(task, arm, base, clusters));
                }
            }
            // If no task has a value there are no strata.
            if tasks.keys().all(|(_, value)| value == NOT_STATED) {
                continue;
            }
            strata.extend(tasks.into_iter().map(|((_, value), tasks)| stratum(pair, by, value, &tasks)));
        }
    }
    strata
}

fn stratum(pair: &Pair<'_>, by: StratumKind, value: String, tasks: &[PairedTask]) -> Stratum {
    let estimate = assay_stats::lift(tasks, 0.95);
    Stratum {
        by,
        value,
        who: pair.who.clone(),
        baseline: pair.baseline.to_owned(),
        condition: pair.condition.to_owned(),
        tasks: tasks.len(),
        lift: estimate.map(|estimate| estimate.mean),
        ci95: ends(estimate.and_then(|estimate| estimate.interval)),
    }
}

/// The attributes of tasks, by name.
struct Parts<'a> {
    tasks: BTreeMap<&'a str, &'a PlannedTask>,
    provisions: BTreeMap<(&'a str, &'a str), &'a PlannedProvision>,
    /// What belongs to each task.
    curated: BTreeMap<&'a str, &'a PlannedProvision>,
}

impl<'a> Parts<'a> {
    fn of(run: &'a RunFolder) -> Self {
        let provision =
            |planned: &'a PlannedProvision| ((planned.task.as_str(), planned.condition.as_str()), planned);
        Self {
            tasks: run.tasks.iter().map(|task| (task.name.as_str(), task)).collect(),
            provisions: run.provisions.iter().map(provision).collect(),
            curated: run
                .provisions
                .iter()
                .filter(|planned| run.role_of(&planned.condition) == ConditionRole::Curated)
                .map(|planned| (planned.task.as_str(), planned))
                .collect(),
        }
    }

    fn part(&self, by: StratumKind, task: &str, condition: &str) -> Option<Part> {
        let said = |text: Option<&String>| {
            text.map_or((usize::MAX, NOT_STATED.to_owned()), |text| (0, text.clone()))
        };
        match by {
            StratumKind::Domain => Some(said(self.tasks.get(task)?.category.as_ref())),
            StratumKind::Difficulty => {
                let (last, text) = said(self.tasks.get(task)?.difficulty.as_ref());
                let known = DIFFICULTIES.iter().position(|known| text.eq_ignore_ascii_case(known));
                Some((last.max(known.unwrap_or(DIFFICULTIES.len())), text))
            }
            StratumKind::Skills => Some(match self.provisions.get(&(task, condition))?.skills.len() {
                0 => (0, "none".to_owned()),
                1 => (1, "1".to_owned()),
                2 | 3 => (2, "2 to 3".to_owned()),
                _ => (3, "4 or more".to_owned()),
            }),
            StratumKind::Length => {
                let skills = &self.curated.get(task)?.skills;
                (!skills.is_empty()).then(|| length(skills.iter().map(|skill| skill.body_tokens).sum()))
            }
        }
    }
}

fn length(tokens: usize) -> Part {
    let class = LENGTHS.iter().position(|(end, _)| tokens < *end);
    class.map_or((LENGTHS.len(), LONGEST.to_owned()), |class| (class, LENGTHS[class].1.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_ends_before_its_limit() {
        let check = |tokens, expected: &str| assert_eq!(length(tokens).1, expected, "{tokens}");
        check(0, "compact");
        check(499, "compact");
        check(500, "standard");
        check(1500, "detailed");
        check(3999, "detailed");
        check(4000, "comprehensive");
    }
}
