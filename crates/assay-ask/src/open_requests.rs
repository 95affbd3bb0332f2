//! Where questions report what happens: the listener, the requests that wait for a reply, and the thread that reports how
//! long.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::{AskEvent, AskEvents};

/// Between two reports of how long requests have been waiting, for people who look at a terminal.
pub const WAITING_INTERVAL: Duration = Duration::from_secs(10);

/// Where questions report what happens: a listener, and a thread that reports how long requests have been waiting. Askers
/// that share one are one group: their requests are counted together.
#[derive(Clone)]
pub struct AskProgress {
    events: Arc<dyn AskEvents>,
    open: Option<Arc<OpenRequests>>,
}

impl std::fmt::Debug for AskProgress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AskProgress").finish_non_exhaustive()
    }
}

impl AskProgress {
    /// Reports to `events`, and in each interval how long requests have been waiting. The thread that does so ends with the
    /// last clone.
    pub fn new(events: Arc<dyn AskEvents>, interval: Duration) -> Self {
        let open = Some(Arc::new(OpenRequests::new(Arc::clone(&events), interval)));
        Self { events, open }
    }

    /// Reports nothing.
    pub fn silent() -> Self {
        Self { events: Arc::new(|_: &AskEvent<'_>| {}), open: None }
    }

    pub(crate) fn report(&self, event: &AskEvent<'_>) {
        self.events.handle_event(event);
    }

    /// A request begins; it ends when the result is dropped.
    pub(crate) fn begin_request(&self) -> Option<OpenRequest<'_>> {
        self.open.as_ref().map(|open| open.begin_request())
    }
}

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
struct OpenRequests {
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
    fn new(events: Arc<dyn AskEvents>, interval: Duration) -> Self {
        Self { shared: Arc::default(), watcher: Mutex::default(), events, interval }
    }

    fn begin_request(&self) -> OpenRequest<'_> {
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
