//! Leases: one process at a time executes a trial.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};

use crate::error::StoreError;
use crate::owner::Owner;

/// Numbers the drafts of this process.
static DRAFTS: AtomicU64 = AtomicU64::new(0);

/// A number that is unique within this process.
pub(crate) fn next_draft() -> u64 {
    DRAFTS.fetch_add(1, Ordering::Relaxed)
}

/// The right to execute a trial. Released when dropped; if its process dies, the next claim takes
/// it over.
#[derive(Debug)]
pub struct Lease {
    path: PathBuf,
}

impl Drop for Lease {
    fn drop(&mut self) {
        // If this fails, the next process finds the lease without a live owner.
        let _ = fs::remove_file(&self.path);
    }
}

/// The result of claiming a trial.
#[derive(Debug)]
pub enum Claim {
    /// This process has it.
    Mine(Lease),
    /// Another process has it, which is alive or whose state is unknown here.
    Held(Owner),
}

/// Claims the lease at `path`. The file appears with its content (a draft is renamed without
/// replacing, which is `O_EXCL` and a write in one); a dead owner's is removed under the store's
/// lock, so that two processes cannot take it at once.
///
/// `draft` is a path of the caller's own on the same file system.
pub(crate) fn claim(path: &Path, owner: &Owner, draft: &Path, lock: &Path) -> Result<Claim, StoreError> {
    let io = |action: &'static str, path: &Path| {
        let path = path.to_owned();
        move |source: std::io::Error| StoreError::Io { action, path, source }
    };
    let bytes = serde_json::to_vec(owner).map_err(|error| io("write", draft)(error.into()))?;
    fs::write(draft, bytes).map_err(io("write", draft))?;
    // Every round either ends or finds another owner.
    for _ in 0..100 {
        match renameat_with(CWD, draft, CWD, path, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(Claim::Mine(Lease { path: path.to_owned() })),
            Err(rustix::io::Errno::EXIST) => {}
            Err(error) => {
                let _ = fs::remove_file(draft);
                return Err(io("create", path)(error.into()));
            }
        }
        if let Some(holder) = read_owner(path)
            && !holder.is_dead()
        {
            let _ = fs::remove_file(draft);
            return Ok(Claim::Held(holder));
        }
        remove_dead(path, lock).map_err(io("lock", lock))?;
    }
    let _ = fs::remove_file(draft);
    Err(io("claim", path)(std::io::Error::other("lease is contended; gave up after 100 attempts")))
}

/// Removes the lease of a dead process, and returns whether there was one.
///
/// Only one process does so at a time, under the lock, so the lease that was checked is the one
/// removed. A missing lease is not touched, because another process may create one at any moment.
pub(crate) fn remove_dead(path: &Path, lock: &Path) -> std::io::Result<bool> {
    let file = fs::File::create(lock)?;
    flock(&file, FlockOperation::LockExclusive)?;
    match fs::read(path) {
        Ok(bytes) if serde_json::from_slice(&bytes).is_ok_and(|holder: Owner| !holder.is_dead()) => Ok(false),
        Ok(_) => fs::remove_file(path).map(|()| true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// The owner of a lease; `None` if it is missing or unreadable.
pub(crate) fn read_owner(path: &Path) -> Option<Owner> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests;
