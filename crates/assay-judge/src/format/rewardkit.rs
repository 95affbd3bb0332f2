//! `judge.toml` of Harbor's rewardkit (0.2.3): criteria for one judge, in a folder that is a reward. Read only.
//!
//! As the tool does, unknown keys are errors, and `annotations` of imported criteria say whether one is negative or
//! optional. The text of `prompt_template` becomes the context of the rubric.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::source::{at_line, line_of_key};
use super::{FormatError, Ids, Read};
use crate::rubric::{Aggregation, Item, Kind, Rubric, Set};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    judge: Judge,
    criterion: Vec<Criterion>,
    #[serde(default)]
    scoring: Scoring,
}

#[derive(Deserialize, Default)]
struct Judge {
    weight: Option<f64>,
    #[serde(default)]
    files: Vec<String>,
    reference: Option<String>,
    prompt_template: Option<String>,
    #[serde(flatten)]
    others: BTreeMap<String, toml::Value>,
}

/// Settings of the tool's judge, which assay's judges do not take.
const JUDGE_KEYS: [&str; 13] = [
    "atif-trajectory",
    "atif_trajectory",
    "cwd",
    "guard",
    "isolated",
    "judge",
    "mcp_servers",
    "mode",
    "model",
    "reasoning_effort",
    "samples",
    "timeout",
    "version",
];

/// What stands for the criteria in a prompt template.
const PLACEHOLDER: &str = "{criteria}";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Criterion {
    description: String,
    #[serde(rename = "type")]
    kind: Option<String>,
    name: Option<String>,
    id: Option<String>,
    points: Option<u32>,
    #[serde(default)]
    levels: Vec<String>,
    min: Option<f64>,
    max: Option<f64>,
    weight: Option<f64>,
    negate: Option<bool>,
    optional: Option<bool>,
    #[serde(default)]
    files: Vec<String>,
    #[serde(default)]
    annotations: BTreeMap<String, toml::Value>,
}

impl Criterion {
    /// A key, or what the annotations of an imported criterion say in its place.
    fn is(&self, given: Option<bool>, key: &str, word: &str) -> bool {
        let annotated = || self.annotations.get(key).and_then(toml::Value::as_str).unwrap_or_default();
        given.unwrap_or_else(|| annotated().to_lowercase().contains(word))
    }

    fn is_negated(&self) -> bool {
        self.is(self.negate, "type", "negative")
    }

