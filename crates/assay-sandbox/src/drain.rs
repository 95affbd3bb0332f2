//! Output that background processes write after their command has ended.
//!
//! If its reading end were closed, a server that logs to its inherited output would be killed by
//! the broken pipe. A thread, started with the first such stream, therefore reads and discards it.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;

/// Maximum number of streams; the oldest are closed first.
const MOST: usize = 64;

/// Reads and discards streams.
#[derive(Debug, Default)]
pub(crate) struct Drain {
    thread: Option<(Arc<Shared>, JoinHandle<()>)>,
}

#[derive(Debug)]
struct Shared {
    wake: OwnedFd,
    /// New streams; `None` when the thread has to end.
    inbox: Mutex<Option<Vec<OwnedFd>>>,
}

impl Drain {
    /// Reads `stream` to its end.
    pub(crate) fn add(&mut self, stream: OwnedFd) {
        if self.thread.is_none() {
            let Ok(wake) = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK) else { return };
            let shared = Arc::new(Shared { wake, inbox: Mutex::new(Some(Vec::new())) });
            let theirs = Arc::clone(&shared);
            let thread = std::thread::Builder::new().name("drain".to_owned()).stack_size(128 << 10);
            match thread.spawn(move || theirs.run()) {
                Ok(handle) => self.thread = Some((shared, handle)),
                Err(_) => return,
            }
        }
        if let Some((shared, _)) = &self.thread {
            if let Some(inbox) = &mut *shared.inbox.lock().unwrap_or_else(PoisonError::into_inner) {
                inbox.push(stream);
            }
            shared.wake();
        }
    }
}

impl Drop for Drain {
    fn drop(&mut self) {
        if let Some((shared, handle)) = self.thread.take() {
            *shared.inbox.lock().unwrap_or_else(PoisonError::into_inner) = None;
            shared.wake();
            // A panic of the thread has no consequences.
            let _ = handle.join();
        }
    }
}

impl Shared {
    fn wake(&self) {
        // It fails only if a wake-up is already pending.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    fn run(&self) {
        let mut streams: Vec<OwnedFd> = Vec::new();
        let mut buffer = vec![0; 16 << 10];
        loop {
            let mut fds = vec![PollFd::new(&self.wake, PollFlags::IN)];
            fds.extend(streams.iter().map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)));
            match poll(&mut fds, None) {
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(_) => return,
            }
            let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
            drop(fds);
            let mut ready = ready.into_iter();
            if ready.next() == Some(true) {
                let _ = rustix::io::read(&self.wake, &mut [0; 8]);
            }
            streams.retain(|stream| {
                ready.next() != Some(true)
                    || !matches!(
                        rustix::io::read(stream, &mut buffer[..]),
                        Ok(0) | Err(Errno::IO | Errno::BADF)
                    )
            });
            match &mut *self.inbox.lock().unwrap_or_else(PoisonError::into_inner) {
                None => return,
                Some(inbox) => streams.append(inbox),
            }
            let over = streams.len().saturating_sub(MOST);
            streams.drain(..over);
        }
    }
}
