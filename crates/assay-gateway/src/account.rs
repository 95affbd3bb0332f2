//! What a proxy counts: caps, costs, and skills on their way into requests.

use std::time::Instant;

use assay_model::{ChatRequest, Message};
use assay_trace::Watch;

use crate::budget::reached_cap;
use crate::ledger::{CapKind, CapScope, Capped, Exchange, Ledger, SkillExposure};
use crate::session::SessionConfig;
use crate::shared::{Options, Shared, State, Watched};
use crate::sync::lock;

/// Maximum number of texts remembered as already scanned.
const TEXTS: usize = 200_000;

impl Shared {
    /// Admits a request and returns its ordinal, or returns the cap that forbids it.
    pub(crate) fn begin(&self, exchange: Exchange) -> Result<usize, Capped> {
        let run_capped = self.session.budget.capped();
        let mut state = lock(&self.state);
        let trial = |of, reason| Capped { scope: CapScope::Trial, of, reason };
        let capped = run_capped
            .or_else(|| {
                reached_cap(&self.session.caps, &state.totals, state.totals.reported_usd(), CapScope::Trial)
            })
            .or_else(|| {
                let most = self.options.limits.requests;
                let reason = || format!("the trial reached its limit of {most} requests");
                (state.exchanges.len() >= most).then(|| trial(CapKind::Requests, reason()))
            })
            .or_else(|| {
                let reason = || "the cap is in USD but the model has no price".to_owned();
                (self.session.caps.usd.is_some() && self.price(&exchange.model).is_none())
                    .then(|| trial(CapKind::Usd, reason()))
            });
        if let Some(capped) = capped {
            state.capped.get_or_insert_with(|| capped.clone());
            return Err(capped);
        }
        let ordinal = state.exchanges.len();
        state.exchanges.push(Exchange { ordinal, ..exchange });
        state.totals.requests += 1;
        self.session.budget.begin();
        Ok(ordinal)
    }

    /// Records how a request ended.
    pub(crate) fn finish(&self, mut exchange: Exchange) {
        if let (Some(tokens), Some(price)) = (&exchange.tokens, self.price(&exchange.model)) {
            exchange.usd = Some(price.cost(tokens));
            exchange.estimated_usd = price.cost(&exchange.estimated_tokens);
            let uncached =
                assay_trace::Usage { input: tokens.prompt(), output: tokens.output, ..Default::default() };
            exchange.usd_without_cache = Some(price.cost(&uncached));
        }
        if let Some(tokens) = &exchange.tokens {
            self.session.provider.inner.pacer.count(tokens.total(), Instant::now());
        }
        self.session.budget.finish(&exchange);
        let mut state = lock(&self.state);
        state.totals.add(&exchange);
        let ordinal = exchange.ordinal;
        if let Some(place) = state.exchanges.get_mut(ordinal) {
            *place = exchange;
        }
    }

    /// Scans a request for the watched skills. What the model wrote itself is skipped: it exposes
    /// nothing new.
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

    pub(crate) fn ledger(&self) -> Ledger {
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
            trial: self.session.trial.clone(),
            attempt: self.session.attempt,
            provider: self.session.provider.name().to_owned(),
            model: self.session.model.clone(),
            totals: state.totals.clone(),
            exchanges: state.exchanges.clone(),
            refused: state.refused.clone(),
            exposure: exposure.collect(),
            capped: state.capped.clone(),
            paused_seconds: self.waited().as_secs_f64(),
            silent_seconds: self.silent().as_secs_f64(),
            mismatch: state.mismatch.clone(),
            cassette_error: state.cassette_error.clone(),
        }
    }
}

impl Shared {
    fn price(&self, model: &str) -> Option<Priced<'_>> {
        price(&self.options, &self.session, model)
    }
}

/// What a model costs today.
pub(crate) fn price<'a>(options: &'a Options, session: &'a SessionConfig, model: &str) -> Option<Priced<'a>> {
    let day = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date();
    let prices = session.prices.as_ref().unwrap_or(&options.prices);
    prices.of(model, day).map(|_| Priced { prices, model: model.to_owned(), day })
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
