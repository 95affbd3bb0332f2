//! Most that a trial of an agent can cost.

use assay_agent::LoopOptions;
use assay_model::Price;
use assay_store::AgentSpec;

use crate::plan::Plan;

impl Plan {
    /// Most USD of one trial of each agent, in the order of the plan: its `max_usd`, or its price times `max_tokens`, or
    /// its price times what its turns can send and receive, whichever is least. `None` where nothing bounds it: a model
    /// without a price, or a CLI agent without caps.
    pub fn trial_caps(&self) -> Vec<Option<f64>> {
        self.agents.iter().map(|entry| trial_cap(&entry.spec, entry.price)).collect()
    }
}

fn trial_cap(spec: &AgentSpec, price: Option<Price>) -> Option<f64> {
    let million = 1e6;
    let of_tokens = |price: Price| {
        let dearest = price.dearest_input().max(price.dearest_output());
        Some(spec.max_tokens? as f64 * dearest / million)
    };
    let of_turns = |price: Price| {
        // Only the built-in loop bounds what one turn sends. A reply fills the context at most.
        let defaults = LoopOptions::default();
        let is_loop = spec.name == "loop";
        let turns = spec.max_turns.or_else(|| is_loop.then_some(defaults.max_turns))?;
        let context = spec.context_tokens.or_else(|| is_loop.then_some(defaults.context_tokens))?;
        let reply = spec.max_output_tokens.map_or(context, u64::from);
        let read = price.dearest_input();
        Some(turns as f64 * (context as f64 * read + reply as f64 * price.dearest_output()) / million)
    };
    let bounds = [spec.max_usd, price.and_then(of_tokens), price.and_then(of_turns)];
    bounds.into_iter().flatten().reduce(f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_of_the_caps_bounds_a_trial() {
        let price = Some(Price::new(2.0, 10.0, Some(0.2), Some(2.5)));
        let check = |change: &dyn Fn(&mut AgentSpec), price: Option<Price>, expected: Option<f64>| {
            let mut spec = AgentSpec::named("loop");
            change(&mut spec);
            let found = trial_cap(&spec, price);
            let equal = match (found, expected) {
                (Some(found), Some(expected)) => (found - expected).abs() < 1e-12,
                (found, expected) => found == expected,
            };
            assert!(equal, "{spec:?}: {found:?}, not {expected:?}");
        };
        // 30 turns of 100,000 tokens read at 2.5 and as many written at 10 USD for a million.
        check(&|_| {}, price, Some(37.5));
        check(&|spec| spec.max_output_tokens = Some(1_000), price, Some(7.8));
        check(&|spec| spec.max_turns = Some(2), price, Some(2.5));
        check(&|spec| spec.max_tokens = Some(50_000), price, Some(0.5));
        check(&|spec| spec.max_usd = Some(0.25), price, Some(0.25));
        check(&|_| {}, None, None);
        check(&|spec| spec.max_usd = Some(0.25), None, Some(0.25));
        check(&|spec| spec.name = "codex".to_owned(), price, None);
    }
}
