//! What the protocols have in common.

use assay_model::{ChatRequest, Message, ToolCall, Turn, chars};
use assay_trace::Usage;
use serde_json::{Value, json};

/// Reads and writes one protocol.
pub(crate) trait Dialect: Sync {
    /// The conversation in a request, for scripts and for skill exposure.
    fn conversation(&self, body: &Value) -> ChatRequest;

    /// Constrains a request to what a trial may do, and records each change. `Err` refuses it.
    fn constrain(&self, body: &mut Value, pins: &Pins<'_>, changes: &mut Changes) -> Result<(), NotPassed>;

    /// Reads an event of a stream, or a whole reply.
    fn observe(&self, event: &Value, seen: &mut Seen);

    /// Parses a usage into its four fields.
    fn usage(&self, raw: &Value) -> Option<Usage>;

    /// Formats an error.
    fn error(&self, status: u16, message: &str) -> Value;

    /// Formats a scripted reply.
    fn reply(&self, said: &ScriptedReply<'_>) -> Value;

    /// Formats a scripted reply as the events of a stream.
    fn events(&self, said: &ScriptedReply<'_>) -> Vec<String>;
}

/// What a trial may request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pins<'a> {
    pub(crate) model: &'a str,
    pub(crate) max_output_tokens: Option<u64>,
    pub(crate) temperature: Option<f64>,
    /// The provider's own tools that are allowed.
    pub(crate) provider_tools: &'a [String],
    /// Whether the provider is OpenAI itself, which names one field differently.
    pub(crate) is_home: bool,
}

/// What was removed from a request or changed in it.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) noted: Vec<String>,
    /// The agent did not request the event that carries the usage, and must not see it.
    pub(crate) hides_usage: bool,
}

impl Changes {
    /// Removes fields.
    pub(super) fn strip(&mut self, body: &mut Value, names: &[&str]) {
        let Some(object) = body.as_object_mut() else { return };
        for name in names {
            if object.shift_remove(*name).is_some() {
                self.note((*name).to_owned());
            }
        }
    }

    pub(super) fn note(&mut self, what: String) {
        if self.noted.len() < 100 && !self.noted.contains(&what) {
            self.noted.push(what);
        }
    }
}

/// What was read from a reply.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The usage as sent; of a stream, the last value of each field.
    pub(crate) usage: Value,
    pub(crate) calls: Vec<String>,
    pub(crate) model: Option<String>,
    /// Whether the reply ended as the protocol defines it.
    pub(crate) finished: bool,
    pub(crate) error: Option<String>,
    /// Characters that the model wrote, from the pieces of a stream or of an interrupted reply.
    pub(crate) received: u64,
    /// The same from complete items, at the end of a stream or in a reply of one piece.
    pub(crate) whole: u64,
}

impl Seen {
    /// Characters that the model wrote, as far as they were received.
    pub(crate) fn received(&self) -> u64 {
        self.received.max(self.whole)
    }

    /// Adds a piece of a stream, whose text is in these fields.
    pub(super) fn add_piece(&mut self, piece: &Value, fields: &[&str]) {
        self.received += fields.iter().filter_map(|name| piece.get(*name)).map(chars).sum::<u64>();
    }

    /// Adds a complete item.
    pub(super) fn add_whole(&mut self, item: &Value, fields: &[&str]) {
        self.whole += fields.iter().filter_map(|name| item.get(*name)).map(chars).sum::<u64>();
    }
    /// Merges a usage into the known one: later events of a stream have fewer fields, but final
    /// values.
    pub(super) fn add_usage(&mut self, usage: Option<&Value>) {
        let Some(Value::Object(given)) = usage else { return };
        if let Value::Object(known) = &mut self.usage {
            known.extend(
                given.iter().filter(|(_, value)| !value.is_null()).map(|(k, v)| (k.clone(), v.clone())),
            );
        } else {
            self.usage = Value::Object(given.clone());
        }
    }

    pub(super) fn add_call(&mut self, name: Option<&Value>) {
        if let Some(name) = name.and_then(Value::as_str)
            && !name.is_empty()
            && self.calls.len() < 1_000
        {
            self.calls.push(assay_model::wire::excerpt(name.as_bytes()));
        }
    }

    pub(super) fn add_model(&mut self, model: Option<&Value>) {
        if let Some(model) = model.and_then(Value::as_str)
            && self.model.is_none()
        {
            self.model = Some(assay_model::wire::excerpt(model.as_bytes()));
        }
    }
}

/// A scripted answer to a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScriptedReply<'a> {
    pub(crate) turn: &'a Turn,
    pub(crate) model: &'a str,
    /// Makes identifiers of replies unique in a trial.
    pub(crate) ordinal: usize,
    /// The request that it answers.
    pub(crate) request: &'a Value,
}

impl ScriptedReply<'_> {
    /// The text in pieces, as a model would stream it.
    pub(super) fn pieces(&self) -> Vec<&str> {
        const PIECE: usize = 24;
        let (mut rest, mut pieces) = (self.turn.say.as_str(), Vec::new());
        while !rest.is_empty() {
            let end = rest.char_indices().map(|(at, _)| at).find(|at| *at >= PIECE).unwrap_or(rest.len());
            let (piece, after) = rest.split_at(end);
            pieces.push(piece);
            rest = after;
        }
        pieces
    }

    /// The calls, with identifiers that no other reply has.
    pub(super) fn calls(&self) -> impl Iterator<Item = (String, &ToolCall)> {
        self.turn.calls.iter().map(|call| (format!("{}-{}", call.id, self.ordinal), call))
    }
}

