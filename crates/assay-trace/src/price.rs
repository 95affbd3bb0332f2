//! What tokens cost, by model and date.

use serde::{Deserialize, Serialize};

use assay_usage::LongPrice;

use crate::{Price, Usage};

/// A model's price from a day on. Prices are the user's; none are built in, because they change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "PriceEntry")]
pub struct DatedPrice {
    /// The model's name; `*` matches any text.
    pub model: String,
    /// The first day to which the price applies, in UTC.
    pub from: jiff::civil::Date,
    /// The price.
    #[serde(flatten)]
    pub price: Price,
}

/// [`DatedPrice`] in one level: a parser reports the line of an error only if no field is
/// flattened.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename = "Price")]
struct PriceEntry {
    model: String,
    from: jiff::civil::Date,
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
    cache_write_1h: Option<f64>,
    above_200k: Option<LongPrice>,
}

impl From<PriceEntry> for DatedPrice {
    fn from(entry: PriceEntry) -> Self {
        let PriceEntry { model, from, input, output, cache_read, cache_write, cache_write_1h, above_200k } =
            entry;
        let price =
            Price { cache_write_1h, above_200k, ..Price::new(input, output, cache_read, cache_write) };
        Self { model, from, price }
    }
}

/// Prices by model and date.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// In any order.
    pub price: Vec<DatedPrice>,
}

impl Prices {
    /// The price of a model on a day: among those that match the name and have begun by then, the
    /// latest; among these the one with the most specific name.
    pub fn of(&self, model: &str, day: jiff::civil::Date) -> Option<&DatedPrice> {
        let holds = |price: &&DatedPrice| price.from <= day && names(&price.model, model);
        self.price.iter().filter(holds).max_by_key(|price| (price.from, price.model.len()))
    }

    /// The cost of tokens in USD; `None` if there is no price for the model.
    pub fn cost(&self, model: &str, day: jiff::civil::Date, usage: &Usage) -> Option<f64> {
        Some(self.of(model, day)?.price.cost(usage))
    }
}

/// Whether a pattern with `*` names a text.
fn names(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut last = None;
    for part in parts {
        last = Some(part);
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    match last {
        None => rest.is_empty(),
        Some(last) => rest.is_empty() || last.is_empty() || text.ends_with(last),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dated_price_parses_like_a_price() {
        let check = |fields: &str| {
            let dated = format!(r#"{{"model":"m","from":"2025-01-01",{fields}}}"#);
            let dated = serde_json::from_str::<DatedPrice>(&dated).map(|dated| dated.price);
            let price = serde_json::from_str::<Price>(&format!("{{{fields}}}"));
            assert_eq!(dated.ok(), price.ok(), "{fields}");
        };
        check(r#""input":1.0,"output":2.0"#);
        check(r#""input":1.0,"output":2.0,"cache_read":0.1"#);
        check(r#""input":1.0,"output":2.0,"cache_write":3.0"#);
        check(r#""input":1.0,"output":2.0,"cache_write_1h":4.0,"above_200k":{"input":2.0,"output":3.0}"#);
        check(r#""input":1.0"#);
        check(r#""input":1.0,"output":2.0,"cached":0.1"#);
        let plain = r#"{"model":"m","from":"2025-01-01","input":1.0,"output":2.0}"#;
        let plain = serde_json::from_str::<DatedPrice>(plain).unwrap();
        assert_eq!(plain.price, Price::new(1.0, 2.0, None, None));
        let lines = "{\"model\":\"m\",\n\"from\":\"2025-01-01\",\n\"input\":\"x\"}";
        assert_eq!(serde_json::from_str::<DatedPrice>(lines).unwrap_err().line(), 3);
    }

    #[test]
    fn price_is_selected_by_day_and_model() {
        let price = |model: &str, from: &str, input: f64| DatedPrice {
            model: model.to_owned(),
            from: from.parse().unwrap(),
            price: Price::new(input, 15.0, Some(0.3), Some(3.75)),
        };
        let prices = Prices {
            price: vec![
                price("claude-sonnet-*", "2025-01-01", 3.0),
                price("claude-sonnet-*", "2026-01-01", 2.0),
                price("claude-*", "2025-01-01", 9.0),
                price("gpt", "2025-01-01", 1.0),
            ],
        };
        let check = |model: &str, day: &str, expected: Option<f64>| {
            let usage = Usage { input: 1_000_000, ..Usage::default() };
            assert_eq!(prices.cost(model, day.parse().unwrap(), &usage), expected, "{model} on {day}");
        };
        check("claude-sonnet-4-5-20250929", "2025-06-01", Some(3.0));
        check("claude-sonnet-4-5-20250929", "2026-01-01", Some(2.0));
        check("claude-opus", "2026-06-01", Some(9.0));
        check("claude-sonnet-4-5", "2024-12-31", None);
        check("gpt", "2025-01-01", Some(1.0));
        check("gpt-5", "2025-01-01", None);
        // By hand: 10 × 3 + 20 × 15 + 1000 × 0.3 + 400 × 3.75 millionths.
        let usage = Usage { input: 10, output: 20, cache_read: 1_000, cache_write: 400, ..Usage::default() };
        let cost = prices.cost("claude-sonnet-4", "2025-06-01".parse().unwrap(), &usage).unwrap();
        assert!((cost - 0.002_13).abs() < 1e-12, "{cost}");
    }
}
