//! One request, from its head to its last byte.

mod call;
mod obtain;

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::Instant;

use assay_model::chars;
use assay_model::wire::{Secret, exceeds_context, excerpt};
use assay_trace::Usage;
use serde_json::{Value, json};

use self::call::{Call, Unmetered};
use self::obtain::Outcome;
use crate::account::Begun;
use crate::cassette::{self, Recording};
use crate::conn::{Conn, Ended, JSON};
use crate::head::Head;
use crate::ledger::Exchange;
use crate::mask::Masked;
use crate::protocol::{Changes, Dialect, Operation, Pins, Seen, likely_protocol, route};
use crate::provider::Kind;
use crate::shared::Shared;
use crate::sse::Events;
use crate::sync::lock;
use crate::upstream::{Stop, UpstreamReply};
use crate::varying::{self, Part};

/// Until a request that waits for a share of the budget asks again.
const TURN: std::time::Duration = std::time::Duration::from_millis(50);

/// Error recorded when the agent disconnected before the reply was complete.
const AWAY: &str = "the agent disconnected";

/// Answers a request. Returns whether the connection can serve another.
pub(crate) fn serve(shared: &Shared, conn: &mut Conn, head: &Head, stop: &Arc<Stop>) -> bool {
    let limits = &shared.options.limits;
    let refuse = |conn: &mut Conn, status: u16, reason: &str, keep: bool| {
        shared.refuse(&format!("{} {}", head.method, head.path), status, reason);
        let body = likely_protocol(&head.path).dialect().error(status, reason).to_string();
        conn.reply(status, &JSON, body.as_bytes(), keep).is_ok() && keep
    };
    // Claude Code checks this way whether the server is reachable.
    if (head.method.as_str(), head.path.as_str()) == ("HEAD", "/") {
        return conn.reply(200, &[], b"", head.keep).is_ok() && head.keep;
    }
    if !shared.admits(head.token.as_deref()) {
        return refuse(conn, 401, "invalid token: use the one from the agent's environment", false);
    }
    let Some(route) = route(&head.method, &head.path) else {
        return refuse(conn, 404, "unsupported path: the gateway forwards model requests only", false);
    };
    if head.encoded {
        return refuse(conn, 415, "compressed request bodies are not supported", false);
    }
    let bytes = match head.body(conn, limits.request_bytes, Instant::now() + limits.arrival) {
        Ok(bytes) => bytes,
        Err(Ended::Gone) => return false,
        Err(ended) => {
            let (status, reason) = ended.status();
            return refuse(conn, status, reason, false);
        }
    };
    if route.operation == Operation::ListModels {
        let model = |id: &String| json!({"id": id, "object": "model", "type": "model", "created": 0, "owned_by": "assay"});
        let models: Vec<Value> = shared.session.model.iter().map(model).collect();
        let body = json!({"object": "list", "data": models, "has_more": false}).to_string();
        return conn.reply(200, &JSON, body.as_bytes(), head.keep).is_ok() && head.keep;
    }
    let body = match serde_json::from_slice::<Value>(&bytes) {
        Ok(body) if body.is_object() => body,
        Ok(_) => return refuse(conn, 400, "the request body must be a JSON object", head.keep),
        Err(error) => {
            return refuse(conn, 400, &format!("invalid JSON in the request body: {error}"), head.keep);
        }
    };
    let requested =
        route.model.clone().or_else(|| Some(body.get("model")?.as_str()?.to_owned())).unwrap_or_default();
    let model = shared.session.model.clone().unwrap_or_else(|| requested.clone());
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:/@+".contains(c);
    if model.is_empty() || model.len() > 200 || !model.chars().all(is_plain) || model.contains("..") {
        return refuse(conn, 400, "missing or invalid model name", head.keep);
    }
    let stream = match route.operation {
        Operation::Generate { stream } => {
            stream.unwrap_or_else(|| body.get("stream").and_then(Value::as_bool).unwrap_or_default())
        }
        _ => false,
    };
    if stream && route.model.is_some() && !head.has_query("alt=sse") {
        return refuse(conn, 400, "streaming requires alt=sse", head.keep);
    }
    let exchange = Exchange {
        protocol: route.protocol,
        path: head.path.clone(),
        requested_model: excerpt(requested.as_bytes()),
        model,
        stream,
        request_bytes: bytes.len() as u64,
        ..Exchange::default()
    };
    drop(bytes);
    // What generates nothing costs nothing. A replay costs nothing, either.
    let is_paid = matches!(route.operation, Operation::Generate { .. }) && shared.recordings.is_none();
    let ceiling = is_paid.then(|| shared.ceiling(&exchange.model, &body));
    let mut exchange = exchange;
    loop {
        let arrived = Instant::now();
        match shared.begin(exchange.clone(), ceiling) {
            Begun::Admitted(ordinal) => {
                let _guard = ReleaseGuard { shared, ordinal };
                let dialect = route.protocol.dialect();
                let call = Call { shared, head, route: &route, dialect, stop, started: Instant::now() };
                return call.run(conn, Exchange { ordinal, ..exchange }, body);
            }
            Begun::Capped(capped) => return refuse(conn, 400, &capped.reason, head.keep),
            Begun::Deferred => {
                if !shared.wait_for_budget(stop, TURN) {
                    return false;
                }
                exchange.waited_seconds += arrived.elapsed().as_secs_f64();
            }
        }
    }
}

