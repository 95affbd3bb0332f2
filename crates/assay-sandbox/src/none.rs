//! Kind `none`: no isolation at all.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::drain::Drain;
use crate::drive::{Leader, State, drive};
use crate::freeze::{Clock, FreezeState, Turn};
use crate::spawn::{Start, spawn};
use crate::spec::{check, check_exec, on_the_host};
use crate::streams::{close_both, open_both};
use crate::wire::Ended;
use crate::{
    Enforcement, Exec, ExecOutcome, Exit, FreezeSignal, LimitKind, Mechanism, Sandbox, SandboxError, Session,
    Spec, Usage, procs,
};
use assay_fs::remove_tree;

/// No isolation: commands run on the host, as the calling user, and can do everything that user
/// can.
///
/// Only the environment and the working directory are as specified. Mounts are not created:
/// [`Session::path`] returns the paths of their targets. An in-memory folder is a new one on disk;
/// `/tmp` is the host's. Root filesystem, network and limits are ignored. A command and its process
/// group are killed at its end; a process that leaves the group, or outlives us when we are killed,
/// keeps running.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSandbox;

impl Sandbox for NoSandbox {
    fn kind(&self) -> &'static str {
        "none"
    }

    fn start(&self, spec: &Spec) -> Result<Box<dyn Session>, SandboxError> {
        check(spec)?;
        let mut mounts: Vec<_> = spec.mounts.iter().map(|m| (m.target.clone(), m.source.clone())).collect();
        let mut own = None;
        for (n, target) in spec.tmpfs.iter().enumerate().filter(|(_, target)| *target != Path::new("/tmp")) {
            let base = match &own {
                Some(base) => base,
                None => own.insert(private_folder()?),
            };
            let dir = base.join(n.to_string());
            create_dir(&dir)?;
            mounts.push((target.clone(), dir));
        }
        Ok(Box::new(NoSession {
            mounts,
            own,
            env: spec.env.iter().cloned().collect(),
            workdir: spec.workdir.clone(),
            groups: Vec::new(),
            drain: Drain::default(),
            freeze: FreezeState::default(),
        }))
    }
}

fn private_folder() -> Result<PathBuf, SandboxError> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let name = format!("assay-none-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let dir = std::env::temp_dir().join(name);
    create_dir(&dir)?;
    Ok(dir)
}

fn create_dir(dir: &Path) -> Result<(), SandboxError> {
    let made = DirBuilder::new().mode(0o700).create(dir);
    made.map_err(|source| SandboxError::Io { action: "create", path: dir.to_owned(), source })
}

const NOTHING: Enforcement = Enforcement {
    cpus: Mechanism::Nothing,
    memory: Mechanism::Nothing,
    pids: Mechanism::Nothing,
    storage: Mechanism::Nothing,
};

#[derive(Debug)]
struct NoSession {
    mounts: Vec<(PathBuf, PathBuf)>,
    /// The parent of the in-memory folders.
    own: Option<PathBuf>,
    env: BTreeMap<String, String>,
    workdir: PathBuf,
    /// Process groups that had members when their command ended.
    groups: Vec<i32>,
    drain: Drain,
    freeze: FreezeState,
}

impl NoSession {
    fn clean(&mut self) -> Result<(), SandboxError> {
        let processes = if self.groups.is_empty() { BTreeMap::new() } else { procs::all() };
        // Read from `/proc`: a session that was started outside our PID namespace has the id 0,
        // which `getsid` of `rustix` does not accept.
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let session = processes.get(&own).map(|stat| stat.session);
        for group in self.groups.drain(..) {
            // The id may have been reused, but then not within our own session.
            let ours = |stat: &procs::Stat| stat.group == group && Some(stat.session) == session;
            if let Some(leader) = Pid::from_raw(group).filter(|_| processes.values().any(ours)) {
                let _ = kill_process_group(leader, Signal::KILL);
            }
        }
        match self.own.take() {
            Some(own) => remove_tree(&own).map_err(|error| SandboxError::Io {
                action: "remove",
                path: own,
                source: std::io::Error::other(error),
            }),
            None => Ok(()),
        }
    }
}

impl Drop for NoSession {
    fn drop(&mut self) {
        // Leftovers in a temporary folder are harmless.
        let _ = self.clean();
    }
}

