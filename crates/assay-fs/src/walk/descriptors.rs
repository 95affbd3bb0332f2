//! A walk along descriptors.
//!
//! Folders are opened relative to one another, never by a long path, and at most [`HELD`] are open
//! at once. Deeper ones are found again by going up, after checking that the parent is still the
//! same.

use std::collections::BinaryHeap;
use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, Stat, fstat, openat, readlinkat, statat};
use rustix::io::Errno;

use super::{Next, Sequence, Visitor};
use crate::FileKind;
use crate::kind::describe;
use crate::open::READ;

/// Most folders open at once.
const HELD: usize = 48;

/// A folder that is open.
pub type Folder = OwnedFd;

/// An item of a folder.
pub struct Item<'a> {
    /// Its path relative to the start of the walk.
    pub path: &'a Path,
    /// 1 for entries of the first folder itself.
    pub depth: usize,
    dir: BorrowedFd<'a>,
    name: &'a CStr,
    stat: &'a Stat,
}

impl Item<'_> {
    /// Its kind.
    pub fn kind(&self) -> FileKind {
        match FileType::from_raw_mode(self.stat.st_mode) {
            FileType::RegularFile => FileKind::File,
            FileType::Directory => FileKind::Directory,
            FileType::Symlink => FileKind::Link,
            _ => FileKind::Other,
        }
    }

    /// What something that is not a regular file is, for messages.
    pub fn describe(&self) -> &'static str {
        describe(FileType::from_raw_mode(self.stat.st_mode))
    }

    /// Bytes of a file, or of a link's target.
    pub fn size(&self) -> u64 {
        u64::try_from(self.stat.st_size).unwrap_or(0)
    }

    /// Its mode, the kind included.
    pub fn mode(&self) -> u32 {
        self.stat.st_mode
    }

    /// When it was last read.
    pub fn accessed(&self) -> Option<SystemTime> {
        time(self.stat.st_atime, self.stat.st_atime_nsec)
    }

    /// When it was last written.
    pub fn modified(&self) -> Option<SystemTime> {
        time(self.stat.st_mtime, self.stat.st_mtime_nsec)
    }

    /// The folder it is in.
    pub fn dir(&self) -> BorrowedFd<'_> {
        self.dir
    }

    /// Its name there.
    pub fn name(&self) -> &CStr {
        self.name
    }

    /// The kernel's data about it.
    pub fn stat(&self) -> &Stat {
        self.stat
    }

    /// Opens a regular file; `None` if it is something else by now.
    pub fn open(&self) -> io::Result<Option<File>> {
        open_at(self.dir, self.name)
    }

    /// The target of a link.
    pub fn read_link(&self) -> io::Result<PathBuf> {
        let target = readlinkat(self.dir, self.name, Vec::new())?;
        Ok(PathBuf::from(std::ffi::OsString::from_vec(target.into_bytes())))
    }
}

