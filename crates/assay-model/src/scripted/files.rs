//! The files of a script.

use std::fs;
use std::path::{Path, PathBuf};

/// Maximum bytes of a script, and of a file it runs.
const LARGEST: u64 = 16 << 20;

/// Why a script, or a file that it runs, cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum FileError {
    /// Its path leads outside the script's folder.
    #[error("outside the script's folder: use a path inside it")]
    Outside,
    /// A link leads outside the script's folder.
    #[error("a symbolic link points outside the script's folder: copy the file there")]
    Link,
    /// The system reports an error.
    #[error("cannot read the file: {0}")]
    Unreadable(std::io::Error),
    /// A folder, a pipe or a device.
    #[error("not a file")]
    NoFile,
    /// The file is too large.
    #[error("larger than {} MiB", LARGEST >> 20)]
    TooLarge,
    /// The file is not text.
    #[error("line {line} is not UTF-8: save it as UTF-8")]
    NotUtf8 {
        /// From 1.
        line: usize,
    },
}

/// A path below a folder that stays below it, even through links.
pub(super) fn inside(folder: &Path, name: &str) -> Result<PathBuf, FileError> {
    use std::path::Component;
    let relative = Path::new(name);
    let plain = relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !plain || name.is_empty() {
        return Err(FileError::Outside);
    }
    let path = folder.join(relative);
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let real = |path: &Path| path.canonicalize().map_err(FileError::Unreadable);
    if real(&path)?.starts_with(real(folder)?) { Ok(path) } else { Err(FileError::Link) }
}

/// The text of a regular file, up to the maximum size.
pub(super) fn read(path: &Path) -> Result<String, FileError> {
    // Checked before it is opened: opening a pipe would wait for a writer.
    let metadata = fs::metadata(path).map_err(FileError::Unreadable)?;
    if !metadata.is_file() {
        return Err(FileError::NoFile);
    }
    if metadata.len() > LARGEST {
        return Err(FileError::TooLarge);
    }
    let bytes = fs::read(path).map_err(FileError::Unreadable)?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = error.as_bytes().get(..valid).unwrap_or_default();
        let line = before.split(|byte| *byte == b'\n').count();
        FileError::NotUtf8 { line }
    })
}
