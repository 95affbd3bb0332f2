//! Plans: the product of suite, conditions, agents and repetitions.

pub(crate) mod agents;
pub(crate) mod caps;
mod cost;
pub(crate) mod dependencies;
mod earlier;
pub(crate) mod empty;
pub(crate) mod error;
pub(crate) mod feasible;
mod folder;
mod imported;
pub(crate) mod limits;
pub(crate) mod preflight;
pub(crate) mod preview;
pub(crate) mod rubric;
pub(crate) mod safety;
mod second_stage;
pub(crate) mod selected;
pub(crate) mod specs;
mod task_limits;
pub(crate) mod unsafe_skills;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_agent::Agent;
use assay_skill::{Diagnostic, Digest, Library, Package, Severity};
use assay_store::{
    AgentSpec, Cell, Exclusion, NetworkPolicy, ProvisionSpec, ReusedTrials, RunOutcomes, SandboxChoice,
    SandboxLimits, SkillRef, Store, StoreError, TaskRef, TrialId, TrialSpec,
};
use assay_task::{Suite, Task, Unreadable};
use serde_json::Value;

use self::agents::{AgentEntry, open_agents};
use self::earlier::EarlierTrials;
use self::error::PlanError;
use self::feasible::{Infeasible, check_task, policy};
use self::rubric::rubric_of;
use crate::Experiment;
use crate::condition::{self, ConditionContext, ConditionRef, Provision};
use crate::judging::{Panel, TrialJudge};
use crate::reference::{skill_ref, task_ref};
use crate::run::backend::Backend;
use crate::run::context::MachineContext;
use crate::run::doubles;
use crate::run::egress_proxy;
use crate::run::env::TaskEnv;
use crate::run::mcp;
use crate::run::resolve::{Resolver, Sources};
use crate::run::trial::{AbsentSkill, ResolvedTrial};

/// The code of the diagnostic for tasks that request more processors than there are.
const CAPPED: &str = "cpus-capped";

/// Limits for tasks that name none: enough for a build, and an end for a runaway process.
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
    pub agents: Vec<AgentEntry>,
    /// Every cell that can be run, the repetitions of all arms taking turns, so that no arm is
    /// early or late.
    pub cells: Vec<Cell>,
    /// The trials of the cells. Cells with equal provision share one.
    pub trials: BTreeMap<TrialId, Arc<TrialSpec>>,
    /// For each task with cells: the trials with a known outcome that run before any arm.
    pub checks: Vec<Check>,
    /// What cannot be run, and why.
    pub excluded: Vec<Exclusion>,
    /// Where the trials of each task run, by its name.
    backends: BTreeMap<String, Arc<Backend>>,
    /// The skills that trials name, by digest and folder name.
    pub packages: BTreeMap<(Digest, String), Package>,
    /// The digests of the skills that belong to each task that has any.
    pub curated: BTreeMap<String, Vec<String>>,
    /// The names of those of the excluded whose folders cannot be read as tasks.
    pub unreadable: Vec<String>,
    /// The names of the tasks that take part in no round: `more_tasks` of `[stopping]`.
    pub second_stage: BTreeSet<String>,
    /// Diagnostics about tasks and skills.
    pub diagnostics: Vec<Diagnostic>,
    /// The judges, opened, if a task has a rubric.
    pub(crate) panel: Option<Arc<Panel>>,
    /// Trials of archives that cells use in the place of their own.
    pub(crate) reused_imports: usize,
    /// Trials that have a result under another identity, and why it counts.
    pub reused: Vec<ReusedTrials>,
    /// Trials that have a result of another server, which does not count, by server.
    pub left: BTreeMap<String, usize>,
}

/// The oracle and no-op trials that check a task.
#[derive(Clone)]
pub struct Check {
    /// The task's name.
    pub task: String,
    /// Must pass. `None` if the task has no solution.
    pub oracle: Option<Arc<TrialSpec>>,
    /// Must not pass.
    pub nop: Arc<TrialSpec>,
}

