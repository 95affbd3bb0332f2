//! Opens agents from their tables in an experiment.

use std::path::Path;
use std::sync::Arc;

use assay_agent::cli_agents::{Harness, Installation, Script};
use assay_agent::{Agent, CliAgent, CostCap, Disclosure, LoopOptions, OpenError, Placement};
use assay_gateway::{Caps, GatewayError, PatternError, Provider, ProviderOptions, Varying};
use assay_model::{ModelError, ModelOptions};
use assay_store::{AgentSpec, SandboxKind};
use serde_json::json;

use crate::run::context::MachineContext;
use crate::run::route::ModelRoute;

/// An agent, opened.
#[derive(Clone)]
pub(crate) struct OpenedAgent {
    /// What works.
    pub(crate) agent: Arc<dyn Agent>,
    /// The route to its model, for agents that run in the sandbox.
    pub(crate) route: Option<Arc<ModelRoute>>,
    /// Where it finds skills, if there is a choice.
    pub(crate) placement: Option<Placement>,
    /// The server of its model, as declared: a name, or an address in its normal form. `None` for scripts and
    /// without a model.
    pub(crate) server: Option<String>,
}

/// The context of an agent, in addition to its table in the experiment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AgentContext<'a> {
    /// The base folder of relative paths of scripts.
    pub(crate) scripts: &'a Path,
    /// The sandbox that the experiment names.
    pub(crate) sandbox: SandboxKind,
    /// How skills are disclosed.
    pub(crate) disclosure: Disclosure,
}