/// Ends the reservation of a request that ends in a way that nobody expects.
struct ReleaseGuard<'a> {
    shared: &'a Shared,
    ordinal: usize,
}

impl Drop for ReleaseGuard<'_> {
    fn drop(&mut self) {
        self.shared.release(self.ordinal, None);
    }
}

impl Call<'_> {
    fn run(&self, conn: &mut Conn, mut exchange: Exchange, mut body: Value) -> bool {
        let Shared { session, .. } = self.shared;
        let is_generated = matches!(self.route.operation, Operation::Generate { .. });
        let pins = Pins {
            model: &exchange.model,
            // Only what the user set: the rest of a cap is far above what providers accept as the
            // limit of one reply, and a limit that the agent did not set would change what is
            // measured.
            max_output_tokens: session.max_output_tokens.filter(|_| is_generated),
            temperature: session.temperature.filter(|_| is_generated),
            provider_tools: &session.provider_tools,
            is_home: matches!(&session.provider.inner.kind, Kind::Server(server) if server.is_home()),
        };
        let mut changes = Changes::default();
        if let Err(reason) = self.dialect.constrain(&mut body, &pins, &mut changes) {
            exchange.stripped = changes.noted;
            exchange.misconfigured = true;
            return self.fail(conn, exchange, 400, reason.to_string());
        }
        let conversation = self.dialect.conversation(&body);
        exchange.tools = conversation.tools.len();
        exchange.stripped.clone_from(&changes.noted);
        if is_generated {
            self.shared.follow(exchange.ordinal, &conversation);
        }
        drop(conversation);
        let parts = if self.shared.records || self.shared.recordings.is_some() {
            varying::parts(self.route.protocol, &exchange.path, &body, &session.varying)
        } else {
            Vec::new()
        };
        let mut unmetered = Unmetered::new(chars(&body));
        let bytes = body.to_string().into_bytes();
        drop(body);

        let Some(slot) = self.shared.take_slot(self.stop) else {
            exchange.error = Some(AWAY.to_owned());
            exchange.abandoned = true;
            self.shared.finish(exchange);
            return false;
        };
        let outcome = match &self.shared.recordings {
            Some(_) => self.replay(&exchange, &parts),
            None => self.obtain(&mut exchange, &bytes, &mut unmetered),
        };
        drop(bytes);
        let mut recorded = RecordedReply::default();
        let keep = match outcome {
            Outcome::Reply(answer) => {
                self.send_reply(conn, &mut exchange, answer, &changes, &unmetered, &mut recorded)
            }
            Outcome::Error { status, content_type, retry_after, body } => {
                let body = cassette::scrubbed(&String::from_utf8_lossy(&body), self.key());
                exchange.status = status;
                exchange.error = Some(excerpt(body.as_bytes()));
                exchange.context_exceeded = obtain::is_overflow(status, body.as_bytes());
                recorded = RecordedReply {
                    status,
                    content_type: content_type.clone(),
                    body: body.clone().into_bytes(),
                    broke: false,
                };
                let mut headers = vec![("content-type", content_type.as_str())];
                headers.extend(retry_after.as_deref().map(|value| ("retry-after", value)));
                self.first_byte(&mut exchange);
                exchange.reply_bytes = body.len() as u64;
                conn.reply(status, &headers, body.as_bytes(), self.head.keep).is_ok() && self.head.keep
            }
            Outcome::Failed { status, message } => {
                unmetered.add_failed_tries(&mut exchange);
                drop(slot);
                let body = self.dialect.error(status, &format!("assay: {message}")).to_string().into_bytes();
                let content_type = "application/json".to_owned();
                self.record_reply(
                    &exchange,
                    parts,
                    RecordedReply { status, content_type, body, broke: false },
                );
                return self.fail(conn, exchange, status, message);
            }
            Outcome::Stopped { was_sent } => {
                exchange.error = Some(format!("{AWAY}, or the proxy closed"));
                exchange.abandoned = true;
                if was_sent {
                    unmetered.count_failed_try();
                }
                false
            }
        };
        drop(slot);
        unmetered.add_failed_tries(&mut exchange);
        if is_generated {
            self.record_reply(&exchange, parts, recorded);
        } else {
            exchange.tokens = None;
            exchange.estimated = false;
            exchange.unreported = false;
            exchange.estimated_tokens = Usage::default();
        }
        exchange.seconds = self.started.elapsed().as_secs_f64();
        self.shared.finish(exchange);
        keep
    }

    /// Answers with an error of the gateway itself.
    fn fail(&self, conn: &mut Conn, mut exchange: Exchange, status: u16, message: String) -> bool {
        let body = self.dialect.error(status, &format!("assay: {message}")).to_string();
        exchange.status = status;
        exchange.error = Some(message);
        exchange.reply_bytes = body.len() as u64;
        self.first_byte(&mut exchange);
        exchange.seconds = self.started.elapsed().as_secs_f64();
        self.shared.finish(exchange);
        conn.reply(status, &JSON, body.as_bytes(), self.head.keep).is_ok() && self.head.keep
    }

    fn key(&self) -> Option<&Secret> {
        match &self.shared.session.provider.inner.kind {
            Kind::Server(server) => server.key(),
            Kind::Script(_) => None,
        }
    }

    fn first_byte(&self, exchange: &mut Exchange) {
        exchange.first_byte_seconds.get_or_insert_with(|| self.started.elapsed().as_secs_f64());
    }

    /// Forwards a reply, and reads usage and calls from it.
    fn send_reply(
        &self,
        conn: &mut Conn,
        exchange: &mut Exchange,
        answer: UpstreamReply,
        changes: &Changes,
        unmetered: &Unmetered,
        recorded: &mut RecordedReply,
    ) -> bool {
        let UpstreamReply { status, content_type, mut body, .. } = answer;
        let mut seen = Seen::default();
        exchange.status = status;
        *recorded = RecordedReply { status, content_type: content_type.clone(), ..RecordedReply::default() };
        let is_stream = content_type.starts_with("text/event-stream");
        let passed = if is_stream {
            self.send_stream(conn, exchange, &content_type, body.as_mut(), changes, &mut seen, recorded)
        } else {
            self.send_whole(conn, exchange, &content_type, body.as_mut(), &mut seen, recorded)
        };
        let is_away =
            passed.as_ref().is_err_and(|error| self.stop.is_stopped() || matches!(error, PassError::Away));
        // Clients may close the connection as soon as they have read the last event, or an error.
        let is_served = is_stream && is_away && seen.finished;
        if let Some(error) = &seen.error {
            exchange.context_exceeded = exceeds_context(error);
            exchange.error = Some(error.clone());
        } else if let Err(error) = &passed
            && !is_served
        {
            exchange.error = Some(error.to_string());
            exchange.abandoned = is_away;
        }
        exchange.complete = seen.finished && (passed.is_ok() || is_served);
        if matches!(self.route.operation, Operation::Generate { .. }) {
            let usage = self.dialect.usage(&seen.usage);
            let (tokens, guess) = unmetered.reply(usage, &seen);
            exchange.estimated = guess.is_some();
            exchange.estimated_tokens = guess.unwrap_or_default();
            exchange.unreported = seen.finished && guess.is_some();
            exchange.tokens = Some(tokens);
            exchange.usage = seen.usage;
        }
        exchange.calls = seen.calls;
        exchange.replied_model = seen.model;
        passed.is_ok() && self.head.keep
    }

    /// Forwards a stream, piece by piece.
    #[expect(clippy::too_many_arguments, reason = "each is a separate part of the exchange")]
    fn send_stream(
        &self,
        conn: &mut Conn,
        exchange: &mut Exchange,
        content_type: &str,
        body: &mut dyn Read,
        changes: &Changes,
        seen: &mut Seen,
        recorded: &mut RecordedReply,
    ) -> Result<(), PassError> {
        let most = self.shared.options.limits.reply_bytes;
        let gone = |_| PassError::Away;
        let mut events = Events::default();
        let (mut sent, mut kept) = (Masked::of(self.key()), Masked::of(self.key()));
        let mut buffer = vec![0; 16 << 10];
        let mut read = 0_u64;
        let mut begun = false;
        loop {
            let count = match body.read(&mut buffer) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    recorded.broke = true;
                    let (error, is_stopped) = (excerpt(error.to_string().as_bytes()), self.stop.is_stopped());
                    return Err(PassError::StreamBroke { error, is_stopped });
                }
            };
            let piece = buffer.get(..count).unwrap_or_default();
            read += count as u64;
            if read > most {
                recorded.broke = true;
                return Err(PassError::TooLarge { mebibytes: most >> 20 });
            }
            if !begun {
                begun = true;
                conn.begin(
                    200,
                    &[("content-type", content_type), ("cache-control", "no-cache")],
                    self.head.keep,
                )
                .map_err(gone)?;
                self.first_byte(exchange);
            }
            if count == 0 {
                break;
            }
            if self.shared.records {
                recorded.body.extend_from_slice(&kept.feed(piece));
            }
            if changes.hides_usage {
                let mut shown = Vec::new();
                events.feed(piece, |data| {
                    self.shared.note_data();
                    forward_event(self.dialect, seen, data, &mut shown);
                });
                exchange.reply_bytes += shown.len() as u64;
                conn.piece(&sent.feed(&shown)).map_err(gone)?;
            } else {
                let passed = conn.piece(&sent.feed(piece)).map_err(gone);
                exchange.reply_bytes += count as u64;
                events.feed(piece, |data| {
                    self.shared.note_data();
                    observe_event(self.dialect, seen, data);
                });
                passed?;
            }
        }
        if self.shared.records {
            recorded.body.extend_from_slice(&kept.end());
        }
        let mut shown = Vec::new();
        events.end(|data| forward_event(self.dialect, seen, data, &mut shown));
        if changes.hides_usage {
            exchange.reply_bytes += shown.len() as u64;
            conn.piece(&sent.feed(&shown)).map_err(gone)?;
        }
        conn.piece(&sent.end()).map_err(gone)?;
        conn.end().map_err(gone)
    }

    /// Forwards a reply in one piece.
    fn send_whole(
        &self,
        conn: &mut Conn,
        exchange: &mut Exchange,
        content_type: &str,
        body: &mut dyn Read,
        seen: &mut Seen,
        recorded: &mut RecordedReply,
    ) -> Result<(), PassError> {
        let most = self.shared.options.limits.reply_bytes;
        let mut bytes = Vec::new();
        let read = body.take(most + 1).read_to_end(&mut bytes);
        if read.is_ok() {
            self.shared.note_data();
        }
        let wrong = match read {
            Ok(_) if bytes.len() as u64 > most => Some(PassError::TooLarge { mebibytes: most >> 20 }),
            Ok(_) => None,
            Err(error) => Some(PassError::ReplyBroke(excerpt(error.to_string().as_bytes()))),
        };
        if let Some(wrong) = wrong {
            recorded.broke = true;
            seen.received = String::from_utf8_lossy(&bytes).chars().count() as u64;
            exchange.status = 502;
            let body = self.dialect.error(502, &format!("assay: {wrong}")).to_string();
            let _ = conn.reply(502, &JSON, body.as_bytes(), false);
            return Err(wrong);
        }
        let reply = serde_json::from_slice::<Value>(&bytes);
        if let Ok(reply) = &reply {
            self.dialect.observe(reply, seen);
        }
        let bytes = self.key().map_or_else(|| bytes.clone().into(), |key| key.scrub_kept(&bytes));
        self.first_byte(exchange);
        exchange.reply_bytes = bytes.len() as u64;
        if self.shared.records {
            recorded.body = bytes.to_vec();
        }
        let headers = [("content-type", content_type)];
        conn.reply(exchange.status, &headers, &bytes, self.head.keep).map_err(|_| PassError::Away)?;
        // Forwarded as it is: handling it is up to the agent.
        if let Err(error) = reply
            && exchange.error.is_none()
        {
            exchange.error = Some(format!("invalid JSON in the reply: {error}"));
        }
        Ok(())
    }

    /// Records the reply if the session records.
    fn record_reply(&self, exchange: &Exchange, parts: Vec<Part>, recorded: RecordedReply) {
        if !self.shared.records {
            return;
        }
        let recording = Recording {
            ordinal: exchange.ordinal,
            protocol: self.route.protocol,
            path: exchange.path.clone(),
            parts: Vec::new(),
            texts: BTreeMap::new(),
            status: recorded.status,
            content_type: recorded.content_type,
            body: cassette::scrubbed(&String::from_utf8_lossy(&recorded.body), self.key()),
            broke: recorded.broke,
        };
        let mut state = lock(&self.shared.state);
        if let Some(recorder) = &mut state.recorder
            && let Err(error) = recorder.write_recording(recording, parts, self.key())
        {
            state.cassette_error.get_or_insert_with(|| error.to_string());
        }
    }
}

