//! What every format is, and what their readers share.

use std::collections::BTreeMap;

use assay_store::{ArmRole, ConditionRole, ResultAttempt, ToolResults};
use serde_json::Value;

use super::error::ResultError;
use super::input::ResultInput;
use super::json::name_of;
use crate::import::ImportFact;
use crate::import::condition::named_condition;

/// A format of results.
pub trait ResultFormat: Sync {
    /// Its name in messages and documents.
    fn name(&self) -> &'static str;

    /// The facts of cases and skills that it can state. The others are unknown after an import.
    fn facts(&self) -> &'static [ImportFact];

    /// Whether a file or a folder has it, by its content.
    fn recognizes(&self, input: &ResultInput) -> bool;

    /// The results.
    ///
    /// # Errors
    /// Content that breaks the format, names of the place and the reason.
    fn read(&self, input: &ResultInput) -> Result<ToolResults, ResultError>;
}

/// Remarks on cases with fewer attempts than the tool was told to make.
pub(super) fn remark_missing_runs(results: &mut ToolResults, planned: Option<u64>) {
    let Some(planned) =
        planned.and_then(|planned| usize::try_from(planned).ok()).filter(|planned| *planned > 1)
    else {
        return;
    };
    let mut counts: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    for attempt in &results.attempts {
        *counts.entry((attempt.arm, &attempt.case)).or_default() += 1;
    }
    let cells = counts.len();
    let short = counts.values().filter(|count| **count < planned).count();
    if short > 0 {
        results.remark(
            "missing-runs",
            format!("{short} of {cells} cases have fewer than the {planned} runs that were asked for"),
        );
    }
}

/// The category, difficulty and cluster that the metadata of a case states under these names.
pub(super) fn label_case(attempt: &mut ResultAttempt, metadata: &Value) {
    let label = |fact: ImportFact| name_of(metadata.get(fact.name()));
    attempt.category = label(ImportFact::Category);
    attempt.difficulty = label(ImportFact::Difficulty);
    attempt.cluster = label(ImportFact::Cluster);
}

/// Notes the number of skills of results of a tool that compares one skill with none.
pub(super) fn note_one_skill(results: &mut ToolResults) {
    for attempt in &mut results.attempts {
        attempt.skills = match results.arms[attempt.arm].role {
            ArmRole::Baseline => Some(0),
            ArmRole::Treatment => Some(1),
            ArmRole::Unnamed => None,
        };
    }
}

/// What an arm of this name is.
pub(super) fn role_of(name: &str) -> ArmRole {
    match named_condition(name) {
        Ok(Some(ConditionRole::None)) => ArmRole::Baseline,
        Ok(Some(ConditionRole::Curated)) => ArmRole::Treatment,
        _ => ArmRole::Unnamed,
    }
}
