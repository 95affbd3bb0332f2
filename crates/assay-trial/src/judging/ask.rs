//! One request to a judge, and its reply.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use assay_judge::Request;
use assay_model::{Call, ChatModel, ChatReply, ChatRequest, Message, ModelError, ScriptContext};

/// Most tokens of a reply.
pub const REPLY_TOKENS: u32 = 16_000;

/// Requests for one answer: a reply that cannot be read is asked for again once.
pub const TRIES: u32 = 2;

/// Why a judge gave no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// It does not reply.
    #[error("the judge {judge} gives no reply: {source}")]
    NoReply {
        /// `provider:model`.
        judge: String,
        /// Why.
        source: ModelError,
    },
    /// Its replies have another form than was asked for.
    #[error("cannot read the replies of the judge {judge}: {fault}")]
    Unreadable {
        /// `provider:model`.
        judge: String,
        /// What is wrong with the last one.
        fault: String,
    },
}

/// A request to a judge.
#[derive(Clone, Copy)]
pub struct JudgeQuestion<'a> {
    /// The judge, as `provider:model`.
    pub name: &'a str,
    /// The model.
    pub model: &'a dyn ChatModel,
    /// What it is asked.
    pub request: &'a Request,
    /// The longest wait, retries included.
    pub patience: Duration,
    /// The place in the experiment, for scripted models.
    pub context: &'a ScriptContext,
    /// Set from outside to stop waiting.
    pub cancel: &'a AtomicBool,
}

impl std::fmt::Debug for JudgeQuestion<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JudgeQuestion").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Asks until a reply can be read, at most twice. `on_reply` gets every reply, also one that cannot be read.
///
/// # Errors
/// No reply, or none that can be read.
pub fn ask_judge<T>(
    question: &JudgeQuestion<'_>,
    read: &dyn Fn(&str) -> Result<T, String>,
    on_reply: &mut dyn FnMut(&ChatReply),
) -> Result<(T, ChatReply), AskError> {
    let JudgeQuestion { name, model, request, patience, context, cancel } = *question;
    let mut messages = vec![Message::User { text: request.text.clone() }];
    let mut fault = String::new();
    for _ in 0..TRIES {
        let call = Call { deadline: Some(Instant::now() + patience), cancel, script_context: context };
        let chat = ChatRequest {
            system: request.system.clone(),
            messages: messages.clone(),
            max_output_tokens: Some(REPLY_TOKENS),
            ..ChatRequest::default()
        };
        let reply = model
            .chat(&chat, &call)
            .map_err(|source| AskError::NoReply { judge: name.to_owned(), source })?;
        on_reply(&reply);
        match read(&reply.text) {
            Ok(answer) => return Ok((answer, reply)),
            Err(error) => {
                let complaint = format!("{error}. Reply with the JSON object only.");
                fault = error;
                messages.push(Message::Assistant {
                    text: reply.text,
                    tool_calls: Vec::new(),
                    raw: reply.raw,
                });
                messages.push(Message::User { text: complaint });
            }
        }
    }
    Err(AskError::Unreadable { judge: name.to_owned(), fault })
}
