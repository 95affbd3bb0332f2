//! `eval.yaml` of dotnet/skills: `scenarios` with a `rubric` of sentences. Read only.

use serde::Deserialize;
use serde_json::Value;

use super::{FormatError, Ids, sentences, yaml};
use crate::rubric::Rubric;

/// The name of the set that the sentences become.
pub const SET: &str = "rubric";

/// The keys that are read, and `setup` and `assertions`, which have notes of their own.
pub(crate) const KEYS: [&str; 5] = [
    "scenarios[].name",
    "scenarios[].prompt",
    "scenarios[].rubric",
    "scenarios[].setup.*",
    "scenarios[].assertions.*",
];

/// A scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// The instruction.
    pub prompt: String,
    /// Whether it has files or commands that prepare its work folder, which are not read.
    pub has_setup: bool,
    /// How many assertions it has, which are not read.
    pub assertions: usize,
    /// The rubric, or why there is none.
    pub rubric: Result<Rubric, FormatError>,
}

#[derive(Deserialize)]
struct File {
    scenarios: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    prompt: String,
    setup: Option<Value>,
    #[serde(default)]
    assertions: Vec<Value>,
    #[serde(default)]
    rubric: Vec<String>,
}

/// Reads the text of an `eval.yaml`.
///
/// # Errors
/// Why it is not one.
pub fn read(text: &str) -> Result<Vec<Scenario>, FormatError> {
    let file: File = yaml(text)?;
    let scenario = |entry: Entry| {
        let items = sentences(&mut Ids::new(), entry.rubric.iter().map(String::as_str));
        let rubric = if items.is_empty() {
            Err(FormatError::unusable("it has no `rubric`"))
        } else {
            let rubric = Rubric::of_items(SET, items);
            rubric.check().map(|()| rubric).map_err(FormatError::from)
        };
        Scenario {
            name: entry.name,
            prompt: entry.prompt,
            has_setup: entry.setup.is_some(),
            assertions: entry.assertions.len(),
            rubric,
        }
    };
    Ok(file.scenarios.into_iter().map(scenario).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_with_and_without_a_rubric() {
        let text = "scenarios:\n- name: a\n  prompt: p\n  setup: {files: []}\n  assertions: [{type: exit_success}]\n  \
                    rubric: ['It builds', 'It runs']\n- {name: b, prompt: q}\n";
        let found = read(text).unwrap();
        assert_eq!((found[0].has_setup, found[0].assertions), (true, 1));
        assert_eq!(found[0].rubric.as_ref().unwrap().leaves().count(), 2);
        assert!(found[1].rubric.is_err());
        assert!(read("tasks: []").unwrap_err().to_string().contains("scenarios"));
    }
}
