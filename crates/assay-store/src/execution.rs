//! The part of a store for executing trials: leases, work folders, and cleanup after dead
//! processes. Linux only, where a process can be distinguished from a later one with the same
//! number.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::access;
use crate::error::StoreError;
use crate::files::{pretty, write_atomically, write_json, write_new};
use crate::heartbeat::Heartbeat;
use crate::identity::TrialId;
use crate::lease::{self, Claim, Claimant, Lease};
use crate::owner::Owner;
use crate::process::Process;
use crate::record::Record;
use crate::store::{Store, WORK_RECORD};
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
        let Process { owner, heartbeat, .. } = &*self.process;
        let (owner, heartbeat) = (owner.clone(), Arc::clone(heartbeat));
        self.process = Arc::new(Process { owner, work: WorkFolder::at(base), heartbeat });
        self
    }

    /// Has the leases of this process hold for a duration without being renewed, in whole seconds,
    /// instead of two minutes.
    #[must_use]
    pub fn lease_for(mut self, duration: Duration) -> Self {
        let Process { owner, work, .. } = &*self.process;
        let (owner, work) = (owner.clone(), WorkFolder::at(work.base().map(Path::to_owned)));
        self.process = Arc::new(Process { owner, work, heartbeat: Arc::new(Heartbeat::new(duration)) });
        self
    }

    /// This process, as the owner of leases.
    pub fn owner(&self) -> &Owner {
        &self.process.owner
    }

    /// Claims the right to execute a trial.
    pub fn claim(&self, id: &TrialId) -> Result<Claim, StoreError> {
        let folder = self.trial_folder(id);
        access::create_folder(&folder).map_err(|source| StoreError::Io {
            action: "create",
            path: folder.clone(),
            source,
        })?;
        let scratch = self.scratch()?;
        let claim = self.claimant(&scratch).claim(&folder.join("lease"))?;
        if let Claim::Mine(lease) = &claim {
            lease.set_record(self.record_digest(id)?);
        }
        Ok(claim)
    }

    fn claimant<'a>(&'a self, scratch: &'a Path) -> Claimant<'a> {
        Claimant { owner: self.owner(), scratch, heartbeat: &self.process.heartbeat }
    }

    /// The digest of a trial's record; `None` if there is none.
    fn record_digest(&self, id: &TrialId) -> Result<Option<blake3::Hash>, StoreError> {
        let path = self.trial_folder(id).join("record.json");
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(blake3::hash(&bytes))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(StoreError::Io { action: "read", path, source }),
        }
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
        access::create_folder(&attempts).map_err(|source| StoreError::Io {
            action: "create",
            path: attempts.clone(),
            source,
        })?;
        for number in 1_u32.. {
            let path = attempts.join(number.to_string());
            match fs::create_dir(&path).and_then(|()| access::restrict_access(&path)) {
                Ok(()) => return Ok((number, path)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(StoreError::Io { action: "create", path, source }),
            }
        }
        Err(StoreError::NotFound("more attempts than there are numbers".to_owned()))
    }

    /// Writes a trial's record, and so ends it. It gets the signature of this process, if it signs.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`], with nothing written, if another process has taken the lease over
    /// or has written a record since the trial was claimed. A first record is written only where
    /// there is none, in one step. A record that replaces an earlier one is written after a check.
    pub fn finish(&self, record: &Record, lease: &Lease) -> Result<(), StoreError> {
        let path = self.trial_folder(&record.trial).join("record.json");
        let lost = || StoreError::LeaseLost { trial: record.trial.clone() };
        let known = lease.known_record();
        if !lease.is_held() || self.record_digest(&record.trial)? != known {
            return Err(lost());
        }
        self.restrict_attempt(record);
        let bytes = pretty(&self.sign_record(record)?, &path)?;
        if known.is_none() {
            if !write_new(&path, &bytes)? {
                return Err(lost());
            }
        } else {
            if matches!(
                self.record(&record.trial),
                Err(StoreError::Format { .. } | StoreError::Version { .. } | StoreError::Changed { .. })
            ) {
                // Another version of assay may understand it.
                let aside = path.with_file_name(format!("record.before-{}.json", record.attempt));
                fs::rename(&path, &aside).map_err(|source| StoreError::Io {
                    action: "move",
                    path: path.clone(),
                    source,
                })?;
            }
            write_atomically(&path, &bytes)?;
        }
        lease.set_record(Some(blake3::hash(&bytes)));
        Ok(())
    }

    /// Writes the record of what an agent did, for judges, and returns it as it was written.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`], with nothing written, if another process has taken the lease over.
    pub fn finish_work(&self, record: &Record, lease: &Lease) -> Result<Record, StoreError> {
        if !lease.is_held() {
            return Err(StoreError::LeaseLost { trial: record.trial.clone() });
        }
        let path = self.trial_folder(&record.trial).join(WORK_RECORD);
        self.restrict_attempt(record);
        let signed = self.sign_record(record)?;
        write_atomically(&path, &pretty(&signed, &path)?)?;
        Ok(signed)
    }

    /// Gives the files of an attempt, which sandboxes and programs wrote, the rights of the store.
    fn restrict_attempt(&self, record: &Record) {
        let attempts = self.trial_folder(&record.trial).join("attempts");
        // The store's own folder is closed as well.
        let _ = access::restrict_tree(&attempts.join(record.attempt.to_string()));
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

    /// Removes leases and scratch folders of dead processes, and leases that other machines have not
    /// renewed. Folders of other machines or PID namespaces are kept, because their state is unknown
    /// here.
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
                && let Ok(scratch) = self.scratch()
                && self.claimant(&scratch).remove_left(&path).is_ok_and(|removed| removed)
            {
                report.leases += 1;
            }
        }
        report
    }
}
