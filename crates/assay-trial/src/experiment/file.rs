//! The text of an experiment: its keys, and the checks of their values.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use assay_agent::{Disclosure, Placement};
use assay_diagnostic::ConfigReader;
use assay_model::Price;
use assay_store::{AgentSpec, ConditionSettings, MetricSpec, OutcomeRule, SandboxChoice, SandboxKind};
use serde::Deserialize;

use super::agent_keys::check_keys;
use super::conditions::{ConditionTable, MAX_REPETITIONS, default_primary};
use super::judge::JudgeTable;
use super::key_places::AgentKeyPlaces;
use super::metrics::MetricTable;
use super::mistake::Mistake;
use super::requests::Requests;
use super::stopping::StoppingTable;
use super::{CONCURRENCY, Experiment, MARGIN, NetworkGrant, REPETITIONS, Retries, SCHEMA, SEED, STOP_AFTER};
use crate::condition::{ConditionRef, Pairing};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: toml::Spanned<String>,
    name: toml::Spanned<String>,
    suite: toml::Spanned<Vec<String>>,
    #[serde(default)]
    library: Vec<String>,
    conditions: toml::Spanned<Vec<String>>,
    #[serde(default)]
    disclosure: Disclosure,
    placement: Option<Placement>,
    repetitions: Option<toml::Spanned<i64>>,
    stopping: Option<toml::Spanned<StoppingTable>>,
    #[serde(default = "default_seed")]
    seed: u64,
    margin: Option<toml::Spanned<f64>>,
    #[serde(default)]
    outcome: OutcomeRule,
    selected_by: Option<toml::Spanned<Vec<String>>>,
    sandbox: Option<toml::Spanned<toml::Value>>,
    network: Option<toml::Spanned<toml::Value>>,
    #[serde(default)]
    verifier_network: bool,
    #[serde(default)]
    allow_env: Vec<String>,
    primary: Option<toml::Spanned<toml::Value>>,
    concurrency: Option<toml::Spanned<i64>>,
    memory_mb: Option<toml::Spanned<i64>>,
    cpus: Option<toml::Spanned<f64>>,
    #[serde(default)]
    retry: Retries,
    #[serde(default = "default_stop_after")]
    stop_after: u32,
    agents: toml::Spanned<Vec<toml::Spanned<AgentSpec>>>,
    #[serde(default)]
    prices: BTreeMap<String, Price>,
    #[serde(default)]
    condition: BTreeMap<String, toml::Spanned<ConditionTable>>,
    #[serde(default)]
    metrics: BTreeMap<String, toml::Spanned<MetricTable>>,
    judge: Option<toml::Spanned<JudgeTable>>,
    #[serde(default)]
    tasks: BTreeMap<String, Pairing>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct SandboxTable {
    #[serde(default)]
    kind: SandboxKind,
    #[serde(default)]
    roots: BTreeMap<String, String>,
    #[serde(default)]
    images: BTreeMap<String, String>,
    #[serde(default)]
    pull: bool,
    #[serde(default)]
    build_network: bool,
    #[serde(default)]
    drop_login_mounts: bool,
}

fn default_stop_after() -> u32 {
    STOP_AFTER
}

fn default_seed() -> u64 {
    SEED
}

/// A value with its position, or a default without one.
fn placed<T: Copy>(value: Option<&toml::Spanned<T>>, default: T) -> (T, usize) {
    value.map_or((default, 0), |value| (*value.get_ref(), value.span().start))
}

/// The experiment in a text that was read from `path`, as far as it can be read. `reader` has what is wrong in it.
pub(super) fn read_experiment(
    path: &Path,
    source: &str,
    reader: &mut ConfigReader<'_>,
) -> Option<Experiment> {
    let mut file: File = reader.deserialize()?;
    check_names(&file, reader);
    let numbers = read_numbers(&file, reader);
    let agents = read_agents(&mut file, source, reader);
    let settings = read_settings(&mut file, reader);
    let primary = read_primary(&file, &settings, numbers.repetitions, reader);
    let conditions = file.conditions.get_ref();
    let stopping = file.stopping.take().and_then(|table| {
        let at = table.span().start;
        let found = table.into_inner().stopping(numbers.repetitions, conditions.len(), &settings);
        reader.value_or_report(found, at)
    });
    let rounds = stopping.map_or(numbers.repetitions, |stopping| stopping.rounds);
    let repetitions_of = |name: &String| settings.get(name).and_then(|own| own.repetitions).unwrap_or(rounds);
    let fewest = conditions.iter().map(repetitions_of).min().unwrap_or(rounds);
    let metrics = read_metrics(&mut file, fewest, reader);
    let (mut judge, mut calibration) = (None, None);
    if let Some(table) = file.judge.take() {
        let at = table.span().start;
        let mut table = table.into_inner();
        calibration = table.calibration.take();
        judge = reader.value_or_report(table.judge_spec(&file.prices), at);
    }
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(Experiment {
        path: path.to_owned(),
        directory: directory.to_owned(),
        source: source.to_owned(),
        name: file.name.into_inner(),
        suite: file.suite.into_inner(),
        library: file.library,
        conditions: file.conditions.into_inner(),
        disclosure: file.disclosure,
        repetitions: numbers.repetitions,
        stopping,
        seed: file.seed,
        margin: numbers.margin,
        primary,
        outcome: file.outcome,
        selected_by: read_selected_by(file.selected_by, reader),
        sandbox: read_value(file.sandbox.as_ref(), sandbox_choice, reader),
        network: read_value(file.network.as_ref(), network_grant, reader),
        verifier_network: file.verifier_network,
        allow_env: file.allow_env,
        concurrency: numbers.concurrency,
        memory_bytes: numbers.memory_bytes,
        cpus: file.cpus.map(toml::Spanned::into_inner),
        retries: file.retry,
        stop_after: file.stop_after,
        agents,
        settings,
        metrics,
        judge,
        calibration: calibration.map(|table| directory.join(table)),
        same_server: Vec::new(),
        pairings: file.tasks,
        requests: Requests::read(source),
    })
}

