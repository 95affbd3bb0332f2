//! OpenCode: what `run --format json` prints, what `export` writes, and its database as one
//! document of rows.

use serde_json::Value;

use super::builder::Builder;
use super::marks::{Mark, Need};
use super::reader::{Decoder, DocumentDecoder, Reader, Shape};
use super::text::{count, join, list, object, word};
use crate::Usage;
use crate::{ObservationResult, Source, ToolCall};

/// Standard output.
pub(crate) struct Stream;

/// An export, or rows of the database.
pub(crate) struct Document;

impl Reader for Stream {
    fn name(&self) -> &'static str {
        "opencode-stream"
    }

    fn marks(&self) -> &'static [Mark] {
        &[&[Need::Has("/sessionID"), Need::Has("/part")]]
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(Log)
    }
}

impl Reader for Document {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn marks(&self) -> &'static [Mark] {
        &[
            &[Need::List("/session"), Need::List("/message"), Need::List("/part")],
            &[Need::List("/messages"), Need::Has("/info/projectID")],
        ]
    }

    fn shape(&self) -> Shape {
        Shape::Document
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(DocumentDecoder(read))
    }
}

struct Log;

impl Decoder for Log {
    fn record(&mut self, json: &[u8], out: &mut Builder) -> Result<(), serde_json::Error> {
        let record: Value = serde_json::from_slice(json)?;
        if word(&record, "sessionID").is_some_and(|session| out.is_elsewhere(session, false)) {
            return Ok(());
        }
        "opencode".clone_into(&mut out.head.agent.name);
        if let Some(session) = word(&record, "sessionID") {
            out.head.session_id.get_or_insert_with(|| session.to_owned());
        }
        let time = record.get("timestamp").and_then(Value::as_i64).and_then(|millis| out.millis(millis));
        match word(&record, "type").unwrap_or_default() {
            "step_start" | "tool_use" | "text" | "step_finish" | "reasoning" => {
                let Some(part) = record.get("part") else { return Ok(()) };
                part_of(part, word(part, "messageID"), None, time, out);
            }
            "error" => {
                let error = record.get("error").unwrap_or(&Value::Null);
                let text = error.pointer("/data/message").and_then(Value::as_str).or(word(error, "name"));
                let step = out.add_message(None, Source::System, text.unwrap_or("the run failed"), time);
                step.extra.insert("is_error".to_owned(), true.into());
            }
            kind => out.unknown(kind),
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Builder) {
        out.head.hidden.listing = true;
    }
}

/// A part of a message of the model.
fn part_of(part: &Value, key: Option<&str>, lane: Option<&str>, time: Option<String>, out: &mut Builder) {
    match word(part, "type").unwrap_or_default() {
        "text" => join(&mut out.message(lane, key, time).message, word(part, "text").unwrap_or_default()),
        "reasoning" => {
            let step = out.message(lane, key, time);
            join(step.reasoning_content.get_or_insert_default(), word(part, "text").unwrap_or_default());
        }
        "tool" => {
            let state = part.get("state").unwrap_or(&Value::Null);
            let id = word(part, "callID").unwrap_or_default();
            out.message(lane, key, time.clone());
            let call = ToolCall::new(
                id,
                word(part, "tool").unwrap_or_default(),
                object(state.get("input").cloned().unwrap_or_default()),
            );
            out.call(lane, key, call);
            let status = word(state, "status");
            if !matches!(status, Some("completed" | "error")) {
                return;
            }
            let content = word(state, "output").or(word(state, "error")).map(str::to_owned);
            let mut result = ObservationResult::new(content);
            // A command that ends with another status than 0 is completed here.
            let exit = state.pointer("/metadata/exit").and_then(Value::as_i64);
            let has_failed = status == Some("error") || exit.is_some_and(|exit| exit != 0);
            result.extra.insert("is_error".to_owned(), has_failed.into());
            if let Some(exit) = exit {
                result.extra.insert("exit_code".to_owned(), exit.into());
            }
            out.result(lane, id, result, time);
        }
        "step-finish" => {
            if let Some(raw) = part.get("tokens") {
                let cache = raw.get("cache").unwrap_or(&Value::Null);
                // The input does not include cached tokens here, nor the output reasoning.
                let usage = Usage {
                    input: count(raw, "input"),
                    output: count(raw, "output").saturating_add(count(raw, "reasoning")),
                    cache_read: count(cache, "read"),
                    cache_write: count(cache, "write"),
                    ..Usage::default()
                };
                let cost = part.get("cost").and_then(Value::as_f64);
                out.message(lane, key, time);
                out.usage(lane, key, usage, Some(raw));
                if let Some(metrics) = &mut out.message(lane, key, None).metrics {
                    metrics.cost_usd = cost;
                }
            }
        }
        _ => {}
    }
}

pub(super) fn read(document: &Value, out: &mut Builder) {
    out.head.hidden.listing = true;
    "opencode".clone_into(&mut out.head.agent.name);
    if let Some(messages) = document.get("messages").and_then(Value::as_array) {
        let info = document.get("info").unwrap_or(&Value::Null);
        out.head.session_id = word(info, "id").map(str::to_owned);
        word(info, "version").unwrap_or_default().clone_into(&mut out.head.agent.version);
        for message in messages {
            let info = message.get("info").unwrap_or(&Value::Null);
            let parts = message.get("parts").and_then(Value::as_array);
            read_message(info, word(info, "id"), parts.into_iter().flatten().cloned(), None, out);
        }
        return;
    }
    let rows = |key: &str| list(document, key);
    // The database has all sessions of its user; the last one that was not started by another is
    // read.
    let roots = rows("session").iter().filter(|row| row.get("parent_id").is_none_or(Value::is_null));
    let main = roots.max_by_key(|row| count(row, "time_created")).and_then(|row| word(row, "id"));
    out.head.session_id = main.map(str::to_owned);
    let version = rows("session").first().and_then(|row| word(row, "version"));
    version.unwrap_or_default().clone_into(&mut out.head.agent.version);
    let data = |row: &Value| -> Value {
        word(row, "data").and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    };
    for row in rows("message") {
        let (id, session) = (word(row, "id"), word(row, "session_id"));
        let lane = session.filter(|_| session != main);
        let parts = rows("part").iter().filter(|part| word(part, "message_id") == id).map(data);
        read_message(&data(row), id, parts, lane, out);
    }
}

pub(super) fn read_message(
    info: &Value,
    id: Option<&str>,
    parts: impl Iterator<Item = Value>,
    lane: Option<&str>,
    out: &mut Builder,
) {
    let millis = info.pointer("/time/created").and_then(Value::as_i64);
    let time = millis.and_then(|millis| out.millis(millis));
    if word(info, "role") == Some("user") {
        for part in parts {
            if word(&part, "type") == Some("text") {
                let step = out.add_message(
                    lane,
                    Source::User,
                    word(&part, "text").unwrap_or_default(),
                    time.clone(),
                );
                if part.get("synthetic") == Some(&Value::Bool(true)) {
                    step.extra.insert("injected".to_owned(), true.into());
                }
            }
        }
        return;
    }
    let provider = word(info, "providerID").unwrap_or_default();
    let model = word(info, "modelID").map(|model| format!("{provider}/{model}"));
    // The session's model is that of its own first reply, not that of a sub-agent.
    if let Some(model) = model.as_ref().filter(|_| lane.is_none()) {
        out.head.agent.model_name.get_or_insert_with(|| model.clone());
    }
    let usual = out.head.agent.model_name.clone();
    for part in parts {
        part_of(&part, id, lane, time.clone(), out);
    }
    if let Some(step) = out.known(lane, id).filter(|_| model != usual) {
        step.model_name = model;
    }
}
