//! Qwen Code's session on disk. Its printed output is Claude Code's stream.

use serde_json::Value;

use super::builder::Builder;
use super::gemini::answer;
use super::marks::{Mark, Need};
use super::reader::{Decoder, Reader};
use super::text::{count, join, object, word};
use crate::Usage;
use crate::{Source, ToolCall};

/// The session on disk.
pub(crate) struct Session;

impl Reader for Session {
    fn name(&self) -> &'static str {
        "qwen-code"
    }

    fn marks(&self) -> &'static [Mark] {
        &[&[Need::Has("/sessionId"), Need::Has("/message/parts")]]
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(Log)
    }
}

struct Log;

impl Decoder for Log {
    fn record(&mut self, json: &[u8], out: &mut Builder) -> Result<(), serde_json::Error> {
        let record: Value = serde_json::from_slice(json)?;
        if let Some(session) = word(&record, "sessionId") {
            let continues = word(&record, "parentUuid").is_some_and(|parent| out.has_read(parent));
            if out.is_elsewhere(session, continues) {
                return Ok(());
            }
        }
        let uuid = word(&record, "uuid");
        if let Some(uuid) = uuid
            && out.is_repeated(uuid)
        {
            return Ok(());
        }
        "qwen-code".clone_into(&mut out.head.agent.name);
        if let Some(version) = word(&record, "version") {
            version.clone_into(&mut out.head.agent.version);
        }
        if let Some(session) = word(&record, "sessionId") {
            out.head.session_id.get_or_insert_with(|| session.to_owned());
        }
        let time = out.time(word(&record, "timestamp"));
        let parts = record.pointer("/message/parts").and_then(Value::as_array);
        let parts = parts.map(Vec::as_slice).unwrap_or_default();
        match word(&record, "type").unwrap_or_default() {
            "assistant" => assistant(&record, parts, uuid, time, out),
            "user" | "tool_result" => {
                let mut said = String::new();
                for part in parts {
                    if let Some(response) = part.get("functionResponse") {
                        let mut result = answer(response);
                        let status = record.pointer("/toolCallResult/status").and_then(Value::as_str);
                        if status == Some("error") {
                            result.extra.insert("is_error".to_owned(), true.into());
                        }
                        let exit = record.pointer("/toolCallResult/resultDisplay/exitCode");
                        if let Some(exit) = exit.filter(|exit| exit.is_i64()) {
                            result.extra.insert("exit_code".to_owned(), exit.clone());
                        }
                        out.result(None, word(response, "id").unwrap_or_default(), result, time.clone());
                    } else {
                        join(&mut said, word(part, "text").unwrap_or_default());
                    }
                }
                if !said.is_empty() {
                    out.add_message(None, Source::User, said, time);
                }
            }
            "system" => {
                if word(&record, "subtype") == Some("chat_compression") {
                    let step = out.add_message(None, Source::System, "", time);
                    step.extra.insert("compacted".to_owned(), true.into());
                }
            }
            kind => out.unknown(kind),
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Builder) {
        out.head.hidden.listing = true;
    }
}

fn assistant(record: &Value, parts: &[Value], id: Option<&str>, time: Option<String>, out: &mut Builder) {
    let step = out.message_by(word(record, "model"), id, time);
    for part in parts {
        let Some(text) = word(part, "text") else { continue };
        if part.get("thought") == Some(&Value::Bool(true)) {
            join(step.reasoning_content.get_or_insert_default(), text);
        } else {
            join(&mut step.message, text);
        }
    }
    for call in parts.iter().filter_map(|part| part.get("functionCall")) {
        let call = ToolCall::new(
            word(call, "id").unwrap_or_default(),
            word(call, "name").unwrap_or_default(),
            object(call.get("args").cloned().unwrap_or_default()),
        );
        out.call(None, id, call);
    }
    if let Some(raw) = record.get("usageMetadata").filter(|raw| raw.is_object()) {
        let (prompt, cached) = (count(raw, "promptTokenCount"), count(raw, "cachedContentTokenCount"));
        let written = count(raw, "candidatesTokenCount");
        // Servers differ in whether the output includes thoughts; the total decides.
        let output = count(raw, "totalTokenCount").saturating_sub(prompt).max(written);
        let usage = Usage {
            input: prompt.saturating_sub(cached),
            output,
            cache_read: cached,
            cache_write: 0,
            ..Usage::default()
        };
        out.usage(None, id, usage, Some(raw));
    }
}
