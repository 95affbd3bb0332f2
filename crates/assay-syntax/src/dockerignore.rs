//! `.dockerignore`: what of a build context is not sent to the builder.
//!
//! Patterns are those of Go's `filepath.Match` and `**`, one a line, relative to the context; `!` brings back what an earlier line left out; the
//! last line that matches a path or a folder above it decides.

use std::path::Path;

use assay_fs::tree::normalize;
use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

/// A pattern as the builder reads it: `*` and `?` stay within a folder, braces mean themselves. `None` if it is not a pattern.
pub fn pattern(text: &str) -> Option<Glob> {
    let escaped = text.replace('{', "\u{0}").replace('}', "[}]").replace('\u{0}', "[{]");
    GlobBuilder::new(&escaped).literal_separator(true).backslash_escape(true).build().ok()
}

/// Why a `.dockerignore` cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IgnoreError {
    /// A line that is no pattern.
    #[error("not a pattern")]
    Pattern {
        /// The line, from 1.
        line: usize,
    },
    /// Patterns that are too large together.
    #[error("patterns that are too large together")]
    TooLarge {
        /// The last line, from 1.
        line: usize,
    },
}

impl IgnoreError {
    /// The line at fault, from 1.
    pub fn line(self) -> usize {
        match self {
            Self::Pattern { line } | Self::TooLarge { line } => line,
        }
    }
}

/// The lines of a `.dockerignore`.
#[derive(Debug, Clone, Default)]
pub struct Ignore {
    patterns: GlobSet,
    /// Of each pattern, whether it brings back what it matches.
    keeps: Vec<bool>,
}

impl Ignore {
    /// Reads the text of a `.dockerignore`.
    pub fn parse(text: &str) -> Result<Self, IgnoreError> {
        let mut patterns = GlobSetBuilder::new();
        let mut keeps = Vec::new();
        let mut last = 0;
        for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (text, keep) = line.strip_prefix('!').map_or((line, false), |rest| (rest.trim(), true));
            // Patterns that climb out match nothing.
            let Some(normal) = normalize(Path::new(text.trim_start_matches('/'))) else { continue };
            if normal.as_os_str().is_empty() {
                continue;
            }
            last = index + 1;
            patterns.add(pattern(&normal.to_string_lossy()).ok_or(IgnoreError::Pattern { line: last })?);
            keeps.push(keep);
        }
        let patterns = patterns.build().map_err(|_| IgnoreError::TooLarge { line: last })?;
        Ok(Self { patterns, keeps })
    }

    /// Whether a path, relative to the context, is sent.
    pub fn keeps(&self, path: &Path) -> bool {
        if self.keeps.is_empty() {
            return true;
        }
        let last = path
            .ancestors()
            .filter(|part| !part.as_os_str().is_empty())
            .filter_map(|part| self.patterns.matches(part).last().copied())
            .max();
        last.is_none_or(|index| self.keeps[index])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_that_matches_decides() {
        let text = "\u{feff}# comment\n*.log\n**/*.pyc\n/build\ntemp?\ndocs\n!docs/README.md\n a{b}\nx/../gone\n../up\n";
        let ignore = Ignore::parse(text).unwrap();
        for (path, kept) in [
            ("x.log", false),
            ("sub/x.log", true),
            ("sub/deep/x.pyc", false),
            ("x.pyc", false),
            ("build", false),
            ("build/x/y", false),
            ("sub/build", true),
            ("temp1", false),
            ("temp", true),
            ("docs/a", false),
            ("docs/README.md", true),
            ("a{b}", false),
            ("ab", true),
            ("gone", false),
            ("up", true),
        ] {
            assert_eq!(ignore.keeps(Path::new(path)), kept, "{path}");
        }
        assert_eq!(Ignore::parse("a\n\n[").unwrap_err(), IgnoreError::Pattern { line: 3 });
        assert!(Ignore::default().keeps(Path::new("x")));
    }
}
