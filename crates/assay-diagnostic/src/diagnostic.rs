//! One finding in one file.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use crate::escape::escape;
use crate::severity::Severity;

/// One finding in one file. Displays as `file:line:column: severity: message [code]`, without
/// control characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Its severity.
    pub severity: Severity,
    /// A stable name of the rule, in kebab case.
    pub code: &'static str,
    /// The problem: a lower-case fragment. It may quote the input: escape it before printing.
    pub message: String,
    /// The file at fault.
    pub file: PathBuf,
    /// The line at fault, from 1.
    pub line: Option<usize>,
    /// The column at fault, from 1, in characters.
    pub column: Option<usize>,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// A finding about a file as a whole.
    pub fn new(
        severity: Severity,
        code: &'static str,
        file: impl Into<PathBuf>,
        message: impl Into<String>,
    ) -> Self {
        let (message, file) = (message.into(), file.into());
        Self { severity, code, message, file, line: None, column: None, hint: None }
    }

    /// Places it at a line, from 1.
    #[must_use]
    pub fn at_line(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }

    /// Places it at a line and a column, both from 1.
    #[must_use]
    pub fn at(mut self, (line, column): (usize, usize)) -> Self {
        (self.line, self.column) = (Some(line), Some(column));
        self
    }

    /// Adds a fix.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", escape(&self.file.to_string_lossy()))?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
            if let Some(column) = self.column {
                write!(f, ":{column}")?;
            }
        }
        write!(f, ": {}: {} [{}]", self.severity, escape(&self.message), self.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_as_file_line_column() {
        let plain = Diagnostic::new(Severity::Warning, "some-rule", "a/SKILL.md", "too long");
        assert_eq!(plain.to_string(), "a/SKILL.md: warning: too long [some-rule]");
        assert_eq!(plain.clone().at_line(3).to_string(), "a/SKILL.md:3: warning: too long [some-rule]");
        assert_eq!(plain.at((3, 7)).to_string(), "a/SKILL.md:3:7: warning: too long [some-rule]");
    }

    #[test]
    fn terminal_escapes_are_removed() {
        let shown =
            Diagnostic::new(Severity::Error, "x", "a\u{1b}[2J", "\u{1b}]0;title\u{7}\u{202e}").to_string();
        assert!(!shown.chars().any(|c| c.is_control() || c == '\u{202e}'), "{shown:?}");
    }
}
