//! The four protocols between agents and models, one file each.
//!
//! Requests and replies are handled as JSON values, so that unknown fields are forwarded unchanged.

mod completions;
mod dialect;
mod gemini;
mod messages;
mod responses;

use std::fmt;

use serde::{Deserialize, Serialize};

pub(crate) use dialect::{Changes, Dialect, Pins, ScriptedReply, Seen};

/// A protocol between agents and models.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// Anthropic's Messages.
    #[default]
    AnthropicMessages,
    /// OpenAI's Responses.
    OpenaiResponses,
    /// OpenAI's chat completions, which many servers support.
    OpenaiCompletions,
    /// Gemini's `generateContent` and `streamGenerateContent`.
    Gemini,
}

impl Protocol {
    /// All protocols.
    pub const ALL: [Self; 4] =
        [Self::AnthropicMessages, Self::OpenaiResponses, Self::OpenaiCompletions, Self::Gemini];

    /// The protocol's name in ledgers.
    pub fn name(self) -> &'static str {
        match self {
            Self::AnthropicMessages => "anthropic-messages",
            Self::OpenaiResponses => "openai-responses",
            Self::OpenaiCompletions => "openai-completions",
            Self::Gemini => "gemini",
        }
    }

    /// The path in the base URL that an agent is given.
    pub fn base_path(self) -> &'static str {
        match self {
            Self::AnthropicMessages | Self::Gemini => "",
            Self::OpenaiResponses | Self::OpenaiCompletions => "/v1",
        }
    }

    pub(crate) fn dialect(self) -> &'static dyn Dialect {
        match self {
            Self::AnthropicMessages => &messages::Messages,
            Self::OpenaiResponses => &responses::Responses,
            Self::OpenaiCompletions => &completions::Completions,
            Self::Gemini => &gemini::Gemini,
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) protocol: Protocol,
    pub(crate) operation: Operation,
    /// The model, if the path names it.
    pub(crate) model: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// A reply. Gemini requests a stream by the path, the other providers in the body.
    Generate {
        stream: Option<bool>,
    },
    CountTokens,
    ListModels,
}

/// Resolves a path. Unknown paths are refused.
pub(crate) fn route(method: &str, path: &str) -> Option<Route> {
    let is = |protocol, operation| Some(Route { protocol, operation, model: None });
    let generate = Operation::Generate { stream: None };
    match (method, path) {
        ("POST", "/v1/messages") => is(Protocol::AnthropicMessages, generate),
        ("POST", "/v1/messages/count_tokens") => is(Protocol::AnthropicMessages, Operation::CountTokens),
        ("POST", "/v1/responses") => is(Protocol::OpenaiResponses, generate),
        ("POST", "/v1/chat/completions") => is(Protocol::OpenaiCompletions, generate),
        ("GET", "/v1/models") => is(Protocol::OpenaiCompletions, Operation::ListModels),
        ("POST", _) => {
            let rest = path.strip_prefix("/v1beta/models/").or_else(|| path.strip_prefix("/v1/models/"))?;
            let (model, verb) = rest.split_once(':')?;
            let operation = match verb {
                "generateContent" => Operation::Generate { stream: Some(false) },
                "streamGenerateContent" => Operation::Generate { stream: Some(true) },
                "countTokens" => Operation::CountTokens,
                _ => return None,
            };
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            (!model.is_empty() && model.chars().all(is_plain)).then(|| Route {
                protocol: Protocol::Gemini,
                operation,
                model: Some(model.to_owned()),
            })
        }
        _ => None,
    }
}

