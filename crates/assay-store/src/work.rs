//! The folder for the files of running sandboxes.
//!
//! The kernel shows every process the source path of each of its mounts (`mountinfo`, proc(5)),
//! which cannot be hidden: a store folder that is mounted into a sandbox would reveal the store's
//! path, and with it the names of users and projects. Therefore mounted folders have neutral paths,
//! and their content is copied to the store.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, SystemTime};

use rustix::fs::{StatVfsMountFlags, statvfs};

use crate::error::StoreError;
use crate::lease;
use crate::owner::Owner;

/// For large temporary files; on a disk on most machines (Filesystem Hierarchy Standard 3.0, 5.15).
const BASE: &str = "/var/tmp";
/// The prefix of names in it.
const PREFIX: &str = "assay-";
/// Letters of a name behind that.
const LETTERS: usize = 12;
/// Required free space, unless the store is on the same disk: the limits of two trials.
const ROOM: u64 = 8 << 30;
/// How long a folder may exist without an owner file.
const UNSIGNED: Duration = Duration::from_hours(24);

/// The folder of this process, made when it is first needed.
#[derive(Debug, Default)]
pub(crate) struct WorkFolder {
    /// Its parent; `None`: [`BASE`] if suitable, else the store.
    base: Option<PathBuf>,
    made: Mutex<Option<PathBuf>>,
}

impl WorkFolder {
    pub(crate) fn at(base: Option<PathBuf>) -> Self {
        Self { base, made: Mutex::default() }
    }

    /// The chosen parent.
    pub(crate) fn base(&self) -> Option<&Path> {
        self.base.as_deref()
    }

    /// The folder; `store` is the store that it serves, and `own` is used if no other is suitable.
    pub(crate) fn folder(
        &self,
        owner: &Owner,
        store: &Path,
        own: impl FnOnce() -> Result<PathBuf, StoreError>,
    ) -> Result<PathBuf, StoreError> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = &*made {
            return Ok(made.clone());
        }
        let folder = match &self.base {
            Some(base) => {
                let io = |source| StoreError::Io { action: "create a folder in", path: base.clone(), source };
                fs::create_dir_all(base).map_err(io)?;
                create(base, owner).map_err(io)?
            }
            None if is_suitable(Path::new(BASE), store) => match create(Path::new(BASE), owner) {
                Ok(folder) => folder,
                Err(_) => return own(),
            },
            None => return own(),
        };
        sign(&folder, owner)?;
        Ok(made.insert(folder).clone())
    }

    /// Removes the folder.
    pub(crate) fn clear(&self) {
        if let Some(made) = self.made.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // A folder that cannot be removed is cleaned up later.
            let _ = assay_fs::remove_tree(&made);
        }
    }

    /// Removes folders that dead processes of this user left, for any store; returns their number.
    pub(crate) fn clean_up(&self) -> usize {
        let base = self.base.as_deref().unwrap_or(Path::new(BASE));
        let entries = fs::read_dir(base).into_iter().flatten().flatten();
        let left = entries.map(|entry| entry.path()).filter(|path| is_ours(path) && is_left(path));
        left.filter(|path| assay_fs::remove_tree(path).is_ok()).count()
    }
}

/// Writes the owner of a folder, in place and without sync: a process that is killed before leaves
/// a folder that is kept for a day, and a partial file counts as missing.
fn sign(folder: &Path, owner: &Owner) -> Result<(), StoreError> {
    let path = folder.join("owner.json");
    let text = serde_json::to_vec(owner).map_err(io::Error::from);
    let written = text.and_then(|text| fs::write(&path, text));
    written.map_err(|source| StoreError::Io { action: "write", path, source })
}

