//! The solution twice and nothing once, in the sandbox that runs will use.

use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_fs::{Caps, copy_tree};
use assay_store::{AgentSpec, Cause, ConditionRole, Outcome, SandboxKind, Store, StoreError};
use assay_task::{Grading, RUBRIC_FILE, Task};

use super::trials::{GradingEnvironment, TaskTrialSummary, TaskTrials, summarize_record};
use crate::experiment::foreign::Permissions;
use crate::experiment::{Experiment, Retries};
use crate::plan::Plan;
use crate::plan::error::PlanError;
use crate::run::backend::Sandboxes;
use crate::run::context::MachineContext;
use crate::run::execute::run as run_plan;
use crate::run::executor::{Event, RunError, RunOptions};
use crate::run::route::CliAgentContext;

mod grading;

pub use grading::GradedSolution;

/// The sandboxes that are tried in turn where no experiment says which.
const KINDS: [SandboxKind; 2] = [SandboxKind::Bubblewrap, SandboxKind::Docker];

/// What happens while tasks are checked.
#[derive(Debug)]
#[non_exhaustive]
pub enum TaskCheckEvent<'a> {
    /// The trials of a task begin.
    Executing {
        /// The task's name.
        task: &'a str,
        /// How often the oracle runs.
        oracle_trials: u32,
    },
    /// A task has tests and a rubric, and its rubric is not judged: no experiment names judges.
    RubricLeftOut {
        /// The task's name.
        task: &'a str,
    },
    /// A note of the trials.
    Note(&'a str),
}

impl TaskCheckEvent<'_> {
    /// What happens, as a line; `None` for notes, which are lines of their own.
    pub fn describe(&self) -> Option<String> {
        Some(match self {
            Self::Executing { task, oracle_trials: 2 } => {
                format!("{task}: running the oracle twice and the no-op check once")
            }
            Self::Executing { task, oracle_trials } => {
                format!("{task}: running the oracle {oracle_trials} times and the no-op check")
            }
            Self::RubricLeftOut { task } => {
                format!("{task}: the rubric is not judged, because no experiment names judges")
            }
            Self::Note(_) => return None,
        })
    }
}

/// Hears what happens while tasks are checked.
pub trait TaskCheckEvents {
    /// Handles an event. It must return soon.
    fn handle_event(&self, event: &TaskCheckEvent<'_>);
}

impl<F: Fn(&TaskCheckEvent<'_>)> TaskCheckEvents for F {
    fn handle_event(&self, event: &TaskCheckEvent<'_>) {
        self(event);
    }
}

/// Why the checks of a task cannot be executed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TaskCheckError {
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The trials cannot be executed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The task cannot be copied.
    #[error("cannot copy the task {}: {message}", task.display())]
    Copy {
        /// The task's folder.
        task: PathBuf,
        /// What failed.
        message: String,
    },
}

/// The machine on which tasks are checked.
pub struct TaskCheckMachine<'a> {
    /// Looks up an environment variable.
    pub env: &'a (dyn Fn(&str) -> Option<String> + Sync),
    /// Its sandboxes.
    pub sandboxes: Sandboxes,
    /// The CLI agents' installation, if there is one.
    pub cli_agents: Option<CliAgentContext>,
    /// Set when the caller is interrupted.
    pub cancel: Arc<AtomicBool>,
}

impl TaskCheckMachine<'_> {
    fn context(&self, permissions: Permissions) -> MachineContext<'_> {
        MachineContext {
            env: self.env,
            sandboxes: &self.sandboxes,
            dry: false,
            permissions,
            cli_agents: self.cli_agents.clone(),
        }
    }
}

/// Executes tasks' checks, in a store of their own.
pub struct TaskChecker<'a> {
    experiment: Option<&'a Experiment>,
    /// What is removed at the end unless something failed.
    store: Store,
    machine: TaskCheckMachine<'a>,
    jobs: usize,
    /// How often the oracle runs.
    oracle_trials: u32,
    keep: bool,
}

