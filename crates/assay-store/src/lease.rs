//! Leases: one process at a time executes a trial.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};

use crate::error::StoreError;
use crate::owner::Owner;

/// Numbers the drafts of this process.
static DRAFTS: AtomicU64 = AtomicU64::new(0);

/// A number that nothing of this process has had.
pub(crate) fn next_draft() -> u64 {
    DRAFTS.fetch_add(1, Ordering::Relaxed)
}

/// The right to execute a trial. Given back when dropped; a process that dies leaves it to the next one that asks.
#[derive(Debug)]
pub struct Lease {
    path: PathBuf,
}

impl Drop for Lease {
    fn drop(&mut self) {
        // What cannot be removed here is found dead by the next process.
        let _ = fs::remove_file(&self.path);
    }
}

/// What came of asking for a trial.
#[derive(Debug)]
pub enum Claim {
    /// It is ours.
    Mine(Lease),
    /// It is held by a process that is alive, or whose state cannot be determined from here.
    Held(Owner),
}

/// Asks for the lease at `path`. The file appears with its content (a draft is renamed without replacing, which is `O_EXCL`
/// and a write in one), and a dead owner's is taken away under the store's lock, so that two cannot take it at once.
///
/// `draft` is a path of the caller's own on the same file system.
pub(crate) fn claim(path: &Path, owner: &Owner, draft: &Path, lock: &Path) -> Result<Claim, StoreError> {
    let io = |action: &'static str, path: &Path| {
        let path = path.to_owned();
        move |source: std::io::Error| StoreError::Io { action, path, source }
    };
    let bytes = serde_json::to_vec(owner).map_err(|error| io("write", draft)(error.into()))?;
    fs::write(draft, bytes).map_err(io("write", draft))?;
    // Every round either ends or has seen the lease change hands.
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
    Err(io("claim", path)(std::io::Error::other("it changes hands all the time")))
}

/// Takes a lease away whose holder is dead, and says whether there was one.
///
/// Under the lock nobody else does, so that what was seen is what is removed: who lives waits for the place to become free.
/// A place that is free already is left alone, for in the next moment somebody may have it.
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

/// The holder of a lease; `None` when there is none, or none that can be read.
pub(crate) fn read_owner(path: &Path) -> Option<Owner> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests;
