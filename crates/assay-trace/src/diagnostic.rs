//! Problems found in a transcript, with their position.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::path::Path;

use assay_diagnostic::chain;
use serde::Serialize;

/// A problem in a transcript, reported once for a file with a count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// A machine-readable code, such as `invalid-json`.
    pub code: &'static str,
    /// The file, as given by the caller.
    pub file: String,
    /// The line of its first occurrence, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// How often it happened.
    pub count: usize,
    /// What happened.
    pub message: String,
}

impl Diagnostic {
    /// A sub-agent's log that cannot be read.
    pub(crate) fn of_unreadable(path: &Path, error: &dyn Error) -> Self {
        Self {
            code: "unreadable-log",
            file: path.display().to_string(),
            line: None,
            count: 1,
            message: format!("skipped a sub-agent's log: {}", chain(error)),
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.message)?;
        if self.count > 1 {
            write!(f, " ({} times)", self.count)?;
        }
        Ok(())
    }
}

/// Further kinds of problems are counted together: a hostile log could otherwise have millions of
/// kinds.
const KINDS: usize = 100;

/// Collects diagnostics: the first of each kind, and a count.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    found: BTreeMap<(&'static str, String), (Option<usize>, usize)>,
}

impl Notes {
    /// Adds a problem on a line. Equal messages are counted together.
    pub(crate) fn add(&mut self, code: &'static str, line: Option<usize>, message: impl Into<String>) {
        let mut key = (code, message.into());
        if self.found.len() >= KINDS && !self.found.contains_key(&key) {
            key = (code, "more of the kind".to_owned());
        }
        self.found.entry(key).or_insert((line, 0)).1 += 1;
    }

    /// In the order of their lines.
    pub(crate) fn into_sorted(self, file: &str) -> Vec<Diagnostic> {
        let mut all: Vec<Diagnostic> = self
            .found
            .into_iter()
            .map(|((code, message), (line, count))| Diagnostic {
                code,
                file: file.to_owned(),
                line,
                count,
                message,
            })
            .collect();
        all.sort_by(|a, b| (a.line.is_none(), a.line, a.code).cmp(&(b.line.is_none(), b.line, b.code)));
        all
    }
}
