//! Relative paths, and atomic replacement of files.

use std::fs;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

/// A path relative to the innermost of some folders that contains it.
pub(crate) fn beneath<'a>(path: &'a Path, folders: &[PathBuf]) -> Option<&'a Path> {
    let holding = folders.iter().filter_map(|folder| path.strip_prefix(folder).ok());
    holding.min_by_key(|rest| rest.components().count())
}

/// A path relative to a folder, with `..` if it is outside. Both are absolute.
pub(crate) fn relative(path: &Path, folder: &Path) -> PathBuf {
    let (mut there, mut here) = (path.components().peekable(), folder.components().peekable());
    while there.peek().is_some() && there.peek() == here.peek() {
        there.next();
        here.next();
    }
    let up = here.map(|_| Component::ParentDir);
    up.chain(there).collect()
}

/// Replaces a file's content atomically, and keeps its permissions.
pub(crate) fn replace_file(file: &Path, content: &[u8]) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut beside = tempfile::Builder::new().prefix(".assay-").tempfile_in(folder)?;
    beside.write_all(content)?;
    if let Ok(metadata) = fs::metadata(file) {
        beside.as_file().set_permissions(metadata.permissions())?;
    }
    beside.as_file().sync_all()?;
    beside.persist(file).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_made_relative_to_a_folder() {
        let check = |path: &str, folder: &str, expected: &str| {
            assert_eq!(relative(Path::new(path), Path::new(folder)), Path::new(expected), "{path} {folder}");
        };
        check("/a/b/c", "/a", "b/c");
        check("/a/b", "/a/c/d", "../../b");
        check("/a", "/a", "");
    }
}
