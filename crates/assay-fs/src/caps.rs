//! Bounds on what is read from a folder, and the account of it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::FileKind;
use crate::walk::{Item, Next};

/// Upper bounds on what is read from a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// Files, folders and links together.
    pub entries: u64,
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Bytes of all files.
    pub total_bytes: u64,
    /// Folders within folders.
    pub depth: usize,
    /// Whether symbolic links are copied, as links; otherwise they are omitted.
    pub links: bool,
}

impl Default for Caps {
    fn default() -> Self {
        Self { entries: 100_000, file_bytes: 256 << 20, total_bytes: 2 << 30, depth: 64, links: true }
    }
}

/// Something that was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Where, relative to the folder.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

/// What a copy includes and omits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CopyReport {
    /// Regular files copied.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Entries that were not copied.
    pub left_out: Vec<LeftOut>,
}

/// Applies [`Caps`] to a walk, and keeps the account.
#[derive(Debug)]
pub struct Tally<'a> {
    /// The bounds.
    pub caps: &'a Caps,
    /// Entries read so far.
    pub report: CopyReport,
    seen: u64,
}

impl<'a> Tally<'a> {
    /// An empty account.
    pub fn new(caps: &'a Caps) -> Self {
        Self { caps, report: CopyReport::default(), seen: 0 }
    }

    /// Records an omitted entry. The walk continues after it.
    pub fn leave_out(&mut self, path: &Path, reason: impl Into<String>) -> Next {
        // This many are enough to see the cause.
        if (self.report.left_out.len() as u64) < self.caps.entries.max(1) {
            self.report.left_out.push(LeftOut { path: path.to_owned(), reason: reason.into() });
        }
        Next::Past
    }

    /// Counts one more entry; returns how to continue if that is one too many.
    pub fn count(&mut self, item: &Item<'_>) -> Option<Next> {
        self.seen += 1;
        if self.seen <= self.caps.entries {
            return None;
        }
        self.truncated(item.path);
        Some(Next::Stop)
    }

    /// How the walk continues if a folder is too deep.
    pub fn check_depth(&mut self, item: &Item<'_>) -> Option<Next> {
        let deep = item.kind() == FileKind::Directory && item.depth > self.caps.depth;
        deep.then(|| self.leave_out(item.path, format!("more than {} folders deep", self.caps.depth)))
    }

    /// Bytes that the next file may have.
    pub fn room(&self) -> u64 {
        self.caps.file_bytes.min(self.caps.total_bytes.saturating_sub(self.report.bytes))
    }

    /// Opens a regular file within the caps; `None` if it is omitted.
    pub fn open(&mut self, item: &Item<'_>) -> Option<File> {
        if item.size() > self.caps.file_bytes {
            self.leave_out(item.path, format!("larger than {} bytes", self.caps.file_bytes));
            return None;
        }
        if item.size() > self.room() {
            self.leave_out(item.path, format!("the limit is reached after {} bytes", self.report.bytes));
            return None;
        }
        match item.open() {
            Ok(Some(file)) => return Some(file),
            Ok(None) => self.leave_out(item.path, "changed while it was read"),
            Err(error) => self.failed(item.path, &error),
        };
        None
    }

    /// The target of a link; `None` if it is omitted.
    pub fn read_link(&mut self, item: &Item<'_>) -> Option<PathBuf> {
        item.read_link().map_err(|error| self.failed(item.path, &error)).ok()
    }

    /// Counts a file that was taken.
    pub fn add_file(&mut self, bytes: u64) {
        self.report.files += 1;
        self.report.bytes += bytes;
    }

    /// Takes note of something that cannot be read.
    pub fn failed(&mut self, path: &Path, error: &io::Error) -> Next {
        self.leave_out(path, format!("cannot be read: {error}"))
    }

    /// Takes note that there are too many entries.
    pub fn truncated(&mut self, path: &Path) -> Next {
        self.leave_out(path, format!("more than {} entries", self.caps.entries))
    }
}
