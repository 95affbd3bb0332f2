//! A script as the provider: it answers in the protocol of the request, with the faults that it
//! defines.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use assay_model::{Fault, ModelError, Script, ScriptContext, tokens};
use serde_json::{Value, json};

use crate::protocol::{Operation, ScriptedReply};
use crate::upstream::{Stop, UpstreamError, UpstreamReply, UpstreamRequest};

/// Plans the reply to a request. `played` counts, by line of the script, how often each rule has
/// answered; the chosen rule's count is incremented.
pub(crate) fn plan_reply(
    script: &Script,
    script_context: &ScriptContext,
    upstream: &UpstreamRequest<'_>,
    ordinal: usize,
    played: &mut std::collections::BTreeMap<usize, u32>,
) -> Result<ReplyPlan, ModelError> {
    let body: Value = serde_json::from_slice(upstream.body).unwrap_or_default();
    if upstream.route.operation == Operation::CountTokens {
        let count = tokens(&body.to_string());
        return Ok(ReplyPlan::with_body(200, &json!({"input_tokens": count, "totalTokens": count})));
    }
    let dialect = upstream.route.protocol.dialect();
    let request = dialect.conversation(&body);
    let mut turn =
        script.next_turn(script_context, &request, &|line| played.get(&line).copied().unwrap_or(0))?;
    *played.entry(turn.line).or_default() += 1;
    if turn.fault == Some(Fault::Break) {
        "An answer that breaks off, as scripted.".clone_into(&mut turn.say);
    }
    let said = ScriptedReply { turn: &turn, model: upstream.model, ordinal, request: &body };
    let events = || dialect.events(&said).into_iter().map(String::into_bytes).collect::<Vec<_>>();
    let mut plan = match turn.fault {
        Some(Fault::Status { status, retry_after }) => {
            let mut plan = ReplyPlan::with_body(status, &dialect.error(status, "a fault, as scripted"));
            plan.retry_after = retry_after.map(|seconds| seconds.to_string());
            plan
        }
        Some(Fault::NotJson) => ReplyPlan {
            content_type: "text/html",
            pieces: vec![b"<html><body>not JSON, as scripted</body></html>".to_vec()],
            ..ReplyPlan::with_body(200, &Value::Null)
        },
        Some(Fault::Hang) => ReplyPlan { hangs: true, ..ReplyPlan::with_body(200, &Value::Null) },
        _ if upstream.stream => ReplyPlan {
            content_type: "text/event-stream",
            pieces: events(),
            ..ReplyPlan::with_body(200, &Value::Null)
        },
        _ => ReplyPlan::with_body(200, &dialect.reply(&said)),
    };
    if turn.fault == Some(Fault::Break) {
        plan.breaks = true;
        if upstream.stream {
            // At least the first event is sent: it shows that the reply has begun.
            let half = plan.pieces.len().div_ceil(2).max(1).min(plan.pieces.len().saturating_sub(1));
            plan.pieces.truncate(half);
        } else if let Some(piece) = plan.pieces.first_mut() {
            piece.truncate(piece.len() / 2);
        }
    }
    Ok(plan)
}

/// A planned reply, with its faults.
pub(crate) struct ReplyPlan {
    status: u16,
    content_type: &'static str,
    retry_after: Option<String>,
    pieces: Vec<Vec<u8>>,
    breaks: bool,
    hangs: bool,
}

impl ReplyPlan {
    fn with_body(status: u16, body: &Value) -> Self {
        Self {
            status,
            content_type: "application/json",
            retry_after: None,
            pieces: vec![body.to_string().into_bytes()],
            breaks: false,
            hangs: false,
        }
    }

    /// Plays the reply.
    pub(crate) fn into_reply(self, stop: &Arc<Stop>, idle: Duration) -> Result<UpstreamReply, UpstreamError> {
        if self.hangs {
            stop.pause(idle);
            let message = "the provider sent nothing for too long, as scripted".to_owned();
            return Err(UpstreamError { message, may_cost: true, is_final: false });
        }
        let headers = self.retry_after.iter().map(|value| ("retry-after", value.clone())).collect();
        let mut pieces = self.pieces;
        pieces.reverse();
        Ok(UpstreamReply {
            status: self.status,
            content_type: self.content_type.to_owned(),
            retry_after: self.retry_after,
            headers,
            body: Box::new(Pieces { pieces, breaks: self.breaks }),
        })
    }
}

/// Pieces of a body, one per read; the last of the list comes next.
pub(crate) struct Pieces {
    pub(crate) pieces: Vec<Vec<u8>>,
    pub(crate) breaks: bool,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(piece) = self.pieces.last_mut() else {
            return if self.breaks { Err(io::ErrorKind::ConnectionReset.into()) } else { Ok(0) };
        };
        let count = piece.as_slice().read(buffer)?;
        piece.drain(..count);
        if piece.is_empty() {
            self.pieces.pop();
        }
        Ok(count)
    }
}
