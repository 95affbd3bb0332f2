//! What tokens cost, by model and date.

use serde::{Deserialize, Serialize};

use crate::{Price, Usage};

/// What a model's tokens cost from a day on. Prices are the user's: none is built in, because they change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "PriceEntry")]
pub struct DatedPrice {
    /// The model's name; `*` stands for any text.
    pub model: String,
    /// The first day on which the price holds, in UTC.
    pub from: jiff::civil::Date,
    /// The price.
    #[serde(flatten)]
    pub price: Price,
}

/// [`DatedPrice`] in one level: a parser knows the line of an error only where no field is flattened.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename = "Price")]
struct PriceEntry {
    model: String,
    from: jiff::civil::Date,
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
}

impl From<PriceEntry> for DatedPrice {
    fn from(entry: PriceEntry) -> Self {
        let PriceEntry { model, from, input, output, cache_read, cache_write } = entry;
        Self { model, from, price: Price::new(input, output, cache_read, cache_write) }
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
    /// The price of a model on a day: of those that name it and hold by then, the one that began last; of these the one whose name
    /// says most.
    pub fn of(&self, model: &str, day: jiff::civil::Date) -> Option<&DatedPrice> {
        let holds = |price: &&DatedPrice| price.from <= day && names(&price.model, model);
        self.price.iter().filter(holds).max_by_key(|price| (price.from, price.model.len()))
    }

    /// What tokens cost, in USD; `None` where nobody says what the model costs.
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
    fn a_dated_price_is_read_as_a_price_is() {
        let check = |fields: &str| {
            let dated = format!(r#"{{"model":"m","from":"2025-01-01",{fields}}}"#);
            let dated = serde_json::from_str::<DatedPrice>(&dated).map(|dated| dated.price);
            let price = serde_json::from_str::<Price>(&format!("{{{fields}}}"));
            assert_eq!(dated.ok(), price.ok(), "{fields}");
        };
        check(r#""input":1.0,"output":2.0"#);
        check(r#""input":1.0,"output":2.0,"cache_read":0.1"#);
        check(r#""input":1.0,"output":2.0,"cache_write":3.0"#);
        check(r#""input":1.0"#);
        check(r#""input":1.0,"output":2.0,"cached":0.1"#);
        let plain = r#"{"model":"m","from":"2025-01-01","input":1.0,"output":2.0}"#;
        let plain = serde_json::from_str::<DatedPrice>(plain).unwrap();
        assert_eq!(plain.price, Price::new(1.0, 2.0, None, None));
        let lines = "{\"model\":\"m\",\n\"from\":\"2025-01-01\",\n\"input\":\"x\"}";
        assert_eq!(serde_json::from_str::<DatedPrice>(lines).unwrap_err().line(), 3);
    }

    #[test]
    fn the_price_is_that_of_the_day_and_of_the_model() {
        let price = |model: &str, from: &str, input: f64| DatedPrice {
            model: model.to_owned(),
            from: from.parse().unwrap(),
            price: Price { input, output: 15.0, cache_read: 0.3, cache_write: 3.75 },
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
        let usage = Usage { input: 10, output: 20, cache_read: 1_000, cache_write: 400 };
        let cost = prices.cost("claude-sonnet-4", "2025-06-01".parse().unwrap(), &usage).unwrap();
        assert!((cost - 0.002_13).abs() < 1e-12, "{cost}");
    }
}
