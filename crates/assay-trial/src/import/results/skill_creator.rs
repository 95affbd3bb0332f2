//! The workspace of Anthropic's skill-creator, by its documented layout: `EVAL/CONFIGURATION/[run-N/]grading.json` beside
//! `timing.json`, below `iteration-N`, with `benchmark.json` as their summary; and `benchmark.json` alone.
//!
//! The score of an attempt is the share of its expectations that passed. Of several iterations the last one is read: each
//! has another version of the skill.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_fs::{DOCUMENT_CAP, read_text};
use assay_store::{
    ArmRole, AttemptEnd, DeltaRule, PublishedComparison, ResultAttempt, ResultCheck, ResultSource,
    ToolResults,
};
use serde_json::Value;

use super::error::ResultError;
use super::format::{ResultFormat, note_one_skill, remark_missing_runs};
use super::input::{ResultContent, ResultInput};
use super::json::{amount, entries, name_of, parse_json, text_field};
use crate::import::ImportFact;

/// The layout of skill-creator.
pub(super) struct SkillCreatorWorkspace;

/// The names of configurations, and what they are.
const CONFIGURATIONS: [(&str, ArmRole); 4] = [
    ("with_skill", ArmRole::Treatment),
    ("new_skill", ArmRole::Treatment),
    ("without_skill", ArmRole::Baseline),
    (OLD_SKILL, ArmRole::Baseline),
];

/// The configuration with the skill as it was before.
const OLD_SKILL: &str = "old_skill";

fn role(configuration: &str) -> ArmRole {
    CONFIGURATIONS.iter().find(|(name, _)| *name == configuration).map_or(ArmRole::Unnamed, |(_, role)| *role)
}

impl ResultFormat for SkillCreatorWorkspace {
    fn name(&self) -> &'static str {
        "skill-creator workspace"
    }

    fn facts(&self) -> &'static [ImportFact] {
        &[ImportFact::Skills]
    }

    fn recognizes(&self, input: &ResultInput) -> bool {
        match &input.content {
            ResultContent::Json(json) => is_benchmark(json),
            ResultContent::Folder => !runs_below(&last_iteration(&input.path).0).is_empty(),
            _ => false,
        }
    }

    fn read(&self, input: &ResultInput) -> Result<ToolResults, ResultError> {
        let mut results = ToolResults {
            source: ResultSource {
                format: self.name().to_owned(),
                tool: "skill-creator".to_owned(),
                version: None,
                files: vec![input.path.clone()],
            },
            own_tasks: true,
            unused: vec!["claims, notes and feedback of the grader, and token counts".to_owned()],
            ..ToolResults::default()
        };
        match &input.content {
            ResultContent::Json(json) => read_benchmark(&mut results, json, &input.path)?,
            _ => read_workspace(&mut results, &input.path)?,
        }
        note_one_skill(&mut results);
        // Its other baseline is an earlier version of the skill.
        for attempt in results.attempts.iter_mut().filter(|own| results.arms[own.arm].name == OLD_SKILL) {
            attempt.skills = Some(1);
        }
        Ok(results)
    }
}

fn is_benchmark(json: &Value) -> bool {
    json.get("run_summary").is_some()
        && entries(json, "runs").all(|run| run.get("configuration").is_some())
        && json.get("runs").is_some()
}

/// The folder of the last iteration, and how many there are.
fn last_iteration(folder: &Path) -> (PathBuf, usize) {
    let number = |path: &PathBuf| path.file_name()?.to_str()?.strip_prefix("iteration-")?.parse::<u64>().ok();
    let mut found: Vec<PathBuf> =
        subfolders(folder).into_iter().filter(|path| number(path).is_some()).collect();
    found.sort_by_key(number);
    let count = found.len();
    (found.pop().unwrap_or_else(|| folder.to_owned()), count)
}

fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut folders: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
    folders.sort();
    folders
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The runs below an iteration: the evaluation, the configuration, and the folder of the run.
fn runs_below(iteration: &Path) -> Vec<(String, String, PathBuf)> {
    let mut runs = Vec::new();
    for eval in subfolders(iteration) {
        for configuration in subfolders(&eval) {
            let name = file_name(&configuration);
            if role(&name) == ArmRole::Unnamed {
                continue;
            }
            let numbered: Vec<PathBuf> = subfolders(&configuration)
                .into_iter()
                .filter(|run| file_name(run).starts_with("run-"))
                .collect();
            let folders = if numbered.is_empty() { vec![configuration] } else { numbered };
            runs.extend(folders.into_iter().map(|folder| (file_name(&eval), name.clone(), folder)));
        }
    }
    runs
}

fn read_document(path: &Path) -> Result<Option<Value>, ResultError> {
    match read_text(path, DOCUMENT_CAP) {
        Ok(text) => parse_json(&text)
            .map(Some)
            .map_err(|error| ResultError::invalid(path, format!("not valid JSON: {error}"))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ResultError::Read { path: path.to_owned(), source }),
    }
}

