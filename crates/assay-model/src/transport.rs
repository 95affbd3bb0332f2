//! One request, however often it takes.
//!
//! A request runs on a thread of its own with a connection of its own, so that a call can be given up at once: the
//! connection is then closed, which ends the thread and tells the provider to stop. Connections that served well are
//! kept for later calls.
//!
//! What is tried again: statuses 408, 409, 425, 429 and 5xx (not 501 and 505), and breaks of the network. A try that broke
//! off may have been billed; its usage is unknown, and only [`Retry`] tells of it.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use ureq::Agent;

use crate::answer::{Failure, Reply, Verdict, classify_reply};
use crate::backoff;
use crate::endpoint::Endpoint;
use crate::gate::{Closed, Gate};
use crate::text::{Secret, escape};
use crate::{Call, ModelError, ModelOptions, Retry};

/// How often cancelling and the deadline are looked at.
const POLL: Duration = Duration::from_millis(50);
/// Most bytes of an answer.
const LARGEST: u64 = 64 << 20;
/// Most idle connections that are kept.
const KEPT: usize = 64;
/// Most time for reaching a provider.
const CONNECT: Duration = Duration::from_secs(30);
/// The longest time for one try that is believed.
const LONGEST: Duration = Duration::from_hours(24);

/// Sends requests to one address.
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

/// An answer, and what came before it.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) body: Value,
    pub(crate) retries: Vec<Retry>,
}

/// Why there was no answer.
enum Broken {
    Cancelled,
    Deadline,
    Failed(Failure),
    Unreadable(String),
}

/// Why a wait was not begun or not ended.
enum Unwaited {
    Cancelled,
    Deadline(Option<Closed>),
}

impl Transport {
    /// For requests to `path` below an endpoint's address, with `headers` beside those of every request.
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

    /// Where it sends.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Sends `body` until there is an answer, or there will be none.
    pub(crate) fn post(&self, body: &Value, call: &Call<'_>) -> Result<Answer, ModelError> {
        let bytes: Arc<[u8]> = body.to_string().into_bytes().into();
        let mut retries = Vec::new();
        let mut tries = 0;
        let mut limited: Option<(u16, String)> = None;

        // Others may have met the limit already.
        let (waited, held) = self.wait(Instant::now(), call).map_err(|unwaited| match unwaited {
            Unwaited::Cancelled => ModelError::Cancelled,
            Unwaited::Deadline(Some(closed)) => {
                ModelError::RateLimited { status: closed.status, tries: 0, message: closed.message }
            }
            Unwaited::Deadline(None) => ModelError::Deadline,
        })?;
        if let Some(Closed { status, message, .. }) = held {
            let said = format!("rate limited, as another call was: {message}");
            retries.push(Retry { status: Some(status), message: said, waited });
            limited = Some((status, message));
        }

        loop {
            tries += 1;
            let failure = match self.fetch(&bytes, call) {
                Ok(reply) => match classify_reply(&reply, self.key.as_ref()) {
                    Verdict::Answer(body) => return Ok(Answer { body, retries }),
                    Verdict::Refused(error) => return Err(error),
                    Verdict::Failed(failure) => failure,
                },
                Err(Broken::Failed(failure)) => failure,
                Err(Broken::Unreadable(message)) => return Err(ModelError::Protocol { message }),
                Err(Broken::Cancelled) => return Err(ModelError::Cancelled),
                Err(Broken::Deadline) => {
                    return Err(limited.map_or(ModelError::Deadline, |(status, message)| {
                        ModelError::RateLimited { status, tries, message }
                    }));
                }
            };
            if failure.limits
                && let Some(status) = failure.status
            {
                limited = Some((status, failure.message.clone()));
                if let Some(told) = failure.told {
                    self.gate.close(Instant::now() + told, status, &failure.message);
                }
            }
            if failure.is_final || tries > self.max_retries {
                return Err(failure.end(tries));
            }
            let pause = match failure.told {
                Some(told) => told + backoff::spread_wait(told),
                None => backoff::retry_wait(tries - 1),
            };
            match self.wait(Instant::now() + pause, call) {
                Ok((waited, _)) => {
                    retries.push(Retry { status: failure.status, message: failure.message, waited });
                }
                Err(Unwaited::Cancelled) => return Err(ModelError::Cancelled),
                Err(Unwaited::Deadline(_)) => return Err(failure.end(tries)),
            }
        }
    }

