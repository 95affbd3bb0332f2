//! Where the traces, skills and tasks of a corpus lie.
//!
//! ```text
//! traces/<arm>/<task>/{with,without}/<repetition>/*.jsonl
//! skills/<task>/SKILL.md
//! tasks/<task>.md
//! task_metadata.json          optional: {"<task>": {"baseline_pass_rate": 0.5}}
//! ```

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// What a folder holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Layout {
    /// The tasks that have traces, by name.
    pub tasks: Vec<TaskFiles>,
    /// What is not where it should be.
    pub remarks: Vec<Remark>,
}

/// The files of one task.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskFiles {
    /// Its name.
    pub task: String,
    /// Its skill, where there is one.
    pub skill: Option<PathBuf>,
    /// What the agent was asked, where there is such a file.
    pub prompt: Option<PathBuf>,
    /// Pass rate without the skill, where it is known.
    pub baseline: Option<f64>,
    /// Its traces, by arm, condition and name.
    pub traces: Vec<TraceFile>,
}

/// A trace and the labels its place gives it.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceFile {
    /// The file.
    pub path: PathBuf,
    /// Its path below `traces/`, with `/`.
    pub id: String,
    /// The agent it belongs to.
    pub arm: String,
    /// Whether it had the skill.
    pub with: bool,
}

/// Something that is passed over, or missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Where.
    pub path: PathBuf,
    /// What.
    pub message: String,
}

/// Finds the traces below a folder. Only a folder that cannot be listed is an error.
pub fn find(root: &Path) -> io::Result<Layout> {
    let mut layout = Layout::default();
    let mut tasks: BTreeMap<String, Vec<TraceFile>> = BTreeMap::new();
    let traces = root.join("traces");
    for (arm, folder) in folders(&traces)? {
        for (task, folder) in folders(&folder)? {
            for (condition, folder) in folders(&folder)? {
                let with = match condition.as_str() {
                    "with" => true,
                    "without" => false,
                    _ => {
                        let message = "neither `with` nor `without`".to_owned();
                        layout.remarks.push(Remark { path: folder, message });
                        continue;
                    }
                };
                for (repetition, folder) in folders(&folder)? {
                    for (name, path) in files(&folder)? {
                        let id = format!("{arm}/{task}/{condition}/{repetition}/{name}");
                        tasks.entry(task.clone()).or_default().push(TraceFile {
                            path,
                            id,
                            arm: arm.clone(),
                            with,
                        });
                    }
                }
            }
        }
    }
    let metadata = metadata(root, &mut layout.remarks);
    for (task, traces) in tasks {
        let existing = |path: PathBuf| path.is_file().then_some(path);
        let skill = existing(root.join("skills").join(&task).join("SKILL.md"));
        if skill.is_none() {
            let (path, message) = (
                root.join("skills").join(&task),
                "no SKILL.md for this task: its runs are not audited".to_owned(),
            );
            layout.remarks.push(Remark { path, message });
        }
        let prompt = existing(root.join("tasks").join(format!("{task}.md")));
        let baseline = metadata.get(&task).and_then(|task| {
            task.get("baseline_pass_rate").or_else(|| task.get("without_skill_pass_rate"))?.as_f64()
        });
        layout.tasks.push(TaskFiles { task, skill, prompt, baseline, traces });
    }
    Ok(layout)
}

fn metadata(root: &Path, remarks: &mut Vec<Remark>) -> BTreeMap<String, Value> {
    let path = root.join("task_metadata.json");
    let Ok(bytes) = std::fs::read(&path) else { return BTreeMap::new() };
    serde_json::from_slice(&bytes).unwrap_or_else(|error| {
        remarks.push(Remark { path, message: format!("not a table of tasks: {error}") });
        BTreeMap::new()
    })
}

fn folders(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    entries(folder, &|path| path.is_dir())
}

fn files(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    entries(folder, &|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.trim_end_matches(".gz").trim_end_matches(".zst");
        path.is_file() && [".jsonl", ".json"].iter().any(|end| name.ends_with(end))
    })
}

/// What a folder holds of a kind, by name; hidden ones are left out.
fn entries(folder: &Path, wanted: &dyn Fn(&Path) -> bool) -> io::Result<Vec<(String, PathBuf)>> {
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.starts_with('.') && wanted(&path) {
            entries.push((name, path));
        }
    }
    entries.sort();
    Ok(entries)
}
