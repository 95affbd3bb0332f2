//! The items of a task in numbers, and what others met of them.

use assay_diagnostic::counted;
use serde::Serialize;

use super::{GradedWork, TaskEvidence, read_evidence};
use crate::error::DraftError;
use crate::folder::DraftFolder;
use crate::items::{ItemSet, TaskItem, TaskItems};

/// The mean share of items that work met, in each set. Controls do not count.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SetShares {
    gc: f64,
    r#if: f64,
}

/// The items of a task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ItemSummary {
    gc_items: usize,
    /// Items of directives, without controls.
    if_items: usize,
    /// Those whose answer nobody can guess.
    canaries: usize,
    /// Work without the skill; `null` if nobody has done it.
    blind: Option<SetShares>,
    /// Work with the skill by another model than the author's; `null` if nobody has done it.
    with: Option<SetShares>,
    /// Items whose answer is another one in the counterfactual copy; `null` without a copy.
    replaced: Option<usize>,
}

/// Summarizes the items of a task that is in the suite; `None` if it has none.
pub(crate) fn summarize_items(folder: &DraftFolder, task: &str) -> Result<Option<ItemSummary>, DraftError> {
    let Some(items) = TaskItems::read_from(&folder.task_folder(task))? else { return Ok(None) };
    let evidence = read_evidence(folder, task)?.unwrap_or_default();
    Ok(Some(summarize(&items, &evidence)))
}

fn summarize(items: &TaskItems, evidence: &TaskEvidence) -> ItemSummary {
    let goals: Vec<&TaskItem> = items.list_set(ItemSet::Gc).collect();
    let measuring: Vec<&TaskItem> = items.items.iter().filter(|item| item.is_measuring()).collect();
    let shares = |works: &[GradedWork]| {
        (!works.is_empty())
            .then(|| SetShares { gc: share_of(works, &goals), r#if: share_of(works, &measuring) })
    };
    ItemSummary {
        gc_items: goals.len(),
        if_items: measuring.len(),
        canaries: measuring.iter().filter(|item| item.canary).count(),
        blind: shares(&evidence.blind),
        with: shares(&evidence.with_skill),
        replaced: evidence.counterfactual.as_ref().map(|copy| copy.replaced.len()),
    }
}

fn share_of(works: &[GradedWork], items: &[&TaskItem]) -> f64 {
    let met = |work: &GradedWork| items.iter().filter(|item| work.met.get(&item.id) == Some(&true)).count();
    let of = works.len() * items.len();
    if of == 0 { 1.0 } else { works.iter().map(met).sum::<usize>() as f64 / of as f64 }
}

impl ItemSummary {
    /// The summary for people, after the state of the task.
    pub fn to_text(&self) -> String {
        let canaries = match self.canaries {
            0 => String::new(),
            count => format!(" ({})", counted(count, "canary", "canaries")),
        };
        let mut text = format!(", {} GC and {} IF items{canaries}", self.gc_items, self.if_items);
        for (how, shares) in [("without", &self.blind), ("with", &self.with)] {
            if let Some(SetShares { gc, r#if }) = shares {
                text.push_str(&format!(", {how} the skill GC {:.0}% IF {:.0}%", 100.0 * gc, 100.0 * r#if));
            }
        }
        text
    }
}
