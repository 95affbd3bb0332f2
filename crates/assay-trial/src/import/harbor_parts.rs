//! What a trial of Harbor's and each of its steps have in the same form: rewards, an exception, tokens, times and logs.

use std::collections::BTreeSet;
use std::path::Path;

use assay_fs::read_beneath;
use assay_model::Usage;
use assay_store::Outcome;
use serde_json::{Value, json};

use super::times;
use super::trial::{Exception, ForeignOutcome, text};
use crate::run::verifier::{self, Reward};

/// How many files of an agent's logs are listed, and how many are read, to find out why it died.
const LOGS_LISTED: usize = 1_000;
const LOGS_READ: usize = 8;

/// Most bytes that are read of such a file.
const LOG_CAP: u64 = 32 << 20;

/// How the reason of a late reward begins.
pub(super) const LATE: &str = "graded after its deadline";

/// Seconds of a phase of a trial or a step.
pub(super) fn phase_seconds(of: &Value, name: &str) -> Option<f64> {
    let time = |key: &str| of.get(name)?.get(key)?.as_str().and_then(times::parse);
    times::between(time("started_at"), time("finished_at"))
}

/// Harbor counts cached tokens as input. A missing value is not 0.
pub(super) fn usage_of(agent: &Value) -> Option<Usage> {
    let count = |key: &str| agent.get(key).and_then(Value::as_u64);
    let (read, written) = (count("n_input_tokens")?, count("n_output_tokens")?);
    let cached = cached_of(agent).unwrap_or(0).min(read);
    Some(Usage {
        input: read - cached,
        output: written,
        cache_read: cached,
        cache_write: 0,
        ..Usage::default()
    })
}

/// Tokens of the prompt that a cache answered, if they were counted.
pub(super) fn cached_of(agent: &Value) -> Option<u64> {
    agent.get("n_cache_tokens").and_then(Value::as_u64)
}

/// The rewards of a trial or of a step.
///
/// # Errors
/// They are not numbers.
pub(super) fn rewards_of(result: &Value) -> Result<Option<Reward>, &'static str> {
    let given = result.get("verifier_result").filter(|given| !given.is_null());
    let Some(given) = given else { return Ok(None) };
    // Before it had keys, there was one number.
    let rewards = given.get("rewards").filter(|rewards| !rewards.is_null());
    let Some(rewards) = rewards.or_else(|| given.get("reward").filter(|reward| !reward.is_null())) else {
        return Ok(None);
    };
    let keyed = if rewards.is_object() { rewards.clone() } else { json!({ "reward": rewards }) };
    verifier::reward_of(&keyed).map(Some).map_err(|_| "its rewards are not numbers")
}

/// The exception of a trial or of a step. Harbor 0.26 says with each whether it leaves the reward valid, and `is_valid` is what
/// it says of the trial.
pub(super) fn exception_of(of: &Value, is_valid: Option<bool>) -> Option<Exception> {
    let info = of.get("exception_info").filter(|info| info.is_object())?;
    let message = info.get("exception_message").and_then(Value::as_str).unwrap_or_default();
    Some(Exception {
        class: text(info.get("exception_type")).unwrap_or_else(|| "an exception".to_owned()),
        message: message.to_owned(),
        is_valid: info.pointer("/policy/has_valid_reward").and_then(Value::as_bool).or(is_valid),
    })
}

/// Whether the reward files contradict the chosen reward. A verifier writes its verdict once. If
/// one file passes the trial and the other fails it, another program has written too.
pub(super) fn disagreement(reward: Option<&Reward>, folder: &Path) -> Vec<String> {
    let Some(reward) = reward.filter(|reward| reward.is_full()) else { return Vec::new() };
    let verifier = folder.join("verifier");
    ["reward.txt", "reward.json"]
        .into_iter()
        .filter_map(|name| {
            let other = verifier::reward_in(&verifier, name)?;
            // Without a key of that name, the two may speak of different things.
            let comparable = reward.keys.contains_key("reward") && other.keys.contains_key("reward");
            (comparable && !other.is_full()).then(|| {
                format!(
                    "{name} contains {}, but the reward used is {}: it was written twice",
                    other.value, reward.value
                )
            })
        })
        .collect()
}

/// The ends of the agent's logs of a trial or of a step, and of the exception's traceback.
pub(super) fn agent_logs(of: &Value, folder: &Path) -> Vec<String> {
    let traceback = of.pointer("/exception_info/exception_traceback").and_then(Value::as_str);
    let mut logs: Vec<String> = traceback.map(str::to_owned).into_iter().collect();
    let folder = folder.join("agent");
    let names: BTreeSet<_> = std::fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .flatten()
        .take(LOGS_LISTED)
        .map(|entry| entry.file_name())
        .filter(|name| {
            let is = |ending: &str| Path::new(name).extension().is_some_and(|found| found == ending);
            is("txt") || is("log")
        })
        .collect();
    for name in names.into_iter().take(LOGS_READ) {
        if let Ok(Some(bytes)) = read_beneath(&folder, Path::new(&name), LOG_CAP) {
            logs.push(String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    logs
}

/// The outcome of a trial whose reward counts.
pub(super) fn graded_outcome(
    reward: Option<&Reward>,
    tampered: &[String],
    reason: Option<String>,
) -> ForeignOutcome {
    if tampered.is_empty() {
        let full = reward.is_some_and(Reward::is_full);
        ForeignOutcome::Of(if full { Outcome::Passed } else { Outcome::Failed }, None, reason)
    } else {
        ForeignOutcome::Of(Outcome::Tampered, None, Some(tampered.join("; ")))
    }
}

/// Why a reward after the agent's deadline is not the agent's: in a shared environment its
/// processes are not ended, so they may have continued while the verifier ran. In a separate one
/// the agent's environment is stopped first.
pub(super) fn late_reason(result: &Value, reward: Option<&Reward>) -> Option<String> {
    let reward = reward.filter(|reward| reward.value > 0.0)?;
    if result.get("verifier_environment_mode").and_then(Value::as_str) == Some("separate") {
        return None;
    }
    let time = |path: &str| result.pointer(path).and_then(Value::as_str).and_then(times::parse);
    let after = times::between(time("/agent_execution/finished_at"), time("/verifier/finished_at"));
    let after = after.map_or_else(String::new, |after| format!(" {after:.1} s"));
    Some(format!(
        "{LATE}: a reward of {} was read{after} after the agent's deadline, with its processes still running",
        reward.value
    ))
}
