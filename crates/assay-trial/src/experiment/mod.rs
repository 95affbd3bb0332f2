//! `experiment.toml`: the comparison, as its author wrote it.

pub(crate) mod agent_keys;
mod conditions;
pub(crate) mod foreign;
#[cfg(test)]
mod fuzz;
mod judge;
mod key_places;
mod metrics;
mod mistake;
mod requests;
mod retries;
mod stopping;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_agent::{Disclosure, Placement};
use assay_diagnostic::ConfigError;
use assay_model::Price;
use assay_store::{
    AgentSpec, ConditionRole, ConditionSettings, JudgeSpec, MetricSpec, OutcomeRule, SandboxChoice,
    SandboxKind, Stopping,
};
use serde::Deserialize;

use self::conditions::{ConditionTable, MAX_REPETITIONS};
use self::judge::JudgeTable;
use self::key_places::AgentKeyPlaces;
use self::metrics::MetricTable;
use self::mistake::Mistake;
use self::requests::Requests;
pub use self::retries::{Retries, RetriesLeft};
pub(crate) use self::stopping::FEWEST_TASKS;
use self::stopping::StoppingTable;
use crate::condition::{ConditionRef, Pairing};

/// The format read here.
const SCHEMA: &str = "assay.experiment/1";

/// Most bytes of an experiment: as a table it takes some hundred times as many.
const LONGEST: u64 = 1 << 20;

/// Default repetitions of a cell. For the same number of trials more tasks find more than more
/// repetitions do (docs/STATISTICS.md); three show how much of a difference is run-to-run noise.
const REPETITIONS: i64 = 3;

/// The default equivalence margin.
const MARGIN: f64 = 0.10;

/// The default number of concurrent trials.
const CONCURRENCY: u16 = 2;

/// An experiment, read and checked.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// The path of the file.
    pub path: PathBuf,
    /// Its folder: patterns and scripts are relative to it.
    pub directory: PathBuf,
    /// The original text.
    pub source: String,
    /// The run's name.
    pub name: String,
    /// Patterns of task folders.
    pub suite: Vec<String>,
    /// Patterns of skill folders.
    pub library: Vec<String>,
    /// Names of conditions; the first is the baseline.
    pub conditions: Vec<String>,
    /// How the skills are disclosed.
    pub disclosure: Disclosure,
    /// Trials of each cell.
    pub repetitions: u32,
    /// When comparisons are decided, if they are decided after each round.
    pub stopping: Option<Stopping>,
    /// The seed of everything drawn at random.
    pub seed: u64,
    /// The equivalence margin.
    pub margin: f64,
    /// The condition whose comparison with the baseline is judged at the full level, apart from the
    /// family of the others.
    pub primary: Option<String>,
    /// The value of a trial that comparisons are made of.
    pub outcome: OutcomeRule,
    /// The kind of sandbox, and replacements for images.
    pub sandbox: SandboxChoice,
    /// The hosts that may be reached, if the task requests it.
    pub network: NetworkGrant,
    /// Whether verifiers may reach the network, for verifiers that fetch packages.
    pub verifier_network: bool,
    /// Variables of the host that `${VAR}` in a task may name.
    pub allow_env: Vec<String>,
    /// The number of concurrent trials.
    pub concurrency: usize,
    /// Memory of every task's sandboxes in place of the tasks' own, in bytes.
    pub memory_bytes: Option<u64>,
    /// Processors of every task's sandboxes in place of the tasks' own.
    pub cpus: Option<f64>,
    /// How often a trial that broke is tried again within a run.
    pub retries: Retries,
    /// How many consecutive trials may fail because of one provider before the run stops; 0 for any
    /// number.
    pub stop_after: u32,
    /// The agent.
    pub agents: Vec<AgentSpec>,
    /// Conditions with settings of their own, by name.
    pub settings: BTreeMap<String, ConditionSettings>,
    /// The metrics that conditions are compared by, beside the score; in order of name.
    pub metrics: Vec<MetricSpec>,
    /// Who decides the rubrics of tasks that have one.
    pub judge: Option<JudgeSpec>,
    /// A table of labeled items, by which reports correct the scores of the judges.
    pub calibration: Option<PathBuf>,
    /// Servers whose results count as those of the agents' own: not of the file, but of who runs it.
    pub same_server: Vec<String>,
    /// Which skills belong to which task, unless the task names them.
    pub pairings: BTreeMap<String, Pairing>,
    /// What its text requests outside of itself.
    requests: Requests,
}

