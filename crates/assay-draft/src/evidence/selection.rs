//! Which items stay, by what was seen of them.

use std::collections::{BTreeMap, BTreeSet};

use super::{DroppedItem, FairnessAnswer, GradedMutant, GradedWork};
use crate::directives::DirectiveClass;
use crate::items::{FEWEST_ITEMS, ItemSet, TaskItem, TaskItems, describe_judged};
use crate::review::Fault;

/// What is known of the items of a task.
#[derive(Debug, Clone, Copy)]
pub struct ItemEvidence<'a> {
    /// The items.
    pub items: &'a TaskItems,
    /// Work without the skill.
    pub blind: &'a [GradedWork],
    /// Work with the skill.
    pub with_skill: &'a [GradedWork],
    /// Solutions that ignore one directive each.
    pub mutants: &'a [GradedMutant],
    /// What a reader says.
    pub fairness: &'a [FairnessAnswer],
    /// Items of directives that only a judge decides, and that count toward the fewest of a task.
    pub judged: usize,
}

/// What becomes of the items of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ItemSelection {
    /// Items that are left out, in the order of the task.
    pub dropped: Vec<DroppedItem>,
    /// What has to be repaired before the task can be accepted.
    pub faults: Vec<Fault>,
}

/// Decides which items of a task stay.
///
/// A goal that any work misses is a fault. An item that is known without the skill, or that the reader objects to, is left
/// out. An item whose check is wrong, by the work with the skill or by the mutants, is a fault while `can_repair`, and is
/// left out afterwards. If what stays is less than [`FEWEST_ITEMS`], or has no knowledge, the reasons are faults.
pub fn decide_items(evidence: &ItemEvidence<'_>, can_repair: bool) -> ItemSelection {
    let mut faults = find_missed_goals(evidence);
    let mut against: BTreeMap<&str, Fault> = BTreeMap::new();
    let mut wrong: Vec<(&str, Fault)> = Vec::new();
    for item in evidence.items.list_set(ItemSet::If) {
        if let Some(fault) = find_wrong_check(item, evidence) {
            wrong.push((&item.id, fault));
        } else if let Some(fault) = find_known(item, evidence).or_else(|| find_unfair(item, evidence)) {
            against.insert(&item.id, fault);
        }
    }
    wrong.extend(find_one_names(evidence));
    if can_repair {
        faults.extend(wrong.into_iter().map(|(_, fault)| fault));
    } else {
        for (id, fault) in wrong {
            against.entry(id).or_insert(fault);
        }
    }
    drop_repeated(evidence, &mut against);
    faults.extend(find_too_few(evidence, &against));
    let dropped = evidence.items.items.iter().filter_map(|item| {
        let fault = against.get(item.id.as_str())?;
        Some(DroppedItem { id: item.id.clone(), reason: format!("{}: {}", fault.code, fault.message) })
    });
    ItemSelection { dropped: dropped.collect(), faults }
}

fn is_met(met: &BTreeMap<String, bool>, item: &TaskItem) -> bool {
    met.get(&item.id).copied().unwrap_or(false)
}

/// Goals that work of others misses.
fn find_missed_goals(evidence: &ItemEvidence<'_>) -> Vec<Fault> {
    let mut faults = Vec::new();
    for item in evidence.items.list_set(ItemSet::Gc) {
        for (works, how) in [(evidence.blind, "without"), (evidence.with_skill, "with")] {
            let missed = works.iter().filter(|work| !is_met(&work.met, item)).count();
            if missed > 0 {
                let message = format!(
                    "{}: {missed} of {} replies that did the work {how} the skill miss it: {}",
                    item.id,
                    works.len(),
                    item.text
                );
                faults.push(Fault::new("goal-missed", message));
            }
        }
    }
    faults
}

/// An item that the work with the skill misses, or that a mutant meets.
fn find_wrong_check(item: &TaskItem, evidence: &ItemEvidence<'_>) -> Option<Fault> {
    let place = |item: &TaskItem| match (&item.file, item.line) {
        (Some(file), Some(line)) => format!("{} ({file}:{line})", item.id),
        _ => item.id.clone(),
    };
    let missed = evidence.with_skill.iter().filter(|work| !is_met(&work.met, item)).count();
    if missed > 0 {
        let of = evidence.with_skill.len();
        let message =
            format!("{}: {missed} of {of} replies that followed the skill do not meet it", place(item));
        return Some(Fault::new("failed-with-skill", message));
    }
    let own = evidence.mutants.iter().find(|mutant| mutant.item == item.id)?;
    is_met(&own.met, item).then(|| {
        let message = format!("{}: a solution that ignores the directive meets it", place(item));
        Fault::new("mutant-passes", message)
    })
}

