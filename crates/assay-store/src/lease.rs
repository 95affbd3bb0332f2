//! Leases: one process at a time executes a trial.
//!
//! Every step is a `link` or a `rename`, which are atomic on local disks and on NFS version 4 (RFC
//! 7530, 16.9 and 16.26), where `renameat2` and locks of other machines cannot be relied on.
//!
//! Its owner touches a lease several times within the duration that the lease states. Ages are the
//! difference of two timestamps of the store's file system, so that clocks of machines do not matter.
//! A lease of a dead process, or of another machine's process that is older than its duration, may be
//! taken over. Only one process has the right to do so: the one that creates the file `lease.TOKEN`,
//! where the token is a digest of the lease that it replaces.
//!
//! A process that was stopped for longer than its lease may find that another one has taken over.
//! That is why [`Store::finish`](crate::Store::finish) checks the lease and the record.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::fs::{CWD, RenameFlags, Timespec, fstat, renameat_with};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::heartbeat::{Heartbeat, touch};
use crate::owner::{Liveness, Owner};

/// Numbers the drafts of this process.
static DRAFTS: AtomicU64 = AtomicU64::new(0);

/// A number that is unique within this process.
pub(crate) fn next_draft() -> u64 {
    DRAFTS.fetch_add(1, Ordering::Relaxed)
}

/// The content of a lease.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Content {
    #[serde(flatten)]
    owner: Owner,
    /// Distinguishes the leases of one owner.
    #[serde(default)]
    number: u64,
    /// After how many seconds without a touch others may take it over. Earlier versions did not
    /// touch their leases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seconds: Option<u64>,
}

/// The right to execute a trial. Released when dropped; if its process dies, the next claim takes
/// it over.
#[derive(Debug)]
pub struct Lease {
    path: PathBuf,
    token: Token,
    heartbeat: Arc<Heartbeat>,
    /// The digest of the trial's record when it was claimed, or as this process wrote it since.
    record: Mutex<Option<blake3::Hash>>,
}

impl Lease {
    /// Whether this process still has it: another may have taken it over while this one was stopped.
    pub fn is_held(&self) -> bool {
        read(&self.path).is_ok_and(|found| found.is_some_and(|found| found.token == self.token))
    }

    /// The digest of the trial's record as this process knows it.
    pub(crate) fn known_record(&self) -> Option<blake3::Hash> {
        *self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_record(&self, record: Option<blake3::Hash>) {
        *self.record.lock().unwrap_or_else(PoisonError::into_inner) = record;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.heartbeat.remove(&self.path);
        if self.is_held() {
            // If this fails, the next process finds the lease without a live owner.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The result of claiming a trial.
#[derive(Debug)]
pub enum Claim {
    /// This process has it.
    Mine(Lease),
    /// Another process has it, which is alive or whose state is unknown here.
    Held(Holder),
}

/// A process that has a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The process.
    pub owner: Owner,
    /// Whether its lease ends by itself if the process does not renew it. Leases of earlier versions
    /// do not.
    pub expires: bool,
}

/// A digest of a lease's content.
type Token = blake3::Hash;

/// A lease as found.
struct LeaseFile {
    token: Token,
    /// `None` if it is unreadable.
    content: Option<Content>,
    /// When it was touched, by the clock of the file system.
    modified: Timespec,
}

/// Reads a lease; `None` if there is none. It is opened, because an NFS client may report the times
/// of a file that it has not opened from its cache (RFC 7530, 10.3).
fn read(path: &Path) -> std::io::Result<Option<LeaseFile>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut file, &mut bytes)?;
    let modified = modified(&file)?;
    Ok(Some(LeaseFile {
        token: blake3::hash(&bytes),
        content: serde_json::from_slice(&bytes).ok(),
        modified,
    }))
}

fn modified(file: &File) -> std::io::Result<Timespec> {
    let found = fstat(file)?;
    Ok(Timespec { tv_sec: found.st_mtime, tv_nsec: i64::try_from(found.st_mtime_nsec).unwrap_or(0) })
}

/// The folder that drafts of leases are in, on the file system of the store, and what names them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claimant<'a> {
    /// This process.
    pub(crate) owner: &'a Owner,
    /// A folder of this process.
    pub(crate) scratch: &'a Path,
    /// What touches its leases.
    pub(crate) heartbeat: &'a Arc<Heartbeat>,
}

