//! Whether a task can be run on this machine, and its network policy.

use assay_diagnostic::chain;
use assay_gateway::{Hosts, HostsError};
use assay_task::{NetworkWish, Task, VerifierMode};

use super::rubric::TaskRubricError;
use crate::run::backend::BackendError;
use crate::run::doubles::DoublesError;
use crate::run::env::EnvError;
use crate::run::mcp::McpError;
use crate::{Experiment, NetworkGrant};
use assay_store::NetworkPolicy;

/// Why a task is excluded. Messages are sentence fragments: they are the reason of an exclusion.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Infeasible {
    /// A folder of steps that are not listed.
    #[error("it has a folder `steps/`, but no `[[steps]]` in task.toml")]
    UnlistedSteps,
    /// Requirements that a judge decides, without one.
    #[error("it is graded by tests/rubric.json, and the experiment has no `[judge]`")]
    NoJudge,
    /// A rubric that cannot be used.
    #[error("its tests/rubric.json cannot be used: {}", chain(.0))]
    Rubric(TaskRubricError),
    /// A rubric and steps.
    #[error("it has a rubric and `[[steps]]`, which cannot be judged together")]
    RubricOfSteps,
    /// A step with another network.
    #[error("its step `{0}` has a `network_mode` of its own, which is not supported")]
    StepNetwork(String),
    /// A compose file with access to the host.
    #[error("its compose file would give it access to the host: {0}")]
    HostileCompose(String),
    /// A compose file that mounts the host's credentials.
    #[error(
        "its compose file would give it access to the host: {0} (`drop_login_mounts = true` under `[sandbox]` omits it)"
    )]
    LoginMount(String),
    /// A compose file that needs more than plain containers on one network.
    #[error("its compose file is not supported: {0}")]
    Compose(String),
    /// A GPU.
    #[error("it needs a GPU, which no sandbox here provides")]
    Gpu,
    /// Windows.
    #[error("it needs Windows")]
    Windows,
    /// MCP servers.
    #[error(transparent)]
    Mcp(#[from] McpError),
    /// Files of another container.
    #[error("it collects artifacts from the service `{0}`, but only those of `main` are collected")]
    Service(String),
    /// Hosts that are not names of hosts.
    #[error("its list of hosts: {0}")]
    Hosts(HostsError),
    /// Listed hosts without an egress proxy.
    #[error("it needs per-host network rules, which this sandbox cannot enforce")]
    NoEgressProxy,
    /// A network for the verifier only, with several services.
    #[error(
        "its verifier has a network that its agent has not, which Docker cannot separate for a task with several services (`network = \"public\"` gives both one)"
    )]
    VerifierNetwork,
    /// No sandbox.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// Test doubles.
    #[error(transparent)]
    Doubles(#[from] DoublesError),
    /// A variable without a value.
    #[error(transparent)]
    Env(#[from] EnvError),
}

/// Whether some sandbox here supports a task's requirements.
pub(crate) fn check_task(task: &Task, experiment: &Experiment) -> Result<(), Infeasible> {
    let config = &task.config;
    if task.has_unlisted_steps {
        return Err(Infeasible::UnlistedSteps);
    }
    if task.graded_by.has_rubric() {
        if experiment.judge.is_none() {
            return Err(Infeasible::NoJudge);
        }
        if !task.steps.is_empty() {
            return Err(Infeasible::RubricOfSteps);
        }
    }
    let own =
        config.steps.iter().find(|step| step.agent_network.is_some() || step.verifier_network.is_some());
    if let Some(step) = own {
        return Err(Infeasible::StepNetwork(assay_diagnostic::escape(&step.name)));
    }
    if let Some(compose) = &task.environment.compose {
        if let Some(reason) = compose.hostile.first() {
            return Err(Infeasible::HostileCompose(reason.clone()));
        }
        if let Some(login) = compose.logins.first().filter(|_| !experiment.sandbox.drop_login_mounts) {
            return Err(Infeasible::LoginMount(login.to_string()));
        }
        if let Some(reason) = compose.unsupported.first() {
            return Err(Infeasible::Compose(reason.clone()));
        }
    }
    if config.environment.gpus > 0 {
        return Err(Infeasible::Gpu);
    }
    if config.environment.windows {
        return Err(Infeasible::Windows);
    }
    let steps = config.steps.iter();
    let artifacts = config.artifacts.iter().chain(steps.clone().flat_map(|step| &step.artifacts));
    let collect = config.collect.iter().chain(steps.flat_map(|step| &step.collect));
    let mut services = artifacts
        .filter_map(|artifact| artifact.service.as_ref())
        .chain(collect.filter_map(|collect| collect.service.as_ref()));
    services
        .find(|service| *service != "main")
        .map_or(Ok(()), |service| Err(Infeasible::Service(service.clone())))
}

/// What agent and verifier can reach.
pub(crate) fn policy(
    task: &Task,
    experiment: &Experiment,
) -> Result<(NetworkPolicy, NetworkPolicy), Infeasible> {
    let config = &task.config;
    let cut_off = task.environment.compose.as_ref().is_some_and(|compose| compose.main.no_network);
    // No phase has a network in a container that Compose gives none.
    let none = cut_off.then_some(&NetworkWish::None);
    let own = &config.environment.network;
    let agent = none.or(config.agent_network.as_ref()).unwrap_or(own);
    let agent = network(agent, &experiment.network)?;
    let verifier = if experiment.verifier_network {
        NetworkPolicy::Public
    } else {
        let wish = none.or(config.verifier_network.as_ref()).unwrap_or(own);
        network(wish, &experiment.network)?
    };
    let has_services = task.environment.compose.as_ref().is_some_and(|compose| !compose.others.is_empty());
    let is_public = |policy: &NetworkPolicy| matches!(policy, NetworkPolicy::Public);
    // The name servers of a container are set when it is created, and older daemons answer for them
    // on an internal network, too: the agent could send data out in names.
    if has_services
        && config.verifier_mode != VerifierMode::Separate
        && is_public(&verifier)
        && !is_public(&agent)
    {
        return Err(Infeasible::VerifierNetwork);
    }
    Ok((agent, verifier))
}

/// The hosts that the task requests and the experiment grants.
pub(super) fn network(wish: &NetworkWish, grant: &NetworkGrant) -> Result<NetworkPolicy, Infeasible> {
    let hosts = |list: &[String]| Hosts::parse(list).map_err(Infeasible::Hosts);
    let allowed = match (wish, grant) {
        (NetworkWish::None, _) | (_, NetworkGrant::None) => return Ok(NetworkPolicy::None),
        (NetworkWish::Public, NetworkGrant::Public) => return Ok(NetworkPolicy::Public),
        (NetworkWish::Allowlist(wished), NetworkGrant::Public) => hosts(wished)?,
        (NetworkWish::Public, NetworkGrant::Hosts(granted)) => hosts(granted)?,
        (NetworkWish::Allowlist(wished), NetworkGrant::Hosts(granted)) => {
            hosts(wished)?.intersection(&hosts(granted)?)
        }
    };
    Ok(if allowed.is_empty() { NetworkPolicy::None } else { NetworkPolicy::Hosts(allowed.list()) })
}
