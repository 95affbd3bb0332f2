//! Plans: the product of suite, conditions, roster and repetitions.

pub(crate) mod agents;
pub(crate) mod dependencies;
mod folder;
pub(crate) mod limits;
pub(crate) mod preflight;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_agent::{Agent, CatalogueEntry};
use assay_gateway::Hosts;
use assay_model::{Price, Scene};
use assay_sandbox::Limits;
use assay_skill::{Diagnostic, Library, Severity};
use assay_store::{AgentLabel, Cell, Exclusion, Store, StoreError, TrialId};
use assay_task::{LoginMount, NetworkWish, Suite, Task, TaskError, Unreadable};
use assay_trace::Disclosure;
use serde_json::{Value, json};

use self::agents::{RosterEntry, roster};
use crate::condition::{self, ConditionContext, Provision};
use crate::run::backend::{self, Place};
use crate::run::cli_agents::{Shipping, Way};
use crate::run::egress_proxy::Reach;
use crate::{AgentSpec, Experiment, NetworkGrant};

/// Changes whenever the way a trial is executed changes so that old results no longer stand for new ones.
pub const PROTOCOL: &str = "assay.trial/2";

/// The code of what is said where tasks ask for more processors than there are.
const CAPPED: &str = "cpus-capped";

/// Limits where the task names none: room for a build, and an end to a runaway.
const DEFAULT_STORAGE: u64 = 4 << 30;
const DEFAULT_PIDS: u32 = 1024;

/// What an experiment amounts to on this machine.
pub struct Plan {
    /// The experiment.
    pub experiment: Experiment,
    /// Its tasks, in order of name.
    pub tasks: Vec<Arc<Task>>,
    /// Its skills.
    pub library: Arc<Library>,
    /// Its agents, as it lists them.
    pub roster: Vec<RosterEntry>,
    /// Every cell that can be run, the repetitions of all arms taking turns, so that no arm is early or late.
    pub cells: Vec<Cell>,
    /// The trials of the cells. Cells with equal provision share one.
    pub trials: BTreeMap<TrialId, Arc<Trial>>,
    /// For each task that has cells: the trials that have to come out as said before any arm runs.
    pub checks: Vec<Check>,
    /// What cannot be run, and why.
    pub excluded: Vec<Exclusion>,
    /// The digests of the skills that belong to each task that has any.
    pub curated: BTreeMap<String, Vec<String>>,
    /// The names of those of the excluded whose folders cannot be read as tasks.
    pub unreadable: Vec<String>,
    /// What there is to say about tasks and skills.
    pub diagnostics: Vec<Diagnostic>,
}

/// Two trials that tell whether a task can be graded here.
#[derive(Clone)]
pub struct Check {
    /// The task's name.
    pub task: String,
    /// Must pass. `None` where the task has no solution to play.
    pub oracle: Option<Arc<Trial>>,
    /// Must not pass.
    pub nop: Arc<Trial>,
}

/// One trial: all that is needed to execute it.
pub struct Trial {
    /// The hash of what can change its outcome.
    pub id: TrialId,
    /// What was hashed.
    pub specification: Value,
    /// The task.
    pub task: Arc<Task>,
    /// The agent.
    pub agent: Arc<dyn Agent>,
    /// Who it is in records.
    pub label: AgentLabel,
    /// What its tokens cost.
    pub price: Option<Price>,
    /// The way to its model, for one that works inside.
    pub way: Option<Arc<Way>>,
    /// The condition under which it was first planned.
    pub condition: String,
    /// Its skills.
    pub provision: Arc<Provision>,
    /// How they are made known.
    pub disclosure: Disclosure,
    /// Where it runs.
    pub place: Arc<Place>,
    /// What it may use.
    pub limits: Limits,
    /// What this machine cannot give of what the task asks for.
    pub warnings: Arc<Vec<String>>,
    /// What the agent can reach.
    pub network: Reach,
    /// What the verifier can reach.
    pub verifier_network: Reach,
    /// What leads to hosts from inside.
    pub shipping: Option<Shipping>,
    /// Seconds of the agent's own time.
    pub agent_timeout: f64,
    /// From 1.
    pub repetition: u32,
    /// Bodies of the experiment's skills that were not provided, for the search for contamination.
    pub absent: Arc<Vec<AbsentSkill>>,
    /// Environment of the agent's commands.
    pub env: Arc<Vec<(String, String)>>,
    /// Environment of the verifier, beside that.
    pub verifier_env: Arc<Vec<(String, String)>>,
    /// Environment of the solution, for the oracle.
    pub solution_env: Arc<Vec<(String, String)>>,
}

