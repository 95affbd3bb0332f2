//! Reading a file of a folder without leaving the folder.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path};

use crate::FsError;
use crate::kind::LINK;

/// A file's bytes, up to a cap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The bytes, `cap` of them at most.
    pub bytes: Vec<u8>,
    /// Whether there were more.
    pub truncated: bool,
}

/// Reads a regular file below `dir`, at most `cap` bytes of it; `None` if there is none.
///
/// No link is followed below `dir`, not even one that stays inside: the content of the folder may
/// be hostile, and its processes may still run. Opening never waits. Links, folders, pipes and
/// devices are [`FsError::NotAFile`]; a path that is absolute, contains `..` or goes through a link
/// is [`FsError::Escape`]; a longer file is [`FsError::TooLarge`]. There is no file at the empty
/// path, nor at that of a file with a `/` after it.
pub fn read_beneath(dir: &Path, relative: &Path, cap: u64) -> Result<Option<Vec<u8>>, FsError> {
    if relative.as_os_str().is_empty() {
        return Ok(None);
    }
    let opened = match open_beneath(dir, relative) {
        Ok(_) if asks_for_a_folder(relative) => return Ok(None),
        // Links in the middle of the path are followed.
        Err(FsError::NotAFile { kind: LINK, .. }) if asks_for_a_folder(relative) => {
            return Err(FsError::Escape { path: relative.to_owned() });
        }
        opened => opened?,
    };
    let Some((file, size)) = opened else { return Ok(None) };
    let path = dir.join(relative);
    let too_large = |path| Err(FsError::TooLarge { path, cap });
    if size > cap {
        return too_large(path);
    }
    let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or(0).min(1 << 20));
    let read = file.take(cap.saturating_add(1)).read_to_end(&mut content);
    read.map_err(|error| FsError::io("read", &path, error))?;
    if content.len() as u64 > cap { too_large(path) } else { Ok(Some(content)) }
}

/// Reads the beginning of a regular file below `dir`, at most `cap` bytes of it; `None` if there is none.
/// Otherwise as [`read_beneath`].
pub fn read_beneath_up_to(dir: &Path, relative: &Path, cap: u64) -> Result<Option<Content>, FsError> {
    if relative.as_os_str().is_empty() || asks_for_a_folder(relative) {
        return Ok(None);
    }
    let Some((file, _)) = open_beneath(dir, relative)? else { return Ok(None) };
    let mut bytes = Vec::new();
    let read = file.take(cap.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| FsError::io("read", &dir.join(relative), error))?;
    let truncated = bytes.len() as u64 > cap;
    bytes.truncate(usize::try_from(cap).unwrap_or(usize::MAX));
    Ok(Some(Content { bytes, truncated }))
}

/// Whether a path ends in `/` or `/.`, which its components do not show.
fn asks_for_a_folder(relative: &Path) -> bool {
    let bytes = relative.as_os_str().as_encoded_bytes();
    let bytes = bytes.strip_suffix(b".").unwrap_or(bytes);
    bytes.last().is_some_and(|&last| std::path::is_separator(char::from(last)))
}

/// Reads a file within a folder, up to `cap` bytes. Links are followed as long as they stay within
/// the folder.
///
/// Where the links lead is resolved first; the file is then opened by a path that has no links. If
/// one of its parts has become a link meanwhile, the read fails.
pub fn read_within(root: &Path, relative: &Path, cap: u64) -> io::Result<Content> {
    let leaves = || io::Error::new(io::ErrorKind::PermissionDenied, "a link that leaves the folder");
    let base = fs::canonicalize(root)?;
    let real = fs::canonicalize(base.join(relative))?;
    let inside = real.strip_prefix(&base).map_err(|_| leaves())?;
    read_resolved(&base, inside, cap).map_err(|error| match error {
        FsError::Io(error) => error.source,
        FsError::Escape { .. } => leaves(),
        FsError::NotAFile { .. } | FsError::TooLarge { .. } => io::Error::other("not a regular file"),
    })
}

/// Reads a file by a path without links.
fn read_resolved(base: &Path, inside: &Path, cap: u64) -> Result<Content, FsError> {
    let fail = |error| FsError::io("read", &base.join(inside), error);
    let (file, _) = open_beneath(base, inside)?.ok_or_else(|| fail(io::ErrorKind::NotFound.into()))?;
    let mut bytes = Vec::new();
    file.take(cap.saturating_add(1)).read_to_end(&mut bytes).map_err(fail)?;
    let truncated = bytes.len() as u64 > cap;
    bytes.truncate(usize::try_from(cap).unwrap_or(usize::MAX));
    Ok(Content { bytes, truncated })
}

