//! Bubblewrap's command line.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::own_files::OwnFiles;
use crate::runtime::Runtime;
use crate::spec::OWN;
use crate::{Network, Root, SandboxError, Spec};

/// The visible part of the host's `/etc`: nothing about users, machines or keys. Missing entries
/// are skipped.
const ETC: [&str; 16] = [
    "alternatives",
    "crypto-policies",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "pki/ca-trust/extracted",
    "pki/tls/certs",
    "protocols",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
    "timezone",
];
/// Also every entry with this prefix.
const ETC_PREFIX: &str = "python3";
/// Additional entries of `/etc` if the host's network is reachable.
const ETC_PUBLIC: [&str; 2] = ["hosts", "resolv.conf"];
/// Folders of a root filesystem that are replaced.
const REPLACED: [&str; 6] = ["proc", "dev", "sys", "run", "tmp", "oldroot"];

/// Files of `/proc` that list kernel keys of other users and sessions: namespaces do not isolate
/// them.
const KEYS: [&str; 2] = ["/proc/keys", "/proc/key-users"];

/// The descriptor from which bubblewrap reads the system call filter.
const FILTER: &str = "9";
/// Opens the first argument at that descriptor, and executes the rest. A descriptor beyond the
/// three streams cannot be passed to a single child without unsafe code: opened here, it would be
/// inherited by every process that another thread starts meanwhile.
const OPEN_FILTER: &str = "filter=$1; shift; exec \"$@\" 9<\"$filter\"";

/// The writable parts of `/proc`. If the caller is root, processes inside own the machine's files
/// as far as the kernel is concerned, even without capabilities: `/proc/sys/kernel/core_pattern`
/// alone would give them the host, and bubblewrap leaves it writable.
pub(crate) fn writable_proc() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for name in ["acpi", "driver", "fs", "mtrr", "pressure", "scsi", "sys", "sysrq-trigger"] {
        let path = Path::new("/proc").join(name);
        if name == "sys" && path.exists() || contains_writable(&path, 4) {
            found.push(path);
        }
    }
    found
}

fn contains_writable(path: &Path, depth: usize) -> bool {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => found.permissions().mode() & 0o222 != 0,
        Ok(found) if found.is_dir() && depth > 0 => fs::read_dir(path)
            .is_ok_and(|entries| entries.flatten().any(|entry| contains_writable(&entry.path(), depth - 1))),
        _ => false,
    }
}

/// A command line under construction.
#[derive(Default)]
struct Line(Vec<OsString>);

impl Line {
    fn add<const N: usize>(&mut self, words: [&str; N]) {
        self.0.extend(words.map(OsString::from));
    }

    fn paths(&mut self, option: &str, source: &Path, target: &Path) {
        self.0.extend([option.into(), source.into(), target.into()]);
    }

    fn path(&mut self, option: &str, path: &Path) {
        self.0.extend([option.into(), path.into()]);
    }

    fn tmpfs(&mut self, path: &Path, mode: &str, size: Option<u64>) {
        self.add(["--perms", mode]);
        if let Some(size) = size {
            self.add(["--size", &size.to_string()]);
        }
        self.path("--tmpfs", path);
    }
}

/// What the arguments depend on besides the specification.
pub(crate) struct ArgumentContext<'a> {
    pub(crate) own_files: &'a OwnFiles,
    pub(crate) runtime: &'a Runtime,
    /// From [`writable_proc`].
    pub(crate) read_only_proc: &'a [PathBuf],
}

/// The writable in-memory folders, as paths inside.
pub(crate) fn in_memory(spec: &Spec) -> Vec<PathBuf> {
    let ours = ["/dev/shm", "/run", "/tmp", "/var/tmp"].map(PathBuf::from).into_iter();
    // Mounted later, so that they hide ours.
    let ours = ours.filter(|path| spec.mounts.iter().all(|mount| mount.target != *path));
    let mut all: Vec<PathBuf> = ours.chain(spec.tmpfs.iter().cloned()).collect();
    all.sort();
    all.dedup();
    all
}

/// The complete command line of bubblewrap.
pub(crate) fn command(program: &Path, arguments: Vec<OsString>, own: &OwnFiles) -> Command {
    let mut command = match &own.filter {
        Some(filter) => {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", OPEN_FILTER, "sh"]).args([filter.as_path(), program]);
            shell.args(["--seccomp", FILTER]);
            shell
        }
        None => Command::new(program),
    };
    command.args(arguments);
    command
}

