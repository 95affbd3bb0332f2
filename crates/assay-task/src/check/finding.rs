//! What a rule has to say.

use std::path::PathBuf;

use assay_skill::{Diagnostic, Severity};
use serde::Serialize;

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Worth knowing; does not change the verdict.
    Info,
    /// Somebody should look.
    Warn,
    /// Results on this task would say nothing, or something wrong.
    Fail,
}

impl Level {
    /// The word in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// What is said of a task as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing to say against it.
    Ok,
    /// Somebody should look.
    Warn,
    /// It cannot be used as it is.
    Fail,
    /// Something asked for could not be checked, and nothing else failed it.
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

/// The verdict that findings add up to: a failure weighs more than what could not be checked, and that more than a warning.
pub fn verdict(findings: &[Finding], unchecked: bool) -> Verdict {
    match findings.iter().map(|finding| finding.severity).max() {
        Some(Level::Fail) => Verdict::Fail,
        _ if unchecked => Verdict::Unchecked,
        Some(Level::Warn) => Verdict::Warn,
        Some(Level::Info) | None => Verdict::Ok,
    }
}

/// A place in a text, and what stands there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Span {
    /// The file.
    pub file: PathBuf,
    /// Its first line, from 1.
    pub line: usize,
    /// Its last line.
    pub end_line: usize,
    /// What stands there, shortened.
    pub text: String,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The rule, or the code of the reader's diagnostic: kebab case, stable.
    pub code: String,
    /// How much it weighs.
    pub severity: Level,
    /// What is the matter: a lower-case fragment. It may quote the input: clean it before printing.
    pub message: String,
    /// The file at fault.
    pub file: PathBuf,
    /// The line at fault, from 1.
    pub line: Option<usize>,
    /// What to do about it.
    pub hint: Option<String>,
    /// What a skill shares with the task: where in the skill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skill_span: Option<Span>,
    /// What a skill shares with the task: where in the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_span: Option<Span>,
}

impl Finding {
    /// A finding about a file as a whole.
    pub fn new(
        severity: Level,
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

    /// At a line, from 1.
    #[must_use]
    pub fn at(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }

    /// What a skill and the task share.
    pub(crate) fn shared(
        severity: Level,
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

impl From<&Diagnostic> for Finding {
    fn from(diagnostic: &Diagnostic) -> Self {
        let severity = match diagnostic.severity {
            Severity::Error => Level::Fail,
            Severity::Warning => Level::Warn,
            Severity::Info => Level::Info,
        };
        let hint = diagnostic.hint.as_deref().unwrap_or_default();
        let mut finding =
            Self::new(severity, diagnostic.code, diagnostic.file.clone(), diagnostic.message.clone(), hint);
        finding.line = diagnostic.line;
        finding
    }
}
