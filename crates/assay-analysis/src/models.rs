//! Responding models and requested models.

use std::collections::BTreeMap;

use assay_store::RunFolder;
use serde::Serialize;

use crate::gather::Gathered;
use crate::names::is_same_model;

/// A model that replied to an agent, by the provider's own word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RepliedModel {
    /// The harness.
    pub agent: String,
    /// The requested model, as `provider:model`.
    pub requested: String,
    /// The model that replied.
    pub replied: String,
    /// Whether the one can be the other, by their names.
    pub matches: bool,
    /// Trials in which it did.
    pub trials: usize,
    /// Replies.
    pub replies: u64,
}

/// All models that replied, agent by agent. What plays a script has no model.
pub(crate) fn replied(run: &RunFolder, gathered: &Gathered) -> Vec<RepliedModel> {
    let mut found: BTreeMap<(usize, &str), (usize, u64)> = BTreeMap::new();
    for table in gathered.tables.iter().chain(&gathered.controls) {
        let results = table.cells.values().flat_map(BTreeMap::values).flat_map(|slot| &slot.results);
        for (model, replies) in results.flat_map(|result| &result.replied_models) {
            let (trials, all) = found.entry((table.agent, model)).or_default();
            *trials += 1;
            *all = all.saturating_add(*replies);
        }
    }
    let row = |((agent, replied), (trials, replies)): ((usize, &str), (usize, u64))| {
        let agent = run.agents.get(agent).filter(|agent| agent.measures_a_model)?;
        let requested = agent.label.model.as_deref()?;
        let name = requested.split_once(':').map_or(requested, |(_, name)| name);
        Some(RepliedModel {
            agent: agent.name().to_owned(),
            requested: requested.to_owned(),
            replied: replied.to_owned(),
            matches: is_same_model(name, replied),
            trials,
            replies,
        })
    };
    found.into_iter().filter_map(row).collect()
}
