//! One trial of Harbor's, read without trust.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use assay_agent::Ended;
use assay_fs::read_beneath;
use assay_model::Usage;
use assay_store::{AgentLabel, Cause, Outcome, Seconds};
use serde_json::{Value, json};

use super::condition::ConditionEvidence;
use super::exception::Meaning;
use super::times;
use super::trial::{Exception, ForeignOutcome, ForeignTrial, Origin, number, plain, text};
use super::walk::TrialFolder;
use crate::run::verifier::{self, Reward};

/// How many files of an agent's logs are listed, and how many are read, to find out why it died.
const LOGS_LISTED: usize = 1_000;
const LOGS_READ: usize = 8;

/// Most bytes that are read of such a file.
const LOG_CAP: u64 = 32 << 20;

/// Reads a trial's folder.
///
/// # Errors
/// Why it cannot be used.
pub(super) fn read(found: &TrialFolder) -> Result<ForeignTrial, &'static str> {
    let result = &found.result;
    let config = config(found);
    if config.get("install_only").and_then(Value::as_bool) == Some(true) {
        return Err("it only installed an agent");
    }
    let task = task_name(result).ok_or("no task name")?;
    let at = |path: &[&str]| path.iter().try_fold(result, |value, key| value.get(*key));
    let time = |path: &[&str]| at(path).and_then(Value::as_str).and_then(times::parse);
    let (started, finished) = (time(&["started_at"]), time(&["finished_at"]));
    let step = |name: &str| phase(result, name);
    let reward = rewards(result, &found.folder)?;
    let exception = exception(result);
    let disabled = config.pointer("/verifier/disable").and_then(Value::as_bool) == Some(true);
    if disabled && reward.is_none() && exception.is_none() {
        return Err("verification was disabled");
    }
    if finished.is_none() && reward.is_none() && exception.is_none() {
        return Err("the trial did not finish");
    }
    let tampered = disagreement(reward.as_ref(), &found.folder);
    let logs = if exception.is_some() { last_logs(found) } else { Vec::new() };
    let late = late(result, reward.as_ref());
    let (outcome, ended) = outcome(exception.as_ref(), &logs, reward.as_ref(), &tampered, late.as_ref());
    let late = late.is_some() && matches!(outcome, ForeignOutcome::Of(Outcome::TimedOut, ..));
    let lock = super::walk::read_json(&found.folder, "lock.json").ok().flatten().map(|(lock, _)| lock);
    let skills = lock.as_ref().map(given).unwrap_or_default();
    Ok(ForeignTrial {
        by: Origin::Harbor,
        source: text(result.get("id")).unwrap_or_else(|| format!("blake3:{}", found.digest)),
        task,
        task_digest: lock
            .as_ref()
            .and_then(|lock| text(lock.pointer("/task/digest")))
            .or_else(|| text(result.get("task_checksum")).map(|sum| format!("harbor:{sum}")))
            .unwrap_or_default(),
        agent: label(result, &config),
        sandbox: sandbox(&config),
        started,
        finished,
        seconds: Seconds {
            prepare: times::added([step("environment_setup"), step("agent_setup")]),
            agent: step("agent_execution"),
            throttled: None,
            verify: step("verifier"),
            total: times::between(started, finished),
        },
        cache_unknown: summed(result, cached, u64::saturating_add).is_none(),
        usage: summed(result, usage, |sum: Usage, one| {
            let mut sum = sum;
            sum += one;
            sum
        }),
        cost_usd: summed(result, |result| number(result.get("cost_usd")), |sum, one| sum + one),
        evidence: evidence(found, result, &config, !skills.is_empty()),
        ctrf: ctrf(&found.folder),
        reward,
        outcome,
        tampered,
        ended,
        late,
        skills,
    })
}

/// The configuration in the result; without one, that of the trial's own file, which may leave
/// defaults out.
fn config(found: &TrialFolder) -> Value {
    match found.result.get("config") {
        Some(config) if config.is_object() => config.clone(),
        _ => super::walk::read_json(&found.folder, "config.json")
            .ok()
            .flatten()
            .map_or(Value::Null, |(config, _)| config),
    }
}

fn task_name(result: &Value) -> Option<String> {
    text(result.get("task_name")).or_else(|| {
        let id = result.get("task_id")?;
        let last = |path: String| path.trim_end_matches('/').rsplit('/').next().map(str::to_owned);
        text(id.get("name")).or_else(|| last(text(id.get("path"))?)).filter(|name| !name.is_empty())
    })
}

