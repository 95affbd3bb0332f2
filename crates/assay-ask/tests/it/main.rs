//! Questions to models: what is sent, what is stored, and where it stops.

#![expect(
    clippy::unwrap_used,
    reason = "tests end where something is not as it should be, and say what they found"
)]

mod batch;
mod cap;
mod connection;
mod replies;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use assay_ask::{
    Answer, AskCaps, AskError, AskRules, Asker, CostCap, FolderCache, ModelHandle, ModelQuestion,
};
use assay_model::{Call, ChatModel, ChatReply, ChatRequest, ModelError, Stop, Usage};
use serde_json::{Value, json};

/// A model that replies in order, then always `7`, and counts the messages of each request.
#[derive(Clone, Default)]
struct Played {
    replies: Arc<Mutex<VecDeque<Result<&'static str, u16>>>>,
    requests: Arc<Mutex<Vec<usize>>>,
    /// A provider that counts no tokens.
    is_uncounted: bool,
}

impl Played {
    fn new(replies: &[Result<&'static str, u16>]) -> Self {
        Self { replies: Arc::new(Mutex::new(replies.iter().copied().collect())), ..Self::default() }
    }

    fn requests(&self) -> Vec<usize> {
        self.requests.lock().unwrap().clone()
    }

    fn handle(&self) -> ModelHandle {
        ModelHandle::of_model(Arc::new(self.clone()))
    }
}

/// A reply that used 100 and 10 tokens.
fn reply(text: &str) -> ChatReply {
    ChatReply {
        text: text.to_owned(),
        tool_calls: Vec::new(),
        reasoning: None,
        stop: Stop::End,
        usage: Some(Usage { input: 100, output: 10, ..Usage::default() }),
        raw_usage: Value::Null,
        raw: Value::Null,
        model: Some("played-1".to_owned()),
        retries: Vec::new(),
    }
}

impl ChatModel for Played {
    fn id(&self) -> &'static str {
        "openai:played"
    }

    fn chat(&self, request: &ChatRequest, _: &Call<'_>) -> Result<ChatReply, ModelError> {
        self.requests.lock().unwrap().push(request.messages.len());
        let next = self.replies.lock().unwrap().pop_front().unwrap_or(Ok("7"));
        let text = next.map_err(|status| ModelError::Refused { status, message: "no".to_owned() })?;
        let usage = reply(text).usage.filter(|_| !self.is_uncounted);
        Ok(ChatReply { usage, ..reply(text) })
    }
}

fn number(reply: &str) -> Result<u32, String> {
    reply.trim().parse().map_err(|_| format!("{reply:?} is not a number"))
}

fn question(model: &ModelHandle, text: &str) -> ModelQuestion {
    let mut question = ModelQuestion::new(model, "You count.", text);
    question.labels.insert("schema".to_owned(), json!("test/1"));
    question
}

fn asker(folder: &Path, rules: AskRules) -> Asker<'static> {
    let cap = CostCap::new(None, AskCaps::default());
    Asker::new(Arc::new(FolderCache::new(folder)), Arc::new(cap), rules)
}

fn answer(asker: &Asker<'_>, model: &ModelHandle, text: &str) -> Result<Answer<u32>, AskError> {
    asker.answer_question(model, &question(model, text), &number, &AtomicBool::new(false))
}