/// A skill that must not be found in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AbsentSkill {
    /// Its name.
    pub name: String,
    /// Its SKILL.md.
    pub document: String,
    /// Its body.
    pub body: String,
}

impl Trial {
    /// The folder that a skill is mounted at.
    pub fn mount_of(&self, skill: &assay_skill::Package) -> PathBuf {
        Path::new(self.agent.skills_dir()).join(&skill.directory)
    }

    /// Where in the experiment it stands, for scripts.
    pub fn scene(&self) -> Scene {
        Scene {
            task: self.task.name.clone(),
            condition: self.condition.clone(),
            repetition: self.repetition,
            seed: self.id.seed(),
        }
    }

    /// The catalogue that the agent is shown; `path` says where a path lies for what runs inside.
    pub fn catalogue(&self, path: impl Fn(&Path) -> PathBuf) -> Vec<CatalogueEntry> {
        let entry = |skill: &assay_skill::Package| CatalogueEntry {
            name: skill.name.clone(),
            description: skill.description.clone(),
            path: path(&self.mount_of(skill).join("SKILL.md")),
            body: skill.body.clone(),
        };
        self.provision.skills.iter().map(entry).collect()
    }
}

/// Why nothing can be planned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Tasks that cannot be used.
    #[error("{} of the suite's folders cannot be used as tasks", .0.len())]
    Tasks(Vec<TaskError>),
    /// An agent that cannot be set up.
    #[error("{}: agent {agent:?}: {message}", path.display())]
    Agent {
        /// The experiment.
        path: PathBuf,
        /// Its name.
        agent: String,
        /// What is wrong.
        message: String,
    },
    /// A name that leads nowhere.
    #[error("{}: {message}", path.display())]
    Name {
        /// The experiment.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What planning asks of the machine it runs on.
pub struct Machine<'a> {
    /// Looks an environment variable up.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// The program that is every sandbox's first process.
    pub sandboxes: &'a backend::Sandboxes,
    /// Whether the plan is only looked at: then no model needs its key.
    pub dry: bool,
    /// What agents as their makers ship them need; `None` where there are none.
    pub shipping: Option<Shipping>,
}

impl Plan {
    /// Plans an experiment.
    pub fn make(experiment: Experiment, store: &Store, machine: &Machine<'_>) -> Result<Self, PlanError> {
        let mut suite = Suite::load(&experiment.suite, &experiment.directory);
        if !suite.problems.is_empty() || suite.tasks.is_empty() {
            let unreadable = suite.unreadable.into_iter().map(|unreadable| unreadable.error);
            return Err(PlanError::Tasks(suite.problems.into_iter().chain(unreadable).collect()));
        }
        let library = library(&experiment)?;
        let roster = roster(&experiment, machine)?;
        check_names(&experiment, &suite)?;
        let unreadable = unreadable(&mut suite, &experiment.directory);
        let left_out = suite.excluded.len();
        let mut plan = Self {
            unreadable: unreadable.iter().map(|excluded| excluded.task.clone()).collect(),
            excluded: unreadable,
            experiment,
            tasks: suite.tasks.into_iter().map(Arc::new).collect(),
            library: Arc::new(library),
            roster,
            cells: Vec::new(),
            trials: BTreeMap::new(),
            checks: Vec::new(),
            curated: BTreeMap::new(),
            diagnostics: Vec::new(),
        };
        if left_out > 0 {
            let plural = if left_out == 1 { "" } else { "s" };
            let message = format!("{left_out} task{plural} excluded by patterns with `!` in `suite`");
            let note = Diagnostic::new(Severity::Info, "suite-excluded", &plan.experiment.path, message);
            plan.diagnostics.push(note);
        }
        plan.diagnostics.extend(plan.tasks.iter().flat_map(|task| task.diagnostics.clone()));
        plan.diagnostics.extend(plan.library.diagnostics.clone());
        let mut known: BTreeMap<_, String> = BTreeMap::new();
        for task in plan.tasks.clone() {
            match known.entry((task.digest, task.environment_digest)) {
                // Its trials would be those of the other, and be counted as if they were more.
                Entry::Occupied(first) => plan.excluded.push(Exclusion {
                    task: task.name.clone(),
                    condition: None,
                    reason: format!("it is the task `{}` under another name", first.get()),
                }),
                Entry::Vacant(place) => {
                    place.insert(task.name.clone());
                    plan.add_task(&task, store, machine);
                }
            }
        }
        plan.diagnostics.extend(plan.cramped());
        plan.diagnostics.extend(plan.capped());
        plan.cells.sort_by_key(|cell| cell.repetition);
        plan.excluded.sort();
        Ok(plan)
    }

