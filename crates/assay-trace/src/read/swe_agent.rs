//! SWE-agent's `.traj`: one document, with the conversation under `history` and the actions under
//! `trajectory`. Demonstrations have the former only. Tokens are given in sum, without caches.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use super::builder::Builder;
use super::marks::{Mark, Need};
use super::reader::{Decoder, DocumentDecoder, Reader, Shape};
use super::text::{function_call, list, shell_call, text_of, word};
use crate::usage::KnownUsage;
use crate::{ObservationResult, Source};

/// `<instance>.traj`.
pub(crate) struct Document;

impl Reader for Document {
    fn name(&self) -> &'static str {
        "swe-agent"
    }

    fn marks(&self) -> &'static [Mark] {
        &[
            &[
                Need::Lacks("/trajectory_format"),
                Need::First("/trajectory", &[Need::Has("/action"), Need::Has("/observation")]),
            ],
            &[
                Need::Lacks("/trajectory_format"),
                Need::First(
                    "/history",
                    &[
                        Need::Has("/role"),
                        Need::Has("/content"),
                        Need::Any(&[Need::Has("/message_type"), Need::Has("/agent")]),
                    ],
                ),
            ],
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
    let info = document.get("info").unwrap_or(&Value::Null);
    "swe-agent".clone_into(&mut out.head.agent.name);
    word(info, "swe_agent_version").unwrap_or_default().clone_into(&mut out.head.agent.version);
    let config = document.get("replay_config");
    let config = config.map(|config| {
        config.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_else(|| config.clone())
    });
    let model = config.as_ref().and_then(|config| config.pointer("/agent/model/name")?.as_str());
    out.head.agent.model_name = model.map(str::to_owned);
    for (key, from) in [("exit_status", info), ("environment", document)] {
        if let Some(value) = from.get(key).filter(|value| value.is_string()) {
            out.head.extra.insert(key.to_owned(), value.clone());
        }
    }
    let history: Vec<&Value> = list(document, "history").iter().filter(|one| !is_shown(one)).collect();
    let steps = list(document, "trajectory");
    out.head.hidden.failures = true;
    out.head.hidden.listing = !history.iter().any(|one| word(one, "role") == Some("system"));
    if steps.is_empty() {
        read_history(&history, out);
    } else {
        let begin = history.iter().take_while(|one| word(one, "role") != Some("assistant"));
        read_history(&begin.copied().collect::<Vec<_>>(), out);
        read_steps(steps, &history, out);
    }
    if let Some(stats) = info.get("model_stats").filter(|stats| stats.is_object()) {
        let field = |key: &str| stats.get(key).and_then(Value::as_u64);
        let sum = KnownUsage {
            input: field("tokens_sent"),
            output: field("tokens_received"),
            ..KnownUsage::default()
        };
        let cost = stats.get("instance_cost").and_then(Value::as_f64);
        out.total(sum, cost, Some(stats));
    }
}

/// Whether a message belongs to a demonstration, which another run left.
fn is_shown(message: &Value) -> bool {
    message.get("is_demo") == Some(&Value::Bool(true))
}

/// Reads the conversation.
fn read_history(history: &[&Value], out: &mut Builder) {
    let mut asked = Vec::new();
    for (number, message) in history.iter().enumerate() {
        let text = message.get("content").and_then(text_of).unwrap_or_default();
        match word(message, "role").unwrap_or_default() {
            "assistant" => asked = reply(message, word(message, "action"), &text, number, out),
            "tool" | "user" if !asked.is_empty() => answer(&std::mem::take(&mut asked), &text, out),
            "system" => {
                out.add_message(None, Source::System, text, None);
            }
            _ => {
                out.add_message(None, Source::User, text, None);
            }
        }
    }
}

/// The steps as they were taken. The messages name the tools and their arguments.
fn read_steps(steps: &[Value], history: &[&Value], out: &mut Builder) {
    let replies: Vec<&Value> =
        history.iter().filter(|one| word(one, "role") == Some("assistant")).copied().collect();
    // The positions of replies by action: searching from each step would take quadratic time.
    let mut places: HashMap<&str, VecDeque<usize>> = HashMap::new();
    for (at, reply) in replies.iter().enumerate() {
        if let Some(action) = word(reply, "action") {
            places.entry(action.trim()).or_default().push_back(at);
        }
    }
    let mut next = 0;
    for (number, step) in steps.iter().enumerate() {
        let action = word(step, "action").unwrap_or_default();
        let text = word(step, "response").or(word(step, "thought")).unwrap_or_default();
        // The history has refused replies, which are not steps, and lacks steps that the harness
        // took.
        let queue = places.get_mut(action.trim());
        let known = queue.and_then(|queue| {
            while queue.front().is_some_and(|&at| at < next) {
                queue.pop_front();
            }
            queue.pop_front()
        });
        let message = known.map_or(&Value::Null, |at| replies[at]);
        next = known.map_or(next, |at| at + 1);
        let asked = reply(message, Some(action), text, number, out);
        let given = step.get("observation").and_then(text_of).unwrap_or_default();
        if !asked.is_empty() {
            answer(&asked, &given, out);
        } else if !given.is_empty() {
            out.add_message(None, Source::User, given, None);
        }
    }
}

/// A message of the model; returns the names of its calls.
fn reply(message: &Value, action: Option<&str>, text: &str, number: usize, out: &mut Builder) -> Vec<String> {
    let key = format!("message-{number}");
    text.clone_into(&mut out.message(None, Some(&key), None).message);
    let mut asked = Vec::new();
    for call in list(message, "tool_calls") {
        let call = function_call(call, &key);
        asked.push(call.tool_call_id.clone());
        out.call(None, Some(&key), call);
    }
    if let Some(action) = action.filter(|action| asked.is_empty() && !action.trim().is_empty()) {
        out.call(None, Some(&key), shell_call(&key, action.trim_end()));
        asked.push(key);
    }
    asked
}

/// The results of a step's calls; there is one text for all of them.
fn answer(asked: &[String], text: &str, out: &mut Builder) {
    for id in asked {
        let result = ObservationResult::new(Some(text.to_owned()));
        out.result(None, id, result, None);
    }
}