/// Opens a regular file in a folder that is open; `None` if it is something else by now.
pub fn open_at(dir: impl AsFd, name: &CStr) -> io::Result<Option<File>> {
    match openat(dir, name, READ, Mode::empty()) {
        Ok(fd) => {
            let kind = FileType::from_raw_mode(fstat(&fd)?.st_mode);
            Ok(Some(File::from(fd)).filter(|_| kind == FileType::RegularFile))
        }
        Err(Errno::LOOP | Errno::NXIO | Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn time(seconds: i64, nanos: u64) -> Option<SystemTime> {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let start = SystemTime::UNIX_EPOCH;
    let second = if seconds < 0 { start.checked_sub(whole) } else { start.checked_add(whole) };
    second?.checked_add(Duration::from_nanos(nanos))
}

struct Level {
    /// Folders to go into, the next one last.
    todo: Vec<CString>,
    /// Open, unless too many are.
    fd: Option<OwnedFd>,
    identity: (u64, u64),
    /// Its name in the level above.
    name: CString,
}

/// Opens a folder to walk, following links on the way to it but not at its end.
pub fn open(path: &Path) -> io::Result<Folder> {
    Ok(openat(CWD, path, FOLDER | OFlags::NOFOLLOW, Mode::empty())?)
}

/// Opens a folder to walk, following links also at its end.
pub fn open_following(path: &Path) -> io::Result<Folder> {
    Ok(openat(CWD, path, FOLDER, Mode::empty())?)
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Walks everything below `root`.
pub fn walk<V: Visitor>(root: Folder, sequence: Sequence, visitor: &mut V) -> Result<(), V::Error> {
    let mut path = PathBuf::new();
    let mut levels: Vec<Level> = Vec::new();
    let mut current = root;
    let mut arriving = Some(CString::default());
    loop {
        if let Some(name) = arriving.take() {
            let identity = match fstat(&current) {
                Ok(stat) => (stat.st_dev, stat.st_ino),
                Err(error) => return visitor.failed(&path, error.into()),
            };
            let mut todo = Vec::new();
            let depth = levels.len() + 1;
            if visit(current.as_fd(), &mut path, depth, sequence, visitor, &mut todo)? == Next::Stop {
                return Ok(());
            }
            todo.reverse();
            levels.push(Level { todo, fd: None, identity, name });
        }
        let depth = levels.len();
        let Some(level) = levels.last_mut() else { return Ok(()) };
        if let Some(name) = level.todo.pop() {
            path.push(OsStr::from_bytes(name.to_bytes()));
            match openat(&current, &name, FOLDER | OFlags::NOFOLLOW, Mode::empty()) {
                Ok(below) => {
                    let above = std::mem::replace(&mut current, below);
                    level.fd = (depth <= HELD).then_some(above);
                    arriving = Some(name);
                }
                Err(error) => {
                    visitor.failed(&path, error.into())?;
                    path.pop();
                }
            }
            continue;
        }
        // This folder is finished: up.
        let Some(finished) = levels.pop() else { return Ok(()) };
        let Some(above) = levels.last_mut() else { return Ok(()) };
        current = match above.fd.take() {
            Some(fd) => fd,
            None => match up(&current, above.identity) {
                Ok(fd) => fd,
                Err(error) => return visitor.failed(&path, error.into()),
            },
        };
        visitor.done(current.as_fd(), &finished.name, &path)?;
        path.pop();
    }
}

/// The parent folder, if it is still the same.
fn up(dir: &OwnedFd, identity: (u64, u64)) -> Result<OwnedFd, Errno> {
    let above = openat(dir, c"..", FOLDER, Mode::empty())?;
    let stat = fstat(&above)?;
    if (stat.st_dev, stat.st_ino) == identity { Ok(above) } else { Err(Errno::STALE) }
}

/// Shows every item of one folder to the visitor and gathers the folders to go into.
fn visit<V: Visitor>(
    dir: BorrowedFd<'_>,
    path: &mut PathBuf,
    depth: usize,
    sequence: Sequence,
    visitor: &mut V,
    todo: &mut Vec<CString>,
) -> Result<Next, V::Error> {
    let mut space = [MaybeUninit::uninit(); 16 << 10];
    let mut entries = RawDir::new(dir, &mut space);
    let mut names = BinaryHeap::new();
    let mut over = false;
    while let Some(entry) = entries.next() {
        let name = match &entry {
            Ok(entry) => entry.file_name(),
            Err(Errno::INTR) => continue,
            Err(error) => {
                visitor.failed(path, (*error).into())?;
                break;
            }
        };
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        match sequence {
            Sequence::Any => {
                if visit_item(dir, name, path, depth, visitor, todo)? == Next::Stop {
                    return Ok(Next::Stop);
                }
            }
            Sequence::ByName(most) => {
                names.push(name.to_owned());
                if names.len() as u64 > most {
                    names.pop();
                    over = true;
                }
            }
        }
    }
    for name in names.into_sorted_vec() {
        if visit_item(dir, &name, path, depth, visitor, todo)? == Next::Stop {
            return Ok(Next::Stop);
        }
    }
    if over {
        visitor.truncated(path)?;
    }
    Ok(Next::Into)
}

fn visit_item<V: Visitor>(
    dir: BorrowedFd<'_>,
    name: &CStr,
    path: &mut PathBuf,
    depth: usize,
    visitor: &mut V,
    todo: &mut Vec<CString>,
) -> Result<Next, V::Error> {
    path.push(OsStr::from_bytes(name.to_bytes()));
    let next = match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => {
            let item = Item { dir, name, path, stat: &stat, depth };
            let next = visitor.item(&item)?;
            if next == Next::Into && item.kind() == FileKind::Directory {
                todo.push(name.to_owned());
            }
            next
        }
        // It went away while we looked.
        Err(Errno::NOENT) => Next::Past,
        Err(error) => {
            visitor.failed(path, error.into())?;
            Next::Past
        }
    };
    path.pop();
    Ok(next)
}
