//! The client of a limiter.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use assay_model::wire::{Closed, SharedLimits};
use assay_trace::Usage;
use ureq::Agent;

use super::{Answer, Ask, Charge, HEARTBEAT, LimiterState, Word};
use crate::budget::{SharedAdmission, SharedBudget, SharedTurn};
use crate::ledger::Capped;
use crate::reserve::Ceiling;
use crate::sync::lock;

/// For one question.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Until a question is asked again, of a server that does not answer or a budget that is reserved.
const PAUSE: Duration = Duration::from_secs(1);

/// Where a limiter listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimiterAddress {
    /// `HOST:PORT`.
    pub address: String,
    /// What it is asked with.
    pub token: String,
}

/// Options of a client.
pub struct LimiterClientOptions {
    /// The budget that trials are charged to.
    pub budget: String,
    /// The process, unique among those of the run.
    pub process: String,
    /// Finds the limiter, again after each time that it does not answer.
    pub find: Box<dyn Fn() -> Option<LimiterAddress> + Send + Sync>,
    /// Tells the user that the limiter is away, and that it is back.
    pub notify: Box<dyn Fn(&str) + Send + Sync>,
}

/// A process of a run, as its limiter knows it.
#[derive(Debug)]
pub struct LimiterClient {
    inner: Arc<Inner>,
    heartbeat: Mutex<Option<(Sender<()>, JoinHandle<()>)>>,
}

struct Inner {
    options: LimiterClientOptions,
    agent: Agent,
    found: Mutex<Option<LimiterAddress>>,
    is_away: AtomicBool,
    count: AtomicU64,
    permits: Mutex<BTreeSet<u64>>,
    /// Reservations of requests under way.
    reservations: Mutex<BTreeSet<u64>>,
    /// Reports that the limiter does not have yet, in order.
    reports: Mutex<VecDeque<Ask>>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("process", &self.options.process).finish_non_exhaustive()
    }
}

impl LimiterClient {
    /// A client; nothing is sent before the first question.
    pub fn new(options: LimiterClientOptions) -> Arc<Self> {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .proxy(None)
            .timeout_connect(Some(TIMEOUT))
            .timeout_global(Some(TIMEOUT))
            .build();
        let inner = Arc::new(Inner {
            options,
            agent: config.new_agent(),
            found: Mutex::default(),
            is_away: AtomicBool::new(false),
            count: AtomicU64::new(0),
            permits: Mutex::default(),
            reservations: Mutex::default(),
            reports: Mutex::default(),
        });
        let (sender, receiver) = channel();
        let beating = Arc::clone(&inner);
        let thread = std::thread::Builder::new()
            .name("limiter".to_owned())
            .spawn(move || beating.beat(&receiver))
            .ok();
        Arc::new(Self { inner, heartbeat: Mutex::new(thread.map(|thread| (sender, thread))) })
    }

    /// The state of the budget; `None` while the limiter does not answer.
    pub fn state(&self) -> Option<LimiterState> {
        match self.inner.send(&Ask::State { budget: self.inner.options.budget.clone() }) {
            Some(Answer::State(state)) => Some(state),
            _ => None,
        }
    }

    /// Sends the reports that are left, for at most this time. Whether all were sent.
    pub fn flush(&self, most: Duration) -> bool {
        let until = Instant::now() + most;
        while !self.inner.flush() {
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        true
    }
}

impl Drop for LimiterClient {
    fn drop(&mut self) {
        if let Some((sender, thread)) = lock(&self.heartbeat).take() {
            drop(sender);
            let _ = thread.join();
        }
    }
}

impl Inner {
    fn beat(&self, ended: &Receiver<()>) {
        let mut alive = Instant::now();
        while ended.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
            self.flush();
            if alive.elapsed() < HEARTBEAT && !self.is_away.load(Ordering::Relaxed) {
                continue;
            }
            let permits: Vec<String> = lock(&self.permits).iter().map(|permit| self.name(*permit)).collect();
            let is_idle = permits.is_empty() && lock(&self.reservations).is_empty();
            if is_idle && !self.is_away.load(Ordering::Relaxed) {
                continue;
            }
            alive = Instant::now();
            let LimiterClientOptions { budget, process, .. } = &self.options;
            self.send(&Ask::Alive { budget: budget.clone(), process: process.clone(), permits });
        }
    }

    fn name(&self, number: u64) -> String {
        format!("{}/{number}", self.options.process)
    }

    fn next(&self) -> u64 {
        self.count.fetch_add(1, Ordering::Relaxed)
    }

    /// The answer; `None` if there is none at this time.
    fn send(&self, ask: &Ask) -> Option<Answer> {
        let asked = self.try_send(ask);
        let was_away = self.is_away.swap(asked.is_err(), Ordering::Relaxed);
        match asked {
            Ok(answer) => {
                if was_away {
                    (self.options.notify)("the gateway of the run answers again");
                }
                Some(answer)
            }
            Err(message) => {
                *lock(&self.found) = None;
                if !was_away {
                    (self.options.notify)(&format!(
                        "waiting for the gateway of the run, which keeps its budget and rate limits: {message}"
                    ));
                }
                None
            }
        }
    }