fn label(result: &Value, config: &Value) -> AgentLabel {
    let agent = |key: &str| text(result.pointer(&format!("/agent_info/{key}")));
    let model = text(result.pointer("/agent_info/model_info/name")).map(|name| {
        match text(result.pointer("/agent_info/model_info/provider")) {
            Some(provider) => format!("{provider}:{name}"),
            None => name.replacen('/', ":", 1),
        }
    });
    let configured = || text(config.pointer("/agent/model_name")).map(|name| name.replacen('/', ":", 1));
    AgentLabel {
        name: agent("name")
            .or_else(|| text(config.pointer("/agent/name")))
            .or_else(|| text(config.pointer("/agent/import_path")))
            // Harbor's default.
            .unwrap_or_else(|| "oracle".to_owned()),
        version: agent("version").unwrap_or_else(|| "unknown".to_owned()),
        model: model.or_else(configured),
    }
}

fn sandbox(config: &Value) -> String {
    if config.pointer("/environment/import_path").is_some_and(Value::is_string) {
        return "harbor-custom".to_owned();
    }
    // Docker is Harbor's default, and defaults are left out.
    let kind = text(config.pointer("/environment/type")).unwrap_or_else(|| "docker".to_owned());
    format!("harbor-{}", plain(&kind))
}

/// Seconds of a phase: of the trial, or of its steps together.
fn phase(result: &Value, name: &str) -> Option<f64> {
    let span = |of: &Value| {
        let time = |key: &str| of.get(name)?.get(key)?.as_str().and_then(times::parse);
        times::between(time("started_at"), time("finished_at"))
    };
    span(result).or_else(|| steps(result).filter_map(span).reduce(|sum, span| sum + span))
}

fn steps(result: &Value) -> impl Iterator<Item = &Value> {
    result.get("step_results").and_then(Value::as_array).into_iter().flatten()
}

/// A figure of the trial's agent; of its steps together where every step has it.
fn summed<T>(result: &Value, figure: impl Fn(&Value) -> Option<T>, add: impl Fn(T, T) -> T) -> Option<T> {
    if let Some(whole) = result.get("agent_result").and_then(&figure) {
        return Some(whole);
    }
    let each: Option<Vec<T>> = steps(result).map(|step| step.get("agent_result").and_then(&figure)).collect();
    each?.into_iter().reduce(add)
}

/// Harbor counts cached tokens as input. A missing value is not 0.
fn usage(agent: &Value) -> Option<Usage> {
    let count = |key: &str| agent.get(key).and_then(Value::as_u64);
    let (read, written) = (count("n_input_tokens")?, count("n_output_tokens")?);
    let cached = cached(agent).unwrap_or(0).min(read);
    Some(Usage { input: read - cached, output: written, cache_read: cached, cache_write: 0 })
}

/// Tokens of the prompt that a cache answered, if they were counted.
fn cached(agent: &Value) -> Option<u64> {
    agent.get("n_cache_tokens").and_then(Value::as_u64)
}

/// The rewards of the result; if it has none, those of the verifier's files.
fn rewards(result: &Value, folder: &Path) -> Result<Option<Reward>, &'static str> {
    let given = result.get("verifier_result").filter(|given| !given.is_null());
    let Some(given) = given else {
        return Ok(verifier::reward(&folder.join("verifier")).ok());
    };
    // Before it had keys, there was one number.
    let rewards = given.get("rewards").filter(|rewards| !rewards.is_null());
    let Some(rewards) = rewards.or_else(|| given.get("reward").filter(|reward| !reward.is_null())) else {
        return Ok(None);
    };
    let keyed = if rewards.is_object() { rewards.clone() } else { json!({ "reward": rewards }) };
    verifier::reward_of(&keyed).map(Some).map_err(|_| "its rewards are not numbers")
}

fn exception(result: &Value) -> Option<Exception> {
    let of = |value: &Value| {
        let info = value.get("exception_info").filter(|info| info.is_object())?;
        let message = info.get("exception_message").and_then(Value::as_str).unwrap_or_default();
        Some(Exception {
            class: text(info.get("exception_type")).unwrap_or_else(|| "an exception".to_owned()),
            message: message.to_owned(),
        })
    };
    of(result).or_else(|| steps(result).find_map(of))
}

