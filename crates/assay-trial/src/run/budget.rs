//! The run's budget, for agents that call models without the gateway, and for judges.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use assay_agent::{RequestShare, RequestTurn, RunBudget};
use assay_ask::{AskBudget, AskRules, CapReached, ModelHandle, ModelQuestion, NotReserved, ReservedCost};
use assay_gateway::{Budget, Ceiling, Reservation, Turn};
use assay_model::{ChatReply, Price, Usage};

/// Until a question that waits for a share asks again.
const TURN: Duration = Duration::from_millis(50);

/// The run's budget, with the price of what one trial charges to it.
#[derive(Debug)]
pub(crate) struct PricedBudget<'a> {
    pub(crate) budget: &'a Budget,
    /// The price of the trial's tokens.
    pub(crate) price: Option<Price>,
}

impl RunBudget for PricedBudget<'_> {
    fn reserve(&self, input: u64, output: Option<u64>) -> RequestTurn<'_> {
        let ceiling = Ceiling::of(input, output, |usage| self.price.map(|price| price.cost(usage)));
        match self.budget.reserve(ceiling) {
            Turn::Granted(reservation) => {
                RequestTurn::Granted(Some(Box::new(PricedShare { reservation, price: self.price })))
            }
            Turn::Deferred => RequestTurn::Deferred,
            Turn::Capped(capped) => RequestTurn::Exhausted(capped.reason),
        }
    }

    fn exhausted(&self) -> Option<String> {
        self.budget.capped().map(|capped| capped.reason)
    }

    /// Only complete replies are charged: one without a usage costs its estimate.
    fn charge(&self, usage: &Usage, estimated: &Usage) {
        self.budget.charge(usage, estimated, self.price.map(|price| price.cost(usage)));
    }
}

/// What is set aside for a request of a priced model.
#[derive(Debug)]
struct PricedShare {
    reservation: Reservation,
    price: Option<Price>,
}

impl RequestShare for PricedShare {
    fn set_used(&mut self, usage: &Usage) {
        let usd = self.price.map_or(0.0, |price| price.cost(usage));
        self.reservation.set_used(Ceiling { tokens: usage.total(), usd });
    }
}

impl AskBudget for PricedBudget<'_> {
    /// Sets aside what one request may use. The share is kept until the question is answered, so that it covers a second
    /// request when the first is charged.
    fn reserve_cost(
        &self,
        _: &ModelHandle,
        question: &ModelQuestion,
        rules: &AskRules,
        cancel: &AtomicBool,
    ) -> Result<Box<dyn ReservedCost + '_>, NotReserved> {
        loop {
            match self.reserve(estimate_input(question), Some(rules.reply_tokens.into())) {
                RequestTurn::Granted(share) => return Ok(Box::new(QuestionShare { budget: self, share })),
                RequestTurn::Exhausted(reason) => return Err(CapReached::Account(reason).into()),
                RequestTurn::Deferred => std::thread::sleep(TURN),
            }
            if cancel.load(Ordering::Relaxed) {
                return Err(NotReserved::Cancelled);
            }
        }
    }
}

/// What is set aside for a question to a judge.
struct QuestionShare<'a> {
    budget: &'a PricedBudget<'a>,
    share: Option<Box<dyn RequestShare + 'a>>,
}

impl ReservedCost for QuestionShare<'_> {
    fn charge_reply(&mut self, question: &ModelQuestion, reply: &ChatReply) {
        let reported = reply.usage.filter(|usage| usage.total() > 0);
        let usage = reported.unwrap_or_else(|| estimate_usage(question, reply));
        self.budget.charge(&usage, &if reported.is_some() { Usage::default() } else { usage });
        if let Some(share) = &mut self.share {
            share.set_used(&usage);
        }
    }

    fn check_next_request(&self) -> Result<(), CapReached> {
        self.budget.exhausted().map_or(Ok(()), |reason| Err(CapReached::Account(reason)))
    }
}

/// Estimates the tokens of a question from its characters.
fn estimate_input(question: &ModelQuestion) -> u64 {
    let length = question.system.chars().count() + question.text.chars().count();
    assay_model::estimate(u64::try_from(length).unwrap_or(u64::MAX))
}

/// Estimates the usage of a reply without usage data.
fn estimate_usage(question: &ModelQuestion, reply: &ChatReply) -> Usage {
    let length = u64::try_from(reply.text.chars().count()).unwrap_or(u64::MAX);
    Usage { input: estimate_input(question), output: assay_model::estimate(length), ..Usage::default() }
}
