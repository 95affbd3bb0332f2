//! A started sandbox of kind `bubblewrap`.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rustix::net::SendFlags;
use rustix::process::{Signal, pidfd_send_signal};

use crate::cgroup::Groups;
use crate::drain::Drain;
use crate::drive::{Leader, State, drive, readable};
use crate::freeze::{Clock, FreezeState, Turn};
use crate::keeper::Keeper;
use crate::spec::check_exec;
use crate::streams::{close_both, open_both};
use crate::wire::{Answer, Ended, Order, Received, receive, send};
use crate::{
    Enforcement, Exec, ExecOutcome, Exit, FreezeSignal, LimitKind, SandboxError, Session, Spec, Usage, procs,
};

/// Time for the processes of a killed sandbox to be gone.
const GONE: Duration = Duration::from_secs(10);
/// A shell's status of a command that was ended by a signal is this plus the signal (POSIX, `sh`,
/// 2.8.2).
const SHELL: i32 = 128;
/// Sent to processes that run out of memory.
const SIGKILL: i32 = 9;
/// Sent to processes that exceed the maximum file size.
const SIGXFSZ: i32 = 25;
/// Clock ticks per second in the kernel's process information (proc(5); fixed at 100 on Linux).
const TICKS: f64 = 100.0;

/// A bubblewrap, its first process, and their control groups.
#[derive(Debug)]
pub(crate) struct BubblewrapSession {
    // Dropped in this order.
    keeper: Keeper,
    groups: Groups,
    drain: Drain,
    handle: OwnedFd,
    init: i32,
    env: BTreeMap<String, String>,
    workdir: PathBuf,
    enforcement: Enforcement,
    limits_storage: bool,
    freeze: FreezeState,
    next: u64,
    dead: bool,
    usage: Option<Usage>,
}

impl BubblewrapSession {
    pub(crate) fn new(
        spec: &Spec,
        keeper: Keeper,
        groups: Groups,
        enforcement: Enforcement,
        init: i32,
        handle: OwnedFd,
    ) -> Self {
        Self {
            keeper,
            groups,
            drain: Drain::default(),
            handle,
            init,
            env: spec.env.iter().cloned().collect(),
            workdir: spec.workdir.clone(),
            enforcement,
            limits_storage: spec.limits.storage_bytes.is_some(),
            freeze: FreezeState::default(),
            next: 0,
            dead: false,
            usage: None,
        }
    }

    /// Kills the first process, and with it, through the kernel, all others; returns when they are
    /// gone.
    fn kill(&mut self) -> Usage {
        if let Some(usage) = self.usage {
            return usage;
        }
        let ticks = self.groups.usage().cpu_seconds.is_none().then(|| procs::tree(self.init).ticks);
        // It may be dead already.
        let _ = pidfd_send_signal(&self.handle, Signal::KILL);
        // The first process has ended only when nothing else is left in its namespace
        // (pid_namespaces(7)).
        let gone = readable(self.handle.as_fd(), GONE);
        self.keeper.finish(!gone);
        let mut usage = self.groups.usage();
        usage.cpu_seconds = usage.cpu_seconds.or(ticks.map(|ticks| ticks as f64 / TICKS));
        usage.peak_memory_bytes = usage.peak_memory_bytes.or(self.keeper.peak_memory());
        usage.frozen_seconds = self.freeze.seconds();
        self.dead = true;
        self.usage = Some(usage);
        usage
    }

    /// How a command ended, if we did not end it.
    fn exit(&self, ended: Ended, out_of_memory: bool) -> Exit {
        let signal = match ended {
            Ended::Signal(signal) => signal,
            Ended::Code(code) => code - SHELL,
        };
        match (signal, ended) {
            (SIGKILL, _) if out_of_memory => Exit::Limit(LimitKind::Memory),
            (SIGXFSZ, _) if self.limits_storage => Exit::Limit(LimitKind::Storage),
            (_, Ended::Signal(signal)) => Exit::Signal(signal),
            (_, Ended::Code(code)) => Exit::Code(code),
        }
    }
}

