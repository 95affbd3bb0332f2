//! `promptfooconfig.yaml` with `llm-rubric` assertions. Read only.
//!
//! Read as promptfoo 0.121 reads it: lists of variables are a matrix, `file://` and a prompt with the name of a file
//! are references to files, `$ref` to another part of the configuration, and texts are templates. What cannot be
//! resolved is refused or left out by name, with its line; nothing of it becomes text.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::promptfoo_template::{Variables, fill_template};
use super::source::{line_of_key, named_key};
use super::{FormatError, Ids, yaml};
use crate::rubric::{Check, Item, Rubric};

/// The name of the set that the assertions become.
pub const SET: &str = "assertions";

/// Most tests that the variables of one entry make.
const MATRIX: usize = 1_000;

/// Keys of a configuration that say nothing about tasks and rubrics.
const ELSEWHERE: [&str; 15] = [
    "$schema",
    "assertionTemplates",
    "commandLineOptions",
    "description",
    "env",
    "evaluateOptions",
    "extensions",
    "metadata",
    "outputPath",
    "providers",
    "redteam",
    "sharing",
    "tags",
    "targets",
    "writeLatestResults",
];

/// A test.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    /// Its description, or its number; with its variables, if a list of them makes several tests.
    pub name: String,
    /// The first prompt with the test's variables filled in.
    pub prompt: Option<String>,
    /// The rubric, or why there is none.
    pub rubric: Result<Rubric, FormatError>,
    /// Assertions that were left out.
    pub left_out: Vec<String>,
    /// What else of the configuration is not used.
    pub notes: Vec<String>,
}