fn check_names(file: &File, reader: &mut ConfigReader<'_>) {
    let schema = file.schema.get_ref();
    reader.check(
        schema == SCHEMA,
        file.schema.span().start,
        format!("unsupported schema {schema:?}: this version of assay reads {SCHEMA:?}"),
    );
    reader.check(
        assay_store::is_run_name(file.name.get_ref()),
        file.name.span().start,
        "`name` becomes a folder: use letters, digits, `-`, `_` and `.`, at most 80, beginning with a letter or digit",
    );
    reader.check(
        !file.suite.get_ref().is_empty(),
        file.suite.span().start,
        "`suite` names no task: write `suite = [\"tasks/*\"]`",
    );
    let (conditions, at) = (file.conditions.get_ref(), file.conditions.span().start);
    reader.check(!conditions.is_empty(), at, "`conditions` is empty: the first one is the baseline");
    for (number, name) in conditions.iter().enumerate() {
        let is = file.condition.get(name).and_then(|table| table.get_ref().is.as_deref());
        reader.value_or_report(ConditionRef::parse(is.unwrap_or(name)), at);
        reader.check(!conditions[..number].contains(name), at, format!("duplicate condition {name:?}"));
    }
}

/// The numbers of an experiment, each the default where it is out of range.
struct Numbers {
    repetitions: u32,
    margin: f64,
    concurrency: usize,
    memory_bytes: Option<u64>,
}

fn read_numbers(file: &File, reader: &mut ConfigReader<'_>) -> Numbers {
    let (repetitions, at) = placed(file.repetitions.as_ref(), i64::from(REPETITIONS));
    let repetitions = u32::try_from(repetitions).ok().filter(|number| (1..=MAX_REPETITIONS).contains(number));
    let message = format!("`repetitions` must be between 1 and {MAX_REPETITIONS}");
    reader.check(repetitions.is_some(), at, message);
    let (margin, at) = placed(file.margin.as_ref(), MARGIN);
    let message = "`margin` must be between 0 and 1: it is the largest lift that counts as negligible";
    reader.check(margin > 0.0 && margin < 1.0, at, message);
    let (concurrency, at) = placed(file.concurrency.as_ref(), i64::from(CONCURRENCY));
    let concurrency = usize::try_from(concurrency).ok().filter(|number| (1..=1024).contains(number));
    reader.check(concurrency.is_some(), at, "`concurrency` must be between 1 and 1024");
    let memory_bytes = file.memory_mb.as_ref().and_then(|given| {
        let megabytes = u64::try_from(*given.get_ref()).ok().filter(|mb| (16..=1 << 20).contains(mb));
        let message = "`memory_mb` must be between 16 and 1048576";
        reader.check(megabytes.is_some(), given.span().start, message);
        Some(megabytes? << 20)
    });
    if let Some(given) = &file.cpus {
        let holds = (0.01..=1024.0).contains(given.get_ref());
        reader.check(holds, given.span().start, "`cpus` must be between 0.01 and 1024");
    }
    Numbers {
        repetitions: repetitions.unwrap_or(REPETITIONS),
        margin,
        concurrency: concurrency.unwrap_or(usize::from(CONCURRENCY)),
        memory_bytes,
    }
}

