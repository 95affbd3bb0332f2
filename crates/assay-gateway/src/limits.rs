//! Bounds on sizes, times and costs.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Limits on sizes and times of one proxy.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Maximum bytes of a request's head.
    pub head_bytes: usize,
    /// Maximum bytes of a request's body. Anthropic accepts 32 MB.
    pub request_bytes: usize,
    /// Maximum bytes of a reply.
    pub reply_bytes: u64,
    /// Maximum number of concurrent connections of an agent.
    pub connections: usize,
    /// Timeout for a request's head to arrive, from its first byte, and then for its body.
    pub arrival: Duration,
    /// Idle timeout of a connection between two requests, or of an agent that reads a reply.
    pub client_idle: Duration,
    /// Maximum time without data from a provider.
    pub provider_idle: Duration,
    /// Maximum time that one request waits for a provider, all its retries together.
    pub patience: Duration,
    /// Maximum time that the requests of one trial wait in total; after that, the provider's errors
    /// are forwarded as they are.
    pub trial_patience: Duration,
    /// Maximum number of retries of one request.
    pub retries: u32,
    /// Maximum number of recorded requests of a trial; further ones are refused.
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

/// Spending limits. Only usage reported by the provider counts, not estimates. `None` means no
/// limit.
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
