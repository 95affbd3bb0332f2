//! Any table with a row for each trial: CSV, JSON Lines or Parquet, by its extension.

use std::collections::BTreeSet;
use std::path::Path;

use assay_store::{AttemptEnd, ResultAttempt, ResultSource, ToolResults};
use assay_table::{ReadError, TableReader, Value};

use super::error::ResultError;
use super::format::role_of;
use super::json;
use crate::import::facts::{skill_number, skill_tokens};

/// Most rows of a table.
const ROWS: usize = 1_000_000;

/// The columns of a table that have a meaning, where they have other names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResultColumns {
    /// Meanings and names: `task=instance_id`.
    pub named: Vec<(String, String)>,
}

/// Each meaning, and the names under which tables have it; the first that a table has counts.
const COLUMNS: [(&str, &[&str]); 12] = [
    (
        "task",
        &[
            "task",
            "case",
            "task_id",
            "case_id",
            "task_name",
            "test",
            "scenario",
            "instance_id",
            "eval_id",
            "eval_name",
            "id",
        ],
    ),
    (
        "condition",
        &[
            "condition",
            "arm",
            "variant",
            "configuration",
            "config",
            "mode",
            "treatment",
            "group",
            "skill_mode",
        ],
    ),
    (
        "score",
        &["score", "passed", "pass", "reward", "success", "solved", "resolved", "correct", "pass_rate"],
    ),
    ("cluster", &["cluster", "task_cluster"]),
    ("model", &["model", "model_id"]),
    ("error", &["error", "error_message", "exception"]),
    ("cost", &["cost_usd", "cost"]),
    ("opened", &["opened", "skill_opened", "skill_used", "triggered"]),
    ("category", &["category", "domain"]),
    ("difficulty", &["difficulty"]),
    ("skills", &["skills"]),
    ("skill_tokens", &["skill_tokens"]),
];

impl ResultColumns {
    /// Parses `task=instance_id`.
    ///
    /// # Errors
    /// Text of another form, or an unknown meaning, in words for the user.
    pub fn parse_pair(text: &str) -> Result<(String, String), ResultColumnError> {
        let (role, name) = text.split_once('=').ok_or_else(|| ResultColumnError(text.to_owned()))?;
        if name.is_empty() || !COLUMNS.iter().any(|(known, _)| *known == role) {
            return Err(ResultColumnError(text.to_owned()));
        }
        Ok((role.to_owned(), name.to_owned()))
    }
}

/// A name of a column in another form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid column {0:?}: expected MEANING=NAME, with task, condition, score, cluster, model, error, cost, opened, category, difficulty, skills or skill_tokens"
)]
pub struct ResultColumnError(String);

/// Whether a file has the extension of a table.
pub(super) fn is_table(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let name = name.strip_suffix(".zst").unwrap_or(&name).to_owned();
    ["csv", "jsonl", "ndjson", "parquet"].iter().any(|extension| name.ends_with(&format!(".{extension}")))
}

/// Where the columns are.
struct Places {
    places: [Option<usize>; COLUMNS.len()],
}

impl Places {
    fn find(columns: &[String], named: &ResultColumns) -> Self {
        let at = |name: &str| columns.iter().position(|column| column.eq_ignore_ascii_case(name));
        let places = COLUMNS.map(|(role, names)| match named.named.iter().find(|(known, _)| known == role) {
            Some((_, name)) => columns.iter().position(|column| column == name),
            None => names.iter().find_map(|name| at(name)),
        });
        Self { places }
    }

    fn value<'a>(&self, row: &'a [Value], role: usize) -> &'a Value {
        self.places[role].and_then(|at| row.get(at)).unwrap_or(&Value::Null)
    }
}

const TASK: usize = 0;
const CONDITION: usize = 1;
const SCORE: usize = 2;
const CLUSTER: usize = 3;
const MODEL: usize = 4;
const ERROR: usize = 5;
const COST: usize = 6;
const OPENED: usize = 7;
const CATEGORY: usize = 8;
const DIFFICULTY: usize = 9;
const SKILLS: usize = 10;
const SKILL_TOKENS: usize = 11;

