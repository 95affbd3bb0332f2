//! One request, from its head to its last byte.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_model::wire::{Secret, excerpt, own_wait, spread, told_wait};
use assay_trace::Usage;
use serde_json::{Value, json};

use crate::cassette::{self, Take};
use crate::conn::{Conn, Ended};
use crate::door::{Inside, JSON, told};
use crate::head::Head;
use crate::ledger::{Exchange, Mismatch, Wait};
use crate::lock;
use crate::protocol::{Changes, Dialect, Operation, Pins, Route, Seen, likely, route};
use crate::provider::{Answer, Ask, Broken, Kind, Stop};
use crate::scripted::{self, Pieces};
use crate::sse::Events;

/// Most bytes of an error's body.
const ERROR: u64 = 64 << 10;

/// Answers a request. Whether the connection can serve another.
pub(crate) fn serve(inside: &Inside, conn: &mut Conn, head: &Head, stop: &Arc<Stop>) -> bool {
    let limits = &inside.run.options.limits;
    let refuse = |conn: &mut Conn, status: u16, reason: &str, keep: bool| {
        inside.refuse(&format!("{} {}", head.method, head.path), status, reason);
        let body = likely(&head.path).dialect().error(status, reason).to_string();
        conn.reply(status, &JSON, body.as_bytes(), keep).is_ok() && keep
    };
    // Claude Code looks so whether anybody is there.
    if (head.method.as_str(), head.path.as_str()) == ("HEAD", "/") {
        return conn.reply(200, &[], b"", head.keep).is_ok() && head.keep;
    }
    if !inside.admits(head.token.as_deref()) {
        return refuse(
            conn,
            401,
            "the key is not this trial's: use the token that the agent was started with",
            false,
        );
    }
    let Some(route) = route(&head.method, &head.path) else {
        return refuse(
            conn,
            404,
            "the gateway does not pass this on: it serves replies of models only",
            false,
        );
    };
    if head.encoded {
        return refuse(conn, 415, "the body is compressed: send it as it is", false);
    }
    let bytes = match head.body(conn, limits.request_bytes, Instant::now() + limits.arrival) {
        Ok(bytes) => bytes,
        Err(Ended::Gone) => return false,
        Err(ended) => {
            let (status, reason) = told(&ended);
            return refuse(conn, status, reason, false);
        }
    };
    if route.operation == Operation::ListModels {
        let model = |id: &String| json!({"id": id, "object": "model", "type": "model", "created": 0, "owned_by": "assay"});
        let models: Vec<Value> = inside.pass.model.iter().map(model).collect();
        let body = json!({"object": "list", "data": models, "has_more": false}).to_string();
        return conn.reply(200, &JSON, body.as_bytes(), head.keep).is_ok() && head.keep;
    }
    let body = match serde_json::from_slice::<Value>(&bytes) {
        Ok(body) if body.is_object() => body,
        Ok(_) => return refuse(conn, 400, "the body is no object", head.keep),
        Err(error) => return refuse(conn, 400, &format!("the body is not JSON: {error}"), head.keep),
    };
    let asked =
        route.model.clone().or_else(|| Some(body.get("model")?.as_str()?.to_owned())).unwrap_or_default();
    let model = inside.pass.model.clone().unwrap_or_else(|| asked.clone());
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:/@+".contains(c);
    if model.is_empty() || model.len() > 200 || !model.chars().all(is_plain) || model.contains("..") {
        return refuse(conn, 400, "the model's name is none: name a model", head.keep);
    }
    let stream = match route.operation {
        Operation::Generate { stream } => {
            stream.unwrap_or_else(|| body.get("stream").and_then(Value::as_bool).unwrap_or_default())
        }
        _ => false,
    };
    if stream && route.model.is_some() && !head.asks("alt=sse") {
        return refuse(conn, 400, "streams are served as events only: ask with alt=sse", head.keep);
    }
    let exchange = Exchange {
        protocol: route.protocol,
        path: head.path.clone(),
        asked_model: excerpt(asked.as_bytes()),
        model,
        stream,
        request_bytes: bytes.len() as u64,
        ..Exchange::default()
    };
    drop(bytes);
    match inside.begin(exchange.clone()) {
        Ok((ordinal, left)) => {
            let dialect = route.protocol.dialect();
            let call = Call { inside, head, route: &route, dialect, stop, started: Instant::now() };
            call.run(conn, Exchange { ordinal, ..exchange }, body, left)
        }
        Err(reason) => refuse(conn, 400, &reason, head.keep),
    }
}

