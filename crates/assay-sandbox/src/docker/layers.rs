//! A halted container's files, read from the daemon's storage.
//!
//! With the storage driver `overlay2`, the files that a container wrote are in one folder on top of
//! those of its image, in the format of the kernel's `Documentation/filesystems/overlayfs.rst`: a
//! character device 0/0 marks a removed file, and a folder with the attribute
//! `trusted.overlay.opaque` hides those below. If this process may read these folders, and the
//! daemon runs on this machine, this is much faster than archives, for each of which the daemon
//! mounts the container and starts a program.
//!
//! All content is untrusted: names are opened one by one beneath the folders, and no link is
//! followed. Anything unusual, above all a link in a path, is [`Unsure`]: then the daemon is asked
//! instead.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{CStr, CString, OsStr, OsString};
use std::io::Read;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use assay_fs::walk;
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RawDir, SeekFrom, Stat, fgetxattr, flistxattr, openat, readlinkat, seek,
    statat,
};
use rustix::io::Errno;
use rustix::thread::CapabilitySet;

use super::files::{Changed, PathStat};
use super::unpack::{NotRead, Unpack};
use crate::SandboxError;
use assay_fs::{Caps, ChangeKind, CopyReport};

/// Maximum folder depth, beyond which the daemon is asked: each level uses a descriptor.
const DEPTH: usize = 32;

/// The daemon has to be asked.
#[derive(Debug)]
pub(super) struct Unsure;

impl From<Errno> for Unsure {
    fn from(_: Errno) -> Self {
        Self
    }
}

/// The folders with a container's files.
#[derive(Debug)]
pub(super) struct Layers {
    /// The files that the container wrote.
    pub(super) upper: PathBuf,
    /// The layers of its image, the uppermost first.
    pub(super) lower: Vec<PathBuf>,
    /// Paths that are stored elsewhere: mounts and volumes.
    elsewhere: Vec<PathBuf>,
}

/// A folder as seen inside: the folders of all layers that contribute to it, the uppermost first.
#[derive(Debug, Default)]
pub(super) struct Folder {
    pub(super) parts: Vec<OwnedFd>,
}

/// An entry of a folder.
pub(super) enum Seen {
    /// A folder, with the status of its uppermost part.
    Folder(Folder, Stat),
    /// Anything else, and the index of the part that contains it.
    Leaf(usize, Stat),
}

/// What is at a path.
enum LayerEntry {
    Folder(Folder, Stat),
    Leaf { dir: OwnedFd, name: CString, stat: Stat },
}

/// Whether this process sees the attributes of such folders, which needs `CAP_SYS_ADMIN` in the
/// initial user namespace.
pub(super) fn can_read_layers() -> bool {
    let wanted = CapabilitySet::SYS_ADMIN
        | CapabilitySet::CHOWN
        | CapabilitySet::DAC_OVERRIDE
        | CapabilitySet::FOWNER
        | CapabilitySet::FSETID;
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.split_whitespace().eq(["0", "0", "4294967295"])
        && rustix::thread::capabilities(None).is_ok_and(|sets| sets.effective.contains(wanted))
}

impl Layers {
    /// From the daemon's data about the storage driver.
    pub(super) fn of(data: &HashMap<String, String>, elsewhere: Vec<PathBuf>) -> Option<Self> {
        let upper = PathBuf::from(data.get("UpperDir")?);
        let lower = data.get("LowerDir")?.split(':').map(PathBuf::from).collect();
        upper.is_dir().then_some(Self { upper, lower, elsewhere })
    }

    /// The differences from the image. A folder with a change in it is listed as changed itself.
    pub(super) fn changes(&self) -> Result<Vec<Changed>, Unsure> {
        let mut changes = Vec::new();
        let upper = Folder { parts: vec![walk::open(&self.upper).map_err(|_| Unsure)?] };
        compare(&upper, &self.below()?, Path::new("/"), 0, &mut changes)?;
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(changes)
    }

