//! Opens proxies for the trials of a run.

use std::sync::Arc;

use assay_trace::Prices;

use crate::error::GatewayError;
use crate::limits::Limits;
use crate::proxy::Proxy;
use crate::session::SessionConfig;
use crate::shared::Options;

/// Options that all trials of a run share.
#[derive(Debug, Clone, Default)]
pub struct GatewayOptions {
    /// Bounds on sizes and times.
    pub limits: Limits,
    /// What tokens cost, by model and date.
    pub prices: Prices,
}

/// Opens proxies.
#[derive(Debug, Clone)]
pub struct Gateway {
    options: Arc<Options>,
}

impl Gateway {
    /// Creates a gateway without proxies.
    pub fn new(options: GatewayOptions) -> Self {
        let GatewayOptions { limits, prices } = options;
        Self { options: Arc::new(Options { limits, prices }) }
    }

    /// Opens a proxy for a trial.
    pub fn open(&self, session: SessionConfig) -> Result<Proxy, GatewayError> {
        Proxy::open(Arc::clone(&self.options), session)
    }
}
