//! What went through a proxy.

use assay_trace::Usage;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::protocol::Protocol;

/// What went through a proxy, from its opening to its closing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    /// `assay.gateway/3`.
    pub schema: String,
    /// The trial.
    pub trial: String,
    /// From 1.
    pub attempt: u32,
    /// The provider: `anthropic`, `scripted:FILE`, an address.
    pub provider: String,
    /// The model that was pinned.
    pub model: Option<String>,
    /// Sums.
    pub totals: Totals,
    /// Requests, in the order in which they were received.
    pub exchanges: Vec<Exchange>,
    /// Requests that were turned away, at most 100 of them.
    pub refused: Vec<Refused>,
    /// What became of the watched skills.
    pub exposure: Vec<SkillExposure>,
    /// Which cap stopped the trial.
    pub capped: Option<Capped>,
    /// Seconds in which at least one request waited for the provider's limits.
    #[serde(default, alias = "held_seconds")]
    pub paused_seconds: f64,
    /// Seconds of the longest time in which requests were under way and nothing of a reply came. Waits for the provider's limits
    /// are left out.
    #[serde(default)]
    pub silent_seconds: f64,
    /// Where a replay first differed from its cassette.
    pub mismatch: Option<Mismatch>,
    /// Why the cassette is not whole.
    pub cassette_error: Option<String>,
}

impl Ledger {
    /// The format written here.
    pub const SCHEMA: &str = "assay.gateway/3";
}

/// A cap that was reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capped {
    /// Whose.
    pub scope: CapScope,
    /// Of what.
    pub of: CapKind,
    /// In words, with both figures.
    pub reason: String,
}

/// Whose a cap is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CapScope {
    /// One trial's.
    Trial,
    /// All trials' of a run together.
    Run,
}

impl CapScope {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Trial => "trial",
            Self::Run => "run",
        }
    }
}

/// What a cap counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CapKind {
    /// Tokens.
    Tokens,
    /// Requests.
    Requests,
    /// US dollars.
    Usd,
}

/// Sums over requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Requests that were received and let through.
    pub requests: u64,
    /// Tokens.
    pub tokens: Usage,
    /// How many requests count an estimate, because their usage never came.
    pub estimated: u64,
    /// How many of `tokens` are an estimate. No cap counts these.
    #[serde(default)]
    pub estimated_tokens: Usage,
    /// The estimated part of `usd`; caps ignore it.
    #[serde(default)]
    pub estimated_usd: f64,
    /// In USD, as the provider charges; `None` where a price is unknown.
    pub usd: Option<f64>,
    /// In USD, had nothing been cached: all that was read at the price of input.
    pub usd_without_cache: Option<f64>,
    /// Seconds in which requests waited for the provider's limits, added up over requests.
    pub waited_seconds: f64,
}

impl Default for Totals {
    /// Nothing was asked, and nothing is owed.
    fn default() -> Self {
        Self {
            requests: 0,
            tokens: Usage::default(),
            estimated: 0,
            estimated_tokens: Usage::default(),
            estimated_usd: 0.0,
            usd: Some(0.0),
            usd_without_cache: Some(0.0),
            waited_seconds: 0.0,
        }
    }
}

impl Totals {
    /// Adds a request that has ended.
    pub(crate) fn add(&mut self, exchange: &Exchange) {
        self.waited_seconds += exchange.waited_seconds;
        self.estimated += u64::from(exchange.estimated);
        let Some(tokens) = &exchange.tokens else { return };
        self.tokens += *tokens;
        self.estimated_tokens += exchange.estimated_tokens;
        self.estimated_usd += exchange.estimated_usd;
        let sum = |a: Option<f64>, b: Option<f64>| Some(a? + b?);
        self.usd = sum(self.usd, exchange.usd);
        self.usd_without_cache = sum(self.usd_without_cache, exchange.usd_without_cache);
    }

    /// Tokens reported by the provider; caps count only these.
    pub fn reported_tokens(&self) -> u64 {
        self.tokens.total().saturating_sub(self.estimated_tokens.total())
    }

    /// What they cost in USD; `None` where a price is unknown.
    pub fn reported_usd(&self) -> Option<f64> {
        Some((self.usd? - self.estimated_usd).max(0.0))
    }
}

