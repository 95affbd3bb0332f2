//! Manifests of folders: entries by relative path.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::walk::{self, Item, Next, Sequence, Visitor, walk};
use crate::{Caps, FileKind, FsError, LeftOut, Tally};

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its kind.
    pub kind: FileKind,
    /// Bytes of a regular file, else 0.
    pub size: u64,
    /// The permission bits, set-id bits included.
    pub mode: u32,
    /// BLAKE3 of a regular file's content; `None` for anything else and if it could not be read
    /// within the caps.
    pub digest: Option<[u8; 32]>,
    /// The target of a symbolic link.
    pub target: Option<PathBuf>,
}

/// The entries of a folder, by relative path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifest {
    /// The entries that were read.
    pub entries: BTreeMap<PathBuf, Entry>,
    /// The entries that were left out because of the caps.
    pub left_out: Vec<LeftOut>,
}

/// How an entry changed.
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
    /// How it changed.
    pub kind: ChangeKind,
}

impl Manifest {
    /// Reads a folder without following links. Entries beyond the caps are listed in `left_out`; a
    /// file that is too large is included without its digest.
    pub fn scan(dir: &Path, caps: &Caps) -> Result<Self, FsError> {
        let root = walk::open(dir).map_err(|error| FsError::io("open", dir, error))?;
        let mut scan = Scan { tally: Tally::new(caps), entries: BTreeMap::new() };
        match walk(root, Sequence::ByName(caps.entries), &mut scan) {
            Ok(()) => Ok(Self { entries: scan.entries, left_out: scan.tally.report.left_out }),
            Err(never) => match never {},
        }
    }

    /// The differences in `later`, by path.
    ///
    /// If a file has no digest on either side, it counts as changed if its size differs.
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
    tally: Tally<'a>,
    entries: BTreeMap<PathBuf, Entry>,
}

impl Scan<'_> {
    /// The digest of a file within the caps.
    fn digest(&mut self, item: &Item<'_>) -> Option<[u8; 32]> {
        let most = self.tally.room();
        if item.size() > most {
            self.tally.leave_out(item.path, format!("its content goes beyond {most} bytes"));
            return None;
        }
        let mut hasher = blake3::Hasher::new();
        // It may grow while it is read.
        let read = match item.open() {
            Ok(Some(file)) => hasher.update_reader(file.take(most)).map(|_| ()),
            Ok(None) => return None,
            Err(error) => Err(error),
        };
        if let Err(error) = read {
            self.tally.failed(item.path, &error);
            return None;
        }
        self.tally.add_file(hasher.count());
        Some(*hasher.finalize().as_bytes())
    }
}

impl Visitor for Scan<'_> {
    type Error = Infallible;

    fn item(&mut self, item: &Item<'_>) -> Result<Next, Infallible> {
        if let Some(next) = self.tally.count(item) {
            return Ok(next);
        }
        let kind = item.kind();
        let entry = Entry {
            kind,
            size: if kind == FileKind::File { item.size() } else { 0 },
            mode: item.mode() & 0o7777,
            digest: if kind == FileKind::File { self.digest(item) } else { None },
            target: if kind == FileKind::Link { item.read_link().ok() } else { None },
        };
        self.entries.insert(item.path.to_owned(), entry);
        Ok(self.tally.check_depth(item).unwrap_or(Next::Into))
    }

    fn failed(&mut self, path: &Path, error: io::Error) -> Result<(), Infallible> {
        self.tally.failed(path, &error);
        Ok(())
    }

    fn truncated(&mut self, path: &Path) -> Result<(), Infallible> {
        self.tally.truncated(path);
        Ok(())
    }
}
