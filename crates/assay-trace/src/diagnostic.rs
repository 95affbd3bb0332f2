//! What was odd about a transcript, and where.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::path::Path;

use assay_diagnostic::chain;
use serde::Serialize;

/// Something that was odd, told once for a file however often it happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// A word for programs, such as `invalid-json`.
    pub code: &'static str,
    /// The file, as it was given.
    pub file: String,
    /// The line where it happened first, from 1.
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

/// Kinds of oddity beyond these are counted together: a hostile log could otherwise hold millions of kinds.
const KINDS: usize = 100;

/// Collects diagnostics: the first of each kind, and a count.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    found: BTreeMap<(&'static str, String), (Option<usize>, usize)>,
}

impl Notes {
    /// Something odd on a line. Equal messages are one.
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
