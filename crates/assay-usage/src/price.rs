//! What tokens cost.

use serde::{Deserialize, Serialize};

use crate::{LongUsage, Usage};

/// Anthropic charges twice the price of input for tokens that a cache keeps for an hour ("Prompt caching": "1-hour cache write
/// tokens are 2 times the base input tokens price").
const HOUR: f64 = 2.0;

/// The price of a model's tokens, in USD per million. One field for each of [`Usage`]'s four.
///
/// Wherever a price is read, all but `input` and `output` may be left out ([`Price::new`]).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "PriceFields")]
pub struct Price {
    /// Read, and not from a cache.
    pub input: f64,
    /// Written, reasoning included.
    pub output: f64,
    /// Read from a cache.
    pub cache_read: f64,
    /// Written into a cache.
    pub cache_write: f64,
    /// Written into a cache that keeps it for an hour; twice `input` if it has no price of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<f64>,
    /// The prices of requests with a prompt above [`LONG_PROMPT`](crate::LONG_PROMPT), if they are others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub above_200k: Option<LongPrice>,
}

/// The prices of all tokens of a request with a long prompt, in USD per million.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "LongPriceFields")]
pub struct LongPrice {
    /// Read, and not from a cache.
    pub input: f64,
    /// Written, reasoning included.
    pub output: f64,
    /// Read from a cache.
    pub cache_read: f64,
    /// Written into a cache.
    pub cache_write: f64,
    /// Written into a cache that keeps it for an hour; twice `input` if it has no price of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<f64>,
}

/// A price as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename = "Price")]
struct PriceFields {
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
    cache_write_1h: Option<f64>,
    above_200k: Option<LongPrice>,
}

/// The price of long prompts as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename = "Price")]
struct LongPriceFields {
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
    cache_write_1h: Option<f64>,
}

impl From<PriceFields> for Price {
    fn from(fields: PriceFields) -> Self {
        let PriceFields { input, output, cache_read, cache_write, cache_write_1h, above_200k } = fields;
        Self { cache_write_1h, above_200k, ..Self::new(input, output, cache_read, cache_write) }
    }
}

impl From<LongPriceFields> for LongPrice {
    fn from(fields: LongPriceFields) -> Self {
        let LongPriceFields { input, output, cache_read, cache_write, cache_write_1h } = fields;
        let Price { cache_read, cache_write, .. } = Price::new(input, output, cache_read, cache_write);
        Self { input, output, cache_read, cache_write, cache_write_1h }
    }
}

impl LongPrice {
    fn as_price(&self) -> Price {
        let Self { input, output, cache_read, cache_write, cache_write_1h } = *self;
        Price { input, output, cache_read, cache_write, cache_write_1h, above_200k: None }
    }
}

impl Price {
    /// A price whose cache fields may be unknown: each is then that of `input`, and an hour in the cache twice that. All
    /// readers of prices apply this rule.
    pub fn new(input: f64, output: f64, cache_read: Option<f64>, cache_write: Option<f64>) -> Self {
        Self {
            input,
            output,
            cache_read: cache_read.unwrap_or(input),
            cache_write: cache_write.unwrap_or(input),
            cache_write_1h: None,
            above_200k: None,
        }
    }

    /// What `usage` costs, in USD: the sum of tokens times price over the fields, divided by a million. Requests with long
    /// prompts cost what they do, if the price has a tier for them.
    pub fn cost(&self, usage: &Usage) -> f64 {
        let Some(above) = self.above_200k else { return self.base_cost(usage) };
        let LongUsage { input, output, cache_read, cache_write, cache_write_1h } = usage.long;
        let long =
            Usage { input, output, cache_read, cache_write, cache_write_1h, long: LongUsage::default() };
        let mut short = *usage;
        short.subtract(&long);
        self.base_cost(&short) + above.as_price().base_cost(&long)
    }

    fn base_cost(&self, usage: &Usage) -> f64 {
        let hour = usage.cache_write_1h.min(usage.cache_write);
        let millionths = usage.input as f64 * self.input
            + usage.output as f64 * self.output
            + usage.cache_read as f64 * self.cache_read
            + (usage.cache_write - hour) as f64 * self.cache_write
            + hour as f64 * self.hour_rate();
        millionths / 1e6
    }

    /// All rates in a fixed order, by which two prices that charge alike are equal: the four, then those of an hour in the
    /// cache and of long prompts where a price has them.
    pub fn list_rates(&self) -> Vec<f64> {
        let four = |price: &Self| [price.input, price.output, price.cache_read, price.cache_write];
        let mut rates = four(self).to_vec();
        if self.cache_write_1h.is_some() || self.above_200k.is_some() {
            rates.push(self.hour_rate());
        }
        if let Some(long) = self.above_200k.map(|long| long.as_price()) {
            rates.extend(four(&long));
            rates.push(long.hour_rate());
        }
        rates
    }

