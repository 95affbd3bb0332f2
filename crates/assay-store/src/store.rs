//! The store: plain files in one folder, so that `ls`, `jq` and `git` work on it.
//!
//! ```text
//! .assay/
//!   store.json                  format and label
//!   trials/ab/abcdef…/          one per trial
//!     trial.json                what was to be run: the canonical form of what was hashed
//!     attempts/1/               kept, also when it failed
//!     record.json               written last, by rename after fsync: it exists or the trial is not finished
//!   runs/<name>/                plan.json, experiment.toml as it was, checks.json, events.jsonl
//!   made/                       skills that conditions generate (placebos)
//!   skills/<digest>.md          the SKILL.md of each package that a run provided, by the package's digest
//!   scratch/<process>/          drafts of leases, and running sandboxes without another folder; removed when their process is dead
//!   history.jsonl               a line a run
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::StoreError;
use crate::files::{append_line, pretty, read_json, write_atomically, write_new};
use crate::identity::TrialId;
#[cfg(target_os = "linux")]
use crate::process::Process;
use crate::record::{Record, RecordError};

/// The format of the folder.
const SCHEMA: &str = "assay.store/1";

/// Most bytes of a SKILL.md that are read; loaders of skills read no more.
const SKILL_CAP: u64 = 8 << 20;

/// A store.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
    label: String,
    #[cfg(target_os = "linux")]
    pub(crate) process: Arc<Process>,
}

#[derive(Serialize, Deserialize)]
struct Header {
    schema: String,
    label: String,
}

impl Store {
    /// Opens a store, and creates it if it does not exist.
    pub fn open(root: &Path) -> Result<Self, StoreError> {
        let io = |action, path: &Path| {
            let path = path.to_owned();
            move |source| StoreError::Io { action, path, source }
        };
        fs::create_dir_all(root).map_err(io("create", root))?;
        let root = root.canonicalize().map_err(io("open", root))?;
        #[cfg(target_os = "linux")]
        let process = Process::current().map_err(io("read", Path::new("/proc/self")))?;
        #[cfg(target_os = "linux")]
        let process_label = process.owner.label();
        // Other systems only read stores, and so need no name that is unique among all that live.
        #[cfg(not(target_os = "linux"))]
        let process_label = std::process::id();
        let path = root.join("store.json");
        if !path.exists() {
            let label = blake3::hash(format!("{} {process_label}", root.display()).as_bytes()).to_hex();
            let header = Header { schema: SCHEMA.to_owned(), label: label[..12].to_owned() };
            write_new(&path, &pretty(&header, &path)?)?;
        }
        let header: Header = read_json(&path)?;
        if header.schema != SCHEMA {
            return Err(StoreError::Version { path, found: header.schema, reads: SCHEMA });
        }
        for folder in ["trials", "runs", "made", "skills", "scratch"] {
            let folder = root.join(folder);
            fs::create_dir_all(&folder).map_err(io("create", &folder))?;
        }
        Ok(Self {
            root,
            label: header.label,
            #[cfg(target_os = "linux")]
            process: Arc::new(process),
        })
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder for skills that conditions generate.
    pub fn made_folder(&self) -> PathBuf {
        self.root.join("made")
    }

    /// Keeps a skill's SKILL.md: a run can be audited after its skills have changed.
    ///
    /// `hex` is the package's digest, without its prefix.
    pub fn write_skill(&self, hex: &str, document: &[u8]) -> Result<(), StoreError> {
        let path = self.skill_path(hex);
        if path.exists() { Ok(()) } else { write_atomically(&path, document) }
    }

    /// The SKILL.md of a package that a run provided, by the package's digest as plans write it.
    ///
    /// # Errors
    /// The store does not have it, for example because the run was planned before skills were kept.
    pub fn skill(&self, digest: &str) -> Result<Vec<u8>, StoreError> {
        let hex = digest.strip_prefix("blake3:").unwrap_or(digest);
        let path = self.skill_path(hex);
        if hex.len() != 64 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(StoreError::NotFound(format!("{digest:?} is not a digest")));
        }
        let read = assay_fs::read_within(&self.root, &path, SKILL_CAP);
        Ok(read.map_err(|source| StoreError::Io { action: "read", path, source })?.bytes)
    }

