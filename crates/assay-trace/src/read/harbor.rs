//! Harbor's folders: a trial, and the trials of a job.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A larger `result.json` is ignored, in bytes.
const RESULT_CAP: u64 = 16 << 20;

/// Whether a folder is a trial's.
pub fn is_trial(folder: &Path) -> bool {
    result(folder).is_some_and(|result| result.get("trial_name").is_some())
}

/// The trials of a job, sorted; empty if the folder is not a job.
pub fn trials(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .filter(|path| is_trial(path))
        .collect();
    found.sort();
    found
}

/// The content of a trial's `result.json`.
pub(super) fn result(folder: &Path) -> Option<Value> {
    let path = folder.join("result.json");
    let meta = fs::symlink_metadata(&path).ok()?;
    if !meta.is_file() || meta.len() > RESULT_CAP {
        return None;
    }
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}
