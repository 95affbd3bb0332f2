//! Where the files of a ledger are: a Git reference, or a folder with a lock.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_store::RecordKeys;

use super::LedgerError;
use super::entry::{self, CAP};
use super::git::{Files, LedgerGitError, Moved, Repository, Snapshot};
use crate::policy::LedgerPlace;

/// The reference in which looks are counted where the policy's place can be written by a pull request.
pub const GATE_REF: &str = "refs/assay/gate";

/// How often a reference that others move is read again.
const ATTEMPTS: u32 = 20;

/// How often one that nobody moved is tried again.
const FAILURES: u32 = 3;

/// How long another process may keep a folder locked.
const LOCKED: Duration = Duration::from_mins(1);

/// The file in a folder that is locked. It stays.
const LOCK: &str = ".lock";

/// Files of old ledgers, which are not read.
const OLD: &str = ".jsonl";

/// Where a ledger is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LedgerHome {
    /// In a reference of the repository that has this folder, and of a remote, if there is one.
    Reference {
        /// A folder of the repository.
        repository: PathBuf,
        /// The reference.
        name: String,
        /// The name of a remote, or a URL.
        remote: Option<String>,
    },
    /// In a folder that is not part of the checkout.
    Folder(PathBuf),
}

/// What gives the files to add to those that are there, and a result.
type Addition<'a, T> = dyn FnMut(&Files) -> Result<(Files, T), LedgerError> + 'a;

impl LedgerHome {
    /// The ledger of a policy and what there is to say about it. `directory` is the folder of the policy in the
    /// checkout, `checkout` its work tree.
    ///
    /// A pull request can write all files of the checkout: such a ledger is kept in a reference. `remote` is that
    /// of the policy; without one, `origin` serves if the repository has it.
    ///
    /// # Errors
    /// The place is a file outside of the checkout, or the policy's remote does not exist.
    pub fn of(
        place: &LedgerPlace,
        remote: Option<&str>,
        directory: &Path,
        checkout: &Path,
    ) -> Result<(Self, Option<String>), LedgerError> {
        let reference = |name: &str| -> Result<Self, LedgerError> {
            let repository = Repository::at(checkout);
            let remote = match remote {
                Some(url) if url.contains(['/', ':']) => Some(url.to_owned()),
                Some(name) if repository.has_remote(name) => Some(name.to_owned()),
                Some(name) => {
                    let message = format!("the repository has no remote {name:?}");
                    return Err(LedgerError::Access { what: "read", place: name.to_owned(), message });
                }
                None => Some("origin".to_owned()).filter(|name| repository.has_remote(name)),
            };
            Ok(Self::Reference { repository: checkout.to_owned(), name: name.to_owned(), remote })
        };
        let path = match place {
            LedgerPlace::GitRef(name) => return Ok((reference(name)?, None)),
            LedgerPlace::File(path) | LedgerPlace::Artifact(path) => path,
        };
        let folder = absolute(&directory.join(path));
        if is_within(&folder, checkout) {
            let lines = folder.symlink_metadata().is_ok_and(|found| found.is_file() && found.len() > 0);
            let old = if lines { "; the lines of the old ledger there are not counted" } else { "" };
            let note = format!(
                "A pull request can write the ledger at {}: looks are counted in {GATE_REF}{old}.",
                path.display()
            );
            return Ok((reference(GATE_REF)?, Some(note)));
        }
        if folder.is_file() {
            let message =
                "looks are files in a folder, and this is a file (hint: name a folder, or `git_ref`)";
            let place = folder.display().to_string();
            return Err(LedgerError::Access { what: "read", place, message: message.to_owned() });
        }
        Ok((Self::Folder(folder), None))
    }

    /// For messages.
    pub fn describe(&self) -> String {
        match self {
            Self::Reference { name, remote: Some(remote), .. } => format!("{name} of {remote}"),
            Self::Reference { name, .. } => name.clone(),
            Self::Folder(folder) => folder.display().to_string(),
        }
    }

