//! Caps of a run, and whether it needs some.

use std::collections::BTreeSet;

use assay_diagnostic::counted;
use assay_model::Price;
use assay_store::{AgentSpec, Selection, Store, TrialId};
use assay_trace::Placement;

use crate::plan::Plan;

/// Whether somebody bills for a model, by its name, the address of its server and its price.
pub type IsPaid<'a> = &'a dyn Fn(&str, Option<&str>, Option<Price>) -> bool;

/// What ends a run before all its trials are executed.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunCaps {
    /// USD.
    pub max_usd: Option<f64>,
    /// Tokens.
    pub max_tokens: Option<u64>,
    /// Trials.
    pub max_trials: Option<usize>,
    /// Whether the caller wants none.
    pub no_cap: bool,
    /// Whether recorded replies answer CLI agents.
    pub is_replay: bool,
}

impl RunCaps {
    fn is_missing(&self) -> bool {
        self.max_usd.is_none() && self.max_tokens.is_none() && self.max_trials.is_none() && !self.no_cap
    }
}

/// Why a run is not begun with its caps.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CapError {
    /// The cap in USD is no amount.
    #[error("`--max-usd` must be an amount of at least 0")]
    InvalidUsd,
    /// A cap in USD, and the model of an agent has no price.
    #[error("`--max-usd` needs the price of {0}")]
    AgentPrice(String),
    /// The same of a judge.
    #[error("`--max-usd` needs the price of the judge {0}")]
    JudgePrice(String),
    /// A paid judge without a cap.
    #[error("the judge {0} is a paid model, and this run has no cap")]
    JudgeUncapped(String),
    /// A paid agent without a cap.
    #[error("{model} is a paid model, and this run of {} has no cap", counted(*trials, "trial", "trials"))]
    AgentUncapped {
        /// Its model.
        model: String,
        /// How many trials are selected.
        trials: usize,
    },
}

impl CapError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::InvalidUsd => None,
            Self::AgentPrice(_) => Some(
                "add `price = { input = …, output = … }`, in USD for a million tokens, to its [[agents]] table",
            ),
            Self::JudgePrice(_) => Some(
                "add it to `[prices]`: `\"PROVIDER:MODEL\" = { input = …, output = … }`, in USD for a million tokens",
            ),
            Self::JudgeUncapped(_) | Self::AgentUncapped { .. } => {
                Some("set --max-usd USD, --max-tokens N or --max-trials N, or pass --no-cap")
            }
        }
    }
}

impl Plan {
    /// The command-line agents that have trials without a result among those that are selected: name, version, sandbox and where
    /// skills are placed.
    pub fn awaited_agents(
        &self,
        only: &Selection,
        store: &Store,
    ) -> BTreeSet<(&str, Option<&str>, &str, Option<Placement>)> {
        let is_done = |trial: &TrialId| {
            store.record(trial).is_ok_and(|found| found.is_some_and(|one| one.outcome.counts()))
        };
        let mut awaited = BTreeSet::new();
        for cell in &self.cells {
            let entry = &self.agents[cell.agent];
            let name = entry.label.name.as_str();
            if only.matches(cell, name) && entry.route.is_some() && !is_done(&cell.trial) {
                awaited.insert((name, entry.spec.version.as_deref(), cell.sandbox.as_str(), entry.placement));
            }
        }
        awaited
    }

    /// Refuses to run a model that costs money without a cap, and a cap in USD without prices.
    ///
    /// # Errors
    /// What is missing.
    pub fn check_caps(&self, caps: &RunCaps, only: &Selection, is_paid: IsPaid<'_>) -> Result<(), CapError> {
        if caps.max_usd.is_some_and(|usd| !usd.is_finite() || usd < 0.0) {
            return Err(CapError::InvalidUsd);
        }
        let selected: Vec<_> = self
            .cells
            .iter()
            .filter(|cell| only.matches(cell, &self.agents[cell.agent].label.name))
            .collect();
        let paid: Vec<_> = self
            .agents
            .iter()
            .enumerate()
            .filter(|(number, entry)| {
                is_agent_paid(&entry.spec, is_paid) && selected.iter().any(|cell| cell.agent == *number)
            })
            // A replay answers CLI agents without their provider; the others still call theirs.
            .filter(|(_, entry)| !caps.is_replay || assay_agent::cli_agents::find(&entry.spec.name).is_none())
            .map(|(_, entry)| entry)
            .collect();
        if caps.max_usd.is_some()
            && let Some(entry) = paid.iter().find(|entry| entry.price.is_none())
        {
            return Err(CapError::AgentPrice(entry.label.model.clone().unwrap_or_default()));
        }
        let judges =
            self.experiment.judge.iter().filter(|_| self.is_judged()).flat_map(|judge| &judge.models);
        let judges: Vec<_> =
            judges.filter(|judge| is_paid(&judge.model, judge.base_url.as_deref(), judge.price)).collect();
        if caps.max_usd.is_some()
            && let Some(judge) = judges.iter().find(|judge| judge.price.is_none())
        {
            return Err(CapError::JudgePrice(judge.model.clone()));
        }
        if let Some(judge) = judges.first()
            && caps.is_missing()
        {
            return Err(CapError::JudgeUncapped(judge.model.clone()));
        }
        if let Some(entry) = paid.first()
            && caps.is_missing()
        {
            let model = entry.label.model.clone().unwrap_or_default();
            return Err(CapError::AgentUncapped { model, trials: selected.len() });
        }
        Ok(())
    }
}

/// Whether somebody bills for an agent's model. A list price is a guess about the model's name, and says nothing about who
/// bills at an address of this machine.
fn is_agent_paid(spec: &AgentSpec, is_paid: IsPaid<'_>) -> bool {
    let own = spec.price.filter(|_| spec.list_price.is_none());
    spec.model.as_deref().is_some_and(|model| is_paid(model, spec.base_url.as_deref(), own))
}
