//! Whether the disk was full while a trial ran: what does not pass then says nothing about the agent.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::fs::statvfs;

/// How often free space is read. Other trials make room again when they end.
const TICK: Duration = Duration::from_millis(20);

/// A disk with less room is full, in bytes: a write that fails takes what was left.
const LEAST_BYTES: u64 = 1 << 20;

/// Reads the free space of folders until it is asked.
#[derive(Debug)]
pub(crate) struct SpaceWatch {
    stop: Sender<()>,
    thread: Option<JoinHandle<Option<PathBuf>>>,
}

impl SpaceWatch {
    /// Starts watching. Without a thread for it, nothing is ever full.
    pub(crate) fn start(folders: Vec<PathBuf>) -> Self {
        let (stop, stopped) = channel();
        let watch = move || {
            loop {
                if let Some(full) = folders.iter().find(|folder| is_full(folder)) {
                    return Some(full.clone());
                }
                if stopped.recv_timeout(TICK) != Err(RecvTimeoutError::Timeout) {
                    return None;
                }
            }
        };
        let thread = std::thread::Builder::new().name("space".to_owned()).stack_size(64 << 10).spawn(watch);
        Self { stop, thread: thread.ok() }
    }

    /// Ends it. The folder whose disk was full, if one was.
    pub(crate) fn finish(mut self) -> Option<PathBuf> {
        // It may have ended by itself.
        let _ = self.stop.send(());
        self.thread.take()?.join().ok().flatten()
    }
}

/// Whether there is no room on the disk of a folder. One that cannot be read is not full.
fn is_full(folder: &Path) -> bool {
    let Ok(disk) = statvfs(folder) else { return false };
    // Some file systems count no inodes, and some in memory have no limit.
    let no_inodes = disk.f_files > 0 && disk.f_favail == 0;
    no_inodes || disk.f_blocks > 0 && disk.f_bavail.saturating_mul(disk.f_frsize) < LEAST_BYTES
}