    /// A text that is the same for all checkouts that share the ledger.
    pub(super) fn identity(&self) -> String {
        match self {
            Self::Reference { repository, name, remote } => {
                let repository = Repository::at(repository);
                match remote {
                    Some(remote) => format!("{name} {}", repository.remote_url(remote)),
                    // Another repository may be at the same path later.
                    None => format!("{name} {:?} {}", repository.common_folder(), repository.roots()),
                }
            }
            Self::Folder(folder) => {
                let folder = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.clone());
                folder.display().to_string()
            }
        }
    }

    /// All files, and what is left out of them.
    pub(super) fn read(&self, keys: &RecordKeys) -> Result<Files, LedgerError> {
        match self {
            Self::Reference { .. } => self.snapshots(keys).map(|(_, _, files)| files),
            Self::Folder(folder) => {
                read_folder(folder).map_err(|error| self.access("read", &error.to_string()))
            }
        }
    }

    /// Adds files that depend on those that are there. No other process writes between the reading and the writing: one that
    /// did makes `add` be called again with its files. Files that `add` gives stay as they are where they are valid already.
    pub(super) fn update<T>(&self, keys: &RecordKeys, add: &mut Addition<'_, T>) -> Result<T, LedgerError> {
        let folder = match self {
            Self::Reference { .. } => return self.update_reference(keys, add),
            Self::Folder(folder) => folder,
        };
        let failed = |error: &io::Error| self.access("write", &error.to_string());
        std::fs::create_dir_all(folder).map_err(|error| failed(&error))?;
        let _lock = lock(folder).map_err(|error| failed(&error))?;
        let known = read_folder(folder).map_err(|error| self.access("read", &error.to_string()))?;
        let (files, result) = add(&known)?;
        for (name, content) in files.iter().filter(|(name, _)| !has_valid(&known, name, keys)) {
            write_file(folder, name, content).map_err(|error| failed(&error))?;
        }
        Ok(result)
    }

    fn update_reference<T>(&self, keys: &RecordKeys, add: &mut Addition<'_, T>) -> Result<T, LedgerError> {
        let Self::Reference { repository, name, remote } = self else {
            return Err(self.access("write", "no reference"));
        };
        let repository = Repository::at(repository);
        let (mut failures, mut before) = (0, None);
        let mut reason = String::new();
        for attempt in 0..ATTEMPTS {
            let (local, base, known) = self.snapshots(keys)?;
            if attempt > 0 && before == Some(base.commit.clone()) {
                failures += 1;
                if failures >= FAILURES {
                    break;
                }
            }
            let (mut files, result) = add(&known)?;
            files.retain(|name, _| !has_valid(&known, name, keys));
            // What only this repository has is kept, too.
            for (name, content) in &known {
                if base.files.get(name) != Some(content) && !files.contains_key(name) {
                    files.insert(name.clone(), content.clone());
                }
            }
            if files.is_empty() {
                return Ok(result);
            }
            let commit = repository
                .commit(&base, &files, "Record looks of assay gate")
                .map_err(|error| self.access("write", &error.to_string()))?;
            let moved = match remote {
                Some(remote) => repository.push(remote, name, &commit),
                None => repository.move_local(name, &commit, base.commit.as_deref()),
            };
            match moved {
                Moved::Done => {
                    if remote.is_some() {
                        // For those who are offline later: the remote's is the one that counts.
                        repository.move_local(name, &commit, local.commit.as_deref());
                    }
                    return Ok(result);
                }
                Moved::Refused(error) => reason = error.to_string(),
            }
            before = Some(base.commit);
            std::thread::sleep(jitter(attempt));
        }
        Err(self.access("write", &reason))
    }

    /// The snapshot of this repository, that on which the next commit is put, and the files of both.
    fn snapshots(&self, keys: &RecordKeys) -> Result<(Snapshot, Snapshot, Files), LedgerError> {
        let Self::Reference { repository, name, remote } = self else {
            return Err(self.access("read", "no reference"));
        };
        let repository = Repository::at(repository);
        let failed = |error: LedgerGitError| self.access("read", &error.to_string());
        let local = repository.read_local(name).map_err(failed)?;
        let base = match remote {
            Some(remote) => repository.read_remote(remote, name).map_err(failed)?,
            None => local.clone(),
        };
        let mut files = base.files.clone();
        for (name, content) in &local.files {
            if has_valid(&local.files, name, keys) && !has_valid(&files, name, keys) {
                files.insert(name.clone(), content.clone());
            }
        }
        Ok((local, base, files))
    }

    fn access(&self, what: &'static str, message: &str) -> LedgerError {
        LedgerError::Access { what, place: self.describe(), message: message.to_owned() }
    }
}

