//! Hygiene for what comes out of a sandbox.

use std::ffi::{CStr, OsStr};
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Timespec, Timestamps, chmod, fstat, futimens, openat,
    openat2, readlinkat, statat, unlinkat,
};
use rustix::io::Errno;
use rustix::path::Arg;

use crate::walk::{self, Item, Next, Sequence, Visitor, walk};

/// Upper bounds on what is taken from a folder.
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
    /// Whether symbolic links are copied, as links; otherwise they are left out.
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

/// What [`copy_tree`] did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CopyReport {
    /// Regular files copied.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What was not copied.
    pub left_out: Vec<LeftOut>,
}

/// Why nothing could be taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectError {
    /// Not a regular file.
    #[error("{} is {found}, not a regular file", path.display())]
    NotAFile {
        /// Where.
        path: PathBuf,
        /// `a symbolic link`, `a folder`, …
        found: &'static str,
    },
    /// A path that is absolute, climbs out or goes through a link.
    #[error("{} leads out of its folder", path.display())]
    Escape {
        /// The path.
        path: PathBuf,
    },
    /// Too large.
    #[error("{} is larger than {cap} bytes", path.display())]
    TooLarge {
        /// Where.
        path: PathBuf,
        /// Most bytes.
        cap: u64,
    },
    /// The host failed us.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// `read`, …
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

impl CollectError {
    pub(crate) fn io(action: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self::Io { action, path: path.to_owned(), source: source.into() }
    }
}

/// What something that is not a regular file is, in words.
pub(crate) fn words(kind: FileType) -> &'static str {
    match kind {
        FileType::Directory => "a folder",
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "something else",
    }
}

/// Reads a regular file beneath `dir`, at most `cap` bytes of it; `None` where there is none.
///
/// No link is followed beneath `dir`, not even one that stays inside: somebody hostile filled it. Opening never waits.
/// Links, folders, pipes and devices are [`CollectError::NotAFile`]; a path that is absolute, holds `..` or goes through
/// a link is [`CollectError::Escape`]; a longer file is [`CollectError::TooLarge`].
pub fn read_beneath(dir: &Path, relative: &Path, cap: u64) -> Result<Option<Vec<u8>>, CollectError> {
    let path = dir.join(relative);
    let escape = || CollectError::Escape { path: relative.to_owned() };
    if !relative.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir)) {
        return Err(escape());
    }
    let base = match openat(CWD, dir, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()) {
        Ok(base) => base,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(CollectError::io("open", dir, error)),
    };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    // First only a handle, which asks nothing of a device or a pipe.
    let handle = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = match openat2(&base, relative, handle, Mode::empty(), resolve) {
        Ok(handle) => handle,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(Errno::LOOP | Errno::XDEV) => {
            let last = statat(&base, relative, AtFlags::SYMLINK_NOFOLLOW);
            // Whether the link is the file itself or on the way to it; where that changed meanwhile, either will do.
            return Err(match last.map(|stat| FileType::from_raw_mode(stat.st_mode)) {
                Ok(FileType::Symlink) => CollectError::NotAFile { path, found: words(FileType::Symlink) },
                _ => escape(),
            });
        }
        Err(error) => return Err(CollectError::io("open", &path, error)),
    };
    let stat = fstat(&handle).map_err(|error| CollectError::io("look at", &path, error))?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    if kind != FileType::RegularFile {
        return Err(CollectError::NotAFile { path, found: words(kind) });
    }
    let too_large = |path| CollectError::TooLarge { path, cap };
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    if size > cap {
        return Err(too_large(path));
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = match openat2(&base, relative, flags, Mode::empty(), resolve) {
        Ok(file) => File::from(file),
        Err(error) => return Err(CollectError::io("open", &path, error)),
    };
    // It may have been replaced since.
    let found = file.metadata().map_err(|error| CollectError::io("look at", &path, error))?;
    if !found.is_file() {
        return Err(CollectError::NotAFile { path, found: words(FileType::Unknown) });
    }
    let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or(0).min(1 << 20));
    let read = file.take(cap.saturating_add(1)).read_to_end(&mut content);
    read.map_err(|error| CollectError::io("read", &path, error))?;
    if content.len() as u64 > cap { Err(too_large(path)) } else { Ok(Some(content)) }
}

