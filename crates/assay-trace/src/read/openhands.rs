//! OpenHands: the trajectory of a conversation as one document, a list of events or an object with
//! it under `history`. Actions of the agent contain the reply that they are from, several of them
//! the same one; observations name the action that caused them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::builder::Builder;
use super::marks::{Mark, Need};
use super::messages;
use super::reader::{Decoder, Reader, Shape};
use super::text::{count, object, parsed, text_of, word};
use crate::Usage;
use crate::{ObservationResult, Source, ToolCall};

/// `trajectory.json`.
pub(crate) struct Document;

fn events(document: &Value) -> Option<&Vec<Value>> {
    document.as_array().or_else(|| document.get("history")?.as_array())
}

/// What each event has.
const EVENT: &[Need] = &[
    Need::Any(&[Need::Text("/action"), Need::Text("/observation")]),
    Need::Has("/source"),
    Need::Has("/id"),
];

impl Reader for Document {
    fn name(&self) -> &'static str {
        "openhands"
    }

    fn marks(&self) -> &'static [Mark] {
        &[&[Need::Each("", EVENT)], &[Need::Each("/history", EVENT)]]
    }

    fn shape(&self) -> Shape {
        Shape::Document
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(EventDecoder::default())
    }
}

/// Events by which the harness steers itself.
const STEERING: [&str; 9] = [
    "agent_state_changed",
    "change_agent_state",
    "condensation_request",
    "loop_recovery",
    "null",
    "pause",
    "recall",
    "resume",
    "streaming_chunk",
];

/// Actions that are calls even if no reply is kept with them.
const TOOLS: [&str; 13] = [
    "browse",
    "browse_interactive",
    "call_tool_mcp",
    "delegate",
    "edit",
    "mcp",
    "read",
    "run",
    "run_ipython",
    "task_tracking",
    "think",
    "view",
    "write",
];

#[derive(Default)]
struct EventDecoder {
    /// The calls by the events that made them.
    calls: BTreeMap<u64, String>,
    ids: BTreeSet<String>,
    /// Usage up to the last action, and of the processes before the current one.
    now: Option<Account>,
    before: Vec<Account>,
}

/// A process's usage and cost so far.
struct Account {
    usage: Usage,
    cost: Option<f64>,
    raw: Value,
}

impl Decoder for EventDecoder {
    fn record(&mut self, json: &[u8], out: &mut Builder) -> Result<(), serde_json::Error> {
        let document: Value = serde_json::from_slice(json)?;
        "openhands".clone_into(&mut out.head.agent.name);
        out.head.hidden.listing = true;
        for event in events(&document).into_iter().flatten() {
            let time = word(event, "timestamp").and_then(|text| moment(text, out));
            if let Some(action) = word(event, "action") {
                self.action(event, action, time, out);
            } else if let Some(kind) = word(event, "observation") {
                self.observation(event, kind, time, out);
            }
        }
        for one in self.before.drain(..).chain(self.now.take()) {
            out.add_total(one.usage, one.cost, Some(&one.raw));
            out.written(&one.usage.into());
        }
        Ok(())
    }
}

/// A time without a zone, which is in UTC, or with one.
fn moment(text: &str, out: &mut Builder) -> Option<String> {
    let has_zone = text.ends_with('Z') || text.get(10..).is_some_and(|rest| rest.contains(['+', '-']));
    if has_zone { out.time(Some(text)) } else { out.time(Some(&format!("{text}Z"))) }
}

impl EventDecoder {
    fn action(&mut self, event: &Value, action: &str, time: Option<String>, out: &mut Builder) {
        self.account(event);
        let args = event.get("args").unwrap_or(&Value::Null);
        let content = || word(args, "content").or(word(event, "message")).unwrap_or_default();
        let is_agents = word(event, "source") == Some("agent");
        let number = count(event, "id");
        match action {
            "system" => {
                out.head.hidden.listing = false;
                out.add_message(None, Source::System, content(), time);
            }
            "message" if is_agents => {
                let step = out.message(None, Some(&format!("event-{number}")), time);
                content().clone_into(&mut step.message);
            }
            "message" => {
                out.add_message(None, Source::User, content(), time);
            }
            "condensation" => {
                let text = word(args, "summary").unwrap_or_default();
                out.add_message(None, Source::System, text, time)
                    .extra
                    .insert("compacted".to_owned(), true.into());
            }
            action if STEERING.contains(&action) => {}
            _ if is_agents => self.call(event, action, args, time, out),
            // A person can run commands too.
            _ => {
                let text = word(args, "command").or(word(event, "message")).unwrap_or_default();
                out.add_message(None, Source::User, text, time);
            }
        }
    }