impl Plan {
    /// Plans an experiment.
    pub fn build(
        experiment: Experiment,
        store: &Store,
        machine: &MachineContext<'_>,
    ) -> Result<Self, PlanError> {
        experiment.check_permissions(machine.permissions)?;
        let mut suite = Suite::load(&experiment.suite, &experiment.directory);
        let tasks = suite.tasks.iter().map(|task| task.root.as_path());
        experiment.check_found(machine.permissions, "suite", tasks)?;
        if !suite.problems.is_empty() || suite.tasks.is_empty() {
            let unreadable = suite.unreadable.into_iter().map(|unreadable| unreadable.error);
            return Err(PlanError::Tasks(suite.problems.into_iter().chain(unreadable).collect()));
        }
        let library = library(&experiment)?;
        let agents = open_agents(&experiment, machine)?;
        check_names(&experiment, &suite)?;
        let unreadable = unreadable(&mut suite, &experiment.directory);
        let left_out = suite.excluded.len();
        let mut plan = Self {
            unreadable: unreadable.iter().map(|excluded| excluded.task.clone()).collect(),
            excluded: unreadable,
            experiment,
            tasks: suite.tasks.into_iter().map(Arc::new).collect(),
            library: Arc::new(library),
            agents,
            cells: Vec::new(),
            trials: BTreeMap::new(),
            checks: Vec::new(),
            backends: BTreeMap::new(),
            packages: BTreeMap::new(),
            curated: BTreeMap::new(),
            second_stage: BTreeSet::new(),
            diagnostics: Vec::new(),
            panel: None,
            reused_imports: 0,
            reused: Vec::new(),
            left: BTreeMap::new(),
        };
        plan.open_judges(machine)?;
        let (same, name) = (plan.experiment.same_server.clone(), plan.experiment.name.clone());
        let mut earlier = EarlierTrials::new(store, &same, &name);
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
                    reason: format!("it is a copy of the task `{}`", first.get()),
                }),
                Entry::Vacant(place) => {
                    place.insert(task.name.clone());
                    plan.add_task(&task, store, machine, &mut earlier);
                }
            }
        }
        plan.hold_back_tasks()?;
        let planned: BTreeSet<&TrialId> = plan.cells.iter().map(|cell| &cell.trial).collect();
        let found = earlier.found(&planned);
        (plan.reused, plan.left) = (found.reused, found.left);
        plan.diagnostics.extend(plan.cpu_diagnostics());
        plan.diagnostics.extend(plan.capped());
        // Conditions with different numbers of repetitions are spread over the same time.
        let share = |cell: &Cell| {
            let repetitions = plan.experiment.repetitions_of(&cell.condition);
            (f64::from(cell.repetition) - 0.5) / f64::from(repetitions)
        };
        if plan.experiment.stopping.is_some() {
            // Ids are hashes of the specification and the seed: the order within a round is random, and recorded in
            // the plan.
            let second_stage = &plan.second_stage;
            let place = |cell: &Cell| (second_stage.contains(&cell.task), cell.repetition);
            plan.cells.sort_by(|one, other| {
                place(one).cmp(&place(other)).then_with(|| one.trial.cmp(&other.trial))
            });
        } else {
            plan.cells.sort_by(|one, other| share(one).total_cmp(&share(other)));
        }
        plan.excluded.sort();
        plan.check_packages(store, machine)?;
        Ok(plan)
    }

    /// Opens the judges if a task needs them. None may be of the family of a candidate.
    fn open_judges(&mut self, machine: &MachineContext<'_>) -> Result<(), PlanError> {
        let Experiment { judge, path, directory, .. } = &self.experiment;
        let Some(spec) = judge.as_ref().filter(|_| self.tasks.iter().any(|task| task.graded_by.has_rubric()))
        else {
            return Ok(());
        };
        let wrong = |error| PlanError::Judge { path: path.clone(), error };
        let candidates: Vec<&str> =
            self.agents.iter().filter_map(|entry| entry.spec.model.as_deref()).collect();
        Panel::check_family(spec, &candidates).map_err(wrong)?;
        self.panel = Some(Arc::new(Panel::open(spec, directory, machine).map_err(wrong)?));
        Ok(())
    }

    fn add_task(
        &mut self,
        task: &Arc<Task>,
        store: &Store,
        machine: &MachineContext<'_>,
        earlier: &mut EarlierTrials<'_>,
    ) {
        let agents: Vec<&dyn Agent> = self.agents.iter().map(|entry| &*entry.agent).collect();
        let usable = mcp::check(task, &agents).map_err(Infeasible::from);
        let setup = match usable.and_then(|()| Setup::of(task, &self.experiment, machine)) {
            Ok(setup) => setup,
            Err(error) => {
                let reason = error.to_string();
                self.excluded.push(Exclusion { task: task.name.clone(), condition: None, reason });
                return;
            }
        };
        let context = ConditionContext {
            argument: None,
            directory: &self.experiment.directory,
            task,
            library: &self.library,
            pairing: self.experiment.pairings.get(&task.name),
            seed: self.experiment.seed,
            made: &store.made_folder(),
        };
        let own = condition::curated(&context).unwrap_or_default();
        if !own.is_empty() {
            let digests = own.iter().map(|skill| skill.digest.to_string()).collect();
            self.curated.insert(task.name.clone(), digests);
        }
        let mut provisions = Vec::new();
        for name in &self.experiment.conditions {
            // The experiment has been checked: a name that is not a condition plans nothing.
            let is = self.experiment.condition_of(name);
            let Ok(condition) = ConditionRef::parse(is) else { continue };
            match condition.provide(&context) {
                Ok(provision) => provisions.push(Provided::new(name, provision, &own)),
                Err(error) => {
                    let (condition, reason) = (Some(name.clone()), error.to_string());
                    self.excluded.push(Exclusion { task: task.name.clone(), condition, reason });
                }
            }
        }
        if provisions.is_empty() {
            return;
        }
        self.backends.insert(task.name.clone(), setup.backend.clone());
        let judge = match self.panel.as_ref().filter(|_| task.graded_by.has_rubric()) {
            None => None,
            Some(panel) => match rubric_of(task) {
                Ok(rubric) => Some(TrialJudge { panel: panel.clone(), rubric: Arc::new(rubric) }),
                Err(error) => {
                    let reason = Infeasible::Rubric(error).to_string();
                    self.excluded.push(Exclusion { task: task.name.clone(), condition: None, reason });
                    return;
                }
            },
        };
        let no_skills = Provided::new("", Provision::default(), &own);
        let experiment = &self.experiment;
        let mut checker = |agent: Arc<dyn Agent>| {
            let entry = AgentEntry::new(&AgentSpec::named(agent.name()), agent);
            let (trial, live) = setup.trial(experiment, &entry, &no_skills, 1, None);
            Arc::new(earlier.find(trial, &live))
        };
        // Without tests there is nothing to check: judges are not asked about solutions.
        if task.graded_by.has_tests() {
            self.checks.push(Check {
                task: task.name.clone(),
                oracle: task.solution_digest.map(|_| checker(Arc::new(assay_agent::Oracle))),
                nop: checker(Arc::new(assay_agent::Nop)),
            });
        }
        let skills = provisions.iter().flat_map(|provided| &provided.provision.skills).chain(&own);
        self.packages.extend(skills.map(|skill| ((skill.digest, skill.directory.clone()), skill.clone())));
        for (number, entry) in self.agents.iter().enumerate() {
            for provision in &provisions {
                for repetition in 1..=self.experiment.repetitions_of(&provision.condition) {
                    let (trial, live) =
                        setup.trial(&self.experiment, entry, provision, repetition, judge.as_ref());
                    let trial = earlier.find(trial, &live);
                    self.cells.push(Cell {
                        task: task.name.clone(),
                        agent: number,
                        sandbox: setup.backend.kind().to_owned(),
                        condition: provision.condition.clone(),
                        repetition,
                        trial: trial.id.clone(),
                    });
                    self.trials.entry(trial.id.clone()).or_insert_with(|| Arc::new(trial));
                }
            }
        }
    }

    /// Whether a task has a rubric that judges decide.
    pub fn is_judged(&self) -> bool {
        self.panel.is_some()
    }

    /// Agents that take more memory by themselves than tasks allow: they would be killed, and seem
    /// to fail.
    fn cpu_diagnostics(&self) -> Vec<Diagnostic> {
        let mut least: BTreeMap<&str, (u64, u64, BTreeSet<&str>)> = BTreeMap::new();
        for cell in &self.cells {
            let (Some(entry), Some(trial)) = (self.agents.get(cell.agent), self.trials.get(&cell.trial))
            else {
                continue;
            };
            let (own, allowed) = (entry.agent.own_memory(), trial.limits.memory_bytes.unwrap_or(u64::MAX));
            if own > allowed {
                let found = least.entry(entry.agent.name()).or_insert((own, allowed, BTreeSet::new()));
                found.1 = found.1.min(allowed);
                found.2.insert(&cell.task);
            }
        }
        let warn = |(name, (own, allowed, tasks)): (&str, (u64, u64, BTreeSet<&str>))| {
            let message = format!(
                "{name} alone uses up to {} MB, but {} allow{} only {} MB, so it would run out of memory. Set `memory_mb = 2048` in the experiment",
                own >> 20,
                if tasks.len() == 1 { "one task".to_owned() } else { format!("{} tasks", tasks.len()) },
                if tasks.len() == 1 { "s" } else { "" },
                allowed >> 20
            );
            Diagnostic::new(Severity::Warning, "memory-short", &self.experiment.path, message)
        };
        least.into_iter().map(warn).collect()
    }

    /// Tasks whose verifiers write several rewards and none of the name `reward`: by their recorded checks, or
    /// as far as their text shows.
    ///
    /// # Errors
    /// A store that cannot be read.
    pub fn several_rewards(&self, store: &Store) -> Result<BTreeSet<String>, StoreError> {
        let mut outcomes = RunOutcomes::new(Some(self.experiment.outcome));
        for check in self.checks.iter().flat_map(|check| check.oracle.iter().chain([&check.nop])) {
            match store.record(&check.id) {
                Ok(record) => record.iter().for_each(|record| outcomes.observe(record)),
                Err(StoreError::Format { .. } | StoreError::Version { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let recorded = outcomes.with_several_rewards().into_iter().map(str::to_owned);
        let unrecorded = self.tasks.iter().filter(|task| !outcomes.has_observed(&task.name));
        let by_text = unrecorded.filter(|task| assay_task::check::writes_several_rewards(task));
        Ok(recorded.chain(by_text.map(|task| task.name.clone())).collect())
    }

    /// What the tasks request and this machine cannot provide, in sentences.
    pub fn warnings(&self) -> impl Iterator<Item = &str> {
        self.diagnostics
            .iter()
            .filter(|found| [CAPPED, unsafe_skills::UNSAFE].contains(&found.code))
            .map(|found| found.message.as_str())
    }

    /// Tasks that get fewer CPUs than they request, which may change results that depend on speed.
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
            "{asks} for more CPUs than this machine has and get{} all of them: {first} ({warning}){others}. Set `cpus` in the experiment for one limit for all tasks",
            if tasks.len() == 1 { "s" } else { "" }
        );
        Some(Diagnostic::new(Severity::Warning, CAPPED, &self.experiment.path, message))
    }

    /// Pairs of conditions that are equal on some task, with the number of those tasks.
    pub fn equal_conditions(&self) -> Vec<(String, String, usize)> {
        let mut by_trial: BTreeMap<&TrialId, BTreeSet<(&str, &str)>> = BTreeMap::new();
        for cell in &self.cells {
            by_trial.entry(&cell.trial).or_default().insert((&cell.condition, &cell.task));
        }
        let mut pairs: BTreeMap<(String, String), BTreeSet<&str>> = BTreeMap::new();
        for shared in by_trial.values() {
            let shared: Vec<_> = shared.iter().collect();
            // Two tasks of equal content share trials too, which is unrelated to conditions.
            for pair in shared.windows(2).filter(|pair| pair[0].0 != pair[1].0) {
                pairs.entry((pair[0].0.to_owned(), pair[1].0.to_owned())).or_default().insert(pair[0].1);
            }
        }
        pairs.into_iter().map(|((one, other), tasks)| (one, other, tasks.len())).collect()
    }
}

impl Plan {
    /// Opens the plan's trials on this machine. What was opened for planning is not opened again:
    /// tasks, skills, backends and agents keep their content, however long the run takes.
    pub fn resolver<'a>(&self, store: &Store, machine: &'a MachineContext<'a>) -> Resolver<'a> {
        let resolver = Resolver::new(machine, Sources { made: store.made_folder(), ..Sources::default() });
        for task in &self.tasks {
            resolver.seed_task(task);
        }
        for package in self.packages.values() {
            resolver.seed_package(package);
        }
        for check in &self.checks {
            if let Some(backend) = self.backends.get(&check.task) {
                resolver.seed_backend(&check.nop, backend);
            }
        }
        for cell in &self.cells {
            if let (Some(spec), Some(entry)) = (self.trials.get(&cell.trial), self.agents.get(cell.agent)) {
                resolver.seed_agent(spec, || entry.opened());
            }
        }
        resolver
    }
}

/// The processors that a trial gets, and a warning if it requested more.
fn capped_cpus(requested: Option<f64>, available: f64) -> (Option<f64>, Vec<String>) {
    match requested {
        Some(requested) if requested > available => {
            (Some(available), vec![format!("{requested} CPUs requested, {available} available")])
        }
        requested => (requested, Vec::new()),
    }
}

/// The skills of a condition, and its exclusions.
struct Provided {
    condition: String,
    provision: Arc<Provision>,
    absent: Arc<Vec<AbsentSkill>>,
    provision_spec: Arc<ProvisionSpec>,
    absent_spec: Arc<Vec<SkillRef>>,
}

impl Provided {
    fn new(condition: &str, provision: Provision, own: &[Package]) -> Self {
        let is_provided = |skill: &Package| provision.skills.iter().any(|one| one.digest == skill.digest);
        let absent: Vec<&Package> = own.iter().filter(|skill| !is_provided(skill)).collect();
        Self {
            condition: condition.to_owned(),
            provision_spec: Arc::new(ProvisionSpec::from(&provision)),
            absent: Arc::new(absent.iter().map(|skill| AbsentSkill::from(*skill)).collect()),
            absent_spec: Arc::new(absent.into_iter().map(skill_ref).collect()),
            provision: Arc::new(provision),
        }
    }
}

/// What all trials on one task have in common.
struct Setup {
    task: Arc<Task>,
    reference: TaskRef,
    backend: Arc<Backend>,
    sandbox: Arc<SandboxChoice>,
    scripts: Arc<PathBuf>,
    limits: SandboxLimits,
    warnings: Arc<Vec<String>>,
    network: NetworkPolicy,
    verifier_network: NetworkPolicy,
    env: Arc<TaskEnv>,
    allow_env: Arc<Vec<String>>,
}

impl Setup {
    fn of(
        task: &Arc<Task>,
        experiment: &Experiment,
        machine: &MachineContext<'_>,
    ) -> Result<Self, Infeasible> {
        check_task(task, experiment)?;
        let config = &task.config;
        let directory = &experiment.directory;
        let backend = Backend::choose(task, &experiment.sandbox, directory, machine.sandboxes)?;
        let (network, verifier_network) = policy(task, experiment)?;
        if !egress_proxy::can_hold([&network, &verifier_network], &backend, machine.cli_agents.as_ref()) {
            return Err(Infeasible::NoEgressProxy);
        }
        doubles::check(task, &backend, &network, machine.cli_agents.as_ref())?;
        let requested = experiment.cpus.or(config.environment.cpus);
        let (cpus, warnings) = capped_cpus(requested, backend.processors());
        let limits = SandboxLimits {
            cpus,
            memory_bytes: Some(limits::memory_bytes(experiment, config).value),
            pids: Some(config.environment.pids.and_then(|pids| pids.try_into().ok()).unwrap_or(DEFAULT_PIDS)),
            storage_bytes: Some(config.environment.storage_bytes.unwrap_or(DEFAULT_STORAGE)),
        };
        let env = TaskEnv::of(task, &experiment.allow_env, machine.env)?;
        for step in (0..task.steps.len()).filter_map(|number| task.of_step(number)) {
            TaskEnv::of(&step, &experiment.allow_env, machine.env)?;
        }
        let absolute = std::path::absolute(directory).unwrap_or_else(|_| directory.clone());
        Ok(Self {
            task: task.clone(),
            reference: task_ref(task),
            sandbox: Arc::new(backend.settled_choice(&experiment.sandbox, &absolute)),
            scripts: Arc::new(absolute),
            backend: Arc::new(backend),
            limits,
            warnings: Arc::new(warnings),
            network,
            verifier_network,
            env: Arc::new(env),
            allow_env: Arc::new(experiment.allow_env.clone()),
        })
    }

    /// A trial as data, and the objects opened for planning, whose identity it has.
    fn trial(
        &self,
        experiment: &Experiment,
        entry: &AgentEntry,
        provided: &Provided,
        repetition: u32,
        judge: Option<&TrialJudge>,
    ) -> (TrialSpec, ResolvedTrial) {
        let live = ResolvedTrial {
            id: TrialId::of(&Value::Null),
            specification: Value::Null,
            task: self.task.clone(),
            agent: entry.agent.clone(),
            label: entry.label.clone(),
            price: entry.price,
            route: entry.route.clone(),
            server: entry.server.clone(),
            condition: provided.condition.clone(),
            provision: provided.provision.clone(),
            disclosure: experiment.disclosure_of(&provided.condition),
            backend: self.backend.clone(),
            limits: self.limits,
            warnings: self.warnings.clone(),
            network: self.network.clone(),
            verifier_network: self.verifier_network.clone(),
            cli_agents: None,
            agent_timeout: limits::agent_seconds(&entry.spec, &self.task.config).value,
            step: None,
            step_seconds: limits::step_seconds(&entry.spec, &self.task.config),
            steps: Vec::new(),
            repetition,
            absent: provided.absent.clone(),
            env: self.env.clone(),
            judge: judge.cloned(),
        };
        let specification = live.specify(experiment.seed);
        let is = experiment.condition_of(&provided.condition);
        let spec = TrialSpec {
            schema: TrialSpec::SCHEMA.to_owned(),
            id: TrialId::of(&specification),
            specification,
            task: self.reference.clone(),
            agent: live.label.clone(),
            options: entry.spec.clone(),
            scripts: self.scripts.clone(),
            is: (live.condition != is).then(|| is.to_owned()),
            condition: live.condition.clone(),
            provision: provided.provision_spec.clone(),
            absent: provided.absent_spec.clone(),
            disclosure: live.disclosure,
            sandbox: self.sandbox.clone(),
            limits: live.limits,
            warnings: live.warnings.clone(),
            network: live.network.clone(),
            verifier_network: live.verifier_network.clone(),
            agent_seconds: live.agent_timeout,
            repetition,
            seed: experiment.seed,
            allow_env: self.allow_env.clone(),
            judge: judge.map(|judge| judge.panel.spec.clone()),
        };
        (spec, live)
    }
}

/// The skills that the library's patterns match. A pattern without a match is an error: the run
/// would go on without the intended skills.
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

/// A pattern with its first part that does not exist replaced by the folder whose name is nearest
/// to it.
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

/// The folders of a suite that cannot be read as tasks, with the reason and a hint. Reasons are in
/// plans: they name files relative to the experiment.
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
        let reason = format!("invalid task: {} ({})", why.replace(&base, ""), error.hint());
        let is_taken = suite.tasks.iter().any(|task| task.name == unreadable.name);
        let path = unreadable.folder.display().to_string();
        let task = if is_taken { path.replace(&base, "") } else { unreadable.name };
        Exclusion { task, condition: None, reason }
    };
    std::mem::take(&mut suite.unreadable).into_iter().map(exclude).collect()
}

/// A pairing for a missing task is a typing mistake that would change what is measured.
fn check_names(experiment: &Experiment, suite: &Suite) -> Result<(), PlanError> {
    for name in experiment.pairings.keys() {
        let left_out =
            suite.excluded.iter().chain(suite.unreadable.iter().map(|unreadable| &unreadable.folder));
        let mut names = left_out.filter_map(|folder| folder.file_name());
        if suite.tasks.iter().all(|task| &task.name != name) && !names.any(|known| known == name.as_str()) {
            let message = format!("`[tasks.\"{name}\"]` refers to a task that is not in the suite");
            return Err(PlanError::Name { path: experiment.path.clone(), message });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
