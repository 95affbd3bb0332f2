//! The few files that replace the host's in a sandbox.

use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

use crate::{SandboxError, seccomp};

/// The device files of every sandbox, with their numbers (Linux,
/// `Documentation/admin-guide/devices.txt`).
const DEVICES: [(&str, u32, u32); 6] =
    [("null", 1, 3), ("zero", 1, 5), ("full", 1, 7), ("random", 1, 8), ("urandom", 1, 9), ("tty", 5, 0)];

/// The files' paths on the host.
#[derive(Debug, Clone)]
pub(crate) struct OwnFiles {
    /// Name in `/etc`, file on the host.
    pub(crate) etc: Vec<(&'static str, PathBuf)>,
    /// Name in `/dev`, device file on the host. Empty unless this process can create and needs
    /// them: see [`devices`].
    pub(crate) dev: Vec<(&'static str, PathBuf)>,
    /// An empty file.
    pub(crate) empty: PathBuf,
    /// The system call filter for this machine's programs; `None` if there is none for its
    /// architecture.
    pub(crate) filter: Option<PathBuf>,
}

/// Writes them, unless they exist, to a folder that only this user can enter.
pub(crate) fn prepare() -> Result<OwnFiles, SandboxError> {
    let uid = rustix::process::geteuid().as_raw();
    let gid = rustix::process::getegid().as_raw();
    let base = std::env::temp_dir();
    let dir = folder(&base, uid).map_err(|source| SandboxError::Io {
        action: "create a private folder in",
        path: base,
        source,
    })?;
    let (mut users, mut groups) = (String::new(), String::new());
    if uid != 0 {
        users = format!("user:x:{uid}:{gid}::/tmp:/bin/sh\n");
    }
    if gid != 0 {
        groups = format!("user:x:{gid}:\n");
    }
    let files = [
        ("passwd", format!("root:x:0:0:root:/root:/bin/sh\n{users}nobody:x:65534:65534::/:/bin/false\n")),
        ("group", format!("root:x:0:\n{groups}nogroup:x:65534:\n")),
        ("hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n".to_owned()),
    ];
    let put = |name: &str, content: &[u8]| {
        let path = dir.join(name);
        match write(&path, content) {
            Ok(()) => Ok(path),
            Err(source) => Err(SandboxError::Io { action: "write", path, source }),
        }
    };
    let mut etc = Vec::new();
    for (name, content) in files {
        etc.push((name, put(name, content.as_bytes())?));
    }
    let empty = put("empty", b"")?;
    let filter = seccomp::filter(std::env::consts::ARCH);
    // The name contains its digest, because another version of this program may use the folder at
    // the same time.
    let name = |filter: &[u8]| format!("filter-{}", &blake3::hash(filter).to_hex()[..16]);
    let filter = filter.map(|filter| put(&name(&filter), &filter)).transpose()?;
    Ok(OwnFiles { etc, dev: if uid == 0 { any_devices(&dir) } else { Vec::new() }, empty, filter })
}

/// `assay-sandbox-<uid>` if it belongs to us alone; if another user has taken that name, another
/// one.
fn folder(base: &Path, uid: u32) -> io::Result<PathBuf> {
    for n in 0..100 {
        let dir = base.join(if n == 0 {
            format!("assay-sandbox-{uid}")
        } else {
            format!("assay-sandbox-{uid}-{n}")
        });
        match DirBuilder::new().mode(0o700).create(&dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let found = fs::symlink_metadata(&dir)?;
        if found.is_dir() && found.uid() == uid && found.mode() & 0o777 == 0o700 {
            return Ok(dir);
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Puts a file in place atomically, so that no reader sees a partial one.
fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|found| found == content) {
        return Ok(());
    }
    let new = format!("{}-{:?}", std::process::id(), std::thread::current().id()).replace(['(', ')'], "-");
    let new = path.with_extension(new);
    let mut file = fs::File::create(&new)?;
    file.set_permissions(fs::Permissions::from_mode(0o644))?;
    file.write_all(content)?;
    fs::rename(new, path)
}

/// [`devices`] in the private folder, or if its file system does not support devices, in one
/// beneath `/var/tmp`.
fn any_devices(dir: &Path) -> Vec<(&'static str, PathBuf)> {
    devices(dir).or_else(|_| devices(&folder(Path::new("/var/tmp"), 0)?)).unwrap_or_default()
}

/// Separate device files if the caller is root: processes inside are then the same root to the
/// kernel, although without capabilities, and as the owner they could remove everyone's access to
/// the host's `/dev/null`.
fn devices(dir: &Path) -> io::Result<Vec<(&'static str, PathBuf)>> {
    let mut made = Vec::new();
    for (name, major, minor) in DEVICES {
        let (path, device) = (dir.join(name), makedev(major, minor));
        let is_it = |path: &Path| {
            fs::symlink_metadata(path)
                .is_ok_and(|found| found.file_type().is_char_device() && found.rdev() == device)
        };
        if !is_it(&path) {
            match mknodat(CWD, &path, FileType::CharacterDevice, Mode::from_raw_mode(0o666), device) {
                Err(error) if error != rustix::io::Errno::EXIST || !is_it(&path) => return Err(error.into()),
                _ => {}
            }
        }
        // A process inside may have changed it, and the umask removed bits from a new one.
        if fs::symlink_metadata(&path)?.mode() & 0o777 != 0o666 {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o666))?;
        }
        made.push((name, path));
    }
    // Useless on a file system that is mounted without devices.
    fs::File::open(dir.join("null"))?;
    Ok(made)
}
