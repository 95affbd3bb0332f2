//! What opens proxies for the trials of a run.

use std::sync::Arc;

use assay_trace::Prices;

use crate::budget::Budget;
use crate::error::GatewayError;
use crate::limits::Limits;
use crate::proxy::Proxy;
use crate::session::SessionConfig;
use crate::shared::Options;

/// What all trials of a run share.
#[derive(Debug, Clone, Default)]
pub struct GatewayOptions {
    /// Bounds on sizes and times.
    pub limits: Limits,
    /// What the whole run may spend.
    pub budget: Budget,
    /// What tokens cost, by model and date.
    pub prices: Prices,
}

/// Opens proxies, and counts what goes through all of them.
#[derive(Debug, Clone)]
pub struct Gateway {
    options: Arc<Options>,
    budget: Budget,
}

impl Gateway {
    /// A gateway without proxies.
    pub fn new(options: GatewayOptions) -> Self {
        let GatewayOptions { limits, budget, prices } = options;
        Self { options: Arc::new(Options { limits, prices }), budget }
    }

    /// A proxy for a trial.
    pub fn open(&self, mut session: SessionConfig) -> Result<Proxy, GatewayError> {
        let budget = session.budget.take().unwrap_or_else(|| self.budget.clone());
        Proxy::open(Arc::clone(&self.options), budget, session)
    }

    /// What the run may spend, and has spent.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }
}
