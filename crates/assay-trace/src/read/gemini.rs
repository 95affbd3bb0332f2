//! Gemini CLI: the session that it keeps on disk, as lines or, before 2026, as one document; and
//! the output of `--output-format stream-json`.
//!
//! A session repeats a message under the same name when it has grown; the later record is complete.
//! Printed results show what a person sees of a skill; only the session has what the model got.

use std::collections::BTreeMap;

use serde_json::Value;

use super::builder::{Builder, Hidden};
use super::marks::{Mark, Need};
use super::reader::{Decoder, Reader, Shape};
use super::text::{count, join, object, text_of, word};
use crate::Usage;
use crate::{ObservationResult, Source, ToolCall};

/// The session on disk, a record a line.
pub(crate) struct Session;

/// The session on disk, as one document.
pub(crate) struct Document;

/// Standard output.
pub(crate) struct Stream;

impl Reader for Session {
    fn name(&self) -> &'static str {
        "gemini-cli"
    }

    fn marks(&self) -> &'static [Mark] {
        &[
            &[Need::Has("/projectHash"), Need::Lacks("/messages")],
            &[Need::Has("/id"), Need::Word("/type", &["gemini"])],
        ]
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(SessionLog)
    }
}

impl Reader for Document {
    fn name(&self) -> &'static str {
        "gemini-cli-document"
    }

    fn marks(&self) -> &'static [Mark] {
        &[&[Need::Has("/projectHash"), Need::List("/messages")]]
    }

    fn shape(&self) -> Shape {
        Shape::Document
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(SessionLog)
    }
}

impl Reader for Stream {
    fn name(&self) -> &'static str {
        "gemini-cli-stream"
    }

    fn marks(&self) -> &'static [Mark] {
        &[
            &[
                Need::Word("/type", &["init"]),
                Need::Has("/session_id"),
                Need::Has("/model"),
                Need::Lacks("/uuid"),
            ],
            &[Need::Word("/type", &["tool_use"]), Need::Has("/tool_name"), Need::Has("/tool_id")],
        ]
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(StreamLog::default())
    }
}

struct SessionLog;

