//! Lifts by what tasks and skills have in common.

use std::collections::{BTreeMap, BTreeSet};

use assay_stats::{Difficulty, MetricScale, PairedTask};
use assay_store::{ConditionRole, PlannedProvision, PlannedTask, RunFolder};
use serde::Serialize;

use super::pair::{Pair, ends, paired, values_of_scored};
use crate::model::AgentKey;
use crate::table::Slot;

/// The limits of the classes of length, in tokens of the body (cl100k). The field names the four
/// classes and publishes no limits for them; these are this project's, and those of
/// `assay lab corpus stats` (`LENGTH_CLASSES` in `assay-corpus`), so that one word means one length.
const LENGTHS: [(usize, &str); 3] = [(500, "compact"), (1500, "standard"), (5000, "detailed")];

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
    /// The score of the baseline, from trials that are not compared.
    Baseline,
}

impl StratumKind {
    /// All, in the order of a report.
    const ALL: [Self; 5] = [Self::Domain, Self::Difficulty, Self::Skills, Self::Length, Self::Baseline];
}

/// The lift on a part of the tasks. Exploratory: there is no verdict on it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stratum {
    /// `domain` and `difficulty` as in the task; `skills`, how many the condition provides;
    /// `length`, the class of the curated skills' bodies together: `compact` below 500 tokens,
    /// `standard` below 1500, `detailed` below 5000, `comprehensive`; `baseline`, the mean score of
    /// the other half of the baseline's trials: `hard` below a third, `medium`, `easy` above two
    /// thirds.
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
    /// Tasks with a valid trial in every arm. By baseline, a task can be in two strata, with a half
    /// of the baseline's trials in each.
    pub tasks: usize,
    /// Mean score of the compared trials of the baseline.
    pub baseline_score: Option<f64>,
    /// Mean over them of the difference of mean scores.
    pub lift: Option<f64>,
    /// Its 95 % interval, unadjusted; `null` below 5 tasks or clusters.
    pub ci95: Option<[f64; 2]>,
    /// Tokens under the condition, as a ratio to the baseline's: geometric mean over tasks of the
    /// ratio of means. `null` if a trial's tokens are unknown.
    pub token_ratio: Option<f64>,
    /// Its 95 % interval.
    pub token_ratio_ci95: Option<[f64; 2]>,
}

/// A part with its place among the others.
type Part = (usize, String);