pub(super) fn read_table(path: &Path, named: &ResultColumns) -> Result<ToolResults, ResultError> {
    let invalid = |reason: String| ResultError::invalid(path, reason);
    let mut reader = TableReader::open(path).map_err(|error| read_failure(path, error))?;
    let mut results = ToolResults {
        source: ResultSource {
            format: "table".to_owned(),
            tool: "unknown".to_owned(),
            version: None,
            files: vec![path.to_owned()],
        },
        scores_failures: true,
        ..ToolResults::default()
    };
    let mut skipped = 0_usize;
    let mut first_skipped = None;
    while let Some(row) = reader.next() {
        let row = row.map_err(|error| read_failure(path, error))?;
        // The columns of JSON Lines are known row by row.
        let places = Places::find(reader.columns(), named);
        match read_row(&mut results, &places, &row.values) {
            Ok(()) => {}
            Err(reason) => {
                skipped += 1;
                first_skipped.get_or_insert(format!("line {}: {reason}", row.line));
            }
        }
        if results.attempts.len() > ROWS {
            return Err(invalid(format!("more than {ROWS} rows")));
        }
    }
    let places = Places::find(reader.columns(), named);
    for (role, (meaning, names)) in COLUMNS.iter().enumerate() {
        let asked = named.named.iter().find(|(known, _)| known == meaning);
        if places.places[role].is_none() && (role <= SCORE || asked.is_some()) {
            let looked = asked.map_or_else(|| names.join(", "), |(_, name)| name.clone());
            return Err(invalid(format!(
                "no column for the {meaning} (looked for {looked}); columns: {}. --column {meaning}=NAME names it",
                reader.columns().join(", ")
            )));
        }
    }
    if let Some(first) = first_skipped {
        results.remark("skipped-rows", format!("{skipped} rows cannot be used; {first}"));
    }
    let used: BTreeSet<usize> = places.places.into_iter().flatten().collect();
    let others: Vec<&str> = reader
        .columns()
        .iter()
        .enumerate()
        .filter(|(at, _)| !used.contains(at))
        .map(|(_, name)| name.as_str())
        .collect();
    if !others.is_empty() {
        results.unused.push(format!("the columns {}", others.join(", ")));
    }
    Ok(results)
}

fn read_failure(path: &Path, error: ReadError) -> ResultError {
    match error {
        ReadError::Io { source, .. } => ResultError::Read { path: path.to_owned(), source },
        ReadError::Row { line, message, .. } => ResultError::invalid(path, format!("line {line}: {message}")),
        other => ResultError::Import(other.into()),
    }
}

fn words(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Bool(value) => Some(value.to_string()),
        Value::Integer(value) => Some(value.to_string()),
        Value::Float(value) => Some(value.to_string()),
        Value::Text(text) => json::shown(text),
    }
}

fn truth(value: &Value) -> Option<bool> {
    match words(value)?.to_lowercase().as_str() {
        "true" | "yes" | "1" => Some(true),
        "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// A score: a number, or a word for passed or failed.
fn score_of(value: &Value) -> Result<Option<f64>, String> {
    let Value::Text(text) = value else { return Ok(value.as_f64()) };
    match text.trim().to_lowercase().as_str() {
        "" => Ok(None),
        "true" | "yes" | "pass" | "passed" => Ok(Some(1.0)),
        "false" | "no" | "fail" | "failed" => Ok(Some(0.0)),
        other => Err(format!("the score {:?} is not a number", json::shown(other).unwrap_or_default())),
    }
}

fn read_row(results: &mut ToolResults, places: &Places, row: &[Value]) -> Result<(), String> {
    let value = |role: usize| places.value(row, role);
    let case = words(value(TASK)).ok_or("no task")?;
    let condition = words(value(CONDITION)).ok_or("no condition")?;
    let score = score_of(value(SCORE))?;
    if score.is_some_and(|score| !score.is_finite()) {
        return Err("the score is not a finite number".to_owned());
    }
    let error = match value(ERROR) {
        Value::Bool(false) | Value::Integer(0) => None,
        other => words(other),
    };
    let end = match (error, score) {
        (Some(error), _) => AttemptEnd::Errored(error),
        (None, None) => AttemptEnd::Skipped("it has no score".to_owned()),
        (None, Some(_)) => AttemptEnd::Graded,
    };
    let arm = results.arm_index(&condition, role_of(&condition));
    results.arms[arm].models.extend(words(value(MODEL)));
    results.attempts.push(ResultAttempt {
        arm,
        case,
        cluster: words(value(CLUSTER)),
        end,
        score,
        cost_usd: value(COST).as_f64().filter(|cost| cost.is_finite() && *cost >= 0.0),
        opened: truth(value(OPENED)),
        category: words(value(CATEGORY)),
        difficulty: words(value(DIFFICULTY)),
        skills: skill_number(value(SKILLS)),
        skill_tokens: skill_tokens(value(SKILL_TOKENS)),
        ..ResultAttempt::default()
    });
    Ok(())
}