/// Opens a regular file below a folder, following no link, and gives its size; `None` if there is
/// none.
fn open_beneath(dir: &Path, relative: &Path) -> Result<Option<(File, u64)>, FsError> {
    if !relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Err(FsError::Escape { path: relative.to_owned() });
    }
    let mut parts = relative.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name),
        _ => None,
    });
    let Some(name) = parts.next_back() else {
        return Err(FsError::NotAFile { path: dir.join(relative), kind: "a folder" });
    };
    open_parts(dir, relative, parts, name)
}

/// Opens folder by folder, each relative to the one before: the result was below `dir`, whatever is
/// renamed meanwhile.
#[cfg(unix)]
fn open_parts<'a>(
    dir: &Path,
    relative: &Path,
    folders: impl Iterator<Item = &'a std::ffi::OsStr>,
    name: &std::ffi::OsStr,
) -> Result<Option<(File, u64)>, FsError> {
    use crate::kind::describe;
    use crate::open::READ;
    use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, statat};
    use rustix::io::Errno;

    // A folder that may be entered need not be readable. Only Linux has a flag for that.
    #[cfg(target_os = "linux")]
    const ENTER: OFlags = OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    const ENTER: OFlags = OFlags::RDONLY;
    let enter = ENTER | OFlags::DIRECTORY | OFlags::CLOEXEC;

    let path = || dir.join(relative);
    let fail = |action, error: Errno| FsError::io(action, &path(), error);
    let mut current = match openat(CWD, dir, enter, Mode::empty()) {
        Ok(base) => base,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(FsError::io("open", dir, error)),
    };
    for folder in folders {
        current = match openat(&current, folder, enter | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(next) => next,
            Err(Errno::NOENT) => return Ok(None),
            Err(error @ (Errno::NOTDIR | Errno::LOOP)) => {
                let stat = statat(&current, folder, AtFlags::SYMLINK_NOFOLLOW);
                let kind = stat.map(|stat| FileType::from_raw_mode(stat.st_mode));
                // It was not a folder when it was opened, and may have been a link.
                let may_be_a_link = matches!(kind, Ok(FileType::Symlink | FileType::Directory));
                return if error == Errno::LOOP || may_be_a_link {
                    Err(FsError::Escape { path: relative.to_owned() })
                } else {
                    Ok(None)
                };
            }
            Err(error) => return Err(fail("open", error)),
        };
    }
    // First only its kind: to open a device or a pipe may have an effect.
    let stat = match statat(&current, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(fail("look at", error)),
    };
    let kind = FileType::from_raw_mode(stat.st_mode);
    let not_a_file = |kind| Err(FsError::NotAFile { path: path(), kind });
    if kind != FileType::RegularFile {
        return not_a_file(describe(kind));
    }
    let file = match openat(&current, name, READ, Mode::empty()) {
        Ok(file) => File::from(file),
        // It was replaced meanwhile.
        Err(Errno::LOOP) => return not_a_file(describe(FileType::Symlink)),
        Err(error) => return Err(fail("open", error)),
    };
    let found = file.metadata().map_err(|error| FsError::io("look at", &path(), error))?;
    if !found.is_file() {
        return not_a_file(describe(FileType::Unknown));
    }
    Ok(Some((file, found.len())))
}

