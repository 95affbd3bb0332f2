//! The run's budget, for agents that call models without the gateway.

use assay_agent::RunBudget;
use assay_gateway::Budget;
use assay_model::{Price, Usage};

/// The run's budget, with the price of what one trial charges to it.
#[derive(Debug)]
pub(crate) struct PricedBudget<'a> {
    pub(crate) budget: &'a Budget,
    /// The price of the trial's tokens.
    pub(crate) price: Option<Price>,
}

impl RunBudget for PricedBudget<'_> {
    fn exhausted(&self) -> Option<String> {
        self.budget.capped().map(|capped| capped.reason)
    }

    fn charge(&self, usage: &Usage, estimated: &Usage) {
        let cost = |usage: &Usage| self.price.map(|price| price.cost(usage));
        let reported = cost(usage).zip(cost(estimated)).map(|(all, guess)| all - guess);
        self.budget.charge(usage, estimated, reported);
    }
}
