//! Tessl's scenarios: `task.md` beside a `criteria.json`, in both dialects; `summary_infeasible.json`.
//!
//! ```json
//! {"context": "…", "type": "weighted_checklist",
//!  "checklist": [{"name": "…", "max_score": 10, "description": "…"}]}
//! {"name": "…", "total": 100, "criteria": [{"id": "…", "weight": 10, "description": "…"}]}
//! ```
//!
//! Points are shares of their sum, which should be 100. Each item is read as binary: a judge's choice between
//! "met" and "not met" can be checked against people's labels, one of eleven numbers hardly.

use serde::{Deserialize, Serialize};

use super::{FormatError, Ids, Read, json, pretty};
use crate::rubric::{Item, Rubric};

/// The name of the set that a `criteria.json` becomes.
pub const SET: &str = "criteria";

/// The keys that are read.
pub(crate) const KEYS: [&str; 11] = [
    "context",
    "name",
    "type",
    "total",
    "checklist[].name",
    "checklist[].max_score",
    "checklist[].description",
    "criteria[].id",
    "criteria[].name",
    "criteria[].weight",
    "criteria[].description",
];

/// The sum that the format prescribes.
const TOTAL: f64 = 100.0;

/// The two dialects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// `checklist`, with `max_score` and `name`.
    Checklist,
    /// `criteria`, with `weight` and `id`.
    Criteria,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Number(f64),
    Text(String),
}

impl Number {
    fn value(&self, name: &str) -> Result<f64, FormatError> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Text(text) => text.trim().parse().map_err(|_| {
                FormatError::unusable(format!("{name:?}: the points are {text:?}, not a number"))
            }),
        }
    }
}

#[derive(Deserialize)]
struct File {
    context: Option<String>,
    name: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    total: Option<f64>,
    checklist: Option<Vec<Check>>,
    criteria: Option<Vec<Criterion>>,
}

#[derive(Deserialize)]
struct Check {
    name: Option<String>,
    max_score: Number,
    description: Option<String>,
}

#[derive(Deserialize)]
struct Criterion {
    id: Option<String>,
    name: Option<String>,
    weight: Number,
    description: Option<String>,
}

/// Reads the text of a `criteria.json`.
///
/// # Errors
/// Why it is not one, with line and column where the JSON is at fault.
pub fn read(text: &str) -> Result<(Dialect, Read), FormatError> {
    let file: File = json(text)?;
    if let Some(kind) = &file.kind
        && kind != "weighted_checklist"
    {
        return Err(FormatError::unusable(format!("the type is {kind:?}, expected \"weighted_checklist\"")));
    }
    let mut ids = Ids::new();
    let (dialect, items) = match (file.checklist, file.criteria) {
        (Some(checks), None) => {
            let items: Result<Vec<_>, FormatError> = checks
                .into_iter()
                .map(|check| item(&mut ids, check.name, check.description, &check.max_score))
                .collect();
            (Dialect::Checklist, items?)
        }
        (None, Some(criteria)) => {
            let items: Result<Vec<_>, FormatError> = criteria
                .into_iter()
                .map(|own| item(&mut ids, own.id.or(own.name), own.description, &own.weight))
                .collect();
            (Dialect::Criteria, items?)
        }
        (Some(_), Some(_)) => return Err(FormatError::unusable("it has both `checklist` and `criteria`")),
        (None, None) => return Err(FormatError::unusable("it has neither `checklist` nor `criteria`")),
    };
    let sum: f64 = items.iter().map(|item| item.points).sum();
    let total = file.total.unwrap_or(TOTAL);
    let mut notes = Vec::new();
    if (sum - total).abs() > 1e-6 {
        notes.push(format!("the points add up to {sum}, not {total}; scores are shares of {sum}"));
    }
    let mut rubric = Rubric::of_items(SET, items);
    rubric.title = file.name;
    rubric.context = file.context;
    rubric.check()?;
    Ok((dialect, Read { rubric, notes }))
}

fn item(
    ids: &mut Ids,
    name: Option<String>,
    description: Option<String>,
    points: &Number,
) -> Result<Item, FormatError> {
    let text = description.or_else(|| name.clone()).unwrap_or_default();
    let name = name.unwrap_or_else(|| super::first_words(&text));
    let points = points.value(&name)?;
    Ok(Item { name: Some(name.clone()), ..Item::new(ids.unique(&name), text, points) })
}

#[derive(Serialize)]
struct ChecklistFile<'a> {
    context: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    checklist: Vec<WrittenCheck<'a>>,
}

#[derive(Serialize)]
struct WrittenCheck<'a> {
    name: &'a str,
    max_score: serde_json::Number,
    description: &'a str,
}

#[derive(Serialize)]
struct CriteriaFile<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    total: serde_json::Number,
    criteria: Vec<WrittenCriterion<'a>>,
}

