//! Unpacks untrusted tar archives beneath a folder.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use tar::{Archive, Entry, EntryType};

use crate::SandboxError;
use assay_fs::{Caps, CopyReport, LeftOut};

/// Minimum number of skipped bytes before the rest of an archive is skipped too.
const PATIENCE: u64 = 64 << 20;

pub(super) fn words(kind: EntryType) -> &'static str {
    match kind {
        EntryType::Directory => "a folder",
        EntryType::Symlink => "a symbolic link",
        EntryType::Link => "a hard link to a file that was left out",
        EntryType::Fifo => "a pipe",
        EntryType::Char | EntryType::Block => "a device",
        _ => "something else",
    }
}

/// Why something is not read as a file.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotRead {
    #[error("it is {0}")]
    Kind(&'static str),
    #[error("larger than {0} bytes")]
    TooLarge(u64),
}

/// Unpacks an archive beneath a folder.
pub(super) struct Unpack<'a> {
    to: &'a Path,
    caps: &'a Caps,
    seen: u64,
    passed_over: u64,
    /// Folders that were created, by their path beneath `to`; files are written only into these.
    folders: BTreeSet<PathBuf>,
    files: BTreeSet<PathBuf>,
    /// Links, created at the end: nothing can be written through them.
    links: Vec<(PathBuf, PathBuf)>,
    report: CopyReport,
}

impl<'a> Unpack<'a> {
    pub(super) fn new(to: &'a Path, caps: &'a Caps) -> Result<Self, SandboxError> {
        folder(to)?;
        Ok(Self {
            to,
            caps,
            seen: 0,
            passed_over: 0,
            folders: BTreeSet::from([PathBuf::new()]),
            files: BTreeSet::new(),
            links: Vec::new(),
            report: CopyReport::default(),
        })
    }

    /// Unpacks what it can. The first component of each path is the name of the requested entry.
    pub(super) fn all(&mut self, reader: impl Read) -> Result<(), SandboxError> {
        let broken =
            |source| SandboxError::Io { action: "unpack", path: PathBuf::from("an archive"), source };
        let mut archive = Archive::new(reader);
        let mut root_is_folder = false;
        for entry in archive.entries().map_err(broken)? {
            let mut entry = entry.map_err(broken)?;
            let given = entry.path().map_err(broken)?.into_owned();
            let kind = entry.header().entry_type();
            if matches!(kind, EntryType::XGlobalHeader) {
                continue;
            }
            let Some(mut path) = plain(&given) else {
                self.leave_out(&given, "a name that points outside the folder");
                continue;
            };
            if self.seen == 0 && kind == EntryType::Directory {
                root_is_folder = true;
            }
            if root_is_folder {
                path = path.components().skip(1).collect();
            }
            if path.as_os_str().is_empty() {
                continue;
            }
            if self.admits(&path) {
                self.unpack_entry(&mut entry, kind, path)?;
            } else {
                self.pass_over(entry.size());
            }
            if self.is_full() {
                return Ok(());
            }
            if self.passed_over > self.caps.total_bytes.saturating_add(PATIENCE) {
                self.leave_out(Path::new(""), "the rest, after too many files were left out");
                return Ok(());
            }
        }
        Ok(())
    }

    /// How many more entries are accepted.
    pub(super) fn room(&self) -> u64 {
        self.caps.entries.saturating_sub(self.seen)
    }

    /// Whether there were more entries than are accepted.
    pub(super) fn is_full(&self) -> bool {
        self.seen > self.caps.entries
    }

    /// Records that a folder has too many entries.
    pub(super) fn overflow(&mut self, path: &Path) {
        self.seen = self.caps.entries.saturating_add(1);
        self.leave_out(path, format!("more than {} entries", self.caps.entries));
    }

    /// Whether another entry is accepted, by number and depth.
    pub(super) fn admits(&mut self, path: &Path) -> bool {
        self.seen += 1;
        if self.is_full() {
            self.overflow(path);
            return false;
        }
        if path.components().count() > self.caps.depth {
            self.leave_out(path, format!("more than {} folders deep", self.caps.depth));
            return false;
        }
        let has_folder = self.folders.contains(path.parent().unwrap_or(Path::new("")));
        if !has_folder {
            self.leave_out(path, "its folder was left out");
        }
        has_folder
    }

