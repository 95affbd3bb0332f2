//! What a proxy counts: caps, costs, and skills on their way into requests.

use std::time::Instant;

use assay_model::{ChatRequest, Message, chars, estimate};
use assay_trace::Watch;
use serde_json::Value;

use crate::budget::{Turn, reached_cap};
use crate::ledger::{CapKind, CapScope, Capped, Exchange, Ledger, SkillExposure};
use crate::reserve::Ceiling;
use crate::session::SessionConfig;
use crate::shared::{Options, Shared, State, Watched};
use crate::sync::lock;

/// Maximum number of texts remembered as already scanned.
const TEXTS: usize = 200_000;

impl Shared {
    /// Admits a request, or says that it has to wait, or returns the cap that forbids it. What the request may use
    /// is set aside in the trial's and in the run's account, until [`Self::finish`] or [`Self::release`].
    pub(crate) fn begin(&self, exchange: Exchange, ceiling: Option<Ceiling>) -> Begun {
        let (mut run_capped, mut reservation) = (None, None);
        match ceiling.map(|ceiling| self.session.budget.reserve(ceiling)) {
            None => run_capped = self.session.budget.capped(),
            Some(Turn::Granted(granted)) => reservation = Some(granted),
            Some(Turn::Deferred) => return Begun::Deferred,
            Some(Turn::Capped(capped)) => run_capped = Some(capped),
        }
        let mut state = lock(&self.state);
        let trial = |of, reason| Capped { scope: CapScope::Trial, of, reason };
        let capped = run_capped
            .or_else(|| {
                reached_cap(&self.session.caps, &state.totals, state.totals.counted_usd(), CapScope::Trial)
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
            return Begun::Capped(capped);
        }
        if let Some(ceiling) = ceiling {
            let (tokens, usd) = (state.totals.reported_tokens(), state.totals.counted_usd().unwrap_or(0.0));
            if !state.under_way.admit(&self.session.caps, tokens, usd, ceiling) {
                // The run's share is given back without the lock: its account may be elsewhere.
                drop(state);
                return Begun::Deferred;
            }
        }
        let ordinal = state.exchanges.len();
        state.exchanges.push(Exchange { ordinal, ..exchange });
        state.totals.requests += 1;
        self.session.budget.begin(reservation.as_mut());
        if let Some(held) = ceiling.zip(reservation) {
            state.held.insert(ordinal, held);
        }
        Begun::Admitted(ordinal)
    }

    /// The most that a request may use: its characters, and the output that it or the session limits.
    pub(crate) fn ceiling(&self, model: &str, body: &Value) -> Ceiling {
        let own = output_limit(body);
        let limit = [own, self.session.max_output_tokens].into_iter().flatten().min();
        Ceiling::of(estimate(chars(body)), limit, |usage| Some(self.price(model)?.cost(usage)))
    }

    /// Ends the reservation of a request, if it has one.
    pub(crate) fn release(&self, ordinal: usize, used: Option<Ceiling>) {
        let mut state = lock(&self.state);
        let Some((ceiling, mut reservation)) = state.held.remove(&ordinal) else { return };
        state.under_way.end(ceiling, used);
        drop(state);
        if let Some(used) = used {
            reservation.set_used(used);
        }
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
        let used = exchange
            .tokens
            .map(|tokens| Ceiling { tokens: tokens.total(), usd: exchange.usd.unwrap_or(0.0) });
        let mut state = lock(&self.state);
        state.totals.add(&exchange);
        let ordinal = exchange.ordinal;
        if let Some(place) = state.exchanges.get_mut(ordinal) {
            *place = exchange;
        }
        drop(state);
        self.release(ordinal, used);
    }

    /// Scans a request for the watched skills and the text that it should contain. What the model wrote itself is skipped: it exposes
    /// nothing new.
    pub(crate) fn follow(&self, ordinal: usize, request: &ChatRequest) {
        let mut state = lock(&self.state);
        let State { watches, text: wanted, texts, .. } = &mut *state;
        if watches.is_empty() && wanted.is_none() {
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
            if let Some(wanted) = wanted {
                wanted.read(text);
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
            text_sent: state.text.as_ref().and_then(assay_trace::SentText::is_sent),
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

/// The limit of output tokens that a request states, in any of the protocols.
fn output_limit(body: &Value) -> Option<u64> {
    let names = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
    let stated = names.into_iter().find_map(|name| body.get(name)?.as_u64());
    stated.or_else(|| body.pointer("/generationConfig/maxOutputTokens")?.as_u64())
}

/// Whether a request was admitted.
#[derive(Debug)]
pub(crate) enum Begun {
    /// It has this ordinal.
    Admitted(usize),
    /// Not before another request has ended: together they could exceed a cap.
    Deferred,
    /// The cap that is reached.
    Capped(Capped),
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
