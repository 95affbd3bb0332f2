//! Lists of messages, in the shape of chat completions or of Anthropic's messages, as one document:
//! a list, or an object with it under `messages`. mini-swe-agent's trajectory contains one too.

use serde_json::{Map, Value};

use super::builder::Builder;
use super::claude_code;
use super::marks::{Mark, Need};
use super::reader::{Decoder, DocumentDecoder, Reader, Shape};
use super::text::{function_call, join, list, mark_error, parsed, shell_call, text_of, word};
use crate::usage::KnownUsage;
use crate::{ObservationResult, Source, ToolCall};

/// A list of messages.
pub(crate) struct Document;

/// What each message has.
const MESSAGE: &[Need] = &[
    Need::Word("/role", &["system", "developer", "user", "assistant", "tool", "function", "exit"]),
    Need::Any(&[Need::Has("/content"), Need::Has("/tool_calls")]),
];

fn messages_of(document: &Value) -> Option<&Vec<Value>> {
    document.as_array().or_else(|| document.get("messages")?.as_array())
}

impl Reader for Document {
    fn name(&self) -> &'static str {
        "messages"
    }

    fn marks(&self) -> &'static [Mark] {
        &[
            &[Need::Each("", MESSAGE)],
            &[Need::Each("/messages", MESSAGE), Need::NotBegin("/trajectory_format", "mini-swe-agent")],
        ]
    }

    fn shape(&self) -> Shape {
        Shape::Document
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(DocumentDecoder(read))
    }
}

fn read(document: &Value, out: &mut Builder) {
    let messages = messages_of(document).map(Vec::as_slice).unwrap_or_default();
    "unknown".clone_into(&mut out.head.agent.name);
    let model = messages.iter().find_map(model);
    out.head.agent.model_name = model.or_else(|| word(document, "model")).map(str::to_owned);
    // mini-swe-agent's commands are in the text, and their output is the next message of the user.
    let is_answer = |message: &Value| {
        word(message, "role") == Some("user")
            && word(message, "content").is_some_and(|text| text.contains(STATUS))
    };
    let has_commands = messages.iter().any(is_answer);
    if has_commands {
        "mini-swe-agent".clone_into(&mut out.head.agent.name);
    }
    let has_system =
        messages.iter().any(|message| matches!(word(message, "role"), Some("system" | "developer")));
    out.head.hidden.listing = !has_system;
    conversation(messages, has_commands, out);
}

/// The beginning of a command's output in mini-swe-agent.
const STATUS: &str = "<returncode>";

/// The model that wrote a message, if the message names it.
fn model(message: &Value) -> Option<&str> {
    word(message, "model").or_else(|| message.pointer("/extra/response/model")?.as_str())
}

/// Adds the messages in order. `has_commands` means that commands are in the text as blocks of
/// code.
pub(super) fn conversation(messages: &[Value], has_commands: bool, out: &mut Builder) {
    let usual = out.head.agent.model_name.clone();
    let is_of_mini = out.head.agent.name == "mini-swe-agent";
    let mut asked: Option<String> = None;
    for (number, message) in messages.iter().enumerate() {
        let text = message.get("content").and_then(spoken).unwrap_or_default();
        let extra = message.get("extra").unwrap_or(&Value::Null);
        let time = extra.get("timestamp").or(message.get("timestamp"));
        let time = time.and_then(|time| moment(time, out));
        match word(message, "role").unwrap_or_default() {
            "assistant" => {
                let key = format!("message-{number}");
                let step = out.message(None, Some(&key), time);
                text.clone_into(&mut step.message);
                let reasoning =
                    ["reasoning_content", "reasoning"].into_iter().find_map(|key| word(message, key));
                step.reasoning_content = reasoning.map(str::to_owned).or_else(|| thoughts(message));
                if !is_of_mini {
                    step.model_name =
                        model(message).filter(|model| usual.as_deref() != Some(model)).map(str::to_owned);
                }
                asked = calls(message, &text, &key, has_commands, out);
                if let Some((usage, raw)) = used(message) {
                    out.usage(None, Some(&key), usage, Some(raw));
                }
            }
            "tool" | "function" => {
                let answered = parted_results(message, time.as_ref(), out);
                let names = ["tool_call_id", "name", "function"];
                let id = names.into_iter().find_map(|key| word(message, key)).unwrap_or_default();
                if !answered {
                    let result = observation_of(extra, text);
                    give_result(id, mark_failure(message, result), time, out);
                }
            }
            "user" => {
                let answered = results(message, time.as_ref(), out);
                match asked.take() {
                    Some(id) => give_result(&id, observation_of(extra, text), time, out),
                    None if text.is_empty() && answered => {}
                    None => {
                        out.add_message(None, Source::User, text, time);
                    }
                }
            }
            "system" | "developer" => {
                out.add_message(None, Source::System, text, time);
            }
            // The submission is not a message.
            "exit" => {}
            role => out.unknown(role),
        }
    }
}

