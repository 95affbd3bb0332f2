//! Resolves a trial's specification to live objects, on the executing machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_diagnostic::chain;
use assay_skill::{Digest, Library, Package};
use assay_store::{AgentLabel, AgentSpec, ProvisionSpec, SkillRef, TaskRef, TrialSpec};
use assay_task::{Task, TaskError};
use serde_json::{Value, json};

use crate::condition::{Provision, VersionError, counterfactual_of, extract_version, placebo_of, version_of};
use crate::judging::{Panel, PanelError, TrialJudge};
use crate::plan::agents::label;
use crate::plan::limits::step_seconds;
use crate::plan::rubric::{TaskRubricError, rubric_of};
use crate::reference::task_ref;
use crate::run::backend::{Backend, BackendError};
use crate::run::context::MachineContext;
use crate::run::doubles::{self, DoublesError};
use crate::run::egress_proxy;
use crate::run::env::{EnvError, TaskEnv};
use crate::run::open_agent::{AgentContext, AgentError, OpenedAgent, open_agent};
use crate::run::trial::{AbsentSkill, ResolvedTrial};

/// Where tasks, skills and scripts are on this machine, if not at their planned paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources {
    /// Folders of tasks, or tasks.
    pub suite: Vec<PathBuf>,
    /// Folders of skills, or skills.
    pub library: Vec<PathBuf>,
    /// The base folder of relative paths of scripted models.
    pub scripts: Option<PathBuf>,
    /// A folder for skills that a condition generates.
    pub made: PathBuf,
}

/// Why a trial cannot be executed here.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// No task of that name.
    #[error("no task `{name}` in {}", list(searched))]
    NoTask {
        /// Its name.
        name: String,
        /// The searched folders.
        searched: Vec<PathBuf>,
    },
    /// A task of that name with another content.
    #[error("the task {} differs from the planned one: its digest is {found}, planned {planned}", folder.display())]
    OtherTask {
        /// Its path.
        folder: PathBuf,
        /// Its digest, or its environment's.
        found: Digest,
        /// The same when it was planned.
        planned: Digest,
    },
    /// A task that cannot be read.
    #[error(transparent)]
    Task(Box<TaskError>),
    /// No skill of that content.
    #[error("no skill `{name}` with the planned content ({digest}) in {}", list(searched))]
    NoSkill {
        /// Its name.
        name: String,
        /// Its digest.
        digest: Digest,
        /// The searched folders.
        searched: Vec<PathBuf>,
    },
    /// A version of a skill that cannot be extracted.
    #[error(
        "no skill `{name}` with the planned content ({digest}): `{condition}` cannot be extracted here: {error} (hint: run where the skill's Git repository is, or pass a folder with this version as a library)"
    )]
    NoVersion {
        /// The skill's name.
        name: String,
        /// Its digest.
        digest: Digest,
        /// The trial's condition.
        condition: String,
        /// Why.
        error: Box<VersionError>,
    },
    /// A version of a skill with another content.
    #[error(
        "`{condition}` of the skill `{name}` differs from the planned one: its digest is {found}, planned {planned}"
    )]
    OtherVersion {
        /// The skill's name.
        name: String,
        /// The trial's condition.
        condition: String,
        /// Its digest here.
        found: Digest,
        /// The same when it was planned.
        planned: Digest,
    },
    /// An agent that cannot be set up.
    #[error("cannot set up the agent `{agent}`: {error}")]
    Agent {
        /// Its name.
        agent: String,
        /// Why.
        error: Box<AgentError>,
    },
    /// A sandbox that cannot be used.
    #[error("the task `{task}` cannot be run here: {error}")]
    Backend {
        /// The task.
        task: String,
        /// Why.
        error: Box<BackendError>,
    },
    /// Listed hosts without an egress proxy.
    #[error(
        "the task `{task}` cannot be run here: it needs per-host network rules, which this sandbox cannot enforce"
    )]
    NoEgressProxy {
        /// The task.
        task: String,
    },
    /// Test doubles that cannot be used.
    #[error("the task `{task}` cannot be run here: {error}")]
    Doubles {
        /// The task.
        task: String,
        /// Why.
        error: DoublesError,
    },
    /// A variable without a value.
    #[error("the task `{task}` cannot be run here: {error}")]
    Env {
        /// The task.
        task: String,
        /// Why.
        error: EnvError,
    },
    /// Judges that cannot be used.
    #[error("cannot set up the judges: {0}")]
    Judge(Box<PanelError>),
    /// A rubric that cannot be used.
    #[error("the rubric of the task `{task}` cannot be used: {}", chain(error))]
    Rubric {
        /// The task.
        task: String,
        /// Why.
        error: TaskRubricError,
    },
    /// A trial that would differ from the plan here.
    #[error("trial {id} would differ from the plan here: `{key}` is {found}, planned {planned}")]
    Differs {
        /// Its id, shortened.
        id: String,
        /// What differs: a path through the specification.
        key: String,
        /// Its value here.
        found: Box<Value>,
        /// Its planned value.
        planned: Box<Value>,
    },
}

