//! The tasks on which a condition gained most and lost most.

use serde::Serialize;

use super::pair::{Pair, difference, shrunk_lifts};
use crate::comparisons::EQUAL;
use crate::model::AgentKey;

/// How many tasks are named each way.
const MOST: usize = 5;

/// The tasks at one end of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TopTasks {
    /// Whose results these are.
    #[serde(flatten)]
    pub who: AgentKey,
    /// The condition compared with.
    pub baseline: String,
    /// The condition compared.
    pub condition: String,
    /// At most 5, the largest first; tasks without a difference are not among them.
    pub tasks: Vec<TopTask>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TopTask {
    /// The task.
    pub task: String,
    /// The difference of mean scores.
    pub lift: f64,
    /// The same, shrunk towards the mean of all tasks by the part of its variance that comes from trials. Tasks are in the
    /// order of these; `null` if that part is unknown, and they are then in the order of `lift`.
    pub shrunk_lift: Option<f64>,
    /// The condition's mean score.
    pub score: f64,
    /// The baseline's.
    pub baseline_score: f64,
    /// The condition's pass rate.
    pub pass_rate: f64,
    /// The baseline's.
    pub baseline_pass_rate: f64,
}

/// Gains and losses, comparison by comparison.
pub(super) fn extremes(pairs: &[Pair<'_>]) -> (Vec<TopTasks>, Vec<TopTasks>) {
    pairs.iter().map(|pair| (top(pair, 1.0), top(pair, -1.0))).unzip()
}

fn top(pair: &Pair<'_>, sign: f64) -> TopTasks {
    let shrunk = shrunk_lifts(pair);
    let mut tasks: Vec<TopTask> = pair
        .tasks
        .iter()
        .zip(shrunk)
        .filter_map(|((task, arm, base), shrunk_lift)| {
            Some(TopTask {
                task: (*task).to_owned(),
                lift: difference(arm, base)?,
                shrunk_lift,
                score: arm.score()?,
                baseline_score: base.score()?,
                pass_rate: arm.pass_rate()?,
                baseline_pass_rate: base.pass_rate()?,
            })
        })
        .filter(|task| sign * task.lift > EQUAL)
        .collect();
    tasks.sort_by(|one, other| {
        let key = |task: &TopTask| [task.shrunk_lift.unwrap_or(task.lift), task.lift].map(|lift| sign * lift);
        let ([one_shrunk, one_lift], [other_shrunk, other_lift]) = (key(one), key(other));
        (other_shrunk.total_cmp(&one_shrunk))
            .then_with(|| other_lift.total_cmp(&one_lift))
            .then_with(|| one.task.cmp(&other.task))
    });
    tasks.truncate(MOST);
    TopTasks {
        who: pair.who.clone(),
        baseline: pair.baseline.to_owned(),
        condition: pair.condition.to_owned(),
        tasks,
    }
}
