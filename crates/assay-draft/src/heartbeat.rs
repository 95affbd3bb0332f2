//! A line in the place of silence while a draft works.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// After how long without a word a draft says what it is doing.
pub const INTERVAL: Duration = Duration::from_secs(30);

/// What was said last.
struct Last {
    line: String,
    /// When it began.
    since: Instant,
    /// When something was said, the repetitions among it.
    said: Instant,
    is_over: bool,
}

/// Repeats the last line of progress while nothing else is said. It ends when it is dropped.
pub struct Heartbeat {
    state: Arc<(Mutex<Last>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for Heartbeat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Heartbeat").finish_non_exhaustive()
    }
}

impl Heartbeat {
    /// Begins; `say` takes each line, from another thread.
    pub fn start_repeating(interval: Duration, say: impl Fn(&str) + Send + 'static) -> Self {
        let now = Instant::now();
        let last = Last { line: String::new(), since: now, said: now, is_over: false };
        let state = Arc::new((Mutex::new(last), Condvar::new()));
        let shared = state.clone();
        let thread = thread::spawn(move || repeat(&shared, interval, &say));
        Self { state, thread: Some(thread) }
    }

    /// Notes a line that was said.
    pub fn note_line(&self, line: &str) {
        let mut last = self.state.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        (last.line, last.since, last.said) = (line.to_owned(), now, now);
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.state.0.lock().unwrap_or_else(PoisonError::into_inner).is_over = true;
        self.state.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn repeat(state: &(Mutex<Last>, Condvar), interval: Duration, say: &dyn Fn(&str)) {
    let mut last = state.0.lock().unwrap_or_else(PoisonError::into_inner);
    while !last.is_over {
        let left = interval.saturating_sub(last.said.elapsed());
        if !left.is_zero() {
            last = state.1.wait_timeout(last, left).unwrap_or_else(PoisonError::into_inner).0;
            continue;
        }
        last.said = Instant::now();
        if !last.line.is_empty() {
            say(&format!("still working after {} s: {}", last.since.elapsed().as_secs(), last.line));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_line_is_repeated_while_nothing_else_is_said() {
        let (sender, said) = channel();
        let heartbeat = Heartbeat::start_repeating(Duration::from_millis(20), move |line| {
            let _ = sender.send(line.to_owned());
        });
        // Nothing was said, so nothing is repeated.
        assert!(said.recv_timeout(Duration::from_millis(100)).is_err());
        heartbeat.note_line("sums: the work with the skill");
        for _ in 0..2 {
            let line = said.recv_timeout(Duration::from_secs(10)).unwrap();
            assert_eq!(line, "still working after 0 s: sums: the work with the skill");
        }
        drop(heartbeat);
        while said.try_recv().is_ok() {}
        assert!(said.recv().is_err(), "it ends with its owner");
    }
}
