//! What an attempt has found so far, and the outcome that follows from it.

use std::collections::BTreeMap;

use assay_agent::{AgentRun, Ended};
use assay_sandbox::Enforcement;
use assay_store::{
    Cause, GeneratedSkill, KeptBecause, Metered, Outcome, Seconds, StepRecord, VerifierEnvironment,
};
use assay_trace::{Exposure, Trajectory};

use crate::run::doubles::DoubleCalls;
use crate::run::verifier::Reward;

/// The results of an attempt so far, or of one of its steps; they are recorded even after an
/// infrastructure error.
#[derive(Default)]
pub(crate) struct Findings {
    pub(crate) run: Option<AgentRun>,
    /// Whether the agent's part is over, and its sandbox did not break meanwhile: errors from now on
    /// may come from its work.
    pub(crate) has_worked: bool,
    pub(crate) exposure: Vec<Exposure>,
    /// Whether the condition's text was in what the model was sent, if there is one.
    pub(crate) text_sent: Option<bool>,
    /// The skills that the agent wrote, if it was asked to.
    pub(crate) generated: Option<Vec<GeneratedSkill>>,
    pub(crate) reward: Option<Reward>,
    pub(crate) ctrf: Option<serde_json::Value>,
    /// Why there is no reward from the verifier, if the agent's work is the reason.
    pub(crate) no_reward: Option<String>,
    /// Why the work may have failed in a restored environment: the agent changed what could control a
    /// verifier.
    pub(crate) had_no_effect: Option<String>,
    /// The score of the tests of a task that judges decide too.
    pub(crate) judged_numbers: BTreeMap<String, f64>,
    pub(crate) contaminated: Vec<String>,
    pub(crate) tampered: Vec<String>,
    pub(crate) outside: Vec<String>,
    /// In which environment a container's work was graded.
    pub(crate) verifier_environment: Option<VerifierEnvironment>,
    /// Why it is the agent's own, if it is.
    pub(crate) kept_because: Option<KeptBecause>,
    pub(crate) task_skills: Vec<String>,
    pub(crate) enforcement: Option<Enforcement>,
    pub(crate) used: Option<assay_sandbox::Usage>,
    pub(crate) metered: Option<Metered>,
    pub(crate) seconds: Seconds,
    /// Lines that the agent added and removed in the work folder.
    pub(crate) lines_changed: Option<usize>,
    /// Calls to the task's test doubles, if it has any that are called.
    pub(crate) doubles: Option<DoubleCalls>,
    /// The steps, and how they ended, of a task that has any.
    pub(crate) steps: Option<StepResults>,
}

impl Findings {
    /// The work is graded in the agent's own container.
    pub(crate) fn keep_environment(&mut self, reason: KeptBecause) {
        self.verifier_environment = Some(VerifierEnvironment::Kept);
        self.kept_because = Some(reason);
    }
}

/// The steps of an attempt, and what follows from them.
#[derive(Debug, Default)]
pub(crate) struct StepResults {
    /// One for each step of the task.
    pub(crate) records: Vec<StepRecord>,
    /// Why the last ones were not run.
    pub(crate) stopped: Option<String>,
    /// Whether the agent ran out of time in every step whose reward counts.
    pub(crate) is_late: bool,
}

/// The outcome of a trial, or of a step, in which nothing broke. An agent that ran out of time has
/// not passed, whatever it had done by then: its work is graded, and the reward kept.
pub(crate) fn outcome(findings: &Findings) -> (Outcome, Option<Cause>, Option<String>) {
    if !findings.tampered.is_empty() {
        return (Outcome::Tampered, None, Some(findings.tampered.join("; ")));
    }
    let is_late = match &findings.steps {
        Some(steps) => steps.is_late,
        None => findings.run.as_ref().is_some_and(|run| run.ended == Ended::Deadline),
    };
    let stopped = findings.steps.as_ref().and_then(|steps| steps.stopped.clone());
    let reason = findings.no_reward.clone().or_else(|| stopped.clone());
    match &findings.reward {
        None => {
            let reason = "the verifier gave no reward".to_owned();
            (Outcome::Infrastructure, Some(Cause::Verifier), Some(reason))
        }
        Some(_) if is_late => (Outcome::TimedOut, None, reason),
        Some(reward) if reward.is_full() && reason.is_none() => (Outcome::Passed, None, None),
        Some(_) => (Outcome::Failed, None, reason.or_else(|| findings.had_no_effect.clone())),
    }
}

/// The turns of a conversation; `None` if requests went through the gateway and the agent's transcript has
/// no turn: it cannot be read, or there is none.
pub(crate) fn known_turns(trajectory: &Trajectory, metered: Option<&Metered>) -> Option<usize> {
    let is_unread = metered.is_some_and(|metered| metered.requests > 0);
    Some(trajectory.turns()).filter(|turns| *turns > 0 || !is_unread)
}
