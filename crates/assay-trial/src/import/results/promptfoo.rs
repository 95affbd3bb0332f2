//! Results of promptfoo: the JSON of `promptfoo eval --output` (results of version 3, and the list of results of version 2).
//!
//! Each pair of a provider and a prompt is an arm. A case is what has the same description and variables: with `--repeat` every
//! repetition has an index of its own, and indices would make independent cases of them. The score of an attempt is whether it passed,
//! as in promptfoo's pass rates. `failureReason` tells errors (2) from failed assertions (1).

use std::collections::{BTreeMap, BTreeSet};

use assay_store::{AttemptEnd, ResultAttempt, ResultCheck, ResultSource, ToolResults};
use serde_json::Value;

use super::error::ResultError;
use super::format::{ResultFormat, label_case, role_of};
use super::input::ResultInput;
use super::json::{amount, entries, name_of, shown, text_field};
use crate::import::ImportFact;

/// The format of promptfoo's results.
pub(super) struct PromptfooResults;

/// `ResultFailureReason.ERROR` of promptfoo.
const ERROR: u64 = 2;

/// Beginnings of the types of assertions that a model decides.
const JUDGED: [&str; 8] = [
    "llm-rubric",
    "model-graded",
    "g-eval",
    "factuality",
    "answer-relevance",
    "context-",
    "select-best",
    "agent-rubric",
];

/// The list of results, which newer versions nest in a summary.
fn rows(json: &Value) -> Option<&Vec<Value>> {
    let results = json.get("results")?;
    results.get("results").unwrap_or(results).as_array()
}

impl ResultFormat for PromptfooResults {
    fn name(&self) -> &'static str {
        "promptfoo results"
    }

    fn facts(&self) -> &'static [ImportFact] {
        &[ImportFact::Category, ImportFact::Difficulty, ImportFact::Cluster]
    }

    fn recognizes(&self, input: &ResultInput) -> bool {
        input.json().is_some_and(|json| {
            let summary = json
                .get("results")
                .is_some_and(|results| results.get("stats").is_some() || results.get("prompts").is_some());
            let is_row = |row: &Value| {
                row.get("promptIdx").is_some()
                    || row.get("provider").is_some() && row.get("success").is_some()
            };
            rows(json).is_some_and(|rows| rows.first().map_or(summary, is_row))
        })
    }

    fn read(&self, input: &ResultInput) -> Result<ToolResults, ResultError> {
        let json = input.json().unwrap_or(&Value::Null);
        let rows = rows(json).ok_or_else(|| ResultError::unreadable(&input.path))?;
        let mut results = ToolResults {
            source: ResultSource {
                format: self.name().to_owned(),
                tool: "promptfoo".to_owned(),
                version: json.pointer("/metadata/promptfooVersion").and_then(Value::as_str).and_then(shown),
                files: vec![input.path.clone()],
            },
            subject: json.get("config").and_then(|config| text_field(config, "description")),
            scores_failures: true,
            rerun: Some("promptfoo eval --repeat 3 --no-cache --output results.json".to_owned()),
            unused: vec!["weighted scores and named scores: an attempt counts as passed or not".to_owned()],
            ..ToolResults::default()
        };
        let labels = labels(rows);
        let mut cases = CaseNames::default();
        for (at, (row, label)) in rows.iter().zip(labels).enumerate() {
            let arm = results.arm_index(&label, role_of(&label));
            results.arms[arm].models.extend(provider(row));
            results.judges.extend(graders(row));
            let attempt = read_row(row, arm, cases.name_case(row))
                .map_err(|reason| ResultError::invalid(&input.path, format!("results[{at}]: {reason}")))?;
            results.attempts.push(attempt);
        }
        Ok(results)
    }
}

fn provider(row: &Value) -> Option<String> {
    let provider = row.get("provider")?;
    name_of(Some(provider)).or_else(|| text_field(provider, "id"))
}

