//! Paths compared by their text.

use std::path::{Component, Path, PathBuf};

/// A path relative to the top of a repository, by its text; `None` outside of it.
pub fn relative(root: &Path, path: &Path) -> Option<PathBuf> {
    let clean = clean(path);
    clean.strip_prefix(root).ok().filter(|path| !path.as_os_str().is_empty()).map(Path::to_owned)
}

/// A path without `.` and `..`, by its text.
pub(crate) fn clean(path: &Path) -> PathBuf {
    let mut found = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                found.pop();
            }
            Component::CurDir => {}
            part => found.push(part),
        }
    }
    found
}

/// A folder relative to another, with `..` where it lies beside it.
pub(crate) fn display_from(from: &Path, folder: &Path) -> String {
    name_of(&path_from(from, folder))
}

/// The same as a path; empty for the folder itself.
pub(crate) fn path_from(from: &Path, folder: &Path) -> PathBuf {
    let (from, folder) = (clean(from), clean(folder));
    let shared = from.components().zip(folder.components()).take_while(|(one, other)| one == other).count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(folder.components().skip(shared)).collect()
}

/// A relative path as text.
pub(crate) fn name_of(path: &Path) -> String {
    if path.as_os_str().is_empty() { ".".to_owned() } else { path.display().to_string() }
}