/// Opens a regular file in a folder that is open; `None` if it is something else by now.
pub(crate) fn open_file(dir: BorrowedFd<'_>, name: &CStr) -> Result<Option<File>, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    match openat(dir, name, flags, Mode::empty()) {
        Ok(fd) => {
            let kind = FileType::from_raw_mode(fstat(&fd)?.st_mode);
            Ok(Some(File::from(fd)).filter(|_| kind == FileType::RegularFile))
        }
        Err(Errno::LOOP | Errno::NXIO | Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Copies the content of the folder `from` into the folder `to`, which is made if it is not there.
///
/// Regular files, folders and (with [`Caps::links`]) symbolic links, which are copied as they are and never followed.
/// Permissions and times are kept, set-id bits never; a folder is always given to its owner in full. What goes beyond
/// the caps, cannot be read or is something else is left out and listed. `to` must not be beneath `from`, nor hold links
/// made by somebody hostile: it is best new. Only a failure to write is an error, and a `from` that cannot be opened.
pub fn copy_tree(from: &Path, to: &Path, caps: &Caps) -> Result<CopyReport, CollectError> {
    let root = walk::open(from).map_err(|error| CollectError::io("open", from, error))?;
    make_folder(to)?;
    let mut copy = Copy { to, caps, seen: 0, report: CopyReport::default() };
    walk(root, Sequence::ByName(caps.entries), &mut copy)?;
    Ok(copy.report)
}

fn make_folder(path: &Path) -> Result<(), CollectError> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(CollectError::io("create", path, error)),
        Ok(()) => Ok(()),
    }
}

struct Copy<'a> {
    to: &'a Path,
    caps: &'a Caps,
    seen: u64,
    report: CopyReport,
}

impl Copy<'_> {
    fn leave_out(&mut self, path: &Path, reason: impl Into<String>) -> Next {
        // Enough to see what happened; a million lines would say no more.
        if (self.report.left_out.len() as u64) < self.caps.entries.max(1) {
            self.report.left_out.push(LeftOut { path: path.to_owned(), reason: reason.into() });
        }
        Next::Past
    }

    fn file(&mut self, item: &Item<'_>, to: &Path) -> Result<Next, CollectError> {
        let size = u64::try_from(item.stat.st_size).unwrap_or(0);
        if size > self.caps.file_bytes {
            return Ok(self.leave_out(item.path, format!("larger than {} bytes", self.caps.file_bytes)));
        }
        let left = self.caps.total_bytes - self.report.bytes;
        if size > left {
            return Ok(self.leave_out(item.path, format!("{} bytes were taken before", self.report.bytes)));
        }
        let source = match open_file(item.dir, item.name) {
            Ok(Some(source)) => source,
            Ok(None) => return Ok(self.leave_out(item.path, "changed while it was read")),
            Err(error) => return Ok(self.leave_out(item.path, format!("cannot be read: {error}"))),
        };
        let mode = item.stat.st_mode & 0o777;
        let fail = |error: io::Error| CollectError::io("write", to, error);
        let new = OpenOptions::new().write(true).create_new(true).mode(mode | 0o200).open(to);
        let mut new = match new {
            Ok(new) => new,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Ok(self.leave_out(item.path, "stands there already"));
            }
            Err(error) => return Err(fail(error)),
        };
        // It may grow while it is read.
        let copied = if size == 0 {
            0
        } else {
            io::copy(&mut source.take(self.caps.file_bytes.min(left)), &mut new).map_err(fail)?
        };
        new.set_permissions(Permissions::from_mode(mode)).map_err(fail)?;
        let times = Timestamps {
            last_access: Timespec {
                tv_sec: item.stat.st_atime,
                tv_nsec: item.stat.st_atime_nsec.cast_signed(),
            },
            last_modification: Timespec {
                tv_sec: item.stat.st_mtime,
                tv_nsec: item.stat.st_mtime_nsec.cast_signed(),
            },
        };
        // A file system that takes no times takes the content all the same.
        let _ = futimens(&new, &times);
        self.report.files += 1;
        self.report.bytes += copied;
        Ok(Next::Past)
    }
}

