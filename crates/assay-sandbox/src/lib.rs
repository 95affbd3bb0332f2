//! Sandboxes in which untrusted commands run.
//!
//! A [`Sandbox`] is a kind of isolation (bubblewrap, none). [`Sandbox::start`] gives a [`Session`]: one process namespace
//! that lives until it is stopped, in which any number of commands run one after another. What a command leaves in the
//! background goes on living between commands and dies with the session. A container of Docker is a [`Session`] too; it
//! is made of an image, and can do more: see `docker`.
//!
//! This crate knows nothing of skills, tasks or agents.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

mod arguments;
mod bubblewrap;
mod cgroup;
mod diff;
#[cfg(feature = "docker")]
pub mod docker;
mod drain;
mod drive;
mod forward;
mod freeze;
mod init;
mod keeper;
mod none;
mod own_files;
mod probe;
mod procs;
mod runtime;
mod seccomp;
mod session;
mod spawn;
mod spec;
mod streams;
mod wire;

pub use bubblewrap::Bubblewrap;
pub use cgroup::sweep_cgroups;
pub use diff::unified_diff;
pub use forward::forward_main;
pub use freeze::FreezeSignal;
pub use init::init_main;
pub use none::NoSandbox;
pub use probe::{Probe, probe_bubblewrap};

/// A kind of isolation.
pub trait Sandbox: Send + Sync {
    /// The name it has in experiments and records: `bubblewrap`, `none`.
    fn kind(&self) -> &'static str;

    /// Starts a namespace. Nothing runs in it until [`Session::exec`].
    fn start(&self, spec: &Spec) -> Result<Box<dyn Session>, SandboxError>;
}

/// A started sandbox. Dropping it kills all that runs in it. It may be handed from thread to thread.
///
/// What a command leaves in the background may hold its output open: it is read for 50 ms after the command's end and
/// counts as the command's; what comes later is read and thrown away, so that the writer lives on.
pub trait Session: Send {
    /// Runs one command to its end, its deadline or `cancel`, and streams its output.
    fn exec(&mut self, command: &Exec, cancel: &AtomicBool) -> Result<ExecOutcome, SandboxError>;

    /// Where a path of the specification lies for the commands that run: itself, where the sandbox has a root of its own;
    /// the source of the mount it is in, for kind `none`.
    fn path(&self, target: &Path) -> PathBuf;

    /// What holds each limit here.
    fn enforcement(&self) -> &Enforcement;

    /// Freezes the sandbox and all commands in it whenever `hold` is set. What cannot be frozen keeps
    /// running.
    fn freeze_on(&mut self, _signal: Arc<dyn FreezeSignal>) {}

    /// Kills every process of the sandbox, at once, and waits until none is left.
    fn stop(self: Box<Self>) -> Result<Usage, SandboxError>;
}

/// What a sandbox is made of. Paths named `target` are absolute paths inside it.
#[derive(Debug, Clone)]
pub struct Spec {
    /// What stands below everything else, read-only.
    pub root: Root,
    /// Host folders and files that are seen inside, in this order.
    pub mounts: Vec<Mount>,
    /// Empty in-memory folders (beside `/tmp`, which always is one unless it is mounted).
    pub tmpfs: Vec<PathBuf>,
    /// Where commands start unless they say otherwise.
    pub workdir: PathBuf,
    /// The whole environment of every command: nothing is inherited.
    pub env: Vec<(String, String)>,
    /// What can be reached.
    pub network: Network,
    /// What it may use.
    pub limits: Limits,
    /// A short name for processes, control groups and messages: `[a-z0-9-]{1,40}`.
    pub label: String,
}

/// What stands below the mounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Root {
    /// An allow-list of the host's own folders: `/usr`, `/bin`, `/lib*`, a few files of `/etc`.
    Host,
    /// A root filesystem in a folder.
    Dir(PathBuf),
}

/// A host path seen inside the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The host's path.
    pub source: PathBuf,
    /// The path inside.
    pub target: PathBuf,
    /// Whether what runs inside may write there.
    pub writable: bool,
}

/// What can be reached from inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// An own loopback and nothing else.
    #[default]
    None,
    /// The host's network, its loopback included.
    Public,
}

/// Upper bounds; `None` leaves one open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Processors' worth of time.
    pub cpus: Option<f64>,
    /// Bytes of memory of all processes together.
    pub memory_bytes: Option<u64>,
    /// Processes and threads together.
    pub pids: Option<u32>,
    /// Bytes on disk under the writable mounts together.
    pub storage_bytes: Option<u64>,
}

/// What holds a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mechanism {
    /// A delegated cgroup of version 2.
    CgroupV2,
    /// A writable cgroup of version 1.
    CgroupV1,
    /// A resource limit of each process.
    Rlimit,
    /// Our own polling, which kills what goes over.
    Watchdog,
    /// No limit was asked for, or nothing here can hold it.
    Nothing,
}

