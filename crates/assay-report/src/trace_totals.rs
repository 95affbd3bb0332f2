//! The figures of sessions as JSON, and what sessions add up to.

use assay_trace::{Cost, Counting, KnownUsage, Prices, Stats, Tally};
use serde_json::{Value, json};

use crate::trace_stats::{may_be_read, trace_cost_words};

/// What the sessions add up to.
#[derive(Debug, Default)]
pub struct TraceTotals {
    tally: Tally,
    usd: Option<f64>,
    /// Sessions whose cost is unknown, or known in part.
    uncosted: usize,
}

impl TraceTotals {
    /// Adds a session with its cost.
    pub fn add_session(&mut self, tally: &Tally, cost: Cost) {
        self.tally.add(tally);
        if let Some(usd) = cost.usd {
            *self.usd.get_or_insert_default() += usd;
        }
        let is_free = cost.usd.is_none() && tally.is_complete() && tally.usage.total() == 0;
        self.uncosted += usize::from(!is_free && (cost.usd.is_none() || cost.is_at_least));
    }

    /// What all sessions cost, in words, if the cost of any is known.
    pub fn cost_words(&self) -> Option<String> {
        Some(trace_cost_words(Cost { usd: Some(self.usd?), is_at_least: self.uncosted > 0 }))
    }

    /// Their tokens.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The sums as JSON; unknown values are `null`, as all are without any session.
    pub fn json_document(&self, any: bool) -> Value {
        let counted = if any { count_tokens(&self.tally) } else { Value::Null };
        let tokens = if any { json!(self.tally.known()) } else { Value::Null };
        json!({
            "tokens": tokens,
            "at_least": self.tally.lower_bounds(),
            "counted": counted,
            "cost_usd": self.usd.filter(|_| self.uncosted == 0),
            "cost_usd_at_least": self.usd,
        })
    }
}

/// Tokens by each way of counting; `null` where nothing is known of them.
fn count_tokens(tally: &Tally) -> Value {
    let count = |way| if tally.is_known() { Value::from(tally.tokens(way)) } else { Value::Null };
    Counting::ALL.into_iter().map(|way| (way.name().to_owned(), count(way))).collect()
}

/// The figures of a session as JSON. With `control`, whether it shows skills that it must not show.
///
/// # Errors
/// The figures cannot be written.
pub fn trace_document(
    stats: &Stats,
    cost: Cost,
    duplicate: bool,
    control: bool,
    prices: Option<&Prices>,
) -> Result<Value, serde_json::Error> {
    let mut value = serde_json::to_value(stats)?;
    if let Some(map) = value.as_object_mut() {
        map.insert("tokens".to_owned(), json!(stats.tally.known()));
        map.insert("at_least".to_owned(), json!(stats.tally.lower_bounds()));
        map.insert("counted".to_owned(), count_tokens(&stats.tally));
        map.insert("cost_usd".to_owned(), json!(cost.usd.filter(|_| !cost.is_at_least)));
        map.insert("cost_usd_at_least".to_owned(), json!(cost.usd));
        let models = stats.models.iter().map(|one| {
            let day = one.day.unwrap_or(jiff::civil::Date::MAX);
            let cost = prices.and_then(|prices| prices.cost(one.model.as_deref()?, day, &one.usage));
            // What the session does not know, its models do not.
            let whole = stats.tally.known();
            let tokens = KnownUsage {
                input: whole.input.map(|_| one.usage.input),
                output: whole.output.map(|_| one.usage.output),
                cache_read: whole.cache_read.map(|_| one.usage.cache_read),
                cache_write: whole.cache_write.map(|_| one.usage.cache_write),
                cache_write_1h: one.usage.cache_write_1h,
            };
            json!({ "model": one.model, "day": one.day, "tokens": tokens, "cost_usd": cost })
        });
        map.insert("models".to_owned(), models.collect());
        map.insert("duplicate".to_owned(), duplicate.into());
        if control {
            let contaminated = stats.skills.iter().any(|skill| skill.contamination.is_some());
            let contaminated = match contaminated {
                false if stats.skills.iter().any(may_be_read) => Value::Null,
                known => known.into(),
            };
            map.insert("contaminated".to_owned(), contaminated);
        }
        for key in ["tally", "final_metrics"] {
            map.shift_remove(key);
        }
    }
    Ok(value)
}
