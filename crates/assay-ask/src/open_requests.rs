//! The requests that wait for a reply, and the thread that reports how long.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::{AskEvent, AskEvents};

/// The requests under way.
#[derive(Debug, Default)]
struct OpenState {
    /// When each began.
    began: BTreeMap<u64, Instant>,
    next: u64,
    has_ended: bool,
}

#[derive(Debug, Default)]
struct SharedState {
    state: Mutex<OpenState>,
    changed: Condvar,
}

impl SharedState {
    fn lock(&self) -> MutexGuard<'_, OpenState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reports requests that wait longer than an interval, once in each interval.
pub(crate) struct OpenRequests {
    shared: Arc<SharedState>,
    watcher: Mutex<Option<JoinHandle<()>>>,
    events: Arc<dyn AskEvents>,
    interval: Duration,
}

/// A request under way; dropped when it ends.
pub(crate) struct OpenRequest<'a> {
    shared: &'a SharedState,
    number: u64,
}

impl OpenRequests {
    pub(crate) fn new(events: Arc<dyn AskEvents>, interval: Duration) -> Self {
        Self { shared: Arc::default(), watcher: Mutex::default(), events, interval }
    }

    pub(crate) fn begin_request(&self) -> OpenRequest<'_> {
        let mut state = self.shared.lock();
        let number = state.next;
        state.next += 1;
        state.began.insert(number, Instant::now());
        drop(state);
        self.shared.changed.notify_all();
        let mut watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        watcher.get_or_insert_with(|| {
            let (shared, events, interval) =
                (Arc::clone(&self.shared), Arc::clone(&self.events), self.interval);
            std::thread::spawn(move || watch_requests(&shared, &*events, interval))
        });
        OpenRequest { shared: &self.shared, number }
    }
}

impl Drop for OpenRequest<'_> {
    fn drop(&mut self) {
        self.shared.lock().began.remove(&self.number);
    }
}

impl Drop for OpenRequests {
    fn drop(&mut self) {
        self.shared.lock().has_ended = true;
        self.shared.changed.notify_all();
        let watcher = self.watcher.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        // Only a panic of a listener is lost.
        drop(watcher.map(JoinHandle::join));
    }
}

fn watch_requests(shared: &SharedState, events: &dyn AskEvents, interval: Duration) {
    let mut reported: Option<Instant> = None;
    let mut state = shared.lock();
    while !state.has_ended {
        let Some(&oldest) = state.began.values().min() else {
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        let due = reported.map_or(oldest, |reported| reported.max(oldest)) + interval;
        let now = Instant::now();
        if now < due {
            let waited = shared.changed.wait_timeout(state, due - now);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            continue;
        }
        reported = Some(now);
        let requests = state.began.len();
        drop(state);
        events.handle_event(&AskEvent::Waiting { requests, oldest: now - oldest });
        state = shared.lock();
    }
}