/// Whether the reward files contradict the chosen reward. A verifier writes its verdict once. If
/// one file passes the trial and the other fails it, another program has written too.
fn disagreement(reward: Option<&Reward>, folder: &Path) -> Vec<String> {
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

/// The ends of the agent's logs, and of the exception's traceback.
fn last_logs(found: &TrialFolder) -> Vec<String> {
    let traceback = found.result.pointer("/exception_info/exception_traceback").and_then(Value::as_str);
    let mut logs: Vec<String> = traceback.map(str::to_owned).into_iter().collect();
    let folder = found.folder.join("agent");
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

fn outcome(
    exception: Option<&Exception>,
    logs: &[String],
    reward: Option<&Reward>,
    tampered: &[String],
    late: Option<&String>,
) -> (ForeignOutcome, Option<Ended>) {
    let graded = |reason: Option<String>| {
        if tampered.is_empty() {
            let full = reward.is_some_and(Reward::is_full);
            ForeignOutcome::Of(if full { Outcome::Passed } else { Outcome::Failed }, None, reason)
        } else {
            ForeignOutcome::Of(Outcome::Tampered, None, Some(tampered.join("; ")))
        }
    };
    let Some(exception) = exception else {
        if reward.is_some() {
            return (graded(None), Some(Ended::Finished));
        }
        let reason = Some("there is no reward, and no exception says why".to_owned());
        return (ForeignOutcome::Of(Outcome::Infrastructure, Some(Cause::Verifier), reason), None);
    };
    let reason = exception.reason();
    match exception.meaning(logs) {
        Meaning::Cancelled => (ForeignOutcome::Cancelled(exception.class.clone()), Some(Ended::Cancelled)),
        Meaning::TimedOut => {
            let reason = Some(late.cloned().unwrap_or(reason));
            (ForeignOutcome::Of(Outcome::TimedOut, None, reason), Some(Ended::Deadline))
        }
        Meaning::Agent(ended) => (graded(Some(reason)), ended),
        Meaning::Broken(cause) => {
            (ForeignOutcome::Of(Outcome::Infrastructure, Some(cause), Some(reason)), None)
        }
    }
}

/// Why a reward after the agent's deadline is not the agent's: in a shared environment its
/// processes are not ended, so they may have continued while the verifier ran. In a separate one
/// the agent's environment is stopped first.
fn late(result: &Value, reward: Option<&Reward>) -> Option<String> {
    let reward = reward.filter(|reward| reward.value > 0.0)?;
    if result.get("verifier_environment_mode").and_then(Value::as_str) == Some("separate") {
        return None;
    }
    let time = |path: &str| result.pointer(path).and_then(Value::as_str).and_then(times::parse);
    let after = times::between(time("/agent_execution/finished_at"), time("/verifier/finished_at"));
    let after = after.map_or_else(String::new, |after| format!(" {after:.1} s"));
    Some(format!(
        "graded after its deadline: a reward of {} was read{after} after the agent's deadline, with its processes still running",
        reward.value
    ))
}

/// The verifier's tests; those of a trial in steps carry the step's name.
fn ctrf(folder: &Path) -> Option<Value> {
    if let Some(report) = verifier::ctrf(&folder.join("verifier")) {
        return Some(report);
    }
    let mut steps: Vec<_> = std::fs::read_dir(folder.join("steps")).ok()?.flatten().take(1_000).collect();
    steps.sort_by_key(std::fs::DirEntry::file_name);
    let mut tests = Vec::new();
    for step in steps.iter().filter(|step| step.file_type().is_ok_and(|kind| kind.is_dir())) {
        let step_name = step.file_name().to_string_lossy().into_owned();
        let mut report = verifier::ctrf(&step.path().join("verifier")).unwrap_or_default();
        for test in report.get_mut("tests").and_then(Value::as_array_mut).into_iter().flatten() {
            let name = test.get("name").and_then(Value::as_str).unwrap_or_default();
            let name = format!("{step_name}: {name}");
            if let Some(test) = test.as_object_mut() {
                test.insert("name".to_owned(), Value::String(name));
            }
            tests.push(test.take());
        }
    }
    (!tests.is_empty()).then(|| json!({ "tests": tests }))
}

/// The skills of a trial's lock, name to digest.
fn given(lock: &Value) -> BTreeMap<String, String> {
    let skills = lock.get("skills").and_then(Value::as_array).into_iter().flatten();
    skills
        .filter_map(|skill| Some((text(skill.get("name"))?, text(skill.get("digest")).unwrap_or_default())))
        .collect()
}

fn evidence(found: &TrialFolder, result: &Value, config: &Value, locked: bool) -> ConditionEvidence {
    let configured =
        config.pointer("/agent/skills").and_then(Value::as_array).map(|skills| !skills.is_empty());
    // The nearest folder first; the last one is the task's own.
    let folders = |path: &str| -> Vec<String> {
        let mut folders: Vec<String> =
            path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        folders.pop();
        folders.reverse();
        folders
    };
    let path = text(result.pointer("/task_id/path")).or_else(|| text(config.pointer("/task/path")));
    let source = text(result.get("source")).or_else(|| text(config.pointer("/task/source")));
    ConditionEvidence {
        mode: Vec::new(),
        job: found.job.clone(),
        agent: [
            text(config.pointer("/agent/name")),
            text(result.pointer("/agent_info/name")),
            text(config.pointer("/agent/import_path")),
        ]
        .into_iter()
        .flatten()
        .collect(),
        dataset: source.into_iter().chain(path.iter().flat_map(|path| folders(path))).collect(),
        skills: if locked { Some(true) } else { configured },
    }
}
