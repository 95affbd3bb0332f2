//! Copying a folder.

use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

use crate::walk::{self, Item, Next, Sequence, Visitor, walk};
use crate::{Caps, CopyReport, FileKind, FsError, Tally};

/// Copies the content of the folder `from` into the folder `to`, which is created if it does not
/// exist.
///
/// Regular files, folders and (with [`Caps::links`]) symbolic links, which are copied unchanged and
/// never followed. Permissions and times are kept, set-id bits never; the owner always gets full
/// access to a folder. Entries beyond the caps, unreadable ones and special files are left out and
/// listed. `to` must not be below `from`, nor contain untrusted links: a new folder is best. Only a
/// failure to write is an error, and a `from` that cannot be opened.
pub fn copy_tree(from: &Path, to: &Path, caps: &Caps) -> Result<CopyReport, FsError> {
    let root = walk::open(from).map_err(|error| FsError::io("open", from, error))?;
    make_folder(to)?;
    let mut copy = Copy { to, tally: Tally::new(caps) };
    walk(root, Sequence::ByName(caps.entries), &mut copy)?;
    Ok(copy.tally.report)
}

fn make_folder(path: &Path) -> Result<(), FsError> {
    match create_folder(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(FsError::io("create", path, error)),
        Ok(()) => Ok(()),
    }
}

struct Copy<'a> {
    to: &'a Path,
    tally: Tally<'a>,
}

impl Copy<'_> {
    fn file(&mut self, item: &Item<'_>, to: &Path) -> Result<Next, FsError> {
        let Some(source) = self.tally.open(item) else { return Ok(Next::Past) };
        let fail = |error: io::Error| FsError::io("write", to, error);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, item.mode() & 0o777 | 0o200);
        let mut new = match options.open(to) {
            Ok(new) => new,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Ok(self.tally.leave_out(item.path, "already exists"));
            }
            Err(error) => return Err(fail(error)),
        };
        // It may grow while it is read.
        let room = self.tally.room();
        let copied =
            if item.size() == 0 { 0 } else { io::copy(&mut source.take(room), &mut new).map_err(fail)? };
        set_mode(&new, item.mode() & 0o777).map_err(fail)?;
        let mut times = FileTimes::new();
        if let Some(accessed) = item.accessed() {
            times = times.set_accessed(accessed);
        }
        if let Some(modified) = item.modified() {
            times = times.set_modified(modified);
        }
        // A file system without time stamps still takes the content.
        let _ = new.set_times(times);
        self.tally.add_file(copied);
        Ok(Next::Past)
    }
}

impl Visitor for Copy<'_> {
    type Error = FsError;

    fn item(&mut self, item: &Item<'_>) -> Result<Next, FsError> {
        if let Some(next) = self.tally.count(item).or_else(|| self.tally.check_depth(item)) {
            return Ok(next);
        }
        let to = self.to.join(item.path);
        match item.kind() {
            FileKind::Directory => {
                make_folder(&to)?;
                open_folder(&to, item.mode() & 0o777 | 0o700)
                    .map_err(|error| FsError::io("write", &to, error))?;
                Ok(Next::Into)
            }
            FileKind::File => self.file(item, &to),
            #[cfg(unix)]
            FileKind::Link if self.tally.caps.links => {
                if let Some(target) = self.tally.read_link(item) {
                    std::os::unix::fs::symlink(target, &to)
                        .map_err(|error| FsError::io("write", &to, error))?;
                }
                Ok(Next::Past)
            }
            FileKind::Link | FileKind::Other => Ok(self.tally.leave_out(item.path, item.describe())),
        }
    }

    fn failed(&mut self, path: &Path, error: io::Error) -> Result<(), FsError> {
        self.tally.failed(path, &error);
        Ok(())
    }

    fn truncated(&mut self, path: &Path) -> Result<(), FsError> {
        self.tally.truncated(path);
        Ok(())
    }
}

#[cfg(unix)]
fn create_folder(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(0o700).create(path)
}

#[cfg(not(unix))]
fn create_folder(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}

#[cfg(unix)]
fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode))
}

#[cfg(unix)]
fn open_folder(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))
}

/// Elsewhere a new file has the permissions of its folder.
#[cfg(not(unix))]
fn set_mode(_: &File, _: u32) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn open_folder(_: &Path, _: u32) -> io::Result<()> {
    Ok(())
}