/// Why a reply was not forwarded to its end.
#[derive(Debug, thiserror::Error)]
enum PassError {
    #[error("{AWAY}")]
    Away,
    #[error("the stream was interrupted: {error}{}", if *is_stopped { format!(" ({AWAY}, or the proxy closed)") } else { String::new() })]
    StreamBroke { error: String, is_stopped: bool },
    #[error("the reply was interrupted: {0}")]
    ReplyBroke(String),
    #[error("the reply is larger than {mebibytes} MiB")]
    TooLarge { mebibytes: u64 },
}

/// A reply as it was forwarded.
#[derive(Default)]
struct RecordedReply {
    status: u16,
    content_type: String,
    body: Vec<u8>,
    broke: bool,
}

/// Reads an event. Returns whether it contains only the usage.
fn observe_event(dialect: &dyn Dialect, seen: &mut Seen, data: &[u8]) -> bool {
    let Ok(event) = serde_json::from_slice::<Value>(data) else { return false };
    dialect.observe(&event, seen);
    let is_empty = event.get("choices").and_then(Value::as_array).is_some_and(Vec::is_empty);
    is_empty && event.get("usage").is_some_and(Value::is_object)
}

/// Reads an event, and keeps it unless it contains only the usage.
fn forward_event(dialect: &dyn Dialect, seen: &mut Seen, data: &[u8], kept: &mut Vec<u8>) {
    if observe_event(dialect, seen, data) {
        return;
    }
    for line in data.split(|byte| *byte == b'\n') {
        kept.extend_from_slice(b"data: ");
        kept.extend_from_slice(line);
        kept.push(b'\n');
    }
    kept.push(b'\n');
}