#[derive(Deserialize)]
struct File {
    prompts: Option<Value>,
    #[serde(rename = "defaultTest")]
    default_test: Option<Value>,
    tests: Option<Value>,
    scenarios: Option<Value>,
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Entry {
    description: Option<String>,
    vars: Value,
    assert: Vec<Assertion>,
    threshold: Option<f64>,
    options: BTreeMap<String, Value>,
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

/// Options of a test that change what is judged before it is judged.
const CHANGES: [&str; 4] = ["transform", "postprocess", "contextTransform", "transformVars"];

/// Endings of files that a prompt may name without `file://`.
const PROMPT_FILES: [&str; 14] = [
    ".cjs", ".csv", ".j2", ".js", ".json", ".jsonl", ".md", ".mjs", ".njk", ".py", ".ts", ".txt", ".yaml",
    ".yml",
];

/// What separates the prompts of a text file.
const PROMPT_DELIMITER: &str = "---";

/// Most references in one another.
const REFERENCES: usize = 8;

#[derive(Deserialize)]
struct Assertion {
    #[serde(rename = "type", default)]
    kind: String,
    value: Option<Value>,
    weight: Option<f64>,
    metric: Option<String>,
    threshold: Option<f64>,
    assert: Option<Vec<Value>>,
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

/// Reads the text of a configuration. `file` gives the text of a file that it refers to, by its path
/// from the configuration.
///
/// # Errors
/// Why it is not one, or what of it cannot be resolved.
pub fn read(text: &str, file: &dyn Fn(&str) -> Option<String>) -> Result<Vec<Test>, FormatError> {
    let source = ConfigText { text, file };
    let document: Value = yaml(text)?;
    let document = source.dereferenced(&document, &document, REFERENCES)?;
    let config: File =
        serde_json::from_value(document).map_err(|error| FormatError::Syntax(error.to_string()))?;
    if config.scenarios.is_some() {
        return Err(source.refused("scenarios", "`scenarios` are not read: write them as `tests`"));
    }
    let default = match &config.default_test {
        None => Entry::default(),
        Some(value) => source.entry(value, "defaultTest")?,
    };
    let tests = match &config.tests {
        Some(Value::Array(tests)) => tests.as_slice(),
        Some(other) => return Err(source.reference(other, "tests")),
        None => return Err(FormatError::Syntax("missing field `tests`".to_owned())),
    };
    let (prompt, mut notes) = source.prompt(config.prompts.as_ref())?;
    let unread = |others: &BTreeMap<String, Value>| -> Vec<String> {
        let others = others.keys().filter(|key| !ELSEWHERE.contains(&key.as_str()));
        others.map(|key| named_key(text, key)).collect()
    };
    for (what, keys) in [("", unread(&config.others)), (" of `defaultTest`", unread(&default.others))] {
        if !keys.is_empty() {
            notes.push(format!("keys{what} that are not read: {}", keys.join(", ")));
        }
    }
    let mut found = Vec::new();
    for (number, value) in tests.iter().enumerate() {
        let entry = source.entry(value, "tests")?;
        let own = unread(&entry.others);
        let mut notes = notes.clone();
        if !own.is_empty() {
            notes.push(format!("keys of the test that are not read: {}", own.join(", ")));
        }
        if let Some(threshold) = entry.threshold.or(default.threshold) {
            let at = source.at_key("threshold");
            notes
                .push(format!("{at}`threshold: {threshold}` of the test is not used: the score is the mean"));
        }
        let options = TestOptions::of(&source, &[&default, &entry])?;
        notes.extend(options.note(&source));
        let name = entry.description.clone().unwrap_or_else(|| format!("test {}", number + 1));
        let rows = source.matrix(&[&default.vars, &entry.vars], options.keeps_lists)?;
        let prompt = prompt.as_ref().map(|prompt| format!("{}{prompt}{}", options.prefix, options.suffix));
        let is_matrix = rows.len() > 1;
        for (row, label) in rows {
            let name = if is_matrix { format!("{name} {label}") } else { name.clone() };
            found.push(source.test(name, prompt.as_deref(), &row, &[&default, &entry], notes.clone()));
        }
    }
    Ok(found)
}

/// The options of a test that are read.
#[derive(Default)]
struct TestOptions {
    /// Text before and after the prompt.
    prefix: String,
    suffix: String,
    /// Whether lists of variables are values and no matrix.
    keeps_lists: bool,
    /// The others.
    unread: Vec<String>,
}

impl TestOptions {
    /// Those of a test, which replace those of all tests.
    fn of(source: &ConfigText<'_>, entries: &[&Entry]) -> Result<Self, FormatError> {
        let mut options = Self::default();
        for (key, value) in entries.iter().flat_map(|entry| &entry.options) {
            let text = || match value {
                Value::String(text) => source.resolved(text),
                _ => Err(source.refused(key, &format!("`{key}` is no text"))),
            };
            match key.as_str() {
                "prefix" => options.prefix = text()?,
                "suffix" => options.suffix = text()?,
                "disableVarExpansion" => options.keeps_lists = value == &Value::Bool(true),
                change if CHANGES.contains(&change) => {
                    let message =
                        format!("`{key}` changes what is judged, which is not done here: remove it");
                    return Err(source.refused(key, &message));
                }
                _ => options.unread.push(key.clone()),
            }
        }
        options.unread.dedup();
        Ok(options)
    }

    fn note(&self, source: &ConfigText<'_>) -> Option<String> {
        let keys: Vec<String> = self.unread.iter().map(|key| named_key(source.text, key)).collect();
        (!keys.is_empty()).then(|| format!("options of the test that are not read: {}", keys.join(", ")))
    }
}

/// The text of a configuration, for the lines of what is refused, and the files beside it.
struct ConfigText<'s> {
    text: &'s str,
    file: &'s dyn Fn(&str) -> Option<String>,
}

impl ConfigText<'_> {
    /// The line of the first place that has a text, from 1.
    fn line(&self, part: &str) -> String {
        let at = self.text.lines().position(|line| line.contains(part));
        at.map_or_else(String::new, |at| format!("line {}: ", at + 1))
    }

    /// The line of a key.
    fn at_key(&self, key: &str) -> String {
        line_of_key(self.text, key).map_or_else(String::new, |line| format!("line {line}: "))
    }

    /// A value with `$ref` replaced by the part of the configuration that it refers to.
    fn dereferenced(&self, value: &Value, root: &Value, depth: usize) -> Result<Value, FormatError> {
        match value {
            Value::Array(list) => {
                let list = list.iter().map(|value| self.dereferenced(value, root, depth));
                list.collect::<Result<Vec<_>, _>>().map(Value::Array)
            }
            Value::Object(table) => {
                let Some(reference) = table.get("$ref") else {
                    let values = table
                        .iter()
                        .map(|(key, value)| Ok((key.clone(), self.dereferenced(value, root, depth)?)));
                    return values.collect::<Result<serde_json::Map<_, _>, _>>().map(Value::Object);
                };
                let target = reference.as_str().and_then(|path| root.pointer(path.strip_prefix('#')?));
                if let Some(target) = target.filter(|_| depth > 0) {
                    self.dereferenced(target, root, depth - 1)
                } else {
                    let part = reference.as_str().unwrap_or("$ref");
                    let reason = format!("`$ref` refers to {reference}, which is not in this file");
                    Err(self.refused(part, &reason))
                }
            }
            other => Ok(other.clone()),
        }
    }

    fn refused(&self, part: &str, reason: &str) -> FormatError {
        FormatError::unusable(format!("{}{reason}", self.line(part)))
    }

    /// Why a value that stands for a list or a table cannot be read.
    fn reference(&self, value: &Value, key: &str) -> FormatError {
        let part = value.as_str().unwrap_or(key);
        let reason = match value.as_str().filter(|text| text.starts_with("file://")) {
            Some(file) => {
                format!("`{key}` refers to {file:?}, a file that is not read: write its content in its place")
            }
            None => format!("`{key}` is not a list or a table"),
        };
        self.refused(part, &reason)
    }

    fn entry(&self, value: &Value, key: &str) -> Result<Entry, FormatError> {
        if !value.is_object() {
            return Err(self.reference(value, key));
        }
        serde_json::from_value(value.clone()).map_err(|error| self.refused(key, &format!("`{key}`: {error}")))
    }

    /// A text, or that of the file to which it refers.
    fn resolved(&self, text: &str) -> Result<String, FormatError> {
        match text.strip_prefix("file://") {
            Some(path) => self.resolved_at(text, path),
            None => Ok(text.to_owned()),
        }
    }

    /// The text of a file, which `text` refers to.
    fn resolved_at(&self, text: &str, path: &str) -> Result<String, FormatError> {
        let is_text = [".txt", ".md", ".markdown", ".j2", ".njk"].iter().any(|end| path.ends_with(end));
        let content = (self.file)(path).filter(|_| is_text);
        content.map(|content| content.trim_end().to_owned()).ok_or_else(|| {
            let why = if is_text {
                "which is not below the folder of the configuration, or cannot be read"
            } else {
                "which is no text file"
            };
            self.refused(text, &format!("{text:?} refers to a file, {why}"))
        })
    }

    /// The first prompt, and what is said about the others.
    fn prompt(&self, prompts: Option<&Value>) -> Result<(Option<String>, Vec<String>), FormatError> {
        let list: Vec<&Value> = match prompts {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(list)) => list.iter().collect(),
            Some(one) => vec![one],
        };
        let text = match list.first() {
            None => return Ok((None, Vec::new())),
            Some(Value::String(text)) => text,
            Some(Value::Object(table)) => {
                match table.get("raw").or(table.get("id")).and_then(Value::as_str) {
                    Some(text) => text,
                    None => return Err(self.refused("prompts", "the first prompt has no text (`raw`)")),
                }
            }
            Some(_) => return Err(self.refused("prompts", "the first prompt is no text")),
        };
        let (text, in_file) = self.prompt_text(text)?;
        let mut notes = Vec::new();
        let more = list.len() - 1 + in_file;
        if more > 0 {
            let noun = if more == 1 { "prompt is" } else { "prompts are" };
            notes.push(format!(
                "{}the first prompt is used; {more} other {noun} left out",
                self.line("prompts")
            ));
        }
        Ok((Some(text), notes))
    }