/// A message's text, without the blocks that are calls, results and thoughts.
fn spoken(content: &Value) -> Option<String> {
    let Value::Array(parts) = content else { return text_of(content) };
    let mut text = String::new();
    for part in parts {
        let kind = word(part, "type").unwrap_or_default();
        if !matches!(
            kind,
            "tool_use"
                | "tool_result"
                | "thinking"
                | "redacted_thinking"
                | "reasoning"
                | "tool-call"
                | "tool-result"
        ) {
            join(&mut text, &super::text::part_text(part));
        }
    }
    Some(text)
}

fn blocks<'v>(message: &'v Value, kind: &'static str) -> impl Iterator<Item = &'v Value> {
    let parts = message.get("content").and_then(Value::as_array);
    parts.into_iter().flatten().filter(move |part| word(part, "type") == Some(kind))
}

fn thoughts(message: &Value) -> Option<String> {
    // Inspect calls them reasoning, and the AI SDK has their text under `text`.
    let reasoning = blocks(message, "reasoning").filter_map(|block| {
        let texts = ["reasoning", "text", "summary"].into_iter().filter_map(|key| word(block, key));
        texts.into_iter().find(|text| !text.is_empty())
    });
    let thinking = blocks(message, "thinking").filter_map(|block| word(block, "thinking"));
    let all: Vec<&str> = thinking.chain(reasoning).collect();
    (!all.is_empty()).then(|| all.join("\n"))
}

/// Numbers above this are milliseconds: as seconds they would be after the year 5000.
const MILLIS: f64 = 1e11;

/// A time: a number of seconds or milliseconds since 1970, or a text.
fn moment(time: &Value, out: &mut Builder) -> Option<String> {
    if let Some(text) = time.as_str() {
        return out.time(Some(text));
    }
    let number = time.as_f64()?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the cast stays within i64, and times out of range are reported"
    )]
    let millis = if number.abs() > MILLIS { number as i64 } else { (number * 1e3) as i64 };
    out.millis(millis)
}

/// The calls of a message. Returns the name of the one that the next message of the user answers.
fn calls(message: &Value, text: &str, key: &str, has_commands: bool, out: &mut Builder) -> Option<String> {
    let mut any = false;
    for call in list(message, "tool_calls") {
        any = true;
        out.call(None, Some(key), function_call(call, ""));
    }
    for block in blocks(message, "tool_use") {
        any = true;
        let call = ToolCall::new(
            word(block, "id").unwrap_or_default(),
            word(block, "name").unwrap_or_default(),
            parsed(block.get("input").or(block.get("arguments")).unwrap_or(&Value::Null)),
        );
        let id = call.tool_call_id.clone();
        out.call(None, Some(key), call);
        // A call that the provider executed has its result in itself.
        if block.get("result").is_some() || block.get("error").is_some_and(|error| !error.is_null()) {
            let given = block.get("result").and_then(text_of);
            give_result(&id, failed_or(block, given.unwrap_or_default()), None, out);
        }
    }
    for block in blocks(message, "tool-call") {
        any = true;
        let arguments = block.get("input").or(block.get("args")).unwrap_or(&Value::Null);
        let (id, name) = (word(block, "toolCallId"), word(block, "toolName"));
        out.call(
            None,
            Some(key),
            ToolCall::new(id.unwrap_or_default(), name.unwrap_or_default(), parsed(arguments)),
        );
    }
    if let Some(function) = message.get("function_call").filter(|function| !any && function.is_object()) {
        let name = word(function, "name").unwrap_or_default();
        let arguments = parsed(function.get("arguments").unwrap_or(&Value::Null));
        // Its result names the function and no call.
        let call = ToolCall::new(name, name, arguments);
        out.call(None, Some(key), call);
        return None;
    }
    let command = command(text).filter(|_| has_commands && !any)?;
    out.call(None, Some(key), shell_call(key, command));
    Some(key.to_owned())
}

/// Adds a result. One that does not say whether its call failed hides it.
fn give_result(id: &str, result: ObservationResult, time: Option<String>, out: &mut Builder) {
    out.head.hidden.failures |= result.failed().is_none();
    out.result(None, id, result, time);
}