impl Visitor for Copy<'_> {
    type Error = CollectError;

    fn item(&mut self, item: &Item<'_>) -> Result<Next, CollectError> {
        self.seen += 1;
        if self.seen > self.caps.entries {
            self.leave_out(item.path, format!("more than {} entries", self.caps.entries));
            return Ok(Next::Stop);
        }
        let to = self.to.join(item.path);
        match item.kind() {
            FileType::Directory if item.depth > self.caps.depth => {
                Ok(self.leave_out(item.path, format!("more than {} folders deep", self.caps.depth)))
            }
            FileType::Directory => {
                make_folder(&to)?;
                let mode = item.stat.st_mode & 0o777 | 0o700;
                let set = fs::set_permissions(&to, Permissions::from_mode(mode));
                set.map_err(|error| CollectError::io("write", &to, error))?;
                Ok(Next::Into)
            }
            FileType::RegularFile => self.file(item, &to),
            FileType::Symlink if self.caps.links => match readlinkat(item.dir, item.name, Vec::new()) {
                Ok(target) => {
                    let made = std::os::unix::fs::symlink(OsStr::from_bytes(target.to_bytes()), &to);
                    made.map_err(|error| CollectError::io("write", &to, error))?;
                    Ok(Next::Past)
                }
                Err(error) => Ok(self.leave_out(item.path, format!("cannot be read: {error}"))),
            },
            kind => Ok(self.leave_out(item.path, words(kind))),
        }
    }

    fn failed(&mut self, path: &Path, error: Errno) -> Result<(), CollectError> {
        let reason = match error {
            Errno::OVERFLOW => format!("more than {} entries", self.caps.entries),
            error => format!("cannot be read: {error}"),
        };
        self.leave_out(path, reason);
        Ok(())
    }
}

/// Removes a tree, whatever its modes and depth, following no link. Nothing there is no error.
///
/// Nothing may run any more that could change the tree.
pub fn remove_tree(path: &Path) -> Result<(), CollectError> {
    let fail = |error: Errno| CollectError::io("remove", path, error);
    let found = match statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => found,
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(fail(error)),
    };
    if FileType::from_raw_mode(found.st_mode) != FileType::Directory {
        return unlinkat(CWD, path, AtFlags::empty()).map_err(fail);
    }
    let mut last = Errno::NOTEMPTY;
    // A file system may skip a name while others are removed from the same folder.
    for _ in 0..4 {
        open_up(CWD, path, found.st_mode).map_err(fail)?;
        let mut remove = Remove { path, failure: None };
        walk(walk::open(path).map_err(fail)?, Sequence::Any, &mut remove)?;
        match unlinkat(CWD, path, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(Errno::NOTEMPTY) => last = remove.failure.unwrap_or(Errno::NOTEMPTY),
            Err(error) => return Err(fail(error)),
        }
    }
    Err(fail(last))
}

/// Gives the owner every right to a folder.
fn open_up(dir: impl AsFd, name: impl Arg, mode: u32) -> Result<(), Errno> {
    if mode & 0o700 == 0o700 {
        return Ok(());
    }
    // Through a handle: it cannot be a link, and needs no right to the folder itself.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = openat(dir, name, flags, Mode::empty())?;
    chmod(format!("/proc/self/fd/{}", handle.as_raw_fd()), Mode::RWXU)
}

struct Remove<'a> {
    path: &'a Path,
    failure: Option<Errno>,
}

impl Visitor for Remove<'_> {
    type Error = CollectError;

    fn item(&mut self, item: &Item<'_>) -> Result<Next, CollectError> {
        let done = if item.kind() == FileType::Directory {
            open_up(item.dir, item.name, item.stat.st_mode)
        } else {
            unlinkat(item.dir, item.name, AtFlags::empty())
        };
        if let Err(error) = done {
            self.failed(item.path, error)?;
        }
        Ok(Next::Into)
    }

    fn done(&mut self, dir: BorrowedFd<'_>, name: &CStr, path: &Path) -> Result<(), CollectError> {
        match unlinkat(dir, name, AtFlags::REMOVEDIR) {
            // Looked at again in the next round.
            Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY) => Ok(()),
            Err(error) => self.failed(path, error),
        }
    }

    fn failed(&mut self, path: &Path, error: Errno) -> Result<(), CollectError> {
        match error {
            Errno::NOENT => Ok(()),
            Errno::STALE => Err(CollectError::io("remove", &self.path.join(path), error)),
            error => {
                self.failure = Some(error);
                Ok(())
            }
        }
    }
}