/// Why a request is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotPassed {
    /// The provider would fetch something.
    #[error("{0} is not supported: include the content in the request")]
    Fetched(&'static str),
    /// The request refers to something that an earlier one stored at the provider.
    #[error(
        "{name} is not supported: send{what} in the request instead of referring to state at the provider"
    )]
    Stored { name: &'static str, what: &'static str },
    #[error("background requests are not supported: they would outlive the trial")]
    Background,
}

/// All text in a value: of an object its `text` if it has one, otherwise every string except type
/// names.
pub(super) fn flat(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            items.iter().map(flat).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
        }
        Value::Object(object) => {
            if let Some(Value::String(text)) = object.get("text") {
                return text.clone();
            }
            let named = object.iter().filter(|(name, _)| *name != "type").map(|(_, value)| flat(value));
            named.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// The text of a result. Some agents encode it as JSON.
pub(super) fn result_text(value: &Value) -> String {
    let text = flat(value);
    match serde_json::from_str::<Value>(&text) {
        Ok(inner @ Value::Object(_)) => flat(&inner),
        _ => text,
    }
}

pub(super) fn text_at(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

pub(super) fn items<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// Parses arguments that are sent as text.
pub(super) fn parsed(arguments: &Value) -> Value {
    match arguments {
        Value::String(text) => serde_json::from_str(text).unwrap_or_else(|_| arguments.clone()),
        other => other.clone(),
    }
}

/// Appends what a model said or called to its current turn, or begins one.
pub(super) fn assistant(messages: &mut Vec<Message>, said: &str, call: Option<ToolCall>) {
    if !matches!(messages.last(), Some(Message::Assistant { .. })) {
        messages.push(Message::Assistant { text: String::new(), tool_calls: Vec::new(), raw: Value::Null });
    }
    if let Some(Message::Assistant { text, tool_calls, .. }) = messages.last_mut() {
        text.push_str(said);
        tool_calls.extend(call);
    }
}

/// Searches the parts of a request that a model is shown for references that the provider would
/// fetch or look up. The contents of calls and schemas are the agent's own.
pub(super) fn refers(
    value: &Value,
    is_reference: &dyn Fn(&serde_json::Map<String, Value>) -> Option<&'static str>,
) -> Option<&'static str> {
    const OWN: [&str; 7] =
        ["input_schema", "parameters", "parametersJsonSchema", "arguments", "args", "function", "response"];
    match value {
        Value::Array(items) => items.iter().find_map(|item| refers(item, is_reference)),
        Value::Object(object) => is_reference(object).or_else(|| {
            let is_call = object.get("type").is_some_and(|kind| kind == "tool_use");
            let shown = object
                .iter()
                .filter(|(name, _)| !(OWN.contains(&name.as_str()) || is_call && name.as_str() == "input"));
            shown.into_iter().find_map(|(_, value)| refers(value, is_reference))
        }),
        _ => None,
    }
}

/// Whether a URL leads anywhere but into the request itself.
pub(super) fn is_remote(value: Option<&Value>) -> bool {
    value.and_then(Value::as_str).is_some_and(|url| !url.starts_with("data:"))
}

/// Lowers a limit, or sets it if there is none.
pub(super) fn lower(object: &mut Value, name: &str, most: u64, changes: &mut Changes) {
    let given = object.get(name).and_then(Value::as_u64);
    if given.is_none_or(|given| given > most)
        && let Some(object) = object.as_object_mut()
    {
        object.insert(name.to_owned(), json!(most));
        changes.note(format!("{name} set to {most}"));
    }
}

/// Sets the sampling temperature, if the trial has one.
pub(super) fn set_temperature(object: &mut Value, pins: &Pins<'_>, changes: &mut Changes) {
    if let Some(temperature) = pins.temperature
        && object.get("temperature").and_then(Value::as_f64) != Some(temperature)
        && let Some(object) = object.as_object_mut()
    {
        object.insert("temperature".to_owned(), json!(temperature));
        changes.note(format!("temperature set to {temperature}"));
    }
}

/// Sets the model.
pub(super) fn pin_model(body: &mut Value, pins: &Pins<'_>) {
    if let Some(object) = body.as_object_mut() {
        object.insert("model".to_owned(), json!(pins.model));
    }
}

/// Removes tools whose type is not in the list, and the choice of one of them. Tools without a type
/// are the agent's.
pub(super) fn keep_tools(
    body: &mut Value,
    own: &dyn Fn(&str) -> bool,
    pins: &Pins<'_>,
    changes: &mut Changes,
) {
    let is_kept = |tool: &Value| {
        tool.get("type").is_none_or(|kind| {
            let kind = kind.as_str().unwrap_or_default();
            own(kind) || pins.provider_tools.iter().any(|allowed| allowed == kind)
        })
    };
    let Some(tools) = body.get_mut("tools").and_then(Value::as_array_mut) else { return };
    let mut removed = Vec::new();
    tools.retain(|tool| {
        let kept = is_kept(tool);
        if !kept {
            let kind = tool.get("type").and_then(Value::as_str).unwrap_or("?");
            removed.push(assay_model::wire::excerpt(kind.as_bytes()));
        }
        kept
    });
    let is_empty = tools.is_empty();
    let chosen = body.pointer("/tool_choice/type").and_then(Value::as_str).map(str::to_owned);
    let lost = is_empty || chosen.is_some_and(|chosen| removed.contains(&chosen));
    if !removed.is_empty() && lost {
        changes.strip(body, if is_empty { &["tools", "tool_choice"] } else { &["tool_choice"] });
    }
    for kind in removed {
        changes.note(format!("tool {kind}"));
    }
}

/// An event with a name.
pub(super) fn named_event(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

/// An event without a name.
pub(super) fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}
