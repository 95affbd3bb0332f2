//! What a door counts: caps, costs, and skills on their way into requests.

use std::time::Instant;

use assay_model::{ChatRequest, Message};
use assay_trace::Watch;

use super::{Inside, State, Watched};
use crate::ledger::{CapKind, CapScope, Capped, Exchange, Ledger, SkillExposure, Totals};
use crate::{Caps, Run, TrialPass, lock};

/// Most texts of which is known that they were read.
const TEXTS: usize = 200_000;

impl Inside {
    /// Lets a request through and gives its number, or says which cap forbids it.
    pub(crate) fn begin(&self, exchange: Exchange) -> Result<usize, String> {
        let run_capped = self.run.capped();
        let mut state = lock(&self.state);
        let trial = |of, reason| Capped { scope: CapScope::Trial, of, reason };
        let capped = run_capped
            .or_else(|| over(&self.pass.caps, &state.totals, state.totals.reported_usd(), CapScope::Trial))
            .or_else(|| {
                let most = self.run.options.limits.requests;
                let reason = || format!("the trial has made {most} requests, the most there may be");
                (state.exchanges.len() >= most).then(|| trial(CapKind::Requests, reason()))
            })
            .or_else(|| {
                let reason = || "the model has no price, and USD are capped".to_owned();
                (self.pass.caps.usd.is_some() && self.price(&exchange.model).is_none())
                    .then(|| trial(CapKind::Usd, reason()))
            });
        if let Some(capped) = capped {
            let reason = capped.reason.clone();
            state.capped.get_or_insert(capped);
            return Err(reason);
        }
        let ordinal = state.exchanges.len();
        state.exchanges.push(Exchange { ordinal, ..exchange });
        state.totals.requests += 1;
        lock(&self.run.spent).totals.requests += 1;
        Ok(ordinal)
    }

    /// Puts down how a request ended.
    pub(crate) fn finish(&self, mut exchange: Exchange) {
        if let (Some(tokens), Some(price)) = (&exchange.tokens, self.price(&exchange.model)) {
            exchange.usd = Some(price.cost(tokens));
            exchange.estimated_usd = price.cost(&exchange.estimated_tokens);
            let uncached =
                assay_trace::Usage { input: tokens.prompt(), output: tokens.output, ..Default::default() };
            exchange.usd_without_cache = Some(price.cost(&uncached));
        }
        if let Some(tokens) = &exchange.tokens {
            self.pass.provider.inner.pacer.count(tokens.total(), Instant::now());
        }
        {
            let mut spent = lock(&self.run.spent);
            spent.totals.add(&exchange);
            spent.usd += exchange.usd.unwrap_or_default() - exchange.estimated_usd;
        }
        let mut state = lock(&self.state);
        state.totals.add(&exchange);
        let ordinal = exchange.ordinal;
        if let Some(place) = state.exchanges.get_mut(ordinal) {
            *place = exchange;
        }
    }

    /// Follows skills into a request. What the model said itself tells it nothing.
    pub(crate) fn follow(&self, ordinal: usize, request: &ChatRequest) {
        let mut state = lock(&self.state);
        let State { watches, texts, .. } = &mut *state;
        if watches.is_empty() {
            return;
        }
        let mut is_new = |text: &str| {
            let mut name = [0; 16];
            name.copy_from_slice(blake3::hash(text.as_bytes()).as_bytes().get(..16).unwrap_or(&[0; 16]));
            !text.is_empty() && (texts.len() >= TEXTS || texts.insert(name))
        };
        let mut read = |text: &str, lists: &dyn Fn(&Watch) -> bool| {
            if !is_new(text) {
                return;
            }
            for Watched { watch, advertised, opened } in watches.iter_mut() {
                if advertised.is_none() && lists(watch) {
                    *advertised = Some(ordinal);
                }
                if opened.is_none() {
                    watch.deliver(text);
                    *opened = watch.is_opened().then_some(ordinal);
                } else {
                    watch.deliver(text);
                }
            }
        };
        read(&request.system, &|watch| watch.is_advertised(&request.system, true));
        for message in &request.messages {
            match message {
                Message::User { text } => read(text, &|watch| watch.is_advertised(text, false)),
                Message::Tool { text, .. } => read(text, &|_| false),
                Message::Assistant { .. } => {}
            }
        }
        for tool in &request.tools {
            let text = format!("{}\n{}\n{}", tool.name, tool.description, tool.parameters);
            read(&text, &|watch| {
                watch.is_advertised_by_tool(&tool.name, &tool.description, &tool.parameters)
            });
        }
    }

