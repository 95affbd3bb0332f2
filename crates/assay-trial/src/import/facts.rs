//! What imports know of tasks and skills besides results: what reports divide the tasks by.

use std::collections::{BTreeMap, BTreeSet};

use assay_store::{Cell, KnownSkills, PlannedProvision, PlannedTask};
use assay_table::Value;
use serde::Serialize;

/// A fact of a task or of its skills that some formats state. What a format cannot state is unknown after an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ImportFact {
    /// The task's category.
    Category,
    /// Its difficulty.
    Difficulty,
    /// What it shares with other tasks, so that they are not independent.
    Cluster,
    /// How many skills a condition provides for it.
    Skills,
    /// Tokens of their bodies together.
    SkillTokens,
}

impl ImportFact {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Category, Self::Difficulty, Self::Cluster, Self::Skills, Self::SkillTokens];

    /// Its name in documents, and its column in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Category => "category",
            Self::Difficulty => "difficulty",
            Self::Cluster => "cluster",
            Self::Skills => "skills",
            Self::SkillTokens => "skill_tokens",
        }
    }
}

/// The columns of tables with the kind of a task.
pub(super) const LABEL_COLUMNS: [&str; 2] = [ImportFact::Difficulty.name(), ImportFact::Category.name()];

/// The columns of tables with the number of skills, or their names, and with the tokens of their bodies.
pub(super) const SKILL_COLUMNS: [&str; 2] = [ImportFact::Skills.name(), ImportFact::SkillTokens.name()];

/// The kind of a task, for strata.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TaskFacts {
    pub(super) difficulty: Option<String>,
    pub(super) category: Option<String>,
    /// Of formats that state it for the task and not for each trial.
    pub(super) cluster: Option<String>,
}

impl TaskFacts {
    /// The facts of each task. One that differs between the trials of a task is left out, which is noted.
    pub(super) fn of_tasks<'t>(
        trials: impl Iterator<Item = (&'t str, &'t Self)>,
        notes: &mut Vec<String>,
    ) -> BTreeMap<&'t str, Self> {
        type Field = fn(&mut TaskFacts) -> &mut Option<String>;
        let fields: [(ImportFact, Field); 3] = [
            (ImportFact::Difficulty, |facts| &mut facts.difficulty),
            (ImportFact::Category, |facts| &mut facts.category),
            (ImportFact::Cluster, |facts| &mut facts.cluster),
        ];
        let trials: Vec<(&str, &Self)> = trials.collect();
        let mut found: BTreeMap<&str, Self> = BTreeMap::new();
        for (fact, field) in fields {
            let mut values: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
            for (task, facts) in &trials {
                values.entry(*task).or_default().extend(field(&mut (*facts).clone()).take());
            }
            let differing = values.values().filter(|values| values.len() > 1).count();
            notes.extend(differing_note(fact, differing));
            for (task, mut values) in values {
                if values.len() == 1 {
                    *field(found.entry(task).or_default()) = values.pop_first();
                }
            }
        }
        found
    }
}

/// What is said of tasks whose trials state different values.
fn differing_note(fact: ImportFact, tasks: usize) -> Option<String> {
    let (noun, has) = if tasks == 1 { ("task", "has") } else { ("tasks", "have") };
    let name = fact.name();
    (tasks > 0).then(|| format!("{tasks} {noun} {has} several values of `{name}`, of which none is kept."))
}

/// The skills of each task and condition, as far as trials state them. A number that differs between the trials of a
/// task under a condition is left out, which is noted.
pub(super) fn known_provisions<'t>(
    trials: impl Iterator<Item = (&'t str, &'t str, KnownSkills)>,
    notes: &mut Vec<String>,
) -> Vec<PlannedProvision> {
    let mut found: BTreeMap<(&str, &str), [BTreeSet<usize>; 2]> = BTreeMap::new();
    for (task, condition, known) in trials {
        let [numbers, tokens] = found.entry((task, condition)).or_default();
        numbers.extend(known.number);
        tokens.extend(known.body_tokens);
    }
    for (at, fact) in [ImportFact::Skills, ImportFact::SkillTokens].into_iter().enumerate() {
        let differs = found.iter().filter(|(_, values)| values[at].len() > 1);
        let differing: BTreeSet<&str> = differs.map(|((task, _), _)| *task).collect();
        notes.extend(differing_note(fact, differing.len()));
    }
    let only = |values: &BTreeSet<usize>| values.first().copied().filter(|_| values.len() == 1);
    found
        .into_iter()
        .filter_map(|((task, condition), [numbers, tokens])| {
            let known = KnownSkills { number: only(&numbers), body_tokens: only(&tokens) };
            (known != KnownSkills::default()).then(|| PlannedProvision {
                task: task.to_owned(),
                condition: condition.to_owned(),
                skills: Vec::new(),
                known: Some(known),
            })
        })
        .collect()
}

/// Of how many tasks a fact is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct FactCount {
    /// Tasks with a value.
    pub known: usize,
    /// All tasks.
    pub of: usize,
}

