//! Kind `bubblewrap`: namespaces created by bubblewrap, with a first process of our own.
//!
//! Each session is one bubblewrap and one process namespace. Bubblewrap gets exactly three
//! descriptors: its standard input is the first process's socket, its standard output reports that
//! process's id, and its standard error is read if it does not start. Processes that other threads
//! start at the same time therefore inherit no descriptor of the sandbox.

use std::env;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, MemfdFlags, Mode, OFlags, memfd_create, openat};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::arguments::{ArgumentContext, arguments, command, in_memory, writable_proc};
use crate::cgroup::{Controller, Groups, Hierarchies, with_our_own};
use crate::drive::readable;
use crate::keeper::{Keeper, Watch};
use crate::own_files::{OwnFiles, prepare};
use crate::runtime::Runtime;
use crate::session::BubblewrapSession;
use crate::spec::check;
use crate::streams::pipe;
use crate::wire::{Answer, Order, Received, receive, send};
use crate::{Enforcement, Mechanism, Root, Sandbox, SandboxError, Session, Spec};

/// Timeout for starting a sandbox, even on a machine under heavy load.
const START: Duration = Duration::from_secs(30);
/// Maximum open files of a process inside.
const NOFILE: u64 = 65_536;

/// Sandboxes created by bubblewrap 0.8.0 or newer.
///
/// Processes inside run with the caller's user id and see no other; they have no capabilities and
/// cannot create namespaces. If the caller is root, their files in writable mounts belong to root,
/// set-user-id bits included. Keep writable mounts beneath folders that others cannot enter, copy
/// files out of them with [`assay_fs::copy_tree`], or do not run as root.
#[derive(Debug)]
pub struct Bubblewrap {
    init: PathBuf,
    init_args: Vec<String>,
    hierarchies: OnceLock<Hierarchies>,
    without_cgroups: bool,
    host_runtime: OnceLock<Runtime>,
    foreign_runtime: OnceLock<Runtime>,
    writable_proc: OnceLock<Vec<PathBuf>>,
}

impl Bubblewrap {
    /// `init init_args…` is a command line that calls [`crate::init_main`]: usually the running
    /// program itself. The file must not change while sessions are started.
    pub fn new(init: PathBuf, init_args: Vec<String>) -> Self {
        Self {
            init,
            init_args,
            hierarchies: OnceLock::new(),
            without_cgroups: false,
            host_runtime: OnceLock::new(),
            foreign_runtime: OnceLock::new(),
            writable_proc: OnceLock::new(),
        }
    }

    /// Uses no control groups even if it could: limits are then enforced by polling and by resource
    /// limits.
    #[must_use]
    pub fn without_cgroups(mut self) -> Self {
        self.without_cgroups = true;
        self
    }

    fn hierarchies(&self) -> &Hierarchies {
        self.hierarchies
            .get_or_init(|| if self.without_cgroups { Hierarchies::default() } else { Hierarchies::find() })
    }

    fn runtime(&self, root: &Root) -> Result<&Runtime, SandboxError> {
        let (cell, foreign) = match root {
            Root::Host => (&self.host_runtime, false),
            Root::Dir(_) => (&self.foreign_runtime, true),
        };
        if let Some(runtime) = cell.get() {
            return Ok(runtime);
        }
        let found = Runtime::find(&self.init, &self.init_args, foreign)?;
        Ok(cell.get_or_init(|| found))
    }

    fn line(&self, spec: &Spec, own_files: &OwnFiles) -> Result<Vec<std::ffi::OsString>, SandboxError> {
        let around = ArgumentContext {
            own_files,
            runtime: self.runtime(&spec.root)?,
            read_only_proc: self.writable_proc.get_or_init(writable_proc),
        };
        arguments(spec, &around)
    }
}

