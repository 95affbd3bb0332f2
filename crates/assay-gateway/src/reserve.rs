//! What requests under way may still cost. Without it, as many requests as are sent at once can exceed a cap.

use assay_trace::Usage;
use serde::{Deserialize, Serialize};

use crate::limits::Caps;

/// Output tokens that a request may use if neither it nor the session limits them. Most agents state a limit.
pub const DEFAULT_OUTPUT: u64 = 8_192;

/// Sums of floats can be off by a rounding error: a cap is met within this share of it.
const ROUNDING: f64 = 1e-9;

/// Most by which the usage of a request may exceed its estimate and be believed.
const MOST_FACTOR: f64 = 1_000.0;

/// What a request uses, or may use at most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// Tokens, input and output.
    pub tokens: u64,
    /// In USD; 0 without a price.
    pub usd: f64,
}

impl Ceiling {
    /// That of a request with so many characters and at most so many tokens of output. `cost` prices tokens.
    pub fn of(input: u64, output: Option<u64>, cost: impl Fn(&Usage) -> Option<f64>) -> Self {
        let usage =
            Usage { input, output: output.unwrap_or(DEFAULT_OUTPUT), ..Usage::default() }.of_request();
        Self { tokens: usage.total().max(1), usd: cost(&usage).unwrap_or(0.0) }
    }
}

/// Requests under way, and how their estimates compare with what requests used so far.
#[derive(Debug, Default)]
pub(crate) struct UnderWay {
    requests: usize,
    tokens: u64,
    usd: f64,
    /// The most that a request used, as a multiple of its ceiling; `None` before the first has ended.
    factors: Option<(f64, f64)>,
}

impl UnderWay {
    /// Takes a request on if it fits into the caps beside those under way. One always does, so that nothing waits
    /// for ever: below a cap, at most one request exceeds it.
    pub(crate) fn admit(&mut self, caps: &Caps, tokens: u64, usd: f64, ceiling: Ceiling) -> bool {
        let fits = self.requests == 0 || self.fits(caps, tokens, usd, ceiling);
        if fits {
            self.requests += 1;
            self.tokens = self.tokens.saturating_add(ceiling.tokens);
            self.usd += ceiling.usd;
        }
        fits
    }

    fn fits(&self, caps: &Caps, tokens: u64, usd: f64, ceiling: Ceiling) -> bool {
        if caps.tokens.is_none() && caps.usd.is_none() {
            return true;
        }
        // How good estimates are for this model is known after the first request.
        let Some((token_factor, usd_factor)) = self.factors else { return false };
        let all_tokens = tokens as f64 + self.tokens.saturating_add(ceiling.tokens) as f64 * token_factor;
        let all_usd = usd + (self.usd + ceiling.usd) * usd_factor;
        let within = |all: f64, most: f64| all <= most * (1.0 + ROUNDING);
        caps.tokens.is_none_or(|most| within(all_tokens, most as f64))
            && caps.usd.is_none_or(|most| within(all_usd, most))
    }

    /// Ends a request that was taken on; `used` is what it used, if that is known.
    pub(crate) fn end(&mut self, ceiling: Ceiling, used: Option<Ceiling>) {
        self.requests = self.requests.saturating_sub(1);
        self.tokens = self.tokens.saturating_sub(ceiling.tokens);
        self.usd -= ceiling.usd;
        if self.requests == 0 {
            (self.tokens, self.usd) = (0, 0.0);
        }
        let Some(used) = used else { return };
        let factor =
            |used: f64, most: f64| if most > 0.0 { (used / most).clamp(1.0, MOST_FACTOR) } else { 1.0 };
        let (tokens, usd) = self.factors.unwrap_or((1.0, 1.0));
        self.factors = Some((
            tokens.max(factor(used.tokens as f64, ceiling.tokens as f64)),
            usd.max(factor(used.usd, ceiling.usd)),
        ));
    }
}

/// Whether an amount has reached a cap.
pub(crate) fn is_reached(usd: f64, most: f64) -> bool {
    usd >= most * (1.0 - ROUNDING)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ceiling(tokens: u64) -> Ceiling {
        Ceiling { tokens, usd: tokens as f64 / 1_000.0 }
    }

    /// How many of many requests are sent, and what they use, if as many as may be are under way at once.
    fn spend(caps: Caps, estimate: u64, used: u64) -> (usize, u64) {
        let (mut under_way, mut spent, mut sent) = (UnderWay::default(), 0, 0);
        loop {
            let usd = spent as f64 / 1_000.0;
            if caps.tokens.is_some_and(|most| spent >= most)
                || caps.usd.is_some_and(|most| is_reached(usd, most))
            {
                return (sent, spent);
            }
            let mut batch = 0;
            while batch < 64 && under_way.admit(&caps, spent, usd, ceiling(estimate)) {
                batch += 1;
            }
            assert!(batch > 0, "nothing is admitted, and nothing is under way");
            for _ in 0..batch {
                under_way.end(ceiling(estimate), Some(ceiling(used)));
            }
            (sent, spent) = (sent + batch, spent + used * batch as u64);
        }
    }

    #[test]
    fn many_at_once_exceed_a_cap_by_at_most_one() {
        let tokens = |most| Caps { tokens: Some(most), ..Caps::default() };
        let usd = |most| Caps { usd: Some(most), ..Caps::default() };
        for (caps, most) in [(tokens(1_100), 1_100), (usd(1.1), 1_100)] {
            // Estimates that are too low, right, and too high.
            for estimate in [1, 15, 110, 5_000] {
                let (sent, spent) = spend(caps, estimate, 110);
                assert!(sent == 10 && spent == most, "{caps:?} {estimate}: {sent} {spent}");
            }
            let (_, spent) = spend(caps, 70, 100);
            assert!(spent >= most && spent < most + 100, "{caps:?}: {spent}");
            // One that exceeds the cap alone is sent all the same.
            assert_eq!(spend(caps, 9_000, 9_000), (1, 9_000), "{caps:?}");
        }
    }

    #[test]
    fn without_a_cap_nothing_waits() {
        let mut under_way = UnderWay::default();
        assert!((0..100).all(|_| under_way.admit(&Caps::default(), 0, 0.0, ceiling(1_000))));
    }

    #[test]
    fn a_request_whose_usage_is_unknown_frees_its_share() {
        let (mut under_way, caps) = (UnderWay::default(), Caps { tokens: Some(100), ..Caps::default() });
        assert!(under_way.admit(&caps, 0, 0.0, ceiling(40)) && !under_way.admit(&caps, 0, 0.0, ceiling(40)));
        under_way.end(ceiling(40), None);
        assert!(under_way.admit(&caps, 0, 0.0, ceiling(40)));
        under_way.end(ceiling(40), Some(ceiling(40)));
        assert!(
            under_way.admit(&caps, 40, 0.0, ceiling(40)) && !under_way.admit(&caps, 40, 0.0, ceiling(40))
        );
    }
}
