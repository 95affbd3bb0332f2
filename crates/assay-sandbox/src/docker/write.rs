//! Writes files into a stopped container, directly in the daemon's storage: see
//! [`layers`](super::layers).
//!
//! The kernel allows this while the container is not mounted. None of its processes runs meanwhile,
//! so that nothing else changes its files.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use assay_fs::Tally;
use assay_fs::walk::{self, Item, Next, Sequence, Visitor, walk};
use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, ResolveFlags, Timespec, Timestamps, Uid, chownat, fchmod, fchown,
    futimens, mkdirat, openat, openat2, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::files::Owner;
use super::layers::{Folder, Layers, Seen, Unsure, attributes, is_opaque, open_folder};
use assay_fs::{Caps, CopyReport, FileKind, FsError};

/// Why files were not written.
#[derive(Debug)]
pub(super) enum Halt {
    /// The daemon has to be asked.
    Unsure,
    /// The source files cannot be read.
    Source(FsError),
}

impl From<Unsure> for Halt {
    fn from(Unsure: Unsure) -> Self {
        Self::Unsure
    }
}

impl From<Errno> for Halt {
    fn from(_: Errno) -> Self {
        Self::Unsure
    }
}

impl Layers {
    /// As [`Container::copy_in`](super::Container::copy_in), at a path relative to the root.
    pub(super) fn write_files(
        &self,
        from: &Path,
        inside: &Path,
        owner: Owner,
        caps: &Caps,
    ) -> Result<CopyReport, Halt> {
        let source = |error: io::Error| Halt::Source(FsError::io("read", from, error));
        if std::fs::symlink_metadata(from).map_err(source)?.is_file() {
            let mut file = File::open(from).map_err(source)?;
            let stat = rustix::fs::fstat(&file)?;
            let (dir, name) = self.parent(inside)?;
            let bytes = write(&dir, &name, &mut file, stat.st_mode, owner, Some(times(&stat)))?;
            return Ok(CopyReport { files: 1, bytes, left_out: Vec::new() });
        }
        let from_fd = walk::open(from).map_err(source)?;
        let mode = rustix::fs::fstat(&from_fd)?.st_mode;
        let root = self.open_or_create(inside)?;
        set_owner(&root, mode, owner)?;
        let current = (PathBuf::new(), root.try_clone().map_err(|_| Halt::Unsure)?);
        let mut writer = FileWriter { root, current, owner, tally: Tally::new(caps) };
        walk(from_fd, Sequence::ByName(caps.entries), &mut writer)?;
        Ok(writer.tally.report)
    }

    /// Writes these bytes to one file.
    pub(super) fn write_bytes(
        &self,
        bytes: &[u8],
        inside: &Path,
        mode: u32,
        owner: Owner,
    ) -> Result<(), Unsure> {
        let (dir, name) = self.parent(inside)?;
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let times = Timestamps { last_access: zero, last_modification: zero };
        write(&dir, &name, &mut &*bytes, mode, owner, Some(times)).map(|_| ())
    }

    fn parent(&self, inside: &Path) -> Result<(OwnedFd, CString), Unsure> {
        let name = inside.file_name().ok_or(Unsure)?;
        let name = CString::new(name.as_bytes()).map_err(|_| Unsure)?;
        let dir = self.open_or_create(inside.parent().unwrap_or(Path::new("")))?;
        if self.is_elsewhere(&Path::new("/").join(inside)) { Err(Unsure) } else { Ok((dir, name)) }
    }

    /// Opens a folder in the container's own layer. A missing one is created, with the image's
    /// metadata if the image has it.
    fn open_or_create(&self, inside: &Path) -> Result<OwnedFd, Unsure> {
        if self.is_elsewhere(&Path::new("/").join(inside)) {
            return Err(Unsure);
        }
        let mut lower = self.below()?;
        let mut upper = walk::open(&self.upper).map_err(|_| Unsure)?;
        for name in inside {
            let name = CString::new(name.as_bytes()).map_err(|_| Unsure)?;
            let below = lower.entry(&name)?;
            match statat(&upper, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => {}
                Err(Errno::NOENT) => copy_up(&upper, &name, below.as_ref())?,
                Ok(_) | Err(_) => return Err(Unsure),
            }
            upper = open_folder(&upper, &name)?;
            lower = match below {
                Some(Seen::Folder(below, _)) if !is_opaque(&upper)? => below,
                _ => Folder::default(),
            };
        }
        Ok(upper)
    }
}

