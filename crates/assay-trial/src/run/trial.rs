//! A trial with the live objects needed to execute it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_agent::{Agent, CatalogueEntry};
use assay_model::{Price, ScriptContext};
use assay_skill::Package;
use assay_store::{AgentLabel, EARLIER_PROTOCOL, NetworkPolicy, PROTOCOL, SandboxLimits, TrialId, work_of};
use assay_task::Task;
use assay_trace::Disclosure;

use serde_json::{Value, json};

use crate::condition::Provision;
use crate::judging::TrialJudge;
use crate::run::backend::Backend;
use crate::run::env::TaskEnv;
use crate::run::route::{CliAgentContext, ModelRoute};

/// The version of how test doubles answer, which is part of the identity of trials that have some.
const DOUBLES_VERSION: u32 = 1;

/// A trial's live objects, on the machine that executes it.
#[derive(Clone)]
pub struct ResolvedTrial {
    /// The hash of everything that can change its outcome.
    pub id: TrialId,
    /// The hashed document.
    pub specification: Value,
    /// The task.
    pub task: Arc<Task>,
    /// The agent.
    pub agent: Arc<dyn Agent>,
    /// Who it is in records.
    pub label: AgentLabel,
    /// What its tokens cost.
    pub price: Option<Price>,
    /// The route to its model, for agents that run in the sandbox.
    pub route: Option<Arc<ModelRoute>>,
    /// The server of its model, as declared: a name, or an address in its normal form.
    pub server: Option<String>,
    /// The condition under which it was first planned.
    pub condition: String,
    /// Its skills.
    pub provision: Arc<Provision>,
    /// How they are disclosed.
    pub disclosure: Disclosure,
    /// The place in which it runs.
    pub backend: Arc<Backend>,
    /// Its resource limits.
    pub limits: SandboxLimits,
    /// What the task requests and this machine cannot provide.
    pub warnings: Arc<Vec<String>>,
    /// The agent's network policy.
    pub network: NetworkPolicy,
    /// The verifier's network policy.
    pub verifier_network: NetworkPolicy,
    /// The forwarder to the egress proxy.
    pub cli_agents: Option<CliAgentContext>,
    /// Seconds of the agent's own time.
    pub agent_timeout: f64,
    /// The same in each step of the task, if it has any.
    pub step_seconds: Vec<f64>,
    /// The name of the step that it is, if it is one.
    pub step: Option<String>,
    /// The steps of the task as trials of their own, to be executed one after another. Empty while
    /// planning.
    pub steps: Vec<ResolvedTrial>,
    /// From 1.
    pub repetition: u32,
    /// Bodies of the experiment's skills that were not provided, for the search for contamination.
    pub absent: Arc<Vec<AbsentSkill>>,
    /// Variables of its commands.
    pub env: Arc<TaskEnv>,
    /// Who decides the task's rubric, if it has one.
    pub judge: Option<TrialJudge>,
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

impl From<&Package> for AbsentSkill {
    fn from(skill: &Package) -> Self {
        Self { name: skill.name.clone(), document: skill.document.clone(), body: skill.body.clone() }
    }
}

impl ResolvedTrial {
    /// The trials of the task's steps, given each one's seconds and variables.
    pub(crate) fn of_steps<E>(&self, env: impl Fn(&Task) -> Result<TaskEnv, E>) -> Result<Vec<Self>, E> {
        let mut steps = Vec::new();
        for (number, (step, seconds)) in self.task.steps.iter().zip(&self.step_seconds).enumerate() {
            let Some(task) = self.task.of_step(number) else { break };
            // The oracle has nothing to do in a step without a solution.
            let is_idle = self.agent.needs_solution() && !step.is_solved;
            let agent = if is_idle { Arc::new(assay_agent::Nop) } else { self.agent.clone() };
            steps.push(Self {
                env: Arc::new(env(&task)?),
                task: Arc::new(task),
                agent,
                agent_timeout: *seconds,
                step: Some(step.name().to_owned()),
                step_seconds: Vec::new(),
                steps: Vec::new(),
                ..self.clone()
            });
        }
        Ok(steps)
    }

    /// The folder that a skill is mounted at.
    pub fn mount_of(&self, skill: &Package) -> PathBuf {
        Path::new(self.agent.skills_dir()).join(&skill.directory)
    }