impl Decoder for SessionLog {
    fn record(&mut self, json: &[u8], out: &mut Builder) -> Result<(), serde_json::Error> {
        let record: Value = serde_json::from_slice(json)?;
        if record.get("projectHash").is_some()
            && let Some(session) = word(&record, "sessionId")
            && out.is_elsewhere(session, false)
        {
            return Ok(());
        }
        "gemini-cli".clone_into(&mut out.head.agent.name);
        if record.get("projectHash").is_some() {
            out.head.session_id = word(&record, "sessionId").map(str::to_owned);
        }
        let set = record.get("$set").unwrap_or(&record);
        if let Some(messages) = set.get("messages").and_then(Value::as_array) {
            for message in messages {
                read_message(message, out);
            }
        } else if record.get("id").is_some() {
            read_message(&record, out);
        } else if record.get("$set").is_none()
            && record.get("projectHash").is_none()
            && record.get("$rewindTo").is_none()
        {
            out.unknown(word(&record, "type").unwrap_or_default());
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Builder) {
        out.head.hidden.listing = true;
    }
}

fn read_message(message: &Value, out: &mut Builder) {
    let time = out.time(word(message, "timestamp"));
    let id = word(message, "id");
    let content = message.get("content").unwrap_or(&Value::Null);
    match word(message, "type").unwrap_or_default() {
        "user" => {
            if let Some(id) = id
                && out.is_known(id)
            {
                return;
            }
            let mut answers = false;
            for part in content.as_array().into_iter().flatten() {
                if let Some(response) = part.get("functionResponse") {
                    answers = true;
                    out.result(
                        None,
                        word(response, "id").unwrap_or_default(),
                        answer(response),
                        time.clone(),
                    );
                }
            }
            let text = text_of(content).unwrap_or_default();
            if !answers && !text.is_empty() {
                let injected = text.starts_with("<session_context>");
                let step = out.add_message(None, Source::User, text, time);
                if injected {
                    step.extra.insert("injected".to_owned(), true.into());
                }
            }
        }
        "gemini" => grown(message, id, time.as_deref(), out),
        "info" | "warning" | "error" => {}
        kind => out.unknown(kind),
    }
}

/// A message of the model, as far as it is complete.
fn grown(message: &Value, id: Option<&str>, time: Option<&str>, out: &mut Builder) {
    let step = out.message_by(word(message, "model"), id, time.map(str::to_owned));
    step.message = message.get("content").and_then(text_of).unwrap_or_default();
    let mut reasoning = String::new();
    for thought in message.get("thoughts").and_then(Value::as_array).into_iter().flatten() {
        for key in ["subject", "description"] {
            join(&mut reasoning, word(thought, key).unwrap_or_default());
        }
    }
    if !reasoning.is_empty() {
        step.reasoning_content = Some(reasoning);
    }
    for call in message.get("toolCalls").and_then(Value::as_array).into_iter().flatten() {
        let name = word(call, "id").unwrap_or_default();
        let arguments = object(call.get("args").cloned().unwrap_or_default());
        out.call(None, id, ToolCall::new(name, word(call, "name").unwrap_or_default(), arguments));
        let given = call
            .get("result")
            .and_then(Value::as_array)
            .and_then(|parts| parts.first()?.get("functionResponse"));
        if let Some(response) = given {
            let mut result = answer(response);
            if word(call, "status") == Some("error") {
                result.extra.insert("is_error".to_owned(), true.into());
            }
            out.result(None, name, result, time.map(str::to_owned));
        }
    }
    if let Some(raw) = message.get("tokens").filter(|raw| raw.is_object()) {
        let cached = count(raw, "cached");
        // Thoughts are not included in the output tokens, nor results of Google's own tools in the
        // input.
        let usage = Usage {
            input: count(raw, "input").saturating_add(count(raw, "tool")).saturating_sub(cached),
            output: count(raw, "output").saturating_add(count(raw, "thoughts")),
            cache_read: cached,
            cache_write: 0,
            ..Usage::default()
        };
        out.usage(None, id, usage, Some(raw));
    }
}

/// The result of a function. Qwen Code has the same shape.
pub(super) fn answer(response: &Value) -> ObservationResult {
    let inner = response.get("response").unwrap_or(&Value::Null);
    let mut result = ObservationResult::default();
    if let Some(error) = inner.get("error") {
        result.content = text_of(error).or_else(|| Some(error.to_string()));
        result.extra.insert("is_error".to_owned(), true.into());
    } else {
        let text = inner.get("output").and_then(text_of);
        result.content = text.or_else(|| (!inner.is_null()).then(|| inner.to_string()));
    }
    result
}

#[derive(Default)]
struct StreamLog {
    reply: usize,
    answered: bool,
    /// A run began and has not reported its usage yet.
    is_open: bool,
    /// A run of the session ended without saying it, and is in no sum.
    was_killed: bool,
    models: BTreeMap<String, Usage>,
}

impl Decoder for StreamLog {
    fn record(&mut self, json: &[u8], out: &mut Builder) -> Result<(), serde_json::Error> {
        let record: Value = serde_json::from_slice(json)?;
        let time = out.time(word(&record, "timestamp"));
        match word(&record, "type").unwrap_or_default() {
            "init" => {
                if word(&record, "session_id").is_some_and(|session| out.is_elsewhere(session, false)) {
                    return Ok(());
                }
                out.await_total();
                self.was_killed |= std::mem::replace(&mut self.is_open, true);
                "gemini-cli".clone_into(&mut out.head.agent.name);
                out.head.agent.model_name = word(&record, "model").map(str::to_owned);
                out.head.session_id = word(&record, "session_id").map(str::to_owned);
            }
            "message" => {
                let text = word(&record, "content").unwrap_or_default();
                if word(&record, "role") == Some("assistant") {
                    let key = self.reply();
                    out.message(None, Some(&key), time).message.push_str(text);
                } else {
                    out.add_message(None, Source::User, text, time);
                }
            }
            "tool_use" => {
                let key = self.reply();
                out.message(None, Some(&key), time);
                let call = ToolCall::new(
                    word(&record, "tool_id").unwrap_or_default(),
                    word(&record, "tool_name").unwrap_or_default(),
                    object(record.get("parameters").cloned().unwrap_or_default()),
                );
                out.call(None, Some(&key), call);
            }
            "tool_result" => {
                let error = record.pointer("/error/message").and_then(Value::as_str);
                let content = word(&record, "output").or(error).map(str::to_owned);
                let mut result = ObservationResult::new(content);
                result.extra.insert("is_error".to_owned(), (word(&record, "status") == Some("error")).into());
                out.result(None, word(&record, "tool_id").unwrap_or_default(), result, time);
                self.answered = true;
            }
            "error" => {
                let text = word(&record, "message").unwrap_or_default();
                out.add_message(None, Source::System, text, time)
                    .extra
                    .insert("is_error".to_owned(), true.into());
            }
            "result" => {
                if let Some(raw) = record.get("stats") {
                    let cached = count(raw, "cached");
                    let input = count(raw, "input_tokens").saturating_sub(cached);
                    let output = count(raw, "output_tokens");
                    let sum = Usage { input, output, cache_read: cached, cache_write: 0, ..Usage::default() };
                    out.add_total(sum, None, Some(raw));
                    self.is_open = false;
                    self.models(raw);
                }
            }
            kind => out.unknown(kind),
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Builder) {
        out.head.hidden = Hidden { listing: true, results: true, failures: false };
        if !self.models.is_empty() {
            out.head.models = Some(std::mem::take(&mut self.models));
        }
        if (self.is_open || self.was_killed) && out.head.final_metrics.is_some() {
            out.leave_out();
        }
    }
}

impl StreamLog {
    /// Usage by model, if the result has it.
    fn models(&mut self, stats: &Value) {
        for (model, raw) in stats.get("models").and_then(Value::as_object).into_iter().flatten() {
            let cached = count(raw, "cached");
            let usage = Usage {
                input: count(raw, "input_tokens").saturating_sub(cached),
                output: count(raw, "output_tokens"),
                cache_read: cached,
                cache_write: 0,
                ..Usage::default()
            };
            *self.models.entry(model.clone()).or_default() += usage;
        }
    }

    fn reply(&mut self) -> String {
        if std::mem::take(&mut self.answered) {
            self.reply += 1;
        }
        format!("reply-{}", self.reply)
    }
}