    fn add_task(&mut self, task: &Arc<Task>, store: &Store, machine: &Machine<'_>) {
        let setup = match Setup::of(task, &self.experiment, machine) {
            Ok(setup) => setup,
            Err(reason) => {
                self.excluded.push(Exclusion { task: task.name.clone(), condition: None, reason });
                return;
            }
        };
        let context = ConditionContext {
            task,
            library: &self.library,
            pairing: self.experiment.pairings.get(&task.name),
            seed: self.experiment.seed,
            made: &store.made(),
        };
        let own = condition::curated(&context).unwrap_or_default();
        if !own.is_empty() {
            let digests = own.iter().map(|skill| skill.digest.to_string()).collect();
            self.curated.insert(task.name.clone(), digests);
        }
        let mut provisions = Vec::new();
        for name in &self.experiment.conditions {
            let condition = condition::find(name).map(|condition| condition.provide(&context));
            match condition {
                Some(Ok(provision)) => {
                    let absent = absent(&own, &provision);
                    provisions.push((name.clone(), Arc::new(provision), Arc::new(absent)));
                }
                Some(Err(error)) => {
                    let (condition, reason) = (Some(name.clone()), error.to_string());
                    self.excluded.push(Exclusion { task: task.name.clone(), condition, reason });
                }
                // The experiment has been checked; a name that is not there plans nothing.
                None => {}
            }
        }
        if provisions.is_empty() {
            return;
        }
        let no_skills =
            (String::new(), Arc::new(Provision::default()), Arc::new(absent(&own, &Provision::default())));
        let checker = |agent: Arc<dyn Agent>| {
            let entry = RosterEntry::new(&AgentSpec::named(agent.name()), agent);
            Arc::new(setup.trial(&self.experiment, &entry, &no_skills, 1))
        };
        self.checks.push(Check {
            task: task.name.clone(),
            oracle: task.solution_digest.map(|_| checker(Arc::new(assay_agent::Oracle))),
            nop: checker(Arc::new(assay_agent::Nop)),
        });
        for (number, entry) in self.roster.iter().enumerate() {
            for provision in &provisions {
                for repetition in 1..=self.experiment.repetitions {
                    let trial = setup.trial(&self.experiment, entry, provision, repetition);
                    self.cells.push(Cell {
                        task: task.name.clone(),
                        agent: number,
                        sandbox: setup.place.kind().to_owned(),
                        condition: provision.0.clone(),
                        repetition,
                        trial: trial.id.clone(),
                    });
                    self.trials.entry(trial.id.clone()).or_insert_with(|| Arc::new(trial));
                }
            }
        }
    }