    /// The text of a prompt, or that of the file which it names with or without `file://`, and how many other prompts the
    /// file has.
    fn prompt_text(&self, text: &str) -> Result<(String, usize), FormatError> {
        let path = text.strip_prefix("file://").unwrap_or(text);
        let is_name = !text.contains(['\n', '{']) && PROMPT_FILES.iter().any(|end| text.ends_with(end));
        if path == text && !is_name {
            return Ok((text.to_owned(), 0));
        }
        // Text that ends like a file's name is one, as the tool has it; a sentence may end so as well.
        if path == text && text.contains(char::is_whitespace) && (self.file)(path).is_none() {
            return Ok((text.to_owned(), 0));
        }
        let content = self.resolved_at(text, path)?;
        if Path::new(path).extension() != Some(OsStr::new("txt")) {
            return Ok((content, 0));
        }
        let mut prompts = content.split(PROMPT_DELIMITER).map(str::trim).filter(|prompt| !prompt.is_empty());
        let first = prompts.next().unwrap_or_default().to_owned();
        Ok((first, prompts.count()))
    }

    /// Every combination of the values of variables, with words that name it.
    fn matrix(&self, tables: &[&Value], keeps_lists: bool) -> Result<Vec<(Variables, String)>, FormatError> {
        let mut values: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for table in tables {
            match table {
                Value::Null => {}
                Value::Object(table) => {
                    for (name, value) in table {
                        if keeps_lists && value.is_array() {
                            let reason =
                                format!("the variable `{name}` is a list, which no text is made of here");
                            return Err(self.refused(name, &reason));
                        }
                        values.insert(name, self.variable(name, value)?);
                    }
                }
                other => return Err(self.reference(other, "vars")),
            }
        }
        let mut rows = vec![(Variables::new(), String::new())];
        for (name, list) in &values {
            if rows.len().saturating_mul(list.len()) > MATRIX {
                return Err(self.refused("vars", &format!("its variables make more than {MATRIX} tests")));
            }
            let more = |(row, label): &(Variables, String)| {
                let with = |value: &String| {
                    let mut row = row.clone();
                    row.insert((*name).to_owned(), value.clone());
                    let label = if list.len() > 1 { format!("{label} {value}") } else { label.clone() };
                    (row, label.trim().to_owned())
                };
                list.iter().map(with).collect::<Vec<_>>()
            };
            rows = rows.iter().flat_map(more).collect();
        }
        Ok(rows)
    }

