//! Obtains a reply to a request: from the provider, with retries, or from a cassette.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_model::wire::{Closed, Gate, exceeds_context, excerpt, requested_wait, retry_wait, spread_wait};
use serde_json::Value;

use super::call::{Call, Unmetered};
use crate::cassette::{self, Recording};
use crate::ledger::{Exchange, Wait};
use crate::provider::Kind;
use crate::scripted::{self, Pieces};
use crate::sync::lock;
use crate::upstream::{UpstreamError, UpstreamReply, UpstreamRequest};
use crate::varying::{self, Part};

/// Maximum bytes of an error's body.
const ERROR: u64 = 64 << 10;

/// What is forwarded to the agent.
pub(super) enum Outcome {
    /// A reply whose body is still to be read.
    Reply(UpstreamReply),
    /// An error, as the provider wrote it.
    Error { status: u16, content_type: String, retry_after: Option<String>, body: Vec<u8> },
    /// No reply.
    Failed { status: u16, message: String },
    /// The agent has disconnected, or the proxy closes.
    Stopped {
        /// Whether the provider had received the request.
        was_sent: bool,
    },
}

/// The classification of an error.
struct ErrorClass {
    status: Option<u16>,
    requested_wait: Option<Duration>,
    message: String,
    is_limit: bool,
    is_final: bool,
}

/// Whether an error means that the conversation is longer than the model's context. Some statuses
/// never do, whatever the text.
pub(super) fn is_overflow(status: u16, body: &[u8]) -> bool {
    !matches!(status, 401 | 403 | 404 | 429) && exceeds_context(&String::from_utf8_lossy(body))
}

