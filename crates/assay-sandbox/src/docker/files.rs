//! Types for a container's files.

use std::path::PathBuf;

use assay_fs::ChangeKind;

/// The owner of files that are copied into a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Owner {
    /// The user id.
    pub uid: u32,
    /// The group id.
    pub gid: u32,
}

/// A path of a container that differs from its image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The absolute path inside.
    pub path: PathBuf,
    /// How it changed. A folder counts as modified if something in it was.
    pub kind: ChangeKind,
}

/// The status of a path in a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathStat {
    /// Bytes.
    pub size: u64,
    /// Whether it is a folder.
    pub is_dir: bool,
    /// Whether it is a regular file.
    pub is_file: bool,
    /// Permission bits.
    pub mode: u32,
    /// Where a symbolic link points.
    pub link: Option<PathBuf>,
}
