//! Findings of rules.

use std::path::PathBuf;

use assay_diagnostic::{Diagnostic, Severity};
use serde::Serialize;

/// The word for a severity in what `task check` prints: what fails a task is a failure there, and
/// not an error.
const fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "info",
        Severity::Warning => "warn",
        Severity::Error => "fail",
    }
}

/// The verdict on a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// No finding above `info`.
    Ok,
    /// At least one warning.
    Warn,
    /// It cannot be used unchanged.
    Fail,
    /// A requested part could not be checked, and nothing else failed it.
    Unchecked,
}

impl Verdict {
    /// The word in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
            Self::Unchecked => "unchecked",
        }
    }
}

/// The verdict that findings add up to: a failure weighs more than what could not be checked, and
/// that more than a warning.
pub fn verdict(findings: &[Finding], unchecked: bool) -> Verdict {
    match findings.iter().map(|finding| finding.severity).max() {
        Some(Severity::Error) => Verdict::Fail,
        _ if unchecked => Verdict::Unchecked,
        Some(Severity::Warning) => Verdict::Warn,
        Some(Severity::Info) | None => Verdict::Ok,
    }
}

/// A place in a text, with the text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Span {
    /// The file.
    pub file: PathBuf,
    /// Its first line, from 1.
    pub line: usize,
    /// Its last line.
    pub end_line: usize,
    /// The text, shortened.
    pub text: String,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The rule, or the code of the reader's diagnostic: kebab case, stable.
    pub code: String,
    /// Its severity: an error if results on this task would be meaningless or wrong.
    #[serde(serialize_with = "serialize_word")]
    pub severity: Severity,
    /// The message: a lower-case fragment. It may quote the input: clean it before printing.
    pub message: String,
    /// The file at fault.
    pub file: PathBuf,
    /// The line at fault, from 1.
    pub line: Option<usize>,
    /// What to do about it.
    pub hint: Option<String>,
    /// Text shared with a skill: its place in the skill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skill_span: Option<Span>,
    /// Text shared with a skill: its place in the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_span: Option<Span>,
}

impl Finding {
    /// A finding about a complete file.
    pub fn new(
        severity: Severity,
        code: &str,
        file: impl Into<PathBuf>,
        message: impl Into<String>,
        hint: &str,
    ) -> Self {
        Self {
            code: code.to_owned(),
            severity,
            message: message.into(),
            file: file.into(),
            line: None,
            hint: (!hint.is_empty()).then(|| hint.to_owned()),
            skill_span: None,
            task_span: None,
        }
    }

    /// The word for its severity: `info`, `warn` or `fail`.
    pub fn word(&self) -> &'static str {
        word(self.severity)
    }

    /// At a line, from 1.
    #[must_use]
    pub fn at(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }

    /// A finding about text that a skill and the task share.
    pub(crate) fn shared(
        severity: Severity,
        code: &str,
        message: String,
        hint: &str,
        skill: Span,
        task: Span,
    ) -> Self {
        let mut finding = Self::new(severity, code, task.file.clone(), message, hint).at(task.line);
        (finding.skill_span, finding.task_span) = (Some(skill), Some(task));
        finding
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn serialize_word<S: serde::Serializer>(severity: &Severity, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(word(*severity))
}

impl From<&Diagnostic> for Finding {
    fn from(diagnostic: &Diagnostic) -> Self {
        let hint = diagnostic.hint.as_deref().unwrap_or_default();
        let mut finding = Self::new(
            diagnostic.severity,
            diagnostic.code,
            diagnostic.file.clone(),
            diagnostic.message.clone(),
            hint,
        );
        finding.line = diagnostic.line;
        finding
    }
}