/// A new folder that only this user can enter.
fn create(base: &Path, owner: &Owner) -> io::Result<PathBuf> {
    let mut last = io::ErrorKind::AlreadyExists.into();
    for _ in 0..100 {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let number = lease::next_draft();
        let name = blake3::hash(format!("{} {} {number}", owner.mark(), now.as_nanos()).as_bytes()).to_hex();
        let folder = base.join(format!("{PREFIX}{}", &name[..LETTERS]));
        match DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

/// Whether a folder is suitable for trials: on a disk with free space, and allowing programs to
/// run.
fn is_suitable(base: &Path, store: &Path) -> bool {
    let (Ok(in_memory), Ok(mount)) = (assay_fs::is_in_memory(base), statvfs(base)) else { return false };
    let device = |path: &Path| fs::metadata(path).map(|found| found.dev()).ok();
    let room = mount.f_bavail.saturating_mul(mount.f_frsize);
    !in_memory
        && !mount.f_flag.intersects(StatVfsMountFlags::NOEXEC | StatVfsMountFlags::RDONLY)
        && (room >= ROOM || device(base) == device(store))
}

/// Whether a path is a folder of [`create`], of this user: nothing else in a shared folder is
/// changed.
pub(crate) fn is_ours(path: &Path) -> bool {
    let is_name = |name: &str| {
        name.strip_prefix(PREFIX).is_some_and(|rest| {
            rest.len() == LETTERS
                && rest.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        })
    };
    let uid = rustix::process::geteuid().as_raw();
    path.file_name().and_then(|name| name.to_str()).is_some_and(is_name)
        && fs::symlink_metadata(path)
            .is_ok_and(|found| found.is_dir() && found.uid() == uid && found.mode() & 0o777 == 0o700)
}

/// Whether no live process owns it.
pub(crate) fn is_left(path: &Path) -> bool {
    match lease::read_owner(&path.join("owner.json")) {
        Some(owner) => owner.is_dead(),
        // Folders are created only after owner.json, so a removal was interrupted.
        None if !path.join("owner.json").exists() && holds_folders(path) => true,
        // It was made a moment ago, or its process died in that moment.
        None => fs::symlink_metadata(path)
            .and_then(|found| found.modified())
            .is_ok_and(|since| since.elapsed().is_ok_and(|age| age > UNSIGNED)),
    }
}

fn holds_folders(path: &Path) -> bool {
    fs::read_dir(path)
        .into_iter()
        .flatten()
        .flatten()
        .any(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;

    #[test]
    fn work_folder_does_not_reveal_the_store() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("store")).unwrap();
        let own = folder.path().file_name().unwrap().to_str().unwrap();
        let work = store.work().unwrap();
        if is_suitable(Path::new(BASE), folder.path()) {
            assert!(!work.to_str().unwrap().contains(own) && work.starts_with(BASE), "{}", work.display());
        } else {
            assert!(work.starts_with(store.root()), "{}", work.display());
        }
        // The same folder for all running work, and for no other process.
        assert_eq!(store.clone().work().unwrap(), work);
        assert_eq!(fs::metadata(&work).unwrap().mode() & 0o777, 0o700);
        // A socket deep within it has a path that the kernel takes.
        assert!(work.join("cache-1000/trials/0123456789ab-1000/egress/socket").as_os_str().len() < 108);
        store.clear_scratch();
        assert!(!work.exists());
        let again = store.work().unwrap();
        assert!(again.exists() && again != work);
        store.clear_scratch();
    }

    #[test]
    fn work_cleanup_removes_only_leftovers_of_dead_processes() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("base");
        let store = Store::open(&folder.path().join("store")).unwrap().work_in(Some(base.clone()));
        let own = store.work().unwrap();
        assert!(own.starts_with(&base));
        let me = store.owner().clone();
        let put = |name: &str, mode: u32, owner: Option<&Owner>| {
            let path = base.join(name);
            DirBuilder::new().mode(mode).create(&path).unwrap();
            fs::write(path.join("file"), "x").unwrap();
            if let Some(owner) = owner {
                fs::write(path.join("owner.json"), serde_json::to_vec(owner).unwrap()).unwrap();
            }
            path
        };
        let dead = Owner { start: me.start + 1, ..me.clone() };
        let left = [put("assay-00000000000a", 0o700, Some(&dead))];
        let kept = [
            put("assay-00000000000b", 0o700, Some(&me)),
            // Of a process whose state cannot be determined here.
            put("assay-00000000000c", 0o700, Some(&Owner { pid_namespace: Some(1), ..dead.clone() })),
            put(
                "assay-00000000000d",
                0o700,
                Some(&Owner { host: Some("x".into()), boot: "x".into(), ..dead.clone() }),
            ),
            // Not signed yet.
            put("assay-00000000000e", 0o700, None),
            // Not of this make.
            put("assay-00000000000f", 0o755, Some(&dead)),
            put("assay-00000000", 0o700, Some(&dead)),
            put("other-000000000000", 0o700, Some(&dead)),
        ];
        std::os::unix::fs::symlink(&kept[0], base.join("assay-000000000000")).unwrap();
        assert_eq!(store.clean_up().scratch, 1);
        assert!(left.iter().all(|path| !path.exists()));
        assert!(kept.iter().all(|path| path.join("file").exists()) && own.exists());
        store.clear_scratch();
        assert!(!own.exists());
    }
}
