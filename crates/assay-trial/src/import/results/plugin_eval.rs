//! `aggregate-result.json` of `claude plugin eval` (schemaVersion 1, as Claude Code 2.1.330 writes it).
//!
//! An attempt with an `error` is scored all the same, and a grader that the cost limit left out counts as failed; both are
//! kept as what they are. The model is named only where `--model` set it. Without a trace, the only evidence that the skill
//! was opened is a `tool_used` grader for the tool `Skill`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use assay_store::{
    ArmRole, AttemptEnd, DeltaRule, PublishedComparison, ResultAttempt, ResultCheck, ResultSource,
    ToolResults,
};
use serde_json::Value;

use super::error::ResultError;
use super::format::ResultFormat;
use super::input::ResultInput;
use super::json::{amount, entries, score_of, text_field};
use crate::import::ImportFact;

/// The format of `claude plugin eval`.
pub(super) struct PluginEval;

/// The names of the arms, in the file and here.
const ARMS: [(&str, &str, ArmRole); 2] =
    [("with", "with", ArmRole::Treatment), ("without", "without", ArmRole::Baseline)];

/// Kinds of graders that a model decides.
const JUDGED: [&str; 2] = ["llm", "baseline"];

impl ResultFormat for PluginEval {
    fn name(&self) -> &'static str {
        "claude plugin eval"
    }

    fn facts(&self) -> &'static [ImportFact] {
        // A plugin may have several skills, and the file does not say how many.
        &[]
    }

    fn recognizes(&self, input: &ResultInput) -> bool {
        input.json().is_some_and(|json| {
            json.get("schemaVersion").is_some()
                && json.get("suite").is_some_and(Value::is_object)
                && json.get("cases").is_some()
        })
    }

    fn read(&self, input: &ResultInput) -> Result<ToolResults, ResultError> {
        let Some(json) = input.json() else { return Err(ResultError::unreadable(&input.path)) };
        let fail = |reason: &str| ResultError::invalid(&input.path, reason);
        if json.get("schemaVersion").and_then(Value::as_u64) != Some(1) {
            return Err(fail("`schemaVersion` is not 1, the only version that is known"));
        }
        let cases =
            json.get("cases").and_then(Value::as_array).ok_or_else(|| fail("`cases` is not a list"))?;
        let mut results = ToolResults {
            source: ResultSource {
                format: self.name().to_owned(),
                tool: "Claude Code".to_owned(),
                version: text_field(json, "claudeVersion"),
                files: vec![input.path.clone()],
            },
            subject: subject(json),
            partial: partial(json),
            own_tasks: true,
            scores_failures: true,
            judges: text_field(&json["suite"], "judgeModel").into_iter().collect(),
            unused: vec!["turns, durations and the weights of graders".to_owned()],
            ..ToolResults::default()
        };
        let root = text_field(&json["suite"], "root");
        results.rerun = Some(format!(
            "claude plugin eval {} --runs {} --json out.json",
            root.as_deref().map_or_else(|| "PLUGIN".to_owned(), super::json::shell_word),
            5
        ));
        let mut seen = BTreeSet::new();
        for (at, case) in cases.iter().enumerate() {
            read_case(&mut results, &mut seen, case, at, &input.path)?;
        }
        if let Some(model) = text_field(&json["suite"], "modelOverride") {
            for arm in &mut results.arms {
                arm.models.insert(model.clone());
            }
        }
        compare_with_folder(&mut results, &input.path, root.as_deref(), cases);
        publish(&mut results, json);
        Ok(results)
    }
}

