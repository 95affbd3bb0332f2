//! What questions may cost: set aside before they are sent, charged as replies arrive.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use assay_model::{ChatReply, Price, Usage};

use crate::{AskRules, ModelHandle, ModelQuestion, max_usage};

/// Until a question that waits for a share looks whether it is cancelled.
const TURN: Duration = Duration::from_millis(100);

/// How much more than its estimate a question may cost: tokenizers differ.
const TOKENIZERS: f64 = 1.25;

/// Decides whether a question may be sent.
pub trait AskBudget: Send + Sync {
    /// Sets aside what a question may cost. Waits as long as only other questions under way prevent that.
    ///
    /// # Errors
    /// A cap is reached, or it is cancelled.
    fn reserve_cost(
        &self,
        model: &ModelHandle,
        question: &ModelQuestion,
        rules: &AskRules,
        cancel: &AtomicBool,
    ) -> Result<Box<dyn ReservedCost + '_>, NotReserved>;
}

/// Why nothing is set aside for a question.
#[derive(Debug, Clone, PartialEq)]
pub enum NotReserved {
    /// A cap is reached.
    Capped(CapReached),
    /// It was cancelled from outside while it waited.
    Cancelled,
}

impl From<CapReached> for NotReserved {
    fn from(reason: CapReached) -> Self {
        Self::Capped(reason)
    }
}

/// What is set aside for a question, until this is dropped.
pub trait ReservedCost {
    /// Charges a reply.
    fn charge_reply(&mut self, question: &ModelQuestion, reply: &ChatReply);

    /// Whether another request for the same answer may be sent, after a reply that cannot be read. It may where all tries
    /// are set aside.
    ///
    /// # Errors
    /// A cap is reached.
    fn check_next_request(&self) -> Result<(), CapReached> {
        Ok(())
    }
}

/// The caps of a command.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct AskCaps {
    /// In USD. A question whose most expensive answer would exceed it is not sent.
    pub usd: Option<f64>,
    /// Questions that are sent.
    pub questions: Option<u64>,
    /// What must not ask a paid model without one of these caps, such as "this draft"; `None` if it may.
    pub required_by: Option<&'static str>,
}

/// Why a question was not sent.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CapReached {
    /// The cap in USD.
    #[error("the cap of ${cap} is reached: ${spent:.4} is spent, and the next request may cost ${next:.4}")]
    Usd {
        /// The cap.
        cap: f64,
        /// What was spent.
        spent: f64,
        /// The most that the question may cost.
        next: f64,
    },
    /// The cap on questions.
    #[error("the cap of {cap} questions is reached")]
    Questions {
        /// The cap.
        cap: u64,
    },
    /// A paid model, and no cap where one is required.
    #[error("{model} is a paid model, and {by} has no cap")]
    Missing {
        /// `provider:model`.
        model: String,
        /// What has none.
        by: &'static str,
    },
    /// The cap of a larger account, in words.
    #[error("{0}")]
    Account(String),
}

/// What was sent so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spending {
    /// Questions that were sent.
    pub questions: u64,
    /// Replies to them.
    pub replies: u64,
    /// Their tokens, as far as providers reported them.
    pub usage: Usage,
}

#[derive(Debug, Default)]
struct CostAccount {
    spending: Spending,
    /// Cost in USD of replies whose tokens were not reported, estimated. It counts for the cap only.
    estimated: f64,
    /// The most that questions under way may cost, in USD.
    reserved: f64,
    under_way: u64,
}

/// The caps of a command with one price, and what it has spent. At no time may what is spent and what is set aside exceed
/// the cap, so that concurrent questions exceed it only by what an answer costs more than its estimate.
#[derive(Debug)]
pub struct CostCap {
    price: Option<Price>,
    caps: AskCaps,
    account: Mutex<CostAccount>,
    freed: Condvar,
}

impl CostCap {
    /// Caps of which nothing is spent. Without a price, nothing costs anything.
    pub fn new(price: Option<Price>, caps: AskCaps) -> Self {
        Self { price, caps, account: Mutex::default(), freed: Condvar::new() }
    }

    /// With what was spent before.
    #[must_use]
    pub fn after(self, spent: Usage) -> Self {
        self.account().spending.usage += spent;
        self
    }

