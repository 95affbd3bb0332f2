//! Removing a folder.

use std::path::Path;

use crate::FsError;

/// Removes a tree of any modes and depth without following links. A missing tree is not an error.
///
/// Nothing may run any more that could change the tree.
pub fn remove_tree(path: &Path) -> Result<(), FsError> {
    remove(path)
}

#[cfg(not(target_os = "linux"))]
fn remove(path: &Path) -> Result<(), FsError> {
    use std::fs;
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(FsError::io("remove", path, error)),
        _ => Ok(()),
    }
}

#[cfg(target_os = "linux")]
use linux::remove;

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::CStr;
    use std::io;
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
    use std::path::Path;

    use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, chmod, openat, statat, unlinkat};
    use rustix::io::Errno;
    use rustix::path::Arg;

    use crate::walk::{self, Item, Next, Sequence, Visitor, walk};
    use crate::{FileKind, FsError};

    pub(super) fn remove(path: &Path) -> Result<(), FsError> {
        let fail = |error: Errno| FsError::io("remove", path, error);
        let found = match statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => found,
            Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(fail(error)),
        };
        if FileType::from_raw_mode(found.st_mode) != FileType::Directory {
            return unlinkat(CWD, path, AtFlags::empty()).map_err(fail);
        }
        let mut last = Errno::NOTEMPTY.into();
        // A file system may skip a name while others are removed from the same folder.
        for _ in 0..4 {
            open_up(CWD, path, found.st_mode).map_err(fail)?;
            let mut remove = Remove { path, failure: None };
            let root = walk::open(path).map_err(|error| FsError::io("remove", path, error))?;
            walk(root, Sequence::Any, &mut remove)?;
            match unlinkat(CWD, path, AtFlags::REMOVEDIR) {
                Ok(()) | Err(Errno::NOENT) => return Ok(()),
                Err(Errno::NOTEMPTY) => last = remove.failure.unwrap_or_else(|| Errno::NOTEMPTY.into()),
                Err(error) => return Err(fail(error)),
            }
        }
        Err(FsError::io("remove", path, last))
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
        failure: Option<io::Error>,
    }

    impl Visitor for Remove<'_> {
        type Error = FsError;

        fn item(&mut self, item: &Item<'_>) -> Result<Next, FsError> {
            let done = if item.kind() == FileKind::Directory {
                open_up(item.dir(), item.name(), item.mode())
            } else {
                unlinkat(item.dir(), item.name(), AtFlags::empty())
            };
            if let Err(error) = done {
                self.failed(item.path, error.into())?;
            }
            Ok(Next::Into)
        }

        fn done(&mut self, dir: BorrowedFd<'_>, name: &CStr, path: &Path) -> Result<(), FsError> {
            match unlinkat(dir, name, AtFlags::REMOVEDIR) {
                // The next round visits it again.
                Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY) => Ok(()),
                Err(error) => self.failed(path, error.into()),
            }
        }

        fn failed(&mut self, path: &Path, error: io::Error) -> Result<(), FsError> {
            match Errno::from_io_error(&error) {
                Some(Errno::NOENT) => Ok(()),
                Some(Errno::STALE) => Err(FsError::io("remove", &self.path.join(path), error)),
                _ => {
                    self.failure = Some(error);
                    Ok(())
                }
            }
        }
    }
}
