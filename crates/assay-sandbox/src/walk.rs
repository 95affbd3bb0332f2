//! Walking a folder that somebody hostile filled: no link is followed, no depth overflows anything.
//!
//! Folders are opened relative to one another, never by a long path, and at most [`HELD`] are held open. Deeper ones are
//! found again by going up, and it is checked that up is where we came from.

use std::collections::BinaryHeap;
use std::ffi::{CStr, CString, OsStr};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, Stat, fstat, openat, statat};
use rustix::io::Errno;

/// Most folders held open at once.
const HELD: usize = 48;

/// Something in a folder.
pub(crate) struct Item<'a> {
    /// The folder it is in.
    pub(crate) dir: BorrowedFd<'a>,
    /// Its name there.
    pub(crate) name: &'a CStr,
    /// Its path from where the walk began.
    pub(crate) path: &'a Path,
    /// What it is, not following links.
    pub(crate) stat: &'a Stat,
    /// 1 for what lies in the first folder itself.
    pub(crate) depth: usize,
}

impl Item<'_> {
    pub(crate) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }
}

/// Where to go from an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Into it, if it is a folder.
    Into,
    /// Past it.
    Past,
    /// Home: the walk is over.
    Stop,
}

/// Whoever looks at the items.
pub(crate) trait Visitor {
    /// What ends the walk.
    type Error;

    /// Called for each thing, before what is in it.
    fn item(&mut self, item: &Item<'_>) -> Result<Next, Self::Error>;

    /// Called for each folder that was gone into, after what is in it; `dir` is the one it is in.
    fn done(&mut self, dir: BorrowedFd<'_>, name: &CStr, path: &Path) -> Result<(), Self::Error> {
        let _ = (dir, name, path);
        Ok(())
    }

    /// Called for what could not be looked at.
    fn failed(&mut self, path: &Path, error: Errno) -> Result<(), Self::Error>;
}

/// In which order a folder's items come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sequence {
    /// As the file system has them; nothing is remembered but the names of folders.
    Any,
    /// By name, as bytes; of one folder no more than this many are taken, the first ones, and then `failed` is told
    /// `OVERFLOW`.
    ByName(u64),
}

struct Level {
    /// Folders to go into, the next one last.
    todo: Vec<CString>,
    /// Held open, unless too many are.
    fd: Option<OwnedFd>,
    identity: (u64, u64),
    /// Its own name in the level above.
    name: CString,
}

/// Opens a folder to walk, following links on the way to it but not at its end.
pub(crate) fn open(path: &Path) -> Result<OwnedFd, Errno> {
    openat(CWD, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

/// Walks everything beneath `root`.
pub(crate) fn walk<V: Visitor>(root: OwnedFd, sequence: Sequence, visitor: &mut V) -> Result<(), V::Error> {
    let mut path = PathBuf::new();
    let mut levels: Vec<Level> = Vec::new();
    let mut current = root;
    let mut arriving = Some(CString::default());
    loop {
        if let Some(name) = arriving.take() {
            let identity = match fstat(&current) {
                Ok(stat) => (stat.st_dev, stat.st_ino),
                Err(error) => return visitor.failed(&path, error),
            };
            let mut todo = Vec::new();
            let depth = levels.len() + 1;
            if look(current.as_fd(), &mut path, depth, sequence, visitor, &mut todo)? == Next::Stop {
                return Ok(());
            }
            todo.reverse();
            levels.push(Level { todo, fd: None, identity, name });
        }
        let depth = levels.len();
        let Some(level) = levels.last_mut() else { return Ok(()) };
        if let Some(name) = level.todo.pop() {
            path.push(OsStr::from_bytes(name.to_bytes()));
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match openat(&current, &name, flags, Mode::empty()) {
                Ok(below) => {
                    let above = std::mem::replace(&mut current, below);
                    level.fd = (depth <= HELD).then_some(above);
                    arriving = Some(name);
                }
                Err(error) => {
                    visitor.failed(&path, error)?;
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
                Err(error) => return visitor.failed(&path, error),
            },
        };
        visitor.done(current.as_fd(), &finished.name, &path)?;
        path.pop();
    }
}

/// The folder above, if it is still the one we came from.
fn up(dir: &OwnedFd, identity: (u64, u64)) -> Result<OwnedFd, Errno> {
    let above = openat(dir, c"..", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let stat = fstat(&above)?;
    if (stat.st_dev, stat.st_ino) == identity { Ok(above) } else { Err(Errno::STALE) }
}

/// Shows every item of one folder to the visitor and gathers the folders to go into.
fn look<V: Visitor>(
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
                visitor.failed(path, *error)?;
                break;
            }
        };
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        match sequence {
            Sequence::Any => {
                if show(dir, name, path, depth, visitor, todo)? == Next::Stop {
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
        if show(dir, &name, path, depth, visitor, todo)? == Next::Stop {
            return Ok(Next::Stop);
        }
    }
    if over {
        visitor.failed(path, Errno::OVERFLOW)?;
    }
    Ok(Next::Into)
}

fn show<V: Visitor>(
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
            if next == Next::Into && item.kind() == FileType::Directory {
                todo.push(name.to_owned());
            }
            next
        }
        // It went away while we looked.
        Err(Errno::NOENT) => Next::Past,
        Err(error) => {
            visitor.failed(path, error)?;
            Next::Past
        }
    };
    path.pop();
    Ok(next)
}
