//! `promptfooconfig.yaml` with `llm-rubric` assertions. Read only.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{FormatError, Ids, yaml};
use crate::rubric::{Check, Item, Rubric};

/// The name of the set that the assertions become.
pub const SET: &str = "assertions";

/// A test.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    /// Its description, or its number.
    pub name: String,
    /// The first prompt with the test's variables filled in.
    pub prompt: Option<String>,
    /// The rubric, or why there is none.
    pub rubric: Result<Rubric, FormatError>,
    /// Kinds of assertions that were left out.
    pub left_out: Vec<String>,
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    prompts: Vec<Value>,
    #[serde(rename = "defaultTest")]
    default_test: Option<Entry>,
    tests: Vec<Entry>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Entry {
    description: Option<String>,
    vars: BTreeMap<String, Value>,
    assert: Vec<Assertion>,
}

#[derive(Deserialize)]
struct Assertion {
    #[serde(rename = "type")]
    kind: String,
    value: Option<Value>,
    weight: Option<f64>,
    metric: Option<String>,
}

/// Reads the text of a configuration.
///
/// # Errors
/// Why it is not one.
pub fn read(text: &str) -> Result<Vec<Test>, FormatError> {
    let file: File = yaml(text)?;
    let default = file.default_test.unwrap_or_default();
    let prompt = file.prompts.first().and_then(Value::as_str);
    let test = |(number, entry): (usize, Entry)| {
        let vars: BTreeMap<&str, String> = default
            .vars
            .iter()
            .chain(&entry.vars)
            .map(|(name, value)| {
                (name.as_str(), value.as_str().map_or_else(|| value.to_string(), str::to_owned))
            })
            .collect();
        let mut ids = Ids::new();
        let mut items = Vec::new();
        let mut left_out = Vec::new();
        for assertion in default.assert.iter().chain(&entry.assert) {
            match item(&mut ids, assertion, &vars) {
                Some(item) => items.push(item),
                None => left_out.push(assertion.kind.clone()),
            }
        }
        let rubric = if items.is_empty() {
            Err(FormatError::unusable("it has no `llm-rubric` assertion"))
        } else {
            let rubric = Rubric::of_items(SET, items);
            rubric.check().map(|()| rubric).map_err(FormatError::from)
        };
        let prompt =
            prompt.filter(|prompt| !prompt.starts_with("file://")).map(|prompt| filled(prompt, &vars));
        Test {
            name: entry.description.unwrap_or_else(|| format!("test {}", number + 1)),
            prompt,
            rubric,
            left_out,
        }
    };
    Ok(file.tests.into_iter().enumerate().map(test).collect())
}

fn item(ids: &mut Ids, assertion: &Assertion, vars: &BTreeMap<&str, String>) -> Option<Item> {
    let text = filled(assertion.value.as_ref()?.as_str()?, vars);
    let (kind, negated) = match assertion.kind.strip_prefix("not-") {
        Some(kind) => (kind, true),
        None => (assertion.kind.as_str(), false),
    };
    let (text, check) = match kind {
        "llm-rubric" => (text, None),
        "contains" | "icontains" => {
            (format!("The answer contains {text:?}."), Some(Check::AnswerContains(vec![text])))
        }
        _ => return None,
    };
    let name = assertion.metric.clone();
    let id = ids.unique(&name.clone().unwrap_or_else(|| super::first_words(&text)));
    Some(Item { name, negated, check, ..Item::new(id, text.trim(), assertion.weight.unwrap_or(1.0)) })
}

/// A template with its variables filled in.
fn filled(template: &str, vars: &BTreeMap<&str, String>) -> String {
    vars.iter().fold(template.to_owned(), |text, (name, value)| {
        text.replace(&format!("{{{{{name}}}}}"), value).replace(&format!("{{{{ {name} }}}}"), value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assertions_become_items() {
        let text = "
prompts: ['Answer {{question}} for {{ who }}']
defaultTest: {vars: {who: a child}}
tests:
  - vars: {question: why}
    assert:
      - {type: llm-rubric, value: 'It answers {{question}}', weight: 2, metric: answer}
      - {type: not-icontains, value: as an AI}
      - {type: latency, threshold: 3}
  - description: nothing
";
        let tests = read(text).unwrap();
        assert_eq!(tests[0].prompt.as_deref(), Some("Answer why for a child"));
        assert_eq!(tests[0].left_out, ["latency"]);
        let items: Vec<_> = tests[0].rubric.as_ref().unwrap().leaves().collect();
        assert_eq!(
            (items[0].id.as_str(), items[0].text.as_str(), items[0].points),
            ("answer", "It answers why", 2.0)
        );
        assert!(items[1].negated && items[1].check.is_some());
        assert!(tests[1].rubric.as_ref().unwrap_err().to_string().contains("llm-rubric"));
        assert_eq!(tests[1].name, "nothing");
    }
}
