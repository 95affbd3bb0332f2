//! Sandboxes for untrusted commands.
//!
//! A [`Sandbox`] is a kind of isolation (bubblewrap, none). [`Sandbox::start`] returns a
//! [`Session`]: one process namespace that lives until it is stopped, in which any number of
//! commands run one after another. Background processes of a command live on between commands and
//! die with the session. A Docker container is a [`Session`] too; it is created from an image, and
//! has more features: see `docker`.
//!
//! This crate does not know skills, tasks or agents.

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
pub use cgroup::remove_stale_cgroups;
pub use diff::{changed_lines, unified_diff};
pub use forward::forward_main;
pub use freeze::FreezeSignal;
pub use init::init_main;
pub use none::NoSandbox;
pub use probe::{Probe, probe_bubblewrap};

/// A kind of isolation.
pub trait Sandbox: Send + Sync {
    /// Its name in experiments and records: `bubblewrap`, `none`.
    fn kind(&self) -> &'static str;

    /// Starts a namespace. Nothing runs in it until [`Session::exec`].
    fn start(&self, spec: &Spec) -> Result<Box<dyn Session>, SandboxError>;
}

/// A started sandbox. Dropping it kills all its processes. It may be passed between threads.
///
/// A background process of a command may keep its output open: it is read for 50 ms after the
/// command's end and counts as the command's; later output is read and discarded, so that the
/// writer is not killed.
pub trait Session: Send {
    /// Runs one command to its end, its deadline or `cancel`, and streams its output.
    fn exec(&mut self, command: &Exec, cancel: &AtomicBool) -> Result<ExecOutcome, SandboxError>;

    /// The path at which commands see a path of the specification: itself, if the sandbox has its
    /// own root; the path in the mount's source, for kind `none`.
    fn path(&self, target: &Path) -> PathBuf;

    /// What enforces each limit.
    fn enforcement(&self) -> &Enforcement;

    /// Freezes the sandbox and all commands in it whenever the signal is set. What cannot be frozen
    /// keeps running.
    fn freeze_on(&mut self, _signal: Arc<dyn FreezeSignal>) {}

    /// Kills every process of the sandbox at once, and waits until none is left.
    fn stop(self: Box<Self>) -> Result<Usage, SandboxError>;
}

/// The specification of a sandbox. Paths named `target` are absolute paths inside it.
#[derive(Debug, Clone)]
pub struct Spec {
    /// The root below everything else, read-only.
    pub root: Root,
    /// Host folders and files that are visible inside, in this order.
    pub mounts: Vec<Mount>,
    /// Empty in-memory folders (besides `/tmp`, which is always one unless it is mounted).
    pub tmpfs: Vec<PathBuf>,
    /// The default working directory of commands.
    pub workdir: PathBuf,
    /// The whole environment of every command: nothing is inherited.
    pub env: Vec<(String, String)>,
    /// What can be reached.
    pub network: Network,
    /// The resource limits.
    pub limits: Limits,
    /// A short name for processes, control groups and messages: `[a-z0-9-]{1,40}`.
    pub label: String,
}

/// What is below the mounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Root {
    /// An allow-list of the host's own folders: `/usr`, `/bin`, `/lib*`, a few files of `/etc`.
    Host,
    /// A root filesystem in a folder.
    Dir(PathBuf),
}

/// A host path that is visible inside the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The host's path.
    pub source: PathBuf,
    /// The path inside.
    pub target: PathBuf,
    /// Whether processes inside may write there.
    pub writable: bool,
}

/// What can be reached from inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// Only its own loopback.
    #[default]
    None,
    /// The host's network, its loopback included.
    Public,
}

/// Upper bounds; `None` sets no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Number of CPUs.
    pub cpus: Option<f64>,
    /// Bytes of memory of all processes together.
    pub memory_bytes: Option<u64>,
    /// Processes and threads together.
    pub pids: Option<u32>,
    /// Bytes on disk under the writable mounts together.
    pub storage_bytes: Option<u64>,
}

/// The mechanism that enforces a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mechanism {
    /// A delegated cgroup of version 2.
    CgroupV2,
    /// A writable cgroup of version 1.
    CgroupV1,
    /// A resource limit of each process.
    Rlimit,
    /// Our own polling, which kills processes above the limit.
    Watchdog,
    /// No limit was requested, or none can be enforced here.
    Nothing,
}

/// The mechanism of each limit of one session. Records have a separate type for it: their format is
/// independent of this one.
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
    /// In place of the session's working directory.
    pub cwd: Option<PathBuf>,
    /// When it is killed, with its process group. Freeze time of a [`FreezeSignal`] extends it.
    pub deadline: Option<Instant>,
    /// Where standard output goes.
    pub stdout: Sink,
    /// Where standard error goes; `None`: to standard output, in the order written.
    pub stderr: Option<Sink>,
}

/// Where a stream goes. The stream is always read to its end, so that the writer never blocks.
#[derive(Debug, Clone, Default)]
pub struct Sink {
    /// Written as received, up to `cap` bytes.
    pub file: Option<PathBuf>,
    /// Maximum bytes written to `file`.
    pub cap: u64,
    /// Bytes kept in memory from the beginning, and as many from the end.
    pub keep: usize,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// It ended by itself, with this status.
    Code(i32),
    /// It was ended by this signal, which we did not send.
    Signal(i32),
    /// We killed it at its deadline.
    Deadline,
    /// We killed it because the caller cancelled.
    Cancelled,
    /// It was killed because it exceeded a limit: `memory`, `storage`.
    Limit(LimitKind),
}

/// The limit that was exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// Memory.
    Memory,
    /// Disk.
    Storage,
}

/// The result of a command.
#[derive(Debug, Clone)]
pub struct ExecOutcome {
    /// How it ended.
    pub exit: Exit,
    /// Its standard output (with standard error if merged).
    pub stdout: Captured,
    /// Its standard error; empty if merged.
    pub stderr: Captured,
    /// Time from start to end.
    pub wall: Duration,
}

/// The part of a stream that was kept in memory.
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
    /// The kept text, lossily decoded, with a line in the middle that gives the number of missing
    /// bytes.
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

/// The total usage of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// User and system time of its processes, in seconds; `None` if nothing counts it.
    pub cpu_seconds: Option<f64>,
    /// Maximum memory in use at once, in bytes; `None` if nothing counts it.
    pub peak_memory_bytes: Option<u64>,
    /// Seconds for which it was frozen; `None` if nothing could freeze it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen_seconds: Option<f64>,
}

/// Why a sandbox failed. All of these are infrastructure errors, never a result of the command
/// inside.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The machine lacks a requirement of this kind.
    #[error("{what} is not available here: {reason}")]
    Unavailable {
        /// `bubblewrap`.
        what: &'static str,
        /// What was tried, and what to do.
        reason: String,
    },
    /// It did not start.
    #[error("the sandbox did not start: {0}")]
    Start(String),
    /// The Docker daemon refused, failed or disconnected.
    #[error("the Docker daemon cannot {action}: {reason}")]
    Daemon {
        /// `create a container`, …
        action: &'static str,
        /// The daemon's message, or the connection error.
        reason: String,
        /// Whether it did not answer, or disconnected: retrying may succeed.
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
    /// An error of the host.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// `write`, `create`, …
        action: &'static str,
        /// The path.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
}

impl SandboxError {
    /// For an operation on an object without a path.
    pub(crate) fn unnamed(action: &'static str, what: &str, source: std::io::Error) -> Self {
        Self::Io { action, path: PathBuf::from(what), source }
    }
}