/// All agents, with the prices and the placement that hold for all.
fn read_agents(file: &mut File, source: &str, reader: &mut ConfigReader<'_>) -> Vec<AgentSpec> {
    let agents_at = file.agents.span().start;
    let mut agents = Vec::new();
    // Where the table of each agent is, to point at its own line.
    let mut places = Vec::new();
    let mut is_spread = true;
    for table in file.agents.get_ref() {
        match reader.value_or_report(spread(table.get_ref()), table.span().start) {
            Some(found) => {
                places.extend(found.iter().map(|_| table.span()));
                agents.extend(found);
            }
            None => is_spread = false,
        }
    }
    let keys = AgentKeyPlaces::read(source);
    for name in file.prices.keys() {
        let judges = file.judge.iter().flat_map(|table| table.get_ref().models());
        let mut models = agents.iter().filter_map(|agent: &AgentSpec| agent.model.as_ref()).chain(judges);
        let is_used = models.any(|own| own == name);
        // One of an agent that cannot be read may use it.
        let message = format!("`[prices]` has {name:?}, but no agent uses that model");
        reader.check(is_used || !is_spread, agents_at, message);
    }
    for (agent, table) in agents.iter().zip(&places) {
        for mistake in check_keys(agent) {
            let at = match &mistake {
                Mistake::KeyWithoutEffect { key, .. } => keys.place(table, key).start,
                _ => table.start,
            };
            reader.report(at, mistake.to_string());
        }
    }
    for agent in &mut agents {
        let listed = agent.model.as_ref().and_then(|model| file.prices.get(model));
        agent.price = agent.price.or(listed.copied());
        agent.placement = agent.placement.or(file.placement);
    }
    reader.check(!agents.is_empty() || !is_spread, agents_at, "no agents: add an `[[agents]]` table");
    for (number, (agent, table)) in agents.iter().zip(&places).enumerate() {
        check_agent(agent, &agents[..number], |key| keys.place(table, key), reader);
    }
    agents
}

/// The checks of an agent, beside those before it.
fn check_agent(
    agent: &AgentSpec,
    earlier: &[AgentSpec],
    place: impl Fn(&str) -> Range<usize>,
    reader: &mut ConfigReader<'_>,
) {
    let name = &agent.name;
    let above_zero = |seconds: Option<f64>, most: f64| {
        seconds.is_none_or(|seconds| seconds.is_finite() && seconds > 0.0 && seconds <= most)
    };
    let is_known = assay_agent::names().any(|known| known == name);
    let known = || assay_agent::names().collect::<Vec<_>>().join(", ");
    let checks = [
        (
            "timeout",
            above_zero(agent.timeout, assay_diagnostic::MOST_SECONDS),
            format!(
                "the `timeout` of the agent {name:?} must be above 0 and at most 604,800 seconds (a week)"
            ),
        ),
        (
            "command_timeout",
            above_zero(agent.command_timeout, 86_400.0),
            format!(
                "the `command_timeout` of the agent {name:?} must be above 0 and at most 86,400 seconds (a day)"
            ),
        ),
        (
            "max_usd",
            agent.max_usd.is_none_or(|usd| usd.is_finite() && usd >= 0.0),
            format!("the `max_usd` of the agent {name:?} must be a finite amount of at least 0"),
        ),
        (
            "max_usd",
            agent.max_usd.is_none() || !matches!(name.as_str(), "oracle" | "nop"),
            format!("the agent {name:?} uses no model, so `max_usd` does not apply to it"),
        ),
        ("name", is_known, format!("unknown agent {name:?}: expected one of {}", known())),
        (
            "name",
            name != "loop" || agent.model.is_some(),
            "the agent \"loop\" needs a model, such as `model = \"openai:gpt-5\"`".to_owned(),
        ),
        ("name", !earlier.contains(agent), format!("duplicate agent {name:?} with equal settings")),
    ];
    for (key, holds, message) in checks {
        reader.check(holds, place(key).start, message);
    }
}

fn read_settings(file: &mut File, reader: &mut ConfigReader<'_>) -> BTreeMap<String, ConditionSettings> {
    let mut settings = BTreeMap::new();
    for (name, table) in std::mem::take(&mut file.condition) {
        let at = table.span().start;
        let found = table.into_inner().settings(&name, file.conditions.get_ref());
        settings.extend(reader.value_or_report(found, at).map(|found| (name, found)));
    }
    settings
}

fn read_primary(
    file: &File,
    settings: &BTreeMap<String, ConditionSettings>,
    repetitions: u32,
    reader: &mut ConfigReader<'_>,
) -> Option<String> {
    let conditions = file.conditions.get_ref();
    match &file.primary {
        None => default_primary(conditions, settings, file.disclosure, repetitions),
        Some(value) => reader.value_or_report(primary(value.get_ref(), conditions), value.span().start)?,
    }
}

/// The models that selected the tasks.
fn read_selected_by(value: Option<toml::Spanned<Vec<String>>>, reader: &mut ConfigReader<'_>) -> Vec<String> {
    let Some(value) = value else { return Vec::new() };
    let is_named = !value.get_ref().is_empty() && value.get_ref().iter().all(|name| !name.trim().is_empty());
    reader.check(
        is_named,
        value.span().start,
        "`selected_by` must list the models whose attempts without the skill selected the tasks, such as [\"openai:gpt-5\"]"
            .to_owned(),
    );
    value.into_inner()
}

