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
    /// The provider: `anthropic`, `scripted:FILE`, a URL.
    pub provider: String,
    /// The model that was pinned.
    pub model: Option<String>,
    /// Totals over all requests.
    pub totals: Totals,
    /// Requests, in order of arrival.
    pub exchanges: Vec<Exchange>,
    /// Refused requests, at most 100.
    pub refused: Vec<Refused>,
    /// Exposure of the watched skills.
    pub exposure: Vec<SkillExposure>,
    /// Whether requests contained the text that they should contain; `None` without one, and before the first request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_sent: Option<bool>,
    /// The cap that stopped the trial.
    pub capped: Option<Capped>,
    /// Seconds in which at least one request waited for the provider's limits.
    #[serde(default, alias = "held_seconds")]
    pub paused_seconds: f64,
    /// Longest time, in seconds, in which requests were pending and nothing of a reply was
    /// received. Waits for the provider's limits do not count.
    #[serde(default)]
    pub silent_seconds: f64,
    /// Where a replay first differed from its cassette.
    pub mismatch: Option<Mismatch>,
    /// Why the cassette is incomplete.
    pub cassette_error: Option<String>,
}

impl Ledger {
    /// The format written here.
    pub const SCHEMA: &str = "assay.gateway/3";
}

/// A cap that was reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capped {
    /// Whether the cap is the trial's or the run's.
    pub scope: CapScope,
    /// What the cap counts.
    pub of: CapKind,
    /// The reason in words, with both figures.
    pub reason: String,
}

/// The scope of a cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CapScope {
    /// One trial.
    Trial,
    /// All trials of a run together.
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

/// Totals over requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Admitted requests.
    pub requests: u64,
    /// Tokens.
    pub tokens: Usage,
    /// Requests whose tokens are partly an estimate, because their usage was not reported.
    pub estimated: u64,
    /// The estimated part of `tokens`; caps ignore it.
    #[serde(default)]
    pub estimated_tokens: Usage,
    /// The estimated part of `usd`.
    #[serde(default)]
    pub estimated_usd: f64,
    /// Complete replies without a usage, and the part of `estimated_usd` that is theirs, which a cap in USD counts.
    #[serde(default)]
    pub unreported: u64,
    /// See `unreported`.
    #[serde(default)]
    pub unreported_usd: f64,
    /// In USD, as the provider charges; `None` where a price is unknown.
    pub usd: Option<f64>,
    /// In USD as if nothing had been cached: all input at the full input price.
    pub usd_without_cache: Option<f64>,
    /// Seconds in which requests waited for the provider's limits, added up over requests.
    pub waited_seconds: f64,
}

impl Default for Totals {
    /// No requests and no cost.
    fn default() -> Self {
        Self {
            requests: 0,
            tokens: Usage::default(),
            estimated: 0,
            estimated_tokens: Usage::default(),
            estimated_usd: 0.0,
            unreported: 0,
            unreported_usd: 0.0,
            usd: Some(0.0),
            usd_without_cache: Some(0.0),
            waited_seconds: 0.0,
        }
    }
}

impl Totals {
    /// Adds a finished request.
    pub(crate) fn add(&mut self, exchange: &Exchange) {
        self.waited_seconds += exchange.waited_seconds;
        self.estimated += u64::from(exchange.estimated);
        let Some(tokens) = &exchange.tokens else { return };
        self.tokens += *tokens;
        self.estimated_tokens += exchange.estimated_tokens;
        self.estimated_usd += exchange.estimated_usd;
        if exchange.unreported {
            self.unreported += 1;
            self.unreported_usd += exchange.estimated_usd;
        }
        let sum = |a: Option<f64>, b: Option<f64>| Some(a? + b?);
        self.usd = sum(self.usd, exchange.usd);
        self.usd_without_cache = sum(self.usd_without_cache, exchange.usd_without_cache);
    }

    /// Tokens reported by the provider; caps count only these.
    pub fn reported_tokens(&self) -> u64 {
        self.tokens.total().saturating_sub(self.estimated_tokens.total())
    }

    /// The cost that counts against a cap in USD; `None` if a price is unknown.
    pub fn counted_usd(&self) -> Option<f64> {
        Some((self.usd? - self.estimated_usd + self.unreported_usd).max(0.0))
    }