    fn call(&mut self, event: &Value, action: &str, args: &Value, time: Option<String>, out: &mut Builder) {
        let number = count(event, "id");
        let from = event.get("tool_call_metadata").filter(|from| from.is_object());
        let response = from.and_then(|from| from.get("model_response")).unwrap_or(&Value::Null);
        let key = word(response, "id").filter(|id| !id.is_empty());
        let key = key.map_or_else(|| format!("event-{number}"), str::to_owned);
        let reply = response.pointer("/choices/0/message");
        let said = reply.and_then(|reply| text_of(reply.get("content")?));
        let step = out.message_by(word(response, "model"), Some(&key), time);
        if step.message.is_empty() {
            let text =
                said.as_deref().or(word(args, "thought")).or(word(args, "final_thought")).unwrap_or_default();
            text.clone_into(&mut step.message);
        }
        if let Some(raw) = response.get("usage").filter(|raw| raw.is_object())
            && let Some(mut usage) = messages::usage(raw)
        {
            if let Some(written) = raw.get("cache_creation_input_tokens").and_then(Value::as_u64) {
                usage.cache_write = Some(written);
                usage.input = usage.input.map(|input| input.saturating_sub(written));
            }
            out.usage(None, Some(&key), usage, Some(raw));
        }
        if from.is_none() && !TOOLS.contains(&action) {
            return;
        }
        let said = from.and_then(|from| word(from, "tool_call_id"));
        let asked = reply.and_then(|reply| reply.get("tool_calls")?.as_array());
        let asked = asked.into_iter().flatten().find(|call| word(call, "id") == said);
        let arguments = match asked.and_then(|call| call.pointer("/function/arguments")) {
            Some(arguments) => parsed(arguments),
            None => object(args.clone()),
        };
        // Some models give all calls the same name.
        let mut id = said.map_or_else(|| format!("event-{number}"), str::to_owned);
        if !self.ids.insert(id.clone()) {
            id = format!("{id}-{number}");
        }
        self.calls.insert(number, id.clone());
        let call = ToolCall::new(
            &id,
            from.and_then(|from| word(from, "function_name")).unwrap_or(action),
            arguments,
        );
        out.call(None, Some(&key), call);
    }

    /// The sums so far, which include replies that are not kept otherwise.
    fn account(&mut self, event: &Value) {
        let Some(metrics) = event.get("llm_metrics").filter(|metrics| metrics.is_object()) else { return };
        let Some(raw) = metrics.get("accumulated_token_usage").filter(|raw| raw.is_object()) else { return };
        let (read, written) = (count(raw, "cache_read_tokens"), count(raw, "cache_write_tokens"));
        let usage = Usage {
            input: count(raw, "prompt_tokens").saturating_sub(read).saturating_sub(written),
            output: count(raw, "completion_tokens"),
            cache_read: read,
            cache_write: written,
            ..Usage::default()
        };
        let cost = metrics.get("accumulated_cost").and_then(Value::as_f64);
        let now = Account { usage, cost, raw: raw.clone() };
        // A conversation that is taken up again by a new process counts from nothing.
        if self.now.as_ref().is_some_and(|before| before.usage.total() > usage.total()) {
            self.before.extend(self.now.take());
        }
        self.now = Some(now);
    }

    fn observation(&mut self, event: &Value, kind: &str, time: Option<String>, out: &mut Builder) {
        let extras = event.get("extras").unwrap_or(&Value::Null);
        let content = event.get("content").and_then(text_of).unwrap_or_default();
        if kind == "recall" {
            return recalled(extras, &content, time, out);
        }
        if STEERING.contains(&kind) {
            return;
        }
        let mut kept = Map::new();
        let status =
            extras.pointer("/metadata/exit_code").or(extras.get("exit_code")).and_then(Value::as_i64);
        if let Some(status) = status {
            kept.insert("exit_code".to_owned(), status.into());
        }
        if matches!(kind, "error" | "user_rejected") {
            kept.insert("is_error".to_owned(), true.into());
        }
        let cause = event.get("cause").and_then(Value::as_u64);
        if let Some(id) = cause.and_then(|cause| self.calls.get(&cause)) {
            let result = ObservationResult { extra: kept, ..ObservationResult::new(Some(content)) };
            out.result(None, id, result, time);
        } else if !content.is_empty() {
            out.add_message(None, Source::System, content, time);
        }
    }
}

/// Text that the harness found and added to the prompt: knowledge, and instructions of the
/// repository.
fn recalled(extras: &Value, content: &str, time: Option<String>, out: &mut Builder) {
    let mut parts = vec![content.to_owned()];
    parts.extend(
        ["repo_instructions", "additional_agent_instructions"]
            .map(|key| word(extras, key).unwrap_or_default().to_owned()),
    );
    let known = extras.get("microagent_knowledge").and_then(Value::as_array);
    for one in known.into_iter().flatten() {
        parts.extend(["name", "content"].map(|key| word(one, key).unwrap_or_default().to_owned()));
    }
    parts.retain(|part| !part.trim().is_empty());
    if parts.is_empty() {
        return;
    }
    let step = out.add_message(None, Source::System, parts.join("\n"), time);
    step.extra.insert("injected".to_owned(), true.into());
}