impl<'a> TaskChecker<'a> {
    /// Checks in `store`, which has nothing else: what an earlier check recorded says nothing about the machine as it is
    /// now. `jobs` trials run at once, and the oracle `oracle_trials` times.
    pub fn new(
        store: Store,
        machine: TaskCheckMachine<'a>,
        experiment: Option<&'a Experiment>,
        jobs: usize,
        oracle_trials: u32,
    ) -> Self {
        Self { experiment, store, machine, jobs, oracle_trials, keep: false }
    }

    /// Whether the caller was interrupted.
    pub fn is_interrupted(&self) -> bool {
        self.machine.cancel.load(Ordering::Relaxed)
    }

    /// Plays a task's solution twice and nothing once. Where no experiment names judges, the tests of a task with a rubric
    /// decide alone.
    ///
    /// # Errors
    /// The store or the sandboxes fail. What cannot be executed here is part of the result.
    pub fn execute_task(
        &mut self,
        task: &Task,
        events: &dyn TaskCheckEvents,
    ) -> Result<TaskTrials, TaskCheckError> {
        let trials = self.oracle_trials;
        events.handle_event(&TaskCheckEvent::Executing { task: &task.name, oracle_trials: trials });
        let has_judge = self.experiment.is_some_and(|experiment| experiment.judge.is_some());
        if task.graded_by == Grading::TestsAndRubric && !has_judge {
            events.handle_event(&TaskCheckEvent::RubricLeftOut { task: &task.name });
            let copy = self.without_rubric(task)?;
            return self.execute_tests(&copy, events);
        }
        self.execute_tests(task, events)
    }

    /// A copy of a task without its rubric.
    fn without_rubric(&self, task: &Task) -> Result<Task, TaskCheckError> {
        let failed = |error: &dyn std::fmt::Display| TaskCheckError::Copy {
            task: task.root.clone(),
            message: error.to_string(),
        };
        let folder = self.store.root().join("without-rubric");
        std::fs::create_dir_all(&folder).map_err(|error| failed(&error))?;
        let copy = folder.join(&task.name);
        if copy.is_dir() {
            assay_fs::remove_tree(&copy).map_err(|error| failed(&error))?;
        }
        copy_tree(&task.root, &copy, &Caps::default()).map_err(|error| failed(&error))?;
        std::fs::remove_file(copy.join(RUBRIC_FILE)).map_err(|error| failed(&error))?;
        Task::load(&copy).map_err(|error| failed(&error))
    }

    fn execute_tests(
        &mut self,
        task: &Task,
        events: &dyn TaskCheckEvents,
    ) -> Result<TaskTrials, TaskCheckError> {
        let mut executed = TaskTrials::default();
        let plan = match self.plan(task) {
            Ok(plan) => plan,
            Err(reason) => {
                executed.unchecked.push(reason);
                return Ok(executed);
            }
        };
        executed.sandbox = plan.cells.first().map(|cell| cell.sandbox.clone());
        let run = plan.begin_run(&self.store)?.run;
        let here = self.machine.context(Permissions::default());
        let resolver = plan.resolver(&self.store, &here);
        let options = RunOptions::new(self.jobs);
        let cancel = &self.machine.cancel;
        let outcome = run_plan(&plan, &run, &self.store, &resolver, &options, cancel, &mut |event| {
            if let Event::Note(note) = event {
                events.handle_event(&TaskCheckEvent::Note(&note));
            }
        });
        self.store.clear_scratch();
        outcome?;
        let mut summarize = |agent: &str, repetition: u32, what: &str| -> Option<TaskTrialSummary> {
            let cell = plan
                .cells
                .iter()
                .find(|cell| plan.agents[cell.agent].label.name == agent && cell.repetition == repetition)?;
            let record = self.store.record(&cell.trial).ok().flatten();
            let Some(record) = record else {
                executed.unchecked.push(format!("{what} did not finish"));
                return None;
            };
            if !record.outcome.counts() && record.cause != Some(Cause::Verifier) {
                let reason = record.reason.clone().unwrap_or_default();
                executed.unchecked.push(format!("{what} had an infrastructure error: {reason}"));
            }
            self.keep |= (agent == "nop") == (record.outcome == Outcome::Passed);
            let attempt = self.store.trial_folder(&cell.trial).join(format!("attempts/{}", record.attempt));
            let mut summary = summarize_record(&record);
            summary.output = end_of(&attempt, "agent/oracle.txt");
            summary.verifier_output = end_of(&attempt, "verifier/test-stdout.txt");
            Some(summary)
        };
        let oracle = summarize("oracle", 1, "the oracle");
        let again = summarize("oracle", 2, "the second oracle trial");
        let more = (3..=self.oracle_trials)
            .filter_map(|repetition| summarize("oracle", repetition, "an oracle trial"))
            .collect();
        let nop = summarize("nop", 1, "the no-op check");
        (executed.oracle, executed.oracle_again, executed.nop) = (oracle, again, nop);
        executed.oracle_more = more;
        executed.verifier_environment = GradingEnvironment::of_trials(task, &executed);
        if task.solution_digest.is_none() {
            executed.unchecked.push("no solution/solve.sh: the oracle was not run".to_owned());
        }
        Ok(executed)
    }

