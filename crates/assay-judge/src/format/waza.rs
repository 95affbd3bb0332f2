//! Evaluations of Microsoft's waza: `eval.yaml`, with tasks in files of their own or in a list.
//!
//! Items are the `prompt` graders, the texts that the answer must or must not contain, and the `outcomes` in
//! sentences. Graders that run code, match patterns or count tool calls are noted and left out: they are not
//! requirements that a judge can read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::source::{at_line, line_of_key};
use super::{FormatError, Id, Ids, OneOrMany, yaml};
use crate::rubric::{Check, Item, Rubric};

/// The name of the set that the graders become.
pub const SET: &str = "graders";

/// The keys of a task that are read, its labels, and the settings of graders, which are checked by kind.
pub(crate) const KEYS: [&str; 19] = [
    "id",
    "name",
    "description",
    "tags.*",
    "prompt",
    "inputs.prompt",
    "inputs.files[].path",
    "inputs.files[].content",
    "expected.output_contains",
    "expected.output_contains_any",
    "expected.output_not_contains",
    "graders[].type",
    "graders[].name",
    "graders[].weight",
    "graders[].config.*",
    "validators[].type",
    "validators[].name",
    "validators[].weight",
    "validators[].config.*",
];

/// The keys of an evaluation that are read, and those that say nothing about tasks and rubrics.
pub(crate) const EVALUATION_KEYS: [&str; 30] = [
    "skill",
    "name",
    "description",
    "version",
    "config.*",
    "model",
    "inputs.*",
    "graders[].type",
    "graders[].name",
    "graders[].weight",
    "graders[].config.*",
    "tasks[].id",
    "tasks[].name",
    "tasks[].description",
    "tasks[].tags.*",
    "tasks[].prompt",
    "tasks[].inputs.prompt",
    "tasks[].inputs.files[].path",
    "tasks[].inputs.files[].content",
    "tasks[].expected.output_contains",
    "tasks[].expected.output_contains_any",
    "tasks[].expected.output_not_contains",
    "tasks[].graders[].type",
    "tasks[].graders[].name",
    "tasks[].graders[].weight",
    "tasks[].graders[].config.*",
    "tasks[].validators[].type",
    "tasks[].validators[].name",
    "tasks[].validators[].weight",
    "tasks[].validators[].config.*",
];

/// An `eval.yaml`.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// The skill.
    pub skill: Option<String>,
    /// Patterns of task files, relative to the file.
    pub files: Vec<String>,
    /// Tasks in the file itself.
    pub tasks: Vec<Task>,
    graders: Vec<Criterion>,
    /// Values of `{{ .Vars.NAME }}`, of which prompts are made.
    variables: BTreeMap<String, String>,
}

/// A task.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// Its id.
    pub id: String,
    /// What it is called.
    pub name: Option<String>,
    /// The instruction.
    pub prompt: String,
    /// Input files: path in the work folder, and content if it is in the task.
    pub files: Vec<(String, Option<String>)>,
    /// The rubric, or why there is none.
    pub rubric: Result<Rubric, FormatError>,
    /// Graders that were left out, by kind.
    pub left_out: Vec<String>,
    /// Settings of graders that are not used.
    pub notes: Vec<String>,
}

#[derive(Deserialize)]
struct EvaluationFile {
    skill: Option<String>,
    #[serde(default)]
    inputs: BTreeMap<String, Value>,
    tasks_from: Option<Value>,
    #[serde(default)]
    tasks: Vec<TaskEntry>,
    #[serde(default)]
    graders: Vec<Criterion>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum TaskEntry {
    Pattern(String),
    Task(Box<TaskFile>),
}

#[derive(Deserialize)]
struct TaskFile {
    id: Id,
    name: Option<String>,
    inputs: Option<Inputs>,
    prompt: Option<String>,
    expected: Option<Value>,
    #[serde(default, alias = "validators")]
    graders: Vec<Criterion>,
}

#[derive(Deserialize, Default)]
struct Inputs {
    prompt: Option<String>,
    #[serde(default)]
    files: Vec<InputFile>,
}

#[derive(Deserialize)]
struct InputFile {
    path: String,
    content: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Criterion {
    #[serde(rename = "type", default)]
    kind: String,
    name: Option<String>,
    weight: Option<f64>,
    #[serde(default)]
    config: BTreeMap<String, Value>,
}

/// What `expected` may contain.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Expected {
    #[serde(rename = "output_contains")]
    contains: Option<OneOrMany>,
    #[serde(rename = "output_contains_any")]
    contains_any: Option<OneOrMany>,
    #[serde(rename = "output_not_contains")]
    contains_not: Option<OneOrMany>,
}

/// Reads the text of an `eval.yaml`.
///
/// # Errors
/// Why it is not one.
pub fn read(text: &str) -> Result<Evaluation, FormatError> {
    let file: EvaluationFile = yaml(text)?;
    if file.tasks_from.is_some() {
        let message = "`tasks_from` refers to rows of a file, which are not read: write them as `tasks`";
        return Err(FormatError::unusable(at_line(line_of_key(text, "tasks_from"), message)));
    }
    let plain = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    };
    let variables =
        file.inputs.iter().filter_map(|(name, value)| Some((name.clone(), plain(value)?))).collect();
    let (skill, graders) = (file.skill, file.graders);
    let mut evaluation = Evaluation { skill, files: Vec::new(), tasks: Vec::new(), graders, variables };
    for entry in file.tasks {
        match entry {
            TaskEntry::Pattern(pattern) => evaluation.files.push(pattern),
            TaskEntry::Task(task) => evaluation.tasks.push(evaluation.task(*task)),
        }
    }
    Ok(evaluation)
}