    /// Agents that take more memory by themselves than tasks allow: they would be killed, and seem to fail.
    fn cramped(&self) -> Vec<Diagnostic> {
        let mut least: BTreeMap<&str, (u64, u64, BTreeSet<&str>)> = BTreeMap::new();
        for trial in self.trials.values() {
            let (own, allowed) = (trial.agent.own_memory(), trial.limits.memory_bytes.unwrap_or(u64::MAX));
            if own > allowed {
                let found = least.entry(trial.agent.name()).or_insert((own, allowed, BTreeSet::new()));
                found.1 = found.1.min(allowed);
                found.2.insert(&trial.task.name);
            }
        }
        let warn = |(name, (own, allowed, tasks)): (&str, (u64, u64, BTreeSet<&str>))| {
            let message = format!(
                "{name} takes up to {} MB by itself, and {} allow{} {} MB: it would be killed for memory. `memory_mb = 2048` in the experiment gives room",
                own >> 20,
                if tasks.len() == 1 { "one task".to_owned() } else { format!("{} tasks", tasks.len()) },
                if tasks.len() == 1 { "s" } else { "" },
                allowed >> 20
            );
            Diagnostic::new(Severity::Warning, "memory-short", &self.experiment.path, message)
        };
        least.into_iter().map(warn).collect()
    }

    /// What this machine cannot give of what the tasks ask for, in sentences.
    pub fn warnings(&self) -> impl Iterator<Item = &str> {
        self.diagnostics.iter().filter(|found| found.code == CAPPED).map(|found| found.message.as_str())
    }

    /// Tasks that get fewer processors than they ask for: what depends on speed may come out worse.
    fn capped(&self) -> Option<Diagnostic> {
        let all = self.trials.values().chain(self.checks.iter().map(|check| &check.nop));
        let tasks: BTreeMap<&str, &str> = all
            .filter_map(|trial| Some((trial.task.name.as_str(), trial.warnings.first()?.as_str())))
            .collect();
        let (first, warning) = tasks.iter().next()?;
        let (asks, others) = match tasks.len() {
            1 => ("1 task asks".to_owned(), String::new()),
            several => (format!("{several} tasks ask"), format!(" and {} more", several - 1)),
        };
        let message = format!(
            "{asks} for more processors than this machine has, and get{} all it has: {first} ({warning}){others}. `cpus` in the experiment sets one limit for all tasks",
            if tasks.len() == 1 { "s" } else { "" }
        );
        Some(Diagnostic::new(Severity::Warning, CAPPED, &self.experiment.path, message))
    }

    /// Pairs of conditions that came out equal on some task, with the number of those tasks.
    pub fn equal_conditions(&self) -> Vec<(String, String, usize)> {
        let mut by_trial: BTreeMap<&TrialId, BTreeSet<(&str, &str)>> = BTreeMap::new();
        for cell in &self.cells {
            by_trial.entry(&cell.trial).or_default().insert((&cell.condition, &cell.task));
        }
        let mut pairs: BTreeMap<(String, String), BTreeSet<&str>> = BTreeMap::new();
        for shared in by_trial.values() {
            let shared: Vec<_> = shared.iter().collect();
            // Two tasks of equal content share trials too, and that is no matter of conditions.
            for pair in shared.windows(2).filter(|pair| pair[0].0 != pair[1].0) {
                pairs.entry((pair[0].0.to_owned(), pair[1].0.to_owned())).or_default().insert(pair[0].1);
            }
        }
        pairs.into_iter().map(|((one, other), tasks)| (one, other, tasks.len())).collect()
    }
}

/// The processors that a trial gets of those that are asked for, and what there is to say where that is fewer.
fn capped_cpus(asked: Option<f64>, have: f64) -> (Option<f64>, Vec<String>) {
    match asked {
        Some(asked) if asked > have => {
            (Some(have), vec![format!("{asked} processors are asked for, and this machine has {have}")])
        }
        asked => (asked, Vec::new()),
    }
}

/// What all trials on one task have in common.
struct Setup {
    task: Arc<Task>,
    place: Arc<Place>,
    limits: Limits,
    warnings: Arc<Vec<String>>,
    network: Reach,
    verifier_network: Reach,
    shipping: Option<Shipping>,
    env: Arc<Vec<(String, String)>>,
    verifier_env: Arc<Vec<(String, String)>>,
    solution_env: Arc<Vec<(String, String)>>,
}

