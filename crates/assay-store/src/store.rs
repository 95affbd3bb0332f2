//! The store: plain files in one folder, so that `ls`, `jq` and `git` work on it.
//!
//! ```text
//! .assay/
//!   store.json                  format and label
//!   trials/ab/abcdef…/          one per trial
//!     trial.json                what was to be run: the canonical form of what was hashed
//!     attempts/1/               kept, also when it failed
//!     record.json               written last, by rename after fsync: it exists or the trial is not finished
//!     work.json                 in its place for work that judges decide on: each judgement is a trial of its own
//!     judgements/               replies of the judges of this work, as they came
//!   runs/<name>/                plan.json, experiment.toml as it was and where it is, checks.json, events.jsonl
//!   made/                       skills that conditions generate (placebos)
//!   skills/<digest>.md          the SKILL.md of each package that a run provided, by the package's digest
//!   imported/skills/<digest>.md the same as archives have it, where it cannot be checked against the digest
//!   scratch/<process>/          drafts of leases, and running sandboxes without another folder; removed when their process is dead
//!   history.jsonl               a line a run
//!   verified                    attempts whose files match their signatures: a code for each
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access;
use crate::error::StoreError;
use crate::files::{append_line, pretty, read_json, write_atomically, write_new};
use crate::identity::TrialId;
use crate::keys::RecordKeys;
use crate::origin::{RecordOrigin, SignatureMismatch};
#[cfg(target_os = "linux")]
use crate::process::Process;
use crate::record::{Record, RecordError};
use crate::signature;
use crate::verified::VerifiedEvidence;

/// The format of the folder.
const SCHEMA: &str = "assay.store/1";

/// The specification of an imported trial, beside the document that its id is the hash of.
pub const IMPORTED_SPECIFICATION: &str = "specification.json";

/// The result of a trial.
const RECORD: &str = "record.json";

/// What an agent did, for judges.
pub(crate) const WORK_RECORD: &str = "work.json";

/// Most bytes of a SKILL.md that are read; loaders of skills read no more.
const SKILL_CAP: u64 = 8 << 20;

/// A store.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
    label: String,
    keys: Arc<RecordKeys>,
    only_signed: bool,
    pub(crate) verified: Arc<VerifiedEvidence>,
    #[cfg(target_os = "linux")]
    pub(crate) process: Arc<Process>,
}

/// The folder of an attempt in that of its trial.
fn attempt_folder(trial: &Path, attempt: u32) -> PathBuf {
    trial.join("attempts").join(attempt.to_string())
}

/// The file by which Git ignores a store that lies in a repository.
const IGNORE: &str = ".gitignore";