/// Results in the AI SDK's shape, several in a message; whether there were any.
fn parted_results(message: &Value, time: Option<&String>, out: &mut Builder) -> bool {
    let mut any = false;
    for block in blocks(message, "tool-result") {
        any = true;
        let output = block.get("output").or(block.get("result")).unwrap_or(&Value::Null);
        let value = output.get("value").unwrap_or(output);
        let mut result = ObservationResult::new(Some(text_of(value).unwrap_or_else(|| value.to_string())));
        mark_error(&mut result, block.get("isError"));
        if word(output, "type").is_some_and(|kind| kind.starts_with("error")) {
            result.extra.insert("is_error".to_owned(), true.into());
        }
        give_result(word(block, "toolCallId").unwrap_or_default(), result, time.cloned(), out);
    }
    any
}

/// A result with what its message says of its failure: Inspect has an `error` with a message,
/// LangChain a `status`.
fn mark_failure(message: &Value, result: ObservationResult) -> ObservationResult {
    let text = result.content.clone().unwrap_or_default();
    let mut marked = failed_or(message, text);
    for (key, value) in result.extra {
        marked.extra.entry(key).or_insert(value);
    }
    mark_error(&mut marked, message.get("is_error"));
    match word(message, "status") {
        Some("error") => drop(marked.extra.insert("is_error".to_owned(), true.into())),
        Some("success") => drop(marked.extra.insert("is_error".to_owned(), false.into())),
        _ => {}
    }
    marked
}

/// A result that failed if it has an error, whose text the model saw. Without one it is unknown
/// whether the call failed.
fn failed_or(given: &Value, mut text: String) -> ObservationResult {
    let error = given.get("error").filter(|error| !error.is_null());
    let said = error.and_then(|error| error.as_str().or(word(error, "message"))).unwrap_or_default();
    if !text.contains(said) {
        join(&mut text, said);
    }
    let mut result = ObservationResult::new(Some(text));
    if error.is_some() {
        result.extra.insert("is_error".to_owned(), true.into());
    }
    result
}

/// Results in Anthropic's shape; whether there were any.
fn results(message: &Value, time: Option<&String>, out: &mut Builder) -> bool {
    let mut any = false;
    for block in blocks(message, "tool_result") {
        any = true;
        let content = block.get("content").and_then(text_of);
        let mut result = ObservationResult::new(content);
        mark_error(&mut result, block.get("is_error"));
        out.result(None, word(block, "tool_use_id").unwrap_or_default(), result, time.cloned());
    }
    any
}

/// A message's usage, if given: in the fields of OpenAI or of Anthropic.
fn used(message: &Value) -> Option<(KnownUsage, &Value)> {
    let places = ["/extra/response/usage", "/usage", "/response/usage", "/response_metadata/usage"];
    let raw = places.into_iter().find_map(|place| message.pointer(place)).filter(|raw| raw.is_object())?;
    Some((usage(raw)?, raw))
}

/// Tokens in OpenAI's fields, whose input includes cached tokens, or in Anthropic's.
pub(super) fn usage(raw: &Value) -> Option<KnownUsage> {
    let field = |key: &str| raw.get(key).and_then(Value::as_u64);
    if raw.get("prompt_tokens").is_none() && raw.get("completion_tokens").is_none() {
        let is_known = raw.get("input_tokens").is_some() || raw.get("output_tokens").is_some();
        return is_known.then(|| claude_code::usage(raw, false));
    }
    let cached = raw.pointer("/prompt_tokens_details/cached_tokens").and_then(Value::as_u64);
    let known = KnownUsage {
        input: field("prompt_tokens").map(|read| read.saturating_sub(cached.unwrap_or_default())),
        output: field("completion_tokens"),
        cache_read: cached,
        cache_write: None,
        cache_write_1h: 0,
    };
    Some(known.without_cache())
}

/// The one command of a reply in Markdown.
fn command(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("```bash\n").or_else(|| text.split_once("```mswea_bash_command\n"))?;
    Some(rest.split_once("\n```")?.0)
}

fn observation_of(extra: &Value, text: String) -> ObservationResult {
    let mut kept = Map::new();
    let said =
        text.split_once(STATUS).and_then(|(_, rest)| rest.split_once('<')?.0.trim().parse::<i64>().ok());
    let status = extra.get("returncode").and_then(Value::as_i64).or(said);
    if let Some(status) = status {
        kept.insert("exit_code".to_owned(), status.into());
    }
    ObservationResult { extra: kept, ..ObservationResult::new(Some(text)) }
}
