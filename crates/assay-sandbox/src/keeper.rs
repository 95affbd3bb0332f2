//! The thread that a sandbox's lifetime depends on.
//!
//! It starts bubblewrap, which dies with the *thread* that started it (`PR_SET_PDEATHSIG`,
//! prctl(2)): a session can thus be passed between threads, and everything still dies with our
//! process. It also watches the limits that the kernel does not enforce: disk, and without control
//! groups also memory and processes.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use assay_fs::FileKind;
use assay_fs::walk::{self, Item, Next, Sequence, Visitor, walk};
use rustix::fs::fstatvfs;
use rustix::net::SendFlags;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::cgroup::with_our_own;
use crate::drive::readable;
use crate::wire::{Order, send};
use crate::{LimitKind, procs};

/// How often memory and processes are checked.
const MEMORY_TICK: Duration = Duration::from_millis(200);
/// How often disk usage is checked; less often if a check is slow: checks may take a tenth of the
/// time.
const STORAGE_TICK: Duration = Duration::from_millis(500);
/// Time for bubblewrap to end after its sandbox has ended.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What to watch.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// The first process, by its id on the host.
    pub(crate) init: i32,
    /// Memory limit in bytes, for all processes and tmpfs mounts together. Mapped tmpfs pages are
    /// counted twice.
    pub(crate) memory: Option<u64>,
    /// The in-memory folders: their content belongs to no process.
    pub(crate) in_memory: Vec<OwnedFd>,
    /// Maximum number of processes and threads.
    pub(crate) pids: Option<u32>,
    /// Maximum bytes on disk, and the folders in which they are counted.
    pub(crate) storage: Option<(u64, Vec<PathBuf>)>,
}

impl Watch {
    fn is_idle(&self) -> bool {
        self.memory.is_none() && self.pids.is_none() && self.storage.is_none()
    }
}

/// State shared by the thread and the session.
#[derive(Debug)]
struct Shared {
    control: OwnedFd,
    over: AtomicBool,
    /// 0: nothing; 1: memory; 2: disk.
    breach: AtomicU8,
    peak_memory: AtomicU64,
}

enum Task {
    Watch(Watch),
    Finish { kill: bool },
}

/// The session's handle of the thread. Dropping it kills bubblewrap.
#[derive(Debug)]
pub(crate) struct Keeper {
    shared: Arc<Shared>,
    tasks: Sender<Task>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Starts the thread and, from it, `command`. `control` is the host's end of the first
    /// process's socket.
    pub(crate) fn start(label: &str, command: Command, control: OwnedFd) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            control,
            over: AtomicBool::new(false),
            breach: AtomicU8::new(0),
            peak_memory: AtomicU64::new(0),
        });
        let (tasks, inbox) = channel();
        let (started, start) = channel();
        let theirs = Arc::clone(&shared);
        let mut name = label.to_owned();
        // The kernel stores 15 bytes of a thread's name.
        name.truncate(15);
        let thread = std::thread::Builder::new().name(name).stack_size(256 << 10).spawn(move || {
            let mut command = command;
            leave_session_keyring();
            let child = command.spawn();
            // It contains the other ends of our pipes.
            drop(command);
            match child {
                Err(error) => drop(started.send(Err(error))),
                Ok(child) => {
                    drop(started.send(Ok(())));
                    theirs.supervise(child, &inbox);
                }
            }
        })?;
        start.recv().map_err(|_| io::Error::other("the keeper of the sandbox ended"))??;
        Ok(Self { shared, tasks, thread: Some(thread) })
    }

    /// The host's end of the socket.
    pub(crate) fn control(&self) -> &OwnedFd {
        &self.shared.control
    }

    /// Starts watching.
    pub(crate) fn watch(&self, watch: Watch) {
        if !watch.is_idle() {
            // The thread ends only on request.
            let _ = self.tasks.send(Task::Watch(watch));
        }
    }

    /// The limit that was exceeded since the last call with `forget`.
    pub(crate) fn breach(&self, forget: bool) -> Option<LimitKind> {
        let found = if forget {
            self.shared.breach.swap(0, Ordering::Relaxed)
        } else {
            self.shared.breach.load(Ordering::Relaxed)
        };
        match found {
            1 => Some(LimitKind::Memory),
            2 => Some(LimitKind::Storage),
            _ => None,
        }
    }

    /// Maximum memory seen in use, if memory is watched.
    pub(crate) fn peak_memory(&self) -> Option<u64> {
        Some(self.shared.peak_memory.load(Ordering::Relaxed)).filter(|&peak| peak > 0)
    }

    /// Waits until bubblewrap has ended; kills it at once if `kill` is set, else after a timeout.
    pub(crate) fn finish(&mut self, kill: bool) {
        self.shared.over.store(true, Ordering::Relaxed);
        let _ = self.tasks.send(Task::Finish { kill });
        if let Some(thread) = self.thread.take() {
            // After a panic, bubblewrap died with the thread.
            let _ = thread.join();
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.finish(true);
    }
}

