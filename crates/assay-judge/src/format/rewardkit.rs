//! `judge.toml` of Harbor's rewardkit (0.2): criteria for one judge, in a folder that is a reward. Read only.

use serde::Deserialize;

use super::{FormatError, Ids, Read};
use crate::rubric::{Aggregation, Item, Kind, Rubric, Set};

#[derive(Deserialize)]
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
}

#[derive(Deserialize)]
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
    #[serde(default)]
    negate: bool,
    #[serde(default)]
    optional: bool,
}

#[derive(Deserialize, Default)]
struct Scoring {
    aggregation: Option<String>,
    threshold: Option<f64>,
}

/// Whether a text is a file of the format rather than another TOML file.
pub fn is_one(text: &str) -> bool {
    toml::from_str::<toml::Table>(text)
        .is_ok_and(|table| table.contains_key("judge") && table.contains_key("criterion"))
}

/// Reads the text of a file. The set that it becomes is called `name`.
///
/// # Errors
/// Why it is not one.
pub fn read(text: &str, name: &str) -> Result<Read, FormatError> {
    let file: File = toml::from_str(text).map_err(|error| FormatError::Syntax(error.to_string()))?;
    let mut notes = Vec::new();
    let mut ids = Ids::new();
    let items = file.criterion.iter().map(|criterion| item(&mut ids, criterion)).collect::<Result<_, _>>()?;
    let optional = file.criterion.iter().filter(|criterion| criterion.optional).count();
    if optional > 0 {
        notes.push(format!("{optional} criteria are optional; they count like the others"));
    }
    let threshold = file.scoring.threshold.unwrap_or(0.5);
    let aggregation = match file.scoring.aggregation.as_deref().unwrap_or("weighted-mean") {
        "weighted-mean" | "weighted_mean" => Aggregation::Mean,
        "all-pass" | "all_pass" => Aggregation::All,
        "any-pass" | "any_pass" => Aggregation::Any,
        "threshold" => Aggregation::Threshold(threshold),
        other => return Err(FormatError::unusable(format!("the aggregation {other:?} is not supported"))),
    };
    if file.judge.prompt_template.is_some() {
        notes.push("the prompt template is not used".to_owned());
    }
    if file.judge.reference.is_some() {
        notes.push("the reference is not given to the judge".to_owned());
    }
    if !file.judge.files.is_empty() {
        notes.push(format!("the judge is meant to see {}", file.judge.files.join(", ")));
    }
    let set = Set { name: name.to_owned(), weight: file.judge.weight, aggregation, items };
    let rubric = Rubric { sets: vec![set], ..Rubric::default() };
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
    Ok(Item { name: criterion.name.clone(), kind, negated: criterion.negate, ..item })
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
        let Read { rubric, notes } = read(TEXT, "quality").unwrap();
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
            let error = read(text, "x").unwrap_err().to_string();
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
