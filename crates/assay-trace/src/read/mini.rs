//! mini-swe-agent's trajectory: one document with the messages as sent and the replies as received.

use serde_json::Value;

use super::builder::Builder;
use super::marks::{Mark, Need};
use super::messages::conversation;
use super::reader::{Decoder, DocumentDecoder, Reader, Shape};
use super::text::{list, word};

/// `traj.json`.
pub(crate) struct Document;

impl Reader for Document {
    fn name(&self) -> &'static str {
        "mini-swe-agent"
    }

    fn marks(&self) -> &'static [Mark] {
        &[&[Need::Begins("/trajectory_format", "mini-swe-agent"), Need::List("/messages")]]
    }

    fn accepts(&self, document: &Value) -> bool {
        document.get("messages").is_some_and(Value::is_array)
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
    "mini-swe-agent".clone_into(&mut out.head.agent.name);
    word(info, "mini_version").unwrap_or_default().clone_into(&mut out.head.agent.version);
    let model = info.pointer("/config/model/model_name").and_then(Value::as_str);
    out.head.agent.model_name = model.map(str::to_owned);
    if let Some(ended) = info.get("exit_status") {
        out.head.extra.insert("exit_status".to_owned(), ended.clone());
    }
    out.head.cost_usd = info.pointer("/model_stats/instance_cost").and_then(Value::as_f64);
    // Version 1.0 has no calls: a command is a block of the reply, and its result is the next
    // message of the user.
    conversation(list(document, "messages"), true, out);
}
