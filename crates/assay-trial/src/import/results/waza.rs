//! Results of waza (microsoft/waza): `results.json` of `waza run`, with `baseline_outcome` if it was run with `--baseline`.
//!
//! The score of an attempt is whether it passed: waza's own difference is one of pass rates.

use std::path::Path;

use assay_store::{
    ArmRole, AttemptEnd, DeltaRule, PublishedComparison, ResultAttempt, ResultCheck, ResultSource,
    ToolResults,
};
use serde_json::Value;

use super::error::ResultError;
use super::format::{ResultFormat, note_one_skill, remark_missing_runs};
use super::input::ResultInput;
use super::json::{amount, entries, text_field};
use crate::import::ImportFact;

/// The format of waza's results.
pub(super) struct WazaResults;

/// Kinds of graders that a model decides.
const JUDGED: &str = "prompt";

impl ResultFormat for WazaResults {
    fn name(&self) -> &'static str {
        "waza results"
    }

    fn facts(&self) -> &'static [ImportFact] {
        &[ImportFact::Category, ImportFact::Skills]
    }

    fn recognizes(&self, input: &ResultInput) -> bool {
        let has = |json: &Value, keys: &[&str]| keys.iter().all(|key| json.get(key).is_some());
        input.json().is_some_and(|json| has(json, &["eval_id", "skill", "config", "summary", "tasks"]))
    }

    fn read(&self, input: &ResultInput) -> Result<ToolResults, ResultError> {
        let Some(json) = input.json() else { return Err(ResultError::unreadable(&input.path)) };
        let config = json.get("config").unwrap_or(&Value::Null);
        let mut results = ToolResults {
            source: ResultSource {
                format: self.name().to_owned(),
                tool: "waza".to_owned(),
                version: text_field(json, "schemaVersion"),
                files: vec![input.path.clone()],
            },
            subject: text_field(json, "skill"),
            own_tasks: true,
            scores_failures: true,
            judges: text_field(config, "judge_model").into_iter().collect(),
            unused: vec![
                "weighted scores, transcripts and token counts: an attempt counts as passed or not"
                    .to_owned(),
            ],
            ..ToolResults::default()
        };
        let model = text_field(config, "model_id");
        let baseline = json.get("baseline_outcome").filter(|outcome| outcome.is_object());
        let name = match baseline {
            Some(_) => "with skill".to_owned(),
            None => model.clone().unwrap_or_else(|| "skill".to_owned()),
        };
        let role = if baseline.is_some() { ArmRole::Treatment } else { ArmRole::Unnamed };
        read_outcome(&mut results, json, &name, role, &input.path)?;
        match baseline {
            Some(outcome) => {
                read_outcome(&mut results, outcome, "baseline", ArmRole::Baseline, &input.path)?;
                let verdict = json.pointer("/skill_impact_stats/is_significant").and_then(Value::as_bool);
                results.published.push(PublishedComparison {
                    arms: Some((name, "baseline".to_owned())),
                    measure: "pass rate".to_owned(),
                    delta: mean_impact(json),
                    rounding: 1e-6,
                    rule: DeltaRule::ByCase,
                    verdict: verdict
                        .map(|shown| if shown { "significant" } else { "not significant" }.to_owned()),
                    ..PublishedComparison::default()
                });
            }
            None => results.rerun = Some("waza run eval.yaml --baseline --output results.json".to_owned()),
        }
        note_one_skill(&mut results);
        remark_missing_runs(&mut results, config.get("runs_per_test").and_then(Value::as_u64));
        let summary = json.get("summary").unwrap_or(&Value::Null);
        let counted = |key: &str| summary.get(key).and_then(Value::as_u64);
        if let Some((passed, total)) = counted("succeeded").zip(counted("total_tests"))
            && results.published.is_empty()
        {
            results.published.push(PublishedComparison {
                measure: "pass rate".to_owned(),
                verdict: Some(format!("{passed} of {total} tests passed")),
                ..PublishedComparison::default()
            });
        }
        Ok(results)
    }
}