/// An item that fewer than two of three replies without the skill miss.
fn find_known(item: &TaskItem, evidence: &ItemEvidence<'_>) -> Option<Fault> {
    let of = evidence.blind.len();
    let missed = evidence.blind.iter().filter(|work| !is_met(&work.met, item)).count();
    (item.is_measuring() && of > 0 && 3 * missed < 2 * of).then(|| {
        let message = format!("{}: {} of {of} replies without the skill meet it", item.id, of - missed);
        Fault::new("known-without-skill", message)
    })
}

fn find_unfair(item: &TaskItem, evidence: &ItemEvidence<'_>) -> Option<Fault> {
    let answer = evidence.fairness.iter().find(|answer| answer.id == item.id)?;
    let objection = answer.find_objection(item).filter(|_| item.is_measuring())?;
    Some(Fault::new("unfair", format!("{}: {objection}", item.id)))
}

/// Items that fall with a directive that is not theirs: a mutant may fail at most a third of the other items.
fn find_one_names<'a>(evidence: &ItemEvidence<'a>) -> Vec<(&'a str, Fault)> {
    let measuring: Vec<&TaskItem> = evidence.items.items.iter().filter(|item| item.is_measuring()).collect();
    let mut found: Vec<(&str, Fault)> = Vec::new();
    for mutant in evidence.mutants {
        let others = || measuring.iter().filter(|item| item.id != mutant.item);
        let failed: Vec<&&TaskItem> = others().filter(|item| !is_met(&mutant.met, item)).collect();
        if 3 * failed.len() <= others().count() {
            continue;
        }
        let names: Vec<&str> = failed.iter().map(|item| item.id.as_str()).collect();
        for item in &failed {
            let message = format!(
                "{}: a solution that ignores only {} fails {} of {} other items: {}",
                item.id,
                mutant.item,
                names.len(),
                others().count(),
                names.join(", ")
            );
            if !found.iter().any(|(id, _)| *id == item.id) {
                found.push((&item.id, Fault::new("one-name", message)));
            }
        }
    }
    found
}

/// Of two items with one fact, the first that stays counts.
fn drop_repeated<'a>(evidence: &ItemEvidence<'a>, against: &mut BTreeMap<&'a str, Fault>) {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for item in evidence.items.items.iter().filter(|item| item.is_measuring()) {
        if against.contains_key(item.id.as_str()) {
            continue;
        }
        let answer = evidence.fairness.iter().find(|answer| answer.id == item.id);
        let same = answer.map(|answer| answer.same_as.trim()).unwrap_or_default();
        if seen.contains(same) {
            let message = format!("{}: it measures the same fact as {same}", item.id);
            against.insert(&item.id, Fault::new("unfair", message));
        } else {
            seen.insert(&item.id);
        }
    }
}

/// What has to be replaced so that enough items stay.
fn find_too_few(evidence: &ItemEvidence<'_>, against: &BTreeMap<&str, Fault>) -> Vec<Fault> {
    let measuring = || evidence.items.items.iter().filter(|item| item.is_measuring());
    let kept = || measuring().filter(|item| !against.contains_key(item.id.as_str()));
    let has_knowledge = kept().any(|item| item.class == Some(DirectiveClass::Knowledge));
    if kept().count() + evidence.judged >= FEWEST_ITEMS && has_knowledge {
        return Vec::new();
    }
    let message = format!(
        "{} of {} items of directives stay{}, {}: a task needs {FEWEST_ITEMS}, one of them knowledge",
        kept().count(),
        measuring().count(),
        describe_judged(evidence.judged),
        if has_knowledge { "knowledge among them" } else { "none of them knowledge" },
    );
    let reasons = measuring().filter_map(|item| against.get(item.id.as_str()).cloned());
    reasons.chain([Fault::new("too-few-items", message)]).collect()
}

#[cfg(test)]
mod tests;