    pub(super) fn stat(&self, path: &Path) -> Result<Option<PathStat>, Unsure> {
        let status = |stat: &Stat, link| {
            let kind = FileType::from_raw_mode(stat.st_mode);
            PathStat {
                size: u64::try_from(stat.st_size).unwrap_or(0),
                is_dir: kind == FileType::Directory,
                is_file: kind == FileType::RegularFile,
                mode: stat.st_mode & 0o777,
                link,
            }
        };
        Ok(match self.find(path)? {
            None => None,
            Some(LayerEntry::Folder(_, stat)) => Some(status(&stat, None)),
            Some(LayerEntry::Leaf { dir, name, stat }) => Some(status(&stat, link(&dir, &name, &stat)?)),
        })
    }

    /// A regular file, or why it cannot be read.
    pub(super) fn read(&self, path: &Path, cap: u64) -> Result<Result<Option<Vec<u8>>, NotRead>, Unsure> {
        let (dir, name, stat) = match self.find(path)? {
            None => return Ok(Ok(None)),
            Some(LayerEntry::Folder(..)) => return Ok(Err(NotRead::Kind("a folder"))),
            Some(LayerEntry::Leaf { dir, name, stat }) => (dir, name, stat),
        };
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind != FileType::RegularFile {
            return Ok(Err(NotRead::Kind(walk::describe(kind))));
        }
        let too_large = || Ok(Err(NotRead::TooLarge(cap)));
        if u64::try_from(stat.st_size).unwrap_or(0) > cap {
            return too_large();
        }
        let mut content = Vec::new();
        let read = open_whole(&dir, &name)?.take(cap.saturating_add(1)).read_to_end(&mut content);
        match read {
            Ok(_) if content.len() as u64 > cap => too_large(),
            Ok(_) => Ok(Ok(Some(content))),
            Err(_) => Err(Unsure),
        }
    }

    /// As [`Container::fetch`](super::Container::fetch).
    pub(super) fn fetch(
        &self,
        path: &Path,
        to: &Path,
        caps: &Caps,
    ) -> Result<Result<Option<CopyReport>, SandboxError>, Unsure> {
        if self.elsewhere.iter().any(|other| other.starts_with(path)) {
            return Err(Unsure);
        }
        let Some(found) = self.find(path)? else { return Ok(Ok(None)) };
        let mut unpack = match Unpack::new(to, caps) {
            Ok(unpack) => unpack,
            Err(error) => return Ok(Err(error)),
        };
        let taken = match found {
            LayerEntry::Folder(folder, _) => unpack_folder(&folder, Path::new(""), 0, &mut unpack),
            LayerEntry::Leaf { dir, name, stat } => leaf(&dir, &name, &stat, &own_name(&name), &mut unpack),
        };
        match taken {
            Ok(()) => Ok(unpack.finish().map(Some)),
            Err(Halt::Unsure) => {
                unpack.undo();
                Err(Unsure)
            }
            Err(Halt::Sandbox(error)) => Ok(Err(error)),
        }
    }

    /// Whether a path, or a folder above it, is not in these folders.
    pub(super) fn is_elsewhere(&self, path: &Path) -> bool {
        self.elsewhere.iter().any(|other| path.starts_with(other))
    }

    /// The root folder of the image.
    pub(super) fn below(&self) -> Result<Folder, Unsure> {
        let parts =
            self.lower.iter().map(|path| walk::open(path)).collect::<Result<_, _>>().map_err(|_| Unsure)?;
        Ok(Folder { parts })
    }

    fn find(&self, path: &Path) -> Result<Option<LayerEntry>, Unsure> {
        if self.is_elsewhere(path) {
            return Err(Unsure);
        }
        let mut folder = self.below()?;
        folder.parts.insert(0, walk::open(&self.upper).map_err(|_| Unsure)?);
        let mut names = path.components().filter_map(|component| match component {
            Component::Normal(name) => Some(CString::new(name.as_bytes()).map_err(|_| Unsure)),
            Component::RootDir | Component::CurDir => None,
            Component::ParentDir | Component::Prefix(_) => Some(Err(Unsure)),
        });
        let mut at = None;
        while let Some(name) = names.next().transpose()? {
            match folder.entry(&name)? {
                None => return Ok(None),
                Some(Seen::Folder(next, stat)) => (folder, at) = (next, Some(stat)),
                // A link may lead anywhere; below other files there is nothing, and the daemon has
                // its own error for that.
                Some(Seen::Leaf(..)) if names.next().is_some() => return Err(Unsure),
                Some(Seen::Leaf(part, stat)) => {
                    let dir = folder.parts.swap_remove(part);
                    return Ok(Some(LayerEntry::Leaf { dir, name, stat }));
                }
            }
        }
        at.map(|stat| Some(LayerEntry::Folder(folder, stat))).ok_or(Unsure)
    }
}

