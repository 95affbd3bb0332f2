//! What a folder holds.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ffi::OsString;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, readlinkat};
use rustix::io::Errno;

use crate::collect::open_file;
use crate::walk::{self, Item, Next, Sequence, Visitor, walk};
use crate::{Caps, CollectError, LeftOut};

/// What something in a folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Dir,
    /// A symbolic link.
    Link,
    /// A pipe, a socket, a device.
    Other,
}

/// One thing in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What it is.
    pub kind: EntryKind,
    /// Bytes of a regular file, else 0.
    pub size: u64,
    /// The permission bits, set-id bits included.
    pub mode: u32,
    /// BLAKE3 of a regular file's content; `None` for anything else and where it could not be read within the caps.
    pub digest: Option<[u8; 32]>,
    /// Where a symbolic link points.
    pub target: Option<PathBuf>,
}

/// What a folder holds, by relative path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifest {
    /// What was seen.
    pub entries: BTreeMap<PathBuf, Entry>,
    /// What was not, for the caps.
    pub left_out: Vec<LeftOut>,
}

/// What became of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// Its kind, mode, content or link target differs.
    Modified,
}

/// A difference between two manifests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The relative path.
    pub path: PathBuf,
    /// What became of it.
    pub kind: ChangeKind,
}

impl Manifest {
    /// Reads a folder, following no link. What goes beyond the caps is listed in `left_out`; a file that is too large is
    /// there without its digest.
    pub fn scan(dir: &Path, caps: &Caps) -> Result<Self, CollectError> {
        let root = walk::open(dir).map_err(|error| CollectError::io("open", dir, error))?;
        let mut scan = Scan { caps, bytes: 0, manifest: Self::default() };
        match walk(root, Sequence::ByName(caps.entries), &mut scan) {
            Ok(()) => Ok(scan.manifest),
            Err(never) => match never {},
        }
    }

    /// What differs in `later`, by path.
    ///
    /// Where a file has no digest on either side, it counts as changed if its size differs.
    pub fn diff(&self, later: &Self) -> Vec<Change> {
        let change = |path: &PathBuf, kind| Change { path: path.clone(), kind };
        let gone = self.entries.keys().filter(|path| !later.entries.contains_key(*path));
        let mut changes: Vec<Change> = gone.map(|path| change(path, ChangeKind::Removed)).collect();
        changes.extend(later.entries.iter().filter_map(|(path, entry)| match self.entries.get(path) {
            None => Some(change(path, ChangeKind::Added)),
            Some(before) if before != entry => Some(change(path, ChangeKind::Modified)),
            Some(_) => None,
        }));
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        changes
    }
}

struct Scan<'a> {
    caps: &'a Caps,
    bytes: u64,
    manifest: Manifest,
}

impl Scan<'_> {
    fn leave_out(&mut self, path: &Path, reason: String) {
        if (self.manifest.left_out.len() as u64) < self.caps.entries.max(1) {
            self.manifest.left_out.push(LeftOut { path: path.to_owned(), reason });
        }
    }

    /// The digest of a file within the caps.
    fn digest(&mut self, item: &Item<'_>, size: u64) -> Option<[u8; 32]> {
        let left = self.caps.total_bytes.saturating_sub(self.bytes);
        let most = self.caps.file_bytes.min(left);
        if size > most {
            self.leave_out(item.path, format!("its content goes beyond {most} bytes"));
            return None;
        }
        let file = match open_file(item.dir, item.name) {
            Ok(Some(file)) => file,
            Ok(None) => return None,
            Err(error) => {
                self.leave_out(item.path, format!("cannot be read: {error}"));
                return None;
            }
        };
        let mut hasher = blake3::Hasher::new();
        // It may grow while it is read.
        let read = hasher.update_reader(file.take(most));
        if let Err(error) = read {
            self.leave_out(item.path, format!("cannot be read: {error}"));
            return None;
        }
        self.bytes += hasher.count();
        Some(*hasher.finalize().as_bytes())
    }
}

impl Visitor for Scan<'_> {
    type Error = Infallible;

    fn item(&mut self, item: &Item<'_>) -> Result<Next, Infallible> {
        if self.manifest.entries.len() as u64 >= self.caps.entries {
            self.leave_out(item.path, format!("more than {} entries", self.caps.entries));
            return Ok(Next::Stop);
        }
        let mut entry = Entry {
            kind: EntryKind::Other,
            size: 0,
            mode: item.stat.st_mode & 0o7777,
            digest: None,
            target: None,
        };
        match item.kind() {
            FileType::RegularFile => {
                entry.kind = EntryKind::File;
                entry.size = u64::try_from(item.stat.st_size).unwrap_or(0);
                entry.digest = self.digest(item, entry.size);
            }
            FileType::Directory => entry.kind = EntryKind::Dir,
            FileType::Symlink => {
                entry.kind = EntryKind::Link;
                entry.target = readlinkat(item.dir, item.name, Vec::new())
                    .ok()
                    .map(|target| PathBuf::from(OsString::from_vec(target.into_bytes())));
            }
            _ => {}
        }
        let deep = entry.kind == EntryKind::Dir && item.depth > self.caps.depth;
        self.manifest.entries.insert(item.path.to_owned(), entry);
        if deep {
            self.leave_out(item.path, format!("more than {} folders deep", self.caps.depth));
        }
        Ok(if deep { Next::Past } else { Next::Into })
    }

    fn failed(&mut self, path: &Path, error: Errno) -> Result<(), Infallible> {
        let reason = match error {
            Errno::OVERFLOW => format!("more than {} entries", self.caps.entries),
            error => format!("cannot be read: {error}"),
        };
        self.leave_out(path, reason);
        Ok(())
    }
}