impl Setup {
    fn of(task: &Arc<Task>, experiment: &Experiment, machine: &Machine<'_>) -> Result<Self, String> {
        let config = &task.config;
        if config.multi_step {
            return Err("it has several steps, which this version does not run".to_owned());
        }
        if let Some(compose) = &task.environment.compose {
            if let Some(reason) = compose.hostile.first() {
                return Err(format!("its compose file is refused, for it would reach the host: {reason}"));
            }
            if let Some(login) = compose.logins.first().filter(|_| !experiment.sandbox.drop_login_mounts) {
                return Err(format!(
                    "its compose file is refused, for it would reach the host: {login} (`drop_login_mounts = true` under `[sandbox]` leaves it out)"
                ));
            }
            if let Some(reason) = compose.unsupported.first() {
                return Err(format!("its compose file is more than one plain container: {reason}"));
            }
        }
        if config.environment.gpus > 0 {
            return Err("it needs a GPU, which no sandbox here gives".to_owned());
        }
        if config.environment.windows {
            return Err("it needs Windows".to_owned());
        }
        if config.environment.mcp_servers > 0 {
            return Err("it brings MCP servers, which no agent here speaks to".to_owned());
        }
        if let Some(service) = config
            .artifacts
            .iter()
            .filter_map(|artifact| artifact.service.as_ref())
            .chain(config.collect.iter().filter_map(|collect| collect.service.as_ref()))
            .find(|service| *service != "main")
        {
            return Err(format!("it collects from the service `{service}`, and only `main` is run"));
        }
        let place = Arc::new(Place::choose(task, experiment, machine.sandboxes)?);
        let main = task.environment.compose.as_ref().map(|compose| &compose.main);
        let cut_off = main.is_some_and(|main| main.no_network);
        let own = if cut_off { &NetworkWish::None } else { &config.environment.network };
        let granted = network;
        let network = granted(config.agent_network.as_ref().unwrap_or(own), &experiment.network)?;
        let verifier_network = if experiment.verifier_network {
            Reach::Public
        } else {
            granted(config.verifier_network.as_ref().unwrap_or(own), &experiment.network)?
        };
        let by_host = [&network, &verifier_network].iter().any(|reach| matches!(reach, Reach::Hosts(_)));
        if by_host && (place.kind() == "none" || machine.shipping.is_none()) {
            return Err("it would reach some hosts and not others, which nothing holds it to here".to_owned());
        }
        let asked = experiment.cpus.or(config.environment.cpus);
        let (cpus, warnings) = capped_cpus(asked, place.processors());
        let limits = Limits {
            cpus,
            memory_bytes: Some(limits::memory_bytes(experiment, config).value),
            pids: Some(config.environment.pids.and_then(|pids| pids.try_into().ok()).unwrap_or(DEFAULT_PIDS)),
            storage_bytes: Some(config.environment.storage_bytes.unwrap_or(DEFAULT_STORAGE)),
        };
        let mut env = main.map(|main| main.env.clone()).unwrap_or_default();
        let logins = task.environment.compose.as_ref().map(|compose| compose.logins.as_slice());
        if let Some(logins) = logins.filter(|logins| !logins.is_empty()) {
            env.retain(|_, value| !serves_login(value, logins, &experiment.allow_env));
        }
        env.extend(config.environment.env.clone());
        let expand = |values: &BTreeMap<String, String>| -> Result<Arc<Vec<(String, String)>>, String> {
            let expanded = values
                .iter()
                .map(|(name, value)| Ok((name.clone(), expand(value, &experiment.allow_env, machine.env)?)))
                .collect::<Result<Vec<_>, String>>()?;
            Ok(Arc::new(expanded))
        };
        Ok(Self {
            task: task.clone(),
            place,
            limits,
            warnings: Arc::new(warnings),
            network,
            verifier_network,
            shipping: machine.shipping.clone(),
            env: expand(&env)?,
            verifier_env: expand(&config.verifier_env)?,
            solution_env: expand(&config.solution_env)?,
        })
    }

