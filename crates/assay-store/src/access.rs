//! Who may read a store: its owner, and with `"shared": true` in `store.json` its group.

use std::fs;
use std::io;
use std::path::Path;

/// Bits of a mode for others.
#[cfg(unix)]
const OTHERS: u32 = 0o007;

/// Creates a folder in a store, with those above it that are missing. Its rights are those of the folder that it is in,
/// without those of others.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        create_folder(parent)?;
    }
    match fs::create_dir(path) {
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(error),
        Ok(()) => restrict_access(path),
    }
}

/// Gives a new file or folder the rights that others than its owner have to its folder: none of all users, and those of
/// the group only if the folder itself is closed to all users.
#[cfg(unix)]
pub(crate) fn restrict_access(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let above = fs::metadata(parent)?.permissions().mode();
    let there = fs::symlink_metadata(path)?;
    let group = if above & OTHERS == 0 { above & 0o070 } else { 0 };
    let mode = if there.is_dir() {
        0o700 | group | above & 0o2000
    } else {
        0o600 | group & 0o060 | there.permissions().mode() & 0o100
    };
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

/// The same of everything below a folder. Links are left as they are.
#[cfg(unix)]
pub(crate) fn restrict_tree(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() || kind.is_file() {
            restrict_access(&entry.path())?;
        }
        if kind.is_dir() {
            restrict_tree(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn restrict_tree(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// Elsewhere, folders have the rights of the one that they are in.
#[cfg(not(unix))]
pub(crate) fn restrict_access(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Closes a store to all users, and unless it is shared to its group. Returns whether it was open. A folder of another
/// user is left as it is.
#[cfg(unix)]
pub(crate) fn close_folder(root: &Path, is_shared: bool) -> io::Result<bool> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    let there = fs::metadata(root)?;
    let closed = if is_shared { OTHERS } else { 0o077 };
    if there.uid() != rustix::process::geteuid().as_raw() || there.mode() & closed == 0 {
        return Ok(false);
    }
    fs::set_permissions(root, fs::Permissions::from_mode(there.mode() & 0o7777 & !closed))?;
    Ok(true)
}

#[cfg(not(unix))]
pub(crate) fn close_folder(_root: &Path, _is_shared: bool) -> io::Result<bool> {
    Ok(false)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::store::Store;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_store_is_for_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("store");
        let store = Store::open(&root).unwrap();
        store.write_skill(&"a".repeat(64), b"text").unwrap();
        for path in [root.clone(), root.join("trials"), root.join("runs")] {
            assert_eq!(mode(&path), 0o700, "{}", path.display());
        }
        assert_eq!(mode(&root.join("store.json")), 0o600);
        assert!(!Store::close_to_others(&root).unwrap());
        // One that an earlier version made.
        set(&root, 0o755);
        assert!(Store::close_to_others(&root).unwrap());
        assert!(!Store::close_to_others(&root).unwrap());
        assert_eq!(mode(&root), 0o700);
        set(&root, 0o755);
        Store::open(&root).unwrap();
        assert_eq!(mode(&root), 0o700);
    }

    #[test]
    fn a_shared_store_is_for_its_group() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("store");
        Store::open(&root).unwrap();
        let text = fs::read_to_string(root.join("store.json")).unwrap();
        fs::write(root.join("store.json"), text.replacen('{', "{\"shared\": true,", 1)).unwrap();
        set(&root, 0o775);
        assert!(Store::close_to_others(&root).unwrap());
        let store = Store::open(&root).unwrap();
        store.write_skill(&"a".repeat(64), b"text").unwrap();
        assert_eq!(mode(&root), 0o770);
        create_folder(&root.join("new/inner")).unwrap();
        fs::write(root.join("new/inner/program"), "").unwrap();
        set(&root.join("new/inner/program"), 0o755);
        restrict_tree(&root.join("new")).unwrap();
        assert_eq!((mode(&root.join("new/inner")), mode(&root.join("new/inner/program"))), (0o770, 0o760));
    }
}
