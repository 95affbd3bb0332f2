//! How a judge is asked: from the replies that are stored, or else within the run's budget.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use assay_agent::RunBudget;
use assay_ask::{AskRules, Asker, ModelQuestion, UnreadableReplies};
use assay_judge::{Case, Request, Ruling};
use assay_model::{Price, ScriptContext, Usage};
use assay_sandbox::Sandbox;
use assay_store::JudgeSpec;
use serde::Serialize;

use super::agent::{self, JudgeSandbox};
use super::context::{JudgeContext, JudgeError};
use super::inputs::{Texts, work_folder};
use super::panel::{OpenedJudge, Panel};
use super::replies::{JudgeReplies, ReplyLine, judge_question};
use crate::run::budget::PricedBudget;

/// What judges have used so far.
#[derive(Debug)]
pub(super) struct JudgeAccount {
    pub(super) requests: u32,
    usage: Usage,
    /// Whether all tokens were counted by the provider.
    is_counted: bool,
    /// In USD; `None` once a price is unknown.
    pub(super) usd: Option<f64>,
    /// As providers name them.
    pub(super) models: Vec<String>,
}

impl JudgeAccount {
    pub(super) fn new() -> Self {
        Self { requests: 0, usage: Usage::default(), is_counted: true, usd: Some(0.0), models: Vec::new() }
    }

    /// The tokens of all replies; `None` once a count is unknown.
    pub(super) fn counted_usage(&self) -> Option<Usage> {
        self.is_counted.then_some(self.usage)
    }

    fn add_reply(
        &mut self,
        requests: u32,
        usage: Option<Usage>,
        price: Option<Price>,
        model: Option<&String>,
    ) {
        self.requests = self.requests.saturating_add(requests);
        match usage {
            Some(usage) => self.usage += usage,
            None => self.is_counted = false,
        }
        let cost = usage.zip(price).map(|(usage, price)| price.cost(&usage));
        self.usd = self.usd.zip(cost).map(|(sum, cost)| sum + cost);
        if let Some(model) = model.filter(|model| !self.models.contains(model)) {
            self.models.push(model.clone());
        }
    }
}

/// An answer, as a judgement lists it.
#[derive(Debug, Serialize)]
pub(super) struct JudgeAnswer {
    judge: String,
    repeat: u32,
    pub(super) text: String,
    replied_model: Option<String>,
    usage: Option<Usage>,
    pub(super) rulings: Vec<Ruling>,
}

/// A request to a judge, and what it is about.
#[derive(Clone, Copy)]
pub(super) struct JudgeTask<'a> {
    pub(super) attempt: &'a Path,
    pub(super) texts: &'a Texts,
    /// Its number among those of the attempt.
    pub(super) number: usize,
    pub(super) case: &'a Case<'a>,
    pub(super) request: &'a Request,
    /// Whether any text is an answer: it is a vote.
    pub(super) is_vote: bool,
}

impl JudgeTask<'_> {
    fn read_reply(&self, text: &str) -> Result<Vec<Ruling>, String> {
        if self.is_vote {
            return Ok(Vec::new());
        }
        self.case.read(text).map_err(|error| error.to_string())
    }
}

/// How judges are asked. The next run asks again for an answer that cannot be read.
fn ask_rules(spec: &JudgeSpec) -> AskRules {
    let patience = assay_diagnostic::duration_of_seconds(spec.timeout);
    AskRules { patience, unreadable: UnreadableReplies::AskAgain, ..AskRules::default() }
}

/// The answer of a judge to a request in a repeat. What was paid for it, in an earlier attempt too, is added to the account.
pub(super) fn answer_request(
    judge: &OpenedJudge,
    task: &JudgeTask<'_>,
    repeat: u32,
    panel: &Panel,
    context: &JudgeContext<'_>,
    account: &mut JudgeAccount,
) -> Result<JudgeAnswer, JudgeError> {
    let script = ScriptContext { repetition: repeat, ..context.script.clone() };
    let question = judge_question(judge, task.request, task.texts, &panel.spec, repeat, script);
    let session = AskedJudge { judge, task, repeat, panel, context, question };
    match panel.sandbox.as_ref().filter(|_| !task.is_vote) {
        Some(sandbox) => session.ask_agent(&**sandbox, account),
        None => session.ask_model(account),
    }
}

/// A judge, and what it is asked in a repeat.
struct AskedJudge<'a> {
    judge: &'a OpenedJudge,
    task: &'a JudgeTask<'a>,
    repeat: u32,
    panel: &'a Panel,
    context: &'a JudgeContext<'a>,
    question: ModelQuestion,
}

