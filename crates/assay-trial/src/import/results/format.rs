//! What every format is, and what their readers share.

use std::collections::BTreeMap;

use assay_store::{ArmRole, ConditionRole, ToolResults};

use super::error::ResultError;
use super::input::ResultInput;
use crate::import::condition::named_condition;

/// A format of results.
pub trait ResultFormat: Sync {
    /// Its name in messages and documents.
    fn name(&self) -> &'static str;

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

/// What an arm of this name is.
pub(super) fn role_of(name: &str) -> ArmRole {
    match named_condition(name) {
        Ok(Some(ConditionRole::None)) => ArmRole::Baseline,
        Ok(Some(ConditionRole::Curated)) => ArmRole::Treatment,
        _ => ArmRole::Unnamed,
    }
}