    /// The price of a token that a cache keeps for an hour.
    fn hour_rate(&self) -> f64 {
        self.cache_write_1h.unwrap_or_else(|| (HOUR * self.input).max(self.cache_write))
    }

    /// The most that a token which is read can cost, whatever its kind.
    pub fn dearest_input(&self) -> f64 {
        let dearest = |price: &Self| price.input.max(price.cache_write).max(price.cache_read);
        let own = dearest(self);
        self.above_200k.map_or(own, |long| own.max(dearest(&long.as_price())))
    }

    /// The most that a token which is written can cost.
    pub fn dearest_output(&self) -> f64 {
        self.above_200k.map_or(self.output, |long| self.output.max(long.output))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_charged_at_its_own_price() {
        let price = Price::new(3.0, 15.0, Some(0.3), Some(3.75));
        let check = |usage: Usage, expected: f64| {
            let cost = price.cost(&usage);
            assert!((cost - expected).abs() < 1e-12, "{usage:?}: {cost} is not {expected}");
        };
        check(Usage::default(), 0.0);
        check(Usage { input: 1_000_000, ..Usage::default() }, 3.0);
        check(Usage { output: 1_000, ..Usage::default() }, 0.015);
        let all = Usage { input: 10, output: 20, cache_read: 1_000, cache_write: 400, ..Usage::default() };
        check(all, 0.002_13);
        // By hand: 300 of the 400 at 6 in place of 3.75 millionths.
        check(Usage { cache_write_1h: 300, ..all }, 0.002_805);
        // No more than were written.
        check(Usage { cache_write: 100, cache_write_1h: 900, ..Usage::default() }, 0.000_6);
    }

    #[test]
    fn an_hour_in_the_cache_costs_twice_the_input_or_its_own_price() {
        let hour = Usage { cache_write: 1_000_000, cache_write_1h: 1_000_000, ..Usage::default() };
        let check = |json: &str, expected: f64| {
            let cost = serde_json::from_str::<Price>(json).unwrap().cost(&hour);
            assert!((cost - expected).abs() < 1e-12, "{json}: {cost} is not {expected}");
        };
        check(r#"{"input":3.0,"output":15.0}"#, 6.0);
        check(r#"{"input":3.0,"output":15.0,"cache_write":3.75}"#, 6.0);
        check(r#"{"input":3.0,"output":15.0,"cache_write":7.0}"#, 7.0);
        check(r#"{"input":3.0,"output":15.0,"cache_write":3.75,"cache_write_1h":5.0}"#, 5.0);
        check(r#"{"input":0.0,"output":0.0}"#, 0.0);
    }

    #[test]
    fn long_prompts_have_their_own_prices() {
        let json = r#"{"input":3.0,"output":15.0,"cache_read":0.3,"cache_write":3.75,
            "above_200k":{"input":6.0,"output":22.5,"cache_read":0.6,"cache_write":7.5}}"#;
        let price: Price = serde_json::from_str(json).unwrap();
        let check = |input, cache_read, output, expected: f64| {
            let usage = Usage { input, output, cache_read, ..Usage::default() }.of_request();
            let cost = price.cost(&usage);
            assert!((cost - expected).abs() < 1e-12, "{usage:?}: {cost} is not {expected}");
        };
        check(200_000, 0, 1_000, 0.615);
        // All tokens of the request, not only those above the limit; by hand: 200,001 × 6 + 1,000 × 22.5 millionths.
        check(200_001, 0, 1_000, 1.222_506);
        // Cached tokens are part of the prompt.
        check(1, 200_000, 0, 0.120_006);
        // A sum of requests is no long prompt, and has the long prompts among its own.
        let mut sum = Usage { input: 1_000_000, ..Usage::default() };
        assert!((price.cost(&sum) - 3.0).abs() < 1e-12);
        sum += Usage { input: 300_000, ..Usage::default() }.of_request();
        assert!((price.cost(&sum) - 4.8).abs() < 1e-12);
        // Without a tier they cost what others do.
        assert!((Price { above_200k: None, ..price }.cost(&sum) - 3.9).abs() < 1e-12);
        assert_eq!((price.dearest_input(), price.dearest_output()), (7.5, 22.5));
        let written = serde_json::to_string(&price).unwrap();
        assert_eq!(serde_json::from_str::<Price>(&written).unwrap(), price);
        assert!(
            serde_json::from_str::<Price>(r#"{"input":1.0,"output":1.0,"above_200k":{"input":1.0}}"#)
                .is_err()
        );
    }

    #[test]
    fn missing_cache_prices_default_to_input() {
        let check = |json: &str, expected: Option<[f64; 4]>| {
            let expected = expected.map(|[input, output, cache_read, cache_write]| {
                Price::new(input, output, Some(cache_read), Some(cache_write))
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
