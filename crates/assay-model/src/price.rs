//! What tokens cost.

use serde::{Deserialize, Serialize};

use crate::Usage;

/// What a model's tokens cost, in USD per million. One field for each of [`Usage`]'s four.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Read, and not from a cache.
    pub input: f64,
    /// Written, reasoning included.
    pub output: f64,
    /// Read from a cache.
    pub cache_read: f64,
    /// Written into a cache.
    pub cache_write: f64,
}

impl Price {
    /// What `usage` costs, in USD: the sum of tokens times price over the four fields, divided by a million.
    pub fn cost(&self, usage: &Usage) -> f64 {
        let millionths = usage.input as f64 * self.input
            + usage.output as f64 * self.output
            + usage.cache_read as f64 * self.cache_read
            + usage.cache_write as f64 * self.cache_write;
        millionths / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_charged_at_its_own_price() {
        let price = Price { input: 3.0, output: 15.0, cache_read: 0.3, cache_write: 3.75 };
        let check = |usage: Usage, expected: f64| {
            let cost = price.cost(&usage);
            assert!((cost - expected).abs() < 1e-12, "{usage:?}: {cost} is not {expected}");
        };
        check(Usage::default(), 0.0);
        check(Usage { input: 1_000_000, ..Usage::default() }, 3.0);
        check(Usage { output: 1_000, ..Usage::default() }, 0.015);
        check(Usage { input: 10, output: 20, cache_read: 1_000, cache_write: 400 }, 0.002_13);
    }
}
