//! Who works in a plan: the experiment's agents, opened.

use std::sync::Arc;

use assay_agent::{Agent, Disclosure};
use assay_model::Price;
use assay_store::{AgentLabel, AgentSpec};
use assay_trace::Placement;

use crate::Experiment;
use crate::plan::error::PlanError;
use crate::run::context::MachineContext;
use crate::run::open_agent::{AgentContext, OpenedAgent, open_agent};
use crate::run::route::ModelRoute;

/// An agent of a plan.
#[derive(Clone)]
pub struct AgentEntry {
    /// As the experiment describes it.
    pub spec: Arc<AgentSpec>,
    /// Who it is in records.
    pub label: AgentLabel,
    /// Its name in reports: the harness, and what distinguishes it from another entry with the same
    /// harness and model.
    pub arm: String,
    /// Where it finds skills, if there is a choice.
    pub placement: Option<Placement>,
    /// What works.
    pub agent: Arc<dyn Agent>,
    /// What its tokens cost.
    pub price: Option<Price>,
    /// The route to its model, for agents that run in the sandbox.
    pub route: Option<Arc<ModelRoute>>,
    /// The server of its model, as declared: a name, or an address in its normal form. `None` for scripts and
    /// without a model.
    pub server: Option<String>,
}

impl AgentEntry {
    /// One that was opened.
    pub(crate) fn new(spec: &AgentSpec, agent: Arc<dyn Agent>) -> Self {
        let label = label(&*agent);
        let price = spec.price;
        let arm = label.name.clone();
        Self {
            spec: Arc::new(spec.clone()),
            label,
            arm,
            placement: None,
            agent,
            price,
            route: None,
            server: None,
        }
    }

    /// The opened agent.
    pub(crate) fn opened(&self) -> OpenedAgent {
        OpenedAgent {
            agent: self.agent.clone(),
            route: self.route.clone(),
            placement: self.placement,
            server: self.server.clone(),
        }
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
pub(crate) fn open_agents(
    experiment: &Experiment,
    machine: &MachineContext<'_>,
) -> Result<Vec<AgentEntry>, PlanError> {
    // The one that not every agent supports, if a condition has it.
    let mut disclosures = experiment.conditions.iter().map(|name| experiment.disclosure_of(name));
    let disclosure = disclosures.find(|disclosure| *disclosure == Disclosure::Eager);
    let context = AgentContext {
        scripts: &experiment.directory,
        sandbox: experiment.sandbox.kind,
        disclosure: disclosure.unwrap_or(experiment.disclosure),
    };
    let mut agents = Vec::new();
    for spec in &experiment.agents {
        let opened = open_agent(spec, context, machine).map_err(|error| PlanError::Agent {
            path: experiment.path.clone(),
            agent: spec.name.clone(),
            error,
        })?;
        let OpenedAgent { agent, route, placement, server } = opened;
        agents.push(AgentEntry { placement, route, server, ..AgentEntry::new(spec, agent) });
    }
    name_arms(&mut agents);
    Ok(agents)
}

/// Gives entries with the same harness and model distinct names: by their version, their placement, their
/// server, and their number.
fn name_arms(agents: &mut [AgentEntry]) {
    let known: Vec<_> =
        agents.iter().map(|entry| (entry.label.clone(), entry.placement, entry.server.clone())).collect();
    for (number, entry) in agents.iter_mut().enumerate() {
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
        if let Some(server) =
            own.2.as_ref().filter(|_| known.iter().any(|one| one.0 == own.0 && one.2 != own.2))
        {
            entry.arm.push_str(&format!(" at {server}"));
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
    fn agent_entries_get_distinct_names() {
        let check = |placements: &[Option<Placement>], expected: &[&str]| {
            let nop: Arc<dyn Agent> = Arc::new(assay_agent::Nop);
            let entry = |placement: &Option<Placement>| AgentEntry {
                placement: *placement,
                ..AgentEntry::new(&AgentSpec::named("nop"), nop.clone())
            };
            let mut agents: Vec<_> = placements.iter().map(entry).collect();
            name_arms(&mut agents);
            let names: Vec<&str> = agents.iter().map(|entry| entry.arm.as_str()).collect();
            assert_eq!(names, expected);
        };
        let nop: Arc<dyn Agent> = Arc::new(assay_agent::Nop);
        let entry = |version: &str| {
            let entry = AgentEntry::new(&AgentSpec::named("nop"), nop.clone());
            let label = AgentLabel { version: version.to_owned(), ..entry.label.clone() };
            AgentEntry { label, ..entry }
        };
        let mut agents: Vec<_> = ["1.0", "2.0", "1.0"].map(entry).into();
        name_arms(&mut agents);
        let names: Vec<&str> = agents.iter().map(|entry| entry.arm.as_str()).collect();
        assert_eq!(names, ["nop@1.0", "nop@2.0", "nop@1.0 #2"]);
        let (native, system) = (Some(Placement::Native), Some(Placement::System));
        check(&[None], &["nop"]);
        check(&[system], &["nop"]);
        check(&[native, system], &["nop (native)", "nop (system)"]);
        check(&[None, None], &["nop", "nop #2"]);
        check(&[system, native, system], &["nop (system)", "nop (native)", "nop (system) #2"]);
    }
}