    fn skill_path(&self, hex: &str) -> PathBuf {
        self.root.join("skills").join(format!("{hex}.md"))
    }

    /// A short name that no other store has, for labels.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Whether trials of this store, or of one below it, used Docker, so that containers or images
    /// may remain.
    pub fn used_docker(&self) -> bool {
        self.docker_sign().exists()
    }

    /// A file that exists once Docker was used.
    pub fn docker_sign(&self) -> PathBuf {
        self.root.join("docker")
    }

    /// A trial's folder.
    pub fn trial_folder(&self, id: &TrialId) -> PathBuf {
        self.root.join("trials").join(&id.as_str()[..2]).join(id.as_str())
    }

    /// A trial's record; `None` while it is not finished.
    ///
    /// # Errors
    /// When the file is there and cannot be read or understood.
    pub fn record(&self, id: &TrialId) -> Result<Option<Record>, StoreError> {
        let path = self.trial_folder(id).join("record.json");
        match fs::read(&path) {
            Ok(bytes) => match Record::parse(&bytes) {
                Ok(record) if record.trial == *id => Ok(Some(record)),
                Ok(record) => {
                    let message = format!("it is the record of another trial, {}", record.trial);
                    Err(StoreError::Format { path, message })
                }
                Err(RecordError::Version(found)) => {
                    Err(StoreError::Version { path, found, reads: Record::SCHEMA })
                }
                Err(error) => Err(StoreError::Format { path, message: error.to_string() }),
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(StoreError::Io { action: "read", path, source }),
        }
    }

    /// What was hashed into a trial's id; `None` where the trial was not executed.
    ///
    /// # Errors
    /// When the file is there and cannot be read or is not JSON.
    pub fn specification(&self, id: &TrialId) -> Result<Option<Value>, StoreError> {
        let path = self.trial_folder(id).join("trial.json");
        if path.exists() { read_json(&path).map(Some) } else { Ok(None) }
    }

    /// The only trial whose id begins with `prefix`.
    pub fn find_trial(&self, prefix: &str) -> Result<TrialId, StoreError> {
        let unknown = || StoreError::NotFound(format!("no trial id in this store begins with {prefix:?}"));
        if prefix.len() < 2 || !prefix.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(unknown());
        }
        let shelf = self.root.join("trials").join(&prefix[..2]);
        let mut found: Vec<TrialId> = fs::read_dir(shelf)
            .map_err(|_| unknown())?
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter(|id: &TrialId| id.as_str().starts_with(prefix))
            .collect();
        match found.len() {
            0 => Err(unknown()),
            1 => Ok(found.remove(0)),
            several => Err(StoreError::NotFound(format!(
                "{several} trial ids begin with {prefix:?}; give more digits"
            ))),
        }
    }

    /// Every trial of the store, with its folder.
    pub fn trials(&self) -> Vec<(TrialId, PathBuf)> {
        let shelves = fs::read_dir(self.root.join("trials")).into_iter().flatten().flatten();
        let mut trials: Vec<_> = shelves
            .flat_map(|shelf| fs::read_dir(shelf.path()).into_iter().flatten().flatten())
            .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
            .collect();
        trials.sort();
        trials
    }

    /// Adds a line to the history.
    pub fn append_history(&self, line: &Value) -> Result<(), StoreError> {
        append_line(&self.root.join("history.jsonl"), line)
    }

    /// The lines of the history, oldest first. A line cut off by a crash is skipped.
    pub fn history(&self) -> Result<Vec<Value>, StoreError> {
        let path = self.root.join("history.jsonl");
        match fs::read_to_string(&path) {
            Ok(text) => Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(source) => Err(StoreError::Io { action: "read", path, source }),
        }
    }

    /// The number of trials by outcome, for `assay doctor`.
    pub fn outcomes(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        for (id, _) in self.trials() {
            let word = match self.record(&id) {
                Ok(Some(record)) => record.outcome.word(),
                Ok(None) => "unfinished",
                Err(_) => "unreadable",
            };
            *counts.entry(word).or_default() += 1;
        }
        counts
    }
}

#[cfg(test)]
mod tests;
