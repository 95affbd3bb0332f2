//! Reference trials of a task beside a trial: its no-op and its oracle.
//!
//! The no-op is graded after an agent's work could not be graded, or not be kept for the next step:
//! the verifier gave no reward, or files of the agent are too large, too deep or of the wrong kind. If
//! the untouched environment can be graded, the agent's work is the reason: the agent must not be able
//! to discard its own trial.
//!
//! The oracle shows in which environment a task's work can be graded.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_agent::{Agent, Nop, Oracle};
use assay_diagnostic::clean_start;
use assay_fs::remove_tree;
use assay_gateway::Budget;
use assay_store::{Cause, TrialId, VerifierEnvironment};

use super::attempt::Attempt;
use super::broken::{Broken, create_folder};
use super::evidence::EvidenceLog;
use super::findings::Findings;
use super::prep_cache::PrepCache;
use super::steps;
use super::task_references::{NoopGrade, TaskReferences};
use super::trial::ResolvedTrial;
use super::verifier::Reward;
use crate::condition::Provision;

/// The folders of an attempt with the files of its references.
const NOOP: &str = "no-op";
const ORACLE: &str = "oracle";

/// The references of a trial's task, under the conditions of the trial.
pub(crate) struct References<'a> {
    pub(crate) cache: &'a PrepCache,
    pub(crate) cancel: &'a AtomicBool,
    pub(crate) budget: &'a Budget,
    /// The whole trial, with all its steps.
    pub(crate) trial: &'a ResolvedTrial,
    /// The folder of the attempt in the store.
    pub(crate) folder: PathBuf,
    /// Its scratch folder.
    pub(crate) scratch: PathBuf,
}

impl TaskReferences for References<'_> {
    fn noop(&self) -> Result<Arc<NoopGrade>, Broken> {
        let trial = self.noop_trial();
        self.cache.noop(key(&trial), || self.grade_noop(&trial))
    }

    fn noop_now(&self) -> Result<NoopGrade, Broken> {
        self.grade_noop(&self.noop_trial())
    }

    fn verifier_environment(&self) -> Result<VerifierEnvironment, Broken> {
        if self.trial.task.solution_digest.is_none() {
            return Ok(VerifierEnvironment::Kept);
        }
        let trial = self.oracle();
        self.cache.verifier_environment(key(&trial), || {
            let (result, findings) = self.execute(&trial, ORACLE)?;
            let passes = findings.reward.as_ref().is_some_and(Reward::is_full);
            match result {
                Ok(()) if passes => Ok(findings.verifier_environment.unwrap_or(VerifierEnvironment::Kept)),
                // Nothing shows that the work can be graded in a restored one.
                Ok(()) | Err(Broken { cause: Cause::Verifier, .. }) => Ok(VerifierEnvironment::Kept),
                Err(broken) => Err(broken),
            }
        })
    }

    fn keep_verifier_environment(&self, found: VerifierEnvironment) -> Result<(), Broken> {
        self.cache.verifier_environment(key(&self.oracle()), || Ok(found)).map(drop)
    }
}

impl References<'_> {
    fn noop_trial(&self) -> ResolvedTrial {
        reference(self.trial, &(Arc::new(Nop) as Arc<dyn Agent>))
    }

    fn grade_noop(&self, trial: &ResolvedTrial) -> Result<NoopGrade, Broken> {
        let (result, findings) = self.execute(trial, NOOP)?;
        match result {
            Ok(()) if findings.reward.is_some() => Ok(NoopGrade::Graded),
            Ok(()) => Ok(NoopGrade::Broken(findings.tampered.join("; "))),
            Err(Broken { cause: Cause::Verifier, message, .. }) => Ok(NoopGrade::Broken(message)),
            Err(broken) => Err(broken),
        }
    }

    fn oracle(&self) -> ResolvedTrial {
        reference(self.trial, &(Arc::new(Oracle) as Arc<dyn Agent>))
    }

    /// Executes a reference in environments of its own.
    fn execute(&self, trial: &ResolvedTrial, name: &str) -> Result<(Result<(), Broken>, Findings), Broken> {
        let folder = self.folder.join(name);
        let scratch = self.scratch.join(name);
        // Only the last grading of a reference is kept.
        remove_tree(&folder).map_err(|error| Broken::harness_error(&error))?;
        create_folder(&folder)?;
        create_folder(&scratch)?;
        let Self { cache, cancel, budget, .. } = *self;
        let evidence = EvidenceLog::new(&folder);
        let whole = Attempt {
            cache,
            cancel,
            budget,
            trial,
            folder: &folder,
            scratch: &scratch,
            evidence: &evidence,
            steps: None,
            references: None,
        };
        let folders = steps::step_folders(&whole);
        let attempts = steps::attempts(&whole, &folders);
        let mut findings = Findings::default();
        let steps = (!attempts.is_empty()).then_some(&attempts[..]);
        let result = Attempt { steps, ..whole }.run(&mut findings);
        // Leftovers are removed with the attempt's own.
        let _ = remove_tree(&scratch);
        if cancel.load(Ordering::Relaxed) {
            return Err(Broken::harness("interrupted"));
        }
        Ok((result, findings))
    }
}

impl Attempt<'_> {
    /// Whether the agent does nothing or has the solution: it is then itself a check of the task.
    pub(crate) fn is_check(&self) -> bool {
        self.trial.agent.needs_solution() || self.trial.agent.name() == Nop.name()
    }

    /// Whether the agent's work is why it could not be graded: what to record as the reason. An error
    /// if it is not, or if that cannot be found out.
    pub(crate) fn blame(&self, broken: Broken) -> Result<String, Broken> {
        let may_be_of_work = match broken.cause {
            Cause::Verifier | Cause::Sandbox | Cause::Harness | Cause::Image => !broken.is_of_machine,
            _ => false,
        };
        let Some(references) = self.references.filter(|_| may_be_of_work && !self.is_check()) else {
            return Err(broken);
        };
        let is_verifier = broken.cause == Cause::Verifier;
        let noop = if is_verifier {
            references.noop().map(|grade| NoopGrade::clone(&grade))
        } else {
            references.noop_now()
        };
        match noop {
            Ok(NoopGrade::Graded) if is_verifier => Ok(format!(
                "the verifier gave no reward for the agent's work, although it grades a no-op: {}",
                broken.message
            )),
            Ok(NoopGrade::Graded) => {
                Ok(format!("the agent's work could not be graded, although a no-op can: {}", broken.message))
            }
            Ok(NoopGrade::Broken(reason)) => {
                let reason = clean_start(&reason, 200);
                let message = format!("{}; a no-op gets none either: {reason}", broken.message);
                Err(Broken { message, ..broken })
            }
            Err(other) => {
                let message = format!("{}; the no-op could not be graded: {}", broken.message, other.message);
                Err(Broken { message, ..broken })
            }
        }
    }
}

/// The key of a reference in caches: what could change its result.
fn key(trial: &ResolvedTrial) -> String {
    let own = ResolvedTrial { agent_timeout: 0.0, ..trial.clone() };
    TrialId::of(&own.specify(0)).to_string()
}

/// The same trial for an agent that checks the task. (The oracle is needed only for tasks without
/// steps.)
fn reference(trial: &ResolvedTrial, agent: &Arc<dyn Agent>) -> ResolvedTrial {
    ResolvedTrial {
        agent: agent.clone(),
        route: None,
        server: None,
        provision: Arc::new(Provision::default()),
        judge: None,
        repetition: 1,
        steps: trial.steps.iter().map(|step| reference(step, agent)).collect(),
        ..trial.clone()
    }
}
