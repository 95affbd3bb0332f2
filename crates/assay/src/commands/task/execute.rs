//! The solution twice and nothing once, in the sandbox that runs will use.

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_diagnostic::Severity;
use assay_fs::{Caps, copy_tree};
use assay_report::clean;
use assay_store::{Cause, ConditionRole, KeptBecause, Outcome, Record, Store, VerifierEnvironment};
use assay_task::check::Finding;
use assay_task::{Grading, RUBRIC_FILE, Task, VerifierMode};
use assay_trial::{
    AgentSpec, Experiment, MachineContext, Permissions, Plan, PlanError, Retries, RunOptions, SandboxKind,
    Sandboxes,
};
use serde::Serialize;

use super::hints::{self, Who};
use crate::config::Settings;
use crate::failure::Failure;
use crate::machine;
use crate::ui::Ui;

/// The sandboxes that are tried in turn where no experiment says which.
const KINDS: [SandboxKind; 2] = [SandboxKind::Bubblewrap, SandboxKind::Docker];

/// In which environment the work on a task is graded in Docker, as far as the checks show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum GradingEnvironment {
    /// The image as it was, with the agent's work folders: the oracle passes that way.
    Restored,
    /// The agent's container: the oracle passes only there, or the task has no other.
    Kept,
    /// The verifier has an environment of its own.
    Separate,
    /// No oracle passes.
    Undecided,
}

impl GradingEnvironment {
    /// As it is printed.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Restored => "restored",
            Self::Kept => "kept",
            Self::Separate => "separate",
            Self::Undecided => "undecided",
        }
    }

    /// What the oracle and the no-op check of a task show.
    fn of(task: &Task, executed: &Executed) -> Option<Self> {
        if executed.sandbox.as_deref() != Some("docker") {
            return None;
        }
        let passed = executed.oracle.as_ref().filter(|oracle| oracle.outcome == Outcome::Passed);
        let counts = |trial: &&TrialSummary| trial.outcome.counts() || trial.cause == Some(Cause::Verifier);
        match passed.and_then(|oracle| oracle.verifier_environment) {
            Some(VerifierEnvironment::Restored) => Some(Self::Restored),
            Some(VerifierEnvironment::Kept) => Some(Self::Kept),
            None if task.config.verifier_mode == VerifierMode::Separate => Some(Self::Separate),
            // Nothing was graded where no container started.
            None => executed.oracle.iter().chain(&executed.nop).find(counts).map(|_| Self::Undecided),
        }
    }
}

/// What one trial came to.
#[derive(Debug, Clone, Serialize)]
pub(in crate::commands) struct TrialSummary {
    pub(super) outcome: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<Cause>,
    pub(super) reward: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    pub(super) seconds: Option<f64>,
    /// In which environment a container's work was graded.
    #[serde(skip_serializing_if = "Option::is_none")]
    verifier_environment: Option<VerifierEnvironment>,
    /// Why it is the agent's own container, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_because: Option<KeptBecause>,
    /// What was changed outside the work folder, where the work is graded in the agent's own container.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    outside: Vec<String>,
    /// The reward of each test, if the verifier wrote several.
    #[serde(skip)]
    pub(super) rewards: BTreeMap<String, f64>,
    /// Names of several rewards of which none is `reward`; empty for other verifiers.
    pub(super) several_rewards: Vec<String>,
    /// The end of what the solution printed.
    #[serde(skip)]
    output: String,
    /// The end of what the verifier printed.
    #[serde(skip)]
    verifier_output: String,
}

impl TrialSummary {
    /// Why the work is graded in the agent's own container, with the files that make it so.
    fn kept_reason(&self) -> String {
        const SHOWN: usize = 5;
        match self.kept_because {
            // The files say why.
            Some(KeptBecause::Oracle) if !self.outside.is_empty() => {}
            Some(reason) => return format!(", because {}", reason.describe()),
            None => return String::new(),
        }
        let shown = self.outside.iter().take(SHOWN).map(|path| clean(path)).collect::<Vec<_>>().join(", ");
        let more = self.outside.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!(", because the oracle changes {shown}{more}")
    }