fn subject(json: &Value) -> Option<String> {
    let names: Vec<String> =
        entries(&json["suite"], "plugins").filter_map(|plugin| text_field(plugin, "name")).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

fn partial(json: &Value) -> Option<String> {
    let partial = json.get("partial").and_then(Value::as_bool).unwrap_or(false);
    partial
        .then(|| text_field(json, "partialReason").unwrap_or_else(|| "the run was not finished".to_owned()))
}

fn read_case(
    results: &mut ToolResults,
    seen: &mut BTreeSet<String>,
    case: &Value,
    at: usize,
    path: &Path,
) -> Result<(), ResultError> {
    let place = format!("cases[{at}]");
    let mut name =
        text_field(case, "name").ok_or_else(|| ResultError::invalid(path, format!("{place}: no `name`")))?;
    if !seen.insert(name.clone()) {
        results.remark("duplicate-case", format!("two cases are called {name:?}; they count as two"));
        name = format!("{name} ({})", text_field(case, "dir").unwrap_or(place.clone()));
        seen.insert(name.clone());
    }
    let arms = case.get("arms").and_then(Value::as_object);
    let arms = arms.ok_or_else(|| ResultError::invalid(path, format!("{place}: no `arms`")))?;
    let config = grader_configs(case);
    let before = results.attempts.len();
    for (key, arm, role) in ARMS {
        let Some(runs) = arms.get(key).filter(|runs| !runs.is_null()) else { continue };
        let runs = runs
            .as_array()
            .ok_or_else(|| ResultError::invalid(path, format!("{place}: `arms.{key}` is not a list")))?;
        let index = results.arm_index(arm, role);
        for (number, run) in runs.iter().enumerate() {
            let place = format!("{place}: arms.{key}[{number}]");
            let attempt = read_run(run, &name, index, &config)
                .map_err(|reason| ResultError::invalid(path, format!("{place}: {reason}")))?;
            results.attempts.push(attempt);
        }
    }
    if before == results.attempts.len() {
        results.remark("empty-case", format!("the case {name:?} has no run"));
        results.absent_cases.push(name);
    }
    Ok(())
}

/// The configuration of each grader by name: its type, and whether it detects the tool `Skill`.
fn grader_configs(case: &Value) -> BTreeMap<String, (String, bool)> {
    entries(case, "graders")
        .filter_map(|grader| {
            let kind = text_field(grader, "type").unwrap_or_default();
            let tool = grader.get("config").and_then(|config| text_field(config, "tool"));
            // A grader that wants the tool unused, `max: 0`, passes if it was not opened.
            let unused = grader.pointer("/config/max").and_then(Value::as_u64) == Some(0);
            let opens = kind == "tool_used"
                && tool.is_some_and(|tool| tool == "Skill" || tool.starts_with("Skill("))
                && !unused;
            Some((text_field(grader, "name")?, (kind, opens)))
        })
        .collect()
}

fn read_run(
    run: &Value,
    case: &str,
    arm: usize,
    config: &BTreeMap<String, (String, bool)>,
) -> Result<ResultAttempt, String> {
    let score = match run.get("score") {
        None | Some(Value::Null) => None,
        Some(score) => Some(score_of(score).ok_or("`score` is not a number")?),
    };
    let mut opened = None;
    let mut checks = Vec::new();
    for grader in entries(run, "graders") {
        let name = text_field(grader, "name").unwrap_or_default();
        let passed = grader.get("passed").and_then(Value::as_bool).unwrap_or(false);
        let kind = config.get(&name);
        if kind.is_some_and(|(_, opens)| *opens) {
            opened = Some(passed || opened == Some(true));
        }
        checks.push(ResultCheck {
            passed,
            reason: text_field(grader, "explanation"),
            judged: grader.get("judgeVotes").is_some()
                || kind.is_some_and(|(kind, _)| JUDGED.contains(&kind.as_str())),
            name,
        });
    }
    let error = match run.get("error") {
        None | Some(Value::Null) => None,
        Some(Value::String(error)) => {
            Some(super::json::shown(error).unwrap_or_else(|| "an error without a message".to_owned()))
        }
        Some(other) => Some(text_field(other, "message").unwrap_or_else(|| "an error".to_owned())),
    };
    let skipped = run.get("skippedPaidGraders").and_then(Value::as_bool).unwrap_or(false);
    let end = match error {
        Some(error) => AttemptEnd::Errored(error),
        None if score.is_none() => AttemptEnd::Skipped("it has no score".to_owned()),
        None if skipped => AttemptEnd::Skipped("graders were skipped at the cost limit".to_owned()),
        None => AttemptEnd::Graded,
    };
    Ok(ResultAttempt {
        arm,
        case: case.to_owned(),
        end,
        score,
        checks,
        cost_usd: amount(run, "costUsd"),
        judge_cost_usd: amount(run, "judgeCostUsd"),
        seconds: amount(run, "durationSeconds"),
        opened,
        ..ResultAttempt::default()
    })
}

/// Cases of the plugin's folder that the file does not have: one that cannot be loaded is left out without a word.
fn compare_with_folder(results: &mut ToolResults, file: &Path, root: Option<&str>, cases: &[Value]) {
    let beside = file.parent().unwrap_or(Path::new("."));
    let roots = [root.map(|root| beside.join(root)), Some(beside.to_owned())];
    let Some(evals) = roots.into_iter().flatten().map(|root| root.join("evals")).find(|evals| evals.is_dir())
    else {
        return;
    };
    let Ok(found) = std::fs::read_dir(&evals) else { return };
    let known: BTreeSet<String> = cases
        .iter()
        .filter_map(|case| text_field(case, "dir"))
        .filter_map(|dir| Path::new(&dir).file_name().map(|name| name.to_string_lossy().into_owned()))
        .chain(cases.iter().filter_map(|case| text_field(case, "name")))
        .collect();
    let mut absent: Vec<String> = found
        .flatten()
        .filter(|entry| {
            ["prompt.md", "case.yaml", "case.yml"].iter().any(|file| entry.path().join(file).is_file())
        })
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !known.contains(name))
        .collect();
    absent.sort();
    results.absent_cases.extend(absent);
}

/// What the tool concluded: the mean difference, and whether each case reached the threshold.
fn publish(results: &mut ToolResults, json: &Value) {
    let aggregates = json.get("aggregates").unwrap_or(&Value::Null);
    let delta = aggregates.get("meanDelta").and_then(Value::as_f64);
    let count = |key: &str| aggregates.get(key).and_then(Value::as_u64);
    let verdict = count("casesPassed").zip(count("casesTotal")).map(|(passed, total)| {
        let threshold = json.pointer("/suite/threshold").and_then(Value::as_f64);
        let threshold = threshold.map_or_else(String::new, |threshold| format!(" at threshold {threshold}"));
        format!("{passed} of {total} cases passed{threshold}")
    });
    results.published.push(PublishedComparison {
        arms: Some((ARMS[0].1.to_owned(), ARMS[1].1.to_owned())),
        measure: "mean score".to_owned(),
        delta,
        rounding: 1e-9,
        rule: DeltaRule::ByCase,
        verdict,
        ..PublishedComparison::default()
    });
}
