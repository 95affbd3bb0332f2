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

/// What is seen of the host's `/etc`: nothing that names users, machines or keys. Names that do not exist are skipped.
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
/// Likewise, every name that begins so.
const ETC_PREFIX: &str = "python3";
/// Of `/etc`, only where the host's network is reached.
const ETC_PUBLIC: [&str; 2] = ["hosts", "resolv.conf"];
/// What a root filesystem has that is replaced by our own.
const REPLACED: [&str; 6] = ["proc", "dev", "sys", "run", "tmp", "oldroot"];

/// Files of `/proc` that list kernel keys of other users and sessions: namespaces do not isolate them.
const KEYS: [&str; 2] = ["/proc/keys", "/proc/key-users"];

/// The descriptor at which bubblewrap finds the system call filter.
const FILTER: &str = "9";
/// Opens the file named first at that descriptor, and becomes the program named second. A descriptor beyond the three streams cannot be
/// handed to a single child without unsafe code: opened here, it would reach every process that another thread starts meanwhile.
const OPEN_FILTER: &str = "filter=$1; shift; exec \"$@\" 9<\"$filter\"";

/// The parts of `/proc` in which something can be written. For a caller who is root, what runs inside is the owner of
/// the machine's files to the kernel, though it has no capability: `/proc/sys/kernel/core_pattern` alone would hand it
/// the host, and bubblewrap leaves it open.
pub(crate) fn writable_proc() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for name in ["acpi", "driver", "fs", "mtrr", "pressure", "scsi", "sys", "sysrq-trigger"] {
        let path = Path::new("/proc").join(name);
        if name == "sys" && path.exists() || holds_writable(&path, 4) {
            found.push(path);
        }
    }
    found
}

fn holds_writable(path: &Path, depth: usize) -> bool {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => found.permissions().mode() & 0o222 != 0,
        Ok(found) if found.is_dir() && depth > 0 => fs::read_dir(path)
            .is_ok_and(|entries| entries.flatten().any(|entry| holds_writable(&entry.path(), depth - 1))),
        _ => false,
    }
}

/// A command line in the making.
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

/// What the arguments depend on beside the specification.
pub(crate) struct ArgumentContext<'a> {
    pub(crate) own_files: &'a OwnFiles,
    pub(crate) runtime: &'a Runtime,
    /// From [`writable_proc`].
    pub(crate) read_only_proc: &'a [PathBuf],
}

/// The in-memory folders that can be written to, as paths inside.
pub(crate) fn in_memory(spec: &Spec) -> Vec<PathBuf> {
    let ours = ["/dev/shm", "/run", "/tmp", "/var/tmp"].map(PathBuf::from).into_iter();
    // Mounted afterwards, so that they hide ours.
    let ours = ours.filter(|path| spec.mounts.iter().all(|mount| mount.target != *path));
    let mut all: Vec<PathBuf> = ours.chain(spec.tmpfs.iter().cloned()).collect();
    all.sort();
    all.dedup();
    all
}

/// The whole command line that starts bubblewrap.
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

/// All arguments, the command line of the first process included. The specification was checked before.
pub(crate) fn arguments(spec: &Spec, around: &ArgumentContext<'_>) -> Result<Vec<OsString>, SandboxError> {
    let mut line = Line::default();
    line.add(["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]);
    if spec.network == Network::None {
        line.add(["--unshare-net"]);
    }
    // Not --die-with-parent: a bubblewrap that is killed between making its child and letting it go on leaves the child waiting
    // for ever. Our first process ends by itself, and all with it, when its control socket closes.
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
    // Its tmpfs may grow to half of the machine's memory, and nothing needs to create files in it.
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
        as_it_is(line, &Path::new("/").join(name), name);
    }
    line.tmpfs(Path::new("/var/tmp"), "1777", size);
}

/// A folder or file is bound read-only; a link is made anew.
fn as_it_is(line: &mut Line, source: &Path, name: &str) {
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
            Some(name) => as_it_is(line, &dir.join(name), name),
            None => {
                return Err(SandboxError::Spec(format!(
                    "the root filesystem holds {}, not UTF-8",
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
        // Bound over files of the root filesystem, where it has them: nothing can be added to what is read-only.
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
