//! Items of rubrics by their gain, with the exposure of skills in the trials that were judged.

use std::collections::BTreeMap;

use assay_store::{JudgedItem, RunFolder};
use serde::Serialize;

use super::{Pair, pairs};
use crate::gather::{Slot, Table};
use crate::result::TrialResult;

/// Which of a result's exposure stages is "opened".
const OPENED: usize = 3;

/// An item under a condition, against the baseline. Exploratory: no verdict rests on one item.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ItemGain {
    /// Who, and what is compared.
    #[serde(flatten)]
    pub pair: Pair,
    /// The task.
    pub task: String,
    /// The set that it belongs to.
    pub set: String,
    /// The item.
    pub item: String,
    /// What is required.
    pub text: String,
    /// The share of its set's score that it decides.
    pub share: f64,
    /// `outcome`, `technique` or `vocabulary`, if the rubric says so.
    pub class: Option<String>,
    /// The line of the skill that it tests, if the rubric says so.
    pub line: Option<usize>,
    /// Mean score without, in [0, 1]; `null` if it was left out in every trial. As in `with`.
    pub without: Option<f64>,
    /// Mean score with.
    pub with: Option<f64>,
    /// The difference.
    pub gain: Option<f64>,
    /// Judged trials, without and with.
    pub trials: [usize; 2],
    /// Of these, trials in which the judge's answer does not count.
    pub undecided: [usize; 2],
    /// Share of the judged trials of the condition in which a skill was opened.
    pub opened: f64,
    /// Mean score with, in the trials in which a skill was opened; `null` without such a trial.
    pub with_if_opened: Option<f64>,
    /// Mean score with, in the trials in which no skill was opened; `null` without such a trial.
    pub with_if_not_opened: Option<f64>,
}

/// All items, most gain first.
pub(super) fn items(run: &RunFolder, tables: &[Table]) -> Vec<ItemGain> {
    let mut rows = Vec::new();
    for (table, pair) in pairs(run, tables) {
        let (Some(base), Some(arm)) = (table.cells.get(&pair.baseline), table.cells.get(&pair.condition))
        else {
            continue;
        };
        for (task, slot) in arm {
            let Some(base) = base.get(task) else { continue };
            let (without, with) = (by_item(base), by_item(slot));
            for (id, judged) in &with {
                let Some(before) = without.get(id) else { continue };
                rows.extend(row(&pair, task, before, judged));
            }
        }
    }
    // Stable: equal ones stay in order of agent, condition, task and item.
    rows.sort_by(|one, other| {
        let gain = |row: &ItemGain| row.gain.unwrap_or(f64::NEG_INFINITY);
        gain(other).total_cmp(&gain(one))
    });
    rows
}

type Judged<'a> = Vec<(&'a TrialResult, &'a JudgedItem)>;

/// The verdicts on each item in the valid trials of a cell.
fn by_item(slot: &Slot) -> BTreeMap<&str, Judged<'_>> {
    let mut items: BTreeMap<&str, Judged<'_>> = BTreeMap::new();
    for result in slot.valid() {
        for item in result.judgement.iter().flat_map(|one| &one.items) {
            items.entry(item.id.as_str()).or_default().push((result, item));
        }
    }
    items
}

fn row(pair: &Pair, task: &str, without: &Judged<'_>, with: &Judged<'_>) -> Option<ItemGain> {
    let (_, item) = with.first()?;
    let score = |judged: &Judged<'_>, counts: &dyn Fn(&TrialResult) -> bool| {
        let own = judged.iter().filter(|(result, _)| counts(result));
        let scores: Vec<f64> = own.filter_map(|(_, item)| item.score).collect();
        (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64)
    };
    let undecided = |judged: &Judged<'_>| judged.iter().filter(|(_, item)| item.undecided.is_some()).count();
    let is_opened = |result: &TrialResult| result.exposure[OPENED];
    let (before, after) = (score(without, &|_| true), score(with, &|_| true));
    let opened = with.iter().filter(|(result, _)| is_opened(result)).count();
    Some(ItemGain {
        pair: pair.clone(),
        task: task.to_owned(),
        set: item.set.clone(),
        item: item.id.clone(),
        text: item.text.clone(),
        share: item.share,
        class: item.class.clone(),
        line: item.line,
        without: before,
        with: after,
        gain: before.zip(after).map(|(before, after)| after - before),
        trials: [without.len(), with.len()],
        undecided: [undecided(without), undecided(with)],
        opened: opened as f64 / with.len() as f64,
        with_if_opened: score(with, &is_opened),
        with_if_not_opened: score(with, &|result| !is_opened(result)),
    })
}
