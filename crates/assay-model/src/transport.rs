//! Sends one request, with retries.
//!
//! Each try runs on its own thread with its own connection, so that a call can be ended at once:
//! closing the connection ends the thread and makes the provider stop. Connections that completed a
//! request are kept for later calls.
//!
//! Statuses 408, 409, 425, 429 and 5xx (not 501 and 505) and network errors are retried. A try that
//! was interrupted may have been billed; its usage is unknown, and only [`Retry`] records it.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use ureq::Agent;

use crate::answer::{Failure, Reply, ReplyClass, classify_reply};
use crate::backoff;
use crate::endpoint::Endpoint;
use crate::gate::{Closed, Gate};
use crate::text::{Secret, escape};
use crate::{Call, ModelError, ModelOptions, Retry};

/// How often cancellation and deadline are checked.
const POLL: Duration = Duration::from_millis(50);
/// Maximum bytes of a reply.
const LARGEST: u64 = 64 << 20;
/// Maximum number of idle connections.
const MAX_IDLE: usize = 64;
/// Timeout for connecting to a provider.
const CONNECT: Duration = Duration::from_secs(30);
/// Maximum timeout of one try.
const LONGEST: Duration = Duration::from_hours(24);

/// Sends requests to one URL.
pub(crate) struct Transport {
    url: String,
    headers: Vec<(&'static str, Secret)>,
    key: Option<Secret>,
    gate: Arc<Gate>,
    config: ureq::config::Config,
    idle: Mutex<Vec<Agent>>,
    timeout: Duration,
    max_retries: u32,
}

/// A reply, and the tries before it.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) body: Value,
    pub(crate) retries: Vec<Retry>,
}

/// Why a try gave no reply.
enum FetchError {
    Cancelled,
    Deadline,
    Failed(Failure),
    Unreadable(String),
}

/// Why a wait was not started or was ended.
enum WaitError {
    Cancelled,
    Deadline(Option<Closed>),
}

impl Transport {
    /// A transport for requests to `path` below an endpoint's address, with additional `headers`.
    pub(crate) fn new(
        endpoint: Endpoint,
        path: &str,
        headers: Vec<(&'static str, Secret)>,
        options: &ModelOptions,
    ) -> Result<Self, ModelError> {
        if options.request_timeout.is_zero() {
            return Err(ModelError::Spec("request_timeout is 0: use at least one second".to_owned()));
        }
        let gate = Gate::shared(&endpoint.base, endpoint.key.as_ref());
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(endpoint.proxy)
            .tls_config(endpoint.tls)
            .timeout_connect(Some(CONNECT))
            .user_agent(concat!("assay/", env!("CARGO_PKG_VERSION")))
            .accept("application/json")
            .build();
        Ok(Self {
            url: format!("{}{path}", endpoint.base),
            headers,
            key: endpoint.key,
            gate,
            config,
            idle: Mutex::default(),
            timeout: options.request_timeout.min(LONGEST),
            max_retries: options.max_retries,
        })
    }

    /// The URL that requests are sent to.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Sends `body` until there is a reply, or retrying is pointless.
    pub(crate) fn post(&self, body: &Value, call: &Call<'_>) -> Result<Answer, ModelError> {
        let bytes: Arc<[u8]> = body.to_string().into_bytes().into();
        let mut retries = Vec::new();
        let mut tries = 0;
        let mut limited: Option<(u16, String)> = None;

        // Another call may have met the limit already.
        let (waited, closed) = self.wait(Instant::now(), call).map_err(|unwaited| match unwaited {
            WaitError::Cancelled => ModelError::Cancelled,
            WaitError::Deadline(Some(closed)) => {
                ModelError::RateLimited { status: closed.status, tries: 0, message: closed.message }
            }
            WaitError::Deadline(None) => ModelError::Deadline,
        })?;
        if let Some(Closed { status, message, .. }) = closed {
            let said = format!("waiting for a rate limit that another call met: {message}");
            retries.push(Retry { status: Some(status), message: said, waited });
            limited = Some((status, message));
        }

        loop {
            tries += 1;
            let failure = match self.fetch(&bytes, call) {
                Ok(reply) => match classify_reply(&reply, self.key.as_ref()) {
                    ReplyClass::Answer(body) => return Ok(Answer { body, retries }),
                    ReplyClass::Refused(error) => return Err(error),
                    ReplyClass::Failed(failure) => failure,
                },
                Err(FetchError::Failed(failure)) => failure,
                Err(FetchError::Unreadable(message)) => return Err(ModelError::Protocol { message }),
                Err(FetchError::Cancelled) => return Err(ModelError::Cancelled),
                Err(FetchError::Deadline) => {
                    return Err(limited.map_or(ModelError::Deadline, |(status, message)| {
                        ModelError::RateLimited { status, tries, message }
                    }));
                }
            };
            if failure.limits
                && let Some(status) = failure.status
            {
                limited = Some((status, failure.message.clone()));
                if let Some(requested_wait) = failure.requested_wait {
                    self.gate.close_for(requested_wait, status, &failure.message);
                }
            }
            if failure.is_final || tries > self.max_retries {
                return Err(failure.end(tries));
            }
            let pause = match failure.requested_wait {
                Some(requested_wait) => requested_wait + backoff::spread_wait(requested_wait),
                None => backoff::retry_wait(tries - 1),
            };
            match self.wait(Instant::now() + pause, call) {
                Ok((waited, _)) => {
                    retries.push(Retry { status: failure.status, message: failure.message, waited });
                }
                Err(WaitError::Cancelled) => return Err(ModelError::Cancelled),
                Err(WaitError::Deadline(_)) => return Err(failure.end(tries)),
            }
        }
    }

    /// Waits until a time and until the gate is open. A wait that would end after the deadline is
    /// not started. Returns its duration, and why the gate was closed if it was.
    fn wait(&self, until: Instant, call: &Call<'_>) -> Result<(Duration, Option<Closed>), WaitError> {
        let started = Instant::now();
        let mut met = None;
        let mut opening: Option<(Instant, Instant)> = None;
        loop {
            if call.cancel.load(Ordering::Relaxed) {
                return Err(WaitError::Cancelled);
            }
            let now = Instant::now();
            let closed = self.gate.closed(now);
            if let Some(closed) = &closed
                && opening.is_none_or(|(seen, _)| seen != closed.until)
            {
                opening = Some((closed.until, closed.until + backoff::spread_wait(closed.until - now)));
            }
            let end = opening.map_or(until, |(_, opens)| until.max(opens));
            if call.deadline.is_some_and(|deadline| end.max(now) >= deadline) {
                return Err(WaitError::Deadline(closed));
            }
            if end <= now {
                match self.gate.enter(now) {
                    Ok(()) => return Ok((now - started, met)),
                    // It is closed now.
                    Err(closed) => met = Some(closed),
                }
                continue;
            }
            met = closed.or(met);
            thread::sleep((end - now).min(POLL));
        }
    }

    /// Makes one try.
    fn fetch(&self, body: &Arc<[u8]>, call: &Call<'_>) -> Result<Reply, FetchError> {
        let agent = lock(&self.idle).pop().unwrap_or_else(|| self.config.new_agent());
        let (sender, receiver) = mpsc::channel();
        let job = {
            let (agent, url, headers) = (agent.clone(), self.url.clone(), self.headers.clone());
            let (body, timeout) = (Arc::clone(body), self.timeout);
            // The receiver is gone if the call was ended.
            move || drop(sender.send(send_request(&agent, &url, &headers, &body, timeout)))
        };
        let network = |message: String| FetchError::Failed(Failure::network(message));
        thread::Builder::new()
            .name("model-request".to_owned())
            .spawn(job)
            .map_err(|error| network(format!("cannot start a thread for the request: {error}")))?;

        // The thread has its own timeout, which comes first; this one is for what it does not
        // cover.
        let limit = Instant::now() + self.timeout + Duration::from_secs(1);
        let broken = loop {
            let now = Instant::now();
            if call.cancel.load(Ordering::Relaxed) {
                break FetchError::Cancelled;
            }
            if call.deadline.is_some_and(|deadline| now >= deadline) {
                break FetchError::Deadline;
            }
            if now >= limit {
                break network(format!("no reply within {} s", self.timeout.as_secs_f64()));
            }
            let left = call.deadline.map_or(POLL, |deadline| deadline.saturating_duration_since(now));
            match receiver.recv_timeout(left.min(POLL)) {
                Ok(Ok(reply)) => {
                    let mut idle = lock(&self.idle);
                    if idle.len() < MAX_IDLE {
                        idle.push(agent);
                    }
                    return Ok(reply);
                }
                Ok(Err(error)) => break self.broken(&error),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    break network("the request was interrupted".to_owned());
                }
            }
        };
        agent.shutdown();
        Err(broken)
    }

