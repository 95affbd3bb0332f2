//! Results of another tool as a run in the store.

use std::collections::BTreeMap;
use std::path::Path;

use assay_store::{ArmRole, AttemptEnd, ConditionRole, Outcome, ResultAttempt, Store, ToolResults};
use assay_table::Value;

use super::error::ResultError;
use crate::import::table::{ImportSource, ImportedTable, Read, import_read};
use crate::import::{AnalysisOptions, ImportError};

/// Imports results: each attempt with a score becomes a trial, and each errored or skipped one an infrastructure error,
/// whatever the tool made of it.
///
/// # Errors
/// An invalid name, a score outside of 0 to 1, rates without attempts, or a store that cannot be written.
pub fn import_results(
    store: &Store,
    results: &ToolResults,
    name: &str,
    analysis: &AnalysisOptions,
) -> Result<ImportedTable, ResultError> {
    let path = results.source.files.first().map_or(Path::new(""), |path| path.as_path());
    if !assay_store::is_run_name(name) {
        return Err(ImportError::Name { what: "run", name: name.to_owned() }.into());
    }
    if results.attempts.is_empty() {
        return Err(ResultError::invalid(path, "it has rates only, and an import needs results of cases"));
    }
    if path.is_dir() {
        return Err(ResultError::invalid(path, "results in a folder cannot be imported: name the file"));
    }
    let mut read = Read::default();
    for (at, attempt) in results.attempts.iter().enumerate() {
        let line = u64::try_from(at + 1).unwrap_or(u64::MAX);
        match cells_of(results, attempt) {
            Ok(cells) => read.add(line, cells)?,
            Err(reason) => read.skip(line, reason),
        }
    }
    let source = ImportSource { path, format: "results", origin: "another tool" };
    Ok(import_read(store, &source, read, name, analysis)?)
}

/// A name that a run can have.
fn plain_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    name.chars().take(80).map(plain).collect()
}

fn cells_of(results: &ToolResults, attempt: &ResultAttempt) -> Result<BTreeMap<&'static str, Value>, String> {
    let arm = &results.arms[attempt.arm];
    let condition = match arm.role {
        ArmRole::Baseline => ConditionRole::None.name().to_owned(),
        ArmRole::Treatment => ConditionRole::Curated.name().to_owned(),
        ArmRole::Unnamed => plain_name(&arm.name),
    };
    let graded = attempt.end == AttemptEnd::Graded;
    let score = attempt.score.filter(|_| graded);
    if score.is_some_and(|score| !(0.0..=1.0).contains(&score)) {
        return Err(format!("the score of {:?} is outside of 0 to 1", attempt.case));
    }
    let text = |text: &str| Value::Text(text.to_owned());
    let optional = |found: Option<&str>| found.map_or(Value::Null, text);
    let count = |count: Option<usize>| {
        count.and_then(|count| i64::try_from(count).ok()).map_or(Value::Null, Value::Integer)
    };
    let number = |number: Option<f64>| number.map_or(Value::Null, Value::Float);
    Ok(BTreeMap::from([
        ("task", text(&attempt.case)),
        ("condition", Value::Text(condition)),
        ("score", number(score)),
        ("outcome", if graded { Value::Null } else { text(Outcome::Infrastructure.word()) }),
        ("cluster", optional(attempt.cluster.as_deref())),
        ("category", optional(attempt.category.as_deref())),
        ("difficulty", optional(attempt.difficulty.as_deref())),
        ("skills", count(attempt.skills)),
        ("skill_tokens", count(attempt.skill_tokens)),
        ("agent", text(&results.source.tool)),
        (
            "model",
            if arm.models.len() == 1 {
                arm.models.first().map_or(Value::Null, |model| text(model))
            } else {
                Value::Null
            },
        ),
        ("cost_usd", number(attempt.cost_usd)),
        ("seconds", number(attempt.seconds)),
    ]))
}
