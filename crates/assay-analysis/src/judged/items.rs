//! Items of rubrics by their gain, with the exposure of skills in the trials that were judged.

use std::collections::BTreeMap;

use assay_store::{JudgedItem, RunFolder};
use serde::Serialize;

use super::pair::{Pair, pairs};
use crate::result::TrialResult;
use crate::table::{Slot, Table};

/// Which of a result's exposure stages is "opened".
const OPENED: usize = 3;

/// An item under a condition, against the baseline. Tasks with the same item in the same set are counted together.
/// Exploratory: no verdict rests on one item.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ItemGain {
    /// Who, and what is compared.
    #[serde(flatten)]
    pub pair: Pair,
    /// The tasks that have the item, judged under both.
    pub tasks: Vec<String>,
    /// The set that it belongs to.
    pub set: String,
    /// The item.
    pub item: String,
    /// What is required.
    pub text: String,
    /// The share of its set's score that it decides; the mean over tasks.
    pub share: f64,
    /// `outcome`, `technique` or `vocabulary`, if the rubric says so.
    pub class: Option<String>,
    /// The line of the skill that it tests, if the rubric says so.
    pub line: Option<usize>,
    /// Mean over tasks of the mean score without, in [0, 1]; `null` if it was left out in every trial. As in `with`.
    pub without: Option<f64>,
    /// The same with.
    pub with: Option<f64>,
    /// The difference.
    pub gain: Option<f64>,
    /// Judged trials, without and with.
    pub trials: [usize; 2],
    /// Of these, trials in which the judge's answer does not count.
    pub undecided: [usize; 2],
    /// Share of the judged trials of the condition in which a skill was opened; `null` where that of any
    /// is unknown.
    pub opened: Option<f64>,
    /// Mean score with, over the trials in which a skill was opened; `null` without such a trial.
    pub with_if_opened: Option<f64>,
    /// Mean score with, over the trials in which no skill was opened; `null` without such a trial.
    pub with_if_not_opened: Option<f64>,
}

/// The judged trials of one task, without and with.
type Judged<'a> = Vec<(&'a TrialResult, &'a JudgedItem)>;

/// A set, an item's id, and its text.
type Key<'a> = (&'a str, &'a str, &'a str);

/// All items, most gain first.
pub(super) fn items(run: &RunFolder, tables: &[Table]) -> Vec<ItemGain> {
    let mut rows = Vec::new();
    for (table, pair) in pairs(run, tables) {
        let (Some(base), Some(arm)) = (table.cells.get(&pair.baseline), table.cells.get(&pair.condition))
        else {
            continue;
        };
        let mut items: BTreeMap<Key<'_>, Vec<(&str, [Judged<'_>; 2])>> = BTreeMap::new();
        for (task, slot) in arm {
            let Some(base) = base.get(task) else { continue };
            let (mut without, with) = (by_item(base), by_item(slot));
            for (key, judged) in with {
                if let Some(before) = without.remove(&key) {
                    items.entry(key).or_default().push((task, [before, judged]));
                }
            }
        }
        rows.extend(items.into_iter().filter_map(|(key, tasks)| row(&pair, key, &tasks)));
    }
    // Stable: equal ones stay in order of agent, condition and item.
    rows.sort_by(|one, other| {
        let gain = |row: &ItemGain| row.gain.unwrap_or(f64::NEG_INFINITY);
        gain(other).total_cmp(&gain(one))
    });
    rows
}

/// The verdicts on each item in the valid trials of a cell.
fn by_item(slot: &Slot) -> BTreeMap<Key<'_>, Judged<'_>> {
    let mut items: BTreeMap<Key<'_>, Judged<'_>> = BTreeMap::new();
    for result in slot.valid() {
        for item in result.judgement.iter().flat_map(|one| &one.items) {
            let key = (item.set.as_str(), item.id.as_str(), item.text.as_str());
            items.entry(key).or_default().push((result, item));
        }
    }
    items
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_usize), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / count as f64)
}

fn row(pair: &Pair, (set, item, text): Key<'_>, tasks: &[(&str, [Judged<'_>; 2])]) -> Option<ItemGain> {
    let all = |which: usize| tasks.iter().flat_map(move |(_, judged)| &judged[which]);
    let (_, first) = all(1).next()?;
    // Tasks weigh the same.
    let score = |which: usize, counts: &dyn Fn(&TrialResult) -> bool| {
        let of_task = |judged: &Judged<'_>| {
            mean(judged.iter().filter(|(result, _)| counts(result)).filter_map(|(_, item)| item.score))
        };
        mean(tasks.iter().filter_map(|(_, judged)| of_task(&judged[which])))
    };
    let undecided = |which: usize| all(which).filter(|(_, item)| item.undecided.is_some()).count();
    let is_opened = |result: &TrialResult| result.exposure.map(|stages| stages[OPENED]);
    let opened: Option<Vec<f64>> =
        all(1).map(|(result, _)| is_opened(result).map(|opened| f64::from(u8::from(opened)))).collect();
    let (before, after) = (score(0, &|_| true), score(1, &|_| true));
    Some(ItemGain {
        pair: pair.clone(),
        tasks: tasks.iter().map(|(task, _)| (*task).to_owned()).collect(),
        set: set.to_owned(),
        item: item.to_owned(),
        text: text.to_owned(),
        share: mean(all(1).map(|(_, item)| item.share))?,
        class: first.class.clone(),
        line: first.line,
        without: before,
        with: after,
        gain: before.zip(after).map(|(before, after)| after - before),
        trials: [all(0).count(), all(1).count()],
        undecided: [undecided(0), undecided(1)],
        opened: opened.and_then(|opened| mean(opened.into_iter())),
        with_if_opened: score(1, &|result| is_opened(result) == Some(true)),
        with_if_not_opened: score(1, &|result| is_opened(result) == Some(false)),
    })
}
