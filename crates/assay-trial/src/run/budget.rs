//! The run's caps, for agents that ask their models past the gateway.

use assay_agent::RunBudget;
use assay_gateway::Gateway;
use assay_model::{Price, Usage};

/// What is left for a run, at the gateway that counts for all of its trials.
#[derive(Debug)]
pub(crate) struct GatewayBudget<'a> {
    pub(crate) gateway: &'a Gateway,
    /// What the trial's tokens cost.
    pub(crate) price: Option<Price>,
}

impl RunBudget for GatewayBudget<'_> {
    fn exhausted(&self) -> Option<String> {
        self.gateway.capped().map(|capped| capped.reason)
    }

    fn charge(&self, usage: &Usage, estimated: &Usage) {
        let four = |usage: &Usage| {
            let Usage { input, output, cache_read, cache_write } = *usage;
            assay_trace::Usage { input, output, cache_read, cache_write }
        };
        let cost = |usage: &Usage| self.price.map(|price| price.cost(usage));
        let reported = cost(usage).zip(cost(estimated)).map(|(all, guess)| all - guess);
        self.gateway.charge(&four(usage), &four(estimated), reported);
    }
}