    /// Classifies a network error.
    fn broken(&self, error: &ureq::Error) -> FetchError {
        use ureq::Error;
        let text = match error {
            Error::Timeout(_) => format!("no reply within {} s ({error})", self.timeout.as_secs_f64()),
            other => other.to_string(),
        };
        let message = escape(&self.key.as_ref().map_or_else(|| text.clone(), |key| key.scrub(&text)));
        match error {
            Error::BodyExceedsLimit(_) => {
                FetchError::Unreadable(format!("larger than {} MiB", LARGEST >> 20))
            }
            Error::Protocol(_) | Error::Http(_) | Error::LargeResponseHeader(..) => {
                FetchError::Unreadable(format!("not HTTP: {message}"))
            }
            // Certificate errors are permanent.
            Error::Tls(_) | Error::Rustls(_) | Error::BadUri(_) | Error::InvalidProxyUrl => {
                FetchError::Failed(Failure { is_final: true, ..Failure::network(message) })
            }
            Error::Io(io) if io.kind() == std::io::ErrorKind::InvalidData => {
                FetchError::Failed(Failure { is_final: true, ..Failure::network(message) })
            }
            _ => FetchError::Failed(Failure::network(message)),
        }
    }
}

/// Sends a request and reads the whole reply. An error while reading an error's body adds nothing.
fn send_request(
    agent: &Agent,
    url: &str,
    headers: &[(&'static str, Secret)],
    body: &[u8],
    timeout: Duration,
) -> Result<Reply, ureq::Error> {
    let mut request = agent
        .post(url)
        .config()
        .timeout_global(Some(timeout))
        .build()
        .header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, value.expose());
    }
    let (parts, mut body) = request.send(body)?.into_parts();
    let read = body.with_config().limit(LARGEST).read_to_vec();
    let bytes = if parts.status.is_success() { read? } else { read.unwrap_or_default() };
    Ok(Reply { status: parts.status.as_u16(), headers: parts.headers, body: bytes })
}

/// Locks a mutex even if it is poisoned: a panic leaves nothing here half done.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
