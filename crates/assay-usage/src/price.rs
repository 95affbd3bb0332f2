//! What tokens cost.

use serde::{Deserialize, Serialize};

use crate::Usage;

/// The price of a model's tokens, in USD per million. One field for each of [`Usage`]'s four.
///
/// Wherever a price is read, `cache_read` and `cache_write` may be left out ([`Price::new`]).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "PriceFields")]
pub struct Price {
    /// Read, and not from a cache.
    pub input: f64,
    /// PriceFields, reasoning included.
    pub output: f64,
    /// Read from a cache.
    pub cache_read: f64,
    /// PriceFields into a cache.
    pub cache_write: f64,
}

/// A price as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename = "Price")]
struct PriceFields {
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
}

impl From<PriceFields> for Price {
    fn from(PriceFields { input, output, cache_read, cache_write }: PriceFields) -> Self {
        Self::new(input, output, cache_read, cache_write)
    }
}

impl Price {
    /// A price whose cache fields may be unknown: each is then that of `input`. All readers of
    /// prices apply this rule.
    pub fn new(input: f64, output: f64, cache_read: Option<f64>, cache_write: Option<f64>) -> Self {
        Self {
            input,
            output,
            cache_read: cache_read.unwrap_or(input),
            cache_write: cache_write.unwrap_or(input),
        }
    }

    /// What `usage` costs, in USD: the sum of tokens times price over the four fields, divided by a
    /// million.
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

    #[test]
    fn missing_cache_prices_default_to_input() {
        let check = |json: &str, expected: Option<[f64; 4]>| {
            let expected = expected.map(|[input, output, cache_read, cache_write]| Price {
                input,
                output,
                cache_read,
                cache_write,
            });
            assert_eq!(serde_json::from_str::<Price>(json).ok(), expected, "{json}");
        };
        check(r#"{"input":1.0,"output":2.0}"#, Some([1.0, 2.0, 1.0, 1.0]));
        check(r#"{"input":1.0,"output":2.0,"cache_read":0.1}"#, Some([1.0, 2.0, 0.1, 1.0]));
        check(r#"{"input":1.0,"output":2.0,"cache_read":0.1,"cache_write":3.0}"#, Some([1.0, 2.0, 0.1, 3.0]));
        check(r#"{"input":1.0}"#, None);
        check(r#"{"input":1.0,"output":2.0,"cached":1.0}"#, None);
    }
}
