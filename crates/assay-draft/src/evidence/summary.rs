//! The items of a task in numbers, and what others met of them.

use std::path::Path;

use assay_diagnostic::counted;
use serde::Serialize;

use super::{GradedWork, TaskEvidence, read_evidence};
use crate::error::DraftError;
use crate::folder::DraftFolder;
use crate::items::{ItemSet, TaskItem, TaskItems};
use crate::pilot::PilotRecord;

/// The mean share of items that work met, in each set. Controls do not count.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SetShares {
    gc: f64,
    r#if: f64,
}

impl SetShares {
    fn to_text(self) -> String {
        format!("GC {:.0}% IF {:.0}%", 100.0 * self.gc, 100.0 * self.r#if)
    }
}

/// What the attempts of the model that is to be measured met.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PilotShares {
    without: SetShares,
    with: SetShares,
}

/// The items of a task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ItemSummary {
    pub(crate) gc_items: usize,
    /// Items of directives, without controls.
    pub(crate) if_items: usize,
    /// Those whose answer nobody can guess.
    pub(crate) canaries: usize,
    /// Work without the skill, of requests and of the pilot; `null` if nobody has done it.
    pub(crate) blind: Option<SetShares>,
    /// Work with the skill, of another model than the author's and of the pilot; `null` if nobody has done it.
    pub(crate) with: Option<SetShares>,
    /// The attempts of the pilot alone, without and with the skill; absent without them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pilot: Option<PilotShares>,
    /// Items whose answer is another one in the counterfactual copy; `null` without a copy.
    replaced: Option<usize>,
}

/// Summarizes the items of a task, whose folder is `root`; `None` if it has none.
pub(crate) fn summarize_items(
    folder: &DraftFolder,
    root: &Path,
    task: &str,
) -> Result<Option<ItemSummary>, DraftError> {
    let Some(items) = TaskItems::read_from(root)? else { return Ok(None) };
    let evidence = read_evidence(folder, task)?.unwrap_or_default();
    let record = PilotRecord::read_from(folder)?;
    let piloted = record.as_ref().and_then(|record| {
        let piloted = record.last_attempts(task)?;
        Some([&piloted.without, &piloted.with].map(|attempt| attempt.to_work(&record.model)))
    });
    Ok(Some(summarize(&items, &evidence, piloted.as_ref())))
}

fn summarize(items: &TaskItems, evidence: &TaskEvidence, piloted: Option<&[GradedWork; 2]>) -> ItemSummary {
    let goals: Vec<&TaskItem> = items.list_set(ItemSet::Gc).collect();
    let measuring: Vec<&TaskItem> = items.items.iter().filter(|item| item.is_measuring()).collect();
    let of =
        |works: &[&GradedWork]| SetShares { gc: share_of(works, &goals), r#if: share_of(works, &measuring) };
    let [without, with] = [0, 1].map(|arm| piloted.map(|piloted| &piloted[arm]));
    let shares = |works: &[GradedWork], attempt: Option<&GradedWork>| {
        let works: Vec<&GradedWork> = works.iter().chain(attempt).collect();
        (!works.is_empty()).then(|| of(&works))
    };
    ItemSummary {
        gc_items: goals.len(),
        if_items: measuring.len(),
        canaries: measuring.iter().filter(|item| item.canary).count(),
        blind: shares(&evidence.blind, without),
        with: shares(&evidence.with_skill, with),
        pilot: without
            .zip(with)
            .map(|(without, with)| PilotShares { without: of(&[without]), with: of(&[with]) }),
        replaced: evidence.counterfactual.as_ref().map(|copy| copy.replaced.len()),
    }
}

fn share_of(works: &[&GradedWork], items: &[&TaskItem]) -> f64 {
    let met = |work: &&GradedWork| items.iter().filter(|item| work.met.get(&item.id) == Some(&true)).count();
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
            if let Some(shares) = shares {
                text.push_str(&format!(", {how} the skill {}", shares.to_text()));
            }
        }
        if let Some(PilotShares { without, with }) = &self.pilot {
            text.push_str(&format!(", pilot {} without and {} with", without.to_text(), with.to_text()));
        }
        text
    }
}