impl AskedJudge<'_> {
    fn replies(&self) -> JudgeReplies {
        JudgeReplies::new(self.context.judgements)
    }

    fn budget(&self) -> PricedBudget<'_> {
        PricedBudget { budget: self.context.budget, price: self.judge.entry.price }
    }

    fn ask_model(&self, account: &mut JudgeAccount) -> Result<JudgeAnswer, JudgeError> {
        let asker =
            Asker::new(Arc::new(self.replies()), Arc::new(self.budget()), ask_rules(&self.panel.spec))
                .report_with(self.context.progress.clone());
        let read = |text: &str| self.task.read_reply(text);
        let answer = asker.answer_question(&self.judge.handle, &self.question, &read, self.context.cancel)?;
        let judge = || self.judge.entry.model.clone();
        let rulings = answer.value.map_err(|fault| JudgeError::Unreadable { judge: judge(), fault })?;
        let replies = &answer.exchange.replies;
        for reply in replies {
            account.add_reply(1, reply.usage, self.judge.entry.price, reply.replied_model.as_ref());
        }
        // Of stored replies the first that can be read is the answer, of new ones the last.
        let first = replies.iter().find(|reply| answer.is_cached && read(&reply.text).is_ok());
        let reply = first.or(replies.last()).cloned().unwrap_or_default();
        Ok(JudgeAnswer {
            judge: judge(),
            repeat: self.repeat,
            text: reply.text,
            replied_model: reply.replied_model,
            usage: reply.usage,
            rulings,
        })
    }

    /// The answer of a judge that is an agent. One that cannot be read is asked for again, by another session.
    fn ask_agent(
        &self,
        sandbox: &dyn Sandbox,
        account: &mut JudgeAccount,
    ) -> Result<JudgeAnswer, JudgeError> {
        let stored = self.replies().read_lines(&self.question)?;
        for line in &stored {
            self.charge_line(line, account);
        }
        let answered = stored
            .into_iter()
            .find_map(|line| self.task.read_reply(&line.text).ok().map(|found| (line, found)));
        if let Some((line, rulings)) = answered {
            return Ok(self.answer_of(line, rulings));
        }
        let budget = self.budget();
        let mut fault = String::new();
        for number in 1..=ask_rules(&self.panel.spec).tries {
            if let Some(reason) = budget.exhausted() {
                return Err(JudgeError::Budget(reason));
            }
            let line = self.run_agent(sandbox, &budget, number)?;
            self.charge_line(&line, account);
            self.replies().add_line(&self.question, &line)?;
            match self.task.read_reply(&line.text) {
                Ok(rulings) => return Ok(self.answer_of(line, rulings)),
                Err(found) => fault = found,
            }
        }
        if let Some(reason) = budget.exhausted() {
            return Err(JudgeError::Budget(reason));
        }
        Err(JudgeError::Unreadable { judge: self.judge.entry.model.clone(), fault })
    }

    /// One session of a judge that is an agent.
    fn run_agent(
        &self,
        sandbox: &dyn Sandbox,
        budget: &PricedBudget<'_>,
        number: u32,
    ) -> Result<ReplyLine, JudgeError> {
        let Self { judge, task, repeat, panel, context, question } = self;
        let scratch = context.scratch.join(format!("judge-{}-{repeat}-{number}", task.number));
        let material = scratch.join("material");
        agent::lay_out(task.texts, &material)?;
        let session = JudgeSandbox {
            sandbox,
            scratch: &scratch,
            max_turns: panel.spec.max_turns,
            timeout: panel.spec.timeout,
            budget,
            context: &question.script,
            cancel: context.cancel,
        };
        let said = agent::run(judge, task.request, &material, &work_folder(task.attempt), &session);
        let _ = assay_fs::remove_tree(&scratch);
        if context.cancel.load(Ordering::Relaxed) {
            return Err(JudgeError::Cancelled);
        }
        let said = said.map_err(|reason| JudgeError::Agent { judge: judge.entry.model.clone(), reason })?;
        Ok(ReplyLine {
            text: said.text,
            replied_model: said.models.into_iter().next(),
            requests: said.requests,
            usage: said.usage,
            at: jiff::Timestamp::now().to_string(),
        })
    }

    fn charge_line(&self, line: &ReplyLine, account: &mut JudgeAccount) {
        let price = self.judge.entry.price;
        account.add_reply(line.requests, line.usage, price, line.replied_model.as_ref());
    }

    fn answer_of(&self, line: ReplyLine, rulings: Vec<Ruling>) -> JudgeAnswer {
        JudgeAnswer {
            judge: self.judge.entry.model.clone(),
            repeat: self.repeat,
            text: line.text,
            replied_model: line.replied_model,
            usage: line.usage,
            rulings,
        }
    }
}
