//! The steps of a trial of Harbor's: each has rewards, logs, times and an exception of its own. Harbor goes on after a step with
//! an exception that was verified, and combines the rewards of the steps.

use std::path::{Component, Path, PathBuf};

use assay_agent::Ended;
use assay_store::{Cause, Outcome, Seconds, StepRecord};
use serde_json::Value;

use super::exception::Meaning;
use super::harbor_parts::{
    agent_logs, disagreement, exception_of, graded_outcome, late_reason, phase_seconds, rewards_of, usage_of,
};
use super::trial::{Exception, ForeignOutcome, number, text};
use super::walk::TrialFolder;
use crate::run::verifier::Reward;

/// Rewards are equal if they differ by no more than this, which rounding may do.
const ROUNDING: f64 = 1e-9;

/// A step as it ended.
pub(super) struct HarborStep {
    name: String,
    reward: Option<Reward>,
    exception: Option<Exception>,
    meaning: Option<Meaning>,
    /// Why its reward is one after its deadline, if it is.
    late: Option<String>,
    /// Reward files that contradict the reward.
    pub(super) tampered: Vec<String>,
    record: StepRecord,
}

/// The steps of a trial in their order; none of a trial without steps.
pub(super) fn read_steps(found: &TrialFolder) -> Vec<HarborStep> {
    let steps = found.result.get("step_results").and_then(Value::as_array);
    steps.into_iter().flatten().map(|step| read_step(found, step)).collect()
}

fn read_step(found: &TrialFolder, step: &Value) -> HarborStep {
    let name = text(step.get("step_name")).unwrap_or_default();
    let folder: Option<PathBuf> = is_plain_name(&name).then(|| found.folder.join("steps").join(&name));
    let reward = rewards_of(step).ok().flatten();
    let exception = exception_of(step, None);
    let meaning = exception.as_ref().map(|exception| {
        let logs = folder.as_ref().map(|folder| agent_logs(step, folder)).unwrap_or_default();
        exception.meaning(&logs)
    });
    let tampered = folder.map(|folder| disagreement(reward.as_ref(), &folder)).unwrap_or_default();
    let is_timed_out = meaning == Some(Meaning::TimedOut);
    let late = is_timed_out.then(|| late_reason(step, reward.as_ref())).flatten();
    let agent = step.get("agent_result").unwrap_or(&Value::Null);
    let mut one =
        HarborStep { name, reward, exception, meaning, late, tampered, record: StepRecord::default() };
    one.record = StepRecord {
        name: one.name.clone(),
        outcome: one.outcome(),
        reason: one.reason(),
        reward: one.reward.as_ref().map(|reward| reward.value),
        rewards: one.reward.as_ref().map(|reward| reward.keys.clone()).unwrap_or_default(),
        ended: one.ended(),
        usage: usage_of(agent),
        cost_usd: number(agent.get("cost_usd")),
        seconds: Seconds {
            agent: phase_seconds(step, "agent_execution"),
            verify: phase_seconds(step, "verifier"),
            ..Seconds::default()
        },
        ..StepRecord::default()
    }
    .scored();
    one
}

impl HarborStep {
    /// Whether it raised an exception.
    pub(super) fn has_exception(&self) -> bool {
        self.exception.is_some()
    }

    /// The outcome of the step alone; `None` if it was cancelled.
    fn outcome(&self) -> Option<Outcome> {
        if !self.tampered.is_empty() {
            return Some(Outcome::Tampered);
        }
        match &self.meaning {
            Some(Meaning::Cancelled) => None,
            Some(Meaning::TimedOut) => Some(Outcome::TimedOut),
            Some(Meaning::Broken(_)) => Some(Outcome::Infrastructure),
            None if self.reward.is_none() => Some(Outcome::Infrastructure),
            Some(Meaning::Agent(_)) | None => {
                let is_full = self.reward.as_ref().is_some_and(Reward::is_full);
                Some(if is_full { Outcome::Passed } else { Outcome::Failed })
            }
        }
    }

