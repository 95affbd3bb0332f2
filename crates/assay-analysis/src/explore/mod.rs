//! What may be looked at after the verdicts, and gets none: strata, pools, frontiers, variances.
//!
//! Intervals here are at 95 % and unadjusted, however many there are.

mod extremes;
mod frontier;
mod heat;
mod pooled;
mod strata;
mod variance;

use assay_trial::RunFolder;
use std::collections::BTreeMap;

use assay_stats::{Interval, PairedTask};

use crate::gather::{Slot, Table};

pub use extremes::{TopTask, TopTasks};
pub use frontier::{Frontier, FrontierPoint, UnknownCost};
pub use heat::{HeatMap, HeatRow};
pub use pooled::Pooled;
pub use strata::Stratum;
pub use variance::{Repetitions, Variance};

pub(crate) use extremes::extremes;
pub(crate) use frontier::frontier;
pub(crate) use heat::heat;
pub(crate) use pooled::pooled;
pub(crate) use strata::strata;
pub(crate) use variance::{repetitions, variance};

/// A condition beside its baseline under one agent in one sandbox, on the tasks that count.
pub(crate) struct Pair<'a> {
    pub(crate) agent: usize,
    pub(crate) sandbox: &'a str,
    pub(crate) baseline: &'a str,
    pub(crate) condition: &'a str,
    /// Task, arm, baseline.
    pub(crate) tasks: Vec<(&'a str, &'a Slot, &'a Slot)>,
}

/// All of them, in the order of the comparisons.
pub(crate) fn pairs<'a>(run: &'a RunFolder, tables: &'a [Table]) -> Vec<Pair<'a>> {
    let Some((baseline, others)) = run.conditions.split_first() else { return Vec::new() };
    let mut pairs = Vec::new();
    for table in tables {
        let Some(bases) = table.cells.get(baseline) else { continue };
        let shared = table.shared_tasks();
        for condition in others {
            let Some(arms) = table.cells.get(condition) else { continue };
            if !table.is_usable(baseline) || !table.is_usable(condition) {
                continue;
            }
            let tasks =
                shared.iter().filter_map(|task| Some((*task, arms.get(*task)?, bases.get(*task)?))).collect();
            let (agent, sandbox) = (table.agent, table.sandbox.as_str());
            pairs.push(Pair { agent, sandbox, baseline, condition, tasks });
        }
    }
    pairs
}

/// A task as the estimators take it.
fn paired(task: &str, arm: &Slot, base: &Slot, clusters: &BTreeMap<&str, u64>) -> PairedTask {
    PairedTask { arm: arm.scores(), base: base.scores(), cluster: clusters.get(task).copied() }
}

/// The difference of a task's mean scores.
fn difference(arm: &Slot, base: &Slot) -> Option<f64> {
    arm.score().zip(base.score()).map(|(arm, base)| arm - base)
}

fn ends(interval: Option<Interval>) -> Option<[f64; 2]> {
    interval.map(|interval| [interval.low, interval.high])
}