/// Whether a file of this name is no look, and why it is there.
pub(super) fn is_other_file(name: &str) -> Option<&'static str> {
    let is_old = name.ends_with(OLD);
    if is_old { Some("the lines of an old ledger") } else { name.starts_with('.').then_some("") }
}

/// Whether there is a file of this name that counts: a torn one is replaced.
fn has_valid(files: &Files, name: &str, keys: &RecordKeys) -> bool {
    files.get(name).is_some_and(|content| entry::read(name, content, keys).is_ok())
}

/// Whether a path is in a folder, as it is written or as it is found.
fn is_within(path: &Path, folder: &Path) -> bool {
    let found = |path: &Path| {
        // Parts that do not exist yet are no links.
        let there = path.ancestors().find(|part| part.symlink_metadata().is_ok())?;
        let rest = path.strip_prefix(there).ok()?;
        Some(std::fs::canonicalize(there).ok()?.join(rest))
    };
    let folder = absolute(folder);
    let real = std::fs::canonicalize(&folder).unwrap_or_else(|_| folder.clone());
    let written = absolute(path);
    written.starts_with(&folder)
        || written.starts_with(&real)
        // What cannot be followed is not known to be elsewhere.
        || found(&written).is_none_or(|path| path.starts_with(&real))
}

/// An absolute path without `.` and `..`.
fn absolute(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts
}

fn read_folder(folder: &Path) -> io::Result<Files> {
    let mut files = Files::new();
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(files),
        Err(error) => return Err(error),
    };
    for found in entries {
        let found = found?;
        let name = found.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        let mut content = Vec::new();
        match assay_fs::open_file(&found.path()) {
            Ok(file) => file.take(CAP as u64 + 1).read_to_end(&mut content).map(|_| ())?,
            // A folder or a link is no look.
            Err(_) => continue,
        }
        files.insert(name, content);
    }
    Ok(files)
}

/// Locks a folder. The lock ends with the file, and with the process.
fn lock(folder: &Path) -> io::Result<File> {
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(folder.join(LOCK))?;
    let until = Instant::now() + LOCKED;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() > until => {
                let message = format!("another process keeps it locked for {} seconds", LOCKED.as_secs());
                return Err(io::Error::new(io::ErrorKind::WouldBlock, message));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// Writes a file that is complete or absent, and is on the disk afterwards.
fn write_file(folder: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    let mut draft = tempfile::Builder::new().prefix(".draft-").tempfile_in(folder)?;
    draft.write_all(content)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The next gate may have another user.
        draft.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))?;
    }
    draft.as_file().sync_all()?;
    draft.persist(folder.join(name)).map_err(|error| error.error)?;
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    Ok(())
}

/// How long to wait before the next attempt: longer after each, and different for each process.
fn jitter(attempt: u32) -> Duration {
    use std::hash::{BuildHasher, RandomState};
    let random = RandomState::new().hash_one(attempt);
    Duration::from_millis(20 + random % (100 * u64::from(attempt + 1)))
}
