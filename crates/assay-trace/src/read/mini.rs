//! mini-swe-agent's trajectory: one document, with the messages as they were sent and the replies as they came.

use serde_json::Value;

use super::text::{count, object, parsed, text_of, word};
use super::{Builder, Decoder, Reader};
use crate::usage::Usage;
use crate::{ObservationResult, Source, ToolCall};

/// `traj.json`.
pub(crate) struct Document;

impl Reader for Document {
    fn name(&self) -> &'static str {
        "mini-swe-agent"
    }

    fn claims(&self, record: &Value) -> bool {
        word(record, "trajectory_format").is_some_and(|format| format.starts_with("mini-swe-agent"))
            && record.get("messages").is_some_and(Value::is_array)
    }

    fn is_document(&self) -> bool {
        true
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(Whole)
    }
}

struct Whole;

impl Decoder for Whole {
    fn record(&mut self, json: &[u8], out: &mut Builder<'_>) -> Result<(), serde_json::Error> {
        let document: Value = serde_json::from_slice(json)?;
        let info = document.get("info").unwrap_or(&Value::Null);
        "mini-swe-agent".clone_into(&mut out.head.agent.name);
        word(info, "mini_version").unwrap_or_default().clone_into(&mut out.head.agent.version);
        let model = info.pointer("/config/model/model_name").and_then(Value::as_str);
        out.head.agent.model_name = model.map(str::to_owned);
        if let Some(ended) = info.get("exit_status") {
            out.head.extra.insert("exit_status".to_owned(), ended.clone());
        }
        // Version 1.0 has no calls: a command is a block of the reply, and its result is the next message of the user.
        let mut asked: Option<String> = None;
        let messages = document.get("messages").and_then(Value::as_array);
        for (number, message) in messages.into_iter().flatten().enumerate() {
            let text = message.get("content").and_then(text_of).unwrap_or_default();
            let extra = message.get("extra").unwrap_or(&Value::Null);
            let time = extra.get("timestamp").and_then(Value::as_f64);
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the cast keeps within i64, and times out of range are told"
            )]
            let time = time.and_then(|seconds| out.millis((seconds * 1e3) as i64));
            match word(message, "role").unwrap_or_default() {
                "assistant" => asked = reply(message, &text, number, time, out),
                "tool" => {
                    let id = word(message, "tool_call_id").unwrap_or_default();
                    out.result(None, id, given(extra, text), time);
                }
                "user" => match asked.take() {
                    Some(id) => out.result(None, &id, given(extra, text), time),
                    None => {
                        out.say(None, Source::User, text, time);
                    }
                },
                "system" => {
                    out.say(None, Source::System, text, time);
                }
                // What was submitted is told to nobody.
                "exit" => {}
                role => out.unknown(role),
            }
        }
        Ok(())
    }
}

fn reply(
    message: &Value,
    text: &str,
    number: usize,
    time: Option<String>,
    out: &mut Builder<'_>,
) -> Option<String> {
    let key = format!("message-{number}");
    let step = out.message(None, Some(&key), time);
    text.clone_into(&mut step.message);
    step.reasoning_content = word(message, "reasoning_content").map(str::to_owned);
    let mut asked = None;
    if let Some(calls) = message.get("tool_calls").and_then(Value::as_array) {
        for call in calls {
            let function = call.get("function").unwrap_or(&Value::Null);
            let call = ToolCall {
                tool_call_id: word(call, "id").unwrap_or_default().to_owned(),
                function_name: word(function, "name").unwrap_or_default().to_owned(),
                arguments: parsed(function.get("arguments").unwrap_or(&Value::Null)),
                ..ToolCall::default()
            };
            out.call(None, Some(&key), call);
        }
    } else if let Some(command) = command(text) {
        let arguments = object(Value::from_iter([("command", command)]));
        let call = ToolCall {
            tool_call_id: key.clone(),
            function_name: "bash".to_owned(),
            arguments,
            ..ToolCall::default()
        };
        out.call(None, Some(&key), call);
        asked = Some(key.clone());
    }
    if let Some(raw) = message.pointer("/extra/response/usage").filter(|raw| raw.is_object()) {
        let details = raw.get("prompt_tokens_details").unwrap_or(&Value::Null);
        let cached = count(details, "cached_tokens");
        let usage = Usage {
            input: count(raw, "prompt_tokens").saturating_sub(cached),
            output: count(raw, "completion_tokens"),
            cache_read: cached,
            cache_write: 0,
        };
        out.usage(None, Some(&key), usage, Some(raw));
    }
    asked
}

/// The one command of a reply in Markdown.
fn command(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("```bash\n").or_else(|| text.split_once("```mswea_bash_command\n"))?;
    Some(rest.split_once("\n```")?.0)
}

fn given(extra: &Value, text: String) -> ObservationResult {
    let mut result = ObservationResult { content: Some(text), ..ObservationResult::default() };
    if let Some(status) = extra.get("returncode").filter(|status| status.is_i64()) {
        result.extra.insert("exit_code".to_owned(), status.clone());
    }
    result
}