fn list(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// Turns specifications into live objects. Shared objects are opened once.
pub struct Resolver<'a> {
    machine: &'a MachineContext<'a>,
    sources: Sources,
    opened: Mutex<Opened>,
    #[cfg(test)]
    pub(crate) fake: Fake,
}

/// Replacements in tests; a trial's identity is then not compared.
#[cfg(test)]
#[derive(Default)]
pub(crate) struct Fake {
    pub(crate) backend: Option<Arc<Backend>>,
    pub(crate) agent: Option<Arc<dyn assay_agent::Agent>>,
}

#[derive(Default)]
struct Opened {
    tasks: BTreeMap<(String, Digest, Digest), Arc<Task>>,
    packages: BTreeMap<(Digest, String), Package>,
    /// Whether the folders of skills have been read.
    library_is_read: bool,
    provisions: BTreeMap<String, Arc<Provision>>,
    absent: BTreeMap<String, Arc<Vec<AbsentSkill>>>,
    agents: BTreeMap<String, OpenedAgent>,
    backends: BTreeMap<String, Arc<Backend>>,
    envs: BTreeMap<String, Arc<TaskEnv>>,
    panels: BTreeMap<String, Arc<Panel>>,
}

impl<'a> Resolver<'a> {
    /// A resolver that searches `sources`, or else the planned paths.
    pub fn new(machine: &'a MachineContext<'a>, sources: Sources) -> Self {
        Self {
            machine,
            sources,
            opened: Mutex::default(),
            #[cfg(test)]
            fake: Fake::default(),
        }
    }

    /// Takes a task that is in memory already.
    pub(crate) fn seed_task(&self, task: &Arc<Task>) {
        self.opened().tasks.insert(task_key(&task_ref(task)), task.clone());
    }

    /// Takes a skill that is in memory already.
    pub(crate) fn seed_package(&self, package: &Package) {
        self.opened().packages.insert((package.digest, package.directory.clone()), package.clone());
    }

    /// Takes the backend of a trial, for all trials that have it in common.
    pub(crate) fn seed_backend(&self, spec: &TrialSpec, backend: &Arc<Backend>) {
        self.opened().backends.entry(backend_key(spec)).or_insert_with(|| backend.clone());
    }

    /// Takes the agent of a trial, for all trials that have it in common.
    pub(crate) fn seed_agent(&self, spec: &TrialSpec, agent: impl FnOnce() -> OpenedAgent) {
        self.opened().agents.entry(agent_key(spec, self.scripts(spec))).or_insert_with(agent);
    }

    /// The base folder of relative paths of scripted models.
    fn scripts<'s>(&'s self, spec: &'s TrialSpec) -> &'s Path {
        self.sources.scripts.as_deref().unwrap_or(&spec.scripts)
    }