    /// The cost of the reported tokens in USD; `None` if a price is unknown.
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
    /// The protocol of the request.
    pub protocol: Protocol,
    /// The requested path, without its query.
    pub path: String,
    /// The model that the agent requested.
    #[serde(alias = "asked_model")]
    pub requested_model: String,
    /// The model that was requested from the provider.
    pub model: String,
    /// The model that the provider reported.
    pub replied_model: Option<String>,
    /// The status sent to the agent; 0 if none was.
    pub status: u16,
    /// Whether the reply was a stream.
    pub stream: bool,
    /// Whether the reply reached its end as its protocol defines it.
    pub complete: bool,
    /// The number of tools offered to the model.
    pub tools: usize,
    /// The tools that the model called, by name, in order.
    pub calls: Vec<String>,
    /// The usage as reported by the provider.
    pub usage: Value,
    /// The same in four fields; `None` if the reply costs nothing.
    pub tokens: Option<Usage>,
    /// Whether `tokens` is partly an estimate, because the usage was missing or implausible.
    pub estimated: bool,
    /// The estimated part of `tokens`: from the characters sent and received, four to a token.
    #[serde(default)]
    pub estimated_tokens: Usage,
    /// The estimated part of `usd`.
    #[serde(default)]
    pub estimated_usd: f64,
    /// Whether the provider reported no usage with a complete reply: a cap in USD then counts the estimate.
    #[serde(default)]
    pub unreported: bool,
    /// In USD, as the provider charges.
    pub usd: Option<f64>,
    /// In USD as if nothing had been cached.
    pub usd_without_cache: Option<f64>,
    /// Seconds spent waiting before the request was sent.
    pub waited_seconds: f64,
    /// The waits, in order.
    pub waits: Vec<Wait>,
    /// Seconds from the request's last byte to the reply's first, waits included.
    pub first_byte_seconds: Option<f64>,
    /// Seconds from the request's last byte to the reply's last.
    pub seconds: f64,
    /// What was removed from the request or changed in it.
    pub stripped: Vec<String>,
    /// Bytes of the request's body as received.
    pub request_bytes: u64,
    /// Bytes of the reply's body as forwarded.
    pub reply_bytes: u64,
    /// The error, if any.
    pub error: Option<String>,
    /// Whether the agent disconnected, or ran out of time, before the reply was complete.
    #[serde(default)]
    pub abandoned: bool,
    /// Whether the gateway itself refused the request or could not play its script: no provider was
    /// called.
    #[serde(default)]
    pub misconfigured: bool,
    /// Whether the provider refused the conversation because it is longer than the model's context.
    #[serde(default)]
    pub context_exceeded: bool,
}

impl Exchange {
    /// The cost that counts against a cap: without estimates, except of complete replies without a usage.
    pub fn counted_usd(&self) -> Option<f64> {
        self.usd.map(|usd| if self.unreported { usd } else { usd - self.estimated_usd })
    }

    /// Whether the request only counts tokens and generates nothing.
    pub fn counts_only(&self) -> bool {
        self.path.ends_with("/count_tokens") || self.path.ends_with(":countTokens")
    }
}

/// A wait before a request was sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// The status of the preceding try, if there was one.
    pub status: Option<u16>,
    /// The reason.
    pub message: String,
    /// The duration.
    pub seconds: f64,
}

/// A refused request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The method and path, shortened and escaped.
    pub request: String,
    /// The status of the answer.
    pub status: u16,
    /// The reason.
    pub reason: String,
}

/// Exposure of one skill, determined from what was sent to the model. Requests are counted from 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillExposure {
    /// The skill's name.
    pub skill: String,
    /// The first request with the skill's name or description.
    pub advertised: Option<usize>,
    /// The request by which enough of the body had been delivered.
    pub opened: Option<usize>,
    /// Distinctive lines of the body, without duplicates.
    pub body_lines: usize,
    /// How many of them were delivered.
    pub body_lines_delivered: usize,
}

/// Where a replay first differed from its cassette.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mismatch {
    /// The request.
    pub ordinal: usize,
    /// The first part of it that differs: `messages[3]`, `tools`.
    pub part: String,
    /// Where in that part, as a JSON pointer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The value when it was recorded, with names, dates and times normalized.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "kept")]
    pub recorded: Option<String>,
    /// The value in the replay.
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