impl Sandbox for Bubblewrap {
    fn kind(&self) -> &'static str {
        "bubblewrap"
    }

    fn start(&self, spec: &Spec) -> Result<Box<dyn Session>, SandboxError> {
        check(spec)?;
        let program = find_program().ok_or_else(not_found)?;
        let own_files = prepare()?;
        let line = self.line(spec, &own_files)?;

        let system = |source| SandboxError::Io { action: "open", path: PathBuf::from("a socket"), source };
        let (control, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .map_err(|error| system(error.into()))?;
        // A file instead of a pipe: bubblewrap must not end because nothing reads it, before it has
        // released its child.
        let info = memfd_create("info", MemfdFlags::CLOEXEC)
            .map(File::from)
            .map_err(|error| system(error.into()))?;
        let info_end = info.try_clone().map_err(system)?;
        let (complaint, complaint_end) = pipe().map_err(system)?;
        let mut command = command(&program, line, &own_files);
        command.env_clear().current_dir("/");
        command.stdin(Stdio::from(theirs)).stdout(info_end).stderr(complaint_end);
        let keeper = Keeper::start(&spec.label, command, control)
            .map_err(|error| SandboxError::Start(format!("{}: {error}", program.display())))?;

        let mut groups = self.hierarchies().create(&spec.label, &spec.limits);
        let pid = wait_until_ready(&keeper, &info, complaint)?;
        // It is alive and ours: only its own parent could have reaped it and freed its id.
        let fail =
            |error: rustix::io::Errno| SandboxError::Start(format!("its first process exited: {error}"));
        let handle = Pid::from_raw(pid).ok_or(rustix::io::Errno::SRCH).map_err(fail)?;
        let handle = pidfd_open(handle, PidfdFlags::empty()).map_err(fail)?;
        // Before anything else runs in it: all later processes descend from it.
        groups.add_process(pid);
        let enforcement = enforce(spec, &keeper, &groups, pid)?;
        Ok(Box::new(BubblewrapSession::new(spec, keeper, groups, enforcement, pid, handle)))
    }
}

/// Sends the resource limits, starts the watch, and returns what enforces each limit.
fn enforce(spec: &Spec, keeper: &Keeper, groups: &Groups, init: i32) -> Result<Enforcement, SandboxError> {
    let limits = &spec.limits;
    let hold = |asked: bool, controller, otherwise| match (asked, groups.mechanism_of(controller)) {
        (false, _) => Mechanism::Nothing,
        (true, Some(mechanism)) => mechanism,
        (true, None) => otherwise,
    };
    // The kernel does not limit the number of root's processes (setrlimit(2), RLIMIT_NPROC).
    let otherwise =
        if rustix::process::geteuid().is_root() { Mechanism::Watchdog } else { Mechanism::Rlimit };
    let enforcement = Enforcement {
        cpus: hold(limits.cpus.is_some(), Controller::Cpu, Mechanism::Nothing),
        memory: hold(limits.memory_bytes.is_some(), Controller::Memory, Mechanism::Watchdog),
        pids: hold(limits.pids.is_some(), Controller::Pids, otherwise),
        storage: if limits.storage_bytes.is_some() { Mechanism::Watchdog } else { Mechanism::Nothing },
    };
    let setup = Order::Setup {
        nofile: NOFILE,
        fsize: limits.storage_bytes,
        nproc: limits.pids.filter(|_| enforcement.pids == Mechanism::Rlimit).map(with_our_own),
    };
    send(keeper.control().as_fd(), &setup, &[], SendFlags::DONTWAIT)
        .map_err(|error| SandboxError::Start(format!("its first process does not respond: {error}")))?;
    let memory = limits.memory_bytes.filter(|_| enforcement.memory == Mechanism::Watchdog);
    keeper.watch(Watch {
        init,
        memory,
        in_memory: if memory.is_some() { open_in_memory(spec, init) } else { Vec::new() },
        pids: limits.pids.filter(|_| enforcement.pids == Mechanism::Watchdog),
        storage: limits.storage_bytes.map(|most| (most, writable_folders(spec))),
    });
    Ok(enforcement)
}