    /// Whether a file of this size is accepted.
    pub(super) fn has_room(&mut self, path: &Path, size: u64) -> bool {
        let left = self.caps.total_bytes - self.report.bytes;
        if size > self.caps.file_bytes {
            self.leave_out(path, format!("larger than {} bytes", self.caps.file_bytes));
        } else if size > left {
            self.leave_out(path, format!("the limit is reached after {} bytes", self.report.bytes));
        }
        size <= self.caps.file_bytes.min(left)
    }

    fn unpack_entry(
        &mut self,
        entry: &mut Entry<'_, impl Read>,
        kind: EntryType,
        path: PathBuf,
    ) -> Result<(), SandboxError> {
        let mode = entry.header().mode().unwrap_or(0o600) & 0o777;
        match kind {
            EntryType::Directory => self.folder(path, mode)?,
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                if self.has_room(&path, entry.size()) {
                    let modified = entry.header().mtime().ok();
                    self.file(entry, &path, mode, modified)?;
                } else {
                    self.pass_over(entry.size());
                }
            }
            EntryType::Symlink => {
                let target = entry.link_name().ok().flatten().map(std::borrow::Cow::into_owned);
                self.link(&path, target);
            }
            EntryType::Link => {
                // A hard link: Docker archives the first file in full.
                let first = entry.link_name().ok().flatten().and_then(|name| plain(&name));
                // Some daemons name it from the requested folder, others from within it.
                let short = first.as_ref().map(|name| name.components().skip(1).collect::<PathBuf>());
                match short.into_iter().chain(first).find(|first| self.files.contains(first)) {
                    Some(first) => {
                        let from = self.to.join(first);
                        let source = File::open(&from).map_err(|e| io_at("read", &from, e))?;
                        let size = source.metadata().map_or(0, |found| found.len());
                        if self.has_room(&path, size) {
                            self.file(source, &path, mode, None)?;
                        }
                    }
                    None => self.leave_out(&path, words(kind)),
                }
            }
            kind => {
                self.pass_over(entry.size());
                self.leave_out(&path, words(kind));
            }
        }
        Ok(())
    }

    pub(super) fn folder(&mut self, path: PathBuf, mode: u32) -> Result<(), SandboxError> {
        let to = self.to.join(&path);
        folder(&to)?;
        fs::set_permissions(&to, Permissions::from_mode(mode & 0o777 | 0o700))
            .map_err(|error| io_at("write", &to, error))?;
        self.folders.insert(path);
        Ok(())
    }

    /// A symbolic link, to be created at the end.
    pub(super) fn link(&mut self, path: &Path, target: Option<PathBuf>) {
        match target {
            Some(target) if self.caps.links => self.links.push((path.to_owned(), target)),
            Some(_) => self.leave_out(path, words(EntryType::Symlink)),
            None => self.leave_out(path, "a link that was not resolved"),
        }
    }

    pub(super) fn file(
        &mut self,
        mut source: impl Read,
        path: &Path,
        mode: u32,
        modified: Option<u64>,
    ) -> Result<(), SandboxError> {
        let to = &self.to.join(path);
        let mut new = match OpenOptions::new().write(true).create_new(true).mode(mode | 0o200).open(to) {
            Ok(new) => new,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.leave_out(path, "already exists");
                return Ok(());
            }
            Err(error) => return Err(io_at("create", to, error)),
        };
        let copied = io::copy(&mut source, &mut new).map_err(|error| io_at("write", to, error))?;
        new.set_permissions(Permissions::from_mode(mode)).map_err(|error| io_at("write", to, error))?;
        if let Some(modified) = modified {
            let time = std::time::UNIX_EPOCH.checked_add(std::time::Duration::from_secs(modified));
            // The content is kept even if the file system stores no times.
            let _ = time.map(|time| new.set_modified(time));
        }
        self.report.files += 1;
        self.report.bytes += copied;
        self.files.insert(path.to_owned());
        Ok(())
    }

    /// Removes what was unpacked: it will be copied in another way.
    pub(super) fn undo(self) {
        for path in &self.files {
            let _ = fs::remove_file(self.to.join(path));
        }
        // A folder comes after its content.
        for path in self.folders.iter().rev().filter(|path| !path.as_os_str().is_empty()) {
            let _ = fs::remove_dir(self.to.join(path));
        }
    }

    fn pass_over(&mut self, bytes: u64) {
        self.passed_over = self.passed_over.saturating_add(bytes);
    }

    pub(super) fn leave_out(&mut self, path: &Path, reason: impl Into<String>) {
        // Enough to see what happened; more would not help.
        if (self.report.left_out.len() as u64) <= self.caps.entries {
            self.report.left_out.push(LeftOut { path: path.to_owned(), reason: reason.into() });
        }
    }

    /// Creates the links.
    pub(super) fn finish(mut self) -> Result<CopyReport, SandboxError> {
        for (path, target) in std::mem::take(&mut self.links) {
            let to = self.to.join(&path);
            match std::os::unix::fs::symlink(target, &to) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    self.leave_out(&path, "already exists");
                }
                Err(error) => return Err(io_at("create", &to, error)),
            }
        }
        Ok(self.report)
    }
}