#[derive(Serialize)]
struct WrittenCriterion<'a> {
    id: &'a str,
    weight: serde_json::Number,
    description: &'a str,
}

/// The text of a `criteria.json`: the leaves of a rubric as one list. Kinds, classes, prerequisites and groups have no
/// place in the format.
pub fn write(rubric: &Rubric, dialect: Dialect) -> String {
    let leaves: Vec<&Item> = rubric.leaves().collect();
    match dialect {
        Dialect::Checklist => pretty(&ChecklistFile {
            context: rubric.context.as_deref().unwrap_or_default(),
            kind: "weighted_checklist",
            checklist: leaves
                .iter()
                .map(|item| WrittenCheck {
                    name: item.name.as_deref().unwrap_or(&item.id),
                    max_score: number(item.points),
                    description: &item.text,
                })
                .collect(),
        }),
        Dialect::Criteria => pretty(&CriteriaFile {
            name: rubric.title.as_deref(),
            total: number(leaves.iter().map(|item| item.points).sum()),
            criteria: leaves
                .iter()
                .map(|item| WrittenCriterion {
                    id: item.name.as_deref().unwrap_or(&item.id),
                    weight: number(item.points),
                    description: &item.text,
                })
                .collect(),
        }),
    }
}

/// A number as JSON, whole ones without a fraction.
fn number(value: f64) -> serde_json::Number {
    // Rust writes whole numbers without a fraction.
    serde_json::from_str(&value.to_string()).unwrap_or_else(|_| 0.into())
}

/// A scenario that cannot be judged, by `summary_infeasible.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InfeasibleScenario {
    /// What would be tested.
    pub scenario: String,
    /// Why it cannot be.
    #[serde(default)]
    pub reasoning: String,
}

#[derive(Serialize, Deserialize)]
struct InfeasibleFile {
    #[serde(default)]
    total_infeasible: usize,
    infeasible_scenarios: Vec<InfeasibleScenario>,
}

/// Reads the text of a `summary_infeasible.json`.
///
/// # Errors
/// Why it is not one.
pub fn read_infeasible(text: &str) -> Result<Vec<InfeasibleScenario>, FormatError> {
    Ok(json::<InfeasibleFile>(text)?.infeasible_scenarios)
}

/// The text of a `summary_infeasible.json`.
pub fn write_infeasible(scenarios: &[InfeasibleScenario]) -> String {
    pretty(&InfeasibleFile { total_infeasible: scenarios.len(), infeasible_scenarios: scenarios.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECKLIST: &str = r#"{
  "context": "What is tested",
  "type": "weighted_checklist",
  "checklist": [
    {
      "name": "First",
      "max_score": 60,
      "description": "It is there"
    },
    {
      "name": "First",
      "max_score": 40.5,
      "description": "It is right"
    }
  ]
}
"#;

    #[test]
    fn both_dialects_are_written_as_read() {
        let (dialect, found) = read(CHECKLIST).unwrap();
        assert_eq!(dialect, Dialect::Checklist);
        assert_eq!(found.notes, ["the points add up to 100.5, not 100; scores are shares of 100.5"]);
        let ids: Vec<_> = found.rubric.leaves().map(|item| item.id.as_str()).collect();
        assert_eq!(ids, ["first", "first-2"]);
        assert_eq!(write(&found.rubric, dialect), CHECKLIST);

        let criteria = write(&found.rubric, Dialect::Criteria);
        let (dialect, again) = read(&criteria).unwrap();
        assert_eq!(dialect, Dialect::Criteria);
        // The sum is the one that the file states.
        assert!(again.notes.is_empty());
        assert_eq!(write(&again.rubric, dialect), criteria);
    }

    #[test]
    fn faults() {
        let check = |text: &str, expected: &str| {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check("{\n", "line 2 column 0");
        check("{}", "neither `checklist` nor `criteria`");
        check(r#"{"type": "pairwise", "checklist": []}"#, "the type is \"pairwise\"");
        check(r#"{"checklist": []}"#, "there is no item");
        check(
            r#"{"checklist": [{"name": "a", "max_score": -1, "description": "x"}]}"#,
            "not a number from 0 up",
        );
        check(
            r#"{"checklist": [{"name": "a", "max_score": "many", "description": "x"}]}"#,
            "\"many\", not a number",
        );
        check(r#"{"checklist": [{"name": "a", "description": "x"}]}"#, "missing field `max_score`");
        check(r#"{"checklist": [{"name": "", "max_score": 1, "description": " "}]}"#, "the text is empty");
    }

    #[test]
    fn infeasible_scenarios() {
        let list = vec![InfeasibleScenario { scenario: "Order".into(), reasoning: "Not visible".into() }];
        assert_eq!(read_infeasible(&write_infeasible(&list)).unwrap(), list);
        assert!(read_infeasible("{}").is_err());
    }
}