    fn opened(&self) -> MutexGuard<'_, Opened> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds and opens everything that a trial needs.
    ///
    /// # Errors
    /// Missing parts, and parts that differ from the plan.
    pub fn resolve(&self, spec: &TrialSpec) -> Result<ResolvedTrial, ResolveError> {
        let mut opened = self.opened();
        let task = self.task(&mut opened, &spec.task)?;
        // Absent skills first: they include the original of a placebo.
        let absent = self.absent(&mut opened, spec, &task)?;
        let provision = self.provision(&mut opened, spec, &task)?;
        let backend = self.backend(&mut opened, spec, &task)?;
        let policies = [&spec.network, &spec.verifier_network];
        if !egress_proxy::can_hold(policies, &backend, self.machine.cli_agents.as_ref()) {
            return Err(ResolveError::NoEgressProxy { task: task.name.clone() });
        }
        doubles::check(&task, &backend, &spec.network, self.machine.cli_agents.as_ref())
            .map_err(|error| ResolveError::Doubles { task: task.name.clone(), error })?;
        let agent = self.agent(&mut opened, spec)?;
        let env = self.env(&mut opened, spec, &task)?;
        let judge = self.trial_judge(&mut opened, spec, &task)?;
        drop(opened);
        let step_seconds = step_seconds(&spec.options, &task.config);
        let mut trial = ResolvedTrial {
            id: spec.id.clone(),
            specification: spec.specification.clone(),
            task,
            agent: agent.agent,
            label: spec.agent.clone(),
            price: spec.options.price,
            route: agent.route,
            server: agent.server,
            condition: spec.condition.clone(),
            provision,
            disclosure: spec.disclosure,
            backend,
            limits: spec.limits,
            warnings: spec.warnings.clone(),
            network: spec.network.clone(),
            verifier_network: spec.verifier_network.clone(),
            cli_agents: self.machine.cli_agents.clone(),
            agent_timeout: spec.agent_seconds,
            step: None,
            step_seconds,
            steps: Vec::new(),
            repetition: spec.repetition,
            absent,
            env,
            judge,
        };
        let variables = |task: &Task| TaskEnv::of(task, &spec.allow_env, self.machine.env);
        trial.steps = trial
            .of_steps(variables)
            .map_err(|error| ResolveError::Env { task: trial.task.name.clone(), error })?;
        #[cfg(test)]
        if self.fake.backend.is_some() || self.fake.agent.is_some() {
            return Ok(trial);
        }
        compare(spec, trial)
    }

    /// Waits until all pending removals of containers are done.
    pub(crate) fn wait_for_removals(&self) {
        let backends: Vec<_> = self.opened().backends.values().cloned().collect();
        for backend in backends {
            backend.wait_for_removals();
        }
    }

    fn task(&self, opened: &mut Opened, planned: &TaskRef) -> Result<Arc<Task>, ResolveError> {
        if let Some(task) = opened.tasks.get(&task_key(planned)) {
            return Ok(task.clone());
        }
        let searched = if self.sources.suite.is_empty() {
            vec![planned.folder.clone()]
        } else {
            self.sources.suite.clone()
        };
        let mut other = None;
        let mut unreadable = None;
        for folder in folders(&searched, &planned.name) {
            let mut task = match Task::load(&folder) {
                Ok(task) => task,
                Err(error) => {
                    unreadable.get_or_insert(error);
                    continue;
                }
            };
            // Specifications of 0.1.0 have the digest with labels.
            let is_planned = [task.digest, task.labeled_digest].contains(&planned.digest);
            if is_planned && task.environment_digest == planned.environment {
                // Scripts and records use the name under which it was planned.
                task.name.clone_from(&planned.name);
                let task = Arc::new(task);
                opened.tasks.insert(task_key(planned), task.clone());
                return Ok(task);
            }
            if other.is_none() && task.name == planned.name {
                let (found, planned) = if is_planned {
                    (task.environment_digest, planned.environment)
                } else {
                    (task.digest, planned.digest)
                };
                other = Some(ResolveError::OtherTask { folder, found, planned });
            }
        }
        let unreadable = unreadable.map(|error| ResolveError::Task(Box::new(error)));
        let missing = || ResolveError::NoTask { name: planned.name.clone(), searched };
        Err(other.or(unreadable).unwrap_or_else(missing))
    }

    /// A skill of the task, of the library, or one that a condition makes of those.
    fn package(
        &self,
        opened: &mut Opened,
        planned: &SkillRef,
        task: &Task,
        spec: &TrialSpec,
    ) -> Result<Package, ResolveError> {
        let key = (planned.digest, planned.directory.clone());
        if let Some(package) = opened.packages.get(&key) {
            return Ok(package.clone());
        }
        let keep = |opened: &mut Opened, package: Package| {
            opened.packages.insert((package.digest, package.directory.clone()), package);
        };
        for package in &task.skills {
            keep(opened, package.clone());
        }
        if !opened.library_is_read {
            opened.library_is_read = true;
            for package in Library::load(&self.sources.library).packages {
                keep(opened, package);
            }
        }
        if self.sources.library.is_empty()
            && let Some(package) = Package::load(&planned.folder).package
        {
            keep(opened, package);
        }
        if let Some(package) = opened.packages.get(&key) {
            return Ok(package.clone());
        }
        if let Some(package) = version_of((&planned.directory, planned.digest), &self.sources.made) {
            keep(opened, package.clone());
            return Ok(package);
        }
        if let Some(package) = counterfactual_of((&planned.directory, planned.digest), &self.sources.made) {
            keep(opened, package.clone());
            return Ok(package);
        }
        let originals: Vec<Package> = opened.packages.values().cloned().collect();
        if let Some(package) =
            placebo_of(&originals, (&planned.directory, planned.digest), spec.seed, &self.sources.made)
        {
            keep(opened, package.clone());
            return Ok(package);
        }
        let is_provided = spec.provision.skills.contains(planned);
        let original = spec.absent.iter().find(|skill| is_provided && skill.directory == planned.directory);
        if let Some(original) = original
            && let Some(original) = opened.packages.get(&(original.digest, original.directory.clone()))
            && let Some(version) = extract_version(
                spec.is.as_deref().unwrap_or(&spec.condition),
                original,
                self.scripts(spec),
                &self.sources.made,
            )
        {
            let (name, condition) = (planned.name.clone(), spec.condition.clone());
            let digest = planned.digest;
            let package = version.map_err(Box::new).map_err(|error| ResolveError::NoVersion {
                name: name.clone(),
                digest,
                condition: condition.clone(),
                error,
            })?;
            if package.digest != digest {
                let found = package.digest;
                return Err(ResolveError::OtherVersion { name, condition, found, planned: digest });
            }
            keep(opened, package.clone());
            return Ok(package);
        }
        let searched = if self.sources.library.is_empty() {
            vec![planned.folder.clone()]
        } else {
            self.sources.library.clone()
        };
        Err(ResolveError::NoSkill { name: planned.name.clone(), digest: planned.digest, searched })
    }