    fn trial(
        &self,
        experiment: &Experiment,
        entry: &RosterEntry,
        (condition, provision, absent): &(String, Arc<Provision>, Arc<Vec<AbsentSkill>>),
        repetition: u32,
    ) -> Trial {
        let agent_timeout = limits::agent_seconds(&entry.spec, &self.task.config).value;
        let mut trial = Trial {
            id: TrialId::of(&Value::Null),
            specification: Value::Null,
            task: self.task.clone(),
            agent: entry.agent.clone(),
            label: entry.label.clone(),
            price: entry.price,
            way: entry.way.clone(),
            condition: condition.clone(),
            provision: provision.clone(),
            disclosure: experiment.disclosure,
            place: self.place.clone(),
            limits: self.limits,
            warnings: self.warnings.clone(),
            network: self.network.clone(),
            verifier_network: self.verifier_network.clone(),
            shipping: self.shipping.clone(),
            agent_timeout,
            repetition,
            absent: absent.clone(),
            env: self.env.clone(),
            verifier_env: self.verifier_env.clone(),
            solution_env: self.solution_env.clone(),
        };
        trial.specification = specification(&trial, experiment.seed);
        trial.id = TrialId::of(&trial.specification);
        trial
    }
}

/// What can change a trial's outcome, and nothing else: no path, port, time, price or secret, and not the condition's name
/// (unless a script asks for it). Environment templates are part of the task; what they expand to may be a secret and is not.
fn specification(trial: &Trial, seed: u64) -> Value {
    let task = &trial.task;
    let provision: Vec<Value> = trial
        .provision
        .skills
        .iter()
        .map(|skill| json!({ "skill": skill.digest, "mount": trial.mount_of(skill) }))
        .collect();
    let oracle = trial.agent.needs_solution();
    let mut specification = json!({
        "protocol": PROTOCOL,
        "task": task.digest,
        "solution": if oracle { json!(task.solution_digest) } else { Value::Null },
        "environment": { "context": task.environment_digest, "base": trial.place.base() },
        "provision": provision,
        "disclosure": trial.disclosure,
        "preface": trial.provision.preface,
        "writes_skills": trial.provision.writes_skills,
        "condition": if trial.agent.reads_condition() { json!(trial.condition) } else { Value::Null },
        "agent": trial.agent.identity(),
        "sandbox": trial.place.kind(),
        "limits": {
            "resources": trial.limits,
            "agent_seconds": trial.agent_timeout,
            "verifier_seconds": task.config.verifier_timeout,
        },
        "network": { "agent": trial.network, "verifier": trial.verifier_network },
        "verifier_mode": task.config.verifier_mode,
        "repetition": trial.repetition,
        "seed": seed,
    });
    // Nobody but the oracle gets them, and no other identity holds them.
    if let Some(digest) = oracle.then(|| task.baked_skills_digest()).flatten() {
        specification["task_skills"] = json!(digest);
    }
    specification
}

/// What both the task wishes and the experiment grants.
fn network(wish: &NetworkWish, grant: &NetworkGrant) -> Result<Reach, String> {
    let hosts = |list: &[String]| Hosts::parse(list).map_err(|why| format!("of what it would reach, {why}"));
    let reach = match (wish, grant) {
        (NetworkWish::None, _) | (_, NetworkGrant::None) => return Ok(Reach::None),
        (NetworkWish::Public, NetworkGrant::Public) => return Ok(Reach::Public),
        (NetworkWish::Allowlist(wished), NetworkGrant::Public) => hosts(wished)?,
        (NetworkWish::Public, NetworkGrant::Hosts(granted)) => hosts(granted)?,
        (NetworkWish::Allowlist(wished), NetworkGrant::Hosts(granted)) => {
            hosts(wished)?.within(&hosts(granted)?)
        }
    };
    Ok(if reach.is_empty() { Reach::None } else { Reach::Hosts(reach.list()) })
}

