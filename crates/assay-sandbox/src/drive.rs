//! Runs a command from its start to its end: output, deadline, cancellation.

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::freeze::{Clock, Turn};
use crate::streams::{CHUNK, Stream};
use crate::wire::Ended;
use crate::{Exit, LimitKind};

/// How often cancellation and limits are checked.
const TICK: Duration = Duration::from_millis(50);
/// How long output is still read after the command ended, if something keeps it open.
const DRAIN: Duration = Duration::from_millis(50);
/// Time for a killed process group to end, before its whole sandbox is killed.
const GRACE: Duration = Duration::from_secs(1);
/// Time for a killed sandbox to end, before it is given up (a process in an uninterruptible wait).
const GIVE_UP: Duration = Duration::from_secs(10);

/// A command that was started.
pub(crate) trait Leader {
    /// Readable when the command may have ended.
    fn watch(&self) -> BorrowedFd<'_>;
    /// Whether the command has ended.
    fn state(&mut self) -> State;
    /// Kills its process group.
    fn kill(&mut self);
    /// Kills the sandbox.
    fn kill_sandbox(&mut self);
    /// Freezes or thaws the whole sandbox.
    fn freeze(&mut self, turn: Turn);
    /// A limit that was exceeded since the start, found by polling.
    fn breach(&self) -> Option<LimitKind>;
}

/// The state of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// The command is running.
    Running,
    /// The command ended by itself or was killed.
    Ended(Ended),
    /// The sandbox died while the command ran.
    Gone,
}

/// The result of a command.
#[derive(Debug)]
pub(crate) struct DriveResult {
    /// Never [`State::Running`].
    pub(crate) state: State,
    /// Why it was killed, if we killed it.
    pub(crate) cause: Option<Exit>,
    /// Time from the start.
    pub(crate) wall: Duration,
}

/// Reads the streams until the command has ended. Kills the command at its deadline, on `cancel`,
/// when it exceeds a limit and when a stream's file cannot be written. Freezes it when its clock
/// requires it.
///
/// A background process may keep the streams open; they are read for 50 ms after the end and then
/// abandoned.
pub(crate) fn drive(
    leader: &mut dyn Leader,
    streams: &mut [Stream],
    clock: &mut Clock,
    cancel: &AtomicBool,
) -> DriveResult {
    let start = Instant::now();
    let mut buffer = vec![0; CHUNK];
    let mut killed: Option<Instant> = None;
    let mut sandbox_killed = false;
    let mut cause = None;
    let state = loop {
        let now = Instant::now();
        match killed {
            None => {
                if let Some(turn) = clock.turn() {
                    leader.freeze(turn);
                }
                let why = if cancel.load(Ordering::Relaxed) || clock.is_over() {
                    Some(Some(Exit::Cancelled))
                } else if clock.deadline().is_some_and(|deadline| deadline <= now) {
                    Some(Some(Exit::Deadline))
                } else if let Some(limit) = leader.breach() {
                    Some(Some(Exit::Limit(limit)))
                } else {
                    streams.iter().any(Stream::has_failed).then_some(None)
                };
                if let Some(why) = why {
                    cause = why;
                    killed = Some(now);
                    if let Some(turn) = clock.thaw() {
                        leader.freeze(turn);
                    }
                    leader.kill();
                }
            }
            Some(at) if now > at + GRACE && !sandbox_killed => {
                sandbox_killed = true;
                leader.kill_sandbox();
            }
            Some(at) if now > at + GIVE_UP => break State::Gone,
            Some(_) => {}
        }
        let wait =
            clock.deadline().filter(|_| killed.is_none()).map_or(TICK, |at| at.duration_since(now).min(TICK));
        if wait_and_read(leader, streams, &mut buffer, wait) {
            match leader.state() {
                State::Running => {}
                ended => break ended,
            }
        }
    };
    let wall = start.elapsed();
    // It may have been killed by something else while frozen; what it left behind is thawed.
    if let Some(turn) = clock.thaw() {
        leader.freeze(turn);
    }
    drain(streams, &mut buffer);
    DriveResult { state, cause, wall }
}

/// Waits for data and reads it; true if the leader has to be checked.
fn wait_and_read(leader: &dyn Leader, streams: &mut [Stream], buffer: &mut [u8], wait: Duration) -> bool {
    let watch = leader.watch();
    let mut fds = vec![PollFd::from_borrowed_fd(watch, PollFlags::IN)];
    fds.extend(streams.iter().filter_map(|s| s.fd().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))));
    let ready = wait_for(&mut fds, wait);
    drop(fds);
    // The open ones, in the order of polling.
    let open = streams.iter_mut().filter(|stream| stream.fd().is_some());
    for (stream, _) in open.zip(&ready[1..]).filter(|(_, ready)| **ready) {
        stream.read(buffer);
    }
    ready[0]
}

fn drain(streams: &mut [Stream], buffer: &mut [u8]) {
    let end = Instant::now() + DRAIN;
    loop {
        let now = Instant::now();
        let mut fds: Vec<_> = streams
            .iter()
            .filter_map(|s| s.fd().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)))
            .collect();
        if fds.is_empty() || now >= end {
            return;
        }
        let ready = wait_for(&mut fds, end - now);
        drop(fds);
        let open = streams.iter_mut().filter(|stream| stream.fd().is_some());
        for (stream, _) in open.zip(&ready).filter(|(_, ready)| **ready) {
            stream.read(buffer);
        }
    }
}

/// Which of them are ready, or closed at the other end, within `wait`.
fn wait_for(fds: &mut [PollFd<'_>], wait: Duration) -> Vec<bool> {
    // At least one millisecond, so that no wait is rounded to a busy loop.
    let wait = wait.max(Duration::from_millis(1));
    let timeout = Timespec { tv_sec: wait.as_secs().cast_signed(), tv_nsec: wait.subsec_nanos().into() };
    match poll(fds, Some(&timeout)) {
        Ok(_) => fds.iter().map(|fd| !fd.revents().is_empty()).collect(),
        Err(_) => vec![false; fds.len()],
    }
}

/// Waits until `fd` is readable; false after `wait`.
pub(crate) fn readable(fd: BorrowedFd<'_>, wait: Duration) -> bool {
    let end = Instant::now() + wait;
    loop {
        if wait_for(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], end - Instant::now().min(end))[0] {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
    }
}