    fn provision(
        &self,
        opened: &mut Opened,
        spec: &TrialSpec,
        task: &Task,
    ) -> Result<Arc<Provision>, ResolveError> {
        let ProvisionSpec { skills, preface, writes_skills } = &*spec.provision;
        let key = format!("{} {writes_skills} {preface}", names(skills));
        if let Some(provision) = opened.provisions.get(&key) {
            return Ok(provision.clone());
        }
        let skills = skills
            .iter()
            .map(|skill| self.package(opened, skill, task, spec))
            .collect::<Result<Vec<_>, _>>()?;
        let provision =
            Arc::new(Provision { skills, preface: preface.clone(), writes_skills: *writes_skills });
        opened.provisions.insert(key, provision.clone());
        Ok(provision)
    }

    fn absent(
        &self,
        opened: &mut Opened,
        spec: &TrialSpec,
        task: &Task,
    ) -> Result<Arc<Vec<AbsentSkill>>, ResolveError> {
        let key = names(&spec.absent);
        if let Some(absent) = opened.absent.get(&key) {
            return Ok(absent.clone());
        }
        let absent = spec
            .absent
            .iter()
            .map(|skill| Ok(AbsentSkill::from(&self.package(opened, skill, task, spec)?)))
            .collect::<Result<Vec<_>, ResolveError>>()?;
        let absent = Arc::new(absent);
        opened.absent.insert(key, absent.clone());
        Ok(absent)
    }

    fn backend(
        &self,
        opened: &mut Opened,
        spec: &TrialSpec,
        task: &Task,
    ) -> Result<Arc<Backend>, ResolveError> {
        #[cfg(test)]
        if let Some(fake) = &self.fake.backend {
            return Ok(fake.clone());
        }
        let key = backend_key(spec);
        if let Some(backend) = opened.backends.get(&key) {
            return Ok(backend.clone());
        }
        let backend = Backend::choose(task, &spec.sandbox, Path::new("/"), self.machine.sandboxes)
            .map_err(Box::new)
            .map_err(|error| ResolveError::Backend { task: task.name.clone(), error })?;
        let backend = Arc::new(backend);
        opened.backends.insert(key, backend.clone());
        Ok(backend)
    }

    fn agent(&self, opened: &mut Opened, spec: &TrialSpec) -> Result<OpenedAgent, ResolveError> {
        #[cfg(test)]
        if let Some(agent) = &self.fake.agent
            && spec.agent.name != "oracle"
        {
            return Ok(OpenedAgent { agent: agent.clone(), route: None, placement: None, server: None });
        }
        let AgentLabel { name, version, .. } = &spec.agent;
        let scripts = self.scripts(spec);
        let key = agent_key(spec, scripts);
        if let Some(agent) = opened.agents.get(&key) {
            return Ok(agent.clone());
        }
        let mut options = AgentSpec::clone(&spec.options);
        if assay_agent::cli_agents::find(name).is_some() {
            options.version = Some(version.clone());
        }
        let context = AgentContext { scripts, sandbox: spec.sandbox.kind, disclosure: spec.disclosure };
        let agent = open_agent(&options, context, self.machine)
            .map_err(Box::new)
            .map_err(|error| ResolveError::Agent { agent: name.clone(), error })?;
        opened.agents.insert(key, agent.clone());
        Ok(agent)
    }