fn read_workspace(results: &mut ToolResults, folder: &Path) -> Result<(), ResultError> {
    let (iteration, count) = last_iteration(folder);
    if count > 1 {
        results
            .unused
            .push(format!("{} earlier iterations: each has another version of the skill", count - 1));
    }
    results.source.files = vec![iteration.clone()];
    for (case, configuration, run) in runs_below(&iteration) {
        let arm = results.arm_index(&configuration, role(&configuration));
        let mut attempt = match read_document(&run.join("grading.json"))? {
            Some(grading) => read_grading(&grading)
                .map_err(|reason| ResultError::invalid(&run.join("grading.json"), reason))?,
            None => ResultAttempt {
                end: AttemptEnd::Skipped("it has no grading.json".to_owned()),
                ..ResultAttempt::default()
            },
        };
        if let Some(timing) = read_document(&run.join("timing.json"))? {
            attempt.seconds = amount(&timing, "total_duration_seconds").or(attempt.seconds);
        }
        results.attempts.push(ResultAttempt { arm, case, ..attempt });
    }
    if let Some(benchmark) = read_document(&iteration.join("benchmark.json"))? {
        describe(results, &benchmark);
    }
    Ok(())
}

fn read_grading(grading: &Value) -> Result<ResultAttempt, String> {
    let checks = read_checks(grading);
    let given =
        grading.get("summary").and_then(|summary| summary.get("pass_rate")).filter(|rate| !rate.is_null());
    let score = match given {
        Some(rate) => Some(rate.as_f64().ok_or("`summary.pass_rate` is not a number")?),
        None => None,
    };
    // The rate in the file is rounded; the expectations are not.
    let counted = (!checks.is_empty())
        .then(|| checks.iter().filter(|check| check.passed).count() as f64 / checks.len() as f64);
    let score = counted.or(score);
    let end = if score.is_none() {
        AttemptEnd::Skipped("it has no expectation".to_owned())
    } else {
        AttemptEnd::Graded
    };
    let seconds = grading.get("timing").and_then(|timing| amount(timing, "total_duration_seconds"));
    Ok(ResultAttempt { end, score, checks, seconds, ..ResultAttempt::default() })
}

fn read_checks(grading: &Value) -> Vec<ResultCheck> {
    entries(grading, "expectations")
        .map(|check| ResultCheck {
            name: text_field(check, "text").unwrap_or_default(),
            passed: check.get("passed").and_then(Value::as_bool).unwrap_or(false),
            reason: text_field(check, "evidence"),
            judged: true,
        })
        .collect()
}

fn read_benchmark(results: &mut ToolResults, json: &Value, path: &Path) -> Result<(), ResultError> {
    let mut seen: BTreeMap<(usize, String, String), usize> = BTreeMap::new();
    for (at, run) in entries(json, "runs").enumerate() {
        let fail = |reason: &str| ResultError::invalid(path, format!("runs[{at}]: {reason}"));
        let configuration =
            text_field(run, "configuration").ok_or_else(|| fail("`configuration` is not a name"))?;
        let id = name_of(run.get("eval_id"));
        let case = match (id, text_field(run, "eval_name")) {
            (Some(id), Some(name)) => format!("{id} {name}"),
            (id, name) => id.or(name).ok_or_else(|| fail("neither `eval_id` nor `eval_name`"))?,
        };
        let arm = results.arm_index(&configuration, role(&configuration));
        let number = name_of(run.get("run_number")).unwrap_or_default();
        *seen.entry((arm, case.clone(), number)).or_default() += 1;
        let result = run.get("result").unwrap_or(&Value::Null);
        let score = match result.get("pass_rate") {
            None | Some(Value::Null) => None,
            Some(rate) => Some(rate.as_f64().ok_or_else(|| fail("`result.pass_rate` is not a number"))?),
        };
        let end = if score.is_none() {
            AttemptEnd::Skipped("it has no pass rate".to_owned())
        } else {
            AttemptEnd::Graded
        };
        results.attempts.push(ResultAttempt {
            arm,
            case,
            end,
            score,
            checks: read_checks(run),
            seconds: amount(result, "time_seconds"),
            ..ResultAttempt::default()
        });
    }
    for ((_, case, number), count) in seen {
        if count > 1 {
            results.remark(
                "duplicate-case",
                format!("{case:?} has {count} results of run {number}; they count as repetitions"),
            );
        }
    }
    describe(results, json);
    Ok(())
}

/// What `benchmark.json` says besides the runs.
fn describe(results: &mut ToolResults, json: &Value) {
    let metadata = json.get("metadata").unwrap_or(&Value::Null);
    results.subject = text_field(metadata, "skill_name");
    remark_missing_runs(results, metadata.get("runs_per_configuration").and_then(Value::as_u64));
    let named = |key: &str| text_field(metadata, key).filter(|name| !name.contains('<'));
    for arm in &mut results.arms {
        arm.models.extend(named("executor_model"));
    }
    let arm = |role: ArmRole| results.arms.iter().find(|arm| arm.role == role).map(|arm| arm.name.clone());
    let Some(arms) = arm(ArmRole::Treatment).zip(arm(ArmRole::Baseline)) else { return };
    let delta = json.pointer("/run_summary/delta/pass_rate");
    let printed = delta.and_then(|delta| match delta {
        Value::String(text) => text.trim().parse::<f64>().ok(),
        other => other.as_f64(),
    });
    results.published.push(PublishedComparison {
        arms: Some(arms),
        measure: "mean pass rate of expectations".to_owned(),
        delta: printed,
        // The difference of two means that were rounded to four decimals, printed with two where it is text.
        rounding: 1e-4 + if delta.is_some_and(Value::is_string) { 0.005 } else { 0.5e-4 },
        rule: DeltaRule::ByAttempt,
        ..PublishedComparison::default()
    });
}