/// Opens the in-memory folders of a sandbox in which only the first process runs: later, a path
/// could lead elsewhere.
fn open_in_memory(spec: &Spec, init: i32) -> Vec<OwnedFd> {
    let root = PathBuf::from(format!("/proc/{init}/root"));
    let open = |path: &PathBuf| {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = openat(CWD, root.join(path.strip_prefix("/").ok()?), flags, Mode::empty()).ok()?;
        // A root filesystem of the caller may have no such folder in memory.
        assay_fs::is_open_in_memory(&folder).unwrap_or(false).then_some(folder)
    };
    in_memory(spec).iter().filter_map(open).collect()
}

/// The sources of the writable mounts, none beneath another.
fn writable_folders(spec: &Spec) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = spec
        .mounts
        .iter()
        .filter(|mount| mount.writable)
        .filter_map(|mount| mount.source.canonicalize().ok())
        .collect();
    folders.sort();
    folders.dedup();
    let all = folders.clone();
    folders.retain(|folder| !all.iter().any(|other| folder != other && folder.starts_with(other)));
    folders
}

/// Waits for the first process to accept orders; returns its id on the host.
fn wait_until_ready(keeper: &Keeper, info: &File, complaint: OwnedFd) -> Result<i32, SandboxError> {
    let end = Instant::now() + START;
    let control = keeper.control().as_fd();
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let answer = if readable(control, left) { receive::<Answer>(control) } else { Ok(Received::End) };
        match answer {
            Ok(Received::Message(Answer::Ready, _)) => break,
            Ok(Received::Nothing) => {}
            _ => return Err(SandboxError::Start(reason(complaint, left.is_zero()))),
        }
    }
    // Bubblewrap wrote this before it released the first process.
    let mut text = vec![0; 4 << 10];
    let length = info.read_at(&mut text, 0).unwrap_or_default();
    let text = String::from_utf8_lossy(&text[..length]);
    child_pid(&text).ok_or_else(|| SandboxError::Start(format!("unexpected output of bubblewrap: {text:?}")))
}

/// What bubblewrap, or the first process, wrote to its standard error.
fn reason(complaint: OwnedFd, late: bool) -> String {
    let mut text = Vec::new();
    // The writer has ended or is ending; all its output is in the pipe.
    readable(complaint.as_fd(), Duration::from_millis(200));
    let _ = File::from(complaint).take(8 << 10).read_to_end(&mut text);
    let text = String::from_utf8_lossy(&text);
    match (text.trim(), late) {
        ("", true) => format!("no response for {} seconds", START.as_secs()),
        ("", false) => "bubblewrap exited without an error message".to_owned(),
        (text, _) => text.to_owned(),
    }
}

/// Parses `"child-pid": 17` from the output of `--info-fd`.
fn child_pid(text: &str) -> Option<i32> {
    #[derive(serde::Deserialize)]
    struct Info {
        #[serde(rename = "child-pid")]
        child_pid: i32,
    }
    serde_json::from_str::<Info>(text).ok().map(|info| info.child_pid).filter(|&pid| pid > 0)
}

/// Finds bubblewrap in the `PATH`.
pub(crate) fn find_program() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let usable =
        |program: &PathBuf| rustix::fs::access(program.as_path(), rustix::fs::Access::EXEC_OK).is_ok();
    env::split_paths(&path).filter(|dir| dir.is_absolute()).map(|dir| dir.join("bwrap")).find(usable)
}

pub(crate) fn not_found() -> SandboxError {
    SandboxError::Unavailable {
        what: "bubblewrap",
        reason: "no `bwrap` in the PATH (hint: `apt-get install bubblewrap`)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_id_of_the_child() {
        for (text, expected) in [
            ("{\n    \"child-pid\": 17,\n    \"ipc-namespace\": 4026532180\n}\n", Some(17)),
            ("{\"child-pid\": -1}", None),
            ("{\"child-pid\"", None),
            ("", None),
        ] {
            assert_eq!(child_pid(text), expected, "{text}");
        }
    }
}