impl Claimant<'_> {
    /// Claims the lease at `path`. The file appears with its content.
    pub(crate) fn claim(&self, path: &Path) -> Result<Claim, StoreError> {
        let draft = self.draft();
        let claimed = self.claim_with(path, &draft);
        // The draft remains as the lease.
        let _ = fs::remove_file(&draft);
        claimed
    }

    fn claim_with(&self, path: &Path, draft: &Path) -> Result<Claim, StoreError> {
        let io = |action: &'static str, path: &Path| {
            let path = path.to_owned();
            move |source: std::io::Error| StoreError::Io { action, path, source }
        };
        let seconds = Some(self.heartbeat.duration().as_secs());
        let content = Content { owner: self.owner.clone(), number: next_draft(), seconds };
        let bytes = serde_json::to_vec(&content).map_err(|error| io("write", draft)(error.into()))?;
        fs::write(draft, &bytes).map_err(io("write", draft))?;
        let mine = || {
            self.heartbeat.add(path);
            let (token, heartbeat) = (blake3::hash(&bytes), Arc::clone(self.heartbeat));
            Claim::Mine(Lease { path: path.to_owned(), token, heartbeat, record: Mutex::default() })
        };
        // Every round either ends or finds another owner.
        for _ in 0..100 {
            if link_new(draft, path).map_err(io("create", path))? {
                return Ok(mine());
            }
            let Some(found) = read(path).map_err(io("read", path))? else { continue };
            if let Some(holder) = self.holder(&found).map_err(io("read the times of", draft))? {
                return Ok(Claim::Held(holder));
            }
            // In one step: in between there is no time without a lease.
            let replaced = self.with_right_to_end(path, found.token, || fs::rename(draft, path));
            if replaced.map_err(io("replace", path))? {
                return Ok(mine());
            }
        }
        Err(io("claim", path)(std::io::Error::other("lease is contended; gave up after 100 attempts")))
    }

    /// Removes the lease at `path` if it may be taken over, and returns whether it did.
    pub(crate) fn remove_left(&self, path: &Path) -> std::io::Result<bool> {
        let Some(found) = read(path)? else { return Ok(false) };
        if self.holder(&found)?.is_some() {
            return Ok(false);
        }
        self.with_right_to_end(path, found.token, || fs::remove_file(path))
    }

    /// The holder of a lease; `None` if it may be taken over.
    fn holder(&self, found: &LeaseFile) -> std::io::Result<Option<Holder>> {
        let Some(content) = &found.content else { return Ok(None) };
        let holder = || Some(Holder { owner: content.owner.clone(), expires: content.seconds.is_some() });
        match (content.owner.liveness(), content.seconds) {
            (Liveness::Dead, _) => Ok(None),
            // A stopped process of this machine goes on as if nothing had happened.
            (Liveness::Alive, _) | (Liveness::Foreign, None) => Ok(holder()),
            (Liveness::Foreign, Some(seconds)) => {
                let is_late = self.age(found.modified)? > Duration::from_secs(seconds);
                Ok(if is_late { None } else { holder() })
            }
        }
    }

    /// How long ago a time of the store's file system was.
    pub(crate) fn age(&self, time: Timespec) -> std::io::Result<Duration> {
        let clock = self.draft();
        let file = File::create(&clock)?;
        let now = touch(&file).and_then(|()| modified(&file));
        let _ = fs::remove_file(&clock);
        Ok(difference(now?, time))
    }

    /// Ends a lease by `end`, if it is still the one with the token and no other process does so.
    fn with_right_to_end(
        &self,
        path: &Path,
        token: Token,
        end: impl FnOnce() -> std::io::Result<()>,
    ) -> std::io::Result<bool> {
        let right = path.with_file_name(format!("lease.{}", &token.to_hex()[..16]));
        let draft = self.draft();
        fs::write(&draft, serde_json::to_vec(self.owner).map_err(std::io::Error::from)?)?;
        let linked = link_new(&draft, &right);
        let _ = fs::remove_file(&draft);
        if !linked? {
            self.remove_left_right(&right)?;
            return Ok(false);
        }
        let is_same = read(path)?.is_some_and(|found| found.token == token);
        let ended = if is_same { end().map(|()| true) } else { Ok(false) };
        let _ = fs::remove_file(&right);
        ended
    }

    /// Removes the right of a process that died, or stopped, before it used it.
    fn remove_left_right(&self, right: &Path) -> std::io::Result<()> {
        let Ok(file) = File::open(right) else { return Ok(()) };
        let is_dead = read_owner(right).is_none_or(|owner| owner.is_dead());
        if is_dead || self.age(modified(&file)?)? > self.heartbeat.duration() {
            let _ = fs::remove_file(right);
        } else {
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// A path of this process's own on the file system of the store.
    fn draft(&self) -> PathBuf {
        self.scratch.join(format!("lease-{}", next_draft()))
    }
}

/// Gives a file a second name if that is free, and returns whether it was. The number of links
/// decides, because an NFS server's reply can be lost (open(2), `O_EXCL`).
fn link_new(draft: &Path, path: &Path) -> std::io::Result<bool> {
    let linked = fs::hard_link(draft, path);
    let is_linked = File::open(draft).and_then(|file| Ok(fstat(file)?.st_nlink == 2));
    match linked {
        Ok(()) => Ok(true),
        Err(_) if is_linked.is_ok_and(|is_linked| is_linked) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        // A file system without links, which other machines do not share.
        Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::PERM | Errno::OPNOTSUPP)) => {
            match renameat_with(CWD, draft, CWD, path, RenameFlags::NOREPLACE) {
                Ok(()) => Ok(true),
                Err(Errno::EXIST) => Ok(false),
                Err(error) => Err(error.into()),
            }
        }
        Err(error) => Err(error),
    }
}

/// From `earlier` to `later`; zero if it is the other way round.
fn difference(later: Timespec, earlier: Timespec) -> Duration {
    let nanoseconds = |time: Timespec| i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec);
    let between = nanoseconds(later) - nanoseconds(earlier);
    Duration::from_nanos(u64::try_from(between.max(0)).unwrap_or(u64::MAX))
}

/// The owner in a file; `None` if it is missing or unreadable.
pub(crate) fn read_owner(path: &Path) -> Option<Owner> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests;
