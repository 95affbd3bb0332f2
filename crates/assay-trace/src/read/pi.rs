//! pi: the session that it keeps on disk, a tree of entries, one a line. All branches count, since
//! all were paid for.

use serde_json::Value;

use super::builder::Builder;
use super::marks::{Mark, Need};
use super::reader::{Decoder, Reader};
use super::text::{join, list, mark_error, object, text_of, word};
use crate::usage::KnownUsage;
use crate::{ObservationResult, Source, ToolCall};

/// The session on disk, versions 1 to 3.
pub(crate) struct Session;

impl Reader for Session {
    fn name(&self) -> &'static str {
        "pi"
    }

    fn marks(&self) -> &'static [Mark] {
        &[
            &[
                Need::Word("/type", &["session"]),
                Need::Has("/id"),
                Need::Has("/cwd"),
                Need::Has("/timestamp"),
            ],
            &[
                Need::Word("/type", &["message"]),
                Need::Has("/message/role"),
                Need::Has("/timestamp"),
                Need::Lacks("/sessionId"),
                Need::Lacks("/payload"),
            ],
        ]
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(Log::default())
    }
}

#[derive(Default)]
struct Log {
    replies: usize,
    prompted: bool,
}

impl Decoder for Log {
    fn record(&mut self, json: &[u8], out: &mut Builder) -> Result<(), serde_json::Error> {
        let record: Value = serde_json::from_slice(json)?;
        let kind = word(&record, "type").unwrap_or_default();
        if kind == "session" {
            header(&record, out);
            return Ok(());
        }
        if let Some(id) = word(&record, "id")
            && out.is_repeated(id)
        {
            return Ok(());
        }
        "pi".clone_into(&mut out.head.agent.name);
        let time = out.time(word(&record, "timestamp"));
        match kind {
            "message" => {
                let id = word(&record, "id");
                self.message(record.get("message").unwrap_or(&Value::Null), id, time, out);
            }
            "custom_message" => {
                injected(
                    text_of(record.get("content").unwrap_or(&Value::Null)).unwrap_or_default(),
                    time,
                    out,
                );
            }
            "compaction" => {
                let step =
                    out.add_message(None, Source::System, word(&record, "summary").unwrap_or_default(), time);
                step.extra.insert("compacted".to_owned(), true.into());
            }
            "branch_summary" => injected(word(&record, "summary").unwrap_or_default().to_owned(), time, out),
            // The harness's own bookkeeping.
            "model_change" | "thinking_level_change" | "custom" | "label" | "session_info" | "leaf" => {}
            kind => out.unknown(kind),
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Builder) {
        out.head.hidden.listing = !self.prompted;
    }
}

fn header(record: &Value, out: &mut Builder) {
    let session = word(record, "id").unwrap_or_default();
    if out.is_elsewhere(session, false) {
        return;
    }
    "pi".clone_into(&mut out.head.agent.name);
    out.head.session_id.get_or_insert_with(|| session.to_owned());
    out.time(word(record, "timestamp"));
    for (key, name) in [("cwd", "cwd"), ("parentSession", "parent_session")] {
        if let Some(value) = record.get(key).filter(|value| value.is_string()) {
            out.head.extra.insert(name.to_owned(), value.clone());
        }
    }
}

/// A message that the harness inserted.
fn injected(text: String, time: Option<String>, out: &mut Builder) {
    out.add_message(None, Source::System, text, time).extra.insert("injected".to_owned(), true.into());
}

impl Log {
    fn message(&mut self, message: &Value, id: Option<&str>, time: Option<String>, out: &mut Builder) {
        let content = message.get("content").unwrap_or(&Value::Null);
        let text = || text_of(content).unwrap_or_default();
        match word(message, "role").unwrap_or_default() {
            "user" => {
                out.add_message(None, Source::User, text(), time);
            }
            "system" | "developer" => {
                self.prompted = true;
                let mut said = text();
                for section in message
                    .get("sections")
                    .and_then(Value::as_object)
                    .into_iter()
                    .flat_map(|all| all.values())
                {
                    join(&mut said, section.as_str().unwrap_or_default());
                }
                out.add_message(None, Source::System, said, time);
            }
            "assistant" => self.reply(message, id, time, out),
            "toolResult" => {
                let mut result = ObservationResult::new(Some(text()));
                mark_error(&mut result, message.get("isError"));
                out.result(None, word(message, "toolCallId").unwrap_or_default(), result, time);
            }
            "bashExecution" => {
                let said = ["command", "output"].map(|key| word(message, key).unwrap_or_default()).join("\n");
                out.add_message(None, Source::User, said, time)
                    .extra
                    .insert("injected".to_owned(), true.into());
            }
            "custom" | "hookMessage" => injected(text(), time, out),
            "branchSummary" | "compactionSummary" => {
                injected(word(message, "summary").unwrap_or_default().to_owned(), time, out);
            }
            role => out.unknown(role),
        }
    }

    fn reply(&mut self, message: &Value, id: Option<&str>, time: Option<String>, out: &mut Builder) {
        self.replies += 1;
        let key = id.map_or_else(|| format!("reply-{}", self.replies), str::to_owned);
        let step = out.message_by(word(message, "model"), Some(&key), time);
        if let Some(reason) = message.get("stopReason").filter(|reason| reason.is_string()) {
            step.extra.insert("stop_reason".to_owned(), reason.clone());
        }
        let blocks = list(message, "content");
        for block in blocks {
            match word(block, "type").unwrap_or_default() {
                "text" => join(&mut step.message, word(block, "text").unwrap_or_default()),
                "thinking" => {
                    let text = word(block, "thinking").unwrap_or_default();
                    join(step.reasoning_content.get_or_insert_default(), text);
                }
                _ => {}
            }
        }
        for block in blocks.iter().filter(|block| word(block, "type") == Some("toolCall")) {
            let call = ToolCall::new(
                word(block, "id").unwrap_or_default(),
                word(block, "name").unwrap_or_default(),
                object(block.get("arguments").cloned().unwrap_or_default()),
            );
            out.call(None, Some(&key), call);
        }
        let Some(raw) = message.get("usage").filter(|raw| raw.is_object()) else { return };
        let field = |name: &str| raw.get(name).and_then(Value::as_u64);
        let usage = KnownUsage {
            input: field("input"),
            output: field("output"),
            cache_read: field("cacheRead"),
            cache_write: field("cacheWrite"),
            cache_write_1h: field("cacheWrite1h").unwrap_or_default(),
        };
        out.usage(None, Some(&key), usage.without_cache(), Some(raw));
        let cost = raw.pointer("/cost/total").and_then(Value::as_f64);
        if let Some(metrics) = out.known(None, Some(&key)).and_then(|step| step.metrics.as_mut()) {
            metrics.cost_usd = cost;
        }
    }
}