impl Evaluation {
    /// Reads the text of a task's file. The evaluation's graders apply to it too.
    ///
    /// # Errors
    /// Why it is not one.
    pub fn read_task(&self, text: &str) -> Result<Task, FormatError> {
        Ok(self.task(yaml(text)?))
    }

    fn task(&self, file: TaskFile) -> Task {
        let mut ids = Ids::new();
        let mut items = Vec::new();
        match &file.expected {
            Some(Value::String(sentence)) => items.push(Item::new(ids.unique("expected"), sentence, 1.0)),
            Some(value) => {
                let expected = serde_json::from_value::<Expected>(value.clone()).unwrap_or_default();
                items.extend(texts(&mut ids, &expected));
            }
            None => {}
        }
        let (mut left_out, mut notes, mut fault) = (Vec::new(), Vec::new(), None);
        for grader in self.graders.iter().chain(&file.graders) {
            let prompt = ["prompt", "criteria", "rubric"]
                .iter()
                .find_map(|key| grader.config.get(*key).and_then(Value::as_str));
            let name = grader.name.as_deref().unwrap_or(&grader.kind);
            let is_pair = grader.config.get("mode").and_then(Value::as_str) == Some("pairwise");
            match prompt {
                Some(_) if is_pair => left_out.push(format!("{name} ({}, `mode: pairwise`)", grader.kind)),
                Some(text) if ["prompt", "llm", "llm_judge", "rubric"].contains(&grader.kind.as_str()) => {
                    let points = grader.weight.unwrap_or(1.0);
                    let text = match self.filled(text.trim()) {
                        Ok(text) => text,
                        Err(reason) => {
                            fault.get_or_insert(reason);
                            continue;
                        }
                    };
                    let item = Item::new(ids.unique(name), text, points);
                    items.push(Item { name: grader.name.clone(), ..item });
                    let others = grader.config.keys().filter(|key| !PROMPT_KEYS.contains(&key.as_str()));
                    let others: Vec<String> = others.map(|key| format!("`{key}`")).collect();
                    if !others.is_empty() {
                        notes.push(format!("settings of {name} that are not used: {}", others.join(", ")));
                    }
                }
                _ => left_out.push(format!("{name} ({})", grader.kind)),
            }
        }
        let inputs = file.inputs.unwrap_or_default();
        let prompt = inputs.prompt.or(file.prompt).unwrap_or_default();
        let prompt = self.filled(&prompt).unwrap_or_else(|reason| {
            fault.get_or_insert(reason);
            String::new()
        });
        let rubric = if let Some(reason) = fault {
            Err(reason)
        } else if items.is_empty() {
            Err(FormatError::unusable(
                "it has no requirement that a judge can read: neither `prompt` graders nor expected texts",
            ))
        } else {
            let rubric = Rubric::of_items(SET, items);
            rubric.check().map(|()| rubric).map_err(FormatError::from)
        };
        Task {
            id: file.id.to_string(),
            name: file.name,
            prompt,
            files: inputs.files.into_iter().map(|file| (file.path, file.content)).collect(),
            rubric,
            left_out,
            notes,
        }
    }

    /// A text in which `{{ .Vars.NAME }}` is the input of the evaluation.
    ///
    /// # Errors
    /// Another template, or an input that is not a text.
    fn filled(&self, text: &str) -> Result<String, FormatError> {
        let (mut filled, mut rest) = (String::with_capacity(text.len()), text);
        while let Some((before, after)) = rest.split_once("{{") {
            let inner = after.split_once("}}");
            let value = inner.and_then(|(inner, _)| {
                self.variables.get(inner.trim_matches([' ', '-']).strip_prefix(".Vars.")?)
            });
            let (Some(value), Some((_, after))) = (value, inner) else {
                let inner = inner.map_or(after, |(inner, _)| inner);
                let shown: String = inner.lines().next().unwrap_or_default().chars().take(60).collect();
                return Err(FormatError::Template(format!("{{{{{shown}}}}}")));
            };
            filled.push_str(before);
            filled.push_str(value);
            rest = after;
        }
        filled.push_str(rest);
        Ok(filled)
    }
}

/// Settings of a grader with a prompt that are read, or say which model decides.
const PROMPT_KEYS: [&str; 4] = ["prompt", "criteria", "rubric", "model"];

