//! Items of rubrics beside the directives of the skill that they test: whether what an item rewards was received and
//! followed where it is met.

use std::collections::BTreeMap;

use assay_audit::adherence::Status;
use assay_audit::calibrated::{TaskAudit, audit};
use assay_audit::directive::Directive;
use assay_store::{RunFolder, Store};
use serde::Serialize;

use super::JudgedReport;
use super::items::ItemGain;
use crate::audited::{AuditError, skill_texts, visit_run};

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

/// A directive of a skill, in the trials of a condition and of the baseline.
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
}

/// What the trials of a task say of each directive, by skill and directive.
type Counts = BTreeMap<(String, usize), ItemDirective>;

/// The items of a run with their directives, in the order of the report.
///
/// # Errors
/// A run without the condition `none`; records that cannot be read.
pub fn diagnose(store: &Store, run: &RunFolder, judged: &JudgedReport) -> Result<Vec<Diagnosis>, AuditError> {
    let texts = skill_texts(store, run, &mut ());
    let mut by_task: BTreeMap<String, Counts> = BTreeMap::new();
    visit_run(store, run, &texts, &mut (), |task, library| {
        let found = audit(task, library);
        count(&task.skill_name, &found, by_task.entry(task.task.clone()).or_default());
    })?;
    let of = |item: &ItemGain| {
        let mut directives: Counts = BTreeMap::new();
        for (key, found) in item.tasks.iter().filter_map(|task| by_task.get(task)).flatten() {
            if !is_tested(item, found) {
                continue;
            }
            let sum = directives.entry(key.clone()).or_insert_with(|| ItemDirective {
                skill: found.skill.clone(),
                line: found.line,
                text: found.text.clone(),
                subject: found.subject.clone(),
                ..ItemDirective::default()
            });
            sum.trials += found.trials;
            sum.delivered += found.delivered;
            sum.followed += found.followed;
            sum.violated += found.violated;
            sum.unknown += found.unknown;
            sum.baseline_trials += found.baseline_trials;
            sum.baseline_followed += found.baseline_followed;
        }
        directives.into_values().collect()
    };
    Ok(judged.items.iter().map(|item| Diagnosis { item: item.clone(), directives: of(item) }).collect())
}

/// Whether an item tests a directive: its rubric names the line, or its text has the directive's subject.
fn is_tested(item: &ItemGain, directive: &ItemDirective) -> bool {
    if let Some(line) = item.line {
        return line == directive.line;
    }
    let subject = directive.subject.to_lowercase();
    subject.chars().count() >= SUBJECT
        && subject.chars().any(char::is_alphabetic)
        && item.text.to_lowercase().contains(&subject)
}

fn count(skill: &str, found: &TaskAudit, counts: &mut Counts) {
    let is_of_document = |directive: &Directive| matches!(directive.file.as_str(), "" | "SKILL.md");
    for (at, directive) in found.directives.iter().enumerate().filter(|(_, one)| is_of_document(one)) {
        let own = counts.entry((skill.to_owned(), at)).or_insert_with(|| ItemDirective {
            skill: skill.to_owned(),
            line: directive.line,
            text: directive.text.clone(),
            subject: directive.subject.clone(),
            ..ItemDirective::default()
        });
        for run in &found.runs {
            let status = run.adherence.assessments.get(at).map(|assessment| assessment.status);
            let is_followed = usize::from(status == Some(Status::Followed));
            if run.with {
                own.trials += 1;
                own.delivered += usize::from(run.adherence.deliveries.get(at).is_some_and(Option::is_some));
                own.followed += is_followed;
                own.violated += usize::from(status == Some(Status::Violated));
                own.unknown += usize::from(status == Some(Status::Unknown));
            } else {
                own.baseline_trials += 1;
                own.baseline_followed += is_followed;
            }
        }
    }
}