/// The metrics; `fewest` are the repetitions of the condition with the fewest.
fn read_metrics(file: &mut File, fewest: u32, reader: &mut ConfigReader<'_>) -> Vec<MetricSpec> {
    let mut metrics = Vec::new();
    for (name, table) in std::mem::take(&mut file.metrics) {
        let at = table.span().start;
        let Some(metric) = reader.value_or_report(table.into_inner().metric(&name), at) else { continue };
        let needed = metric.source.trials_needed().unwrap_or_default();
        reader.check(
            needed <= fewest,
            at,
            format!(
                "the metric {name:?} needs {needed} trials of each task under each condition, and `repetitions` is {fewest}"
            ),
        );
        metrics.push(metric);
    }
    metrics
}

/// A value that is written in several forms, or its default.
fn read_value<T: Default>(
    value: Option<&toml::Spanned<toml::Value>>,
    parse: impl Fn(&toml::Value) -> Result<T, Mistake>,
    reader: &mut ConfigReader<'_>,
) -> T {
    let found = value.and_then(|value| reader.value_or_report(parse(value.get_ref()), value.span().start));
    found.unwrap_or_default()
}

/// One agent for each pair of an entry's names and models.
fn spread(spec: &AgentSpec) -> Result<Vec<AgentSpec>, Mistake> {
    let AgentSpec { name, model, names, models, .. } = spec;
    let names = match (name.is_empty(), names.is_empty()) {
        (false, true) => vec![name.clone()],
        (true, false) => names.clone(),
        (true, true) => return Err(Mistake::NoName),
        (false, false) => return Err(Mistake::Both { one: "name", several: "names" }),
    };
    let models = match (model, models.is_empty()) {
        (Some(_), false) => return Err(Mistake::Both { one: "model", several: "models" }),
        (model, true) => vec![model.clone()],
        (None, false) => models.iter().cloned().map(Some).collect(),
    };
    let pair = |name: &String, model: &Option<String>| {
        let (name, version) = assay_agent::cli_agents::named_version(name)?;
        if version.is_some() && assay_agent::cli_agents::find(name).is_none() {
            return Err(Mistake::NoVersion(name.to_owned()));
        }
        Ok(AgentSpec {
            name: name.to_owned(),
            version: version.map(str::to_owned),
            model: model.clone(),
            names: Vec::new(),
            models: Vec::new(),
            ..spec.clone()
        })
    };
    names.iter().flat_map(|name| models.iter().map(move |model| pair(name, model))).collect()
}

fn primary(value: &toml::Value, conditions: &[String]) -> Result<Option<String>, Mistake> {
    match value {
        toml::Value::Boolean(false) => Ok(None),
        toml::Value::String(name) if conditions.iter().skip(1).any(|known| known == name) => {
            Ok(Some(name.clone()))
        }
        toml::Value::String(name) if conditions.first() == Some(name) => {
            Err(Mistake::PrimaryIsBaseline(name.clone()))
        }
        toml::Value::String(name) => Err(Mistake::PrimaryIsNotListed(name.clone())),
        _ => Err(Mistake::Primary),
    }
}

fn sandbox_choice(value: &toml::Value) -> Result<SandboxChoice, Mistake> {
    let table = match value {
        toml::Value::String(kind) => {
            let kind = SandboxKind::deserialize(toml::Value::String(kind.clone()))
                .map_err(|_| Mistake::NoSandbox(kind.clone()))?;
            SandboxTable { kind, ..SandboxTable::default() }
        }
        toml::Value::Table(table) => {
            table.clone().try_into().map_err(|error| Mistake::SandboxTable(Box::new(error)))?
        }
        _ => return Err(Mistake::Sandbox),
    };
    let SandboxTable { kind, roots, images, pull, build_network, drop_login_mounts } = table;
    Ok(SandboxChoice { kind, roots, images, pull, build_network, drop_login_mounts })
}

fn network_grant(value: &toml::Value) -> Result<NetworkGrant, Mistake> {
    match value {
        toml::Value::String(word) if word == "none" => Ok(NetworkGrant::None),
        toml::Value::String(word) if word == "public" => Ok(NetworkGrant::Public),
        toml::Value::Array(hosts) => {
            let hosts = hosts.iter().map(|host| host.as_str().map(str::to_owned));
            let hosts: Vec<String> = hosts.collect::<Option<_>>().ok_or(Mistake::Network)?;
            assay_gateway::Hosts::parse(&hosts)?;
            Ok(NetworkGrant::Hosts(hosts))
        }
        _ => Err(Mistake::Network),
    }
}
