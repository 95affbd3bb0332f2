//! `.dockerignore`: which files of a build context are not sent to the builder.
//!
//! Patterns are those of Go's `filepath.Match` and `**`, one a line, relative to the context; `!`
//! includes what an earlier line omitted; the last line that matches a path or a folder above it
//! decides.

use std::path::Path;

use assay_fs::tree::normalize;
use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

/// A pattern as the builder reads it: `*` and `?` stay within a folder, braces mean themselves.
/// `None` if it is not a pattern.
pub fn pattern(text: &str) -> Option<Glob> {
    let escaped = text.replace('{', "\u{0}").replace('}', "[}]").replace('\u{0}', "[{]");
    GlobBuilder::new(&escaped).literal_separator(true).backslash_escape(true).build().ok()
}

/// Why a `.dockerignore` cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IgnoreError {
    /// An invalid pattern.
    #[error("not a pattern")]
    Pattern {
        /// The line, from 1.
        line: usize,
    },
    /// A pattern that is too large on its own.
    #[error("a pattern that is too large")]
    TooLarge {
        /// Its line, from 1.
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
    /// The patterns in sets, and which pattern is the first of each: a set is limited in size.
    sets: Vec<(usize, GlobSet)>,
    /// For each pattern, whether it includes its matches again.
    keeps: Vec<bool>,
}

impl Ignore {
    /// Reads the text of a `.dockerignore`.
    pub fn parse(text: &str) -> Result<Self, IgnoreError> {
        let mut patterns = Vec::new();
        let mut keeps = Vec::new();
        let mut lines = Vec::new();
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
            let line = index + 1;
            patterns.push(pattern(&normal.to_string_lossy()).ok_or(IgnoreError::Pattern { line })?);
            keeps.push(keep);
            lines.push(line);
        }
        let mut sets = Vec::new();
        divide(&patterns, 0, &mut sets).map_err(|index| IgnoreError::TooLarge { line: lines[index] })?;
        Ok(Self { sets, keeps })
    }

    /// Whether a path, relative to the context, is sent.
    pub fn keeps(&self, path: &Path) -> bool {
        let parts = || path.ancestors().filter(|part| !part.as_os_str().is_empty());
        // The first set that matches, from the last one on, has the pattern that decides.
        let last = self.sets.iter().rev().find_map(|(first, set)| {
            let last = parts().filter_map(|part| set.matches(part).last().copied()).max()?;
            Some(first + last)
        });
        last.is_none_or(|index| self.keeps[index])
    }
}

/// Adds sets of patterns, the first of which has the number `first`: one set, or if that is too
/// large those of both halves. Fails with the number of a pattern that is too large on its own.
fn divide(patterns: &[Glob], first: usize, sets: &mut Vec<(usize, GlobSet)>) -> Result<(), usize> {
    let mut builder = GlobSetBuilder::new();
    for pattern in patterns {
        builder.add(pattern.clone());
    }
    match builder.build() {
        Ok(set) => sets.push((first, set)),
        Err(_) if patterns.len() < 2 => return Err(first),
        Err(_) => {
            let (left, right) = patterns.split_at(patterns.len() / 2);
            divide(left, first, sets)?;
            divide(right, first + left.len(), sets)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_matching_line_decides() {
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

    #[test]
    fn many_lines_are_divided_into_sets() {
        // 64 patterns that fit into no one set, as few long lines do as well as very many short
        // ones.
        let any = "?".repeat(5_000);
        let text: String = (0..64).map(|number| format!("{number}-*{any}\n")).collect();
        let ignore = Ignore::parse(&format!("*.log\n!7-kept*\n{text}!9-kept*\n")).unwrap();
        assert!(ignore.sets.len() > 1, "the patterns fit into one set");
        let long = "x".repeat(5_000);
        let check = |path: String, kept: bool| assert_eq!(ignore.keeps(Path::new(&path)), kept, "{path:.20}");
        check("x.log".to_owned(), false);
        check(format!("0-{long}"), false);
        check(format!("63-{long}/x"), false);
        check(format!("64-{long}"), true);
        check(format!("7-kept{long}"), false);
        check(format!("9-kept{long}"), true);
        check("9-".to_owned(), true);
        let large = format!("a\n*{}\nb", "?".repeat(400_000));
        assert_eq!(Ignore::parse(&large).unwrap_err(), IgnoreError::TooLarge { line: 2 });
    }
}
