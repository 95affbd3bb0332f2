//! A walk by path, for systems on which nothing hostile runs meanwhile.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::{Next, Sequence, Visitor};
use crate::kind::describe_kind;
use crate::{FileKind, open_file};

/// A folder that can be read.
pub type Folder = PathBuf;

/// An item of a folder.
pub struct Item<'a> {
    /// Its path relative to the start of the walk.
    pub path: &'a Path,
    /// 1 for entries of the first folder itself.
    pub depth: usize,
    full: &'a Path,
    metadata: &'a Metadata,
}

impl Item<'_> {
    /// Its kind.
    pub fn kind(&self) -> FileKind {
        self.metadata.file_type().into()
    }

    /// What something that is not a regular file is, for messages.
    pub fn describe(&self) -> &'static str {
        describe_kind(self.kind())
    }

    /// Bytes of a file, or of a link's target.
    pub fn size(&self) -> u64 {
        self.metadata.len()
    }

    /// Its mode; that of a new file or folder if the system has none.
    pub fn mode(&self) -> u32 {
        #[cfg(unix)]
        return std::os::unix::fs::MetadataExt::mode(self.metadata);
        #[cfg(not(unix))]
        return if self.metadata.is_dir() { 0o755 } else { 0o644 };
    }

    /// When it was last read.
    pub fn accessed(&self) -> Option<SystemTime> {
        self.metadata.accessed().ok()
    }

    /// When it was last written.
    pub fn modified(&self) -> Option<SystemTime> {
        self.metadata.modified().ok()
    }

    /// Opens a regular file; `None` if it is something else by now.
    pub fn open(&self) -> io::Result<Option<File>> {
        match fs::symlink_metadata(self.full) {
            Ok(found) if found.is_file() => open_file(self.full).map(Some),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The target of a link.
    pub fn read_link(&self) -> io::Result<PathBuf> {
        fs::read_link(self.full)
    }
}

/// Opens a folder to walk, following links on the way to it but not at its end.
pub fn open(path: &Path) -> io::Result<Folder> {
    if fs::symlink_metadata(path)?.is_dir() {
        Ok(path.to_owned())
    } else {
        Err(io::ErrorKind::NotADirectory.into())
    }
}

/// Opens a folder to walk, following links also at its end.
pub fn open_following(path: &Path) -> io::Result<Folder> {
    fs::read_dir(path).map(|_| path.to_owned())
}

/// Walks everything below `root`.
pub fn walk<V: Visitor>(root: Folder, sequence: Sequence, visitor: &mut V) -> Result<(), V::Error> {
    let mut pending = vec![(PathBuf::new(), 1)];
    while let Some((folder, depth)) = pending.pop() {
        let mut names = Vec::new();
        match fs::read_dir(root.join(&folder)) {
            Ok(entries) => {
                for entry in entries {
                    match entry {
                        Ok(entry) => names.push(entry.file_name()),
                        Err(error) => {
                            visitor.failed(&folder, error)?;
                            break;
                        }
                    }
                }
            }
            Err(error) => visitor.failed(&folder, error)?,
        }
        let most = match sequence {
            Sequence::Any => usize::MAX,
            Sequence::ByName(most) => usize::try_from(most).unwrap_or(usize::MAX),
        };
        names.sort();
        let over = names.len() > most;
        let mut folders = Vec::new();
        for name in names.into_iter().take(most) {
            let path = folder.join(name);
            let full = root.join(&path);
            let found = match fs::symlink_metadata(&full) {
                Ok(found) => found,
                // It went away meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => {
                    visitor.failed(&path, error)?;
                    continue;
                }
            };
            match visitor.item(&Item { path: &path, depth, full: &full, metadata: &found })? {
                Next::Into if found.is_dir() => folders.push((path, depth + 1)),
                Next::Into | Next::Past => {}
                Next::Stop => return Ok(()),
            }
        }
        if over {
            visitor.truncated(&folder)?;
        }
        pending.extend(folders.into_iter().rev());
    }
    Ok(())
}