/// The network that an experiment grants.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum NetworkGrant {
    /// Nothing.
    #[default]
    None,
    /// Everything.
    Public,
    /// These hosts.
    Hosts(Vec<String>),
}

/// Why an experiment cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// The file is not there, or not readable.
    #[error("cannot read {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Its content is invalid.
    #[error("{}:{line}:{column}: {message}", path.display())]
    Invalid {
        /// Which file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// The error and how to fix it.
        message: String,
        /// The line and a mark below the error, if they can be shown.
        excerpt: Vec<String>,
    },
}

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
    3
}

fn default_seed() -> u64 {
    1
}

/// A value with its position, or a default without one.
fn placed<T: Copy>(value: Option<&toml::Spanned<T>>, default: T) -> (T, usize) {
    value.map_or((default, 0), |value| (*value.get_ref(), value.span().start))
}

impl Experiment {
    /// The condition that a name in `conditions` stands for.
    pub fn condition_of<'a>(&'a self, name: &'a str) -> &'a str {
        self.settings.get(name).and_then(|settings| settings.is.as_deref()).unwrap_or(name)
    }

    /// What a condition is, whatever its name.
    pub fn role_of(&self, name: &str) -> ConditionRole {
        ConditionRole::of(self.condition_of(name))
    }

    /// How skills are disclosed under a condition.
    pub fn disclosure_of(&self, name: &str) -> Disclosure {
        self.settings.get(name).and_then(|settings| settings.disclosure).unwrap_or(self.disclosure)
    }

    /// Trials of each cell under a condition; with `[stopping]`, the most.
    pub fn repetitions_of(&self, name: &str) -> u32 {
        let own = self.settings.get(name).and_then(|settings| settings.repetitions);
        own.or(self.stopping.map(|stopping| stopping.rounds)).unwrap_or(self.repetitions)
    }

    /// Trials of the cells that have the most.
    pub fn most_repetitions(&self) -> u32 {
        self.conditions.iter().map(|name| self.repetitions_of(name)).max().unwrap_or(self.repetitions)
    }

    /// One without a file: no task, skill, condition or agent yet, one repetition, and defaults for
    /// the rest.
    pub fn new(name: &str, directory: &Path) -> Self {
        Self {
            path: directory.join("experiment.toml"),
            directory: directory.to_owned(),
            source: String::new(),
            name: name.to_owned(),
            suite: Vec::new(),
            library: Vec::new(),
            conditions: Vec::new(),
            disclosure: Disclosure::default(),
            repetitions: 1,
            stopping: None,
            seed: default_seed(),
            margin: MARGIN,
            primary: None,
            outcome: OutcomeRule::default(),
            sandbox: SandboxChoice::default(),
            network: NetworkGrant::default(),
            verifier_network: false,
            allow_env: Vec::new(),
            concurrency: usize::from(CONCURRENCY),
            memory_bytes: None,
            cpus: None,
            retries: Retries::default(),
            stop_after: default_stop_after(),
            agents: Vec::new(),
            settings: BTreeMap::new(),
            metrics: Vec::new(),
            judge: None,
            calibration: None,
            same_server: Vec::new(),
            pairings: BTreeMap::new(),
            requests: Requests::default(),
        }
    }

    /// Reads and checks an experiment. A folder means the `experiment.toml` in it.
    pub fn load(path: &Path) -> Result<Self, ExperimentError> {
        let path = if path.is_dir() { path.join("experiment.toml") } else { path.to_owned() };
        let source = assay_fs::read_text(&path, LONGEST)
            .map_err(|source| ExperimentError::Read { path: path.clone(), source })?;
        Self::parse(&path, &source)
    }

