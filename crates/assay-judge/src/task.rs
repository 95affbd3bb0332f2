//! A scenario as a task in Harbor's layout.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::scenario::Scenario;

/// The file in a task's tests that makes it one that is judged.
pub const RUBRIC: &str = "tests/rubric.json";

/// Seconds that an agent has. The formats state no limit.
const AGENT_TIMEOUT: f64 = 1800.0;

/// Why no task was written.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// The folder exists.
    #[error("{} exists", .0.display())]
    Exists(PathBuf),
    /// The scenario is a rubric alone.
    #[error("it has no instruction")]
    NoInstruction,
    /// A file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

#[derive(Serialize)]
struct TaskFile<'a> {
    version: &'a str,
    metadata: Metadata<'a>,
    agent: Agent,
}

#[derive(Serialize)]
struct Metadata<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    source_format: &'a str,
    source: String,
    assay: Own<'a>,
}

#[derive(Serialize)]
struct Own<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    cluster: &'a str,
    few_tests: &'a str,
}

#[derive(Serialize)]
struct Agent {
    timeout_sec: f64,
}

/// Writes a scenario as the task `into`: `task.toml`, `instruction.md`, `environment/` with its inputs, and
/// `tests/rubric.json`. Texts that the agent must not see stand beside the rubric. Nothing is left behind if it fails.
///
/// # Errors
/// The folder exists, the scenario has no instruction, or a file cannot be written.
pub fn write_task(scenario: &Scenario, image: &str, into: &Path) -> Result<(), TaskError> {
    let instruction = scenario.instruction.as_ref().ok_or(TaskError::NoInstruction)?;
    if into.symlink_metadata().is_ok() {
        return Err(TaskError::Exists(into.to_path_buf()));
    }
    let mut files: Vec<(PathBuf, Vec<u8>)> = vec![
        ("task.toml".into(), task_toml(scenario).into_bytes()),
        ("instruction.md".into(), instruction.clone().into_bytes()),
        ("environment/Dockerfile".into(), dockerfile(scenario, image).into_bytes()),
        (RUBRIC.into(), scenario.rubric.to_json().into_bytes()),
    ];
    files.extend(
        scenario
            .inputs
            .iter()
            .map(|input| (Path::new("environment/files").join(&input.to), input.content.clone())),
    );
    files.extend(
        scenario.hidden.iter().map(|(name, text)| (Path::new("tests").join(name), text.clone().into_bytes())),
    );
    let written = files.into_iter().try_for_each(|(path, content)| write(&into.join(path), &content));
    if written.is_err() {
        let _ = fs::remove_dir_all(into);
    }
    written
}

fn write(path: &Path, content: &[u8]) -> Result<(), TaskError> {
    let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, content));
    written.map_err(|source| TaskError::Write { path: path.to_path_buf(), source })
}

fn task_toml(scenario: &Scenario) -> String {
    let file = TaskFile {
        version: "1.0",
        metadata: Metadata {
            title: scenario.title.as_deref(),
            source_format: scenario.format.name(),
            source: scenario.path.display().to_string(),
            assay: Own { cluster: &scenario.group, few_tests: "judged by a rubric" },
        },
        agent: Agent { timeout_sec: AGENT_TIMEOUT },
    };
    toml::to_string(&file).unwrap_or_default()
}

fn dockerfile(scenario: &Scenario, image: &str) -> String {
    let copy = if scenario.inputs.is_empty() { "" } else { "COPY files /app\n" };
    format!("FROM {image}\nWORKDIR /app\n{copy}")
}
