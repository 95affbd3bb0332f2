//! Opening regular files only.

use std::fs::File;
use std::io;
use std::path::Path;

/// Opens a regular file for reading. A link in the last component, a folder, a pipe or a device is
/// an error, and never a hang.
pub fn open_file(path: &Path) -> io::Result<File> {
    let file = open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("not a regular file")) }
}

/// The flags for a file that may be a link, a pipe or a terminal by now.
#[cfg(unix)]
pub(crate) const READ: rustix::fs::OFlags = {
    use rustix::fs::OFlags;
    OFlags::RDONLY
        .union(OFlags::NOFOLLOW)
        .union(OFlags::NONBLOCK)
        .union(OFlags::CLOEXEC)
        .union(OFlags::NOCTTY)
};

#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    Ok(File::from(rustix::fs::open(path, READ, rustix::fs::Mode::empty())?))
}

#[cfg(windows)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::windows::fs::OpenOptionsExt;
    // FILE_FLAG_OPEN_REPARSE_POINT: a link is opened itself, and is not a regular file.
    std::fs::OpenOptions::new().read(true).custom_flags(0x0020_0000).open(path)
}

#[cfg(not(any(unix, windows)))]
fn open(path: &Path) -> io::Result<File> {
    if path.symlink_metadata()?.is_file() {
        File::open(path)
    } else {
        Err(io::Error::other("not a regular file"))
    }
}