    /// Checks the text of an experiment that was read from `path`.
    pub fn parse(path: &Path, source: &str) -> Result<Self, ExperimentError> {
        let invalid = |ConfigError { line, column, message, excerpt }: ConfigError| {
            ExperimentError::Invalid { path: path.to_owned(), line, column, message, excerpt }
        };
        let at = |offset: usize, message: String| invalid(ConfigError::at(source, offset..offset, message));
        let file: File = toml::from_str(source)
            .map_err(|error| invalid(ConfigError::of_serde(source, error.span(), error.message())))?;
        let check = |holds: bool, offset: usize, message: &str| {
            if holds { Ok(()) } else { Err(at(offset, message.to_owned())) }
        };

        check(
            file.schema.get_ref() == SCHEMA,
            file.schema.span().start,
            &format!(
                "unsupported schema {:?}: this version of assay reads {SCHEMA:?}",
                file.schema.get_ref()
            ),
        )?;
        check(
            assay_store::is_run_name(file.name.get_ref()),
            file.name.span().start,
            "`name` becomes a folder: use letters, digits, `-`, `_` and `.`, at most 80, beginning with a letter or digit",
        )?;
        check(
            !file.suite.get_ref().is_empty(),
            file.suite.span().start,
            "`suite` names no task: write `suite = [\"tasks/*\"]`",
        )?;
        let conditions = file.conditions.get_ref();
        check(
            !conditions.is_empty(),
            file.conditions.span().start,
            "`conditions` is empty: the first one is the baseline",
        )?;
        for (number, name) in conditions.iter().enumerate() {
            let offset = file.conditions.span().start;
            let is = file.condition.get(name).and_then(|table| table.get_ref().is.as_deref());
            ConditionRef::parse(is.unwrap_or(name)).map_err(|error| at(offset, error.to_string()))?;
            check(!conditions[..number].contains(name), offset, &format!("duplicate condition {name:?}"))?;
        }
        let (repetitions, offset) = placed(file.repetitions.as_ref(), REPETITIONS);
        let repetitions = u32::try_from(repetitions)
            .ok()
            .filter(|repetitions| (1..=MAX_REPETITIONS).contains(repetitions))
            .ok_or_else(|| at(offset, format!("`repetitions` must be between 1 and {MAX_REPETITIONS}")))?;
        let (margin, offset) = placed(file.margin.as_ref(), MARGIN);
        check(
            margin > 0.0 && margin < 1.0,
            offset,
            "`margin` must be between 0 and 1: it is the largest lift that counts as negligible",
        )?;
        let (concurrency, offset) = placed(file.concurrency.as_ref(), i64::from(CONCURRENCY));
        let concurrency = usize::try_from(concurrency)
            .ok()
            .filter(|concurrency| (1..=1024).contains(concurrency))
            .ok_or_else(|| at(offset, "`concurrency` must be between 1 and 1024".to_owned()))?;
        let memory_bytes = match &file.memory_mb {
            None => None,
            Some(given) => {
                let megabytes = u64::try_from(*given.get_ref()).ok().filter(|mb| (16..=1 << 20).contains(mb));
                let wrong =
                    || at(given.span().start, "`memory_mb` must be between 16 and 1048576".to_owned());
                Some(megabytes.ok_or_else(wrong)? << 20)
            }
        };
        if let Some(given) = &file.cpus {
            check(
                (0.01..=1024.0).contains(given.get_ref()),
                given.span().start,
                "`cpus` must be between 0.01 and 1024",
            )?;
        }
        let cpus = file.cpus.as_ref().map(|given| *given.get_ref());
        let agents_at = file.agents.span().start;
        let mut agents = Vec::new();
        // Where the table of each agent is, to point at its own line.
        let mut places = Vec::new();
        for table in file.agents.into_inner() {
            let span = table.span();
            let found = spread(table.get_ref()).map_err(|mistake| at(span.start, mistake.to_string()))?;
            places.extend(found.iter().map(|_| span.clone()));
            agents.extend(found);
        }
        let keys = AgentKeyPlaces::read(source);
        let mut settings = BTreeMap::new();
        for (name, table) in file.condition {
            let offset = table.span().start;
            let found = table.into_inner().settings(&name, file.conditions.get_ref());
            settings.insert(name, found.map_err(|mistake| at(offset, mistake.to_string()))?);
        }
        let primary = match &file.primary {
            None => self::conditions::default_primary(conditions, &settings, file.disclosure, repetitions),
            Some(value) => primary(value.get_ref(), conditions)
                .map_err(|mistake| at(value.span().start, mistake.to_string()))?,
        };
        let mut stopping = None;
        if let Some(table) = file.stopping {
            let offset = table.span().start;
            let found = table.into_inner().stopping(repetitions, file.conditions.get_ref().len(), &settings);
            stopping = Some(found.map_err(|mistake| at(offset, mistake.to_string()))?);
        }
        let mut metrics = Vec::new();
        for (name, table) in file.metrics {
            let offset = table.span().start;
            metrics.push(table.into_inner().metric(&name).map_err(|error| at(offset, error.to_string()))?);
        }
        for name in file.prices.keys() {
            let judges = file.judge.iter().flat_map(|table| table.get_ref().models());
            let is_used =
                agents.iter().filter_map(|agent| agent.model.as_ref()).chain(judges).any(|own| own == name);
            let message = format!("`[prices]` has {name:?}, but no agent uses that model");
            check(is_used, agents_at, &message)?;
        }
        for (agent, table) in agents.iter().zip(&places) {
            agent_keys::check_keys(agent).map_err(|mistake| {
                let place = match &mistake {
                    Mistake::KeyWithoutEffect { key, .. } => keys.place(table, key).start,
                    _ => table.start,
                };
                at(place, mistake.to_string())
            })?;
        }
        for agent in &mut agents {
            let listed = agent.model.as_ref().and_then(|model| file.prices.get(model));
            agent.price = agent.price.or(listed.copied());
            agent.placement = agent.placement.or(file.placement);
        }
        check(!agents.is_empty(), agents_at, "no agents: add an `[[agents]]` table")?;
        for (number, agent) in agents.iter().enumerate() {
            let key = |name: &str| keys.place(&places[number], name);
            check(
                agent.timeout.is_none_or(|seconds| {
                    seconds.is_finite() && seconds > 0.0 && seconds <= assay_diagnostic::MOST_SECONDS
                }),
                key("timeout").start,
                &format!(
                    "the `timeout` of the agent {:?} must be above 0 and at most 604,800 seconds (a week)",
                    agent.name
                ),
            )?;
            check(
                agent
                    .command_timeout
                    .is_none_or(|seconds| seconds.is_finite() && seconds > 0.0 && seconds <= 86_400.0),
                key("command_timeout").start,
                &format!(
                    "the `command_timeout` of the agent {:?} must be above 0 and at most 86,400 seconds (a day)",
                    agent.name
                ),
            )?;
            check(
                agent.max_usd.is_none_or(|usd| usd.is_finite() && usd >= 0.0),
                key("max_usd").start,
                &format!("the `max_usd` of the agent {:?} must be a finite amount of at least 0", agent.name),
            )?;
            check(
                agent.max_usd.is_none() || !matches!(agent.name.as_str(), "oracle" | "nop"),
                key("max_usd").start,
                &format!("the agent {:?} uses no model, so `max_usd` does not apply to it", agent.name),
            )?;
            check(
                assay_agent::names().any(|name| name == agent.name),
                key("name").start,
                &format!(
                    "unknown agent {:?}: expected one of {}",
                    agent.name,
                    assay_agent::names().collect::<Vec<_>>().join(", ")
                ),
            )?;
            check(
                agent.name != "loop" || agent.model.is_some(),
                key("name").start,
                "the agent \"loop\" needs a model, such as `model = \"openai:gpt-5\"`",
            )?;
            check(
                !agents[..number].contains(agent),
                key("name").start,
                &format!("duplicate agent {:?} with equal settings", agent.name),
            )?;
        }
        let (mut judge, mut calibration) = (None, None);
        if let Some(table) = file.judge {
            let offset = table.span().start;
            let mut table = table.into_inner();
            calibration = table.calibration.take();
            let found = table.judge_spec(&file.prices);
            judge = Some(found.map_err(|mistake| at(offset, mistake.to_string()))?);
        }
        let sandbox = match &file.sandbox {
            None => SandboxChoice::default(),
            Some(value) => sandbox_choice(value.get_ref())
                .map_err(|mistake| at(value.span().start, mistake.to_string()))?,
        };
        let network = match &file.network {
            None => NetworkGrant::default(),
            Some(value) => network_grant(value.get_ref())
                .map_err(|mistake| at(value.span().start, mistake.to_string()))?,
        };
        let directory =
            path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Ok(Self {
            path: path.to_owned(),
            directory: directory.to_owned(),
            source: source.to_owned(),
            name: file.name.into_inner(),
            suite: file.suite.into_inner(),
            library: file.library,
            conditions: file.conditions.into_inner(),
            disclosure: file.disclosure,
            repetitions,
            stopping,
            seed: file.seed,
            margin,
            primary,
            outcome: file.outcome,
            sandbox,
            network,
            verifier_network: file.verifier_network,
            allow_env: file.allow_env,
            concurrency,
            memory_bytes,
            cpus,
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

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"schema = "assay.experiment/1"
name = "quickstart"
suite = ["tasks/*"]
library = ["skills/*"]
conditions = ["none", "curated"]
repetitions = 5
seed = 1
margin = 0.10
network = "none"
concurrency = 2
retry = { infrastructure = 2 }
[[agents]]
name = "loop"
model = "scripted:turns.jsonl"
timeout = 300
[tasks."ledger-export"]
curated = ["ledger-export"]
[sandbox]
kind = "bubblewrap"
[sandbox.roots]
"python:3.12-slim" = "host"
"#;

    #[test]
    fn a_whole_experiment_is_read() {
        let experiment = Experiment::parse(Path::new("dir/experiment.toml"), WHOLE).unwrap();
        assert_eq!(experiment.directory, Path::new("dir"));
        assert_eq!(experiment.sandbox.kind, SandboxKind::Bubblewrap);
        assert_eq!(experiment.sandbox.roots["python:3.12-slim"], "host");
        assert_eq!((experiment.retries, experiment.stop_after), (Retries::of(2), 3));
        assert_eq!(
            experiment.pairings["ledger-export"].curated.as_deref(),
            Some(&["ledger-export".to_owned()][..])
        );
    }

    #[test]
    fn the_primary_comparison_is_named_or_curated() {
        let check_all = |conditions: &str, tables: &str, line: &str, expected: Result<Option<&str>, &str>| {
            let text = WHOLE.replace(r#"["none", "curated"]"#, conditions).replace("seed = 1", line) + tables;
            let found = Experiment::parse(Path::new("e.toml"), &text).map(|experiment| experiment.primary);
            match (found, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found.as_deref(), expected, "{conditions} {line}"),
                (Err(found), Err(expected)) => assert!(found.to_string().contains(expected), "{found}"),
                (found, _) => panic!("{conditions} {line}: {found:?}"),
            }
        };
        let check = |conditions: &str, line: &str, expected| check_all(conditions, "", line, expected);
        let three = r#"["none", "curated", "placebo"]"#;
        check(three, "", Ok(Some("curated")));
        check(three, "primary = \"placebo\"", Ok(Some("placebo")));
        check(three, "primary = false", Ok(None));
        check(r#"["none", "full", "placebo"]"#, "", Ok(None));
        let renamed = r#"["bare", "skill", "sham"]"#;
        let is = "[condition.bare]\nis = \"none\"\n[condition.skill]\nis = \"curated\"\n[condition.sham]\nis = \"placebo\"\n";
        check_all(renamed, is, "", Ok(Some("skill")));
        check_all(renamed, is, "primary = \"sham\"", Ok(Some("sham")));
        check(r#"["curated", "full", "placebo"]"#, "", Ok(None));
        // One comparison an agent is all there is.
        check(r#"["none", "curated"]"#, "", Ok(None));
        check(three, "primary = \"none\"", Err("e.toml:7:11: `primary` is \"none\", which is the baseline"));
        check(three, "primary = \"full\"", Err("`conditions` does not list"));
        check(three, "primary = 1", Err("`primary` must be the name of a condition"));
    }

    #[test]
    fn repetitions_default_to_three() {
        let text = WHOLE.replace("repetitions = 5\n", "");
        assert_eq!(Experiment::parse(Path::new("e.toml"), &text).unwrap().repetitions, 3);
    }

    #[test]
    fn names_and_models_are_spread() {
        type Agent<'a> = (&'a str, Option<&'a str>, Option<f64>);
        let check = |agents: &str, expected: Result<&[Agent<'_>], &str>| {
            let (head, _) = WHOLE.split_once("[[agents]]").unwrap();
            let found = Experiment::parse(Path::new("e.toml"), &format!("{head}{agents}"));
            let found = found.map_err(|error| error.to_string());
            match (found, expected) {
                (Ok(found), Ok(expected)) => {
                    let found: Vec<_> = found
                        .agents
                        .iter()
                        .map(|agent| {
                            let price = agent.price.map(|price| price.input);
                            (agent.name.as_str(), agent.model.as_deref(), price)
                        })
                        .collect();
                    assert_eq!(found, expected, "{agents}");
                }
                (Err(found), Err(expected)) => assert!(found.contains(expected), "{agents}: {found}"),
                (found, _) => panic!("{agents}: {found:?}"),
            }
        };
        let prices = "[prices.\"openai:b\"]\ninput = 1.0\noutput = 2.0\n";
        check("[[agents]]\nname = \"nop\"\n", Ok(&[("nop", None, None)]));
        check(
            &format!(
                "[[agents]]\nnames = [\"loop\", \"codex\"]\nmodels = [\"openai:a\", \"openai:b\"]\n{prices}"
            ),
            Ok(&[
                ("loop", Some("openai:a"), None),
                ("loop", Some("openai:b"), Some(1.0)),
                ("codex", Some("openai:a"), None),
                ("codex", Some("openai:b"), Some(1.0)),
            ]),
        );
        check(
            &format!(
                "[[agents]]\nname = \"loop\"\nmodel = \"openai:b\"\nprice = {{ input = 3.0, output = 4.0 }}\n{prices}"
            ),
            Ok(&[("loop", Some("openai:b"), Some(3.0))]),
        );
        check("[[agents]]\nmodel = \"openai:a\"\n", Err("an agent has no `name`"));
        let versions = "names = [\"codex\", \"codex@0.1.0\"]\nmodel = \"openai:a\"\n";
        let both = [("codex", Some("openai:a"), None); 2];
        check(&format!("[[agents]]\n{versions}"), Ok(&both));
        check("[[agents]]\nname = \"codex@latest\"\n", Err("not an exact version"));
        check("[[agents]]\nname = \"loop@2\"\nmodel = \"a:b\"\n", Err("its version cannot be chosen"));
        check("[[agents]]\nname = \"nop\"\nnames = [\"nop\"]\n", Err("either `name` or `names`"));
        check(
            "[[agents]]\nname = \"loop\"\nmodel = \"a:b\"\nmodels = [\"a:b\"]\n",
            Err("either `model` or `models`"),
        );
        check("[[agents]]\nname = \"loop\"\nmodels = [\"a:b\", \"a:b\"]\n", Err("duplicate agent"));
        check(
            &format!("[[agents]]\nname = \"loop\"\nmodel = \"a:b\"\n{prices}"),
            Err("no agent uses that model"),
        );
    }

    #[test]
    fn metrics_are_read_with_the_defaults_of_their_source() {
        let check = |table: &str, expected: Result<&str, &str>| {
            let found = Experiment::parse(Path::new("e.toml"), &format!("{WHOLE}{table}"));
            match (found, expected) {
                (Ok(found), Ok(expected)) => {
                    assert_eq!(found.metrics, [expected.parse::<MetricSpec>().unwrap()], "{table}");
                }
                (Err(found), Err(expected)) => assert_eq!(found.to_string(), expected, "{table}"),
                (found, _) => panic!("{table}: {found:?}"),
            }
        };
        check("[metrics.cost_usd]\nguard = 1.1\n", Ok("cost_usd,guard=1.1"));
        check("[metrics.turns]\nscale = \"linear\"\nmargin = 2\n", Ok("turns,linear,margin=2"));
        check(
            "[metrics.\"reward:speed\"]\ndirection = \"higher\"\nunit = \"MB/s\"\n",
            Ok("reward:speed,higher,unit=MB/s"),
        );
        check(
            "[metrics.speed]\nsource = \"reward:speed\"\n",
            Err("e.toml:22:1: the metric \"speed\" needs a direction: `lower` or `higher` is better"),
        );
        check(
            "[metrics.turns]\nguard = 0.9\n",
            Err("e.toml:22:1: the guard of the metric \"turns\" must be a ratio above 1, such as 1.1"),
        );
        check(
            "[metrics.turns]\nlimit = 2\n",
            Err(
                "e.toml:23:1: unknown key `limit`: known keys are source, unit, direction, scale, margin, guard",
            ),
        );
    }

    #[test]
    fn conditions_have_settings_of_their_own() {
        let parse = |conditions: &str, tables: &str| {
            let text = WHOLE.replace(r#"["none", "curated"]"#, conditions) + tables;
            Experiment::parse(Path::new("e.toml"), &text)
        };
        let tables =
            "[condition.none]\nrepetitions = 9\n[condition.told]\nis = \"curated\"\ndisclosure = \"told\"\n";
        let found = parse(r#"["none", "curated", "told"]"#, tables).unwrap();
        let settings = |name: &'static str| {
            (found.condition_of(name), found.disclosure_of(name), found.repetitions_of(name))
        };
        let offered = Disclosure::Offered;
        assert_eq!(settings("none"), ("none", offered, 9));
        assert_eq!(settings("curated"), ("curated", offered, 5));
        assert_eq!(settings("told"), ("curated", Disclosure::Told, 5));
        assert_eq!(found.most_repetitions(), 9);

        let check = |conditions: &str, table: &str, expected: &str| {
            assert_eq!(parse(conditions, table).unwrap_err().to_string(), expected, "{table}");
        };
        let two = r#"["none", "curated"]"#;
        check(
            two,
            "[condition.plain]\nrepetitions = 2\n",
            "e.toml:22:1: `[condition.plain]` is not in `conditions`",
        );
        check(
            two,
            "[condition.curated]\nis = \"plain\"\n",
            "e.toml:22:1: \"curated\" is a condition already: give the one with `is` another name",
        );
        check(
            two,
            "[condition.none]\nrepetitions = 0\n",
            "e.toml:22:1: `repetitions` of the condition \"none\" must be between 1 and 10000",
        );
        let unknown = parse(r#"["none", "x"]"#, "[condition.x]\nis = \"y\"\n").unwrap_err().to_string();
        assert!(
            unknown.starts_with("e.toml:5:14: unknown condition \"y\": expected one of none, "),
            "{unknown}"
        );
        check(
            r#"["none", "a b"]"#,
            "[condition.\"a b\"]\nis = \"plain\"\n",
            "e.toml:22:1: \"a b\" is not a name: use letters, digits, `-`, `_` and `.`, at most 80",
        );
    }

    #[test]
    fn mistakes_are_reported_with_their_position() {
        let check = |from: &str, to: &str, expected: &str| {
            let text = WHOLE.replacen(from, to, 1);
            assert_ne!(text, WHOLE, "{from}");
            let error = Experiment::parse(Path::new("e.toml"), &text).unwrap_err().to_string();
            assert!(error.contains(expected), "{from} → {to}: {error}");
        };
        check(
            "assay.experiment/1",
            "assay.experiment/2",
            "e.toml:1:10: unsupported schema \"assay.experiment/2\"",
        );
        check("\"quickstart\"", "\"../up\"", "e.toml:2:8: `name` becomes a folder");
        check("[\"tasks/*\"]", "[]", "e.toml:3:9: `suite` names no task");
        check("\"curated\"]", "\"currated\"]", "e.toml:5:14: unknown condition \"currated\"");
        check("\"curated\"]", "\"version\"]", "e.toml:5:14: the condition \"version\" needs an argument");
        check("\"curated\"]", "\"plain:x\"]", "e.toml:5:14: the condition \"plain\" takes no argument");
        check("\"curated\"]", "\"none\"]", "duplicate condition");
        check("repetitions = 5", "repetitions = 0", "e.toml:6:15: `repetitions` must be between");
        check("margin = 0.10", "margin = 0.0", "e.toml:8:10: `margin` must be");
        check("margin = 0.10", "margin = nan", "`margin` must be");
        check("\"none\"\nconc", "\"some\"\nconc", "`network` must be \"none\"");
        check("timeout = 300", "timeout = -1", "must be above 0");
        check(
            "timeout = 300",
            "timeuot = 300",
            "e.toml:15:1: unknown key `timeuot`: did you mean `timeout`?",
        );
        check("name = \"loop\"", "name = \"lop\"", "unknown agent \"lop\"");
        check("model = \"scripted:turns.jsonl\"", "", "needs a model");
        check("kind = \"bubblewrap\"", "kind = \"firejail\"", "`[sandbox]` takes `kind`");
        check("seed = 1", "seed = = 1", "e.toml:7:");
    }
}