/// One request, and its reply.
#[expect(clippy::struct_excessive_bools, reason = "a record of facts that do not exclude each other")]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    /// From 0.
    pub ordinal: usize,
    /// How it was spoken.
    pub protocol: Protocol,
    /// The path that was asked for, without its query.
    pub path: String,
    /// The model that the agent asked for.
    #[serde(alias = "asked_model")]
    pub requested_model: String,
    /// The model that the provider was asked for.
    pub model: String,
    /// The model that the provider says it used.
    pub replied_model: Option<String>,
    /// The status that the agent got; 0 where it got none.
    pub status: u16,
    /// Whether the reply was a stream.
    pub stream: bool,
    /// Whether the reply reached its end as its protocol defines it.
    pub complete: bool,
    /// How many tools were offered to the model.
    pub tools: usize,
    /// What the model called, by name, in order.
    pub calls: Vec<String>,
    /// The usage as the provider gave it.
    pub usage: Value,
    /// The same in four fields; `None` where the reply is none that costs.
    pub tokens: Option<Usage>,
    /// Whether some of `tokens` are an estimate, because the usage never came or cannot be true.
    pub estimated: bool,
    /// How many of `tokens` are an estimate: by the characters that were sent and received, four to a token.
    #[serde(default)]
    pub estimated_tokens: Usage,
    /// How much of `usd` is an estimate.
    #[serde(default)]
    pub estimated_usd: f64,
    /// In USD, as the provider charges.
    pub usd: Option<f64>,
    /// In USD, had nothing been cached.
    pub usd_without_cache: Option<f64>,
    /// Seconds spent waiting, not answering.
    pub waited_seconds: f64,
    /// The waits, in order.
    pub waits: Vec<Wait>,
    /// Seconds from the request's last byte to the reply's first, waits included.
    pub first_byte_seconds: Option<f64>,
    /// Seconds from the request's last byte to the reply's last.
    pub seconds: f64,
    /// What was taken out of the request or changed in it.
    pub stripped: Vec<String>,
    /// Bytes of the request's body as it came.
    pub request_bytes: u64,
    /// Bytes of the reply's body as it was passed on.
    pub reply_bytes: u64,
    /// What went wrong.
    pub error: Option<String>,
    /// Whether the agent went away, or its time was over, before the reply had come.
    #[serde(default)]
    pub abandoned: bool,
    /// Whether the gateway itself refused the request or could not play its script: the provider was not asked.
    #[serde(default)]
    pub misconfigured: bool,
    /// Whether the provider refused the conversation because it is longer than the model's context.
    #[serde(default)]
    pub context_exceeded: bool,
}

impl Exchange {
    /// Whether tokens are counted and nothing is asked of a model.
    pub fn counts_only(&self) -> bool {
        self.path.ends_with("/count_tokens") || self.path.ends_with(":countTokens")
    }
}

/// A wait before a request was sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// The status of the try before it, where there was one.
    pub status: Option<u16>,
    /// Why.
    pub message: String,
    /// How long.
    pub seconds: f64,
}

/// A request that was turned away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The method and path, shortened and escaped.
    pub request: String,
    /// The status that was answered.
    pub status: u16,
    /// Why.
    pub reason: String,
}

/// What became of one skill, read from what the model was really sent. Requests are counted from 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillExposure {
    /// Its name.
    pub skill: String,
    /// The first request that told the model the skill's name or description.
    pub advertised: Option<usize>,
    /// The request in which enough of the body had been delivered.
    pub opened: Option<usize>,
    /// Distinct telling lines of the body.
    pub body_lines: usize,
    /// How many of them were delivered.
    pub body_lines_delivered: usize,
}

/// Where a replay first differed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mismatch {
    /// The request.
    pub ordinal: usize,
    /// The first part of it that differs: `messages[3]`, `tools`.
    pub part: String,
    /// Where in that part, as a JSON pointer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// What stood there when it was recorded, with names, dates and times in one form.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "kept")]
    pub recorded: Option<String>,
    /// What stands there now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_keys_of_the_second_format() {
        let exchange = serde_json::to_value(Exchange::default()).unwrap();
        let mut old = exchange.as_object().unwrap().clone();
        old.remove("requested_model");
        old.insert("asked_model".to_owned(), "strong".into());
        let ledger: Ledger = serde_json::from_value(serde_json::json!({
            "schema": "assay.gateway/2",
            "trial": "t",
            "attempt": 1,
            "provider": "openai",
            "model": null,
            "totals": Totals::default(),
            "exchanges": [old],
            "refused": [],
            "exposure": [],
            "capped": null,
            "held_seconds": 2.5,
            "mismatch": {"ordinal": 3, "part": "tools", "kept": "a", "now": "b"},
            "cassette_error": null,
        }))
        .unwrap();
        assert!((ledger.paused_seconds - 2.5).abs() < f64::EPSILON);
        assert_eq!(ledger.exchanges[0].requested_model, "strong");
        assert_eq!(ledger.mismatch.unwrap().recorded.as_deref(), Some("a"));
    }
}