    /// The values of a variable: each of a list.
    fn variable(&self, name: &str, value: &Value) -> Result<Vec<String>, FormatError> {
        let one = |value: &Value| match value {
            Value::String(text) => self.resolved(text),
            Value::Object(_) | Value::Array(_) => {
                Err(self.refused(name, &format!("the variable `{name}` is a table or a list of lists")))
            }
            other => Ok(other.to_string()),
        };
        match value {
            Value::Array(list) => list.iter().map(one).collect(),
            other => Ok(vec![one(other)?]),
        }
    }

    fn test(
        &self,
        name: String,
        prompt: Option<&str>,
        variables: &Variables,
        entries: &[&Entry],
        mut notes: Vec<String>,
    ) -> Test {
        let (mut ids, mut items, mut left_out) = (Ids::new(), Vec::new(), Vec::new());
        let read = entries.iter().flat_map(|entry| &entry.assert).try_for_each(|assertion| {
            match self.item(&mut ids, assertion, variables)? {
                Ok(item) => {
                    items.push(item);
                    notes.extend(self.unused(assertion));
                }
                Err(what) => left_out.push(what),
            }
            Ok(())
        });
        let rubric = read.and_then(|()| {
            if items.is_empty() {
                return Err(FormatError::unusable("it has no `llm-rubric` assertion"));
            }
            let rubric = Rubric::of_items(SET, items);
            rubric.check().map(|()| rubric).map_err(FormatError::from)
        });
        let filled = prompt.map(|prompt| {
            let error = |error: FormatError| self.refused(prompt, &format!("the prompt: {error}"));
            fill_template(prompt, variables).map_err(error)
        });
        let (prompt, rubric) = match filled.transpose() {
            Ok(prompt) => (prompt, rubric),
            Err(error) => (None, Err(error)),
        };
        Test { name, prompt, rubric, left_out, notes }
    }