    fn account(&self) -> MutexGuard<'_, CostAccount> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The price.
    pub fn price(&self) -> Option<Price> {
        self.price
    }

    /// The caps.
    pub fn caps(&self) -> AskCaps {
        self.caps
    }

    /// Refuses a paid model if a cap is required and there is none.
    ///
    /// # Errors
    /// [`CapReached::Missing`].
    pub fn check_model(&self, model: &ModelHandle) -> Result<(), CapReached> {
        let AskCaps { usd, questions, required_by } = self.caps;
        match required_by.filter(|_| usd.is_none() && questions.is_none() && model.is_paid(self.price)) {
            Some(by) => Err(CapReached::Missing { model: model.name().to_owned(), by }),
            None => Ok(()),
        }
    }

    /// The most that a question may cost in USD: all replies of full length, and a quarter for differences between
    /// tokenizers. 0 without a price.
    pub fn max_cost(&self, question: &ModelQuestion, rules: &AskRules) -> f64 {
        if self.price.is_none() { 0.0 } else { self.max_cost_of(question.count_tokens(), rules) }
    }

    /// The same for a question of so many tokens.
    pub fn max_cost_of(&self, tokens: u64, rules: &AskRules) -> f64 {
        self.price.map_or(0.0, |price| TOKENIZERS * price.cost(&max_usage(tokens, rules)))
    }

    /// What was sent so far.
    pub fn spending(&self) -> Spending {
        self.account().spending
    }

    /// The cost of all replies in USD, unless prices are unknown.
    pub fn cost_usd(&self) -> Option<f64> {
        self.price.map(|price| price.cost(&self.spending().usage))
    }

    /// An amount in USD, unless prices are unknown.
    pub fn priced(&self, usd: f64) -> Option<f64> {
        self.price.map(|_| usd)
    }
}

impl AskBudget for CostCap {
    fn reserve_cost(
        &self,
        model: &ModelHandle,
        question: &ModelQuestion,
        rules: &AskRules,
        cancel: &AtomicBool,
    ) -> Result<Box<dyn ReservedCost + '_>, NotReserved> {
        self.check_model(model)?;
        let next = self.max_cost(question, rules);
        let mut account = self.account();
        loop {
            if cancel.load(Ordering::Relaxed) {
                return Err(NotReserved::Cancelled);
            }
            if let Some(cap) = self.caps.questions.filter(|cap| account.spending.questions >= *cap) {
                return Err(CapReached::Questions { cap }.into());
            }
            let spent = self.price.map_or(0.0, |price| price.cost(&account.spending.usage));
            let spent = spent + account.estimated;
            match self.caps.usd {
                Some(cap) if spent + next > cap => return Err(CapReached::Usd { cap, spent, next }.into()),
                Some(cap) if account.under_way > 0 && spent + account.reserved + next > cap => {
                    let waited = self.freed.wait_timeout(account, TURN);
                    account = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                _ => break,
            }
        }
        account.reserved += next;
        account.under_way += 1;
        account.spending.questions += 1;
        Ok(Box::new(CostShare { cap: self, reserved: next }))
    }
}

/// What is set aside in a [`CostCap`].
#[derive(Debug)]
struct CostShare<'a> {
    cap: &'a CostCap,
    reserved: f64,
}

impl ReservedCost for CostShare<'_> {
    fn charge_reply(&mut self, question: &ModelQuestion, reply: &ChatReply) {
        let estimated = match (reply.usage, self.cap.price) {
            (None, Some(price)) => {
                let output = u64::try_from(assay_model::tokens(&reply.text)).unwrap_or(u64::MAX);
                price.cost(&Usage { input: question.count_tokens(), output, ..Usage::default() })
            }
            _ => 0.0,
        };
        let mut account = self.cap.account();
        account.spending.replies += 1;
        account.spending.usage += reply.usage.unwrap_or_default();
        account.estimated += estimated;
    }
}

impl Drop for CostShare<'_> {
    fn drop(&mut self) {
        let mut account = self.cap.account();
        account.under_way -= 1;
        account.reserved -= self.reserved;
        if account.under_way == 0 {
            account.reserved = 0.0;
        }
        drop(account);
        self.cap.freed.notify_all();
    }
}
