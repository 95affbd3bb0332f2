//! A checked task, or what looks like one.

use std::path::PathBuf;

use assay_diagnostic::Severity;
use assay_task::check::{self, Finding, Verdict};
use serde::Serialize;

use super::execute::Executed;

/// One task, or what looks like one.
#[derive(Serialize)]
pub(super) struct Checked {
    pub(super) task: String,
    pub(super) path: PathBuf,
    pub(super) verdict: Verdict,
    pub(super) findings: Vec<Finding>,
    pub(super) executed: Executed,
}

pub(super) fn refused(refusal: &check::Refusal) -> Checked {
    let finding =
        Finding::new(Severity::Error, refusal.code, &refusal.path, refusal.reason.clone(), &refusal.hint);
    failed(refusal.path.clone(), finding)
}

pub(super) fn unusable(path: PathBuf, error: &assay_task::TaskError) -> Checked {
    let mut message = error.to_string();
    if let Some(cause) = std::error::Error::source(error) {
        message = format!("{message}: {cause}");
    }
    let file = error.path().map_or_else(|| path.clone(), std::path::Path::to_path_buf);
    let mut finding = Finding::new(Severity::Error, "task-unusable", file, message, error.hint());
    if let assay_task::TaskError::Line { line, .. } = error {
        finding.line = Some(*line);
    }
    failed(path, finding)
}

fn failed(path: PathBuf, finding: Finding) -> Checked {
    let task = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Checked { task, path, verdict: Verdict::Fail, findings: vec![finding], executed: Executed::default() }
}
