//! Bounds on sizes, times and costs.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Bounds on sizes and times, at one proxy.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Most bytes of a request's head.
    pub head_bytes: usize,
    /// Most bytes of a request's body. Anthropic takes 32 MB.
    pub request_bytes: usize,
    /// Most bytes of a reply.
    pub reply_bytes: u64,
    /// Most connections of an agent at once.
    pub connections: usize,
    /// Most time for a request's head to arrive, from its first byte, and then for its body.
    pub arrival: Duration,
    /// Most time in which a connection between two requests, or an agent that is being answered, may be still.
    pub client_idle: Duration,
    /// Most time in which a provider may be still.
    pub provider_idle: Duration,
    /// Most time that one request waits for a provider, all its retries together.
    pub patience: Duration,
    /// Most time that requests of one trial wait, all together; what comes later gets the provider's answer as it is.
    pub trial_patience: Duration,
    /// Most retries of one request.
    pub retries: u32,
    /// Most requests of a trial that are recorded; more are refused.
    pub requests: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_bytes: 64 << 10,
            request_bytes: 32 << 20,
            reply_bytes: 64 << 20,
            connections: 64,
            arrival: Duration::from_mins(2),
            client_idle: Duration::from_mins(5),
            provider_idle: Duration::from_mins(5),
            patience: Duration::from_mins(10),
            trial_patience: Duration::from_hours(1),
            retries: 8,
            requests: 10_000,
        }
    }
}

/// Spending limits. Only usage reported by the provider counts, not estimates. `None` means no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Caps {
    /// Tokens: all four fields together.
    pub tokens: Option<u64>,
    /// US dollars.
    pub usd: Option<f64>,
    /// Requests.
    pub requests: Option<u64>,
}
