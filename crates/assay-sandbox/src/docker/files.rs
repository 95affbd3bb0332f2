//! What is said of a container's files.

use std::path::PathBuf;

use assay_fs::ChangeKind;

/// Whose the files are that are put into a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Owner {
    /// The user's number.
    pub uid: u32,
    /// The group's number.
    pub gid: u32,
}

/// A path of a container that differs from its image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The absolute path inside.
    pub path: PathBuf,
    /// What became of it. A folder counts as modified when something in it was.
    pub kind: ChangeKind,
}

/// What a path of a container is.
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