/// What holds each limit of one session. Records have a type of their own for it: their format does not follow this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enforcement {
    /// Processor time.
    pub cpus: Mechanism,
    /// Memory.
    pub memory: Mechanism,
    /// Processes.
    pub pids: Mechanism,
    /// Disk.
    pub storage: Mechanism,
}

/// A command.
#[derive(Debug, Clone)]
pub struct Exec {
    /// Program and arguments; the program is looked up in the session's `PATH`.
    pub argv: Vec<String>,
    /// Added to the session's environment for this command.
    pub env: Vec<(String, String)>,
    /// Instead of the session's working folder.
    pub cwd: Option<PathBuf>,
    /// When it is killed, with its process group. What a [`FreezeSignal`] takes comes on top.
    pub deadline: Option<Instant>,
    /// Where standard output goes.
    pub stdout: Sink,
    /// Where standard error goes; `None`: into standard output, in the order written.
    pub stderr: Option<Sink>,
}

/// Where a stream goes. The stream is always read to its end, so that the writer never blocks on us.
#[derive(Debug, Clone, Default)]
pub struct Sink {
    /// Written as it comes, up to `cap` bytes.
    pub file: Option<PathBuf>,
    /// Most bytes written to `file`.
    pub cap: u64,
    /// Bytes kept in memory from the beginning, and as many from the end.
    pub keep: usize,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// By itself, with this status.
    Code(i32),
    /// By this signal, sent by something other than us.
    Signal(i32),
    /// Killed by us at its deadline.
    Deadline,
    /// Killed by us because the caller cancelled.
    Cancelled,
    /// Killed because a limit was passed: `memory`, `storage`.
    Limit(LimitKind),
}

/// Which limit was passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// Memory.
    Memory,
    /// Disk.
    Storage,
}

/// What a command did.
#[derive(Debug, Clone)]
pub struct ExecOutcome {
    /// How it ended.
    pub exit: Exit,
    /// Its standard output (with standard error where the two were merged).
    pub stdout: Captured,
    /// Its standard error, empty where merged.
    pub stderr: Captured,
    /// From start to end.
    pub wall: Duration,
}

/// What was kept in memory of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// The first bytes.
    pub head: Vec<u8>,
    /// The last bytes, not overlapping `head`; empty unless the stream was longer than `head`.
    pub tail: Vec<u8>,
    /// The length of the whole stream.
    pub total: u64,
}

impl Captured {
    /// The text that was kept, lossily decoded, with a line in the middle that says how many bytes are missing.
    pub fn text(&self) -> String {
        let mut text = String::from_utf8_lossy(&self.head).into_owned();
        let missing = self.total - self.head.len() as u64 - self.tail.len() as u64;
        if missing > 0 {
            text.push_str(&format!("\n[… {missing} bytes left out …]\n"));
        }
        text.push_str(&String::from_utf8_lossy(&self.tail));
        text
    }
}

/// What a session used in all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// User and system time of its processes, in seconds; `None` where nothing counts it.
    pub cpu_seconds: Option<f64>,
    /// Most memory in use at once, in bytes; `None` where nothing counts it.
    pub peak_memory_bytes: Option<u64>,
    /// Seconds in which it stood still; `None` where nothing could have held it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen_seconds: Option<f64>,
}

/// Why a sandbox could not do its work. All of these are infrastructure, never a result of the command inside.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The machine lacks what this kind needs.
    #[error("{what} is not available here: {reason}")]
    Unavailable {
        /// `bubblewrap`.
        what: &'static str,
        /// What was tried and what to do.
        reason: String,
    },
    /// It did not start.
    #[error("the sandbox did not start: {0}")]
    Start(String),
    /// The Docker daemon refused, failed or went away.
    #[error("the Docker daemon cannot {action}: {reason}")]
    Daemon {
        /// `create a container`, …
        action: &'static str,
        /// What it said, or how it went.
        reason: String,
        /// Whether it did not answer, or hung up: it may answer again, and the same may then be tried again.
        gone: bool,
    },
    /// A specification that cannot be met here.
    #[error("cannot create the sandbox: {0}")]
    Spec(String),
    /// It ended while a command was running.
    #[error("the sandbox died while `{command}` ran")]
    Died {
        /// The program.
        command: String,
    },
    /// The host failed us.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// `write`, `create`, …
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

impl SandboxError {
    /// Of an operation on what has no path, only a name for it.
    pub(crate) fn unnamed(action: &'static str, what: &str, source: std::io::Error) -> Self {
        Self::Io { action, path: PathBuf::from(what), source }
    }
}
