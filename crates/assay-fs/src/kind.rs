//! What an entry of a folder is.

use std::fs::FileType;

use serde::{Deserialize, Serialize};

/// What an entry of a folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// A regular file.
    File,
    /// A symbolic link, not followed.
    Link,
    /// A folder.
    Directory,
    /// A socket, a pipe or a device: never opened.
    Other,
}

impl From<FileType> for FileKind {
    fn from(kind: FileType) -> Self {
        if kind.is_file() {
            Self::File
        } else if kind.is_symlink() {
            Self::Link
        } else if kind.is_dir() {
            Self::Directory
        } else {
            Self::Other
        }
    }
}

/// A link's description in messages.
pub(crate) const LINK: &str = "a symbolic link";

/// What something that is not a regular file is, for messages.
#[cfg(unix)]
pub fn describe(kind: rustix::fs::FileType) -> &'static str {
    use rustix::fs::FileType;
    match kind {
        FileType::Directory => "a folder",
        FileType::Symlink => LINK,
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "something else",
    }
}

/// What something that is not a regular file is, for messages.
#[cfg(not(target_os = "linux"))]
pub(crate) fn describe_kind(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Directory => "a folder",
        FileKind::Link => LINK,
        FileKind::File | FileKind::Other => "something else",
    }
}