    /// What to do about a trial that did not come out as it should, and the line that says why; the hint is the one given where nothing does.
    fn advice(&self, otherwise: &'static str) -> (&'static str, String) {
        let reason = self.reason.as_deref().unwrap_or_default();
        let found = match (self.outcome, self.cause) {
            (Outcome::TimedOut, _) => {
                let hint = "the solution needs more time: raise `timeout_sec` under `[agent]` in task.toml, or more processors";
                return (hint, String::new());
            }
            (Outcome::Tampered, _) => {
                let hint = "do not change verifier files or files that interpreters load automatically, or list them in `[metadata.assay] expected`";
                return (hint, String::new());
            }
            (_, Some(Cause::Verifier)) => hints::hint(Who::Verifier, reason)
                .map(|(hint, _)| (hint, String::new()))
                .or_else(|| hints::hint(Who::Verifier, &self.verifier_output)),
            _ => hints::hint(Who::Solution, &self.output)
                .or_else(|| hints::hint(Who::Verifier, &self.verifier_output)),
        };
        found.unwrap_or((otherwise, String::new()))
    }
}

/// What the three trials came to; `null` where one was not executed.
#[derive(Debug, Default, Serialize)]
pub(in crate::commands) struct Executed {
    oracle: Option<TrialSummary>,
    nop: Option<TrialSummary>,
    oracle_again: Option<TrialSummary>,
    /// Oracle trials after the second.
    #[serde(skip)]
    oracle_more: Vec<TrialSummary>,
    /// In which kind of sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<String>,
    /// In which environment the work is graded, in Docker.
    #[serde(skip_serializing_if = "Option::is_none")]
    verifier_environment: Option<GradingEnvironment>,
    /// What could not be checked, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unchecked: Vec<String>,
}

impl Executed {
    pub(in crate::commands) fn is_unchecked(&self) -> bool {
        !self.unchecked.is_empty()
    }

    /// What could not be checked, and why.
    pub(in crate::commands) fn unchecked(&self) -> &[String] {
        &self.unchecked
    }

    /// The oracle trials and the no-op check, as far as they were executed, by name.
    pub(super) fn trials(&self) -> Vec<(&'static str, &TrialSummary)> {
        let oracle = self.oracle.iter().chain(&self.oracle_again).chain(&self.oracle_more);
        let oracle = oracle.map(|trial| ("oracle", trial));
        oracle.chain(self.nop.iter().map(|trial| ("no-op", trial))).collect()
    }

    /// In which kind of sandbox.
    pub(super) fn sandbox(&self) -> Option<&str> {
        self.sandbox.as_deref()
    }

    /// In which environment the work is graded, in Docker.
    pub(super) fn verifier_environment(&self) -> Option<GradingEnvironment> {
        self.verifier_environment
    }

    /// One line for people.
    pub(super) fn line(&self) -> String {
        let word = |played: &Option<TrialSummary>| {
            played.as_ref().map_or("not executed", |played| played.outcome.word()).replace('_', " ")
        };
        let mut text = String::new();
        if let Some(sandbox) = &self.sandbox {
            text.push_str(&format!(
                "  executed in {sandbox}: oracle {}, oracle again {}, no-op {}\n",
                word(&self.oracle),
                word(&self.oracle_again),
                word(&self.nop)
            ));
        }
        if let Some(environment) = self.verifier_environment {
            let reason = self.oracle.as_ref().filter(|_| environment == GradingEnvironment::Kept);
            let reason = reason.map(TrialSummary::kept_reason).unwrap_or_default();
            text.push_str(&format!("  verifier environment: {}{reason}\n", environment.word()));
        }
        for reason in &self.unchecked {
            text.push_str(&format!("  unchecked: {}\n", clean(reason)));
        }
        text
    }

    /// Adds what the trials say against the task.
    pub(in crate::commands) fn add_findings(&self, task: &Task, findings: &mut Vec<Finding>) {
        let solve = task.root.join("solution/solve.sh");
        let tests = match task.layout {
            assay_task::Layout::Harbor => task.root.join("tests/test.sh"),
            assay_task::Layout::TaskMd => task.root.join("verify.sh"),
        };
        self.add_several_rewards(&tests, findings);
        let mut fail = |code: &str, file: &Path, message: String, hint: &str| {
            findings.push(Finding::new(Severity::Error, code, file, message, hint));
        };
        let because = |played: &TrialSummary| {
            played.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"))
        };
        if let Some(oracle) = self.oracle.as_ref().filter(|played| played.outcome != Outcome::Passed)
            && (oracle.outcome.counts() || oracle.cause == Some(Cause::Verifier))
        {
            let word = oracle.outcome.word().replace('_', " ");
            let (hint, line) = oracle.advice("fix the solution or the tests");
            let line = if line.is_empty() { line } else { format!(": {line}") };
            let message = format!("the oracle does not pass ({word}{}{line})", because(oracle));
            fail("oracle-fails", &solve, message, hint);
        }
        if let Some(nop) = &self.nop {
            if nop.outcome == Outcome::Passed {
                let hint = "make the tests require the result of the work";
                fail(
                    "nop-passes",
                    &tests,
                    "the no-op check passes: the tests accept an untouched environment".to_owned(),
                    hint,
                );
            } else if nop.cause == Some(Cause::Verifier) {
                let (hint, line) = nop.advice("write reward 0 when files are missing, too");
                let line = if line.is_empty() { line } else { format!(": {line}") };
                let message = format!("its verifier breaks in the no-op check{}{line}", because(nop));
                fail("nop-breaks", &tests, message, hint);
            }
        }
        let Some(once) = self.oracle.as_ref().filter(|played| played.outcome.counts()) else { return };
        let again = self.oracle_again.iter().chain(&self.oracle_more);
        let differs = |other: &&TrialSummary| {
            other.outcome.counts()
                && (once.outcome, once.reward, &once.rewards) != (other.outcome, other.reward, &other.rewards)
        };
        if let Some(other) = again.into_iter().find(differs) {
            let reward = |played: &TrialSummary| {
                played.reward.map_or("no reward".to_owned(), |reward| reward.to_string())
            };
            let message = format!("the oracle got reward {}, then {}", reward(once), reward(other));
            fail(
                "oracle-unstable",
                &solve,
                message,
                "make solution and tests independent of time, randomness and order",
            );
        }
    }

