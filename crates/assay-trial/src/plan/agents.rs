//! Who works in a plan: the experiment's agents, opened.

use std::sync::Arc;

use assay_agent::Agent;
use assay_model::{ModelOptions, Price};
use assay_store::AgentLabel;
use assay_trace::Placement;

use crate::plan::{Machine, PlanError};
use crate::run::cli_agents::{self, Way};
use crate::{AgentSpec, Experiment};

/// An agent of a plan.
#[derive(Clone)]
pub struct RosterEntry {
    /// As the experiment describes it.
    pub spec: AgentSpec,
    /// Who it is in records.
    pub label: AgentLabel,
    /// Its name in reports: the harness's, and what tells it from another entry with the same harness and model.
    pub arm: String,
    /// Where it finds skills, where there is a choice.
    pub placement: Option<Placement>,
    /// What works.
    pub agent: Arc<dyn Agent>,
    /// What its tokens cost.
    pub price: Option<Price>,
    /// The way to its model, for one that works inside.
    pub way: Option<Arc<Way>>,
}

impl RosterEntry {
    /// One that was opened.
    pub(crate) fn new(spec: &AgentSpec, agent: Arc<dyn Agent>) -> Self {
        let label = label(&*agent);
        let price = spec.price;
        let arm = label.name.clone();
        Self { spec: spec.clone(), label, arm, placement: None, agent, price, way: None }
    }
}

/// Who an agent is in records.
pub(crate) fn label(agent: &dyn Agent) -> AgentLabel {
    AgentLabel {
        name: agent.name().to_owned(),
        version: agent.version(),
        model: agent.model().map(str::to_owned),
    }
}

/// The experiment's agents, in its order.
pub(crate) fn roster(experiment: &Experiment, machine: &Machine<'_>) -> Result<Vec<RosterEntry>, PlanError> {
    let wrong = |spec: &AgentSpec, message: String| PlanError::Agent {
        path: experiment.path.clone(),
        agent: spec.name.clone(),
        message,
    };
    let mut roster = Vec::new();
    for spec in &experiment.agents {
        if let Some(harness) = assay_agent::cli_agents::find(&spec.name) {
            let (agent, way) = cli_agents::outfit(harness, spec, experiment, machine)
                .map_err(|message| wrong(spec, message))?;
            let (placement, way) = (Some(agent.placement()), Some(Arc::new(way)));
            roster.push(RosterEntry { placement, way, ..RosterEntry::new(spec, Arc::new(agent)) });
            continue;
        }
        if spec.max_usd.is_some() && spec.price.is_none() {
            return Err(wrong(spec, "`max_usd` needs a `price`".to_owned()));
        }
        let options = ModelOptions {
            base_url: spec.base_url.clone(),
            api_key_env: spec.api_key_env.clone(),
            needs_key: !machine.dry,
            max_output_tokens: spec.max_output_tokens,
            temperature: spec.temperature,
            directory: experiment.directory.clone(),
            ..ModelOptions::default()
        };
        let model = spec
            .model
            .as_deref()
            .map(|model| assay_model::open(model, &options, machine.env))
            .transpose()
            .map_err(|error| wrong(spec, error.to_string()))?;
        let agent = assay_agent::open(&spec.name, model, spec.loop_options())
            .map_err(|error| wrong(spec, error.to_string()))?;
        roster.push(RosterEntry::new(spec, agent));
    }
    name_arms(&mut roster);
    Ok(roster)
}

/// Gives entries that have harness and model in common names of their own: by their version, their placement, and their number.
fn name_arms(roster: &mut [RosterEntry]) {
    let known: Vec<_> = roster.iter().map(|entry| (entry.label.clone(), entry.placement)).collect();
    for (number, entry) in roster.iter_mut().enumerate() {
        let own = &known[number];
        let is_other_version = |one: &AgentLabel| {
            (&one.name, &one.model) == (&own.0.name, &own.0.model) && one.version != own.0.version
        };
        if known.iter().any(|one| is_other_version(&one.0)) {
            entry.arm.push_str(&format!("@{}", own.0.version));
        }
        if let Some(placement) = own.1.filter(|_| known.iter().any(|one| one.0 == own.0 && one.1 != own.1)) {
            entry.arm.push_str(&format!(" ({})", placement.word()));
        }
        let before = known[..number].iter().filter(|one| *one == own).count();
        if before > 0 {
            entry.arm.push_str(&format!(" #{}", before + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_told_apart() {
        let check = |placements: &[Option<Placement>], expected: &[&str]| {
            let nop: Arc<dyn Agent> = Arc::new(assay_agent::Nop);
            let entry = |placement: &Option<Placement>| RosterEntry {
                placement: *placement,
                ..RosterEntry::new(&AgentSpec::named("nop"), nop.clone())
            };
            let mut roster: Vec<_> = placements.iter().map(entry).collect();
            name_arms(&mut roster);
            let names: Vec<&str> = roster.iter().map(|entry| entry.arm.as_str()).collect();
            assert_eq!(names, expected);
        };
        let nop: Arc<dyn Agent> = Arc::new(assay_agent::Nop);
        let entry = |version: &str| {
            let entry = RosterEntry::new(&AgentSpec::named("nop"), nop.clone());
            let label = AgentLabel { version: version.to_owned(), ..entry.label.clone() };
            RosterEntry { label, ..entry }
        };
        let mut roster: Vec<_> = ["1.0", "2.0", "1.0"].map(entry).into();
        name_arms(&mut roster);
        let names: Vec<&str> = roster.iter().map(|entry| entry.arm.as_str()).collect();
        assert_eq!(names, ["nop@1.0", "nop@2.0", "nop@1.0 #2"]);
        let (native, system) = (Some(Placement::Native), Some(Placement::System));
        check(&[None], &["nop"]);
        check(&[system], &["nop"]);
        check(&[native, system], &["nop (native)", "nop (system)"]);
        check(&[None, None], &["nop", "nop #2"]);
        check(&[system, native, system], &["nop (system)", "nop (native)", "nop (system) #2"]);
    }
}