/// The names of the arms: provider and prompt, each only where several differ.
fn labels(rows: &[Value]) -> Vec<String> {
    let pair = |row: &Value| {
        let label = row.get("provider").and_then(|provider| text_field(provider, "label"));
        let prompt = row
            .get("prompt")
            .and_then(|prompt| text_field(prompt, "label"))
            .or_else(|| name_of(row.get("promptIdx")));
        (label.or_else(|| provider(row)).unwrap_or_default(), prompt.unwrap_or_default())
    };
    let pairs: Vec<(String, String)> = rows.iter().map(pair).collect();
    let differ = |part: fn(&(String, String)) -> &String| {
        pairs.first().is_some_and(|first| pairs.iter().any(|pair| part(pair) != part(first)))
    };
    let (providers, prompts) = (differ(|pair| &pair.0), differ(|pair| &pair.1));
    pairs
        .iter()
        .map(|(provider, prompt)| match (providers, prompts) {
            (true, true) => format!("{provider} · {prompt}"),
            (false, true) => prompt.clone(),
            _ => provider.clone(),
        })
        .collect()
}

fn read_row(row: &Value, arm: usize, case: String) -> Result<ResultAttempt, String> {
    let success = row.get("success").and_then(Value::as_bool).ok_or("`success` is not true or false")?;
    let failure = row.get("failureReason").and_then(Value::as_u64);
    let message = text_field(row, "error").unwrap_or_else(|| "an error without a message".to_owned());
    // Versions before `failureReason` have an error and no verdict of assertions.
    let graded = row.get("gradingResult").is_some_and(|grading| !grading.is_null());
    let errored = failure == Some(ERROR)
        || failure.is_none() && !success && !graded && row.get("error").is_some_and(|error| !error.is_null());
    let grading = row.get("gradingResult").unwrap_or(&Value::Null);
    let checks = entries(grading, "componentResults").map(|check| {
        let kind =
            check.get("assertion").and_then(|assertion| text_field(assertion, "type")).unwrap_or_default();
        ResultCheck {
            passed: check.get("pass").and_then(Value::as_bool).unwrap_or(false),
            reason: text_field(check, "reason"),
            judged: JUDGED.iter().any(|start| kind.trim_start_matches("not-").starts_with(start)),
            name: kind,
        }
    });
    // What the assertion found, whether or not that was expected.
    let used = |check: &Value| match check.pointer("/assertion/type").and_then(Value::as_str)? {
        "skill-used" => check.get("pass").and_then(Value::as_bool),
        "not-skill-used" => check.get("pass").and_then(Value::as_bool).map(|pass| !pass),
        _ => None,
    };
    let opened = entries(grading, "componentResults").filter_map(used).reduce(|one, other| one || other);
    let mut attempt = ResultAttempt {
        arm,
        case,
        opened,
        end: if errored { AttemptEnd::Errored(message) } else { AttemptEnd::Graded },
        score: Some(f64::from(u8::from(success))),
        checks: checks.collect(),
        cost_usd: amount(row, "cost"),
        seconds: amount(row, "latencyMs").map(|milliseconds| milliseconds / 1000.0),
        ..ResultAttempt::default()
    };
    // The metadata of a row are those of its test, with what the provider added.
    let of_test = row.pointer("/testCase/metadata").or_else(|| row.get("metadata"));
    label_case(&mut attempt, of_test.unwrap_or(&Value::Null));
    Ok(attempt)
}

/// The names of cases by their description and variables.
#[derive(Default)]
struct CaseNames {
    names: BTreeMap<String, String>,
    used: BTreeSet<String>,
}

impl CaseNames {
    fn name_case(&mut self, row: &Value) -> String {
        let test = row.get("testCase").unwrap_or(&Value::Null);
        let described = text_field(test, "description").or_else(|| text_field(row, "description"));
        let variables =
            row.get("vars").or_else(|| test.get("vars")).map(ToString::to_string).unwrap_or_default();
        let key = format!("{described:?} {variables}");
        if let Some(name) = self.names.get(&key) {
            return name.clone();
        }
        let plain = described.or_else(|| shown(&variables)).unwrap_or_else(|| "test".to_owned());
        // Names are cut, and several cases may share a description.
        let mut name = plain.clone();
        let mut number = 1;
        while !self.used.insert(name.clone()) {
            number += 1;
            name = format!("{plain} [{number}]");
        }
        self.names.insert(key, name.clone());
        name
    }
}

/// The models that assertions name as their grader.
fn graders(row: &Value) -> Vec<String> {
    let grading = row.get("gradingResult").unwrap_or(&Value::Null);
    let assertions = entries(grading, "componentResults").filter_map(|check| check.get("assertion"));
    assertions.filter_map(|assertion| name_of(assertion.get("provider"))).collect()
}
