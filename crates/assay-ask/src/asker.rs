//! Questions one by one.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use assay_model::{Call, ChatReply, ChatRequest, Message, ModelError};
use serde_json::Value;

use crate::{
    AskBudget, AskError, AskEvent, AskEvents, AskProgress, AskRules, CapReached, Exchange, ModelHandle,
    ModelQuestion, NotReserved, PreflightEvent, ReplyCache, ReservedCost, StoredReply, UnreadableReplies,
};

/// Asks models by the rules of a client. Any number of threads share it.
pub struct Asker<'a> {
    cache: Arc<dyn ReplyCache + 'a>,
    budget: Arc<dyn AskBudget + 'a>,
    rules: AskRules,
    progress: AskProgress,
}

impl std::fmt::Debug for Asker<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Asker").field("rules", &self.rules).finish_non_exhaustive()
    }
}

/// The answer to a question.
#[derive(Debug, Clone)]
pub struct Answer<T> {
    /// What was read, or why no reply can be read, where [`UnreadableReplies::Keep`] makes that an answer.
    pub value: Result<T, String>,
    /// All replies to the question, also those that were stored before.
    pub exchange: Exchange,
    /// The last replies of it that came now.
    pub new_replies: usize,
    /// Whether nothing was sent.
    pub is_cached: bool,
}

impl<'a> Asker<'a> {
    /// An asker that tells nobody what it does.
    pub fn new(cache: Arc<dyn ReplyCache + 'a>, budget: Arc<dyn AskBudget + 'a>, rules: AskRules) -> Self {
        Self { cache, budget, rules, progress: AskProgress::silent() }
    }

    /// Reports what happens, and in each interval how long requests have been waiting.
    #[must_use]
    pub fn report_to(self, events: Arc<dyn AskEvents>, interval: Duration) -> Self {
        self.report_with(AskProgress::new(events, interval))
    }

    /// The same together with other askers.
    #[must_use]
    pub fn report_with(self, progress: AskProgress) -> Self {
        Self { progress, ..self }
    }

    /// The rules.
    pub fn rules(&self) -> &AskRules {
        &self.rules
    }

    /// Whether a question is answered by what is stored.
    ///
    /// # Errors
    /// The stored replies cannot be read.
    pub fn is_answered<T>(
        &self,
        question: &ModelQuestion,
        read: &dyn Fn(&str) -> Result<T, String>,
    ) -> Result<bool, AskError> {
        let stored = self.cache.load_exchange(question)?;
        Ok(self.stored_answer(&stored, read).is_some())
    }

    /// Answers a question from the stored replies, or else by the model.
    ///
    /// # Errors
    /// The model gives no reply, or none that can be read; a cap is reached; replies cannot be stored.
    pub fn answer_question<T>(
        &self,
        model: &ModelHandle,
        question: &ModelQuestion,
        read: &dyn Fn(&str) -> Result<T, String>,
        cancel: &AtomicBool,
    ) -> Result<Answer<T>, AskError> {
        self.answer_after_checking(model, question, read, &[model], cancel)
    }

    /// The same; before the question is sent, the connections to `models` are checked.
    pub(crate) fn answer_after_checking<T>(
        &self,
        model: &ModelHandle,
        question: &ModelQuestion,
        read: &dyn Fn(&str) -> Result<T, String>,
        models: &[&ModelHandle],
        cancel: &AtomicBool,
    ) -> Result<Answer<T>, AskError> {
        let stored = self.cache.load_exchange(question)?;
        if let Some(value) = self.stored_answer(&stored, read) {
            self.progress.report(&AskEvent::Cached { model: model.name() });
            return Ok(Answer { value, exchange: stored, new_replies: 0, is_cached: true });
        }
        let mut reserved = match self.budget.reserve_cost(model, question, &self.rules, cancel) {
            Ok(reserved) => reserved,
            Err(NotReserved::Capped(reason)) => {
                return Err(self.report_cap(reason));
            }
            Err(NotReserved::Cancelled) => {
                let source = ModelError::Cancelled;
                return Err(AskError::NoReply { model: model.name().to_owned(), source });
            }
        };
        self.check_models(models, cancel)?;
        self.send_question(model, question, stored, read, &mut *reserved, cancel)
    }

    /// The error of a question that is not sent because of a cap.
    fn report_cap(&self, reason: CapReached) -> AskError {
        self.progress.report(&AskEvent::Capped(&reason));
        reason.into()
    }

    /// Checks the connections to models with one short request each, unless they were checked before.
    ///
    /// # Errors
    /// The first model that cannot be used.
    pub fn check_models(&self, models: &[&ModelHandle], cancel: &AtomicBool) -> Result<(), AskError> {
        let mut events = |event: &PreflightEvent| self.progress.report(&AskEvent::Preflight(event));
        models.iter().try_for_each(|model| {
            model.check_connection(self.rules.patience, cancel, &mut events).map_err(AskError::Preflight)
        })
    }