/// Why an agent cannot be set up. Messages are sentence fragments.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// A CLI agent in the sandbox `none`.
    #[error("{0} needs a home folder of its own, which the sandbox `none` does not provide")]
    NoHome(&'static str),
    /// No cache.
    #[error("no cache folder for installed agents: set ASSAY_CACHE, XDG_CACHE_HOME or HOME")]
    NoCache,
    /// No model.
    #[error("{agent} needs a model, such as `model = \"{providers}:NAME\"`")]
    NoModel {
        /// Its name.
        agent: &'static str,
        /// Those it can speak to.
        providers: String,
    },
    /// Not in the cache.
    #[error("{0} is not installed: `assay agent install {0}` installs it")]
    NotInstalled(String),
    /// A model without a provider.
    #[error("invalid model {0:?}: expected PROVIDER:NAME")]
    Unnamed(String),
    /// A cap without a price.
    #[error("`max_usd` needs a `price`")]
    NoPrice,
    /// An agent that advertises skills to its model itself.
    #[error(
        "{0} lists the skills in its folder by itself: `disclosure = \"eager\"` needs `placement = \"system\"`"
    )]
    Eager(&'static str),
    /// The provider of its model.
    #[error(transparent)]
    Provider(#[from] GatewayError),
    /// Its model.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A model that it cannot use.
    #[error(transparent)]
    Unusable(#[from] assay_agent::cli_agents::UnusableModel),
    /// A built-in agent.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// An invalid pattern in its variations.
    #[error(transparent)]
    Varying(#[from] PatternError),
}

/// Opens an agent.
///
/// # Errors
/// Why it cannot be used here.
pub(crate) fn open_agent(
    spec: &AgentSpec,
    context: AgentContext<'_>,
    machine: &MachineContext<'_>,
) -> Result<OpenedAgent, AgentError> {
    if let Some(harness) = assay_agent::cli_agents::find(&spec.name) {
        let (agent, route) = open_cli_agent(harness, spec, context, machine)?;
        let placement = Some(agent.placement());
        let server = server_of(spec, machine)?;
        return Ok(OpenedAgent { agent: Arc::new(agent), route: Some(Arc::new(route)), placement, server });
    }
    if spec.max_usd.is_some() && spec.price.is_none() {
        return Err(AgentError::NoPrice);
    }
    let options = ModelOptions {
        base_url: spec.base_url.clone(),
        api_key_env: spec.api_key_env.clone(),
        needs_key: !machine.dry,
        max_output_tokens: spec.max_output_tokens,
        temperature: spec.temperature,
        directory: context.scripts.to_owned(),
        ..ModelOptions::default()
    };
    let model =
        spec.model.as_deref().map(|model| assay_model::open(model, &options, &machine.env)).transpose()?;
    let agent = assay_agent::open(&spec.name, model, loop_options(spec))?;
    let server = if agent.model().is_some() { server_of(spec, machine)? } else { None };
    Ok(OpenedAgent { agent, route: None, placement: None, server })
}

/// The server that an agent's table declares, which identifies its trials: by name, else by address. Never an
/// address that assay itself listens at: what is declared is read here, before anything is opened.
pub(crate) fn server_of(
    spec: &AgentSpec,
    machine: &MachineContext<'_>,
) -> Result<Option<String>, ModelError> {
    let Some(model) = &spec.model else { return Ok(None) };
    let address = assay_model::server(model, spec.base_url.as_deref(), &machine.env)?;
    Ok(address.map(|address| spec.server.clone().unwrap_or(address)))
}

fn open_cli_agent(
    harness: &'static dyn Harness,
    spec: &AgentSpec,
    context: AgentContext<'_>,
    machine: &MachineContext<'_>,
) -> Result<(CliAgent, ModelRoute), AgentError> {
    let name = harness.name();
    if context.sandbox == SandboxKind::None {
        return Err(AgentError::NoHome(name));
    }
    let cli_agents = machine.cli_agents.as_ref().ok_or(AgentError::NoCache)?;
    let model = spec
        .model
        .as_deref()
        .ok_or_else(|| AgentError::NoModel { agent: name, providers: harness.providers().join("|") })?;
    let version = spec.version.as_deref();
    let installation = Installation::find(&cli_agents.cache, harness, version).ok_or_else(|| {
        AgentError::NotInstalled(version.map_or(name.to_owned(), |version| format!("{name}@{version}")))
    })?;
    let (provider, named) = match model.split_once(':') {
        Some(("scripted", _)) => (model, None),
        Some((provider, named)) => (provider, Some(named.to_owned())),
        None => return Err(AgentError::Unnamed(model.to_owned())),
    };
    let options = ProviderOptions {
        base_url: spec.base_url.clone(),
        api_key_env: spec.api_key_env.clone(),
        keyless: machine.dry || cli_agents.replay.is_some(),
        directory: context.scripts.to_owned(),
        ..ProviderOptions::default()
    };
    let provider = Provider::open(provider, &options, &machine.env)?;
    let script = (!provider.measures_a_model())
        .then(|| Script { identity: provider.identity(), reads_condition: provider.reads_condition() });
    let caps = Caps {
        tokens: Some(loop_options(spec).max_tokens),
        requests: spec.max_turns.and_then(|turns| turns.try_into().ok()),
        usd: spec.max_usd,
    };
    if spec.max_usd.is_some() && spec.price.is_none() {
        return Err(AgentError::NoPrice);
    }
    let most = spec.max_output_tokens.map(u64::from);
    let mut limits =
        json!({ "max_tokens": caps.tokens, "max_turns": caps.requests, "max_output_tokens": most });
    // Absent where requests are left as they are, as in the ids of earlier trials.
    if let (Some(temperature), Some(limits)) = (spec.temperature, limits.as_object_mut()) {
        limits.insert("temperature".to_owned(), json!(temperature));
    }
    if let (Some(usd), Some(price), Some(limits)) = (spec.max_usd, spec.price, limits.as_object_mut()) {
        // The cost decides where the agent is stopped.
        limits.insert("max_usd".to_owned(), json!({ "usd": usd, "prices": price.list_rates() }));
    }
    let agent = CliAgent::new(harness, installation, model, script, spec.placement, limits)?;
    if context.disclosure == Disclosure::Eager && agent.placement() == Placement::Native {
        return Err(AgentError::Eager(name));
    }
    let varies = harness.varying_content();
    let varying = Varying::new(varies.fields, varies.texts)?;
    let cli_agents = cli_agents.clone();
    let temperature = spec.temperature;
    let route = ModelRoute {
        provider,
        model: named,
        caps,
        max_output_tokens: most,
        temperature,
        varying,
        cli_agents,
    };
    Ok((agent, route))
}

/// The loop's options, with its defaults.
fn loop_options(spec: &AgentSpec) -> LoopOptions {
    let default = LoopOptions::default();
    LoopOptions {
        max_turns: spec.max_turns.unwrap_or(default.max_turns),
        max_tokens: spec.max_tokens.unwrap_or(default.max_tokens),
        cost_cap: spec.max_usd.zip(spec.price).map(|(usd, price)| CostCap { usd, price }),
        command_timeout: spec.command_timeout.unwrap_or(default.command_timeout),
        context_tokens: spec.context_tokens.unwrap_or(default.context_tokens),
        max_output_tokens: spec.max_output_tokens,
        temperature: spec.temperature,
    }
}