    /// Adds that the verifier wrote several rewards and none of the name `reward`, unless its text shows it.
    fn add_several_rewards(&self, tests: &Path, findings: &mut Vec<Finding>) {
        let writer = self.oracle.iter().chain(&self.nop).find(|played| !played.several_rewards.is_empty());
        if let Some(played) = writer.filter(|_| !findings.iter().any(|known| known.code == "several-rewards"))
        {
            let all = &played.several_rewards;
            let names = all.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
            let more = if all.len() > 5 { ", …" } else { "" };
            findings.push(Finding::new(
                Severity::Warning,
                "several-rewards",
                tests,
                format!(
                    "the verifier writes {} rewards ({names}{more}) and no key `reward`: a trial passes only if all are 1 or more",
                    all.len()
                ),
                "write the key `reward` (1 if all tests passed), and the tests as a CTRF report",
            ));
        }
    }

    /// The end of what solution and verifier printed, in the first oracle trial and in the no-op check.
    pub(in crate::commands) fn output(&self) -> String {
        let trials = [("the solution's trial", &self.oracle), ("the no-op check", &self.nop)];
        let mut text = String::new();
        for (name, trial) in trials {
            let Some(trial) = trial else { continue };
            let outcome = trial.outcome.word().replace('_', " ");
            let rewards: Vec<String> =
                trial.rewards.iter().map(|(test, reward)| format!("{test} {reward}")).collect();
            text.push_str(&format!("{name}: {outcome}; tests: {}\n", rewards.join(", ")));
            for (what, output) in [("solution", &trial.output), ("verifier", &trial.verifier_output)] {
                if !output.trim().is_empty() {
                    text.push_str(&format!("the {what} printed:\n{}\n", output.trim_end()));
                }
            }
        }
        text
    }
}

/// Executes tasks' checks, in a store of their own.
pub(in crate::commands) struct Executor<'a> {
    experiment: Option<&'a Experiment>,
    store: Store,
    /// What is removed at the end unless something failed.
    folder: PathBuf,
    sandboxes: Sandboxes,
    cancel: Arc<AtomicBool>,
    jobs: usize,
    /// How often the oracle runs.
    oracle_trials: u32,
    keep: bool,
}

impl<'a> Executor<'a> {
    pub(in crate::commands) fn new(
        jobs: usize,
        oracle_trials: u32,
        experiment: Option<&'a Experiment>,
        settings: &Settings,
    ) -> Result<Self, Failure> {
        // A store of its own: what an earlier check recorded says nothing about the machine as it is now.
        let folder = settings.store.join("debug").join(format!("check-{}", std::process::id()));
        let store = machine::open_store(&folder)?;
        let cancel = machine::interrupted()?;
        Ok(Self {
            experiment,
            store,
            folder,
            sandboxes: machine::sandboxes_for(settings)?,
            cancel,
            jobs,
            oracle_trials,
            keep: false,
        })
    }

