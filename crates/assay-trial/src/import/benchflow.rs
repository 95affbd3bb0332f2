//! One rollout of BenchFlow's, read without trust. Its `result.json` has Harbor's name and place,
//! and other keys.

use std::collections::BTreeMap;
use std::sync::Arc;

use assay_agent::Ended;
use assay_model::Usage;
use assay_store::{AgentLabel, Cause, Outcome, Seconds};
use serde_json::Value;

use super::condition::ConditionEvidence;
use super::exception::Meaning;
use super::times;
use super::trial::{Exception, ForeignOutcome, ForeignTrial, Origin, number, plain, text};
use super::walk::TrialFolder;
use crate::run::verifier::{self, Reward};

/// Its categories of errors, as the Harbor exceptions by which they are classified.
const CATEGORIES: &[(&str, &str)] = &[
    ("timeout", "AgentTimeoutError"),
    ("install_failure", "AgentInstallError"),
    ("sandbox_setup", "SandboxError"),
    ("infra_failure", "SandboxError"),
    ("provider_auth", "AuthenticationError"),
    ("provider_rate_limit", "RateLimitError"),
    ("provider_rejected", "BadRequestError"),
    ("api_error", "APIError"),
    ("suspected_api_error", "APIError"),
];

/// Whether a result is BenchFlow's: Harbor's has neither a rollout nor a mode of skills, and its
/// agent is not a string at the top level.
pub(super) fn is_result(result: &Value) -> bool {
    let has = |key: &str| result.get(key).is_some_and(Value::is_string);
    has("rollout_name") || has("skill_mode") && has("agent")
}

/// Reads a rollout's folder.
///
/// # Errors
/// Why it cannot be used.
pub(super) fn read(found: &TrialFolder) -> Result<ForeignTrial, &'static str> {
    let trial = read_result(&found.result)?;
    Ok(ForeignTrial {
        source: format!("blake3:{}", found.digest),
        evidence: evidence(found, &found.result),
        ctrf: verifier::ctrf(&found.folder.join("verifier")),
        ..trial
    })
}

/// Reads a rollout's result alone, without evidence of its condition.
///
/// # Errors
/// Why it cannot be used.
pub(super) fn read_result(result: &Value) -> Result<ForeignTrial, &'static str> {
    let of = |key: &str| text(result.get(key));
    let task = of("task_name").ok_or("no task name")?;
    let time = |key: &str| result.get(key).and_then(Value::as_str).and_then(times::parse);
    let (started, finished) = (time("started_at"), time("finished_at"));
    let seconds = |key: &str| {
        let given = result.pointer(&format!("/timing/{key}")).and_then(Value::as_f64);
        given.filter(|seconds| seconds.is_finite() && *seconds > 0.0)
    };
    let reward = match result.get("rewards").filter(|rewards| !rewards.is_null()) {
        Some(rewards) => Some(verifier::reward_of(rewards).map_err(|_| "its rewards are not numbers")?),
        None => None,
    };
    let error = error(result);
    if finished.is_none() && reward.is_none() && error.is_none() {
        return Err("the trial did not finish");
    }
    let (outcome, ended) = outcome(error, reward.as_ref());
    let kind = text(result.pointer("/usage_tracking/environment"));
    Ok(ForeignTrial {
        by: Origin::BenchFlow,
        source: of("rollout_name").unwrap_or_default(),
        task,
        task_digest: of("task_digest").unwrap_or_default(),
        agent: AgentLabel {
            name: of("agent").or_else(|| of("agent_name")).unwrap_or_else(|| "unknown".to_owned()),
            version: "unknown".to_owned(),
            model: of("model").map(|model| model.replacen('/', ":", 1)),
        },
        sandbox: kind.map_or_else(|| "benchflow".to_owned(), |kind| format!("benchflow-{}", plain(&kind))),
        started,
        finished,
        seconds: Seconds {
            prepare: times::added([seconds("environment_setup"), seconds("agent_setup")]),
            agent: seconds("agent_execution"),
            throttled: None,
            verify: seconds("verifier"),
            total: seconds("total"),
        },
        cache_unknown: figure(result, "n_cache_read_tokens").and_then(Value::as_u64).is_none(),
        usage: usage(result),
        cost_usd: number(figure(result, "cost_usd")),
        evidence: ConditionEvidence::default(),
        reward,
        ctrf: None,
        outcome,
        tampered: Vec::new(),
        ended,
        late: false,
        steps: Vec::new(),
        skills: BTreeMap::new(),
        skill_sources: BTreeMap::new(),
        task_path: text(result.get("task_path")),
        beside: Arc::default(),
        skill_tokens: None,
    })
}