    fn reason(&self) -> Option<String> {
        let own = self.exception.as_ref().map(Exception::reason);
        self.tampered.first().or(self.late.as_ref()).cloned().or(own)
    }

    fn ended(&self) -> Option<Ended> {
        match &self.meaning {
            None => Some(Ended::Finished),
            Some(Meaning::TimedOut) => Some(Ended::Deadline),
            Some(Meaning::Cancelled) => Some(Ended::Cancelled),
            Some(Meaning::Agent(ended)) => ended.clone(),
            Some(Meaning::Broken(_)) => None,
        }
    }

    fn named_reason(&self) -> Option<String> {
        let reason = self.reason()?;
        Some(if self.name.is_empty() {
            format!("a step: {reason}")
        } else {
            format!("step {}: {reason}", self.name)
        })
    }
}

/// Whether a name is that of a folder, and no path to another one.
fn is_plain_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None))
}

/// The records of the steps.
pub(super) fn step_records(steps: &[HarborStep]) -> Vec<StepRecord> {
    steps.iter().map(|step| step.record.clone()).collect()
}

/// The outcome of a trial with steps that raised exceptions, and how its last step ended. Harbor takes a trial's reward for
/// valid if each of its exceptions leaves it valid. It has timed out if each step that counts has.
pub(super) fn outcome_of_steps(
    steps: &[HarborStep],
    reward: Option<&Reward>,
    tampered: &[String],
) -> (ForeignOutcome, Option<Ended>) {
    for step in steps {
        let reason = || step.named_reason();
        match &step.meaning {
            Some(Meaning::Cancelled) => {
                let class = step.exception.as_ref().map(|exception| exception.class.clone());
                return (ForeignOutcome::Cancelled(class.unwrap_or_default()), Some(Ended::Cancelled));
            }
            Some(Meaning::Broken(cause)) => return (broken(*cause, reason()), None),
            _ => {}
        }
    }
    let counting = counting_steps(steps, reward);
    if !counting.is_empty() && counting.iter().all(|step| step.meaning == Some(Meaning::TimedOut)) {
        let late = counting.iter().find_map(|step| step.late.clone());
        let reason = late.or_else(|| counting.iter().find_map(|step| step.named_reason()));
        return (ForeignOutcome::Of(Outcome::TimedOut, None, reason), Some(Ended::Deadline));
    }
    let reasons: Vec<String> = steps
        .iter()
        .filter_map(|step| Some(format!("step {}: {}", step.name, step.exception.as_ref()?.reason())))
        .collect();
    let reason = (!reasons.is_empty()).then(|| reasons.join("; "));
    (graded_outcome(reward, tampered, reason), steps.last().and_then(HarborStep::ended))
}

fn broken(cause: Cause, reason: Option<String>) -> ForeignOutcome {
    ForeignOutcome::Of(Outcome::Infrastructure, Some(cause), reason)
}

/// The steps whose rewards count. The result does not name the strategy: if the trial's rewards are those of its last step and
/// not the mean, it is `final`.
fn counting_steps<'s>(steps: &'s [HarborStep], reward: Option<&Reward>) -> Vec<&'s HarborStep> {
    let (Some(last), Some(reward)) = (steps.last(), reward) else { return steps.iter().collect() };
    let is_last = last.reward.as_ref().is_some_and(|own| {
        own.keys.len() == reward.keys.len()
            && own
                .keys
                .iter()
                .all(|(key, value)| reward.keys.get(key).is_some_and(|all| is_same(*value, *all)))
    });
    let is_mean = reward.keys.iter().all(|(key, value)| {
        let rewarded = steps.iter().filter_map(|step| step.reward.as_ref());
        let each: Vec<f64> =
            rewarded.map(|reward| reward.keys.get(key).copied().unwrap_or_default()).collect();
        is_same(each.iter().sum::<f64>() / each.len().max(1) as f64, *value)
    });
    if is_last && !is_mean { vec![last] } else { steps.iter().collect() }
}

fn is_same(one: f64, other: f64) -> bool {
    (one - other).abs() <= ROUNDING
}
