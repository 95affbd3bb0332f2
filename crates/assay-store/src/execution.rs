//! The part of a store for executing trials: leases, work folders, and cleanup after dead
//! processes. Linux only, where a process can be distinguished from a later one with the same
//! number.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::error::StoreError;
use crate::files::write_json;
use crate::identity::TrialId;
use crate::lease::{self, Claim, Lease};
use crate::owner::Owner;
use crate::process::Process;
use crate::record::Record;
use crate::store::Store;
use crate::work::{self, WorkFolder};

/// What a cleanup removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CleanupReport {
    /// Leases of dead processes.
    pub leases: usize,
    /// Folders of dead processes.
    pub scratch: usize,
}

impl Store {
    /// Puts the files of running sandboxes below a folder instead of `/var/tmp`.
    #[must_use]
    pub fn work_in(mut self, base: Option<PathBuf>) -> Self {
        self.process = Arc::new(Process { owner: self.process.owner.clone(), work: WorkFolder::at(base) });
        self
    }

    /// This process, as the owner of leases.
    pub fn owner(&self) -> &Owner {
        &self.process.owner
    }

    /// Claims the right to execute a trial.
    pub fn claim(&self, id: &TrialId) -> Result<Claim, StoreError> {
        let folder = self.trial_folder(id);
        fs::create_dir_all(&folder).map_err(|source| StoreError::Io {
            action: "create",
            path: folder.clone(),
            source,
        })?;
        // Threads of one process may claim the same trial.
        let number = lease::next_draft();
        let draft = self.scratch()?.join(format!("lease-{number}"));
        lease::claim(&folder.join("lease"), self.owner(), &draft, &self.lock())
    }

    /// Locked while leases of dead processes are removed.
    fn lock(&self) -> PathBuf {
        self.root().join("lock")
    }

    /// Creates the folder of a trial's next attempt, and writes its specification.
    pub fn begin(
        &self,
        id: &TrialId,
        specification: &Value,
        _lease: &Lease,
    ) -> Result<(u32, PathBuf), StoreError> {
        let folder = self.trial_folder(id);
        let path = folder.join("trial.json");
        if !path.exists() {
            write_json(&path, specification)?;
        }
        let attempts = folder.join("attempts");
        fs::create_dir_all(&attempts).map_err(|source| StoreError::Io {
            action: "create",
            path: attempts.clone(),
            source,
        })?;
        for number in 1_u32.. {
            let path = attempts.join(number.to_string());
            match fs::create_dir(&path) {
                Ok(()) => return Ok((number, path)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(StoreError::Io { action: "create", path, source }),
            }
        }
        Err(StoreError::NotFound("more attempts than there are numbers".to_owned()))
    }

    /// Writes a trial's record, and so ends it.
    pub fn finish(&self, record: &Record, _lease: &Lease) -> Result<(), StoreError> {
        let path = self.trial_folder(&record.trial).join("record.json");
        if matches!(self.record(&record.trial), Err(StoreError::Format { .. } | StoreError::Version { .. })) {
            // Another version of assay may understand it.
            let aside = path.with_file_name(format!("record.before-{}.json", record.attempt));
            fs::rename(&path, &aside).map_err(|source| StoreError::Io {
                action: "move",
                path: path.clone(),
                source,
            })?;
        }
        write_json(&path, record)
    }

    /// A folder of this process for running sandboxes, with a path that does not reveal the store's
    /// if possible. Removed by [`Store::clear_scratch`] or the next cleanup.
    pub fn work(&self) -> Result<PathBuf, StoreError> {
        self.process.work.folder(self.owner(), self.root(), || self.scratch())
    }

    /// A folder of this process in the store. Removed in the same way.
    pub fn scratch(&self) -> Result<PathBuf, StoreError> {
        let path = self.root().join("scratch").join(self.owner().label());
        fs::create_dir_all(&path).map_err(|source| StoreError::Io {
            action: "create",
            path: path.clone(),
            source,
        })?;
        let sign = path.join("owner.json");
        if !sign.exists() {
            write_json(&sign, self.owner())?;
        }
        Ok(path)
    }

    /// Removes this process's folders of work.
    pub fn clear_scratch(&self) {
        self.process.work.clear();
        let _ = assay_fs::remove_tree(&self.root().join("scratch").join(self.owner().label()));
    }

    /// Removes leases and scratch folders of dead processes. Those of other machines or PID
    /// namespaces are kept, because their state is unknown here.
    pub fn clean_up(&self) -> CleanupReport {
        let mut report = CleanupReport { scratch: self.process.work.clean_up(), ..CleanupReport::default() };
        for entry in fs::read_dir(self.root().join("scratch")).into_iter().flatten().flatten() {
            // Until the owner file is written, only the folder's name identifies the owner.
            let owner = lease::read_owner(&entry.path().join("owner.json"))
                .or_else(|| Owner::of_label(entry.file_name().to_str()?));
            let is_left = match owner {
                None if work::is_ours(&entry.path()) => work::is_left(&entry.path()),
                owner => owner.is_none_or(|owner| owner.is_dead()),
            };
            if is_left && assay_fs::remove_tree(&entry.path()).is_ok() {
                report.scratch += 1;
            }
        }
        for (_, folder) in self.trials() {
            let path = folder.join("lease");
            if path.exists()
                && lease::read_owner(&path).is_none_or(|owner| owner.is_dead())
                && lease::remove_dead(&path, &self.lock()).is_ok_and(|taken| taken)
            {
                report.leases += 1;
            }
        }
        report
    }
}
