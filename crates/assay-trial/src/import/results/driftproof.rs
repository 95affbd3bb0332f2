//! Receipts of Driftproof (schema 0.2): a case under two modes, each with several scores of one judge on one answer.
//!
//! The samples of a case are draws of the judge and not attempts of the agent: there is one attempt for each mode.

use assay_store::{
    ArmRole, AttemptEnd, DeltaRule, PublishedComparison, ResultAttempt, ResultCheck, ResultSource,
    ToolResults,
};
use serde_json::Value;

use super::error::ResultError;
use super::format::{ResultFormat, note_one_skill};
use super::input::ResultInput;
use super::json::{entries, text_field};
use crate::import::ImportFact;

/// The format of Driftproof's receipts.
pub(super) struct DriftproofReceipt;

impl ResultFormat for DriftproofReceipt {
    fn name(&self) -> &'static str {
        "Driftproof receipt"
    }

    fn facts(&self) -> &'static [ImportFact] {
        &[ImportFact::Skills]
    }

    fn recognizes(&self, input: &ResultInput) -> bool {
        input.json().is_some_and(|json| {
            json.get("receipt_hash").is_some()
                && json.get("suite").is_some()
                && json.pointer("/results/cases").is_some()
        })
    }

    fn read(&self, input: &ResultInput) -> Result<ToolResults, ResultError> {
        let Some(json) = input.json() else { return Err(ResultError::unreadable(&input.path)) };
        let run = json.get("run").unwrap_or(&Value::Null);
        let mut results = ToolResults {
            source: ResultSource {
                format: self.name().to_owned(),
                tool: "Driftproof".to_owned(),
                version: text_field(run, "runner_version"),
                files: vec![input.path.clone()],
            },
            subject: json.get("skill").and_then(|skill| text_field(skill, "name")),
            own_tasks: false,
            unused: vec![
                "repeated draws of the judge on one answer: they say nothing of other answers".to_owned(),
                "its delta_uncertainty, the judge's spread".to_owned(),
            ],
            ..ToolResults::default()
        };
        let cases = json.get("results").unwrap_or(&Value::Null);
        if !cases.get("cases").is_some_and(Value::is_array) {
            return Err(ResultError::invalid(&input.path, "`results.cases` is not a list"));
        }
        for (at, case) in entries(cases, "cases").enumerate() {
            read_case(&mut results, case).map_err(|reason| {
                ResultError::invalid(&input.path, format!("results.cases[{at}]: {reason}"))
            })?;
        }
        for arm in &mut results.arms {
            arm.models.extend(text_field(run, "model_id"));
        }
        note_one_skill(&mut results);
        compare_with_suite(&mut results, json);
        let comparison = json.get("comparison").unwrap_or(&Value::Null);
        results.published.push(PublishedComparison {
            arms: Some(("with_skill".to_owned(), "baseline".to_owned())),
            measure: "mean score of a judge".to_owned(),
            delta: comparison.get("delta").and_then(Value::as_f64),
            // The difference of two means, each printed with six decimals.
            rounding: 1.5e-6,
            rule: DeltaRule::ByCase,
            verdict: text_field(json, "verification_level"),
            ..PublishedComparison::default()
        });
        Ok(results)
    }
}

fn read_case(results: &mut ToolResults, case: &Value) -> Result<(), String> {
    let id = text_field(case, "id").ok_or("no `id`")?;
    let mode = text_field(case, "mode").ok_or("no `mode`")?;
    let role = match mode.as_str() {
        "with_skill" => ArmRole::Treatment,
        "baseline" => ArmRole::Baseline,
        other => return Err(format!("unknown mode {other:?}")),
    };
    let arm = results.arm_index(&mode, role);
    if results.attempts.iter().any(|attempt| attempt.arm == arm && attempt.case == id) {
        results.remark(
            "duplicate-case",
            format!("{id:?} has several results under {mode}; they count as repetitions"),
        );
    }
    let outcome = text_field(case, "outcome").unwrap_or_default();
    let score = match case.get("score").or_else(|| case.get("mean")) {
        None | Some(Value::Null) => None,
        Some(score) => Some(score.as_f64().ok_or("`score` is not a number")?),
    };
    let end = match (outcome.as_str(), score) {
        ("error" | "errored", _) => {
            AttemptEnd::Errored(text_field(case, "reason").unwrap_or(outcome.clone()))
        }
        ("skipped", _) | (_, None) => AttemptEnd::Skipped("it has no score".to_owned()),
        _ => AttemptEnd::Graded,
    };
    results.judges.extend(case.get("judge").and_then(|judge| text_field(judge, "model_id")));
    let check = ResultCheck {
        name: "rubric".to_owned(),
        passed: outcome == "pass",
        reason: text_field(case, "reason"),
        judged: true,
    };
    results.attempts.push(ResultAttempt {
        arm,
        case: id,
        end,
        score,
        checks: vec![check],
        ..ResultAttempt::default()
    });
    Ok(())
}

/// The suite has as many cases as the receipt says.
fn compare_with_suite(results: &mut ToolResults, json: &Value) {
    let planned = json.pointer("/suite/case_count").and_then(Value::as_u64).unwrap_or(0);
    let found: std::collections::BTreeSet<&str> =
        results.attempts.iter().map(|attempt| attempt.case.as_str()).collect();
    let found = u64::try_from(found.len()).unwrap_or(u64::MAX);
    for number in 1..=planned.saturating_sub(found).min(1000) {
        results.absent_cases.push(format!("case {} of {planned}", found + number));
    }
}