    fn is_optional(&self) -> bool {
        self.is(self.optional, "importance", "optional")
    }
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Scoring {
    aggregation: Option<String>,
    threshold: Option<f64>,
}

/// Whether a text is a file of the format rather than another TOML file.
pub fn is_one(text: &str) -> bool {
    toml::from_str::<toml::Table>(text)
        .is_ok_and(|table| table.contains_key("judge") && table.contains_key("criterion"))
}

/// Reads the text of a file. The set that it becomes is called `name`; `file` gives the text of a file beside it.
///
/// # Errors
/// Why it is not one, or what of it cannot be resolved.
pub fn read(text: &str, name: &str, file_text: &dyn Fn(&str) -> Option<String>) -> Result<Read, FormatError> {
    let at_key = |key: &str, message: &str| at_line(line_of_key(text, key), message);
    let file: File = toml::from_str(text).map_err(|error| FormatError::Syntax(error.to_string()))?;
    let mut notes = Vec::new();
    let mut ids = Ids::new();
    let items = file.criterion.iter().map(|criterion| item(&mut ids, criterion)).collect::<Result<_, _>>()?;
    let optional = file.criterion.iter().filter(|criterion| criterion.is_optional()).count();
    if optional > 0 {
        notes.push(format!("{optional} criteria are optional; they count like the others"));
    }
    let threshold = file.scoring.threshold.unwrap_or(0.5);
    let aggregation = match file.scoring.aggregation.as_deref().unwrap_or("weighted-mean") {
        "weighted-mean" | "weighted_mean" => Aggregation::Mean,
        "all-pass" | "all_pass" => Aggregation::All,
        "any-pass" | "any_pass" => Aggregation::Any,
        "threshold" => Aggregation::Threshold(threshold),
        // Without optional criteria all are required.
        "required-pass" | "required_pass" if optional == 0 => Aggregation::All,
        other => {
            let message = format!("the aggregation {other:?} is not supported");
            return Err(FormatError::Unusable(at_key("aggregation", &message)));
        }
    };
    let mut unknown = file.judge.others.keys().filter(|key| !JUDGE_KEYS.contains(&key.as_str()));
    if let Some(key) = unknown.next() {
        let message = format!("`{key}` is no key of `[judge]`: remove it, or correct its name");
        return Err(FormatError::Unusable(at_key(key, &message)));
    }
    let context = match &file.judge.prompt_template {
        None => None,
        Some(path) => {
            let template = file_text(path).filter(|_| [".txt", ".md"].iter().any(|end| path.ends_with(end)));
            let template = template.filter(|text| text.contains(PLACEHOLDER)).ok_or_else(|| {
                let message = format!(
                    "`prompt_template` refers to {path:?}, which is no .txt or .md file with `{PLACEHOLDER}` beside this one"
                );
                FormatError::Unusable(at_key("prompt_template", &message))
            })?;
            let message = "the prompt template's text is the context of the rubric";
            notes.push(at_key("prompt_template", message));
            Some(template.replace(PLACEHOLDER, "").trim().to_owned())
        }
    };
    if file.judge.reference.is_some() {
        notes.push(at_key("reference", "the reference is not given to the judge"));
    }
    let own_files = file.criterion.iter().filter(|criterion| !criterion.files.is_empty()).count();
    if own_files > 0 {
        notes.push(format!("{own_files} criteria have files of their own; the judge sees the same for all"));
    }
    if !file.judge.files.is_empty() {
        notes.push(format!("the judge is meant to see {}", file.judge.files.join(", ")));
    }
    let set = Set { name: name.to_owned(), weight: file.judge.weight, aggregation, items };
    let rubric = Rubric { sets: vec![set], context, ..Rubric::default() };
    rubric.check()?;
    Ok(Read { rubric, notes })
}

fn item(ids: &mut Ids, criterion: &Criterion) -> Result<Item, FormatError> {
    let scale = |lowest, highest, levels| Kind::Scaled { lowest, highest, levels };
    let kind = match criterion.kind.as_deref().unwrap_or("binary") {
        "binary" => Kind::Binary,
        "likert" => scale(1.0, f64::from(criterion.points.unwrap_or(5)), Vec::new()),
        "numeric" => scale(criterion.min.unwrap_or(0.0), criterion.max.unwrap_or(1.0), Vec::new()),
        "rubric" => {
            let highest = criterion.levels.len().saturating_sub(1) as f64;
            scale(0.0, highest, criterion.levels.clone())
        }
        other => {
            return Err(FormatError::unusable(format!("the type {other:?} of a criterion is not supported")));
        }
    };
    let name = criterion.id.as_ref().or(criterion.name.as_ref());
    let id = ids.unique(name.unwrap_or(&super::first_words(&criterion.description)));
    let item = Item::new(id, criterion.description.trim(), criterion.weight.unwrap_or(1.0));
    Ok(Item { name: criterion.name.clone(), kind, negated: criterion.is_negated(), ..item })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
[judge]
judge = "provider/model"
files = ["/app/report.md"]
weight = 2.0

[[criterion]]
description = "The report has a summary."
type = "binary"
id = "summary"
weight = 3

[[criterion]]
description = "How clear is the report?"
type = "likert"
points = 7

[[criterion]]
description = "How deep is the analysis?"
type = "rubric"
levels = ["shallow", "good", "deep"]

[[criterion]]
description = "It contains placeholder text."
negate = true
optional = true

[scoring]
aggregation = "all-pass"
"#;

    #[test]
    fn criteria_become_items() {
        assert!(is_one(TEXT) && !is_one("[task]\nname = \"x\"") && !is_one("?"));
        let Read { rubric, notes } = read(TEXT, "quality", &|_| None).unwrap();
        let set = &rubric.sets[0];
        assert_eq!(
            (set.name.as_str(), set.weight, set.aggregation),
            ("quality", Some(2.0), Aggregation::All)
        );
        let items: Vec<_> = rubric.leaves().collect();
        assert_eq!((items[0].id.as_str(), items[0].points, &items[0].kind), ("summary", 3.0, &Kind::Binary));
        assert_eq!(items[1].kind, Kind::Scaled { lowest: 1.0, highest: 7.0, levels: vec![] });
        let Kind::Scaled { highest, levels, .. } = &items[2].kind else { panic!("{items:?}") };
        assert_eq!((*highest, levels.len()), (2.0, 3));
        assert!(items[3].negated);
        assert_eq!(notes.len(), 2);
    }

    #[test]
    fn faults() {
        let check = |text: &str, expected: &str| {
            let error = read(text, "x", &|_| None).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check("[judge]", "missing field `criterion`");
        check("[[criterion]]\ndescription = 'x'\ntype = 'stars'", "the type \"stars\"");
        check(
            "[[criterion]]\ndescription = 'x'\n[scoring]\naggregation = 'weighted-sum'",
            "\"weighted-sum\"",
        );
        check("[[criterion]]\ndescription = 'x'\nweight = -1", "the points are not a number from 0 up");
    }
}
