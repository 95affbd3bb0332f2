//! An admitted request, and the tokens that nobody reported of it.

use std::sync::Arc;
use std::time::Instant;

use assay_model::estimate;
use assay_trace::Usage;

use crate::head::Head;
use crate::ledger::Exchange;
use crate::protocol::{Dialect, Route, Seen};
use crate::shared::Shared;
use crate::upstream::Stop;

/// An admitted request.
pub(super) struct Call<'a> {
    pub(super) shared: &'a Shared,
    pub(super) head: &'a Head,
    pub(super) route: &'a Route,
    pub(super) dialect: &'static dyn Dialect,
    pub(super) stop: &'a Arc<Stop>,
    pub(super) started: Instant,
}

/// Estimates the usage of a request whose usage was not reported, from the characters sent and
/// received.
pub(super) struct Unmetered {
    /// Characters of the request.
    request: u64,
    /// Tries that were interrupted before a reply began.
    tries: u64,
}

impl Unmetered {
    pub(super) fn new(request: u64) -> Self {
        Self { request, tries: 0 }
    }

    /// The tokens of a reply, and how many of them are an estimate; `None` if the provider counted
    /// all of them.
    pub(super) fn reply(&self, usage: Option<Usage>, seen: &Seen) -> (Usage, Option<Usage>) {
        let usage = match usage {
            // A reply of no tokens at all is no usage.
            Some(usage) if seen.finished && (usage.total() > 0 || seen.received() == 0) => {
                return (usage, None);
            }
            usage => usage.unwrap_or_default(),
        };
        // The beginning of a stream may report the input; its end would have reported the output.
        let input = if usage.prompt() == 0 { estimate(self.request) } else { 0 };
        let output = estimate(seen.received()).saturating_sub(usage.output);
        let guess = Usage { input, output, ..Usage::default() };
        let mut tokens = usage;
        tokens += guess;
        (tokens, Some(guess))
    }

    /// Counts a try that was interrupted before a reply began: the provider may have read it.
    pub(super) fn count_failed_try(&mut self) {
        self.tries += 1;
    }

    /// Adds what such tries may have cost.
    pub(super) fn add_failed_tries(&mut self, exchange: &mut Exchange) {
        let tries = std::mem::take(&mut self.tries);
        if tries > 0 {
            let input = estimate(self.request).saturating_mul(tries);
            let guess = Usage { input, ..Usage::default() };
            *exchange.tokens.get_or_insert_default() += guess;
            exchange.estimated_tokens += guess;
            exchange.estimated = true;
        }
    }
}