/// A request that was let through.
struct Call<'a> {
    inside: &'a Inside,
    head: &'a Head,
    route: &'a Route,
    dialect: &'static dyn Dialect,
    stop: &'a Arc<Stop>,
    started: Instant,
}

/// What is passed on.
enum Outcome {
    /// A reply, to be read.
    Answer(Answer),
    /// An error, as the provider wrote it.
    Error { status: u16, content_type: String, retry_after: Option<String>, body: Vec<u8> },
    /// No reply.
    Failed { status: u16, message: String },
    /// Nobody waits any more.
    Stopped {
        /// Whether the provider was at work.
        asked: bool,
    },
}

impl Call<'_> {
    fn run(&self, conn: &mut Conn, mut exchange: Exchange, mut body: Value, left: Option<u64>) -> bool {
        let Inside { pass, .. } = self.inside;
        let max_output_tokens = [pass.max_output_tokens, left].into_iter().flatten().min();
        let is_generated = matches!(self.route.operation, Operation::Generate { .. });
        let pins = Pins {
            model: &exchange.model,
            max_output_tokens: max_output_tokens.filter(|_| is_generated),
            provider_tools: &pass.provider_tools,
            is_home: matches!(&pass.provider.inner.kind, Kind::Server(server) if server.is_home()),
        };
        let mut changes = Changes::default();
        if let Err(reason) = self.dialect.hold(&mut body, &pins, &mut changes) {
            exchange.stripped = changes.noted;
            return self.fail(conn, exchange, 400, reason);
        }
        let conversation = self.dialect.conversation(&body);
        exchange.tools = conversation.tools.len();
        exchange.stripped.clone_from(&changes.noted);
        if is_generated {
            self.inside.follow(exchange.ordinal, &conversation);
        }
        drop(conversation);
        let parts = if self.inside.records || self.inside.takes.is_some() {
            cassette::parts(self.route.protocol, &exchange.path, &body)
        } else {
            Vec::new()
        };
        let most_output = most_output(&body);
        let bytes = body.to_string().into_bytes();
        drop(body);

        let Some(slot) = self.inside.slot(self.stop) else {
            exchange.error = Some("the agent went away".to_owned());
            self.inside.finish(exchange);
            return false;
        };
        let mut bound = Bound { request: bytes.len() as u64, most_output, spent: Usage::default() };
        let outcome = match &self.inside.takes {
            Some(_) => self.replay(&exchange, &parts),
            None => self.obtain(&mut exchange, &bytes, &mut bound),
        };
        drop(bytes);
        let mut taped = Taped::default();
        let keep = match outcome {
            Outcome::Answer(answer) => {
                self.pass_on(conn, &mut exchange, answer, &changes, &bound, &mut taped)
            }
            Outcome::Error { status, content_type, retry_after, body } => {
                let body = cassette::scrubbed(&String::from_utf8_lossy(&body), self.key());
                exchange.status = status;
                exchange.error = Some(excerpt(body.as_bytes()));
                taped = Taped {
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
                bound.settle(&mut exchange);
                drop(slot);
                let body = self.dialect.error(status, &format!("assay: {message}")).to_string().into_bytes();
                let content_type = "application/json".to_owned();
                self.tape(&exchange, parts, Taped { status, content_type, body, broke: false });
                return self.fail(conn, exchange, status, message);
            }
            Outcome::Stopped { asked } => {
                exchange.error = Some("the agent went away, or the door closed".to_owned());
                if asked {
                    bound.broke();
                }
                false
            }
        };
        drop(slot);
        bound.settle(&mut exchange);
        if is_generated {
            self.tape(&exchange, parts, taped);
        } else {
            exchange.tokens = None;
            exchange.estimated = false;
        }
        exchange.seconds = self.started.elapsed().as_secs_f64();
        self.inside.finish(exchange);
        keep
    }

    /// Answers with an error of the gateway's own.
    fn fail(&self, conn: &mut Conn, mut exchange: Exchange, status: u16, message: String) -> bool {
        let body = self.dialect.error(status, &format!("assay: {message}")).to_string();
        exchange.status = status;
        exchange.error = Some(message);
        exchange.reply_bytes = body.len() as u64;
        self.first_byte(&mut exchange);
        exchange.seconds = self.started.elapsed().as_secs_f64();
        self.inside.finish(exchange);
        conn.reply(status, &JSON, body.as_bytes(), self.head.keep).is_ok() && self.head.keep
    }

    fn key(&self) -> Option<&Secret> {
        match &self.inside.pass.provider.inner.kind {
            Kind::Server(server) => server.key(),
            Kind::Script(_) => None,
        }
    }

    fn first_byte(&self, exchange: &mut Exchange) {
        exchange.first_byte_seconds.get_or_insert_with(|| self.started.elapsed().as_secs_f64());
    }

    /// The reply that was kept for this request.
    fn replay(&self, exchange: &Exchange, parts: &[(String, String)]) -> Outcome {
        let take = self.inside.takes.as_ref().and_then(|takes| takes.get(&exchange.ordinal));
        let differs = match take {
            Some(take) => cassette::difference(&take.parts, parts),
            None => Some("request".to_owned()),
        };
        if let Some(part) = differs {
            let mut state = lock(&self.inside.state);
            state.mismatch.get_or_insert(Mismatch { ordinal: exchange.ordinal, part });
        }
        let Some(take) = take else {
            let message = format!("the cassette holds no reply to request {}", exchange.ordinal);
            return Outcome::Failed { status: 400, message };
        };
        let (status, content_type) = (take.status, take.content_type.clone());
        if status == 0 {
            return Outcome::Failed { status: 502, message: "the recorded request had no reply".to_owned() };
        }
        if !(200..300).contains(&status) {
            let body = take.body.clone().into_bytes();
            return Outcome::Error { status, content_type, retry_after: None, body };
        }
        let mut pieces: Vec<Vec<u8>> =
            take.body.split_inclusive("\n\n").map(|piece| piece.as_bytes().to_vec()).collect();
        pieces.reverse();
        let body = Box::new(Pieces { pieces, breaks: take.broke });
        Outcome::Answer(Answer { status, content_type, retry_after: None, headers: Vec::new(), body })
    }

    /// Asks until there is a reply, or there will be none.
    fn obtain(&self, exchange: &mut Exchange, bytes: &[u8], bound: &mut Bound) -> Outcome {
        let limits = &self.inside.run.options.limits;
        let provider = &self.inside.pass.provider.inner;
        let gate = match &provider.kind {
            Kind::Server(server) => Some(&server.gate),
            Kind::Script(_) => None,
        };
        let mut tries = 0;
        let mut waited = Duration::ZERO;
        loop {
            // Others may have met the limit already.
            loop {
                let now = Instant::now();
                let closed = gate.and_then(|gate| gate.closed(now));
                let (pause, status, message) = match (closed, provider.pacer.take(now)) {
                    (Some(closed), _) => {
                        let left = closed.until - now;
                        let message = format!("held back, another request met the limit: {}", closed.message);
                        (left + spread(left), Some(closed.status), message)
                    }
                    (None, Err(pause)) => {
                        (pause + spread(pause), None, "held back by the pace that was set".to_owned())
                    }
                    (None, Ok(())) => break,
                };
                if waited + pause > limits.patience {
                    return Outcome::Failed { status: status.unwrap_or(429), message };
                }
                if !self.wait(exchange, &mut waited, pause, status, message) {
                    return Outcome::Stopped { asked: false };
                }
            }
            tries += 1;
            let ask = Ask {
                route: self.route,
                model: &exchange.model,
                stream: exchange.stream,
                beta: self.head.asks("beta=true"),
                body: bytes,
                headers: &self.head.passed,
                idle: limits.provider_idle,
                stop: self.stop,
            };
            let answered = match &provider.kind {
                Kind::Server(server) => server.ask(&ask),
                Kind::Script(script) => {
                    let plan = {
                        let mut state = lock(&self.inside.state);
                        let scene = &self.inside.pass.scene;
                        scripted::ask(script, scene, &ask, exchange.ordinal, &mut state.played)
                    };
                    match plan {
                        Ok(plan) => plan.play(self.stop, limits.provider_idle),
                        Err(message) => return Outcome::Failed { status: 400, message },
                    }
                }
            };
            if self.stop.is_stopped() {
                return Outcome::Stopped { asked: true };
            }
            let (outcome, verdict) = match answered {
                Ok(answer) if (200..300).contains(&answer.status) => return Outcome::Answer(answer),
                Ok(answer) => self.judge(answer),
                Err(Broken { message, may_cost, is_final }) => {
                    if may_cost {
                        bound.broke();
                    }
                    let verdict = Verdict {
                        status: None,
                        told: None,
                        message: message.clone(),
                        limits: false,
                        is_final,
                    };
                    (Outcome::Failed { status: 502, message }, verdict)
                }
            };
            if verdict.limits
                && let (Some(gate), Some(told)) = (gate, verdict.told)
            {
                gate.close(Instant::now() + told, verdict.status.unwrap_or(429), &verdict.message);
            }
            let pause = match verdict.told {
                Some(told) => told + spread(told),
                None => own_wait(tries - 1),
            };
            if verdict.is_final || tries > limits.retries || waited + pause > limits.patience {
                return outcome;
            }
            if !self.wait(exchange, &mut waited, pause, verdict.status, verdict.message) {
                return Outcome::Stopped { asked: false };
            }
        }
    }

    /// Waits, and puts it down.
    fn wait(
        &self,
        exchange: &mut Exchange,
        waited: &mut Duration,
        pause: Duration,
        status: Option<u16>,
        message: String,
    ) -> bool {
        let began = Instant::now();
        let went_on = self.inside.wait(self.stop, pause);
        let took = began.elapsed();
        *waited += took;
        exchange.waited_seconds += took.as_secs_f64();
        exchange.waits.push(Wait { status, message, seconds: took.as_secs_f64() });
        went_on
    }

    /// What an error means.
    fn judge(&self, answer: Answer) -> (Outcome, Verdict) {
        let Answer { status, content_type, retry_after, headers, body: mut reader } = answer;
        let mut body = Vec::new();
        // What comes with an error's status is worth no error of its own.
        let _ = reader.by_ref().take(ERROR).read_to_end(&mut body);
        if body.len() as u64 == ERROR {
            drop(reader);
        } else {
            // Read to its end, so that the connection serves again.
            let _ = io::copy(&mut reader, &mut io::sink());
        }
        let said: Value = serde_json::from_slice(&body).unwrap_or_default();
        let message = excerpt(cassette::scrubbed(&String::from_utf8_lossy(&body), self.key()).as_bytes());
        if status < 400 {
            let message =
                format!("the provider answers {status} and sends elsewhere: give its address itself");
            let verdict = Verdict {
                status: Some(status),
                told: None,
                message: message.clone(),
                limits: false,
                is_final: true,
            };
            return (Outcome::Failed { status: 502, message }, verdict);
        }
        let header =
            |name: &str| headers.iter().find(|(given, _)| *given == name).map(|(_, value)| value.clone());
        let told = told_wait(&header, &body);
        // No wait pays a bill (OpenAI's code for an account that has run out).
        let is_spent = ["/error/code", "/error/type"]
            .iter()
            .any(|place| said.pointer(place).is_some_and(|word| word == "insufficient_quota"));
        let is_overload =
            status == 503 && (told.is_some() || message.to_ascii_lowercase().contains("overload"));
        let limits = matches!(status, 429 | 529) || is_overload;
        let may_pass = matches!(status, 408 | 409 | 425 | 429 | 500..=599) && !matches!(status, 501 | 505);
        let is_final = !may_pass || is_spent || header("x-should-retry").as_deref() == Some("false");
        let verdict = Verdict { status: Some(status), told, message, limits, is_final };
        (Outcome::Error { status, content_type, retry_after, body }, verdict)
    }

    /// Passes a reply on, and learns from it on the way.
    fn pass_on(
        &self,
        conn: &mut Conn,
        exchange: &mut Exchange,
        answer: Answer,
        changes: &Changes,
        bound: &Bound,
        taped: &mut Taped,
    ) -> bool {
        let Answer { status, content_type, mut body, .. } = answer;
        let mut seen = Seen::default();
        exchange.status = status;
        *taped = Taped { status, content_type: content_type.clone(), ..Taped::default() };
        let is_stream = content_type.starts_with("text/event-stream");
        let passed = if is_stream {
            self.stream(conn, exchange, &content_type, body.as_mut(), changes, &mut seen, taped)
        } else {
            self.whole(conn, exchange, &content_type, body.as_mut(), &mut seen, taped)
        };
        if let Err(message) = &passed {
            exchange.error = Some(message.clone());
        } else if let Some(error) = seen.error {
            exchange.error = Some(error);
        }
        exchange.complete = seen.finished && passed.is_ok();
        exchange.calls = seen.calls;
        exchange.replied_model = seen.model;
        if matches!(self.route.operation, Operation::Generate { .. }) {
            let usage = self.dialect.usage(&seen.usage);
            exchange.estimated = !(seen.finished && usage.is_some());
            exchange.tokens = Some(match usage {
                Some(usage) if seen.finished => usage,
                // The beginning says what was read, and the end would have said what was written.
                Some(usage) => {
                    Usage { output: bound.output(exchange.reply_bytes).max(usage.output), ..usage }
                }
                None => bound.all(exchange.reply_bytes, seen.finished),
            });
            exchange.usage = seen.usage;
        }
        passed.is_ok() && self.head.keep
    }

    /// A stream, piece by piece.
    #[expect(clippy::too_many_arguments, reason = "each is one thing that a stream touches")]
    fn stream(
        &self,
        conn: &mut Conn,
        exchange: &mut Exchange,
        content_type: &str,
        body: &mut dyn Read,
        changes: &Changes,
        seen: &mut Seen,
        taped: &mut Taped,
    ) -> Result<(), String> {
        let most = self.inside.run.options.limits.reply_bytes;
        let gone = |_| "the agent went away".to_owned();
        let mut events = Events::default();
        let mut buffer = vec![0; 16 << 10];
        let mut read = 0_u64;
        let mut begun = false;
        loop {
            let count = match body.read(&mut buffer) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    taped.broke = true;
                    let stopped = if self.stop.is_stopped() {
                        " (the agent went away, or the door closed)"
                    } else {
                        ""
                    };
                    return Err(format!(
                        "the stream broke off: {}{stopped}",
                        excerpt(error.to_string().as_bytes())
                    ));
                }
            };
            let piece = buffer.get(..count).unwrap_or_default();
            read += count as u64;
            if read > most {
                taped.broke = true;
                return Err(format!("the reply is larger than {} MiB", most >> 20));
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
            if self.inside.records {
                taped.body.extend_from_slice(piece);
            }
            if changes.hides_usage {
                let mut kept = Vec::new();
                events.feed(piece, |data| keep_event(self.dialect, seen, data, &mut kept));
                exchange.reply_bytes += kept.len() as u64;
                conn.piece(&kept).map_err(gone)?;
            } else {
                let sent = conn.piece(piece).map_err(gone);
                exchange.reply_bytes += count as u64;
                events.feed(piece, |data| {
                    learn(self.dialect, seen, data);
                });
                sent?;
            }
        }
        let mut kept = Vec::new();
        events.end(|data| keep_event(self.dialect, seen, data, &mut kept));
        if changes.hides_usage {
            exchange.reply_bytes += kept.len() as u64;
            conn.piece(&kept).map_err(gone)?;
        }
        conn.end().map_err(gone)
    }

    /// A reply in one piece.
    fn whole(
        &self,
        conn: &mut Conn,
        exchange: &mut Exchange,
        content_type: &str,
        body: &mut dyn Read,
        seen: &mut Seen,
        taped: &mut Taped,
    ) -> Result<(), String> {
        let most = self.inside.run.options.limits.reply_bytes;
        let mut bytes = Vec::new();
        let read = body.take(most + 1).read_to_end(&mut bytes);
        let wrong = match read {
            Ok(_) if bytes.len() as u64 > most => {
                Some(format!("the reply is larger than {} MiB", most >> 20))
            }
            Ok(_) => None,
            Err(error) => Some(format!("the reply broke off: {}", excerpt(error.to_string().as_bytes()))),
        };
        if let Some(wrong) = wrong {
            taped.broke = true;
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
        if self.inside.records {
            taped.body = bytes.to_vec();
        }
        let headers = [("content-type", content_type)];
        conn.reply(exchange.status, &headers, &bytes, self.head.keep)
            .map_err(|_| "the agent went away".to_owned())?;
        // Passed on as it is: what the agent makes of it is its own.
        if let Err(error) = reply
            && exchange.error.is_none()
        {
            exchange.error = Some(format!("the reply is not JSON: {error}"));
        }
        Ok(())
    }

    /// Keeps the reply, where replies are kept.
    fn tape(&self, exchange: &Exchange, parts: Vec<(String, String)>, taped: Taped) {
        if !self.inside.records {
            return;
        }
        let take = Take {
            ordinal: exchange.ordinal,
            protocol: self.route.protocol,
            path: exchange.path.clone(),
            parts,
            status: taped.status,
            content_type: taped.content_type,
            body: cassette::scrubbed(&String::from_utf8_lossy(&taped.body), self.key()),
            broke: taped.broke,
        };
        let mut state = lock(&self.inside.state);
        if let Some(recorder) = &mut state.recorder
            && let Err(error) = recorder.keep(&take)
        {
            state.cassette_error.get_or_insert(error);
        }
    }
}