    /// The trials, or why there can be none here.
    fn plan(&self, task: &Task) -> Result<Plan, String> {
        let Some(experiment) = self.experiment else {
            let mut first = None;
            for kind in KINDS {
                // For a task that nobody wrote an experiment for: no network, and the host in place of every image.
                let mut experiment = Experiment::new("check", &task.root);
                experiment.sandbox.kind = kind;
                experiment.retries = Retries::of(1);
                match self.plan_with(task, experiment) {
                    Ok(plan) => return Ok(plan),
                    Err(reason) => first = first.or(Some(reason)),
                }
            }
            return Err(first.unwrap_or_default());
        };
        self.plan_with(task, experiment.clone())
    }

    fn plan_with(&self, task: &Task, mut experiment: Experiment) -> Result<Plan, String> {
        let root = task.root.canonicalize().map_err(|error| format!("{}: {error}", task.root.display()))?;
        experiment.use_suite(vec![literal(&root.to_string_lossy())]);
        experiment.conditions = vec![ConditionRole::None.name().to_owned()];
        experiment.repetitions = self.oracle_trials;
        experiment.pairings.retain(|name, _| *name == task.name);
        let mut oracle = AgentSpec::named("oracle");
        // The solution gets the time that the task gives an agent, and more where the experiment gives more.
        let stated = experiment.agents.iter().filter_map(|agent| agent.timeout).fold(0.0, f64::max);
        oracle.timeout = (stated > task.config.agent_timeout.unwrap_or(600.0)).then_some(stated);
        experiment.agents = vec![AgentSpec::named("nop")];
        if task.solution_digest.is_some() {
            experiment.agents.push(oracle);
        }
        // The command has checked the experiment, and no skill is given.
        let machine = self.machine.context(Permissions::ALL);
        let mut plan = Plan::build(experiment, &self.store, &machine).map_err(|error| match error {
            PlanError::Tasks(problems) => problems.first().map_or_else(String::new, ToString::to_string),
            error => error.to_string(),
        })?;
        if plan.cells.is_empty() {
            let reason = plan.excluded.first().map(|excluded| excluded.reason.clone());
            return Err(reason.unwrap_or_else(|| "nothing can run".to_owned()));
        }
        plan.cells.retain(|cell| plan.agents[cell.agent].label.name == "oracle" || cell.repetition == 1);
        Ok(plan)
    }

    /// Removes the store, unless something in it is worth a look: then its folder.
    pub fn close_store(self) -> Option<PathBuf> {
        self.store.clear_scratch();
        let folder = self.store.root().to_path_buf();
        if self.keep {
            return Some(folder);
        }
        // If removal fails now, `assay gc` removes the folder later.
        let _ = assay_fs::remove_tree(&folder);
        None
    }
}

/// The end of a file that a trial left; empty where there is none.
fn end_of(attempt: &Path, name: &str) -> String {
    const MOST: u64 = 16 << 10;
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = std::fs::File::open(attempt.join(name))?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(MOST)))?;
        let mut bytes = Vec::new();
        file.take(MOST).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}

/// A pattern that leads to one path only.
fn literal(path: &str) -> String {
    let mut pattern = String::new();
    for sign in path.chars() {
        if matches!(sign, '*' | '?' | '[' | ']' | '{' | '}') {
            pattern.extend(['[', sign, ']']);
        } else {
            pattern.push(sign);
        }
    }
    pattern
}
