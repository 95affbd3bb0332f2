//! The run's budget, for agents that call models without the gateway.

use assay_agent::{RequestShare, RequestTurn, RunBudget};
use assay_gateway::{Budget, Ceiling, Reservation, Turn};
use assay_model::{Price, Usage};

/// The run's budget, with the price of what one trial charges to it.
#[derive(Debug)]
pub(crate) struct PricedBudget<'a> {
    pub(crate) budget: &'a Budget,
    /// The price of the trial's tokens.
    pub(crate) price: Option<Price>,
}

impl RunBudget for PricedBudget<'_> {
    fn reserve(&self, input: u64, output: Option<u64>) -> RequestTurn<'_> {
        let ceiling = Ceiling::of(input, output, |usage| self.price.map(|price| price.cost(usage)));
        match self.budget.reserve(ceiling) {
            Turn::Granted(reservation) => {
                RequestTurn::Granted(Some(Box::new(PricedShare { reservation, price: self.price })))
            }
            Turn::Deferred => RequestTurn::Deferred,
            Turn::Capped(capped) => RequestTurn::Exhausted(capped.reason),
        }
    }

    fn exhausted(&self) -> Option<String> {
        self.budget.capped().map(|capped| capped.reason)
    }

    /// Only complete replies are charged: one without a usage costs its estimate.
    fn charge(&self, usage: &Usage, estimated: &Usage) {
        self.budget.charge(usage, estimated, self.price.map(|price| price.cost(usage)));
    }
}

/// What is set aside for a request of a priced model.
#[derive(Debug)]
struct PricedShare {
    reservation: Reservation,
    price: Option<Price>,
}

impl RequestShare for PricedShare {
    fn set_used(&mut self, usage: &Usage) {
        let usd = self.price.map_or(0.0, |price| price.cost(usage));
        self.reservation.set_used(Ceiling { tokens: usage.total(), usd });
    }
}
