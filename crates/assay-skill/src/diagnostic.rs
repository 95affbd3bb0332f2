//! What a lenient reader has to say about its input.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use crate::text::printable;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Some client drops the package, or something of it was lost in reading.
    Error,
    /// It was read as meant, and the format's rules are broken.
    Warning,
    /// Worth knowing.
    Info,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        })
    }
}

/// One finding in one file. Displays as `file:line:column: severity: message [code]`, without control characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// How much it matters.
    pub severity: Severity,
    /// A stable name of the rule, in kebab case.
    pub code: &'static str,
    /// What is the matter: a lower-case fragment. It may quote the input: escape it before printing.
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

    /// Says what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", printable(&self.file.to_string_lossy()))?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
            if let Some(column) = self.column {
                write!(f, ":{column}")?;
            }
        }
        write!(f, ": {}: {} [{}]", self.severity, printable(&self.message), self.code)
    }
}

/// Line and column, both from 1 and the column in characters, of a byte offset into a text.
pub fn position(text: &str, offset: usize) -> (usize, usize) {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
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
    fn terminal_escapes_do_not_get_through() {
        let shown =
            Diagnostic::new(Severity::Error, "x", "a\u{1b}[2J", "\u{1b}]0;title\u{7}\u{202e}").to_string();
        assert!(!shown.chars().any(|c| c.is_control() || c == '\u{202e}'), "{shown:?}");
    }

    #[test]
    fn offsets_become_positions() {
        let check = |offset, expected| assert_eq!(position("aé\nb\n", offset), expected, "{offset}");
        check(0, (1, 1));
        check(1, (1, 2));
        check(2, (1, 2));
        check(3, (1, 3));
        check(4, (2, 1));
        check(6, (3, 1));
        check(99, (3, 1));
    }
}