/// By path, checked part by part.
#[cfg(not(unix))]
fn open_parts<'a>(
    dir: &Path,
    relative: &Path,
    folders: impl Iterator<Item = &'a std::ffi::OsStr>,
    name: &std::ffi::OsStr,
) -> Result<Option<(File, u64)>, FsError> {
    use crate::FileKind;
    use crate::kind::describe_kind;
    use crate::open::open_file;

    let kind = |path: &Path| match fs::symlink_metadata(path) {
        Ok(found) => Ok(Some(FileKind::from(found.file_type()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FsError::io("look at", path, error)),
    };
    let mut path = dir.to_owned();
    for folder in folders {
        path.push(folder);
        match kind(&path)? {
            Some(FileKind::Directory) => {}
            Some(FileKind::Link) => return Err(FsError::Escape { path: relative.to_owned() }),
            _ => return Ok(None),
        }
    }
    path.push(name);
    match kind(&path)? {
        None => return Ok(None),
        Some(FileKind::File) => {}
        Some(other) => return Err(FsError::NotAFile { path, kind: describe_kind(other) }),
    }
    let fail = |error| FsError::io("open", &path, error);
    let file = open_file(&path).map_err(fail)?;
    let size = file.metadata().map_err(fail)?.len();
    Ok(Some((file, size)))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn reading_stays_within_the_root() {
        let temp = TempDir::new().unwrap();
        let root = temp.path().join("root");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::write(root.join("sub/file"), "12345").unwrap();
        fs::write(temp.path().join("secret"), "s").unwrap();
        symlink("../secret", root.join("out")).unwrap();
        symlink("sub/file", root.join("in")).unwrap();
        symlink(root.join("sub/file"), root.join("absolute")).unwrap();
        let read =
            |path: &str, cap| read_within(&root, Path::new(path), cap).ok().map(|c| (c.bytes, c.truncated));
        assert_eq!(read("sub/file", 5), Some((b"12345".to_vec(), false)));
        assert_eq!(read("in", 4), Some((b"1234".to_vec(), true)));
        assert_eq!(read("absolute", 5), Some((b"12345".to_vec(), false)));
        assert_eq!(read("out", 5), None);
        assert_eq!(read("../secret", 5), None);
        assert_eq!(read("/etc/passwd", 5), None);
        assert_eq!(read("sub", 5), None);
    }

    /// A folder that was replaced by a link between resolving the path and opening the file leads
    /// nowhere.
    #[test]
    fn link_created_after_resolving_is_not_followed() {
        let temp = TempDir::new().unwrap();
        let (root, outside) = (temp.path().join("root"), temp.path().join("outside"));
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "secret").unwrap();
        symlink(&outside, root.join("swapped")).unwrap();
        symlink(outside.join("file"), root.join("sub/file")).unwrap();
        for path in ["swapped/file", "sub/file"] {
            assert!(read_resolved(&root, Path::new(path), 9).is_err(), "{path}");
        }
    }

    #[test]
    fn alternating_folder_and_link_leaks_nothing() {
        let temp = TempDir::new().unwrap();
        let (root, outside) = (temp.path().join("root"), temp.path().join("outside"));
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(root.join("sub/file"), "public").unwrap();
        fs::write(outside.join("file"), "secret").unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let _ = fs::rename(root.join("sub"), root.join("kept"));
                    let _ = symlink(&outside, root.join("sub"));
                    let _ = fs::remove_file(root.join("sub"));
                    let _ = fs::rename(root.join("kept"), root.join("sub"));
                }
            });
            for _ in 0..3000 {
                if let Ok(content) = read_within(&root, Path::new("sub/file"), 9) {
                    assert_eq!(content.bytes, b"public");
                }
                if let Ok(Some(bytes)) = read_beneath(&root, Path::new("sub/file"), 9) {
                    assert_eq!(bytes, b"public");
                }
            }
            done.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn paths_without_a_file_have_distinct_errors() {
        let temp = TempDir::new().unwrap();
        fs::create_dir(temp.path().join("sub")).unwrap();
        fs::write(temp.path().join("file"), "12345").unwrap();
        symlink("file", temp.path().join("link")).unwrap();
        let check = |path: &str, expected: &str| {
            let found = match read_beneath(temp.path(), Path::new(path), 4) {
                Ok(Some(_)) => "a file",
                Ok(None) => "nothing",
                Err(FsError::NotAFile { kind, .. }) => kind,
                Err(FsError::Escape { .. }) => "escape",
                Err(FsError::TooLarge { .. }) => "too large",
                Err(FsError::Io { .. }) => "refused",
            };
            assert_eq!(found, expected, "{path:?}");
        };
        check("file", "too large");
        check("./file", "too large");
        for path in ["", "file/", "file/.", "file//", "file/x", "gone", "gone/"] {
            check(path, "nothing");
        }
        for path in [".", "./", "sub", "sub/", "sub/."] {
            check(path, "a folder");
        }
        check("link", "a symbolic link");
        for path in ["link/", "link/.", "link/x", "..", "sub/..", "/"] {
            check(path, "escape");
        }
        for path in ["\0", "file\0", "sub\0/file", "sub/\0"] {
            check(path, "refused");
        }
    }

    /// A path that alternates between a folder and a link is one of the two at any time.
    #[cfg(target_os = "linux")]
    #[test]
    fn folder_replaced_by_a_link_is_never_reported_missing() {
        use rustix::fs::{CWD, RenameFlags, renameat_with};

        let temp = TempDir::new().unwrap();
        let (root, outside) = (temp.path().join("root"), temp.path().join("outside"));
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(root.join("sub/file"), "public").unwrap();
        fs::write(outside.join("file"), "secret").unwrap();
        symlink(&outside, root.join("other")).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let (one, other) = (root.join("sub"), root.join("other"));
                    let _ = renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE);
                }
            });
            let found: Vec<_> = (0..20_000).map(|_| read_beneath(&root, Path::new("sub/file"), 9)).collect();
            done.store(true, Ordering::Relaxed);
            for found in found {
                match found {
                    Ok(bytes) => assert_eq!(bytes.as_deref(), Some(&b"public"[..])),
                    Err(error) => assert!(matches!(error, FsError::Escape { .. }), "{error}"),
                }
            }
        });
    }
}