/// Keeps a new store out of Git, so that nobody commits transcripts and records by mistake. A file that is there stays.
fn ignore_in_git(root: &Path) -> std::io::Result<()> {
    match fs::OpenOptions::new().write(true).create_new(true).open(root.join(IGNORE)) {
        Ok(mut file) => std::io::Write::write_all(&mut file, b"*\n"),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

#[derive(Serialize, Deserialize)]
struct Header {
    schema: String,
    label: String,
    /// Whether the group of the store's folder keeps its rights.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    shared: bool,
}

impl Store {
    /// Opens a store, and creates it if it does not exist. Only its owner may read it; with `"shared": true` in
    /// `store.json` the group of its folder keeps its rights. A store of this user that is open to others is closed;
    /// see [`Store::close_to_others`].
    pub fn open(root: &Path) -> Result<Self, StoreError> {
        let io = |action, path: &Path| {
            let path = path.to_owned();
            move |source| StoreError::Io { action, path, source }
        };
        let is_new = !root.exists();
        fs::create_dir_all(root).map_err(io("create", root))?;
        let root = root.canonicalize().map_err(io("open", root))?;
        #[cfg(target_os = "linux")]
        let process = Process::current().map_err(io("read", Path::new("/proc/self")))?;
        #[cfg(target_os = "linux")]
        let process_label = process.owner.label();
        // Other systems only read stores, and so need no name that is unique among all that live.
        #[cfg(not(target_os = "linux"))]
        let process_label = std::process::id();
        if is_new {
            access::close_folder(&root, false).map_err(io("change the rights of", &root))?;
        }
        let path = root.join("store.json");
        if !path.exists() {
            ignore_in_git(&root).map_err(io("write", &root.join(IGNORE)))?;
            let label = blake3::hash(format!("{} {process_label}", root.display()).as_bytes()).to_hex();
            let header = Header { schema: SCHEMA.to_owned(), label: label[..12].to_owned(), shared: false };
            write_new(&path, &pretty(&header, &path)?)?;
        }
        let header: Header = read_json(&path)?;
        if header.schema != SCHEMA {
            return Err(StoreError::Version { path, found: header.schema, reads: SCHEMA });
        }
        // A folder that cannot be changed can still be read.
        let _ = access::close_folder(&root, header.shared);
        for folder in ["trials", "runs", "made", "skills", "scratch"] {
            let folder = root.join(folder);
            access::create_folder(&folder).map_err(io("create", &folder))?;
        }
        Ok(Self {
            verified: Arc::new(VerifiedEvidence::of(&root)),
            root,
            label: header.label,
            keys: Arc::default(),
            only_signed: false,
            #[cfg(target_os = "linux")]
            process: Arc::new(process),
        })
    }

    /// Closes an existing store of this user to other users, as [`Store::open`] does, and returns whether it was open to
    /// them. A folder without a store is left as it is.
    ///
    /// # Errors
    /// `store.json` cannot be read, or the rights of the folder not be changed.
    pub fn close_to_others(root: &Path) -> Result<bool, StoreError> {
        let path = root.join("store.json");
        if !path.is_file() {
            return Ok(false);
        }
        let header: Header = read_json(&path)?;
        access::close_folder(root, header.shared).map_err(|source| StoreError::Io {
            action: "change the rights of",
            path: root.to_owned(),
            source,
        })
    }

    /// Has this process verify the records of the store, and sign those that it writes if its keys sign.
    #[must_use]
    pub fn with_keys(mut self, keys: RecordKeys) -> Self {
        self.keys = Arc::new(keys);
        self
    }

    /// Has this process know no result but those with a signature by one of its keys: trials with other records, and
    /// imported ones, are executed.
    #[must_use]
    pub fn with_signed_records_only(mut self) -> Self {
        self.only_signed = true;
        self
    }

    /// The keys of this process.
    pub fn keys(&self) -> &RecordKeys {
        &self.keys
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
    /// `hex` is the package's digest, without its prefix. What the store had is replaced: the package is the
    /// run's own.
    pub fn write_skill(&self, hex: &str, document: &[u8]) -> Result<(), StoreError> {
        let path = self.skill_path(hex);
        if fs::read(&path).is_ok_and(|known| known == document) {
            Ok(())
        } else {
            write_atomically(&path, document)
        }
    }

    /// Keeps a SKILL.md from an archive, apart from those of runs of this store, which are read first. The first one
    /// is kept.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_imported_skill(&self, hex: &str, document: &[u8]) -> Result<(), StoreError> {
        let path = self.imported_skill_path(hex);
        let folder = path.parent().unwrap_or(&self.root);
        access::create_folder(folder).map_err(|source| StoreError::Io {
            action: "create",
            path: folder.to_owned(),
            source,
        })?;
        write_new(&path, document).map(drop)
    }

    /// The SKILL.md of a package that a run provided, by the package's digest as plans write it. Without a run of
    /// this store that provided it, it is the text of an archive.
    ///
    /// # Errors
    /// The store does not have it, for example because the run was planned before skills were kept.
    pub fn skill(&self, digest: &str) -> Result<Vec<u8>, StoreError> {
        let hex = digest.strip_prefix("blake3:").unwrap_or(digest);
        if hex.len() != 64 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(StoreError::NotFound(format!("{digest:?} is not a digest")));
        }
        let own = self.skill_path(hex);
        let path = if own.exists() { own } else { self.imported_skill_path(hex) };
        let read = assay_fs::read_within(&self.root, &path, SKILL_CAP);
        Ok(read.map_err(|source| StoreError::Io { action: "read", path, source })?.bytes)
    }

    fn skill_path(&self, hex: &str) -> PathBuf {
        self.root.join("skills").join(format!("{hex}.md"))
    }

    fn imported_skill_path(&self, hex: &str) -> PathBuf {
        self.root.join("imported/skills").join(format!("{hex}.md"))
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
    /// When the file is there and cannot be read or understood, or does not match its signature by a key of this
    /// process.
    pub fn record(&self, id: &TrialId) -> Result<Option<Record>, StoreError> {
        Ok(self
            .read_record(id, RECORD, false)?
            .filter(|found| self.trusts(found.1))
            .map(|(record, _)| record))
    }

    /// The record of what an agent did, before judges decide on it; `None` if there is none. Its outcome is that of the
    /// task's own tests, or an infrastructure error with the cause `judge` for a task without.
    ///
    /// # Errors
    /// As [`Store::record`].
    pub fn work_record(&self, id: &TrialId) -> Result<Option<Record>, StoreError> {
        let found = self.read_record(id, WORK_RECORD, false)?;
        Ok(found.filter(|found| self.trusts(found.1)).map(|(record, _)| record))
    }

    /// Whether a record that was read has a signature of a key that this process knows.
    pub fn proves_origin(&self, record: &Record) -> bool {
        record.signature.as_ref().is_some_and(|signature| self.keys.find(&signature.key_id).is_some())
    }

    /// A trial's record with its origin. The files that the result rests on are checked too: they are read, unless they are as
    /// they were when they were read before.
    ///
    /// # Errors
    /// As [`Store::record`]; also if a file does not match the record's signature.
    pub fn record_with_origin(&self, id: &TrialId) -> Result<Option<(Record, RecordOrigin)>, StoreError> {
        Ok(self.read_record(id, RECORD, true)?.filter(|found| self.trusts(found.1)))
    }

    /// Whether a record of an origin is a result for this process.
    fn trusts(&self, origin: RecordOrigin) -> bool {
        !self.only_signed || origin == RecordOrigin::Signed
    }

    fn read_record(
        &self,
        id: &TrialId,
        name: &str,
        checks_evidence: bool,
    ) -> Result<Option<(Record, RecordOrigin)>, StoreError> {
        let folder = self.trial_folder(id);
        let path = folder.join(name);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(StoreError::Io { action: "read", path, source }),
        };
        let (mut record, is_earlier) = match Record::parse_any(&bytes) {
            Ok((record, is_earlier)) if record.trial == *id => (record, is_earlier),
            Ok((record, _)) => {
                let message = format!("it is the record of another trial, {}", record.trial);
                return Err(StoreError::Format { path, message });
            }
            Err(RecordError::Version(found)) => {
                return Err(StoreError::Version { path, found, reads: Record::SCHEMA });
            }
            Err(error) => return Err(StoreError::Format { path, message: error.to_string() }),
        };
        let attempt = checks_evidence.then(|| attempt_folder(&folder, record.attempt));
        let evidence = attempt.as_deref().map(|attempt| (attempt, &*self.verified));
        match signature::verify(&record, &bytes, evidence, &self.keys) {
            Ok(origin) => {
                // Only imported trials name their source.
                let source = if is_earlier { self.import_source(id) } else { None };
                if let Some(source) = source {
                    record.forget_defaults(source == "table");
                }
                Ok(Some((record, origin)))
            }
            Err(mismatch) => Err(StoreError::Changed { path, mismatch }),
        }
    }

    /// Checks a record that is not in the store yet against its signature. `bytes` is its file.
    ///
    /// # Errors
    /// It does not match its signature by a key of this process.
    pub fn verify(&self, record: &Record, bytes: &[u8]) -> Result<RecordOrigin, SignatureMismatch> {
        signature::verify(record, bytes, None, &self.keys)
    }

    /// The record with the signature of this process, if it signs. Imported records have none of this process.
    pub(crate) fn sign_record(&self, record: &Record) -> Result<Record, StoreError> {
        let mut record = record.clone();
        if record.imported_from.is_some() {
            return Ok(record);
        }
        record.signature = None;
        if let Some(key) = self.keys.signer() {
            let folder = self.trial_folder(&record.trial);
            let signature = signature::sign(&record, &attempt_folder(&folder, record.attempt), key);
            record.signature = Some(signature.map_err(|error| StoreError::Format {
                path: folder.join("record.json"),
                message: error.to_string(),
            })?);
        }
        Ok(record)
    }

    /// Moves a record that does not count aside, so that the trial is not finished.
    ///
    /// # Errors
    /// The file cannot be moved.
    pub fn set_aside(&self, id: &TrialId) -> Result<(), StoreError> {
        let path = self.trial_folder(id).join("record.json");
        let free = (1_u32..).map(|number| path.with_file_name(format!("record.changed-{number}.json")));
        for aside in free {
            if !aside.exists() {
                return fs::rename(&path, &aside).map_err(|source| StoreError::Io {
                    action: "move",
                    path: path.clone(),
                    source,
                });
            }
        }
        Ok(())
    }

    /// Signs the record of a trial that another process executed for this one. Nothing happens if this process does
    /// not sign, if there is no record, or if it is signed or imported.
    ///
    /// # Errors
    /// The record cannot be read or written, or does not match a signature that it has.
    pub fn sign_accepted(&self, id: &TrialId) -> Result<(), StoreError> {
        let Some(record) = self.record(id)? else { return Ok(()) };
        if self.keys.signer().is_none() || record.signature.is_some() || record.imported_from.is_some() {
            return Ok(());
        }
        if let Some(work) = &record.work
            && let Some(done) = self.work_record(work)?.filter(|done| done.signature.is_none())
        {
            self.write_signed(&done, WORK_RECORD)?;
        }
        self.write_signed(&record, RECORD)
    }

    fn write_signed(&self, record: &Record, name: &str) -> Result<(), StoreError> {
        let path = self.trial_folder(&record.trial).join(name);
        write_atomically(&path, &pretty(&self.sign_record(record)?, &path)?)
    }

    /// What an imported trial was read from, by its specification; `None` for a trial that assay executed.
    fn import_source(&self, id: &TrialId) -> Option<String> {
        let specification = self.specification(id).ok()??;
        specification.get("source").and_then(Value::as_str).map(str::to_owned)
    }

    /// What was hashed into a trial's id, for an imported trial in the store where it was executed; `None` where the
    /// trial was not executed.
    ///
    /// # Errors
    /// When the file is there and cannot be read or is not JSON.
    pub fn specification(&self, id: &TrialId) -> Result<Option<Value>, StoreError> {
        let folder = self.trial_folder(id);
        let imported = folder.join(IMPORTED_SPECIFICATION);
        let path = if imported.exists() { imported } else { folder.join("trial.json") };
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
                Ok(None) if self.trial_folder(&id).join(WORK_RECORD).exists() => continue,
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
