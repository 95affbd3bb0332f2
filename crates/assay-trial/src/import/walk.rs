//! Finds trial folders below the given ones: folders of jobs, jobs, or trials.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use assay_fs::{FsError, read_beneath};
use serde_json::Value;

/// Deepest folder below those that the user gave; no layout of jobs is deeper.
const DEPTH: usize = 8;

/// Most entries read in one folder.
const ENTRIES: usize = 200_000;

/// Most bytes of a JSON file of Harbor's. Tracebacks and token lists make results long.
const JSON_CAP: u64 = 64 << 20;

/// The result of the search.
#[derive(Debug, Default)]
pub(super) struct Walk {
    pub(super) trials: Vec<TrialFolder>,
    /// Unusable files and folders, by reason.
    pub(super) unusable: BTreeMap<String, usize>,
    /// The folder that is being searched.
    root: PathBuf,
}

/// A trial's folder.
#[derive(Debug)]
pub(super) struct TrialFolder {
    pub(super) folder: PathBuf,
    /// The folder that the user named, above it.
    pub(super) root: PathBuf,
    /// The folder's name.
    pub(super) name: String,
    /// Names of the job: of the folders above up to the one the user named, nearest first, and the
    /// job's own name.
    pub(super) job: Vec<String>,
    /// The digest of result.json.
    pub(super) digest: String,
    /// result.json.
    pub(super) result: Value,
}

impl Walk {
    /// Searches a folder.
    pub(super) fn folder(&mut self, root: &Path) {
        // Without this a root called `.` has no name.
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let mut above: Vec<String> = Vec::new();
        // A trial that is named directly still has its job's name above it.
        above.extend(root.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned()));
        if !is_trial(&root) {
            above.clear();
        }
        self.root.clone_from(&root);
        self.visit(&root, &above, DEPTH);
    }

    pub(super) fn count(&mut self, reason: impl Into<String>) {
        *self.unusable.entry(reason.into()).or_default() += 1;
    }

    fn visit(&mut self, folder: &Path, above: &[String], depth: usize) {
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        match read_json(folder, "result.json") {
            Ok(Some((result, digest))) if is_result(&result) => {
                self.trials.push(TrialFolder {
                    folder: folder.to_owned(),
                    root: self.root.clone(),
                    name,
                    job: above.to_vec(),
                    digest,
                    result,
                });
                return;
            }
            // A job's own result, or an unrelated file: the trials are below.
            Ok(Some((result, _))) if result.get("stats").is_some() => {}
            Ok(Some(_)) if is_trial(folder) => return self.count("result.json is not a trial result"),
            Ok(Some(_)) => self.count("result.json is neither a job result nor a trial result"),
            Ok(None) if is_trial(folder) => return self.count("no result.json: the trial did not finish"),
            Ok(None) => {}
            Err(reason) if is_trial(folder) => return self.count(format!("result.json {reason}")),
            Err(reason) => self.count(format!("result.json of a job or another folder {reason}")),
        }
        if depth == 0 {
            return self.count("folders nested too deeply");
        }
        let Ok(entries) = fs::read_dir(folder) else { return self.count("unreadable folder") };
        let mut folders = Vec::new();
        for (number, entry) in entries.enumerate() {
            if number >= ENTRIES {
                self.count("too many entries in a folder");
                break;
            }
            match entry.and_then(|entry| Ok((entry.file_type()?, entry.path()))) {
                Ok((kind, path)) if kind.is_dir() => folders.push(path),
                Ok((kind, _)) if kind.is_symlink() => self.count("symbolic link (not followed)"),
                Ok((kind, path)) if kind.is_file() => {
                    let name = path.file_name().unwrap_or_default();
                    let own = ["config.json", "lock.json", "result.json", "job.log"];
                    if !own.iter().any(|known| name == *known) {
                        self.count("file not written by Harbor");
                    }
                }
                Ok(_) => self.count("neither file nor folder"),
                Err(_) => self.count("unreadable entry"),
            }
        }
        folders.sort();
        let mut names = vec![name];
        let config = read_json(folder, "config.json").ok().flatten();
        let called = config.as_ref().and_then(|(config, _)| config.get("job_name")?.as_str());
        names.extend(called.filter(|called| names[0] != *called).map(str::to_owned));
        names.extend(above.iter().cloned());
        for inner in folders {
            let before = (self.trials.len(), self.unusable.values().sum::<usize>());
            self.visit(&inner, &names, depth - 1);
            if before == (self.trials.len(), self.unusable.values().sum::<usize>()) {
                self.count("folder without a trial");
            }
        }
    }
}

/// Whether a result is a trial's.
fn is_result(result: &Value) -> bool {
    result.is_object()
        && result.get("stats").is_none()
        && (result.get("task_name").is_some() || result.get("trial_name").is_some())
}

/// Whether a folder looks like a trial's, whatever its result.json contains.
fn is_trial(folder: &Path) -> bool {
    let has = |name: &str| fs::symlink_metadata(folder.join(name)).is_ok();
    has("trial.log")
        || has("agent") && has("config.json")
        || has("verifier") && has("config.json")
        || read_json(folder, "config.json")
            .is_ok_and(|config| config.is_some_and(|(config, _)| config.get("trial_name").is_some()))
}

/// Why a JSON file cannot be read, appended to the file's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum JsonFileError {
    #[error("is too large")]
    TooLarge,
    #[error("is a link or no file")]
    NotAFile,
    #[error("cannot be read")]
    Unreadable,
    #[error("is empty")]
    Empty,
    #[error("is not UTF-8")]
    NotUtf8,
    #[error("is cut off")]
    CutOff,
    #[error("is not JSON")]
    NotJson,
}

/// A JSON file of a folder, and its digest; `None` if there is no such file.
pub(super) fn read_json(folder: &Path, name: &str) -> Result<Option<(Value, String)>, JsonFileError> {
    let bytes = match read_beneath(folder, Path::new(name), JSON_CAP) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Ok(None),
        Err(FsError::TooLarge { .. }) => return Err(JsonFileError::TooLarge),
        Err(FsError::NotAFile { .. } | FsError::Escape { .. }) => return Err(JsonFileError::NotAFile),
        Err(_) => return Err(JsonFileError::Unreadable),
    };
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(JsonFileError::Empty);
    }
    if std::str::from_utf8(&bytes).is_err() {
        return Err(JsonFileError::NotUtf8);
    }
    match serde_json::from_slice(&bytes) {
        Ok(value) => Ok(Some((value, blake3::hash(&bytes).to_hex().to_string()))),
        Err(error) if error.is_eof() => Err(JsonFileError::CutOff),
        Err(_) => Err(JsonFileError::NotJson),
    }
}
