//! The owner's access to a tree.

use std::path::Path;

use crate::FsError;

/// Gives the owner of a tree access to the folders in it, without following links: a tree that its
/// owner cannot enter can be neither searched nor graded. The owner may read and enter them, and
/// also write to `path` itself. Other permissions stay, above all those of files, which may be work.
///
/// Nothing may run any more that could change the tree.
///
/// # Errors
/// A folder cannot be opened, or a mode cannot be changed.
pub fn restore_access(path: &Path) -> Result<(), FsError> {
    restore(path)
}

#[cfg(not(target_os = "linux"))]
fn restore(_path: &Path) -> Result<(), FsError> {
    // Sandboxes exist only on Linux.
    Ok(())
}

#[cfg(target_os = "linux")]
use linux::restore;

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::os::fd::{AsFd, AsRawFd};
    use std::path::Path;

    use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, chmod, openat, statat};
    use rustix::io::Errno;
    use rustix::path::Arg;

    use crate::walk::{self, Item, Next, Sequence, Visitor, walk};
    use crate::{FileKind, FsError};

    const ROOT: u32 = 0o700;
    const FOLDER: u32 = 0o500;

    pub(super) fn restore(path: &Path) -> Result<(), FsError> {
        let fail = |error: Errno| FsError::io("change the mode of", path, error);
        let found = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).map_err(fail)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::Directory {
            return Ok(());
        }
        add(CWD, path, found.st_mode, ROOT).map_err(fail)?;
        let root = walk::open(path).map_err(|error| FsError::io("open", path, error))?;
        walk(root, Sequence::Any, &mut Restore { path })
    }

    /// Adds permissions to a folder.
    fn add(dir: impl AsFd, name: impl Arg, mode: u32, least: u32) -> Result<(), Errno> {
        if mode & least == least {
            return Ok(());
        }
        // Through a handle: it cannot be a link, and needs no right to the folder itself.
        let handle = openat(dir, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        chmod(format!("/proc/self/fd/{}", handle.as_raw_fd()), Mode::from_raw_mode(mode & 0o7777 | least))
    }

    struct Restore<'a> {
        path: &'a Path,
    }

    impl Visitor for Restore<'_> {
        type Error = FsError;

        fn item(&mut self, item: &Item<'_>) -> Result<Next, FsError> {
            if item.kind() != FileKind::Directory {
                return Ok(Next::Past);
            }
            if let Err(error) = add(item.dir(), item.name(), item.mode(), FOLDER) {
                self.failed(item.path, error.into())?;
            }
            Ok(Next::Into)
        }

        fn failed(&mut self, path: &Path, error: io::Error) -> Result<(), FsError> {
            Err(FsError::io("change the mode of", &self.path.join(path), error))
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn the_owner_can_enter_every_folder_again() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join("app").join(path);
        fs::create_dir_all(at("a/b/c")).unwrap();
        fs::write(folder.path().join("outside"), "x").unwrap();
        for name in ["a/b/c/deep", "plain", "run.sh", "secret"] {
            fs::write(at(name), "x").unwrap();
        }
        symlink("../outside", at("link")).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        let set = |path: &Path, mode: u32| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        for (name, mode) in [
            ("a/b/c/deep", 0),
            ("a/b/c", 0),
            ("a/b", 0o300),
            ("a", 0o555),
            ("plain", 0o644),
            ("run.sh", 0o111),
            ("secret", 0o400),
            ("", 0),
        ] {
            set(&at(name), mode);
        }
        set(&folder.path().join("outside"), 0);
        restore_access(&at("")).unwrap();
        for (name, expected) in [
            ("", 0o700),
            ("a", 0o555),
            ("a/b", 0o700),
            ("a/b/c", 0o500),
            ("a/b/c/deep", 0),
            ("plain", 0o644),
            ("run.sh", 0o111),
            ("secret", 0o400),
        ] {
            assert_eq!(mode(&at(name)), expected, "{name:?}: {:o}", mode(&at(name)));
        }
        // A link's target is not touched.
        assert_eq!(mode(&folder.path().join("outside")), 0);
    }
}
