//! The verifier of a `task.md` task: a wrapper around `verify.sh`, placed so that `verify.sh` finds
//! the files that it names.
//!
//! ```text
//! test.sh                    the wrapper
//! NAME                       a script of tasks/.., if verify.sh names ../../NAME
//! tasks/NAME                 a script of tasks/, if verify.sh names ../NAME
//! tasks/task/                the task's folder without solution/ and review files
//! ```

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use assay_diagnostic::escape;
use assay_fs::tree::Entry;
use assay_skill::{Diagnostic, Digest, Hasher, Severity};

use super::layout::is_graded;
use crate::TaskError;
use crate::dockerfile::copy_folder;

/// Runs `verify.sh` and writes the reward.
pub(super) const WRAPPER: &str = include_str!("grade.sh");

/// The target of the task's folder: as many levels deep as the scripts that it shares need.
const FOLDER: &str = "/tasks/task";

/// Most bytes of a shared script.
const SHARED_CAP: u64 = 1 << 20;
/// Most shared scripts of a task.
const SHARED_LIMIT: usize = 16;

/// A script above a task's folder that several tasks share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shared {
    /// How many folders above the task's it is: 1 or 2.
    up: usize,
    /// Its name.
    name: String,
    /// Its content, kept so that the digest covers what runs.
    bytes: Vec<u8>,
}

impl Shared {
    /// Its path, for a task in `dir`, and its content.
    pub(super) fn file(&self, dir: &Path) -> (PathBuf, &[u8]) {
        (dir.join("../".repeat(self.up)).join(&self.name), &self.bytes)
    }
}

/// Finds the scripts that a `verify.sh` names as `../NAME` or `../../NAME`, and reports those that
/// it cannot have.
///
/// This reads untrusted files outside of the task's folder. So it accepts only regular files called
/// `….py` or `….sh` directly in the folder of the tasks, if that is called `tasks`, or directly
/// above it.
pub(super) fn shared(dir: &Path, verifier: &str, diagnostics: &mut Vec<Diagnostic>) -> Vec<Shared> {
    let mut found = Vec::new();
    for (up, name) in named(verifier).into_iter().take(2 * SHARED_LIMIT) {
        let read = script(dir, up, &name);
        let read = if found.len() < SHARED_LIMIT { read } else { read.and(Err(NotShared::TooMany)) };
        match read {
            Ok(bytes) => found.push(Shared { up, name, bytes }),
            Err(reason) => {
                let shown = escape(&format!("{}{name}", "../".repeat(up)));
                let message = format!("it uses {shown}, which is not available to it: {reason}");
                let hint = "put it in the task's folder, or next to the folder `tasks` as a script";
                let place = dir.join("verify.sh");
                diagnostics.push(
                    Diagnostic::new(Severity::Warning, "verifier-reaches-out", place, message).hint(hint),
                );
            }
        }
    }
    found
}

/// Every path of a text that climbs, as the number of its `../` and what follows them; each once.
fn named(text: &str) -> BTreeSet<(usize, String)> {
    let mut found = BTreeSet::new();
    let mut rest = text;
    while let Some(at) = rest.find("../") {
        let mut up = 0;
        let mut after = &rest[at..];
        while let Some(next) = after.strip_prefix("../") {
            (up, after) = (up + 1, next);
        }
        let belongs = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/');
        let end = after.find(|c: char| !belongs(c)).unwrap_or(after.len());
        let (name, next) = after.split_at(end);
        if !name.is_empty() {
            found.insert((up, name.to_owned()));
        }
        rest = next;
    }
    found
}

/// Why a script is left out.
#[derive(Debug, thiserror::Error)]
enum NotShared {
    #[error(transparent)]
    Read(#[from] io::Error),
    #[error("the folder above the task is not called `tasks`")]
    Unrelated,
    #[error("it is too far above the task")]
    TooFar,
    #[error("only .py and .sh scripts next to `tasks` are supported")]
    NoScript,
    #[error("not a regular file")]
    NotAFile,
    #[error("larger than {SHARED_CAP} bytes")]
    TooLarge,
    #[error("there are too many")]
    TooMany,
}

fn script(dir: &Path, up: usize, name: &str) -> Result<Vec<u8>, NotShared> {
    let real = fs::canonicalize(dir)?;
    let tasks = real.parent().filter(|tasks| tasks.file_name().is_some_and(|name| name == "tasks"));
    let tasks = tasks.ok_or(NotShared::Unrelated)?;
    let folder = match up {
        1 => Some(tasks),
        2 => tasks.parent(),
        _ => None,
    };
    let folder = folder.ok_or(NotShared::TooFar)?;
    let is_script = Path::new(name).extension().is_some_and(|kind| kind == "py" || kind == "sh");
    if name.contains('/') || name.starts_with('.') || !is_script || name == "test.sh" {
        return Err(NotShared::NoScript);
    }
    let path = folder.join(name);
    let is_file = path.symlink_metadata()?.is_file();
    if !is_file {
        return Err(NotShared::NotAFile);
    }
    let content = assay_fs::read_within(folder, Path::new(name), SHARED_CAP)?;
    if content.truncated {
        return Err(NotShared::TooLarge);
    }
    Ok(content.bytes)
}

/// The digest of the entries of a task's folder, the wrapper and shared scripts.
pub(super) fn digest(folder: &Digest, shared: &[Shared]) -> Digest {
    let mut hasher = Hasher::new("assay.task-md/1");
    hasher.part(WRAPPER.as_bytes()).digest(folder);
    for script in shared {
        hasher.number(script.up as u64).part(script.name.as_bytes()).digest(&Digest::of(&script.bytes));
    }
    hasher.finish()
}

/// Whether an entry of a task's folder is used for grading.
pub(super) fn is_for_grading(entry: &Entry) -> bool {
    is_graded(&entry.path)
}

pub(super) fn lay_out(root: &Path, shared: &[Shared], into: &Path) -> Result<(), TaskError> {
    copy_folder(root, is_graded, Path::new(FOLDER), into)?;
    for script in shared {
        let folder = if script.up == 1 { into.join("tasks") } else { into.to_path_buf() };
        // A script of the name `task` has an extension: it cannot meet the folder of the task.
        write(&folder.join(&script.name), &script.bytes)?;
    }
    write(&into.join("test.sh"), WRAPPER.as_bytes())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), TaskError> {
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o755)
        .open(path)
        .and_then(|mut file| file.write_all(bytes));
    written.map_err(|source| TaskError::Write { path: PathBuf::from(path), source })
}