impl Call<'_> {
    /// Finds the recorded reply to this request.
    pub(super) fn replay(&self, exchange: &Exchange, parts: &[Part]) -> Outcome {
        let recording = self.find_recording(exchange.ordinal, parts);
        let Some(recording) = recording else {
            let message = format!("no recorded reply for request {} in the cassette", exchange.ordinal);
            return Outcome::Failed { status: 400, message };
        };
        let (status, content_type) = (recording.status, recording.content_type.clone());
        if status == 0 {
            return Outcome::Failed { status: 502, message: "the recorded request had no reply".to_owned() };
        }
        if !(200..300).contains(&status) {
            let body = recording.body.clone().into_bytes();
            return Outcome::Error { status, content_type, retry_after: None, body };
        }
        let mut pieces: Vec<Vec<u8>> =
            recording.body.split_inclusive("\n\n").map(|piece| piece.as_bytes().to_vec()).collect();
        pieces.reverse();
        let body = Box::new(Pieces { pieces, breaks: recording.broke });
        Outcome::Reply(UpstreamReply { status, content_type, retry_after: None, headers: Vec::new(), body })
    }

    /// The recording at the same position or, if the request differs, the first identical one: an
    /// agent that sends two requests at once does not always send them in the same order.
    fn find_recording(&self, ordinal: usize, parts: &[Part]) -> Option<&Recording> {
        let recordings = self.shared.recordings.as_ref()?;
        let mut state = lock(&self.shared.state);
        let left: Vec<&Recording> = recordings
            .values()
            .filter(|recording| !state.played_recordings.contains(&recording.ordinal))
            .collect();
        let own = left.iter().copied().find(|recording| recording.ordinal == ordinal);
        let differs = |recording: &Recording| varying::difference(&recording.parts, parts);
        let first = own.map_or(Some("request".to_owned()), differs);
        let same = || left.iter().copied().find(|recording| differs(recording).is_none());
        let recording = match first {
            None => own,
            Some(part) => same().or_else(|| {
                state.mismatch.get_or_insert_with(|| {
                    let mut kept = own.into_iter().flat_map(|own| &own.parts);
                    let digest = kept.find(|(name, _)| *name == part).map(|(_, digest)| digest);
                    let kept = digest.and_then(|digest| {
                        recordings.values().find_map(|recording| recording.texts.get(digest))
                    });
                    let now = parts.iter().find(|now| now.name == part);
                    let now = now.map(|now| cassette::scrubbed(&now.text, None));
                    varying::describe(ordinal, part, kept.map(String::as_str), now.as_deref())
                });
                own
            }),
        };
        state.played_recordings.extend(recording.map(|recording| recording.ordinal));
        recording
    }

    /// Sends the request until there is a reply, or until retrying is pointless.
    pub(super) fn obtain(&self, exchange: &mut Exchange, bytes: &[u8], unmetered: &mut Unmetered) -> Outcome {
        let limits = &self.shared.options.limits;
        let provider = &self.shared.session.provider.inner;
        let gate = match &provider.kind {
            Kind::Server(server) => Some(&server.gate),
            Kind::Script(_) => None,
        };
        let mut tries = 0;
        let mut waited = Duration::ZERO;
        loop {
            if let Err(outcome) = self.await_turn(exchange, &mut waited, gate) {
                return outcome;
            }
            tries += 1;
            let ask = UpstreamRequest {
                route: self.route,
                model: &exchange.model,
                stream: exchange.stream,
                beta: self.head.has_query("beta=true"),
                body: bytes,
                headers: &self.head.passed,
                idle: limits.provider_idle,
                stop: self.stop,
            };
            let answered = match &provider.kind {
                Kind::Server(server) => server.send_request(&ask),
                Kind::Script(script) => {
                    let plan = {
                        let mut state = lock(&self.shared.state);
                        let context = &self.shared.session.script_context;
                        scripted::plan_reply(script, context, &ask, exchange.ordinal, &mut state.played)
                    };
                    match plan {
                        Ok(plan) => plan.into_reply(self.stop, limits.provider_idle),
                        Err(error) => {
                            exchange.misconfigured = true;
                            return Outcome::Failed { status: 400, message: error.to_string() };
                        }
                    }
                }
            };
            if self.stop.is_stopped() {
                return Outcome::Stopped { was_sent: true };
            }
            let (outcome, class) = match answered {
                Ok(answer) if (200..300).contains(&answer.status) => return Outcome::Reply(answer),
                Ok(answer) => {
                    let judged = self.classify_error(answer);
                    self.shared.note_data();
                    judged
                }
                Err(UpstreamError { message, may_cost, is_final }) => {
                    if may_cost {
                        unmetered.count_failed_try();
                    }
                    let class = ErrorClass {
                        status: None,
                        requested_wait: None,
                        message: message.clone(),
                        is_limit: false,
                        is_final,
                    };
                    (Outcome::Failed { status: 502, message }, class)
                }
            };
            if class.is_limit
                && let (Some(gate), Some(requested_wait)) = (gate, class.requested_wait)
            {
                gate.close_for(requested_wait, class.status.unwrap_or(429), &class.message);
            }
            let pause = match class.requested_wait {
                Some(requested_wait) => requested_wait + spread_wait(requested_wait),
                None => retry_wait(tries - 1),
            };
            if class.is_final || tries > limits.retries || self.is_too_long(waited, pause) {
                return outcome;
            }
            if !self.wait(exchange, &mut waited, pause, class.status, class.message) {
                return Outcome::Stopped { was_sent: false };
            }
        }
    }

    /// Waits until a request may be sent: another may have reached a limit already.
    fn await_turn(
        &self,
        exchange: &mut Exchange,
        waited: &mut Duration,
        gate: Option<&Arc<Gate>>,
    ) -> Result<(), Outcome> {
        let pacer = &self.shared.session.provider.inner.pacer;
        loop {
            let now = Instant::now();
            let wait_for = |closed: Closed| {
                let left = closed.until.saturating_duration_since(now);
                let message =
                    format!("waiting for a rate limit that another request met: {}", closed.message);
                (left + spread_wait(left), Some(closed.status), message)
            };
            let (pause, status, message) = if let Some(closed) = gate.and_then(|gate| gate.closed(now)) {
                wait_for(closed)
            } else if let Err(pause) = pacer.reserve(now) {
                (pause + spread_wait(pause), None, "delayed by the configured rate limit".to_owned())
            } else if let Some(Err(closed)) = gate.map(|gate| gate.enter(now)) {
                wait_for(closed)
            } else {
                return Ok(());
            };
            if self.is_too_long(*waited, pause) {
                return Err(Outcome::Failed { status: status.unwrap_or(429), message });
            }
            if !self.wait(exchange, waited, pause, status, message) {
                return Err(Outcome::Stopped { was_sent: false });
            }
        }
    }

    /// Whether a wait exceeds the patience of the request or of the trial.
    fn is_too_long(&self, waited: Duration, pause: Duration) -> bool {
        let limits = &self.shared.options.limits;
        let own = self.shared.session.patience.unwrap_or(limits.trial_patience).min(limits.trial_patience);
        waited + pause > limits.patience || self.shared.waited() + pause > own
    }

    /// Waits, and records the wait.
    fn wait(
        &self,
        exchange: &mut Exchange,
        waited: &mut Duration,
        pause: Duration,
        status: Option<u16>,
        message: String,
    ) -> bool {
        let began = Instant::now();
        let went_on = self.shared.wait(self.stop, pause);
        let took = began.elapsed();
        *waited += took;
        exchange.waited_seconds += took.as_secs_f64();
        exchange.waits.push(Wait { status, message, seconds: took.as_secs_f64() });
        went_on
    }

    /// Classifies an error.
    fn classify_error(&self, answer: UpstreamReply) -> (Outcome, ErrorClass) {
        let UpstreamReply { status, content_type, retry_after, headers, body: mut reader } = answer;
        let mut body = Vec::new();
        // An error while reading an error's body adds nothing.
        let _ = reader.by_ref().take(ERROR).read_to_end(&mut body);
        if body.len() as u64 == ERROR {
            drop(reader);
        } else {
            // Read to its end, so that the connection can be reused.
            let _ = io::copy(&mut reader, &mut io::sink());
        }
        let said: Value = serde_json::from_slice(&body).unwrap_or_default();
        let message = excerpt(cassette::scrubbed(&String::from_utf8_lossy(&body), self.key()).as_bytes());
        if status < 400 {
            let message = format!("the provider redirects ({status}): set base_url to the final address");
            let class = ErrorClass {
                status: Some(status),
                requested_wait: None,
                message: message.clone(),
                is_limit: false,
                is_final: true,
            };
            return (Outcome::Failed { status: 502, message }, class);
        }
        let header =
            |name: &str| headers.iter().find(|(given, _)| *given == name).map(|(_, value)| value.clone());
        let requested_wait = requested_wait(&header, &body);
        // Waiting does not help if the account has run out (OpenAI's code).
        let is_spent = ["/error/code", "/error/type"]
            .iter()
            .any(|place| said.pointer(place).is_some_and(|word| word == "insufficient_quota"));
        let is_overflow = is_overflow(status, &body);
        let is_overload =
            status == 503 && (requested_wait.is_some() || message.to_ascii_lowercase().contains("overload"));
        let is_limit = matches!(status, 429 | 529) || is_overload;
        let may_pass = matches!(status, 408 | 409 | 425 | 429 | 500..=599) && !matches!(status, 501 | 505);
        let is_final =
            !may_pass || is_spent || is_overflow || header("x-should-retry").as_deref() == Some("false");
        let class = ErrorClass { status: Some(status), requested_wait, message, is_limit, is_final };
        (Outcome::Error { status, content_type, retry_after, body }, class)
    }
}