    pub(super) fn ledger(&self) -> Ledger {
        let state = lock(&self.state);
        let exposure = state.watches.iter().map(|Watched { watch, advertised, opened }| {
            let (body_lines, body_lines_delivered) = watch.lines();
            let skill = watch.name().to_owned();
            SkillExposure {
                skill,
                advertised: *advertised,
                opened: *opened,
                body_lines,
                body_lines_delivered,
            }
        });
        Ledger {
            schema: Ledger::SCHEMA.to_owned(),
            trial: self.pass.trial.clone(),
            attempt: self.pass.attempt,
            provider: self.pass.provider.name().to_owned(),
            model: self.pass.model.clone(),
            totals: state.totals.clone(),
            exchanges: state.exchanges.clone(),
            refused: state.refused.clone(),
            exposure: exposure.collect(),
            capped: state.capped.clone(),
            held_seconds: self.waited().as_secs_f64(),
            silent_seconds: self.silent().as_secs_f64(),
            mismatch: state.mismatch.clone(),
            cassette_error: state.cassette_error.clone(),
        }
    }
}

impl Inside {
    fn price(&self, model: &str) -> Option<Priced<'_>> {
        self.run.price(&self.pass, model)
    }
}

impl Run {
    /// Which of its caps is reached.
    pub(crate) fn capped(&self) -> Option<Capped> {
        let spent = lock(&self.spent);
        over(&self.options.caps, &spent.totals, Some(spent.usd), CapScope::Run)
    }

    /// What a model costs today.
    pub(crate) fn price<'a>(&'a self, pass: &'a TrialPass, model: &str) -> Option<Priced<'a>> {
        let day = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date();
        let prices = pass.prices.as_ref().unwrap_or(&self.options.prices);
        prices.of(model, day).map(|_| Priced { prices, model: model.to_owned(), day })
    }
}

/// A model with a price.
pub(crate) struct Priced<'a> {
    prices: &'a assay_trace::Prices,
    model: String,
    day: jiff::civil::Date,
}

impl Priced<'_> {
    fn cost(&self, usage: &assay_trace::Usage) -> f64 {
        self.prices.cost(&self.model, self.day, usage).unwrap_or_default()
    }
}

/// Which cap is reached by what the provider counted: an estimate is too rough to end a trial or a run.
fn over(caps: &Caps, totals: &Totals, usd: Option<f64>, scope: CapScope) -> Option<Capped> {
    let tokens = totals.reported_tokens();
    let reached = |of, what: String| {
        Some(Capped { scope, of, reason: format!("the {}'s cap is reached: {what}", scope.word()) })
    };
    match caps {
        Caps { tokens: Some(most), .. } if tokens >= *most => {
            reached(CapKind::Tokens, format!("{tokens} of at most {most} tokens"))
        }
        Caps { requests: Some(most), .. } if totals.requests >= *most => {
            reached(CapKind::Requests, format!("{} of at most {most} requests", totals.requests))
        }
        Caps { usd: Some(most), .. } => match usd {
            Some(usd) if usd < *most => None,
            Some(usd) => reached(CapKind::Usd, format!("{usd:.4} of at most {most} USD")),
            None => reached(CapKind::Usd, "a cost in USD that is not known".to_owned()),
        },
        _ => None,
    }
}