    /// Waits until a time and until the gate is open. A wait that would end after the deadline is not begun.
    /// Gives how long it took, and why the gate was closed if it was.
    fn wait(&self, until: Instant, call: &Call<'_>) -> Result<(Duration, Option<Closed>), Unwaited> {
        let started = Instant::now();
        let mut held = None;
        let mut opening: Option<(Instant, Instant)> = None;
        loop {
            if call.cancel.load(Ordering::Relaxed) {
                return Err(Unwaited::Cancelled);
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
                return Err(Unwaited::Deadline(closed));
            }
            if end <= now {
                return Ok((now - started, held));
            }
            held = closed.or(held);
            thread::sleep((end - now).min(POLL));
        }
    }

    /// One try.
    fn fetch(&self, body: &Arc<[u8]>, call: &Call<'_>) -> Result<Reply, Broken> {
        let agent = lock(&self.idle).pop().unwrap_or_else(|| self.config.new_agent());
        let (sender, receiver) = mpsc::channel();
        let job = {
            let (agent, url, headers) = (agent.clone(), self.url.clone(), self.headers.clone());
            let (body, timeout) = (Arc::clone(body), self.timeout);
            // Nobody listens any more where the call was given up.
            move || drop(sender.send(send_request(&agent, &url, &headers, &body, timeout)))
        };
        let network = |message: String| Broken::Failed(Failure::network(message));
        thread::Builder::new()
            .name("model-request".to_owned())
            .spawn(job)
            .map_err(|error| network(format!("cannot start a thread for the request: {error}")))?;

        // The thread's own time-out comes first; this one is for what it does not bound.
        let limit = Instant::now() + self.timeout + Duration::from_secs(1);
        let broken = loop {
            let now = Instant::now();
            if call.cancel.load(Ordering::Relaxed) {
                break Broken::Cancelled;
            }
            if call.deadline.is_some_and(|deadline| now >= deadline) {
                break Broken::Deadline;
            }
            if now >= limit {
                break network(format!("no reply within {} s", self.timeout.as_secs_f64()));
            }
            let left = call.deadline.map_or(POLL, |deadline| deadline.saturating_duration_since(now));
            match receiver.recv_timeout(left.min(POLL)) {
                Ok(Ok(reply)) => {
                    let mut idle = lock(&self.idle);
                    if idle.len() < KEPT {
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

    /// What an error of the network means.
    fn broken(&self, error: &ureq::Error) -> Broken {
        use ureq::Error;
        let text = match error {
            Error::Timeout(_) => format!("no reply within {} s ({error})", self.timeout.as_secs_f64()),
            other => other.to_string(),
        };
        let message = escape(&self.key.as_ref().map_or_else(|| text.clone(), |key| key.scrub(&text)));
        match error {
            Error::BodyExceedsLimit(_) => Broken::Unreadable(format!("larger than {} MiB", LARGEST >> 20)),
            Error::Protocol(_) | Error::Http(_) | Error::LargeResponseHeader(..) => {
                Broken::Unreadable(format!("not HTTP: {message}"))
            }
            // Certificates do not mend themselves.
            Error::Tls(_) | Error::Rustls(_) | Error::BadUri(_) | Error::InvalidProxyUrl => {
                Broken::Failed(Failure { is_final: true, ..Failure::network(message) })
            }
            Error::Io(io) if io.kind() == std::io::ErrorKind::InvalidData => {
                Broken::Failed(Failure { is_final: true, ..Failure::network(message) })
            }
            _ => Broken::Failed(Failure::network(message)),
        }
    }
}

/// Sends a request and reads the whole answer. What comes with an error's status is worth no error of its own.
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

/// A panic elsewhere leaves nothing here half done.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