/// Whether a variable of a compose file that mounts a login goes with it: it points into the mount, or hands on a variable of the host that the
/// experiment does not name. Compose itself leaves such variables empty where the host has none.
fn serves_login(value: &str, logins: &[LoginMount], allowed: &[String]) -> bool {
    let points = logins
        .iter()
        .any(|login| !login.target.is_empty() && Path::new(value).starts_with(login.target.as_str()));
    let handed = value.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    let handed = handed.filter(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
    points || handed.is_some_and(|name| !allowed.iter().any(|known| known == name))
}

/// Replaces `${VAR}` and `${VAR:-default}` by what the experiment allows.
fn expand(value: &str, allowed: &[String], env: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut expanded = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${") {
        expanded.push_str(before);
        let (inside, after) =
            after.split_once('}').ok_or_else(|| format!("`{value}` lacks a closing bracket"))?;
        let (name, default) =
            inside.split_once(":-").map_or((inside, None), |(name, default)| (name, Some(default)));
        let found = if allowed.iter().any(|allowed| allowed == name) { env(name) } else { None };
        let text = found.or_else(|| default.map(str::to_owned)).ok_or_else(|| {
            format!("it asks for the variable `{name}`: add it to `allow_env` in the experiment, and set it")
        })?;
        expanded.push_str(&text);
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

fn absent(own: &[assay_skill::Package], provision: &Provision) -> Vec<AbsentSkill> {
    own.iter()
        .filter(|skill| provision.skills.iter().all(|provided| provided.digest != skill.digest))
        .map(|skill| AbsentSkill {
            name: skill.name.clone(),
            document: skill.document.clone(),
            body: skill.body.clone(),
        })
        .collect()
}

/// The skills that the library's patterns match. A pattern without a match is an error: the run would go on without the skills
/// that it was meant to name.
fn library(experiment: &Experiment) -> Result<Library, PlanError> {
    let mut roots = Vec::new();
    for pattern in &experiment.library {
        let found = assay_task::folders(pattern, &experiment.directory);
        if found.is_empty() {
            let hint = near_folder(pattern, &experiment.directory)
                .map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            let message = format!("library pattern {pattern:?} matches no folder{hint}");
            return Err(PlanError::Name { path: experiment.path.clone(), message });
        }
        roots.extend(found);
    }
    Ok(Library::load(&roots))
}

/// A pattern with its first part that does not exist replaced by the folder whose name is nearest to it.
fn near_folder(pattern: &str, base: &Path) -> Option<String> {
    let parts: Vec<&str> = pattern.split('/').collect();
    let mut folder = base.to_owned();
    for (at, part) in parts.iter().enumerate() {
        if folder.join(part).is_dir() {
            folder.push(part);
            continue;
        }
        let entries = std::fs::read_dir(&folder).ok()?.flatten();
        let names: Vec<String> = entries
            .filter(|entry| entry.path().is_dir())
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        let near = assay_skill::nearest(part, names.iter().map(String::as_str)).into_iter().next()?;
        return Some([&parts[..at], &[near.as_str()], &parts[at + 1..]].concat().join("/"));
    }
    None
}

/// The folders of a suite that cannot be read as tasks, with the reason and what to do. Reasons stand in plans: they name files from the experiment on.
fn unreadable(suite: &mut Suite, directory: &Path) -> Vec<Exclusion> {
    let exclude = |unreadable: Unreadable| {
        let error = &unreadable.error;
        let mut why = error.to_string();
        if let Some(cause) = std::error::Error::source(error) {
            why = format!("{why}: {cause}");
        }
        let base = format!("{}/", directory.display());
        // A relative experiment has short paths already.
        let base = if directory.is_absolute() { base } else { "\0".to_owned() };
        let reason = format!("it cannot be read as a task: {} ({})", why.replace(&base, ""), error.hint());
        let is_taken = suite.tasks.iter().any(|task| task.name == unreadable.name);
        let path = unreadable.folder.display().to_string();
        let task = if is_taken { path.replace(&base, "") } else { unreadable.name };
        Exclusion { task, condition: None, reason }
    };
    std::mem::take(&mut suite.unreadable).into_iter().map(exclude).collect()
}

/// A pairing for a task that is not there is a typing mistake that would change what is measured.
fn check_names(experiment: &Experiment, suite: &Suite) -> Result<(), PlanError> {
    for name in experiment.pairings.keys() {
        let left_out =
            suite.excluded.iter().chain(suite.unreadable.iter().map(|unreadable| &unreadable.folder));
        let mut names = left_out.filter_map(|folder| folder.file_name());
        if suite.tasks.iter().all(|task| &task.name != name) && !names.any(|known| known == name.as_str()) {
            let message = format!("`[tasks.\"{name}\"]` pairs a task that is not in the suite");
            return Err(PlanError::Name { path: experiment.path.clone(), message });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
