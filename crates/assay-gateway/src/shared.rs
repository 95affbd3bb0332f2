//! State that the threads of a proxy share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use assay_trace::{Prices, SentText, Watch};

use crate::budget::Reservation;
use crate::cassette::{Cassette, Recorder, Recording};
use crate::ledger::{Capped, Exchange, Mismatch, Refused, Totals};
use crate::limits::Limits;
use crate::reserve::{Ceiling, UnderWay};
use crate::session::{SessionConfig, WatchedSkill};
use crate::silence::Silence;
use crate::sync::lock;
use crate::upstream::Stop;

/// Maximum number of refused requests that are recorded.
const REFUSED: usize = 100;

/// Options that all trials of a run share.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) limits: Limits,
    pub(crate) prices: Prices,
}

/// State that the threads of a proxy share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: Arc<Options>,
    pub(crate) session: SessionConfig,
    /// The token's digest: comparing digests reveals nothing by its timing.
    token: blake3::Hash,
    pub(crate) recordings: Option<BTreeMap<usize, Recording>>,
    pub(crate) records: bool,
    pub(crate) state: Mutex<State>,
    waiting: Mutex<Waiting>,
    silence: Mutex<Silence>,
    slots: Mutex<usize>,
    freed: Condvar,
}

/// What is known so far.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) exchanges: Vec<Exchange>,
    pub(crate) totals: Totals,
    pub(crate) refused: Vec<Refused>,
    pub(crate) watches: Vec<Watched>,
    /// The text that requests should contain, if there is one.
    pub(crate) text: Option<SentText>,
    /// Texts that were already scanned: agents send their whole conversation each time.
    pub(crate) texts: BTreeSet<[u8; 16]>,
    pub(crate) capped: Option<Capped>,
    pub(crate) mismatch: Option<Mismatch>,
    /// Recordings of the cassette that were played.
    pub(crate) played_recordings: BTreeSet<usize>,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) cassette_error: Option<String>,
    /// How often the rule on each line of a script has answered.
    pub(crate) played: BTreeMap<usize, u32>,
    /// Requests under way, and what is set aside for each.
    pub(crate) under_way: UnderWay,
    pub(crate) held: BTreeMap<usize, (Ceiling, Reservation)>,
}

#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) watch: Watch,
    pub(crate) advertised: Option<usize>,
    pub(crate) opened: Option<usize>,
}

/// The time in which at least one request waited.
#[derive(Debug, Default)]
struct Waiting {
    now: usize,
    since: Option<Instant>,
    total: Duration,
}

impl Shared {
    pub(crate) fn new(
        options: Arc<Options>,
        session: SessionConfig,
        token: &str,
        recordings: Option<BTreeMap<usize, Recording>>,
    ) -> Self {
        let watched = |skill: &WatchedSkill| Watched {
            watch: Watch::new(&skill.name, &skill.description, &skill.body),
            advertised: None,
            opened: None,
        };
        let watches = session.skills.iter().map(watched).collect();
        let text = (!session.text.is_empty()).then(|| SentText::new(&session.text));
        Self {
            token: blake3::hash(token.as_bytes()),
            recordings,
            records: matches!(session.cassette, Cassette::Record(_)),
            state: Mutex::new(State { watches, text, ..State::default() }),
            waiting: Mutex::default(),
            silence: Mutex::default(),
            slots: Mutex::new(session.concurrency),
            freed: Condvar::new(),
            options,
            session,
        }
    }

    pub(crate) fn admits(&self, token: Option<&str>) -> bool {
        token.is_some_and(|token| blake3::hash(token.as_bytes()) == self.token)
    }

    pub(crate) fn refuse(&self, request: &str, status: u16, reason: &str) {
        let mut state = lock(&self.state);
        if state.refused.len() < REFUSED {
            let request = assay_model::wire::excerpt(request.as_bytes());
            state.refused.push(Refused { request, status, reason: reason.to_owned() });
        }
    }

    /// Whether a request is waiting now.
    pub(crate) fn is_waiting(&self) -> bool {
        lock(&self.waiting).now > 0
    }

    /// The cap that has stopped the trial.
    pub(crate) fn capped(&self) -> Option<Capped> {
        lock(&self.state).capped.clone()
    }

    /// How long at least one request waited.
    pub(crate) fn waited(&self) -> Duration {
        let waiting = lock(&self.waiting);
        waiting.total + waiting.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Records that part of a reply was received.
    pub(crate) fn note_data(&self) {
        lock(&self.silence).note_data(Instant::now());
    }

    /// The longest time in which a reply was pending and nothing of it was received.
    pub(crate) fn silent(&self) -> Duration {
        lock(&self.silence).longest(Instant::now())
    }

    /// Waits for a provider while a slot is taken; the time does not count as silence. `false` if
    /// the request was ended meanwhile.
    pub(crate) fn wait(&self, stop: &Stop, time: Duration) -> bool {
        self.begin_wait();
        lock(&self.silence).end(Instant::now());
        let went_on = stop.pause(time);
        lock(&self.silence).begin(Instant::now());
        self.end_wait();
        went_on
    }

    /// Waits for other requests to end, whose cost decides whether this one fits into the budget. `false` if the
    /// request was ended meanwhile.
    pub(crate) fn wait_for_budget(&self, stop: &Stop, time: Duration) -> bool {
        // The sandbox is paused for requests of other trials only: one of this trial could not end in a paused one.
        let is_alone = lock(&self.state).held.is_empty();
        if is_alone {
            self.begin_wait();
        }
        let went_on = stop.pause(time);
        if is_alone {
            self.end_wait();
        }
        went_on
    }

    fn begin_wait(&self) {
        let mut waiting = lock(&self.waiting);
        waiting.now += 1;
        waiting.since.get_or_insert_with(Instant::now);
    }

    fn end_wait(&self) {
        let mut waiting = lock(&self.waiting);
        waiting.now -= 1;
        if waiting.now == 0
            && let Some(since) = waiting.since.take()
        {
            waiting.total += since.elapsed();
        }
    }

    /// Takes a slot at the provider. `None` if the request was ended meanwhile.
    pub(crate) fn take_slot(&self, stop: &Stop) -> Option<Slot<'_>> {
        let mut slots = lock(&self.slots);
        while *slots == 0 {
            if stop.is_stopped() {
                return None;
            }
            let waited = self.freed.wait_timeout(slots, Duration::from_millis(100));
            slots = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
        *slots -= 1;
        lock(&self.silence).begin(Instant::now());
        Some(Slot { inside: self })
    }
}

/// A slot at the provider.
#[derive(Debug)]
pub(crate) struct Slot<'a> {
    inside: &'a Shared,
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        lock(&self.inside.silence).end(Instant::now());
        *lock(&self.inside.slots) += 1;
        self.inside.freed.notify_one();
    }
}