/// Of how many tasks each fact is known. Skills are known of a task if they are under each condition beside the baseline.
pub(super) fn count_facts(
    tasks: &[PlannedTask],
    provisions: &[PlannedProvision],
    cells: &[Cell],
    baseline: Option<&String>,
) -> BTreeMap<&'static str, FactCount> {
    let provided: BTreeMap<(&str, &str), &PlannedProvision> =
        provisions.iter().map(|own| ((own.task.as_str(), own.condition.as_str()), own)).collect();
    let mut conditions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| Some(&cell.condition) != baseline) {
        conditions.entry(&cell.task).or_default().insert(&cell.condition);
    }
    let of_skills = |value: fn(&PlannedProvision) -> Option<usize>| {
        let is_known = |task: &str, condition: &str| {
            provided.get(&(task, condition)).is_some_and(|provision| value(provision).is_some())
        };
        let known = conditions.iter().filter(|(task, own)| own.iter().all(|name| is_known(task, name)));
        FactCount { known: known.count(), of: conditions.len() }
    };
    let of_tasks = |is_known: fn(&PlannedTask) -> bool| FactCount {
        known: tasks.iter().filter(|task| is_known(task)).count(),
        of: tasks.len(),
    };
    let count = |fact: ImportFact| match fact {
        ImportFact::Category => of_tasks(|task| task.category.is_some()),
        ImportFact::Difficulty => of_tasks(|task| task.difficulty.is_some()),
        ImportFact::Cluster => of_tasks(|task| task.cluster.is_some()),
        ImportFact::Skills => of_skills(PlannedProvision::number),
        ImportFact::SkillTokens => of_skills(PlannedProvision::body_tokens),
    };
    ImportFact::ALL.into_iter().map(|fact| (fact.name(), count(fact))).collect()
}

/// What is said of facts that are known of some tasks only. A task without a cluster is a cluster of its own.
pub(super) fn unknown_notes(counts: &BTreeMap<&'static str, FactCount>) -> Vec<String> {
    let named = [
        (ImportFact::Category, "category"),
        (ImportFact::Difficulty, "difficulty"),
        (ImportFact::Skills, "number of skills"),
        (ImportFact::SkillTokens, "length of the skills"),
    ];
    let note = |(fact, what): (ImportFact, &str)| {
        let FactCount { known, of } = *counts.get(fact.name())?;
        let unknown = of - known;
        (known > 0 && unknown > 0).then(|| {
            format!("The {what} of {unknown} of {of} tasks is not known; reports list them as `not stated`.")
        })
    };
    named.into_iter().filter_map(note).collect()
}

/// How many skills a cell of a table means: a number, `false`, or their names. `None` if it says nothing of their number.
pub(super) fn skill_number(value: &Value) -> Option<usize> {
    let whole = |number: f64| {
        let is_count = number >= 0.0 && number.fract() == 0.0;
        format!("{number:.0}").parse().ok().filter(|_| is_count)
    };
    match value {
        Value::Null | Value::Bool(true) => None,
        Value::Bool(false) => Some(0),
        Value::Integer(number) => usize::try_from(*number).ok(),
        Value::Float(number) => whole(*number),
        Value::Text(text) => {
            let text = text.trim();
            if text.is_empty() || text == "true" {
                return None;
            }
            if ["none", "false", "-"].iter().any(|word| text.eq_ignore_ascii_case(word)) {
                return Some(0);
            }
            if let Ok(number) = text.parse::<f64>() {
                return whole(number);
            }
            if text.starts_with(['[', '{']) {
                let names: Vec<serde_json::Value> = serde_json::from_str(text).ok()?;
                return Some(names.len());
            }
            let names = text.split([',', ';', '|']).map(str::trim).filter(|name| !name.is_empty());
            Some(names.collect::<BTreeSet<_>>().len())
        }
    }
}

/// Tokens of skills in a cell of a table; `None` if it is no whole number.
pub(super) fn skill_tokens(value: &Value) -> Option<usize> {
    match value {
        Value::Text(text) => text.trim().parse().ok(),
        Value::Integer(_) | Value::Float(_) => skill_number(value),
        Value::Null | Value::Bool(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_name_or_count_skills() {
        let check = |value: Value, expected: Option<usize>| {
            assert_eq!(skill_number(&value), expected, "{value:?}");
        };
        check(Value::Null, None);
        check(Value::Bool(true), None);
        check(Value::Bool(false), Some(0));
        check(Value::Integer(3), Some(3));
        check(Value::Integer(-1), None);
        check(Value::Float(2.0), Some(2));
        check(Value::Float(2.5), None);
        let text = |text: &str| Value::Text(text.to_owned());
        check(text("  "), None);
        check(text("none"), Some(0));
        check(text("4"), Some(4));
        check(text("docx"), Some(1));
        check(text("docx, pdf; docx|xlsx"), Some(3));
        check(text(r#"["docx", "pdf"]"#), Some(2));
        check(text("[]"), Some(0));
        check(text("{\"docx\": 1}"), None);
        assert_eq!(skill_tokens(&text("1200")), Some(1200));
        assert_eq!(skill_tokens(&text("long")), None);
        assert_eq!(skill_tokens(&Value::Bool(false)), None);
    }

    #[test]
    fn what_differs_within_a_task_is_unknown() {
        let known = |number, body_tokens| KnownSkills { number, body_tokens };
        let rows = [
            ("a", "with", known(Some(2), Some(900))),
            ("a", "with", known(None, None)),
            ("b", "with", known(Some(1), None)),
            ("b", "with", known(Some(2), None)),
            ("c", "with", known(None, None)),
        ];
        let mut notes = Vec::new();
        let found = known_provisions(rows.into_iter(), &mut notes);
        let found: Vec<_> = found.iter().map(|own| (own.task.as_str(), own.known)).collect();
        assert_eq!(found, [("a", Some(known(Some(2), Some(900))))]);
        assert_eq!(notes, ["1 task has several values of `skills`, of which none is kept."]);
    }
}