/// The protocol in whose format an unknown path is refused.
pub(crate) fn likely_protocol(path: &str) -> Protocol {
    if path.starts_with("/v1/messages") {
        Protocol::AnthropicMessages
    } else if path.starts_with("/v1beta") {
        Protocol::Gemini
    } else {
        Protocol::OpenaiCompletions
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::dialect::result_text;
    use super::*;

    #[test]
    fn only_known_paths_are_routed() {
        let check = |method: &str, path: &str, expected: Option<Protocol>| {
            assert_eq!(route(method, path).map(|route| route.protocol), expected, "{method} {path}");
        };
        check("POST", "/v1/messages", Some(Protocol::AnthropicMessages));
        check("POST", "/v1/responses", Some(Protocol::OpenaiResponses));
        check("POST", "/v1/chat/completions", Some(Protocol::OpenaiCompletions));
        check("POST", "/v1beta/models/gemini-2.5-pro:streamGenerateContent", Some(Protocol::Gemini));
        check("GET", "/v1/models", Some(Protocol::OpenaiCompletions));
        for (method, path) in [
            ("GET", "/v1/messages"),
            ("POST", "/v1/messages/batches"),
            ("POST", "/v1/files"),
            ("POST", "/v1/responses/resp_1/cancel"),
            ("POST", "/v1beta/models/a/../b:generateContent"),
            ("POST", "/v1beta/models/x:batchGenerateContent"),
            ("POST", "/v1beta/cachedContents"),
            ("POST", "//v1/messages"),
            ("POST", "http://api.anthropic.com/v1/messages"),
        ] {
            check(method, path, None);
        }
    }

    #[test]
    fn text_is_found_in_results() {
        let check = |value: Value, expected: &str| assert_eq!(result_text(&value), expected, "{value}");
        check(json!("plain"), "plain");
        check(json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "a\nb");
        check(json!("{\"output\":\"one\\ntwo\",\"exit\":0}"), "one\ntwo");
        check(json!({"output": "a", "error": null}), "a");
        check(Value::Null, "");
    }

    /// Values with the protocols' own keys, in the right places and in wrong ones.
    fn words() -> impl Strategy<Value = Value> {
        const WORDS: [&str; 40] = [
            "type",
            "role",
            "content",
            "text",
            "messages",
            "input",
            "contents",
            "parts",
            "tools",
            "function",
            "name",
            "arguments",
            "tool_use",
            "tool_result",
            "assistant",
            "user",
            "model",
            "system",
            "message",
            "choices",
            "delta",
            "usage",
            "input_tokens",
            "function_call",
            "function_call_output",
            "output",
            "functionCall",
            "functionResponse",
            "response",
            "generationConfig",
            "maxOutputTokens",
            "max_tokens",
            "thinking",
            "budget_tokens",
            "stream",
            "stream_options",
            "tool_choice",
            "image_url",
            "source",
            "url",
        ];
        let word = || proptest::sample::select(&WORDS[..]);
        let leaf = prop_oneof![
            word().prop_map(|word| json!(word)),
            any::<u64>().prop_map(|number| json!(number)),
            Just(json!(true)),
            Just(Value::Null),
            Just(json!("{\"a\": [1, {\"text\": \"x\"}]}")),
        ];
        leaf.prop_recursive(6, 64, 6, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
                proptest::collection::vec((word(), inner), 0..6)
                    .prop_map(|pairs| pairs.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()),
            ]
        })
    }

    /// The temperature of a trial is in every request, whatever the agent asked for.
    #[test]
    fn the_temperature_of_a_trial_is_set_in_each_protocol() {
        for protocol in Protocol::ALL {
            for given in [
                serde_json::json!({}),
                serde_json::json!({ "temperature": 1.0, "generationConfig": { "temperature": 1.0 } }),
            ] {
                let constrain = |temperature| {
                    let pins = Pins {
                        model: "m",
                        max_output_tokens: None,
                        temperature,
                        provider_tools: &[],
                        is_home: true,
                    };
                    let (mut body, mut changes) = (given.clone(), Changes::default());
                    assert!(protocol.dialect().constrain(&mut body, &pins, &mut changes).is_ok());
                    let nested = body.pointer("/generationConfig/temperature").and_then(Value::as_f64);
                    (body["temperature"].as_f64(), nested, changes.noted.join(", "))
                };
                let (top, nested, noted) = constrain(Some(0.25));
                let is_set = if matches!(protocol, Protocol::Gemini) { nested } else { top };
                assert_eq!(is_set, Some(0.25), "{protocol}");
                assert!(noted.contains("temperature set to 0.25"), "{protocol}: {noted}");
                let (top, nested, noted) = constrain(None);
                let before = (
                    given["temperature"].as_f64(),
                    given.pointer("/generationConfig/temperature").and_then(Value::as_f64),
                );
                assert_eq!((top, nested), before, "{protocol}: {noted}");
            }
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bodies_are_handled_without_panic(values in proptest::collection::vec(words(), 12)) {
            let names = ["messages", "input", "contents", "tools", "system", "generationConfig", "tool_choice"];
            let body: Value = names.iter().zip(&values).map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
            let allowed = ["web_search".to_owned()];
            let pins = Pins { model: "pinned", max_output_tokens: Some(7), temperature: Some(0.5), provider_tools: &allowed, is_home: false };
            for protocol in Protocol::ALL {
                let dialect = protocol.dialect();
                let (mut held, mut seen) = (body.clone(), Seen::default());
                let _ = dialect.conversation(&held);
                if dialect.constrain(&mut held, &pins, &mut Changes::default()).is_ok() {
                    // Constraining again changes nothing.
                    let mut again = Changes::default();
                    let once = held.clone();
                    prop_assert!(dialect.constrain(&mut held, &pins, &mut again).is_ok());
                    prop_assert_eq!(&held, &once, "{}: {:?}", protocol, again.noted);
                }
                for value in &values {
                    dialect.observe(value, &mut seen);
                }
                let _ = dialect.usage(&seen.usage);
            }
        }
    }
}
