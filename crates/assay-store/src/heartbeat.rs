//! Renewal of a process's leases.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{Timespec, Timestamps, UTIME_NOW, futimens};

/// How long a lease holds without being touched: long enough for a busy file server, short enough
/// that a lost machine delays a run little.
const DURATION: Duration = Duration::from_mins(2);
/// Touches within the duration: several may fail.
const TOUCHES: u32 = 4;

/// Touches leases while they are held, from a thread that starts with the first of them.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    duration: Duration,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    leases: BTreeSet<PathBuf>,
    runs: bool,
    ended: bool,
}

impl Default for Heartbeat {
    fn default() -> Self {
        Self::new(DURATION)
    }
}

impl Heartbeat {
    /// For leases that hold for a duration, in whole seconds, at least one.
    pub(crate) fn new(duration: Duration) -> Self {
        Self { duration: Duration::from_secs(duration.as_secs().max(1)), shared: Arc::default() }
    }

    /// How long a lease holds without being touched.
    pub(crate) fn duration(&self) -> Duration {
        self.duration
    }

    /// Touches a lease from now on.
    pub(crate) fn add(&self, path: &Path) {
        let mut state = self.shared.lock();
        state.leases.insert(path.to_owned());
        if !state.runs {
            let (shared, pause) = (Arc::clone(&self.shared), self.duration / TOUCHES);
            let name = "assay-heartbeat".to_owned();
            // Without the thread, leases hold for their duration, and what was lost is discarded.
            state.runs = std::thread::Builder::new().name(name).spawn(move || shared.run(pause)).is_ok();
        }
    }

    /// Touches it no more.
    pub(crate) fn remove(&self, path: &Path) {
        self.shared.lock().leases.remove(path);
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, pause: Duration) {
        let mut state = self.lock();
        while !state.ended {
            state = self
                .changed
                .wait_timeout_while(state, pause, |state| !state.ended)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
            let leases = state.leases.clone();
            drop(state);
            for path in leases {
                // A lease that was lost meanwhile is extended once: that delays its new owner's end, and nothing else.
                let _ = OpenOptions::new().write(true).open(&path).and_then(|file| touch(&file));
            }
            state = self.lock();
        }
    }
}

/// Sets a file's times to now, by the clock of its file system.
pub(crate) fn touch(file: &File) -> std::io::Result<()> {
    let now = || Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    Ok(futimens(file, &Timestamps { last_access: now(), last_modification: now() })?)
}