    /// Its position in the experiment, for scripted models. What a script draws at random depends on what identified
    /// the trial at first, so that demonstrations keep their figures when the id schema changes. It does not depend on who
    /// judges the work: another judge decides on the same.
    pub fn script_context(&self) -> ScriptContext {
        let work = work_of(&self.specification);
        let mut identity = self.specify_earlier(&self.specification).unwrap_or_else(|| work.clone());
        if let Some(keys) = identity.as_object_mut() {
            keys.shift_remove("judge");
        }
        let seed = TrialId::of(&identity).seed();
        ScriptContext {
            task: self.task.name.clone(),
            condition: self.condition.clone(),
            repetition: self.repetition,
            seed,
        }
    }

    /// The catalogue that the agent sees; `path` converts a path to one inside the sandbox.
    pub fn catalogue(&self, path: impl Fn(&Path) -> PathBuf) -> Vec<CatalogueEntry> {
        let entry = |skill: &Package| CatalogueEntry {
            name: skill.name.clone(),
            description: skill.description.clone(),
            path: path(&self.mount_of(skill).join("SKILL.md")),
            body: skill.body.clone(),
        };
        self.provision.skills.iter().map(entry).collect()
    }

    /// Everything that can change its outcome and nothing else: no path, no address but the declared one of the
    /// model's server, no time, price or secret, no label of the task, and not the condition's name (unless a
    /// script reads it). Environment templates are part of the task; their expansion may be a secret and is not.
    ///
    /// This is the id schema [`PROTOCOL`]. A change needs another number, and its place in
    /// [`ResolvedTrial::specify_earlier`], by which records of before are found.
    pub(crate) fn specify(&self, seed: u64) -> Value {
        let task = &self.task;
        let skills = self.provision.skills.iter();
        let provision: Vec<Value> =
            skills.map(|skill| json!({ "skill": skill.digest, "mount": self.mount_of(skill) })).collect();
        let oracle = self.agent.needs_solution();
        let mut specification = json!({
            "protocol": PROTOCOL,
            "task": task.digest,
            "solution": if oracle { json!(task.solution_digest) } else { Value::Null },
            "environment": { "context": task.environment_digest, "base": self.backend.base() },
            "provision": provision,
            "disclosure": self.disclosure,
            "preface": self.provision.preface,
            "writes_skills": self.provision.writes_skills,
            "condition": if self.agent.reads_condition() { json!(self.condition) } else { Value::Null },
            "agent": self.agent.identity(),
            "server": self.server,
            "sandbox": self.backend.kind(),
            "limits": {
                "resources": self.limits,
                "agent_seconds": self.agent_timeout,
                "verifier_seconds": task.config.verifier_timeout,
            },
            "network": { "agent": self.network, "verifier": self.verifier_network },
            "verifier_mode": task.config.verifier_mode,
            "repetition": self.repetition,
            "seed": seed,
        });
        if task.doubles.is_some() {
            specification["doubles"] = json!(DOUBLES_VERSION);
        }
        if !self.step_seconds.is_empty() {
            specification["steps"] = json!(self.step_seconds);
        }
        // Only the oracle gets them, and no other identity contains them.
        if let Some(digest) = oracle.then(|| task.baked_skills_digest()).flatten() {
            specification["task_skills"] = json!(digest);
        }
        match &self.judge {
            None => specification,
            // A judgement has an id of its own: another judge decides on the same work.
            Some(judge) => {
                json!({ "protocol": PROTOCOL, "work": specification, "judge": judge.identity() })
            }
        }
    }

    /// The work of the agent that judges decide on, as a trial of its own.
    pub(crate) fn work(&self) -> Self {
        let specification = work_of(&self.specification).clone();
        Self { id: TrialId::of(&specification), specification, ..self.clone() }
    }

    /// What identified it before [`PROTOCOL`], from what identifies it now. `None` if it did not exist then.
    pub(crate) fn specify_earlier(&self, specification: &Value) -> Option<Value> {
        // The gateway did not set it.
        if self.route.as_ref().is_some_and(|route| route.temperature.is_some()) {
            return None;
        }
        // A judgment was part of its trial.
        let mut earlier = work_of(specification).clone();
        earlier["protocol"] = json!(EARLIER_PROTOCOL);
        earlier["task"] = json!(self.task.labeled_digest);
        earlier.as_object_mut()?.shift_remove("server");
        if let Some(judge) = &self.judge {
            earlier["judge"] = judge.panel.earlier_identity();
        }
        Some(earlier)
    }
}