impl Shared {
    fn supervise(&self, child: Child, inbox: &Receiver<Task>) {
        let mut watch = Watch::default();
        let mut next_memory = Instant::now();
        let mut next_storage = Instant::now();
        let kill = loop {
            let task = if watch.is_idle() {
                inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                let mut wake = Instant::now() + STORAGE_TICK;
                if watch.memory.is_some() || watch.pids.is_some() {
                    wake = wake.min(next_memory);
                }
                if watch.storage.is_some() {
                    wake = wake.min(next_storage);
                }
                inbox.recv_timeout(wake.saturating_duration_since(Instant::now()))
            };
            match task {
                Ok(Task::Watch(new)) => {
                    watch = new;
                    (next_memory, next_storage) =
                        (Instant::now() + MEMORY_TICK, Instant::now() + STORAGE_TICK);
                }
                Ok(Task::Finish { kill }) => break kill,
                Err(RecvTimeoutError::Disconnected) => break true,
                Err(RecvTimeoutError::Timeout) => {
                    let now = Instant::now();
                    if now >= next_memory && (watch.memory.is_some() || watch.pids.is_some()) {
                        self.check_processes(&watch);
                        next_memory = Instant::now() + MEMORY_TICK.max(now.elapsed() * 9);
                    }
                    if let Some((most, folders)) = watch.storage.as_ref().filter(|_| now >= next_storage) {
                        if used(folders, *most, &self.over) > *most {
                            self.record_breach(LimitKind::Storage);
                        }
                        next_storage = Instant::now() + STORAGE_TICK.max(now.elapsed() * 9);
                    }
                }
            }
        };
        finish(child, kill);
    }

    fn check_processes(&self, watch: &Watch) {
        let tree = procs::tree(watch.init);
        let bytes = tree.pages.saturating_mul(rustix::param::page_size() as u64);
        let bytes = watch.in_memory.iter().map(used_bytes).fold(bytes, u64::saturating_add);
        self.peak_memory.fetch_max(bytes, Ordering::Relaxed);
        if watch.memory.is_some_and(|most| bytes > most) {
            self.record_breach(LimitKind::Memory);
        } else if watch.pids.is_some_and(|most| tree.threads > with_our_own(most)) {
            self.kill_all();
        }
    }

    fn record_breach(&self, limit: LimitKind) {
        self.breach.store(if limit == LimitKind::Memory { 1 } else { 2 }, Ordering::Relaxed);
        self.kill_all();
    }

    fn kill_all(&self) {
        // If the socket is full or closed, the session notices that too, and kills the sandbox.
        let _ = send(self.control.as_fd(), &Order::KillAll, &[], SendFlags::DONTWAIT);
    }
}

/// Bytes in a file system.
fn used_bytes(folder: &OwnedFd) -> u64 {
    fstatvfs(folder)
        .map_or(0, |found| found.f_blocks.saturating_sub(found.f_bfree).saturating_mul(found.f_frsize))
}

