//! Limits of requests and tokens per minute, shared by all users of a provider.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::sync::lock;

pub(crate) const WINDOW: Duration = Duration::from_mins(1);

/// How fast a provider may be called. An unset field sets no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pace {
    /// Requests in any minute.
    pub requests_per_minute: Option<u32>,
    /// Tokens in any minute. Those of a request are counted when it is answered.
    pub tokens_per_minute: Option<u64>,
}

/// Requests and tokens of the last minute.
#[derive(Debug, Default)]
pub(crate) struct Pacer {
    pace: Pace,
    /// Added to the minute.
    spread: Duration,
    sent: Mutex<VecDeque<Instant>>,
    counted: Mutex<VecDeque<(Instant, u64)>>,
}

impl Pacer {
    pub(crate) fn new(pace: Pace) -> Self {
        Self { pace, ..Self::default() }
    }

    /// The same, with a window that is longer than a minute by `spread`.
    pub(crate) fn within(pace: Pace, spread: Duration) -> Self {
        Self { pace, spread, ..Self::default() }
    }

    /// Reserves a request, or returns how long to wait before trying again.
    pub(crate) fn reserve(&self, now: Instant) -> Result<(), Duration> {
        let window = WINDOW + self.spread;
        let old = |at: &Instant| now.duration_since(*at) >= window;
        if let Some(most) = self.pace.tokens_per_minute {
            let mut counted = lock(&self.counted);
            while counted.front().is_some_and(|(at, _)| old(at)) {
                counted.pop_front();
            }
            let tokens: u64 = counted.iter().fold(0, |sum, (_, tokens)| sum.saturating_add(*tokens));
            if tokens >= most
                && let Some((at, _)) = counted.front()
            {
                return Err(window.saturating_sub(now.duration_since(*at)));
            }
        }
        if let Some(most) = self.pace.requests_per_minute {
            let mut sent = lock(&self.sent);
            while sent.front().is_some_and(old) {
                sent.pop_front();
            }
            if sent.len() >= most.max(1) as usize
                && let Some(at) = sent.front()
            {
                return Err(window.saturating_sub(now.duration_since(*at)));
            }
            sent.push_back(now);
        }
        Ok(())
    }

    /// Counts the tokens of a request.
    pub(crate) fn count(&self, tokens: u64, now: Instant) {
        if self.pace.tokens_per_minute.is_some() {
            lock(&self.counted).push_back((now, tokens));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pace_limits_requests_and_tokens_per_minute() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let pacer = Pacer::new(Pace { requests_per_minute: Some(2), tokens_per_minute: Some(100) });
        assert_eq!(pacer.reserve(at(0)), Ok(()));
        assert_eq!(pacer.reserve(at(10)), Ok(()));
        assert_eq!(pacer.reserve(at(20)), Err(Duration::from_secs(40)));
        assert_eq!(pacer.reserve(at(60)), Ok(()));
        pacer.count(100, at(61));
        assert_eq!(pacer.reserve(at(71)), Err(Duration::from_secs(50)));
        assert_eq!(pacer.reserve(at(121)), Ok(()));
        let free = Pacer::new(Pace::default());
        assert!((0..1_000).all(|_| free.reserve(start).is_ok()));
    }
}