/// The items of texts that the answer must or must not contain.
fn texts(ids: &mut Ids, expected: &Expected) -> Vec<Item> {
    let mut items = Vec::new();
    let mut add = |name: &str, text: String, any_of: Vec<&str>, negated: bool| {
        let check = Check::AnswerContains(any_of.into_iter().map(str::to_owned).collect());
        items.push(Item { check: Some(check), negated, ..Item::new(ids.unique(name), text, 1.0) });
    };
    for text in expected.contains.iter().flat_map(OneOrMany::texts) {
        add(&format!("contains {text}"), format!("The answer contains {text:?}."), vec![text], false);
    }
    if let Some(any) = &expected.contains_any {
        let list = any.texts();
        add("contains any", format!("The answer contains one of {list:?}."), list, false);
    }
    for text in expected.contains_not.iter().flat_map(OneOrMany::texts) {
        add(&format!("contains {text}"), format!("The answer contains {text:?}."), vec![text], true);
    }
    items
}

#[derive(Serialize)]
struct WrittenTask<'a> {
    id: &'a str,
    name: &'a str,
    inputs: WrittenInputs<'a>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    expected: BTreeMap<&'a str, Vec<&'a str>>,
    graders: Vec<WrittenCriterion<'a>>,
}

#[derive(Serialize)]
struct WrittenInputs<'a> {
    prompt: &'a str,
}

#[derive(Serialize)]
struct WrittenCriterion<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    weight: Option<f64>,
    config: BTreeMap<&'a str, &'a str>,
}

/// The text of an `eval.yaml` whose tasks are in `tasks/`.
pub fn write_evaluation(skill: &str) -> String {
    format!("skill: {}\ntasks:\n  - \"tasks/*.yaml\"\n", serde_json::Value::from(skill))
}

/// The text of a task's file: a `prompt` grader for each leaf, `expected` for those decided by a text. Classes,
/// scales and prerequisites have no place in the format.
///
/// # Errors
/// The rubric cannot be written as YAML.
pub fn write(task: &Task, rubric: &Rubric) -> Result<String, FormatError> {
    let mut expected: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut graders = Vec::new();
    for item in rubric.leaves() {
        match &item.check {
            Some(Check::AnswerContains(any_of)) if any_of.len() == 1 => {
                let key = if item.negated { "output_not_contains" } else { "output_contains" };
                expected.entry(key).or_default().extend(any_of.iter().map(String::as_str));
            }
            Some(Check::AnswerContains(any_of)) if !item.negated => {
                expected.entry("output_contains_any").or_default().extend(any_of.iter().map(String::as_str));
            }
            _ => graders.push(WrittenCriterion {
                name: item.name.as_deref().unwrap_or(&item.id),
                kind: "prompt",
                weight: ((item.points - 1.0).abs() > 1e-9).then_some(item.points),
                config: BTreeMap::from([("prompt", item.text.as_str())]),
            }),
        }
    }
    let written = WrittenTask {
        id: &task.id,
        name: task.name.as_deref().unwrap_or(&task.id),
        inputs: WrittenInputs { prompt: &task.prompt },
        expected,
        graders,
    };
    serde_saphyr::to_string(&written).map_err(|error| FormatError::Syntax(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVALUATION: &str = "
skill: notes
tasks: ['tasks/*.yaml']
graders:
  - {type: code, name: any_output, config: {assertions: ['len(output) > 0']}}
";

    const TASK: &str = "
id: note-1
name: A note
inputs:
  prompt: Write a note
  files: [{path: a.txt}, {path: b.txt, content: B}]
expected:
  output_contains: [date]
  output_contains_any: [title, heading]
  output_not_contains: draft
graders:
  - {type: prompt, name: tone, weight: 2, config: {prompt: The tone is friendly.}}
";

    #[test]
    fn tasks_are_read_and_written() {
        let evaluation = read(EVALUATION).unwrap();
        assert_eq!(evaluation.files, ["tasks/*.yaml"]);
        let task = evaluation.read_task(TASK).unwrap();
        assert_eq!(task.left_out, ["any_output (code)"]);
        assert_eq!(task.files, [("a.txt".into(), None), ("b.txt".into(), Some("B".into()))]);
        let rubric = task.rubric.clone().unwrap();
        let found: Vec<_> =
            rubric.leaves().map(|item| (item.id.as_str(), item.points, item.negated)).collect();
        assert_eq!(
            found,
            [
                ("contains-date", 1.0, false),
                ("contains-any", 1.0, false),
                ("contains-draft", 1.0, true),
                ("tone", 2.0, false)
            ]
        );
        let again = evaluation.read_task(&write(&task, &rubric).unwrap()).unwrap();
        assert_eq!(again.rubric.unwrap(), rubric);
    }

    #[test]
    fn a_task_without_requirements_has_no_rubric() {
        let task = read(EVALUATION).unwrap().read_task("id: 1\nprompt: p\n").unwrap();
        assert!(task.rubric.unwrap_err().to_string().contains("no requirement that a judge can read"));
        let inline = read("tasks: [{id: x, prompt: p, expected: It works}]").unwrap();
        assert_eq!(inline.tasks[0].rubric.as_ref().unwrap().leaves().next().unwrap().text, "It works");
    }
}
