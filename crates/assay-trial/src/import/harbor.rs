//! One trial of Harbor's, read without trust.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use assay_agent::Ended;
use assay_model::Usage;
use assay_store::{AgentLabel, Cause, Outcome, Seconds};
use serde_json::{Value, json};

use super::condition::ConditionEvidence;
use super::exception::Meaning;
use super::harbor_parts::{
    LATE, agent_logs, cached_of, disagreement, exception_of, graded_outcome, late_reason, phase_seconds,
    rewards_of, usage_of,
};
use super::harbor_steps::{HarborStep, outcome_of_steps, read_steps, step_records};
use super::times;
use super::trial::{Exception, ForeignOutcome, ForeignTrial, Origin, number, plain, text};
use super::walk::TrialFolder;
use crate::run::verifier::{self, Reward};

/// Most bytes of a path.
const PATH_CAP: usize = 4096;

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
    let own_steps = read_steps(found);
    let exception = exception_of(result, result.get("reward_valid").and_then(Value::as_bool));
    let has_exception = exception.is_some() || own_steps.iter().any(HarborStep::has_exception);
    let disabled = config.pointer("/verifier/disable").and_then(Value::as_bool) == Some(true);
    if disabled && reward.is_none() && !has_exception {
        return Err("verification was disabled");
    }
    if finished.is_none() && reward.is_none() && !has_exception {
        return Err("the trial did not finish");
    }
    let mut tampered = disagreement(reward.as_ref(), &found.folder);
    tampered.extend(own_steps.iter().flat_map(|step| step.tampered.iter().cloned()));
    let (outcome, ended) = if exception.is_none() && has_exception {
        outcome_of_steps(&own_steps, reward.as_ref(), &tampered)
    } else {
        let logs = if exception.is_some() { agent_logs(result, &found.folder) } else { Vec::new() };
        let late = late_reason(result, reward.as_ref());
        outcome(exception.as_ref(), &logs, reward.as_ref(), &tampered, late.as_ref())
    };
    let late = matches!(&outcome, ForeignOutcome::Of(Outcome::TimedOut, _, Some(reason)) if reason.starts_with(LATE));
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
        cache_unknown: summed(result, cached_of, u64::saturating_add).is_none(),
        usage: summed(result, usage_of, |sum: Usage, one| {
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
        steps: step_records(&own_steps),
        skills,
        skill_sources: lock.as_ref().map(skill_sources).unwrap_or_default(),
        task_path: task_path(result, &config),
        beside: Arc::default(),
        skill_tokens: None,
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
    let of_steps =
        || steps(result).filter_map(|step| phase_seconds(step, name)).reduce(|sum, span| sum + span);
    phase_seconds(result, name).or_else(of_steps)
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

/// The rewards of the result; if it has none, those of the verifier's files.
fn rewards(result: &Value, folder: &Path) -> Result<Option<Reward>, &'static str> {
    if result.get("verifier_result").is_none_or(Value::is_null) {
        return Ok(verifier::reward(&folder.join("verifier")).ok());
    }
    rewards_of(result)
}

fn outcome(
    exception: Option<&Exception>,
    logs: &[String],
    reward: Option<&Reward>,
    tampered: &[String],
    late: Option<&String>,
) -> (ForeignOutcome, Option<Ended>) {
    let graded = |reason: Option<String>| graded_outcome(reward, tampered, reason);
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

/// Where the skills of a trial's lock came from, name to path.
fn skill_sources(lock: &Value) -> BTreeMap<String, String> {
    let skills = lock.get("skills").and_then(Value::as_array).into_iter().flatten();
    skills.filter_map(|skill| Some((text(skill.get("name"))?, path_of(skill.get("source"))?))).collect()
}

/// The path of the task.
fn task_path(result: &Value, config: &Value) -> Option<String> {
    path_of(result.pointer("/task_id/path")).or_else(|| path_of(config.pointer("/task/path")))
}

/// A path, which is not cut as a name is.
fn path_of(value: Option<&Value>) -> Option<String> {
    let path = value?.as_str()?;
    (!path.is_empty() && path.len() <= PATH_CAP).then(|| path.to_owned())
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