fn io_at(action: &'static str, path: &Path, source: io::Error) -> SandboxError {
    SandboxError::Io { action, path: path.to_owned(), source }
}

fn folder(path: &Path) -> Result<(), SandboxError> {
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_folder(path) => Ok(()),
        Err(error) => Err(io_at("create", path, error)),
        Ok(()) => Ok(()),
    }
}

/// Whether it is a folder, and not a link to one.
fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// A relative path without special components.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => plain.push(name),
            Component::CurDir => {}
            _ => return None,
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use tar::{Builder, Header};

    use super::*;

    /// An archive with names that only hostile programs write.
    fn archive(entries: &[(&str, EntryType, &str, &str)]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        for (name, kind, link, content) in entries {
            let mut header = Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_mode(0o6755);
            header.set_size(content.len() as u64);
            header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
            header.as_mut_bytes()[157..157 + link.len()].copy_from_slice(link.as_bytes());
            header.set_cksum();
            builder.append(&header, content.as_bytes()).unwrap();
        }
        builder.into_inner().unwrap()
    }

    #[test]
    fn hostile_archive_stays_in_its_folder() {
        use EntryType::{Block, Char, Directory, Link, Regular, Symlink};
        let dir = tempfile::tempdir().unwrap();
        let outside = dir.path().join("outside");
        let to = dir.path().join("to");
        fs::write(&outside, "untouched").unwrap();
        let entries = [
            ("out/", Directory, "", ""),
            ("out/good", Regular, "", "good"),
            ("/out/absolute", Regular, "", "x"),
            ("out/../../outside", Regular, "", "x"),
            ("../outside", Regular, "", "x"),
            ("out/link", Symlink, "../outside", ""),
            ("out/link", Regular, "", "through the link"),
            ("out/away", Symlink, "..", ""),
            ("out/away/outside", Regular, "", "through the folder"),
            ("out/hard", Link, "../outside", ""),
            ("out/hard2", Link, "/etc/passwd", ""),
            ("out/twin", Link, "out/good", ""),
            ("out/good", Regular, "", "twice"),
            ("out/device", Char, "", ""),
            ("out/disk", Block, "", ""),
            ("out/none/there", Regular, "", "x"),
        ];
        let caps = Caps::default();
        let mut unpack = Unpack::new(&to, &caps).unwrap();
        unpack.all(&archive(&entries)[..]).unwrap();
        let report = unpack.finish().unwrap();
        assert_eq!(fs::read_to_string(&outside).unwrap(), "untouched");
        let mut names: Vec<_> = fs::read_dir(&to)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["away", "good", "link", "twin"]);
        assert_eq!(fs::read_to_string(to.join("good")).unwrap(), "good");
        assert_eq!(fs::metadata(to.join("good")).unwrap().mode() & 0o7777, 0o755);
        // Links are created last: this one's name was already taken.
        assert_eq!(fs::read_to_string(to.join("link")).unwrap(), "through the link");
        assert_eq!(report.left_out.len(), 11, "{:?}", report.left_out);
    }

    #[test]
    fn broken_archive_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let whole =
            archive(&[("out/", EntryType::Directory, "", ""), ("out/a", EntryType::Regular, "", "abc")]);
        let caps = Caps::default();
        for cut in [100, 700, 1100] {
            let mut unpack = Unpack::new(dir.path(), &caps).unwrap();
            assert!(unpack.all(&whole[..cut]).is_err(), "{cut}");
        }
        let mut unpack = Unpack::new(dir.path(), &caps).unwrap();
        assert!(unpack.all(&[7; 2000][..]).is_err());
    }
}
