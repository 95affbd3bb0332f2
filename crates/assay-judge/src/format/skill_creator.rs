//! `evals.json` of Anthropic's skill-creator.
//!
//! ```json
//! {"skill_name": "…", "evals": [{"id": 1, "prompt": "…", "expected_output": "…", "files": [], "expectations": ["…"]}]}
//! ```
//!
//! Older files call the sentences `assertions`, and some write each as an object.

use serde::{Deserialize, Serialize};

use super::{FormatError, Id, Ids, json, pretty, sentences};
use crate::rubric::Rubric;

/// The name of the set that the expectations become.
pub const SET: &str = "expectations";

/// The keys that are read.
pub(crate) const KEYS: [&str; 19] = [
    "skill_name",
    "evals[].id",
    "evals[].name",
    "evals[].prompt",
    "evals[].query",
    "evals[].task",
    "evals[].input",
    "evals[].expected_output",
    "evals[].files",
    "evals[].expectations[].text",
    "evals[].expectations[].description",
    "evals[].expectations[].assertion",
    "evals[].expectations[].expectation",
    "evals[].expectations[].name",
    "evals[].assertions[].text",
    "evals[].assertions[].description",
    "evals[].assertions[].assertion",
    "evals[].assertions[].expectation",
    "evals[].assertions[].name",
];

/// One evaluation of an `evals.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct Eval {
    /// Its id, or its number from 1.
    pub id: String,
    /// What it is called, if anything.
    pub name: Option<String>,
    /// The instruction.
    pub prompt: String,
    /// What a good result is, in a sentence or two.
    pub expected: Option<String>,
    /// Input files, relative to the folder of the skill.
    pub files: Vec<String>,
    /// A rubric with an item for each expectation, or why there is none.
    pub rubric: Result<Rubric, FormatError>,
}

#[derive(Deserialize)]
struct File {
    skill_name: Option<String>,
    evals: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    id: Option<Id>,
    name: Option<String>,
    #[serde(alias = "query", alias = "task", alias = "input")]
    prompt: Option<String>,
    expected_output: Option<String>,
    #[serde(default)]
    files: Vec<String>,
    #[serde(alias = "assertions", default)]
    expectations: Vec<Expectation>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Expectation {
    Text(String),
    Object {
        #[serde(alias = "description", alias = "assertion", alias = "expectation", alias = "name")]
        text: String,
    },
}

/// Reads the text of an `evals.json`: the skill's name and the evaluations.
///
/// # Errors
/// Why it is not one.
pub fn read(text: &str) -> Result<(Option<String>, Vec<Eval>), FormatError> {
    if text.trim_start().starts_with('[') && text.contains("should_trigger") {
        let reason = "it lists queries that should or should not trigger the skill, and has no expectations";
        return Err(FormatError::unusable(reason));
    }
    let file: File = json(text)?;
    let evals = file.evals.into_iter().enumerate().map(|(number, entry)| eval(number, entry)).collect();
    Ok((file.skill_name, evals))
}

fn eval(number: usize, entry: Entry) -> Eval {
    let texts = entry.expectations.iter().map(|expectation| match expectation {
        Expectation::Text(text) | Expectation::Object { text } => text.as_str(),
    });
    let items = sentences(&mut Ids::new(), texts);
    let rubric = if items.is_empty() {
        Err(FormatError::unusable("it has no expectations"))
    } else {
        let mut rubric = Rubric::of_items(SET, items);
        rubric.context.clone_from(&entry.expected_output);
        rubric.check().map(|()| rubric).map_err(FormatError::from)
    };
    Eval {
        id: entry.id.map_or_else(|| (number + 1).to_string(), |id| id.to_string()),
        name: entry.name,
        prompt: entry.prompt.unwrap_or_default(),
        expected: entry.expected_output,
        files: entry.files,
        rubric,
    }
}

#[derive(Serialize)]
struct Written<'a> {
    skill_name: &'a str,
    evals: Vec<WrittenEval<'a>>,
}

#[derive(Serialize)]
struct WrittenEval<'a> {
    id: Id,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    prompt: &'a str,
    expected_output: &'a str,
    files: &'a [String],
    expectations: Vec<&'a str>,
}

/// The text of an `evals.json`. Points, classes and prerequisites have no place in the format.
pub fn write(skill: &str, evals: &[Eval]) -> String {
    let evals = evals.iter().map(|eval| WrittenEval {
        id: Id::of(&eval.id),
        name: eval.name.as_deref(),
        prompt: &eval.prompt,
        expected_output: eval.expected.as_deref().unwrap_or_default(),
        files: &eval.files,
        expectations: eval
            .rubric
            .as_ref()
            .map(|rubric| rubric.leaves().map(|item| item.text.as_str()).collect())
            .unwrap_or_default(),
    });
    pretty(&Written { skill_name: skill, evals: evals.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_written_as_read() {
        let text = r#"{
  "skill_name": "notes",
  "evals": [
    {
      "id": 1,
      "prompt": "Write a note",
      "expected_output": "A note",
      "files": [
        "evals/files/a.txt"
      ],
      "expectations": [
        "The note has a date",
        "The note has a title"
      ]
    }
  ]
}
"#;
        let (skill, evals) = read(text).unwrap();
        assert_eq!(skill.as_deref(), Some("notes"));
        assert_eq!(write("notes", &evals), text);
        let rubric = evals[0].rubric.as_ref().unwrap();
        assert_eq!(rubric.leaves().count(), 2);
        assert_eq!(rubric.context.as_deref(), Some("A note"));
    }

    #[test]
    fn variants() {
        let text = r#"{"evals": [
            {"id": "a", "name": "n", "prompt": "p", "assertions": [{"name": "x is there"}, "y is there"]},
            {"prompt": "p"}]}"#;
        let (_, evals) = read(text).unwrap();
        let items: Vec<_> =
            evals[0].rubric.as_ref().unwrap().leaves().map(|item| item.text.as_str()).collect();
        assert_eq!(items, ["x is there", "y is there"]);
        assert_eq!(
            (evals[1].id.as_str(), evals[1].rubric.clone()),
            ("2", Err(FormatError::unusable("it has no expectations")))
        );
        assert!(
            read(r#"[{"query": "q", "should_trigger": true}]"#).unwrap_err().to_string().contains("trigger")
        );
    }
}
