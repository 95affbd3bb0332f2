//! Runs whose tasks have two sets of checks: goal completion (GC) and instruction following (IF).
//!
//! The verdict on a skill is that on the score. Beside it stand comparisons of items, clustered by task: knowledge, which is
//! the headline of IF; convention, which shows that the text was transmitted and is never added to knowledge; reminders,
//! which are controls with an expected gain of 0; and goal completion, which is a guard.

mod canaries;
mod evidence;
mod figures;
mod scores;
mod seen;

use assay_store::{CheckSet, RunFolder};
use serde::Serialize;

use crate::gather::Gathered;
use crate::judged::pairs;
use crate::model::Comparison;
use crate::table::Slot;

pub(crate) use canaries::canary_knowledge;
pub use canaries::{CanaryKnowledge, KnownCanary};
pub use evidence::{ItemEvidence, ItemSide};
pub use figures::{SetFigures, SetMeasure, SetMeasureName};
pub use scores::ItemScore;

/// What the two sets of a run's checks say.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ItemSets {
    /// Comparisons of items, by condition: each class of IF, and GC.
    pub scores: Vec<ItemScore>,
    /// Scores, time, cost and tokens without and with, in total and for each task, as in Tessl's tables.
    pub figures: Vec<SetFigures>,
    /// Every check of both sets, with what it said on both sides.
    pub items: Vec<ItemEvidence>,
    /// What the baseline knows that nobody can guess; empty without canaries, and if the baseline has the skill.
    pub canaries: Vec<CanaryKnowledge>,
}

/// The report on both sets; `None` if no verifier says to which set a check belongs.
pub(crate) fn item_sets(
    run: &RunFolder,
    gathered: &Gathered,
    comparisons: &[Comparison],
) -> Option<ItemSets> {
    let has_items = gathered
        .tables
        .iter()
        .flat_map(|table| table.cells.values().flat_map(|tasks| tasks.values()))
        .flat_map(Slot::valid)
        .flat_map(|result| &result.set_checks)
        .any(|check| check.label.set == CheckSet::If);
    if !has_items {
        return None;
    }
    let (mut scores, mut figures, mut items) = (Vec::new(), Vec::new(), Vec::new());
    for (table, pair) in pairs(run, &gathered.tables) {
        let view = seen::PairView::of(run, table, pair);
        scores.extend(scores::compare_items(
            run,
            &gathered.tables,
            &view,
            comparisons,
            gathered.is_interim(run),
        ));
        figures.extend(figures::list_figures(&view));
        items.extend(evidence::list_items(&view));
    }
    Some(ItemSets { scores, figures, items, canaries: canary_knowledge(run, gathered) })
}
