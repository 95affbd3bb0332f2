//! The first process of a sandbox, provided by assay, so that the sandbox outlives its commands and
//! ends with its owner.
//!
//! It is process 1 of its namespace. It starts commands as ordered by the host over the socket that
//! is its standard input, reaps every orphan, reports how each command ended, and ends when the
//! host's end of the socket closes. Then the kernel kills whatever is left in the namespace.
//!
//! Commands are hostile. They inherit only their own three streams; they cannot trace this process,
//! because it is not dumpable; and they are killed first when memory runs out, because it raises
//! their score and not its own.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::process::{
    DumpableBehavior, Pid, Resource, Rlimit, Signal, WaitOptions, getrlimit, kill_process_group,
    set_dumpable_behavior, setrlimit, umask, wait,
};

use crate::spawn::{Start, spawn};
use crate::wire::{Answer, Ended, Order, Received, receive, send};

/// Added to the OOM score of commands (of 1000), so that the kernel kills them first when memory
/// runs out.
const OOM_SCORE: i32 = 500;

/// Runs as the first process of a sandbox; returns the exit status.
///
/// A program that is passed to [`crate::Bubblewrap::new`] calls it before anything else if its
/// arguments say so, and exits with the returned status. Standard input must be the host's socket.
pub fn init_main() -> i32 {
    match serve() {
        Ok(()) => 0,
        Err(error) => {
            // If this fails too, there is no other way to report it.
            let _ = writeln!(io::stderr(), "assay: the first process of the sandbox failed: {error}");
            2
        }
    }
}

fn serve() -> io::Result<()> {
    let control = rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?;
    let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    // Opened before this process stops being dumpable: afterwards the file belongs to root.
    let mut oom = OomScore::open();
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    umask(Mode::from_raw_mode(0o022));

    let (children, notice) = UnixStream::pair()?;
    children.set_nonblocking(true)?;
    signal_hook::low_level::pipe::register(signal_hook::consts::SIGCHLD, notice)?;

    let mut running = BTreeMap::new();
    send(control.as_fd(), &Answer::Ready, &[], SendFlags::empty())?;
    loop {
        let mut fds = [PollFd::new(&control, PollFlags::IN), PollFd::new(&children, PollFlags::IN)];
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let (ordered, died) = (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
        if died {
            let mut sink = [0; 64];
            while matches!((&children).read(&mut sink), Ok(n) if n > 0) {}
            reap_children(&mut running, control.as_fd())?;
        }
        if ordered {
            match receive(control.as_fd())? {
                Received::Nothing => {}
                Received::End => return Ok(()),
                Received::Message(order, fds) => {
                    execute_order(order, fds, &mut running, &mut oom, control.as_fd())?;
                }
            }
        }
    }
}

/// Reaps all dead children.
fn reap_children(running: &mut BTreeMap<i32, u64>, control: BorrowedFd<'_>) -> io::Result<()> {
    while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
        let how = match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Ended::Code(code),
            (None, Some(signal)) => Ended::Signal(signal),
            (None, None) => continue,
        };
        if let Some(id) = running.remove(&pid.as_raw_nonzero().get()) {
            send(control, &Answer::Ended { id, how }, &[], SendFlags::empty())?;
        }
    }
    Ok(())
}

fn execute_order(
    order: Order,
    fds: Vec<OwnedFd>,
    running: &mut BTreeMap<i32, u64>,
    oom: &mut Option<OomScore>,
    control: BorrowedFd<'_>,
) -> io::Result<()> {
    match order {
        Order::Setup { nofile, fsize, nproc } => {
            limit(Resource::Core, Some(0));
            limit(Resource::Nofile, Some(nofile));
            limit(Resource::Fsize, fsize);
            limit(Resource::Nproc, nproc);
        }
        Order::Kill { id } => {
            for (&pid, _) in running.iter().filter(|&(_, &other)| other == id) {
                if let Some(group) = Pid::from_raw(pid) {
                    // It has not been reaped, so that its id is still valid; it may be dead
                    // already.
                    let _ = kill_process_group(group, Signal::KILL);
                }
            }
        }
        Order::KillAll => signal_all(Signal::KILL),
        // Not the freezer of a control group: that of version 1 blocks SIGKILL, so that frozen
        // processes would outlive us. Stopped processes can be killed as usual.
        Order::Freeze => signal_all(Signal::STOP),
        Order::Thaw => signal_all(Signal::CONT),
        Order::Exec { id, argv, env, cwd } => {
            let mut fds = fds.into_iter();
            let started = match fds.next() {
                None => Err(126),
                Some(stdout) => {
                    if let Some(oom) = oom {
                        oom.raise();
                    }
                    let started = spawn(Start { argv: &argv, env, cwd: &cwd, stdout, stderr: fds.next() });
                    if let Some(oom) = oom {
                        oom.restore();
                    }
                    started
                }
            };
            match started {
                Ok(child) => {
                    running.insert(child.id().cast_signed(), id);
                }
                Err(code) => {
                    send(control, &Answer::Ended { id, how: Ended::Code(code) }, &[], SendFlags::empty())?;
                }
            }
        }
    }
    Ok(())
}

/// Signals everything except this process, atomically: no process is started meanwhile (kill(2),
/// Linux's `kill_something_info`).
fn signal_all(signal: Signal) {
    // The group "of process 1" is -1 to the kernel: every process that may be signalled, except the
    // caller. There may be none.
    let _ = kill_process_group(Pid::INIT, signal);
}

/// Lowers a resource limit, as far as possible.
fn limit(resource: Resource, value: Option<u64>) {
    if let Some(value) = value {
        let most = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let value = Some(value.min(most));
        // Lowering is always allowed.
        let _ = setrlimit(resource, Rlimit { current: value, maximum: value });
    }
}

/// This process's own score, which its children inherit when they start.
struct OomScore {
    file: File,
    own: i32,
}

impl OomScore {
    fn open() -> Option<Self> {
        let mut file = OpenOptions::new().read(true).write(true).open("/proc/self/oom_score_adj").ok()?;
        let mut text = String::new();
        file.read_to_string(&mut text).ok()?;
        Some(Self { file, own: text.trim().parse().ok()? })
    }

    fn raise(&mut self) {
        self.set(self.own.max(OOM_SCORE));
    }

    fn restore(&mut self) {
        self.set(self.own);
    }

    fn set(&mut self, score: i32) {
        // An unchanged score affects precision, not safety.
        let _ = self
            .file
            .seek(SeekFrom::Start(0))
            .and_then(|_| self.file.write_all(score.to_string().as_bytes()));
    }
}