/// The mean over tasks of the difference that each task has.
fn mean_impact(json: &Value) -> Option<f64> {
    let deltas: Vec<f64> =
        entries(json, "tasks").filter_map(|task| task.pointer("/skill_impact/delta")?.as_f64()).collect();
    (!deltas.is_empty()).then(|| deltas.iter().sum::<f64>() / deltas.len() as f64)
}

fn read_outcome(
    results: &mut ToolResults,
    outcome: &Value,
    name: &str,
    role: ArmRole,
    path: &Path,
) -> Result<(), ResultError> {
    let arm = results.arm_index(name, role);
    results.arms[arm].models.extend(outcome.get("config").and_then(|config| text_field(config, "model_id")));
    let tasks = outcome.get("tasks").and_then(Value::as_array);
    let tasks =
        tasks.ok_or_else(|| ResultError::invalid(path, format!("`tasks` of {name} is not a list")))?;
    let mut seen = std::collections::BTreeSet::new();
    for (at, task) in tasks.iter().enumerate() {
        let place = format!("tasks[{at}] of {name}");
        let case = text_field(task, "test_id")
            .ok_or_else(|| ResultError::invalid(path, format!("{place}: no `test_id`")))?;
        if !seen.insert(case.clone()) {
            results.remark(
                "duplicate-case",
                format!("two tasks are called {case:?}; their runs count as repetitions of one"),
            );
        }
        // What `group_by` of the evaluation sorts tasks by.
        let category = text_field(task, "group");
        let runs: Vec<&Value> = entries(task, "runs").collect();
        if runs.is_empty() {
            let status = text_field(task, "status").unwrap_or_else(|| "unknown".to_owned());
            let end = AttemptEnd::Skipped(format!("it has no run; its status is `{status}`"));
            let (case, category) = (case.clone(), category.clone());
            results.attempts.push(ResultAttempt { arm, case, category, end, ..ResultAttempt::default() });
        }
        for (number, run) in runs.into_iter().enumerate() {
            let attempt = read_run(run, arm, &case)
                .map_err(|reason| ResultError::invalid(path, format!("{place}: runs[{number}]: {reason}")))?;
            results.attempts.push(ResultAttempt { category: category.clone(), ..attempt });
        }
    }
    Ok(())
}

fn read_run(run: &Value, arm: usize, case: &str) -> Result<ResultAttempt, String> {
    let status = text_field(run, "status").ok_or("no `status`")?;
    let message = || text_field(run, "error_msg").unwrap_or_else(|| "an error without a message".to_owned());
    let (end, score) = match status.as_str() {
        "passed" => (AttemptEnd::Graded, Some(1.0)),
        "failed" => (AttemptEnd::Graded, Some(0.0)),
        // Errors count as not passed in waza's rates.
        "error" => (AttemptEnd::Errored(message()), Some(0.0)),
        "skipped" | "n/a" => (AttemptEnd::Skipped("it was skipped".to_owned()), None),
        other => return Err(format!("unknown status {other:?}")),
    };
    let checks: Vec<ResultCheck> = run
        .get("validations")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, check)| ResultCheck {
            name: name.clone(),
            passed: check.get("passed").and_then(Value::as_bool).unwrap_or(false),
            reason: text_field(check, "feedback"),
            judged: text_field(check, "type").as_deref() == Some(JUDGED),
        })
        .collect();
    // The list is left out if it is empty, so that its absence says nothing.
    let opened = entries(run, "skill_invocations").next().map(|_| true);
    Ok(ResultAttempt {
        arm,
        case: case.to_owned(),
        end,
        score,
        checks,
        seconds: amount(run, "duration_ms").map(|milliseconds| milliseconds / 1000.0),
        opened,
        ..ResultAttempt::default()
    })
}