pub(super) fn strata(run: &RunFolder, pairs: &[Pair<'_>], clusters: &BTreeMap<&str, u64>) -> Vec<Stratum> {
    let parts = Parts::of(run);
    let mut strata = Vec::new();
    for by in StratumKind::ALL {
        for pair in pairs {
            let mut tasks: BTreeMap<Part, Vec<Compared>> = BTreeMap::new();
            if by == StratumKind::Baseline {
                tasks = by_baseline(pair, clusters);
            } else {
                for (task, arm, base) in &pair.tasks {
                    if let Some(part) = parts.part(by, task, pair.condition) {
                        tasks.entry(part).or_default().push(Compared::whole(task, arm, base, clusters));
                    }
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

/// A task in a stratum: scores, and tokens if they are known for all trials.
struct Compared {
    task: usize,
    scores: PairedTask,
    tokens: Option<PairedTask>,
}

impl Compared {
    /// All trials of a task.
    fn whole(task: &str, arm: &Slot, base: &Slot, clusters: &BTreeMap<&str, u64>) -> Self {
        let scores = paired(task, arm, base, clusters);
        let tokens_of =
            |slot| values_of_scored(slot, |result| result.usage.map(|usage| usage.total() as f64));
        let tokens = tokens_of(arm).zip(tokens_of(base));
        let tokens = tokens.map(|(arm, base)| PairedTask { arm, base, cluster: scores.cluster });
        Self { task: 0, scores, tokens }
    }
}

/// The halves of the baseline's trials, each in the stratum that the other half decides. The halves of a task depend
/// on each other through the condition's trials: they are a cluster.
fn by_baseline(pair: &Pair<'_>, clusters: &BTreeMap<&str, u64>) -> BTreeMap<Part, Vec<Compared>> {
    let bases: Vec<Vec<f64>> = pair.tasks.iter().map(|(_, _, base)| base.scores()).collect();
    let mut tasks: BTreeMap<Part, Vec<Compared>> = BTreeMap::new();
    for half in assay_stats::held_out(&bases) {
        let Some((task, arm, base)) = pair.tasks.get(half.task) else { continue };
        let whole = Compared::whole(task, arm, base, clusters);
        let chosen = |values: &[f64]| half.trials.iter().filter_map(|at| values.get(*at).copied()).collect();
        // Declared clusters are numbered from 0.
        let cluster = Some(whole.scores.cluster.unwrap_or(u64::MAX - half.task as u64));
        let held = |task: PairedTask| PairedTask { base: chosen(&task.base), cluster, ..task };
        let part = match half.difficulty {
            Difficulty::Hard => (0, "hard".to_owned()),
            Difficulty::Medium => (1, "medium".to_owned()),
            Difficulty::Easy => (2, "easy".to_owned()),
        };
        let compared =
            Compared { task: half.task, scores: held(whole.scores), tokens: whole.tokens.map(held) };
        tasks.entry(part).or_default().push(compared);
    }
    tasks
}

fn stratum(pair: &Pair<'_>, by: StratumKind, value: String, tasks: &[Compared]) -> Stratum {
    let scores: Vec<PairedTask> = tasks.iter().map(|task| task.scores.clone()).collect();
    let estimate = assay_stats::lift(&scores, 0.95);
    let bases: Vec<Vec<f64>> = scores.iter().map(|task| task.base.clone()).collect();
    let tokens: Option<Vec<PairedTask>> = tasks.iter().map(|task| task.tokens.clone()).collect();
    let ratio = tokens.and_then(|tokens| assay_stats::metric_effect(&tokens, MetricScale::Log, 0.95));
    let distinct: BTreeSet<usize> = tasks.iter().map(|task| task.task).collect();
    Stratum {
        by,
        value,
        who: pair.who.clone(),
        baseline: pair.baseline.to_owned(),
        condition: pair.condition.to_owned(),
        tasks: if by == StratumKind::Baseline { distinct.len() } else { tasks.len() },
        baseline_score: assay_stats::rate(&bases, 0.95).map(|estimate| estimate.mean),
        lift: estimate.map(|estimate| estimate.mean),
        ci95: ends(estimate.and_then(|estimate| estimate.interval)),
        token_ratio: ratio.map(|ratio| ratio.effect),
        token_ratio_ci95: ends(ratio.and_then(|ratio| ratio.interval)),
    }
}

/// The attributes of tasks, by name.
struct Parts<'a> {
    tasks: BTreeMap<&'a str, &'a PlannedTask>,
    provisions: BTreeMap<(&'a str, &'a str), &'a PlannedProvision>,
    /// What belongs to each task.
    curated: BTreeMap<&'a str, &'a PlannedProvision>,
    /// Whether the trials were executed elsewhere, so that skills may be unknown.
    is_imported: bool,
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
            is_imported: run.imported.is_some(),
        }
    }

    fn part(&self, by: StratumKind, task: &str, condition: &str) -> Option<Part> {
        let said = |text: Option<&String>| text.map_or_else(unknown, |text| (0, text.clone()));
        match by {
            StratumKind::Domain => Some(said(self.tasks.get(task)?.category.as_ref())),
            StratumKind::Difficulty => {
                let (last, text) = said(self.tasks.get(task)?.difficulty.as_ref());
                let known = DIFFICULTIES.iter().position(|known| text.eq_ignore_ascii_case(known));
                Some((last.max(known.unwrap_or(DIFFICULTIES.len())), text))
            }
            StratumKind::Skills => {
                let Some(provision) = self.provisions.get(&(task, condition)) else {
                    return self.imported_unknown();
                };
                Some(provision.number().map_or_else(unknown, number))
            }
            // Not of a task, but of a half of its trials: `by_baseline`.
            StratumKind::Baseline => None,
            StratumKind::Length => {
                let Some(provision) = self.curated.get(task) else { return self.imported_unknown() };
                (provision.number() != Some(0)).then(|| provision.body_tokens().map_or_else(unknown, length))
            }
        }
    }

    /// The part of a task whose skills an import does not know. Other runs know which tasks have none.
    fn imported_unknown(&self) -> Option<Part> {
        self.is_imported.then(unknown)
    }
}

/// The part of tasks without a value, after all others.
fn unknown() -> Part {
    (usize::MAX, NOT_STATED.to_owned())
}

/// The part of a number of skills.
fn number(skills: usize) -> Part {
    match skills {
        0 => (0, "none".to_owned()),
        1 => (1, "1".to_owned()),
        2 | 3 => (2, "2 to 3".to_owned()),
        _ => (3, "4 or more".to_owned()),
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
        check(4999, "detailed");
        check(5000, "comprehensive");
    }
}