impl Folder {
    /// The entry with a name.
    pub(super) fn entry(&self, name: &CStr) -> Result<Option<Seen>, Unsure> {
        let mut parts = Vec::new();
        let mut top = None;
        for (number, part) in self.parts.iter().enumerate() {
            let stat = match statat(part, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => continue,
                Err(error) => return Err(error.into()),
            };
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => {
                    let found = open_folder(part, name)?;
                    let hides = is_opaque(&found)?;
                    parts.push(found);
                    top.get_or_insert(stat);
                    if hides {
                        break;
                    }
                }
                FileType::CharacterDevice if stat.st_rdev == 0 => break,
                _ if parts.is_empty() => return Ok(Some(Seen::Leaf(number, stat))),
                // Hidden by a folder above it.
                _ => break,
            }
        }
        Ok(top.map(|stat| Seen::Folder(Self { parts }, stat)))
    }

    /// The names in it, including removed ones: at most `most`, and whether there are more.
    fn names(&self, most: u64) -> Result<(BTreeSet<CString>, bool), Unsure> {
        let mut names = BTreeSet::new();
        let mut over = false;
        for part in &self.parts {
            seek(part, SeekFrom::Start(0))?;
            let mut space = [MaybeUninit::uninit(); 16 << 10];
            let mut entries = RawDir::new(part, &mut space);
            while let Some(entry) = entries.next() {
                let entry = entry?;
                let name = entry.file_name();
                if !matches!(name.to_bytes(), b"." | b"..") && names.insert(name.to_owned()) {
                    over |= names.len() as u64 > most && names.pop_last().is_some();
                }
            }
        }
        Ok((names, over))
    }
}

/// Lists the differences of `upper` from `lower`; returns whether there are any.
fn compare(
    upper: &Folder,
    lower: &Folder,
    path: &Path,
    depth: usize,
    changes: &mut Vec<Changed>,
) -> Result<bool, Unsure> {
    if depth > DEPTH {
        return Err(Unsure);
    }
    let before = changes.len();
    let names = upper.names(u64::MAX)?.0;
    for name in &names {
        let path = path.join(OsStr::from_bytes(name.to_bytes()));
        let was = lower.entry(name)?;
        let kind = match (upper.entry(name)?, was) {
            (None, None) => continue,
            (None, Some(_)) => ChangeKind::Removed,
            (Some(Seen::Leaf(..)), was) => if_there(was.as_ref()),
            (Some(Seen::Folder(now, stat)), Some(Seen::Folder(was, old))) => {
                let hides = now.parts.first().map_or(Ok(false), is_opaque)?;
                let mut differs = compare(&now, &was, &path, depth + 1, changes)?;
                if hides {
                    let kept = now.names(u64::MAX)?.0;
                    for gone in was.names(u64::MAX)?.0.difference(&kept) {
                        if was.entry(gone)?.is_some() {
                            let path = path.join(OsStr::from_bytes(gone.to_bytes()));
                            changes.push(Changed { path, kind: ChangeKind::Removed });
                            differs = true;
                        }
                    }
                }
                let status =
                    |stat: &Stat| (stat.st_mode, stat.st_uid, stat.st_gid, stat.st_mtime, stat.st_mtime_nsec);
                if !differs && status(&stat) == status(&old) {
                    continue;
                }
                ChangeKind::Modified
            }
            (Some(Seen::Folder(now, _)), was) => {
                compare(&now, &Folder::default(), &path, depth + 1, changes)?;
                if_there(was.as_ref())
            }
        };
        changes.push(Changed { path, kind });
    }
    Ok(changes.len() > before)
}

