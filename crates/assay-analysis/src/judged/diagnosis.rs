//! Items of rubrics beside the directives of the skill that they test: whether what an item rewards was received and
//! followed where it is met.

use std::collections::{BTreeMap, BTreeSet};

use assay_audit::adherence::Status;
use assay_audit::directive::Directive;
use assay_store::{Cell, RunFolder, Store};
use serde::Serialize;

use super::JudgedReport;
use super::items::ItemGain;
use super::pair::Pair;
use crate::audited::{AuditError, AuditedRun, Notices, skill_texts, summarize_run};
use crate::model::AgentKey;

/// Fewest characters of a directive's subject that is looked for in the text of an item.
const SUBJECT: usize = 4;

/// An item with a directive that it tests.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnosis {
    /// The item.
    #[serde(flatten)]
    pub item: ItemGain,
    /// The directives at its line, or whose subject is in its text.
    pub directives: Vec<ItemDirective>,
}

/// A directive of a skill, in the trials of the item's condition and of its baseline, by the item's agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ItemDirective {
    /// The skill.
    pub skill: String,
    /// Its line in SKILL.md, from 1.
    pub line: usize,
    /// The line's text.
    pub text: String,
    /// What is checked.
    pub subject: String,
    /// Trials with the skill.
    pub trials: usize,
    /// Of these, trials that ran and wrote what another one did.
    pub copies: usize,
    /// Of these, trials whose agent received it.
    pub delivered: usize,
    /// Of these, trials that followed it.
    pub followed: usize,
    /// Of these, trials that violated it.
    pub violated: usize,
    /// Of these, trials of which it cannot be told.
    pub unknown: usize,
    /// Trials of the baseline.
    pub baseline_trials: usize,
    /// Of these, trials that followed it.
    pub baseline_followed: usize,
    /// Of these, trials that violated it.
    pub baseline_violated: usize,
    /// Of these, trials of which it cannot be told.
    pub baseline_unknown: usize,
}

/// What the trials of a task show of one of its skills.
struct TaskFacts {
    skill: String,
    directives: Vec<Directive>,
    /// Each trial, whether it had the skill, and what it shows.
    runs: Vec<(String, bool, AuditedRun)>,
}

/// A directive of the SKILL.md by the skill's name, its line, and its place in it. Skills of a name may differ.
type Key = (String, usize, String);

/// The items of a run with their directives, in the order of the report.
///
/// # Errors
/// A run without the condition `none`; records that cannot be read.
pub fn diagnose(
    store: &Store,
    run: &RunFolder,
    judged: &JudgedReport,
    notices: &mut dyn Notices,
) -> Result<Vec<Diagnosis>, AuditError> {
    let texts = skill_texts(store, run, notices);
    let mut by_task: BTreeMap<String, Vec<TaskFacts>> = BTreeMap::new();
    summarize_run(store, run, &texts, notices, |task, found| {
        let runs = task.runs.iter().zip(found);
        let runs = runs.filter_map(|(run, found)| Some((run.name.trial.clone()?, run.with, found.clone())));
        by_task.entry(task.task.clone()).or_default().push(TaskFacts {
            skill: task.skill_name.clone(),
            directives: task.skill.directives.clone(),
            runs: runs.collect(),
        });
    })?;
    let mut cells: BTreeMap<&str, Vec<&Cell>> = BTreeMap::new();
    for cell in &run.cells {
        cells.entry(cell.trial.as_str()).or_default().push(cell);
    }
    let of = |item: &ItemGain| {
        let mut directives: BTreeMap<Key, ItemDirective> = BTreeMap::new();
        for facts in item.tasks.iter().filter_map(|task| by_task.get(task)).flatten() {
            let is_of_item = |trial: &str, with: bool| {
                cells.get(trial).into_iter().flatten().any(|cell| is_of_pair(run, &item.pair, cell, with))
            };
            count(facts, item, &is_of_item, &mut directives);
        }
        directives.into_values().collect()
    };
    Ok(judged.items.iter().map(|item| Diagnosis { item: item.clone(), directives: of(item) }).collect())
}

/// Whether a trial is one of those that an item is about.
fn is_of_pair(run: &RunFolder, pair: &Pair, cell: &Cell, with: bool) -> bool {
    let condition = if with { &pair.condition } else { &pair.baseline };
    cell.condition == *condition
        && run.agents.get(cell.agent).is_some_and(|agent| AgentKey::new(agent, &cell.sandbox) == pair.who)
}

/// Whether an item tests a directive: its rubric names the line, or its text has the directive's subject.
fn is_tested(item: &ItemGain, directive: &Directive) -> bool {
    if !matches!(directive.file.as_str(), "" | "SKILL.md") {
        return false;
    }
    if let Some(line) = item.line {
        return line == directive.line;
    }
    let subject = directive.subject.to_lowercase();
    subject.chars().count() >= SUBJECT
        && subject.chars().any(char::is_alphabetic)
        && item.text.to_lowercase().contains(&subject)
}

/// Adds the trials of an item on one of its tasks to the counts of the directives that it tests.
fn count(
    facts: &TaskFacts,
    item: &ItemGain,
    is_of_item: &dyn Fn(&str, bool) -> bool,
    directives: &mut BTreeMap<Key, ItemDirective>,
) {
    // A trial without the skill is compared with those of every condition that has it.
    let mut seen: BTreeSet<(&str, bool)> = BTreeSet::new();
    let mut runs: Vec<(bool, &AuditedRun)> = Vec::new();
    for (trial, with, found) in &facts.runs {
        if is_of_item(trial, *with) && seen.insert((trial, *with)) {
            runs.push((*with, found));
        }
    }
    if !runs.iter().any(|(with, _)| *with) {
        return;
    }
    for (at, directive) in facts.directives.iter().enumerate().filter(|(_, one)| is_tested(item, one)) {
        let key = (facts.skill.clone(), directive.line, format!("{at} {}", directive.subject));
        let own = directives.entry(key).or_insert_with(|| ItemDirective {
            skill: facts.skill.clone(),
            line: directive.line,
            text: directive.text.clone(),
            subject: directive.subject.clone(),
            ..ItemDirective::default()
        });
        for (with, found) in &runs {
            let status = found.statuses.get(at).copied();
            let is = |wanted: Status| usize::from(status == Some(wanted));
            if *with {
                own.trials += 1;
                own.copies += usize::from(found.copy_of.is_some());
                own.delivered += usize::from(found.delivered.get(at) == Some(&true));
                own.followed += is(Status::Followed);
                own.violated += is(Status::Violated);
                own.unknown += is(Status::Unknown);
            } else {
                own.baseline_trials += 1;
                own.baseline_followed += is(Status::Followed);
                own.baseline_violated += is(Status::Violated);
                own.baseline_unknown += is(Status::Unknown);
            }
        }
    }
}