impl Drop for BubblewrapSession {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Session for BubblewrapSession {
    fn exec(&mut self, command: &Exec, cancel: &AtomicBool) -> Result<ExecOutcome, SandboxError> {
        check_exec(command)?;
        let died = || SandboxError::Died { command: command.argv.first().cloned().unwrap_or_default() };
        if self.dead {
            return Err(died());
        }
        let (mut streams, stdout, stderr) = open_both(command)?;
        let mut env = self.env.clone();
        env.extend(command.env.iter().cloned());
        self.next += 1;
        let order = Order::Exec {
            id: self.next,
            argv: command.argv.clone(),
            env: env.into_iter().collect(),
            cwd: command.cwd.clone().unwrap_or_else(|| self.workdir.clone()),
        };
        self.keeper.breach(true);
        let kills = self.groups.memory_kills();
        let fds: Vec<BorrowedFd<'_>> = [&stdout].into_iter().chain(&stderr).map(AsFd::as_fd).collect();
        if let Err(error) = send(self.keeper.control().as_fd(), &order, &fds, SendFlags::DONTWAIT) {
            if self.is_gone() {
                self.kill();
                return Err(died());
            }
            return Err(SandboxError::unnamed("send an order to", "the sandbox", error));
        }
        drop((stdout, stderr));

        let mut leader = Running { id: self.next, keeper: &self.keeper, handle: &self.handle };
        let mut clock = Clock::start(&self.freeze, command.deadline);
        let driven = drive(&mut leader, &mut streams, &mut clock, cancel);
        self.freeze.frozen += clock.frozen();

        let out_of_memory = self.groups.memory_kills() > kills;
        let breach = self.keeper.breach(false);
        if driven.state == State::Gone {
            self.kill();
        }
        let [stdout, stderr] = close_both(streams, &mut self.drain)?;
        let exit = match (driven.cause, breach, driven.state) {
            (Some(cause), ..) => cause,
            (None, Some(limit), _) => Exit::Limit(limit),
            (None, None, State::Ended(ended)) => self.exit(ended, out_of_memory),
            (None, None, _) if out_of_memory => Exit::Limit(LimitKind::Memory),
            (None, None, _) => return Err(died()),
        };
        Ok(ExecOutcome { exit, stdout, stderr, wall: driven.wall })
    }

    fn path(&self, target: &Path) -> PathBuf {
        target.to_owned()
    }

    fn enforcement(&self) -> &Enforcement {
        &self.enforcement
    }

    fn freeze_on(&mut self, signal: Arc<dyn FreezeSignal>) {
        self.freeze.signal = Some(signal);
    }

    fn stop(mut self: Box<Self>) -> Result<Usage, SandboxError> {
        Ok(self.kill())
    }
}

impl BubblewrapSession {
    fn is_gone(&self) -> bool {
        readable(self.handle.as_fd(), Duration::ZERO)
    }
}

/// The running command.
struct Running<'a> {
    id: u64,
    keeper: &'a Keeper,
    handle: &'a OwnedFd,
}

impl Leader for Running<'_> {
    fn watch(&self) -> BorrowedFd<'_> {
        self.keeper.control().as_fd()
    }

    fn state(&mut self) -> State {
        match receive(self.watch()) {
            Ok(Received::Message(Answer::Ended { id, how }, _)) if id == self.id => State::Ended(how),
            // From a command that was given up, or an incomplete message.
            Ok(Received::Message(..) | Received::Nothing) => State::Running,
            Ok(Received::End) | Err(_) => State::Gone,
        }
    }

    fn kill(&mut self) {
        // If the order cannot be sent, the sandbox is killed one second later.
        let _ = send(self.watch(), &Order::Kill { id: self.id }, &[], SendFlags::DONTWAIT);
    }

    fn kill_sandbox(&mut self) {
        let _ = pidfd_send_signal(self.handle, Signal::KILL);
    }

    fn freeze(&mut self, turn: Turn) {
        let order = if turn == Turn::Freeze { Order::Freeze } else { Order::Thaw };
        // If the order cannot be sent, it keeps running, and its time is counted as usual.
        let _ = send(self.watch(), &order, &[], SendFlags::DONTWAIT);
    }

    fn breach(&self) -> Option<LimitKind> {
        self.keeper.breach(false)
    }
}