    /// The answer by stored replies: the first that can be read, or, where that is an answer, the fault of the last.
    fn stored_answer<T>(
        &self,
        stored: &Exchange,
        read: &dyn Fn(&str) -> Result<T, String>,
    ) -> Option<Result<T, String>> {
        let mut fault = None;
        for reply in &stored.replies {
            match reply.fault.clone().map_or_else(|| read(&reply.text), Err) {
                Ok(value) => return Some(Ok(value)),
                Err(found) => fault = Some(found),
            }
        }
        let is_answer = stored.is_ended && self.rules.unreadable == UnreadableReplies::Keep;
        fault.filter(|_| is_answer).map(Err)
    }

    /// Sends a question until a reply can be read. A conversation that was broken off is continued.
    fn send_question<T>(
        &self,
        model: &ModelHandle,
        question: &ModelQuestion,
        stored: Exchange,
        read: &dyn Fn(&str) -> Result<T, String>,
        reserved: &mut dyn ReservedCost,
        cancel: &AtomicBool,
    ) -> Result<Answer<T>, AskError> {
        let no_reply = |source: ModelError| AskError::NoReply { model: model.name().to_owned(), source };
        let chat_model = model.model().map_err(no_reply)?;
        let mut exchange = stored;
        let mut messages = vec![Message::User { text: question.text.clone() }];
        let mut tried = 0;
        if self.rules.unreadable == UnreadableReplies::Keep && !exchange.is_ended {
            for reply in &exchange.replies {
                let fault = reply.fault.as_deref().unwrap_or_default();
                self.complain(&mut messages, reply.text.clone(), Value::Null, fault);
                tried += 1;
            }
        }
        let (mut new_replies, mut fault) = (0, exchange.fault().unwrap_or_default().to_owned());
        for number in tried + 1..=self.rules.tries {
            if new_replies > 0 {
                reserved.check_next_request().map_err(|reason| self.report_cap(reason))?;
            }
            let (reply, after) =
                self.send_request(&*chat_model, question, &messages, cancel).map_err(no_reply)?;
            reserved.charge_reply(question, &reply);
            let value = read(&reply.text);
            exchange.is_ended = value.is_ok() || number == self.rules.tries;
            exchange.replies.push(StoredReply::of(
                &reply,
                value.as_ref().err().cloned(),
                after.as_secs_f64(),
            ));
            new_replies += 1;
            self.cache.store_exchange(question, &exchange)?;
            self.report_reply(model.name(), &reply, after);
            match value {
                Ok(value) => return Ok(Answer { value: Ok(value), exchange, new_replies, is_cached: false }),
                Err(found) => {
                    let event = AskEvent::Unreadable { model: model.name(), fault: &found };
                    self.progress.report(&event);
                    self.complain(&mut messages, reply.text, reply.raw, &found);
                    fault = found;
                }
            }
        }
        match self.rules.unreadable {
            UnreadableReplies::Keep => {
                Ok(Answer { value: Err(fault), exchange, new_replies, is_cached: false })
            }
            UnreadableReplies::AskAgain => {
                Err(AskError::Unreadable { model: model.name().to_owned(), fault })
            }
        }
    }

    /// Adds a reply that cannot be read, and the complaint about it.
    fn complain(&self, messages: &mut Vec<Message>, text: String, raw: Value, fault: &str) {
        messages.push(Message::Assistant { text, tool_calls: Vec::new(), raw });
        messages.push(Message::User { text: (self.rules.complaint)(fault) });
    }

    fn send_request(
        &self,
        model: &dyn assay_model::ChatModel,
        question: &ModelQuestion,
        messages: &[Message],
        cancel: &AtomicBool,
    ) -> Result<(ChatReply, Duration), ModelError> {
        let began = Instant::now();
        let call =
            Call { deadline: Some(began + self.rules.patience), cancel, script_context: &question.script };
        let request = ChatRequest {
            system: question.system.clone(),
            messages: messages.to_vec(),
            max_output_tokens: Some(self.rules.reply_tokens),
            ..ChatRequest::default()
        };
        let open = self.progress.begin_request();
        let reply = model.chat(&request, &call);
        drop(open);
        Ok((reply?, began.elapsed()))
    }

    fn report_reply(&self, model: &str, reply: &ChatReply, after: Duration) {
        for retry in &reply.retries {
            self.progress.report(&AskEvent::Retried { model, retry });
        }
        self.progress.report(&AskEvent::Answered { model, after });
    }
}
