//! The kernel's data about a file system and this process.

/// The number of this process's PID namespace (namespaces(7)); `None` if there is none.
pub fn pid_namespace() -> Option<u64> {
    let link = std::fs::read_link("/proc/self/ns/pid").ok()?;
    link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok()
}

/// The number of the file system in memory (`TMPFS_MAGIC`, `linux/magic.h`).
#[cfg(target_os = "linux")]
const TMPFS: rustix::fs::FsWord = 0x0102_1994;

/// Whether a folder is in memory rather than on a disk. Only known on Linux.
pub fn is_in_memory(folder: &std::path::Path) -> std::io::Result<bool> {
    #[cfg(target_os = "linux")]
    return Ok(rustix::fs::statfs(folder)?.f_type == TMPFS);
    #[cfg(not(target_os = "linux"))]
    return folder.metadata().map(|_| false);
}

/// The same of a file or folder that is open.
#[cfg(target_os = "linux")]
pub fn is_open_in_memory(file: impl std::os::fd::AsFd) -> std::io::Result<bool> {
    Ok(rustix::fs::fstatfs(file)?.f_type == TMPFS)
}