/// All arguments, including the command line of the first process. The specification has been
/// checked.
pub(crate) fn arguments(spec: &Spec, around: &ArgumentContext<'_>) -> Result<Vec<OsString>, SandboxError> {
    let mut line = Line::default();
    line.add(["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]);
    if spec.network == Network::None {
        line.add(["--unshare-net"]);
    }
    // Not --die-with-parent: a bubblewrap that is killed after creating its child and before
    // releasing it leaves the child waiting forever. Our first process, and everything with it,
    // ends when its control socket closes.
    line.add(["--disable-userns", "--new-session", "--as-pid-1", "--cap-drop", "ALL"]);
    line.add(["--clearenv", "--hostname", "sandbox", "--info-fd", "1"]);

    let size = [spec.limits.memory_bytes, spec.limits.storage_bytes].into_iter().flatten().min();
    match &spec.root {
        Root::Host => host_root(&mut line, size),
        Root::Dir(dir) => dir_root(&mut line, dir, size)?,
    }
    line.add(["--proc", "/proc"]);
    for path in around.read_only_proc {
        line.paths("--ro-bind", path, path);
    }
    for path in KEYS.iter().map(Path::new).filter(|path| path.exists()) {
        line.paths("--ro-bind", &around.own_files.empty, path);
    }
    line.add(["--dev", "/dev"]);
    for (name, source) in &around.own_files.dev {
        line.paths("--dev-bind", source, &Path::new("/dev").join(name));
    }
    line.tmpfs(Path::new("/dev/shm"), "1777", size);
    // Its tmpfs may grow to half of the machine's memory, and no file needs to be created in it.
    line.path("--remount-ro", Path::new("/dev"));
    line.tmpfs(Path::new("/tmp"), "1777", size);
    line.tmpfs(Path::new("/run"), "0755", size);
    etc(&mut line, spec, around.own_files);

    for mount in &spec.mounts {
        line.paths(if mount.writable { "--bind" } else { "--ro-bind" }, &mount.source, &mount.target);
    }
    for path in &spec.tmpfs {
        line.tmpfs(path, "0755", size);
    }

    let own = Path::new(OWN);
    line.tmpfs(own, "0755", None);
    for (source, target) in &around.runtime.binds {
        line.paths("--ro-bind", source, target);
    }
    line.path("--remount-ro", own);
    line.add(["--remount-ro", "/", "--chdir", "/", "--"]);
    line.0.extend(around.runtime.command.iter().cloned());
    Ok(line.0)
}

fn host_root(line: &mut Line, size: Option<u64>) {
    for name in ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"] {
        bind_unchanged(line, &Path::new("/").join(name), name);
    }
    line.tmpfs(Path::new("/var/tmp"), "1777", size);
}

/// A folder or file is bound read-only; a link is recreated.
fn bind_unchanged(line: &mut Line, source: &Path, name: &str) {
    let target = Path::new("/").join(name);
    match fs::symlink_metadata(source) {
        Ok(found) if found.is_symlink() => {
            if let Ok(to) = fs::read_link(source) {
                line.paths("--symlink", &to, &target);
            }
        }
        Ok(found) if found.is_dir() || found.is_file() => line.paths("--ro-bind", source, &target),
        _ => {}
    }
}

fn dir_root(line: &mut Line, dir: &Path, size: Option<u64>) -> Result<(), SandboxError> {
    let fail = |source| SandboxError::Io { action: "read", path: dir.to_owned(), source };
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).map_err(fail)? {
        names.push(entry.map_err(fail)?.file_name());
    }
    names.sort();
    for name in names {
        match name.to_str() {
            Some(name) if REPLACED.contains(&name) => {}
            Some(name) => bind_unchanged(line, &dir.join(name), name),
            None => {
                return Err(SandboxError::Spec(format!(
                    "the root filesystem contains {}, which is not UTF-8",
                    name.display()
                )));
            }
        }
    }
    let is_dir = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    if is_dir(&dir.join("var")) && is_dir(&dir.join("var/tmp")) {
        line.tmpfs(Path::new("/var/tmp"), "1777", size);
    }
    Ok(())
}

fn etc(line: &mut Line, spec: &Spec, own: &OwnFiles) {
    let host = Path::new("/etc");
    if let Root::Dir(dir) = &spec.root {
        // Bound over existing files of the root filesystem only: nothing can be added to a
        // read-only folder.
        for name in ETC_PUBLIC.iter().filter(|_| spec.network == Network::Public) {
            let is_file = fs::symlink_metadata(dir.join("etc").join(name)).is_ok_and(|found| found.is_file());
            if is_file && host.join(name).exists() {
                line.paths("--ro-bind", &host.join(name), &host.join(name));
            }
        }
        return;
    }
    let mut names: Vec<String> = ETC.iter().map(ToString::to_string).collect();
    let entries = fs::read_dir(host).into_iter().flatten().flatten();
    names.extend(
        entries.filter_map(|e| e.file_name().into_string().ok()).filter(|n| n.starts_with(ETC_PREFIX)),
    );
    names.sort();
    for name in &names {
        let source = host.join(name);
        let inside_usr = fs::canonicalize(&source).is_ok_and(|found| found.starts_with("/usr"));
        match fs::read_link(&source) {
            Ok(to) if inside_usr => line.paths("--symlink", &to, &source),
            _ if source.exists() => line.paths("--ro-bind", &source, &source),
            _ => {}
        }
    }
    let public = spec.network == Network::Public;
    for (name, source) in own.etc.iter().filter(|(name, _)| !(public && ETC_PUBLIC.contains(name))) {
        line.paths("--ro-bind", source, &host.join(name));
    }
    for name in ETC_PUBLIC.iter().filter(|name| public && host.join(name).exists()) {
        line.paths("--ro-bind", &host.join(name), &host.join(name));
    }
}
