//! An experiment whose instructions are requests: how often an agent opens their skills by itself.

use std::collections::BTreeMap;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::{fs, io};

use serde_json::Value;

use super::library::RequestLibrary;
use crate::error::{DraftError, Existing, InputFault};

const EXPERIMENT: &str = include_str!("../../templates/requests.toml");
const DOCKERFILE: &str = "FROM debian:12-slim\nWORKDIR /app\n";
const TASK: &str = "version = \"1.0\"\n\n[agent]\ntimeout_sec = 300.0\n\n[verifier]\ntimeout_sec = 60.0\n\n\
                    [environment]\ncpus = 1\nmemory_mb = 1024\nallow_internet = false\n";
const TEST: &str = include_str!("../../templates/requests-test.sh");
const SOLUTION: &str = "#!/bin/bash\necho \"a result\" > /app/result.txt\n";

/// Refuses to write into a folder that is there.
///
/// # Errors
/// It is there.
pub fn check_new_experiment(folder: &Path) -> Result<(), DraftError> {
    match folder.symlink_metadata() {
        Ok(_) => Err(InputFault::Exists { path: folder.to_owned(), what: Existing::Experiment }.into()),
        Err(_) => Ok(()),
    }
}

/// Writes the experiment: a task for each request, and all skills of the library with their `SKILL.md` only.
pub(crate) fn write_experiment(
    folder: &Path,
    requests: &[Value],
    library: &RequestLibrary,
) -> Result<(), DraftError> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for skill in library.skills.all() {
        *counts.entry(folder_name(&skill.name)).or_default() += 1;
    }
    let mut folders = BTreeMap::new();
    for skill in library.skills.all() {
        let mut name = folder_name(&skill.name);
        // The experiment finds a skill by the name of its folder, too, which must be that of one skill.
        if counts.get(&name).is_some_and(|count| *count > 1) {
            name = format!("{name}-{}", assay_fs::Digest::of(skill.id.as_bytes()).short());
        }
        write_file(&folder.join("skills").join(&name).join("SKILL.md"), &skill.text, false)?;
        folders.insert(skill.id.as_str(), name);
    }
    let mut pairs = String::new();
    for (number, request) in (1..).zip(requests) {
        let name = format!("request-{number:04}");
        let task = folder.join("tasks").join(&name);
        let text = request["query"].as_str().unwrap_or_default();
        write_file(&task.join("task.toml"), TASK, false)?;
        write_file(&task.join("instruction.md"), &format!("{text}\n"), false)?;
        write_file(&task.join("environment/Dockerfile"), DOCKERFILE, false)?;
        write_file(&task.join("tests/test.sh"), TEST, true)?;
        write_file(&task.join("solution/solve.sh"), SOLUTION, true)?;
        let ids = request["gold_ids"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let skills: Vec<&String> = ids.filter_map(|id| folders.get(id)).collect();
        pairs.push_str(&format!("\n[tasks.\"{name}\"]\ncurated = {skills:?}\n"));
    }
    write_file(&folder.join("experiment.toml"), &format!("{EXPERIMENT}{pairs}"), false)
}

/// A name of the form that clients require, so that a hostile name leads nowhere else.
fn folder_name(name: &str) -> String {
    let name: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .take(60)
        .collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "skill".to_owned() } else { name.to_owned() }
}

fn write_file(path: &Path, text: &str, executable: bool) -> Result<(), DraftError> {
    use std::io::Write;
    let failed = |error: io::Error| DraftError::io(format!("write {}", path.display()), error);
    fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).map_err(failed)?;
    let mode = if executable { 0o755 } else { 0o644 };
    let mut file =
        fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)
}