    fn try_send(&self, ask: &Ask) -> Result<Answer, String> {
        let found = lock(&self.found).clone();
        let found = found.or_else(|| (self.options.find)()).ok_or("none was started")?;
        *lock(&self.found) = Some(found.clone());
        let LimiterAddress { address, token } = found;
        let wrong = |error: &dyn std::fmt::Display| format!("no answer from {address}: {error}");
        let mut reply = self
            .agent
            .post(format!("http://{address}/"))
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", "application/json")
            .send(serde_json::to_vec(ask).map_err(|error| wrong(&error))?.as_slice())
            .map_err(|error| wrong(&error))?;
        let bytes = reply.body_mut().read_to_vec().map_err(|error| wrong(&error))?;
        if reply.status() != 200 {
            let text = String::from_utf8_lossy(&bytes);
            return Err(wrong(&format!(
                "{} {}",
                reply.status().as_u16(),
                assay_model::wire::excerpt(text.as_bytes())
            )));
        }
        serde_json::from_slice(&bytes).map_err(|error| wrong(&error))
    }

    fn report(&self, ask: Ask) {
        lock(&self.reports).push_back(ask);
        self.flush();
    }

    /// Sends reports in their order. Whether none is left.
    fn flush(&self) -> bool {
        let mut reports = lock(&self.reports);
        while let Some(first) = reports.front() {
            if self.send(first).is_none() {
                return false;
            }
            reports.pop_front();
        }
        true
    }
}

impl SharedBudget for LimiterClient {
    fn admit(&self) -> SharedAdmission {
        let number = self.inner.next();
        let LimiterClientOptions { budget, process, .. } = &self.inner.options;
        let ask =
            Ask::Admit { budget: budget.clone(), process: process.clone(), permit: self.inner.name(number) };
        match self.inner.send(&ask) {
            Some(Answer::Admission { admission: Word::Granted }) => {
                lock(&self.inner.permits).insert(number);
                SharedAdmission::Granted(number)
            }
            Some(Answer::Admission { admission: Word::Exhausted } | Answer::Unknown) => {
                SharedAdmission::Exhausted
            }
            _ => {
                std::thread::sleep(PAUSE / 4);
                SharedAdmission::Deferred
            }
        }
    }

    fn charge(&self, permit: Option<u64>, tokens: &Usage, estimated: &Usage, usd: Option<f64>) {
        self.inner.report(Ask::Charge(Charge {
            budget: self.inner.options.budget.clone(),
            id: self.inner.name(self.inner.next()),
            permit: permit.map(|permit| self.inner.name(permit)),
            tokens: *tokens,
            estimated: *estimated,
            usd,
        }));
    }

    fn reserve(&self, ceiling: Ceiling) -> SharedTurn {
        let number = self.inner.next();
        let LimiterClientOptions { budget, process, .. } = &self.inner.options;
        let reservation = self.inner.name(number);
        let ask = Ask::SetAside { budget: budget.clone(), process: process.clone(), reservation, ceiling };
        match self.inner.send(&ask) {
            Some(Answer::Turn { granted: true, .. }) => {
                lock(&self.inner.reservations).insert(number);
                SharedTurn::Granted(number)
            }
            Some(Answer::Turn { capped: Some(capped), .. }) => SharedTurn::Capped(capped),
            _ => {
                std::thread::sleep(PAUSE / 10);
                SharedTurn::Deferred
            }
        }
    }

    fn release(&self, reservation: u64, used: Option<Ceiling>) {
        lock(&self.inner.reservations).remove(&reservation);
        let budget = self.inner.options.budget.clone();
        self.inner.report(Ask::Release { budget, reservation: self.inner.name(reservation), used });
    }

    fn end(&self, permit: u64, is_last: bool) {
        if is_last {
            lock(&self.inner.permits).remove(&permit);
        }
        let budget = self.inner.options.budget.clone();
        self.inner.report(Ask::End { budget, permit: self.inner.name(permit), is_last });
    }

    fn capped(&self) -> Option<Capped> {
        self.state()?.capped
    }
}

impl SharedLimits for LimiterClient {
    fn reserve(&self, provider: &str) -> Result<(), Closed> {
        let closed = |wait: Duration, status: u16, message: &str| {
            Err(Closed { until: Instant::now() + wait, status, message: message.to_owned() })
        };
        match self.inner.send(&Ask::Reserve { provider: provider.to_owned() }) {
            Some(Answer::Reserved) => Ok(()),
            Some(Answer::Wait { milliseconds, status, message }) => {
                closed(Duration::from_millis(milliseconds), status, &message)
            }
            _ => closed(PAUSE, 503, "the gateway of the run does not answer"),
        }
    }

    fn close(&self, provider: &str, wait: Duration, status: u16, message: &str) {
        let milliseconds = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let (provider, message) = (provider.to_owned(), message.to_owned());
        self.inner.report(Ask::Close { provider, milliseconds, status, message });
    }
}