    pub(in crate::commands) fn interrupted(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// Plays a task's solution twice and nothing once. Where no experiment names judges, the tests of a task with a rubric
    /// decide alone.
    pub(in crate::commands) fn execute(&mut self, task: &Task, ui: &Ui) -> Result<Executed, Failure> {
        let has_judge = self.experiment.is_some_and(|experiment| experiment.judge.is_some());
        if task.graded_by == Grading::TestsAndRubric && !has_judge {
            ui.detail(&format!(
                "{}: the rubric is not judged, because no experiment names judges",
                task.name
            ));
            let copy = self.without_rubric(task)?;
            return self.execute_tests(&copy, ui);
        }
        self.execute_tests(task, ui)
    }

    /// A copy of a task without its rubric.
    fn without_rubric(&self, task: &Task) -> Result<Task, Failure> {
        let failed = |error: &dyn std::fmt::Display| {
            Failure::infrastructure(format!("cannot copy the task {}: {error}", task.root.display()))
        };
        let folder = self.folder.join("without-rubric");
        std::fs::create_dir_all(&folder).map_err(|error| failed(&error))?;
        let copy = folder.join(&task.name);
        if copy.is_dir() {
            assay_fs::remove_tree(&copy).map_err(|error| failed(&error))?;
        }
        copy_tree(&task.root, &copy, &Caps::default()).map_err(|error| failed(&error))?;
        std::fs::remove_file(copy.join(RUBRIC_FILE)).map_err(|error| failed(&error))?;
        Task::load(&copy).map_err(|error| failed(&error))
    }

    fn execute_tests(&mut self, task: &Task, ui: &Ui) -> Result<Executed, Failure> {
        let mut executed = Executed::default();
        let plan = match self.plan(task) {
            Ok(plan) => plan,
            Err(reason) => {
                executed.unchecked.push(reason);
                return Ok(executed);
            }
        };
        executed.sandbox = plan.cells.first().map(|cell| cell.sandbox.clone());
        let run = plan.begin_run(&self.store)?.run;
        let here = machine::context(&self.sandboxes, None);
        let resolver = plan.resolver(&self.store, &here);
        let options = RunOptions::new(self.jobs);
        let outcome =
            assay_trial::run(&plan, &run, &self.store, &resolver, &options, &self.cancel, &mut |event| {
                if let assay_trial::Event::Note(note) = event {
                    ui.note(&note);
                }
            });
        self.store.clear_scratch();
        outcome?;
        let mut summarize = |agent: &str, repetition: u32, what: &str| -> Option<TrialSummary> {
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
            Some(TrialSummary {
                output: end_of(&attempt, "agent/oracle.txt"),
                verifier_output: end_of(&attempt, "verifier/test-stdout.txt"),
                ..summary(&record)
            })
        };
        let oracle = summarize("oracle", 1, "the oracle");
        let again = summarize("oracle", 2, "the second oracle trial");
        let more = (3..=self.oracle_trials)
            .filter_map(|repetition| summarize("oracle", repetition, "an oracle trial"))
            .collect();
        let nop = summarize("nop", 1, "the no-op check");
        (executed.oracle, executed.oracle_again, executed.nop) = (oracle, again, nop);
        executed.oracle_more = more;
        executed.verifier_environment = GradingEnvironment::of(task, &executed);
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
        let permissions = Permissions::ALL;
        let machine = MachineContext { permissions, ..machine::context(&self.sandboxes, None) };
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

    /// Removes the store, unless something in it is worth a look.
    pub(in crate::commands) fn finish(self, ui: &Ui) {
        self.store.clear_scratch();
        if self.keep {
            let store = self.folder.display();
            ui.note(&format!(
                "`assay --store {store} show` lists the trials with the output of solution and tests"
            ));
        } else {
            // If removal fails now, `assay gc` removes the folder later.
            let _ = assay_fs::remove_tree(&self.folder);
        }
    }
}

/// The rewards of a trial, or its checks with 1 for a passed and 0 for a failed one.
fn results(record: &Record) -> BTreeMap<String, f64> {
    let checks = record.checks();
    let decided = checks.into_iter().filter_map(|check| {
        let passed = check.passed()?;
        Some((check.name, if passed { 1.0 } else { 0.0 }))
    });
    let mut results: BTreeMap<String, f64> = decided.collect();
    results.extend(record.rewards.clone());
    results
}

fn summary(record: &Record) -> TrialSummary {
    let seconds = &record.seconds;
    TrialSummary {
        outcome: record.outcome,
        cause: record.cause,
        reward: record.reward,
        reason: record.reason.clone(),
        seconds: seconds.total,
        verifier_environment: record.verifier_environment,
        kept_because: record.kept_because,
        outside: match record.verifier_environment {
            Some(VerifierEnvironment::Kept) => record.outside.clone(),
            _ => Vec::new(),
        },
        rewards: results(record),
        several_rewards: record.rewards.keys().filter(|_| record.has_several_rewards()).cloned().collect(),
        output: String::new(),
        verifier_output: String::new(),
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

/// What `args` say of the sandbox, for the executor.
pub(super) fn jobs(asked: Option<u16>) -> usize {
    asked.map_or(2, usize::from)
}
