//! Logs of Inspect (UK AI Security Institute): `.eval`, a ZIP archive, and `.json`, both of version 2.
//!
//! One log is one arm: a model on a task. What distinguishes the arms of several logs is in their names. A sample's value is
//! that of one scorer, the first of the log's results; letters count as Inspect's `value_to_float` has them: `C` 1, `P` ½,
//! `I` and `N` 0.

use std::path::Path;

use assay_fs::ZipArchive;
use assay_store::{ArmRole, AttemptEnd, ResultAttempt, ResultCheck, ResultSource, ToolResults};
use serde_json::Value;

use super::error::ResultError;
use super::format::{ResultFormat, label_case, remark_missing_runs, role_of};
use super::input::{ResultContent, ResultInput};
use super::json::{amount, entries, name_of, parse_json, shown, text_field};
use crate::import::ImportFact;

/// The format of Inspect's logs.
pub(super) struct InspectLog;

/// Most bytes of a member of an archive.
const MEMBER_CAP: u64 = 64 << 20;

impl ResultFormat for InspectLog {
    fn name(&self) -> &'static str {
        "Inspect log"
    }

    fn facts(&self) -> &'static [ImportFact] {
        &[ImportFact::Category, ImportFact::Difficulty, ImportFact::Cluster]
    }

    fn recognizes(&self, input: &ResultInput) -> bool {
        match &input.content {
            ResultContent::Json(json) => is_log(json),
            ResultContent::Archive(archive) => {
                ["header.json", "_journal/start.json"].iter().any(|name| archive.find(name).is_some())
            }
            _ => false,
        }
    }

    fn read(&self, input: &ResultInput) -> Result<ToolResults, ResultError> {
        match &input.content {
            ResultContent::Json(json) => {
                let samples = json.get("samples").and_then(Value::as_array);
                let samples = samples.ok_or_else(|| {
                    ResultError::invalid(&input.path, "the log has no `samples`: it was written without them")
                })?;
                read_log(self.name(), &input.path, json, samples, true)
            }
            ResultContent::Archive(archive) => {
                let header = read_header(archive, &input.path)?;
                let used = uses_skill_tool(&header);
                let samples = read_samples(archive, &input.path, used)?;
                read_log(self.name(), &input.path, &header, &samples, used)
            }
            _ => Err(ResultError::unreadable(&input.path)),
        }
    }
}

fn is_log(json: &Value) -> bool {
    let eval = json.get("eval").filter(|eval| eval.get("task").is_some());
    eval.is_some() && json.get("status").is_some() && json.get("version").is_some()
}