    /// The item of an assertion, or what is left out.
    fn item(
        &self,
        ids: &mut Ids,
        assertion: &Assertion,
        variables: &Variables,
    ) -> Result<Result<Item, String>, FormatError> {
        let Assertion { kind, value, weight, metric, .. } = assertion;
        if let Some(inner) = &assertion.assert {
            return Ok(Err(format!("{kind} with {} assertions", inner.len())));
        }
        if weight.is_some_and(|weight| weight <= 0.0) {
            return Ok(Err(format!("{kind} with weight 0")));
        }
        if let Some(key) = CHANGES.iter().find(|key| assertion.others.contains_key(**key)) {
            return Ok(Err(format!("{kind} with {}", named_key(self.text, key))));
        }
        let (what, negated) = match kind.strip_prefix("not-") {
            Some(kind) => (kind, true),
            None => (kind.as_str(), false),
        };
        if !matches!(what, "llm-rubric" | "contains" | "icontains") {
            return Ok(Err(if kind.is_empty() {
                "an assertion without a type".to_owned()
            } else {
                kind.clone()
            }));
        }
        let text = match value {
            Some(Value::String(text)) => self.resolved(text)?,
            Some(Value::Number(number)) if what != "llm-rubric" => number.to_string(),
            Some(Value::Object(_) | Value::Array(_)) => {
                return Ok(Err(format!("{kind} whose value is no text")));
            }
            _ => return Ok(Err(format!("{kind} without a value"))),
        };
        let text = fill_template(&text, variables)
            .map_err(|error| self.refused(&text, &format!("`{kind}`: {error}")))?;
        let (text, check) = match what {
            "contains" => {
                let check = Check::AnswerContainsExact(vec![text.clone()]);
                (format!("The answer contains {text:?}."), Some(check))
            }
            "icontains" => (
                format!("The answer contains {text:?} in any case."),
                Some(Check::AnswerContains(vec![text])),
            ),
            _ => (text, None),
        };
        let name = metric.clone();
        let id = ids.unique(&name.clone().unwrap_or_else(|| super::first_words(&text)));
        Ok(Ok(Item { name, negated, check, ..Item::new(id, text.trim(), weight.unwrap_or(1.0)) }))
    }

