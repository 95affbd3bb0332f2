//! What all providers have in common: a dialect over a transport.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::text::excerpt;
use crate::transport::{Answer, Transport};
use crate::{Call, ChatModel, ChatReply, ChatRequest, Message, ModelError, ModelOptions};

/// How one provider writes requests and replies.
pub(crate) trait Dialect: Send + Sync {
    /// The body of a request. Limits and temperature are already set.
    fn request(&self, request: &ChatRequest) -> Value;

    /// Parses the reply to `request`. Its retries are added by the caller.
    fn reply(&self, body: &Value, request: &ChatRequest) -> Result<ChatReply, ModelError>;
}

/// A model of a provider.
pub(crate) struct HostedModel<D> {
    pub(crate) id: String,
    pub(crate) dialect: D,
    pub(crate) transport: Transport,
    pub(crate) options: ModelOptions,
}

impl<D: Dialect> ChatModel for HostedModel<D> {
    fn id(&self) -> &str {
        &self.id
    }

    fn chat(&self, request: &ChatRequest, call: &Call<'_>) -> Result<ChatReply, ModelError> {
        let request = ChatRequest {
            max_output_tokens: request.max_output_tokens.or(self.options.max_output_tokens),
            temperature: request.temperature.or(self.options.temperature),
            ..request.clone()
        };
        let body = self.dialect.request(&request);
        let Answer { body, retries } = self.transport.post(&body, call)?;
        let reply = self.dialect.reply(&body, &request)?;
        Ok(ChatReply { retries, ..reply })
    }
}

/// The error for a reply without a required part.
pub(crate) fn missing(what: &str, body: &Value) -> ModelError {
    ModelError::Protocol { message: format!("missing {what}: {}", excerpt(body.to_string().as_bytes())) }
}

/// A token count, if there is one. Some gateways write whole numbers as floats.
pub(crate) fn count(usage: &Value, pointer: &str) -> Option<u64> {
    let number = usage.pointer(pointer)?;
    number.as_u64().or_else(|| {
        let float = number.as_f64().filter(|n| (0.0..1e15).contains(n))?;
        // In range by the line above.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 1e15")]
        Some(float as u64)
    })
}

/// The number of turns of the model.
pub(crate) fn turns(messages: &[Message]) -> usize {
    messages.iter().filter(|message| matches!(message, Message::Assistant { .. })).count()
}

/// Gives every call an id that is new in the conversation. Some servers send none, and some restart
/// with each message. A generated id depends only on the position in the conversation.
pub(crate) struct Ids {
    seen: BTreeSet<String>,
    turn: usize,
    made: usize,
}

impl Ids {
    pub(crate) fn new(messages: &[Message]) -> Self {
        let calls = messages.iter().flat_map(|message| match message {
            Message::Assistant { tool_calls, .. } => tool_calls.as_slice(),
            _ => &[],
        });
        Self { seen: calls.map(|call| call.id.clone()).collect(), turn: turns(messages), made: 0 }
    }

    pub(crate) fn unique_id(&mut self, given: Option<&str>) -> String {
        if let Some(given) = given.filter(|given| !given.is_empty())
            && self.seen.insert(given.to_owned())
        {
            return given.to_owned();
        }
        loop {
            let id = format!("call-{}-{}", self.turn, self.made);
            self.made += 1;
            if self.seen.insert(id.clone()) {
                return id;
            }
        }
    }
}

/// A call's arguments as an object, which providers require. Invalid JSON is put into a field of
/// it.
pub(crate) fn as_object(arguments: &Value) -> Value {
    match arguments {
        Value::Object(_) => arguments.clone(),
        Value::Null => json!({}),
        other => json!({ "invalid_arguments": other }),
    }
}

/// Inserts a value under a name, if there is one.
pub(crate) fn insert_some(body: &mut Value, name: &str, value: Option<impl Into<Value>>) {
    if let (Some(object), Some(value)) = (body.as_object_mut(), value) {
        object.insert(name.to_owned(), value.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ToolCall;

    #[test]
    fn ids_are_unique_and_the_same_each_time() {
        let call = |id: &str| ToolCall { id: id.to_owned(), name: "bash".to_owned(), arguments: Value::Null };
        let turn = Message::Assistant {
            text: String::new(),
            tool_calls: vec![call("a"), call("call-1-0")],
            raw: Value::Null,
        };
        let check = |messages: &[Message], given: &[Option<&str>], expected: &[&str]| {
            let mut ids = Ids::new(messages);
            let found: Vec<String> = given.iter().map(|given| ids.unique_id(*given)).collect();
            assert_eq!(found, expected);
        };
        check(&[], &[None, Some("x"), Some(""), Some("x")], &["call-0-0", "x", "call-0-1", "call-0-2"]);
        check(&[turn], &[Some("a"), None], &["call-1-1", "call-1-2"]);
    }

    #[test]
    fn counts_are_whole() {
        let usage = json!({"a": 3, "b": 4.0, "c": -1, "d": "5", "e": 1e300, "f": null, "g": {"h": 7}});
        let found: Vec<Option<u64>> =
            ["/a", "/b", "/c", "/d", "/e", "/f", "/g/h", "/z"].map(|pointer| count(&usage, pointer)).to_vec();
        assert_eq!(found, [Some(3), Some(4), None, None, None, None, Some(7), None]);
    }
}