/// Gives this thread, and the processes it starts, an empty session keyring in place of the
/// caller's. Keyrings belong to threads: the rest of this process keeps its own.
fn leave_session_keyring() {
    // It fails if the kernel has no keyrings, if an outer sandbox denies them, and if the user has
    // the maximum number. The system call filter, which refuses every use of keyrings, does not
    // depend on it.
    let _ = keyutils::Keyring::join_anonymous_session();
}

fn finish(mut child: Child, kill: bool) {
    let pid = Pid::from_raw(child.id().cast_signed());
    let ended = !kill
        && pid
            .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok())
            .is_some_and(|fd| readable(fd.as_fd(), LAST_WORDS));
    if !ended {
        // It may have ended by itself meanwhile.
        let _ = child.kill();
    }
    let _ = child.wait();
}

/// Bytes on disk of the files beneath these folders; stops counting above `most`.
pub(crate) fn used(folders: &[PathBuf], most: u64, over: &AtomicBool) -> u64 {
    let mut sum = Sum { bytes: 0, most, seen: BTreeSet::new(), over };
    for folder in folders {
        match walk::open(folder) {
            // `failed` never fails.
            Ok(fd) => drop(walk(fd, Sequence::Any, &mut sum)),
            // A file that was mounted directly.
            Err(_) => sum.bytes += std::fs::symlink_metadata(folder).map_or(0, |file| blocks(&file)),
        }
    }
    sum.bytes
}

fn blocks(file: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::blocks(file) * 512
}

struct Sum<'a> {
    bytes: u64,
    most: u64,
    /// Files with several names, which count once.
    seen: BTreeSet<(u64, u64)>,
    over: &'a AtomicBool,
}

impl Visitor for Sum<'_> {
    type Error = std::convert::Infallible;

    fn item(&mut self, item: &Item<'_>) -> Result<Next, Self::Error> {
        let stat = item.stat();
        let several = stat.st_nlink > 1 && item.kind() != FileKind::Directory;
        if !several || self.seen.insert((stat.st_dev, stat.st_ino)) {
            self.bytes += u64::try_from(stat.st_blocks).unwrap_or(0) * 512;
        }
        let enough = self.bytes > self.most || self.over.load(Ordering::Relaxed);
        Ok(if enough { Next::Stop } else { Next::Into })
    }

    fn failed(&mut self, _: &Path, _: io::Error) -> Result<(), Self::Error> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    /// Without the system call filter: the started process has its own session keyring.
    #[test]
    fn keys_of_the_callers_session_are_inaccessible() {
        // Prints the error of `request_key`, or `found`.
        let script = "import ctypes, os, platform\n\
                      libc = ctypes.CDLL(None, use_errno=True)\n\
                      call = {'x86_64': 249, 'aarch64': 218}[platform.machine()]\n\
                      key = libc.syscall(call, b'user', b'assay-test-inherited', None, 0)\n\
                      print('found' if key > 0 else os.strerror(ctypes.get_errno()))";
        let check = || {
            let mut session = keyutils::Keyring::join_anonymous_session().ok()?;
            session.add_key::<keyutils::keytypes::User, _, _>("assay-test-inherited", &b"x"[..]).unwrap();
            let command = || {
                let mut command = Command::new("python3");
                command.args(["-c", script]);
                command
            };
            let here = command().output().unwrap();
            let dir = tempfile::tempdir().unwrap();
            let said = dir.path().join("said");
            let mut started = command();
            started.stdout(std::fs::File::create(&said).unwrap()).stderr(Stdio::null());
            let (control, _theirs) = std::os::unix::net::UnixDatagram::pair().unwrap();
            let mut keeper = Keeper::start("test", started, control.into()).unwrap();
            let end = Instant::now() + Duration::from_mins(1);
            while std::fs::read(&said).unwrap().is_empty() && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(10));
            }
            keeper.finish(false);
            Some((String::from_utf8(here.stdout).unwrap(), std::fs::read_to_string(said).unwrap()))
        };
        // In a separate thread, which has its own keyring.
        match std::thread::spawn(check).join().unwrap() {
            None => println!("skipped: there are no keyrings here"),
            Some((here, there)) => {
                assert_eq!(here, "found\n");
                assert_eq!(there, "Required key not available\n");
            }
        }
    }
}
