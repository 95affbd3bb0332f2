//! The script of a case of `claude plugin eval` that fills its work folder before the agent starts.
//!
//! It runs in the sandbox, with the rights of the agent. What it makes is then not the agent's work.

use std::fs;
use std::path::{Path, PathBuf};

use assay_fs::{FileKind, read_within, tree};
use assay_task::plugin_eval::EvalCase;

use crate::run::attempt::Attempt;
use crate::run::broken::{Broken, create_folder};
use crate::run::environment::phases::{Environment, SEED, StepStart};

/// The folder beside the script of assay with the files of the case.
const CASE: &str = "case";

/// Most bytes of a file of a case.
const FILE_CAP: u64 = 64 << 20;

/// Runs the script of a task's case, if it has one.
pub(crate) fn scaffolded<E: Environment>(environment: E, attempt: &Attempt<'_>) -> Result<E, Broken> {
    let case = attempt.trial.task.eval_case.as_ref();
    let Some((case, script)) = case.and_then(|case| Some((case, case.scaffold.as_ref()?))) else {
        return Ok(environment);
    };
    let files = attempt.scratch.join("scaffold");
    write(case, script, &files)?;
    environment.begin_step(&StepStart { name: "", files: Some(&files), healthcheck: None, is_seed: true })
}

/// Writes the script of assay that runs the case's, and the files of the case without those that grade.
fn write(case: &EvalCase, script: &Path, files: &Path) -> Result<(), Broken> {
    let seed = files.join(SEED);
    let folder = seed.parent().map(|folder| folder.join(CASE)).unwrap_or_default();
    create_folder(&folder)?;
    for node in tree::walk(&case.dir).nodes {
        if node.kind == FileKind::File && !is_for_grading(case, &node.path) {
            let content = read_within(&case.dir, &node.path, FILE_CAP);
            let content = content.map_err(|error| Broken::harness(error.to_string()))?;
            write_file(&folder.join(&node.path), &content.bytes)?;
        }
    }
    let path = PathBuf::from(SEED).with_file_name(CASE).join(script);
    let quoted = path.to_string_lossy().replace('\'', "'\\''");
    let text = format!(
        "set -eu\nwork=$PWD\nbash \"$work\"/'{quoted}'\ncd \"$work\"\nrm -rf -- \"$work/.assay-seed\"\n"
    );
    write_file(&seed, text.as_bytes())
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Broken> {
    if let Some(folder) = path.parent() {
        create_folder(folder)?;
    }
    fs::write(path, bytes)
        .map_err(|error| Broken::harness(format!("cannot write {}: {error}", path.display())))
}

/// Whether a file of a case decides or shows what is expected.
fn is_for_grading(case: &EvalCase, path: &Path) -> bool {
    let is_reference = path.extension().is_some_and(|kind| kind == "jsonl");
    let top = path.iter().next().and_then(|part| part.to_str());
    is_reference && case.scaffold.as_deref() != Some(path)
        || matches!(top, Some("prompt.md" | "case.yaml" | "graders" | "mocks" | "samples"))
}