/// What an error means.
struct Verdict {
    status: Option<u16>,
    told: Option<Duration>,
    message: String,
    limits: bool,
    is_final: bool,
}

/// A reply as it was passed on.
#[derive(Default)]
struct Taped {
    status: u16,
    content_type: String,
    body: Vec<u8>,
    broke: bool,
}

/// Learns from an event. Whether it holds nothing but the usage.
fn learn(dialect: &dyn Dialect, seen: &mut Seen, data: &[u8]) -> bool {
    let Ok(event) = serde_json::from_slice::<Value>(data) else { return false };
    dialect.observe(&event, seen);
    let is_empty = event.get("choices").and_then(Value::as_array).is_some_and(Vec::is_empty);
    is_empty && event.get("usage").is_some_and(Value::is_object)
}

/// Learns from an event, and keeps it unless it holds nothing but the usage.
fn keep_event(dialect: &dyn Dialect, seen: &mut Seen, data: &[u8], kept: &mut Vec<u8>) {
    if learn(dialect, seen, data) {
        return;
    }
    for line in data.split(|byte| *byte == b'\n') {
        kept.extend_from_slice(b"data: ");
        kept.extend_from_slice(line);
        kept.push(b'\n');
    }
    kept.push(b'\n');
}

/// The most tokens of a reply that a request asks for.
fn most_output(body: &Value) -> Option<u64> {
    let places =
        ["/max_tokens", "/max_completion_tokens", "/max_output_tokens", "/generationConfig/maxOutputTokens"];
    places.iter().find_map(|place| body.pointer(place)?.as_u64())
}

/// Upper bounds for what was not told: every token that was read is at least one byte of the request, and what was
/// written is at most what was asked for, or else at most one token for each byte that came.
struct Bound {
    request: u64,
    most_output: Option<u64>,
    /// Of tries that broke off.
    spent: Usage,
}

impl Bound {
    fn output(&self, came: u64) -> u64 {
        self.most_output.unwrap_or(came)
    }

    fn all(&self, came: u64, is_finished: bool) -> Usage {
        let output = if is_finished { came.min(self.output(came)) } else { self.output(came) };
        Usage { input: self.request, output, ..Usage::default() }
    }

    /// A try that broke off.
    fn broke(&mut self) {
        let bound = self.all(0, false);
        self.spent.add(&bound);
    }

    /// Adds what tries before may have cost.
    fn settle(&mut self, exchange: &mut Exchange) {
        if self.spent != Usage::default() {
            let mut tokens = exchange.tokens.unwrap_or_default();
            tokens.add(&std::mem::take(&mut self.spent));
            (exchange.tokens, exchange.estimated) = (Some(tokens), true);
        }
    }
}