/// Creates a folder, with the metadata of the one below.
fn copy_up(dir: &OwnedFd, name: &CStr, below: Option<&Seen>) -> Result<(), Unsure> {
    let stat = match below {
        None => None,
        Some(Seen::Leaf(..)) => return Err(Unsure),
        Some(Seen::Folder(folder, stat)) => {
            let top = folder.parts.first().ok_or(Unsure)?;
            let overlay = |name: &Vec<u8>| name.starts_with(b"trusted.overlay.");
            // Access control lists and the like have to be copied by the kernel.
            if !attributes(top)?.iter().all(overlay) {
                return Err(Unsure);
            }
            Some(stat)
        }
    };
    mkdirat(dir, name, Mode::RWXU)?;
    let made = open_folder(dir, name)?;
    match stat {
        None => fchmod(&made, Mode::from_raw_mode(0o755))?,
        Some(stat) => {
            fchown(&made, Some(Uid::from_raw(stat.st_uid)), Some(Gid::from_raw(stat.st_gid)))?;
            fchmod(&made, Mode::from_raw_mode(stat.st_mode & 0o7777))?;
            futimens(&made, &times(stat))?;
        }
    }
    Ok(())
}

fn times(stat: &rustix::fs::Stat) -> Timestamps {
    let of = |tv_sec, nanos: u64| Timespec { tv_sec, tv_nsec: nanos.cast_signed() };
    Timestamps {
        last_access: of(stat.st_atime, stat.st_atime_nsec),
        last_modification: of(stat.st_mtime, stat.st_mtime_nsec),
    }
}

/// Sets owner and permissions of a file or folder, never set-id bits.
fn set_owner(file: impl AsFd, mode: u32, owner: Owner) -> Result<(), Errno> {
    fchown(&file, Some(Uid::from_raw(owner.uid)), Some(Gid::from_raw(owner.gid)))?;
    fchmod(&file, Mode::from_raw_mode(mode & 0o777))
}

/// Removes an entry, so that a new one can have its name.
fn clear(dir: impl AsFd, name: &CStr) -> Result<(), Unsure> {
    match unlinkat(dir, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        // A folder: the daemon handles this case.
        Err(error) => Err(error.into()),
    }
}

/// Writes a new file, replacing what has its name.
fn write(
    dir: impl AsFd,
    name: &CStr,
    source: &mut dyn Read,
    mode: u32,
    owner: Owner,
    times: Option<Timestamps>,
) -> Result<u64, Unsure> {
    clear(&dir, name)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(openat(&dir, name, flags, Mode::RUSR | Mode::WUSR)?);
    let bytes = io::copy(source, &mut file).map_err(|_| Unsure)?;
    set_owner(&file, mode, owner)?;
    if let Some(times) = times {
        futimens(&file, &times)?;
    }
    Ok(bytes)
}

/// Writes the entries of a walk.
struct FileWriter<'a> {
    root: OwnedFd,
    /// The folder of the last write.
    current: (PathBuf, OwnedFd),
    owner: Owner,
    tally: Tally<'a>,
}

impl FileWriter<'_> {
    /// The folder of an item.
    fn folder(&mut self, path: &Path) -> Result<&OwnedFd, Halt> {
        let parent = path.parent().unwrap_or(Path::new(""));
        if self.current.0 != parent {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
            let at = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            self.current = (parent.to_owned(), openat2(&self.root, at, flags, Mode::empty(), resolve)?);
        }
        Ok(&self.current.1)
    }

    fn file(&mut self, item: &Item<'_>) -> Result<Next, Halt> {
        let Some(source) = self.tally.open(item) else { return Ok(Next::Past) };
        let mut source = source.take(item.size());
        let owner = self.owner;
        let dir = self.folder(item.path)?;
        let bytes = write(dir, item.name(), &mut source, item.mode(), owner, Some(times(item.stat())))?;
        self.tally.add_file(bytes);
        Ok(Next::Past)
    }
}

impl Visitor for FileWriter<'_> {
    type Error = Halt;

    fn item(&mut self, item: &Item<'_>) -> Result<Next, Halt> {
        if let Some(next) = self.tally.count(item).or_else(|| self.tally.check_depth(item)) {
            return Ok(next);
        }
        let owner = self.owner;
        match item.kind() {
            FileKind::Directory => {
                let dir = self.folder(item.path)?;
                match mkdirat(dir, item.name(), Mode::RWXU) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
                set_owner(open_folder(dir, item.name())?, item.mode(), owner)?;
                Ok(Next::Into)
            }
            FileKind::File => self.file(item),
            FileKind::Link if self.tally.caps.links => {
                let Some(target) = self.tally.read_link(item) else { return Ok(Next::Past) };
                let dir = self.folder(item.path)?;
                clear(dir, item.name())?;
                symlinkat(target, dir, item.name())?;
                let (uid, gid) = (Uid::from_raw(owner.uid), Gid::from_raw(owner.gid));
                chownat(dir, item.name(), Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)?;
                Ok(Next::Past)
            }
            _ => {
                Ok(self.tally.leave_out(item.path, "not a file, folder or symbolic link that can be copied"))
            }
        }
    }

    fn failed(&mut self, path: &Path, error: io::Error) -> Result<(), Halt> {
        self.tally.failed(path, &error);
        Ok(())
    }

    fn truncated(&mut self, path: &Path) -> Result<(), Halt> {
        self.tally.truncated(path);
        Ok(())
    }
}