fn read_member(archive: &ZipArchive, name: &str, path: &Path) -> Result<Option<Value>, ResultError> {
    let Some(member) = archive.find(name) else { return Ok(None) };
    let fail = |reason: String| ResultError::invalid(path, reason);
    let bytes = archive.unpack_member(member, MEMBER_CAP).map_err(|error| fail(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| fail(format!("{name} is not UTF-8")))?;
    parse_json(&text).map(Some).map_err(|error| fail(format!("{name}: not valid JSON: {error}")))
}

/// The header; of a log that was not finished, what was written when it started.
fn read_header(archive: &ZipArchive, path: &Path) -> Result<Value, ResultError> {
    if let Some(header) = read_member(archive, "header.json", path)? {
        return Ok(header);
    }
    let mut start = read_member(archive, "_journal/start.json", path)?.unwrap_or_default();
    if let Some(start) = start.as_object_mut() {
        start.insert("status".to_owned(), "started".into());
    }
    Ok(start)
}

/// Summaries of the samples; the whole samples if the use of a tool has to be found in their messages.
fn read_samples(archive: &ZipArchive, path: &Path, whole: bool) -> Result<Vec<Value>, ResultError> {
    let list = |value: Value| match value {
        Value::Array(samples) => Ok(samples),
        _ => Err(ResultError::invalid(path, "summaries of samples are not a list")),
    };
    if !whole {
        if let Some(summaries) = read_member(archive, "summaries.json", path)? {
            return list(summaries);
        }
        let parts = archive.members().iter().filter(|member| member.name.starts_with("_journal/summaries/"));
        let mut samples = Vec::new();
        for part in parts {
            samples.extend(list(read_member(archive, &part.name, path)?.unwrap_or_default())?);
        }
        if !samples.is_empty() {
            return Ok(samples);
        }
    }
    let parts = archive.members().iter().filter(|member| member.name.starts_with("samples/"));
    parts.filter_map(|part| read_member(archive, &part.name, path).transpose()).collect()
}

/// Whether the agent had a tool that opens skills.
fn uses_skill_tool(header: &Value) -> bool {
    let steps = header.get("plan").into_iter().flat_map(|plan| entries(plan, "steps"));
    steps.flat_map(|step| step.pointer("/params/tools").and_then(Value::as_array).into_iter().flatten()).any(
        |tool| {
            let nested = tool.as_array().into_iter().flatten();
            nested.chain([tool]).any(|tool| text_field(tool, "name").is_some_and(|name| is_skill_tool(&name)))
        },
    )
}

fn is_skill_tool(name: &str) -> bool {
    name.eq_ignore_ascii_case("skill")
}

fn read_log(
    format: &str,
    path: &Path,
    log: &Value,
    samples: &[Value],
    with_messages: bool,
) -> Result<ToolResults, ResultError> {
    let eval = log.get("eval").unwrap_or(&Value::Null);
    let mut results = ToolResults {
        source: ResultSource {
            format: format.to_owned(),
            tool: "Inspect".to_owned(),
            version: eval.get("packages").and_then(|packages| text_field(packages, "inspect_ai")),
            files: vec![path.to_owned()],
        },
        subject: text_field(eval, "task"),
        scores_failures: eval.pointer("/config/score_on_error").and_then(Value::as_bool) == Some(true),
        unused: vec!["messages and events of samples, and metrics other than the mean".to_owned()],
        ..ToolResults::default()
    };
    let status = text_field(log, "status").unwrap_or_default();
    if status != "success" {
        results.partial = Some(format!("the log's status is `{status}`"));
    }
    let name = arm_name(eval, log);
    let arm = results.arm_index(&name, role_of(&name));
    results.arms[arm].models.extend(text_field(eval, "model"));
    results.judges.extend(judges(eval));
    let scorer = scorer(log);
    let opens = with_messages && uses_skill_tool(log);
    let mut others = false;
    for (at, sample) in samples.iter().enumerate() {
        let (attempt, more) = read_sample(sample, arm, scorer.as_deref(), opens)
            .map_err(|reason| ResultError::invalid(path, format!("samples[{at}]: {reason}")))?;
        results.attempts.push(attempt);
        others |= more;
    }
    if others {
        let name = scorer.unwrap_or_else(|| "the first".to_owned());
        results.unused.push(format!("scores of other scorers than {name}"));
    }
    remark_missing_runs(&mut results, eval.pointer("/config/epochs").and_then(Value::as_u64));
    results.absent_cases = absent(eval, &results);
    results.own_tasks = false;
    Ok(results)
}

/// The task, its arguments and the model.
fn arm_name(eval: &Value, log: &Value) -> String {
    let mut parts: Vec<String> = text_field(eval, "task").into_iter().collect();
    for (name, value) in eval.get("task_args").and_then(Value::as_object).into_iter().flatten() {
        parts.push(format!("{name}={}", value.to_string().trim_matches('"')));
    }
    for step in log.get("plan").into_iter().flat_map(|plan| entries(plan, "steps")) {
        parts.extend(text_field(step, "solver").filter(|solver| role_of(solver) != ArmRole::Unnamed));
    }
    parts.extend(text_field(eval, "model"));
    let name = parts.join(", ");
    shown(&name).unwrap_or_else(|| "log".to_owned())
}

/// The models that grade: roles called `grader`, and what scorers name as their model.
fn judges(eval: &Value) -> Vec<String> {
    let role = eval.pointer("/model_roles/grader").and_then(|grader| match grader {
        Value::String(name) => shown(name),
        other => text_field(other, "model"),
    });
    let scorers = entries(eval, "scorers").filter_map(|scorer| text_field(scorer.get("options")?, "model"));
    role.into_iter().chain(scorers).collect()
}

fn scorer(log: &Value) -> Option<String> {
    let headline = log.pointer("/results/headline/scorer").and_then(Value::as_str).and_then(shown);
    headline.or_else(|| {
        log.get("results").and_then(|results| text_field(entries(results, "scores").next()?, "name"))
    })
}

/// A sample as an attempt, and whether it has scores that are not used.
fn read_sample(
    sample: &Value,
    arm: usize,
    scorer: Option<&str>,
    opens: bool,
) -> Result<(ResultAttempt, bool), String> {
    let case = name_of(sample.get("id")).ok_or("no `id`")?;
    let scores = sample.get("scores").and_then(Value::as_object);
    let chosen = scores.and_then(|scores| {
        let named = scorer.and_then(|name| scores.get_key_value(name));
        named.or_else(|| scores.iter().next())
    });
    let score = match chosen {
        Some((name, score)) => value_of(score.get("value").unwrap_or(score))
            .map_err(|reason| format!("scorer {name:?}: {reason}"))?,
        None => None,
    };
    let error = match sample.get("error") {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => shown(text),
        Some(error) => text_field(error, "message").or_else(|| Some("an error".to_owned())),
    };
    let limit = sample.get("limit").filter(|limit| !limit.is_null());
    let end = match (error, score, limit) {
        (Some(error), ..) => AttemptEnd::Errored(error),
        (None, None, Some(limit)) => {
            let kind = text_field(limit, "type").or_else(|| name_of(Some(limit))).unwrap_or_default();
            AttemptEnd::Skipped(format!("it was not scored after the limit `{kind}`"))
        }
        (None, None, None) => AttemptEnd::Skipped("it was not scored".to_owned()),
        (None, Some(_), _) => AttemptEnd::Graded,
    };
    let checks = scores.into_iter().flatten().map(|(name, score)| ResultCheck {
        name: name.clone(),
        passed: value_of(score.get("value").unwrap_or(score)).is_ok_and(|value| value == Some(1.0)),
        reason: text_field(score, "explanation"),
        judged: false,
    });
    let more = scores.is_some_and(|scores| scores.len() > 1);
    let mut attempt = ResultAttempt {
        arm,
        case,
        end,
        score,
        checks: checks.collect(),
        seconds: amount(sample, "total_time"),
        opened: opens.then(|| called_skill(sample)),
        ..ResultAttempt::default()
    };
    label_case(&mut attempt, sample.get("metadata").unwrap_or(&Value::Null));
    Ok((attempt, more))
}

/// Whether a message of a sample calls the tool that opens skills.
fn called_skill(sample: &Value) -> bool {
    entries(sample, "messages")
        .flat_map(|message| entries(message, "tool_calls"))
        .any(|call| text_field(call, "function").is_some_and(|name| is_skill_tool(&name)))
}

/// A value of a score, by Inspect's `value_to_float`; `None` for one that is absent.
fn value_of(value: &Value) -> Result<Option<f64>, String> {
    Ok(match value {
        Value::Null => None,
        Value::String(text) => Some(match text.as_str() {
            "C" => 1.0,
            "P" => 0.5,
            "I" | "N" => 0.0,
            other if other.eq_ignore_ascii_case("yes") || other.eq_ignore_ascii_case("true") => 1.0,
            other if other.eq_ignore_ascii_case("no") || other.eq_ignore_ascii_case("false") => 0.0,
            other => other
                .parse()
                .map_err(|_| format!("the value {:?} is not a number", shown(other).unwrap_or_default()))?,
        }),
        Value::Array(_) | Value::Object(_) => {
            return Err("a score of several values has no single one".to_owned());
        }
        other => super::json::score_of(other),
    })
}

/// Samples of the data set that have no result.
fn absent(eval: &Value, results: &ToolResults) -> Vec<String> {
    let done: std::collections::BTreeSet<&str> =
        results.attempts.iter().map(|attempt| attempt.case.as_str()).collect();
    let ids = eval.get("dataset").into_iter().flat_map(|dataset| entries(dataset, "sample_ids"));
    ids.filter_map(|id| name_of(Some(id))).filter(|id| !done.contains(id.as_str())).collect()
}