    fn trial_judge(
        &self,
        opened: &mut Opened,
        spec: &TrialSpec,
        task: &Task,
    ) -> Result<Option<TrialJudge>, ResolveError> {
        let Some(judge) = &spec.judge else { return Ok(None) };
        let scripts = self.scripts(spec);
        let key = format!("{judge:?} {}", scripts.display());
        let panel = if let Some(panel) = opened.panels.get(&key) {
            panel.clone()
        } else {
            let panel = Panel::open(judge, scripts, self.machine);
            let panel = Arc::new(panel.map_err(|error| ResolveError::Judge(Box::new(error)))?);
            opened.panels.insert(key, panel.clone());
            panel
        };
        let rubric =
            rubric_of(task).map_err(|error| ResolveError::Rubric { task: task.name.clone(), error })?;
        Ok(Some(TrialJudge { panel, rubric: Arc::new(rubric) }))
    }

    fn env(&self, opened: &mut Opened, spec: &TrialSpec, task: &Task) -> Result<Arc<TaskEnv>, ResolveError> {
        let key = format!("{} {:?}", task_name(&spec.task), spec.allow_env);
        if let Some(env) = opened.envs.get(&key) {
            return Ok(env.clone());
        }
        let env = TaskEnv::of(task, &spec.allow_env, self.machine.env)
            .map_err(|error| ResolveError::Env { task: task.name.clone(), error })?;
        let env = Arc::new(env);
        opened.envs.insert(key, env.clone());
        Ok(env)
    }
}

fn task_key(task: &TaskRef) -> (String, Digest, Digest) {
    (task.name.clone(), task.digest, task.environment)
}

fn task_name(task: &TaskRef) -> String {
    format!("{} {} {}", task.name, task.digest, task.environment)
}

fn backend_key(spec: &TrialSpec) -> String {
    format!("{} {:?}", task_name(&spec.task), spec.sandbox)
}

fn agent_key(spec: &TrialSpec, scripts: &Path) -> String {
    let AgentLabel { name, version, .. } = &spec.agent;
    format!(
        "{name} {version} {:?} {:?} {:?} {}",
        spec.options,
        spec.disclosure,
        spec.sandbox.kind,
        scripts.display()
    )
}

fn names(skills: &[SkillRef]) -> String {
    skills.iter().map(|skill| format!("{} {}\n", skill.digest, skill.directory)).collect()
}

/// The folders that may contain a task, each of `searched` or below it: those of its name first.
fn folders(searched: &[PathBuf], name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in searched {
        if Task::is_task(folder) {
            found.push(folder.clone());
            continue;
        }
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut below: Vec<PathBuf> =
            entries.map(|entry| entry.path()).filter(|path| Task::is_task(path)).collect();
        below.sort();
        found.extend(below);
    }
    found.sort_by_key(|path| path.file_name() != Some(name.as_ref()));
    found
}

/// Compares a trial with its specification: the digests of task, skills and image, the agent's
/// identity, and all limits.
fn compare(spec: &TrialSpec, trial: ResolvedTrial) -> Result<ResolvedTrial, ResolveError> {
    let present = trial.specify(spec.seed);
    let earlier = trial.specify_earlier(&present).filter(|_| spec.is_earlier());
    let found = difference(&spec.specification, &earlier.unwrap_or(present), "");
    // Records name the agent as the plan does.
    let found = found.or_else(|| difference(&json!(spec.agent), &json!(label(&*trial.agent)), "label"));
    match found {
        None => Ok(trial),
        Some((key, planned, found)) => Err(ResolveError::Differs {
            id: spec.id.short().to_owned(),
            key,
            found: Box::new(found),
            planned: Box::new(planned),
        }),
    }
}

/// The first place at which two values differ, with both.
fn difference(planned: &Value, found: &Value, at: &str) -> Option<(String, Value, Value)> {
    if let (Value::Object(planned), Value::Object(found)) = (planned, found) {
        let keys = planned.keys().chain(found.keys().filter(|key| !planned.contains_key(*key)));
        let value =
            |map: &serde_json::Map<String, Value>, key: &str| map.get(key).cloned().unwrap_or_default();
        return keys.into_iter().find_map(|key| {
            let at = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
            difference(&value(planned, key), &value(found, key), &at)
        });
    }
    (planned != found).then(|| (at.to_owned(), planned.clone(), found.clone()))
}