/// The evidence of names and of its own mode for the condition. The mode of a run with skills does
/// not say whose skills: a name may.
fn evidence(found: &TrialFolder, result: &Value) -> ConditionEvidence {
    let mode = text(result.get("skill_mode")).unwrap_or_default();
    let given = mode == "with-skill" || text(result.get("effective_skills_dir")).is_some();
    ConditionEvidence {
        mode: if given { Vec::new() } else { vec![mode] },
        job: found.job.clone(),
        agent: Vec::new(),
        dataset: Vec::new(),
        skills: given.then_some(true),
    }
}

/// The error, by its category. The verifier's errors come first: without a verdict the agent's
/// error decides nothing.
fn error(result: &Value) -> Option<Exception> {
    let said = |key: &str| result.get(key).and_then(Value::as_str).filter(|said| !said.trim().is_empty());
    let category = |key: &str| said(key).unwrap_or("an error").to_owned();
    if let Some(message) = said("verifier_error") {
        let class = format!("VerifierError ({})", category("verifier_error_category"));
        return Some(Exception { class, message: message.to_owned(), is_valid: None });
    }
    let message = said("error").or_else(|| said("error_category"))?.to_owned();
    let category = category("error_category");
    let class = CATEGORIES.iter().find(|(own, _)| *own == category).map(|(_, class)| (*class).to_owned());
    Some(Exception { class: class.unwrap_or(category), message, is_valid: None })
}

fn outcome(error: Option<Exception>, reward: Option<&Reward>) -> (ForeignOutcome, Option<Ended>) {
    let graded = |reason: Option<String>| {
        let full = reward.is_some_and(Reward::is_full);
        ForeignOutcome::Of(if full { Outcome::Passed } else { Outcome::Failed }, None, reason)
    };
    let Some(error) = error else {
        if reward.is_some() {
            return (graded(None), Some(Ended::Finished));
        }
        let reason = Some("there is no reward, and no error says why".to_owned());
        return (ForeignOutcome::Of(Outcome::Infrastructure, Some(Cause::Verifier), reason), None);
    };
    let reason = Some(error.reason());
    match error.meaning(&[]) {
        Meaning::Cancelled => (ForeignOutcome::Cancelled(error.class), Some(Ended::Cancelled)),
        Meaning::TimedOut => (ForeignOutcome::Of(Outcome::TimedOut, None, reason), Some(Ended::Deadline)),
        Meaning::Agent(ended) => (graded(reason), ended),
        Meaning::Broken(cause) => (ForeignOutcome::Of(Outcome::Infrastructure, Some(cause), reason), None),
    }
}

/// A figure of the agent's, which older versions keep at the top level.
fn figure<'a>(result: &'a Value, key: &str) -> Option<&'a Value> {
    result.get("agent_result").and_then(|agent| agent.get(key)).or_else(|| result.get(key))
}

/// Its input counts include cached tokens, if they add up to its total that way. If nothing was
/// counted, all are 0.
fn usage(result: &Value) -> Option<Usage> {
    let count = |key: &str| figure(result, key).and_then(Value::as_u64);
    let (read, output) = (count("n_input_tokens")?, count("n_output_tokens")?);
    if read == 0 && output == 0 {
        return None;
    }
    let cache_read = count("n_cache_read_tokens").unwrap_or(0);
    let cache_write = count("n_cache_creation_tokens").unwrap_or(0);
    let is_within = count("total_tokens").is_none_or(|total| total == read.saturating_add(output));
    let input = if is_within { read.saturating_sub(cache_read).saturating_sub(cache_write) } else { read };
    Some(Usage { input, output, cache_read, cache_write, ..Usage::default() })
}