impl Session for NoSession {
    fn exec(&mut self, command: &Exec, cancel: &AtomicBool) -> Result<ExecOutcome, SandboxError> {
        check_exec(command)?;
        let (mut streams, stdout, stderr) = open_both(command)?;
        let mut env = self.env.clone();
        env.extend(command.env.iter().cloned());
        let cwd = self.path(command.cwd.as_deref().unwrap_or(&self.workdir));
        let started =
            spawn(Start { argv: &command.argv, env: env.into_iter().collect(), cwd: &cwd, stdout, stderr });
        let mut leader = Running::new(started)?;
        let mut clock = Clock::start(&self.freeze, command.deadline);
        let driven = drive(&mut leader, &mut streams, &mut clock, cancel);
        self.freeze.frozen += clock.frozen();
        if let Some(group) = leader.pid().filter(|&pid| rustix::process::test_kill_process_group(pid).is_ok())
        {
            self.groups.push(group.as_raw_nonzero().get());
        }
        let [stdout, stderr] = close_both(streams, &mut self.drain)?;
        let exit = match (driven.cause, driven.state) {
            (Some(cause), _) => cause,
            (None, State::Ended(Ended::Code(code))) => Exit::Code(code),
            (None, State::Ended(Ended::Signal(signal))) => Exit::Signal(signal),
            (None, _) => {
                return Err(SandboxError::Died {
                    command: command.argv.first().cloned().unwrap_or_default(),
                });
            }
        };
        Ok(ExecOutcome { exit, stdout, stderr, wall: driven.wall })
    }

    fn path(&self, target: &Path) -> PathBuf {
        on_the_host(target, &self.mounts).unwrap_or_else(|| target.to_owned())
    }

    fn enforcement(&self) -> &Enforcement {
        &NOTHING
    }

    fn freeze_on(&mut self, signal: Arc<dyn FreezeSignal>) {
        self.freeze.signal = Some(signal);
    }

    fn stop(mut self: Box<Self>) -> Result<Usage, SandboxError> {
        self.clean()?;
        Ok(Usage { frozen_seconds: self.freeze.seconds(), ..Usage::default() })
    }
}

/// The running command, or the status of one that did not start.
struct Running {
    child: Result<Child, i32>,
    /// Readable when it has ended.
    handle: OwnedFd,
}

impl Running {
    fn new(started: Result<Child, i32>) -> Result<Self, SandboxError> {
        let handle = match &started {
            Ok(child) => Pid::from_raw(child.id().cast_signed())
                .ok_or(rustix::io::Errno::SRCH)
                .and_then(|pid| pidfd_open(pid, PidfdFlags::empty())),
            // Nothing to wait for: the end of a file is always readable.
            Err(_) => fs::File::open("/dev/null").map(OwnedFd::from).map_err(|_| rustix::io::Errno::NOENT),
        };
        match handle {
            Ok(handle) => Ok(Self { child: started, handle }),
            Err(error) => {
                if let Ok(mut child) = started {
                    let _ = child.kill();
                    let _ = child.wait();
                }
                Err(SandboxError::unnamed("watch", "the command", error.into()))
            }
        }
    }

    fn pid(&self) -> Option<Pid> {
        self.child.as_ref().ok().and_then(|child| Pid::from_raw(child.id().cast_signed()))
    }
}

impl Leader for Running {
    fn watch(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    fn state(&mut self) -> State {
        let child = match &mut self.child {
            Err(code) => return State::Ended(Ended::Code(*code)),
            Ok(child) => child,
        };
        match child.try_wait() {
            Ok(None) => State::Running,
            Ok(Some(status)) => State::Ended(match (status.code(), status.signal()) {
                (Some(code), _) => Ended::Code(code),
                (None, signal) => Ended::Signal(signal.unwrap_or_default()),
            }),
            Err(_) => State::Gone,
        }
    }

    fn kill(&mut self) {
        if let Some(pid) = self.pid() {
            // It has not been reaped, so that its id is still valid.
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }

    fn kill_sandbox(&mut self) {
        self.kill();
    }

    fn freeze(&mut self, turn: Turn) {
        if let Some(pid) = self.pid() {
            let signal = if turn == Turn::Freeze { Signal::STOP } else { Signal::CONT };
            let _ = kill_process_group(pid, signal);
        }
    }

    fn breach(&self) -> Option<LimitKind> {
        None
    }
}
