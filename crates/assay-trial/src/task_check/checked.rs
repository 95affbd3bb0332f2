//! A checked task, or what looks like one.

use std::path::PathBuf;

use assay_diagnostic::Severity;
use assay_task::check::{self, Finding, Verdict};
use serde::Serialize;

use super::trials::TaskTrials;

/// One task, or what looks like one.
#[derive(Debug, Serialize)]
pub struct CheckedTask {
    /// Its name.
    pub task: String,
    /// Its folder.
    pub path: PathBuf,
    /// The verdict on it.
    pub verdict: Verdict,
    /// What was found.
    pub findings: Vec<Finding>,
    /// What its trials came to.
    pub executed: TaskTrials,
}

/// A folder that looks like a task and cannot be one.
pub fn report_refusal(refusal: &check::Refusal) -> CheckedTask {
    let finding =
        Finding::new(Severity::Error, refusal.code, &refusal.path, refusal.reason.clone(), &refusal.hint);
    failed(refusal.path.clone(), finding)
}

/// A task that cannot be read.
pub fn report_unusable(path: PathBuf, error: &assay_task::TaskError) -> CheckedTask {
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

fn failed(path: PathBuf, finding: Finding) -> CheckedTask {
    let task = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    CheckedTask {
        task,
        path,
        verdict: Verdict::Fail,
        findings: vec![finding],
        executed: TaskTrials::default(),
    }
}
