//! Evaluations of Microsoft's waza: `eval.yaml`, with tasks in files of their own or in a list.
//!
//! Items are the `prompt` graders, the texts that the answer must or must not contain, and the `outcomes` in
//! sentences. Graders that run code, match patterns or count tool calls are noted and left out: they are not
//! requirements that a judge can read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{FormatError, Id, Ids, OneOrMany, yaml};
use crate::rubric::{Check, Item, Rubric};

/// The name of the set that the graders become.
pub const SET: &str = "graders";

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
}

#[derive(Deserialize)]
struct EvaluationFile {
    skill: Option<String>,
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
    let mut evaluation =
        Evaluation { skill: file.skill, files: Vec::new(), tasks: Vec::new(), graders: file.graders };
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
        let mut left_out = Vec::new();
        for grader in self.graders.iter().chain(&file.graders) {
            let prompt = ["prompt", "criteria", "rubric"]
                .iter()
                .find_map(|key| grader.config.get(*key).and_then(Value::as_str));
            let name = grader.name.as_deref().unwrap_or(&grader.kind);
            match prompt {
                Some(text) if ["prompt", "llm", "llm_judge", "rubric"].contains(&grader.kind.as_str()) => {
                    let points = grader.weight.unwrap_or(1.0);
                    let item = Item::new(ids.unique(name), text.trim(), points);
                    items.push(Item { name: grader.name.clone(), ..item });
                }
                _ => left_out.push(format!("{name} ({})", grader.kind)),
            }
        }
        let rubric = if items.is_empty() {
            Err(FormatError::unusable(
                "it has no requirement that a judge can read: neither `prompt` graders nor expected texts",
            ))
        } else {
            let rubric = Rubric::of_items(SET, items);
            rubric.check().map(|()| rubric).map_err(FormatError::from)
        };
        let inputs = file.inputs.unwrap_or_default();
        Task {
            id: file.id.to_string(),
            name: file.name,
            prompt: inputs.prompt.or(file.prompt).unwrap_or_default(),
            files: inputs.files.into_iter().map(|file| (file.path, file.content)).collect(),
            rubric,
            left_out,
        }
    }
}

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