    /// What is not used of an assertion that became an item.
    fn unused(&self, assertion: &Assertion) -> Vec<String> {
        let kind = &assertion.kind;
        let threshold = assertion.threshold.map(|threshold| {
            let at = self.at_key("threshold");
            format!("{at}`threshold: {threshold}` of `{kind}` is not used: its score counts as it is")
        });
        let keys: Vec<String> = assertion.others.keys().map(|key| named_key(self.text, key)).collect();
        let keys =
            (!keys.is_empty()).then(|| format!("keys of `{kind}` that are not read: {}", keys.join(", ")));
        threshold.into_iter().chain(keys).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Vec<Test>, FormatError> {
        read(text, &|path| (path == "kind.txt").then(|| "It is {{ mood }} and kind.\n".to_owned()))
    }

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
    vars: {question: how}
";
        let tests = read_text(text).unwrap();
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

    #[test]
    fn lists_of_variables_are_a_matrix() {
        let text = "
prompts: 'Say {{word}} {{times}} times in {{tone}}'
tests:
  - vars: {word: [ping, pong], times: [2, 3], tone: gray}
    assert: [{type: llm-rubric, value: 'Says {{word | upper}}'}]
";
        let tests = read_text(text).unwrap();
        let found: Vec<_> = tests.iter().map(|test| test.prompt.as_deref().unwrap()).collect();
        let expected = ["2 times", "2 times", "3 times", "3 times"];
        assert!(found.iter().zip(expected).all(|(found, part)| found.contains(part)), "{found:?}");
        assert_eq!(tests[1].name, "test 1 2 pong");
        assert_eq!(tests[1].rubric.as_ref().unwrap().leaves().next().unwrap().text, "Says PONG");
        let many = (0..40).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
        let text = format!("tests: [{{vars: {{a: [{many}], b: [{many}]}}}}]");
        assert!(read_text(&text).unwrap_err().to_string().contains("more than 1000 tests"));
    }

    #[test]
    fn references_are_resolved_or_refused() {
        let asserted = |value: &str| {
            let text = format!(
                "prompts: [p]\ntests:\n  - vars: {{mood: calm}}\n    assert: [{{type: llm-rubric, value: '{value}'}}]"
            );
            read_text(&text).unwrap().remove(0).rubric
        };
        assert_eq!(
            asserted("file://kind.txt").unwrap().leaves().next().unwrap().text,
            "It is calm and kind."
        );
        let refused = |text: &str, part: &str| {
            let error = match read_text(text) {
                Err(error) => error,
                Ok(mut tests) => tests.remove(0).rubric.unwrap_err(),
            };
            assert!(error.to_string().contains(part), "{text}: {error}");
        };
        assert!(asserted("file://none.txt").unwrap_err().to_string().contains("line 4: \"file://none.txt\""));
        assert!(asserted("file://grade.py").unwrap_err().to_string().contains("no text file"));
        assert!(asserted("{{ nobody }}").unwrap_err().to_string().contains("line 4: `llm-rubric`"));
        refused("prompts: [p]\ntests: file://all.csv", "line 2: `tests` refers to \"file://all.csv\"");
        refused("tests: [file://one.yaml]", "refers to \"file://one.yaml\"");
        refused("defaultTest: file://d.yaml\ntests: []", "line 1: `defaultTest`");
        refused("tests: [{vars: file://vars.yaml}]", "`vars` refers to");
        refused("prompts: [p]\nscenarios: []\ntests: []", "line 2: `scenarios`");
        refused(
            "prompts: ['{% if x %}']\ntests: [{assert: [{type: llm-rubric, value: x}]}]",
            "line 1: the prompt",
        );
        refused("prompts: file://p.json\ntests: [{}]", "no text file");
    }

    #[test]
    fn what_is_not_used_is_named() {
        let text = "
prompts: [one, two, three]
providers: [p]
derivedMetrics: []
tests:
  - threshold: 0.5
    options: {rubricPrompt: x}
    weight: 3
    assert:
      - {type: llm-rubric, value: Kind, threshold: 0.8, provider: q}
      - {type: contains, value: Rayleigh}
      - {type: contains, value: 42}
      - {type: llm-rubric, value: {criteria: Be kind}}
      - {type: llm-rubric, value: Nothing, weight: 0}
      - {type: assert-set, assert: [{type: llm-rubric, value: a}, {type: llm-rubric, value: b}]}
";
        let test = read_text(text).unwrap().remove(0);
        let notes = test.notes.join("\n");
        for part in [
            "2 other prompts are left out",
            "keys that are not read: `derivedMetrics`",
            "keys of the test that are not read: `weight`",
            "options of the test that are not read: `rubricPrompt` (line 7)",
            "`threshold: 0.5` of the test",
            "`threshold: 0.8` of `llm-rubric`",
            "keys of `llm-rubric` that are not read: `provider`",
        ] {
            assert!(notes.contains(part), "{part}: {notes}");
        }
        let expected =
            ["llm-rubric whose value is no text", "llm-rubric with weight 0", "assert-set with 2 assertions"];
        assert_eq!(test.left_out, expected);
        let rubric = test.rubric.unwrap();
        let checks: Vec<_> = rubric.leaves().filter_map(|item| item.check.clone()).collect();
        assert!(
            checks[0].is_met("by Rayleigh") && !checks[0].is_met("by rayleigh") && checks[1].is_met("42")
        );
    }
}
