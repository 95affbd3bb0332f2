//! The no-op, graded after a verifier gave no reward for an agent's work.
//!
//! A verifier that grades the untouched environment and ends without a reward on an agent's work
//! failed because of that work: the agent must not be able to discard its own trial.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_agent::{Agent as _, Nop};
use assay_diagnostic::clean_start;
use assay_fs::remove_tree;
use assay_gateway::Budget;
use assay_store::{Cause, TrialId};

use super::attempt::Attempt;
use super::broken::{Broken, create_folder};
use super::findings::Findings;
use super::prep_cache::PrepCache;
use super::steps;
use super::trial::ResolvedTrial;
use crate::condition::Provision;

/// The folder of an attempt with the files of its no-op.
const FOLDER: &str = "no-op";

/// What a task's verifier makes of the untouched environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoopGrade {
    /// It gives a reward.
    Graded,
    /// It gives none, for this reason.
    Broken(String),
}

/// The no-op of a trial's task, under the conditions of the trial.
pub(crate) struct Noop<'a> {
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

impl Noop<'_> {
    /// Grades it in a fresh environment, once per task and process.
    pub(crate) fn grade(&self) -> Result<Arc<NoopGrade>, Broken> {
        let trial = noop_of(self.trial);
        let key = TrialId::of(&trial.specify(0));
        self.cache.noop(key.to_string(), || self.execute(&trial))
    }

    fn execute(&self, trial: &ResolvedTrial) -> Result<NoopGrade, Broken> {
        let folder = self.folder.join(FOLDER);
        let scratch = self.scratch.join(FOLDER);
        create_folder(&folder)?;
        create_folder(&scratch)?;
        let Self { cache, cancel, budget, .. } = *self;
        let whole = Attempt {
            cache,
            cancel,
            budget,
            trial,
            folder: &folder,
            scratch: &scratch,
            steps: None,
            noop: None,
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
        match result {
            Ok(()) if findings.reward.is_some() => Ok(NoopGrade::Graded),
            Ok(()) => Ok(NoopGrade::Broken(findings.tampered.join("; "))),
            Err(Broken { cause: Cause::Verifier, message }) => Ok(NoopGrade::Broken(message)),
            Err(broken) => Err(broken),
        }
    }
}

impl Attempt<'_> {
    /// Whether the agent's work is why a verifier gave no reward: what to record as the reason. An
    /// error if it is not, or if that cannot be found out.
    pub(crate) fn blame(&self, broken: Broken) -> Result<String, Broken> {
        let agent = &self.trial.agent;
        let is_check = agent.needs_solution() || agent.name() == Nop.name();
        let Some(noop) = self.noop.filter(|_| broken.cause == Cause::Verifier && !is_check) else {
            return Err(broken);
        };
        match noop.grade().as_deref() {
            Ok(NoopGrade::Graded) => Ok(format!(
                "the verifier gave no reward for the agent's work, although it grades a no-op: {}",
                broken.message
            )),
            Ok(NoopGrade::Broken(reason)) => {
                let reason = clean_start(reason, 200);
                Err(Broken {
                    message: format!("{}; a no-op gets none either: {reason}", broken.message),
                    ..broken
                })
            }
            Err(other) => {
                let message = format!("{}; the no-op could not be graded: {}", broken.message, other.message);
                Err(Broken { message, ..broken })
            }
        }
    }
}

/// The same trial for an agent that does nothing.
fn noop_of(trial: &ResolvedTrial) -> ResolvedTrial {
    let seconds = trial.step_seconds.clone();
    ResolvedTrial {
        agent: Arc::new(Nop),
        route: None,
        server: None,
        provision: Arc::new(Provision::default()),
        judge: None,
        repetition: 1,
        absent: Arc::default(),
        steps: trial.steps.iter().map(noop_of).collect(),
        step_seconds: seconds,
        ..trial.clone()
    }
}