fn if_there(was: Option<&Seen>) -> ChangeKind {
    if was.is_some() { ChangeKind::Modified } else { ChangeKind::Added }
}

/// Why copying files ended.
enum Halt {
    Unsure,
    Sandbox(SandboxError),
}

impl From<Unsure> for Halt {
    fn from(_: Unsure) -> Self {
        Self::Unsure
    }
}

/// Copies the content of a folder.
fn unpack_folder(folder: &Folder, path: &Path, depth: usize, unpack: &mut Unpack<'_>) -> Result<(), Halt> {
    if depth > DEPTH {
        return Err(Halt::Unsure);
    }
    let (names, over) = folder.names(unpack.room())?;
    for name in names {
        let path = path.join(OsStr::from_bytes(name.to_bytes()));
        let Some(seen) = folder.entry(&name)? else { continue };
        match seen {
            _ if !unpack.admits(&path) => {}
            Seen::Folder(next, stat) => {
                unpack.folder(path.clone(), stat.st_mode).map_err(Halt::Sandbox)?;
                unpack_folder(&next, &path, depth + 1, unpack)?;
            }
            Seen::Leaf(part, stat) => leaf(&folder.parts[part], &name, &stat, &path, unpack)?,
        }
        if unpack.is_full() {
            return Ok(());
        }
    }
    if over {
        unpack.overflow(path);
    }
    Ok(())
}

fn leaf(dir: &OwnedFd, name: &CStr, stat: &Stat, path: &Path, unpack: &mut Unpack<'_>) -> Result<(), Halt> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            let size = u64::try_from(stat.st_size).unwrap_or(0);
            if unpack.has_room(path, size) {
                let source = open_whole(dir, name)?.take(size);
                let modified = u64::try_from(stat.st_mtime).ok();
                unpack.file(source, path, stat.st_mode & 0o777, modified).map_err(Halt::Sandbox)?;
            }
        }
        FileType::Symlink => unpack.link(path, link(dir, name, stat)?),
        kind => unpack.leave_out(path, walk::describe(kind)),
    }
    Ok(())
}

/// Opens a regular file whose content is entirely in this layer.
fn open_whole(dir: &OwnedFd, name: &CStr) -> Result<std::fs::File, Unsure> {
    let file = walk::open_at(dir, name).map_err(|_| Unsure)?.ok_or(Unsure)?;
    if attributes(&file)?.contains(&b"trusted.overlay.metacopy"[..]) { Err(Unsure) } else { Ok(file) }
}

fn link(dir: &OwnedFd, name: &CStr, stat: &Stat) -> Result<Option<PathBuf>, Unsure> {
    if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
        return Ok(None);
    }
    let target = readlinkat(dir, name, Vec::new())?;
    Ok(Some(PathBuf::from(OsString::from_vec(target.into_bytes()))))
}

fn own_name(name: &CStr) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(name.to_bytes()))
}

pub(super) fn open_folder(dir: impl AsFd, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(dir, name, flags, Mode::empty())
}

/// Whether a folder hides those below it.
pub(super) fn is_opaque(folder: &OwnedFd) -> Result<bool, Unsure> {
    let attributes = attributes(folder)?;
    if attributes.contains(&b"trusted.overlay.redirect"[..]) {
        return Err(Unsure);
    }
    if !attributes.contains(&b"trusted.overlay.opaque"[..]) {
        return Ok(false);
    }
    let mut value = [0_u8; 8];
    let read = fgetxattr(folder, "trusted.overlay.opaque", &mut value[..])?;
    if &value[..read] == b"y" { Ok(true) } else { Err(Unsure) }
}

/// The names of the extended attributes of an open file.
pub(super) fn attributes(file: impl AsFd) -> Result<BTreeSet<Vec<u8>>, Unsure> {
    let mut names = [0_u8; 4 << 10];
    let read = match flistxattr(file, &mut names[..]) {
        Ok(read) => read,
        Err(Errno::NOTSUP) => 0,
        Err(error) => return Err(error.into()),
    };
    Ok(names[..read].split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect())
}

#[cfg(test)]
mod tests;
