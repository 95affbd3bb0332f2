//! What the trials of a gate may cost, before the first of them is executed.

use assay_agent::LoopOptions;
use assay_analysis::{CostSource, forecast_cost};
use assay_diagnostic::group_digits;
use assay_report::counted;
use assay_store::{Selection, Store};
use assay_trial::Plan;
use serde::Serialize;

use crate::failure::Failure;

/// Trials, tokens and US dollars of a gate.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Forecast {
    /// Planned trials, without those of the checks of tasks.
    pub(crate) trials: usize,
    /// Those without a result.
    pub(crate) missing: usize,
    /// Tokens of the missing ones by those that are recorded; `null` if there are none like them.
    pub(crate) tokens_expected: Option<u64>,
    /// Tokens at most, by the caps of the agents; `null` if nothing bounds them.
    pub(crate) tokens_most: Option<u64>,
    /// US dollars by recorded trials; `null` if there are none like them.
    pub(crate) usd_expected: Option<f64>,
    /// US dollars at most, by prices and caps; `null` if nothing bounds them.
    pub(crate) usd_most: Option<f64>,
    /// The cap of the gate.
    pub(crate) usd_cap: Option<f64>,
    /// Whether no model is billed.
    pub(crate) free: bool,
}

impl Forecast {
    /// The forecast of no trial.
    pub(crate) fn none(cap: Option<f64>) -> Self {
        let zero = Some(0.0);
        Self {
            tokens_expected: Some(0),
            tokens_most: Some(0),
            usd_expected: zero,
            usd_most: zero,
            usd_cap: cap,
            free: true,
            ..Self::default()
        }
    }

    /// Adds the trials of a plan.
    pub(crate) fn add(&mut self, plan: &Plan, store: &Store) -> Result<(), Failure> {
        let folder = plan.run_folder();
        let caps = plan.trial_caps();
        let cost = forecast_cost(&folder, &caps, store, &Selection::default(), None)?;
        let mut missing = vec![0_u32; plan.agents.len()];
        let (mut recorded, mut tokens) = (0_u64, 0_u64);
        for cell in &folder.cells {
            let record = store.record(&cell.trial).ok().flatten().filter(|record| record.outcome.counts());
            match record {
                Some(record) => {
                    if let Some(usage) = record.usage {
                        recorded += 1;
                        tokens = tokens.saturating_add(usage.total());
                    }
                }
                None => missing[cell.agent] += 1,
            }
        }
        self.trials += folder.cells.len();
        self.missing += cost.trials;
        self.free &= cost.free || cost.trials == 0;
        let (mut most_tokens, mut most_usd) = (Some(0_u64), Some(0.0));
        for ((entry, cap), missing) in plan.agents.iter().zip(&caps).zip(missing) {
            if missing == 0 {
                continue;
            }
            let is_loop = entry.spec.name == "loop";
            let each = entry.spec.max_tokens.or_else(|| is_loop.then(|| LoopOptions::default().max_tokens));
            most_tokens = most_tokens
                .zip(each)
                .map(|(sum, each)| sum.saturating_add(each.saturating_mul(missing.into())));
            most_usd = most_usd.zip(*cap).map(|(sum, cap): (f64, f64)| sum + cap * f64::from(missing));
        }
        let missing = u64::try_from(cost.trials).unwrap_or(u64::MAX);
        let expected =
            (recorded > 0 || missing == 0).then(|| tokens.saturating_mul(missing) / recorded.max(1));
        let from_records = !cost.from.contains(&CostSource::Caps);
        let usd = if cost.free || missing == 0 {
            Some(0.0)
        } else {
            cost.range.filter(|_| from_records).map(|[low, high]| f64::midpoint(low, high))
        };
        let most_usd = if cost.free { Some(0.0) } else { most_usd };
        self.tokens_expected = self.tokens_expected.zip(expected).map(|(sum, more)| sum.saturating_add(more));
        self.tokens_most = self.tokens_most.zip(most_tokens).map(|(sum, more)| sum.saturating_add(more));
        self.usd_expected = self.usd_expected.zip(usd).map(|(sum, more)| sum + more);
        self.usd_most = self.usd_most.zip(most_usd).map(|(sum, more)| sum + more);
        Ok(())
    }

    /// One line.
    pub(crate) fn words(&self) -> String {
        let trials = counted(self.trials, "trial", "trials");
        let recorded = group_digits(self.trials - self.missing);
        let head = format!("Cost: {trials}, {recorded} recorded, {} to execute", group_digits(self.missing));
        if self.missing == 0 {
            return format!("{head}.");
        }
        let tokens = match (self.tokens_expected, self.tokens_most) {
            (Some(expected), Some(most)) => {
                format!("about {} tokens, at most {}", group_digits(expected), group_digits(most))
            }
            (Some(expected), None) => format!("about {} tokens", group_digits(expected)),
            (None, Some(most)) => format!("at most {} tokens", group_digits(most)),
            (None, None) => "tokens unknown".to_owned(),
        };
        let usd = match (self.usd_expected, self.usd_most) {
            _ if self.free => "no model is billed".to_owned(),
            (Some(expected), Some(most)) => format!("about ${expected:.2}, at most ${most:.2}"),
            (Some(expected), None) => format!("about ${expected:.2}"),
            (None, Some(most)) => format!("at most ${most:.2}"),
            (None, None) => "USD unknown".to_owned(),
        };
        let cap =
            self.usd_cap.filter(|_| !self.free).map_or(String::new(), |cap| format!(", stops at ${cap:.2}"));
        format!("{head}; {tokens}; {usd}{cap}.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_is_one_line_with_units() {
        let check = |forecast: Forecast, expected: &str| assert_eq!(forecast.words(), expected);
        let all = Forecast { trials: 72, ..Forecast::none(None) };
        check(all.clone(), "Cost: 72 trials, 72 recorded, 0 to execute.");
        let some = Forecast { missing: 36, tokens_most: Some(36_000_000), ..all };
        let free = Forecast { tokens_expected: None, ..some.clone() };
        check(
            free,
            "Cost: 72 trials, 36 recorded, 36 to execute; at most 36,000,000 tokens; no model is billed.",
        );
        let paid = Forecast {
            tokens_expected: Some(420_000),
            usd_expected: Some(1.25),
            usd_most: Some(108.0),
            usd_cap: Some(20.0),
            free: false,
            ..some.clone()
        };
        check(
            paid,
            "Cost: 72 trials, 36 recorded, 36 to execute; about 420,000 tokens, at most 36,000,000; about $1.25, at most $108.00, stops at $20.00.",
        );
        let unknown = Forecast {
            tokens_expected: None,
            tokens_most: None,
            usd_expected: None,
            usd_most: None,
            free: false,
            ..some
        };
        check(unknown, "Cost: 72 trials, 36 recorded, 36 to execute; tokens unknown; USD unknown.");
    }
}
