//! Every check of both sets, with what it said in a trial without and in one with the condition.

use assay_store::{CheckClass, CheckSet, Outcome, TrialId};
use serde::Serialize;

use super::seen::{Met, PairView, ViewedTask, find_check, is_met};
use crate::checks::SetCheck;
use crate::judged::Pair;
use crate::result::TrialResult;

/// A check of a task under a condition and under the baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ItemEvidence {
    /// Who, and what is compared.
    #[serde(flatten)]
    pub pair: Pair,
    /// The task.
    pub task: String,
    /// `if` or `gc`.
    pub set: CheckSet,
    /// The class; `null` if unknown.
    pub class: Option<CheckClass>,
    /// The directive's id, else the check's name.
    pub item: String,
    /// The check's name.
    pub check: String,
    /// The file of the skill that has the directive.
    pub file: Option<String>,
    /// Its line, from 1.
    pub line: Option<u64>,
    /// Where the directive is, as `SKILL.md:12`; `null` if unknown.
    pub place: Option<String>,
    /// What an agent that follows it writes or does.
    pub answer: Option<String>,
    /// Whether nobody can guess the answer.
    pub canary: bool,
    /// The difference of the shares of trials that meet it; `null` if either is unknown.
    pub gain: Option<f64>,
    /// Without the condition.
    pub without: ItemSide,
    /// With it.
    pub with: ItemSide,
}

/// A check in the trials of one condition.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ItemSide {
    /// Valid trials that meet it.
    pub passed: usize,
    /// Valid trials that do not.
    pub failed: usize,
    /// Valid trials in which it is unknown.
    pub missing: usize,
    /// The first trial with the result that most have, a failure if half have either; `null` without a valid trial.
    pub trial: Option<TrialId>,
    /// What the check said in it; empty if it said nothing.
    pub said: String,
}

impl ItemSide {
    /// The share of trials that meet it, of those in which it is known; `null` without one.
    pub fn share(&self) -> Option<f64> {
        let known = self.passed + self.failed;
        (known > 0).then(|| self.passed as f64 / known as f64)
    }
}

/// The checks of a pair's tasks: by task, IF before GC, in the order of the verifier.
pub(super) fn list_items(view: &PairView<'_>) -> Vec<ItemEvidence> {
    let mut found = Vec::new();
    for task in view.tasks() {
        for set in [CheckSet::If, CheckSet::Gc] {
            let items = task.items.iter().filter(|item| item.label.set == set);
            found.extend(items.map(|item| evidence(view, &task, item)));
        }
    }
    found
}

fn evidence(view: &PairView<'_>, task: &ViewedTask<'_>, item: &SetCheck) -> ItemEvidence {
    let [without, with] = task.slots.map(|slot| side(slot.valid(), item));
    ItemEvidence {
        pair: view.pair.clone(),
        task: task.name.to_owned(),
        set: item.label.set,
        class: item.label.class,
        item: item.key.clone(),
        check: item.name.clone(),
        file: item.label.file.clone(),
        line: item.label.line,
        place: item.label.place(),
        answer: item.label.answer.clone(),
        canary: item.label.canary,
        gain: with.share().zip(without.share()).map(|(with, without)| with - without),
        without,
        with,
    }
}

fn side<'a>(results: impl Iterator<Item = &'a TrialResult>, item: &SetCheck) -> ItemSide {
    let results: Vec<(&TrialResult, Met)> = results.map(|result| (result, is_met(result, item))).collect();
    let count = |met: Met| results.iter().filter(|(_, found)| *found == met).count();
    let [passed, failed, missing] = [Met::Yes, Met::No, Met::Unknown].map(count);
    let usual = match (passed, failed) {
        (0, 0) => Met::Unknown,
        _ if passed > failed => Met::Yes,
        _ => Met::No,
    };
    let shown = results.iter().find(|(_, met)| *met == usual).map(|(result, _)| *result);
    ItemSide {
        passed,
        failed,
        missing,
        trial: shown.map(|result| result.trial.clone()),
        said: shown.map(|result| said(result, item)).unwrap_or_default(),
    }
}

/// What a check said in a trial, or why it said nothing.
fn said(result: &TrialResult, item: &SetCheck) -> String {
    match (find_check(result, item), result.outcome) {
        (_, Outcome::TimedOut) => "the trial timed out".to_owned(),
        (_, Outcome::Tampered) => "the trial was tampered with".to_owned(),
        (Some(check), _) => check.said.clone(),
        (None, _) => "the verifier does not report it".to_owned(),
    }
}
