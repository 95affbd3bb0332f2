//! `.dockerignore`: what of a build context is not sent.
//!
//! Patterns are those of Go's `filepath.Match` and `**`, one a line, relative to the context; `!` brings back what an
//! earlier line left out; the last line that matches a path or a folder above it decides.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use crate::{FsError, read_beneath};

/// Most bytes of the file.
const MOST: u64 = 1 << 20;

/// The lines of a `.dockerignore`.
#[derive(Debug, Default)]
pub(super) struct Ignore {
    lines: Vec<(GlobMatcher, bool)>,
    /// Sent in any case: the builder reads them, and leaves them out of its own accord where they are ignored.
    needed: Vec<PathBuf>,
}

/// Why it cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum IgnoreError {
    #[error(transparent)]
    Read(#[from] FsError),
    #[error(".dockerignore: {0}")]
    Pattern(#[from] globset::Error),
}

impl Ignore {
    /// That of a context, or that of the one Dockerfile.
    pub(super) fn read(context: &Path, dockerfile: &Path) -> Result<Self, IgnoreError> {
        let mut own = dockerfile.as_os_str().to_owned();
        own.push(".dockerignore");
        for name in [PathBuf::from(own), PathBuf::from(".dockerignore")] {
            if let Some(bytes) = read_beneath(context, &name, MOST)? {
                let mut ignore = Self::parse(&String::from_utf8_lossy(&bytes))?;
                ignore.needed = vec![dockerfile.to_owned(), PathBuf::from(".dockerignore")];
                return Ok(ignore);
            }
        }
        Ok(Self::default())
    }

    fn parse(text: &str) -> Result<Self, IgnoreError> {
        let mut lines = Vec::new();
        for line in text.trim_start_matches('\u{feff}').lines() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (line, keep) = match line.strip_prefix('!') {
                Some(line) => (line.trim(), true),
                None => (line, false),
            };
            let pattern: PathBuf = Path::new(line.trim_start_matches('/')).components().collect();
            let pattern = pattern.to_string_lossy();
            let pattern = pattern.strip_prefix("./").unwrap_or(&pattern);
            if pattern.is_empty() || pattern == "." {
                continue;
            }
            // Braces are characters like any other here.
            let pattern = pattern.replace('{', "[{]").replace('}', "[}]");
            let glob = GlobBuilder::new(&pattern).literal_separator(true).backslash_escape(true).build();
            let glob = glob?;
            lines.push((glob.compile_matcher(), keep));
        }
        Ok(Self { lines, needed: Vec::new() })
    }

    /// Whether a path is sent.
    pub(super) fn keeps(&self, path: &Path) -> bool {
        if self.lines.is_empty()
            || self.needed.iter().any(|needed| needed == path || needed.starts_with(path))
        {
            return true;
        }
        let mut kept = true;
        for (glob, keep) in &self.lines {
            if *keep != kept
                && path.ancestors().any(|above| !above.as_os_str().is_empty() && glob.is_match(above))
            {
                kept = *keep;
            }
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_that_matches_decides() {
        let text = "# comment\n*.log\n**/*.pyc\n/build\ntemp?\ndocs\n!docs/README.md\n a{b}\n";
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
        ] {
            assert_eq!(ignore.keeps(Path::new(path)), kept, "{path}");
        }
        assert!(Ignore::parse("[").is_err());
        assert!(Ignore::default().keeps(Path::new("x")));
    }
}
