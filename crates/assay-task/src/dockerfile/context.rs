//! The files a Dockerfile may copy from: its build context, without what `.dockerignore` leaves
//! out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_fs::tree::{self, Node};
use assay_skill::FileKind;
use assay_syntax::dockerignore::{Ignore, pattern};
use globset::GlobSet;

use super::model::Copy;
use crate::TaskError;

/// Most bytes of a `.dockerignore`.
const IGNORE_CAP: u64 = 256 * 1024;

/// A build context.
pub(super) struct Context {
    /// Its path.
    pub(super) root: PathBuf,
    /// Every entry, also those excluded by `.dockerignore`.
    pub(super) nodes: Vec<Node>,
    /// The entries that may be copied, by path.
    pub(super) kept: BTreeMap<PathBuf, FileKind>,
}

impl Context {
    pub(super) fn read(root: &Path) -> Result<Self, TaskError> {
        let walk = tree::walk(root);
        if let Some(problem) = walk.problems.into_iter().next() {
            return Err(TaskError::Read { path: problem.path, source: problem.source });
        }
        let ignore = ignore(root)?;
        let kept = walk
            .nodes
            .iter()
            .filter(|node| ignore.keeps(&node.path))
            .map(|node| (node.path.clone(), node.kind));
        let kept = kept.collect();
        Ok(Self { root: root.to_path_buf(), nodes: walk.nodes, kept })
    }

    /// Every entry of a folder, regardless of `.dockerignore`; nothing if it does not exist.
    pub(super) fn whole(root: &Path) -> Result<Self, TaskError> {
        let walk = if root.symlink_metadata().is_ok() { tree::walk(root) } else { tree::Walk::default() };
        if let Some(problem) = walk.problems.into_iter().next() {
            return Err(TaskError::Read { path: problem.path, source: problem.source });
        }
        let kept = walk.nodes.iter().map(|node| (node.path.clone(), node.kind)).collect();
        Ok(Self { root: root.to_path_buf(), nodes: walk.nodes, kept })
    }

    /// The entries that the sources of a `COPY` name: a path, or all that a pattern matches.
    pub(super) fn sources(&self, copy: &Copy, file: &Path) -> Result<Vec<PathBuf>, TaskError> {
        let mut found = Vec::new();
        for source in &copy.sources {
            let error = |message: String| TaskError::Line {
                path: file.to_path_buf(),
                line: copy.line,
                column: 1,
                message,
                hint: "check the path, the files next to the Dockerfile, and .dockerignore".to_owned(),
            };
            let matched: Vec<PathBuf> = match Source::new(source) {
                Source::Path(path) => vec![path],
                Source::Pattern(matcher) => {
                    self.kept.keys().filter(|path| matcher.is_match(path)).cloned().collect()
                }
                Source::Invalid => return Err(error(format!("COPY {source}: invalid or too large pattern"))),
            };
            if matched.is_empty() {
                return Err(error(format!("COPY {source}: no such file in the build context")));
            }
            for path in matched {
                match self.kind(&path) {
                    None => return Err(error(format!("COPY {source}: no such file in the build context"))),
                    Some(FileKind::Link) => {
                        return Err(error(format!(
                            "COPY {source}: a link that leaves the build context or is broken"
                        )));
                    }
                    Some(_) => found.push(path),
                }
            }
        }
        Ok(found)
    }

    /// The kind of entry at a path that may be copied: an ignored folder counts if something in it
    /// is kept after all.
    pub(super) fn kind(&self, path: &Path) -> Option<FileKind> {
        if path.as_os_str().is_empty() {
            return Some(FileKind::Directory);
        }
        let next = self.kept.range(path.to_path_buf()..).next()?;
        match next.0.strip_prefix(path).ok()? {
            rest if rest.as_os_str().is_empty() => Some(*next.1),
            _ => Some(FileKind::Directory),
        }
    }
}

/// A source of a `COPY`.
pub(super) enum Source {
    /// A path relative to the context; empty for all of it.
    Path(PathBuf),
    /// A pattern.
    Pattern(GlobSet),
    /// A pattern that is invalid, or too large to compile.
    Invalid,
}

impl Source {
    pub(super) fn new(text: &str) -> Self {
        let normal = tree::normalize(Path::new(text.trim_start_matches('/'))).unwrap_or_default();
        if !text.contains(['*', '?', '[']) {
            return Self::Path(normal);
        }
        // A set, because compiling a single pattern panics if it is too large.
        let matcher =
            pattern(&normal.to_string_lossy()).and_then(|glob| GlobSet::builder().add(glob).build().ok());
        matcher.map_or(Self::Invalid, Self::Pattern)
    }

    /// Whether it names this path.
    pub(super) fn names(&self, path: &Path) -> bool {
        match self {
            Self::Path(own) => own == path,
            Self::Pattern(matcher) => matcher.is_match(path),
            Self::Invalid => false,
        }
    }
}

/// Reads the `.dockerignore` of a context.
fn ignore(root: &Path) -> Result<Ignore, TaskError> {
    let own = ["Dockerfile.dockerignore", ".dockerignore"];
    let name = own.into_iter().find(|name| root.join(name).symlink_metadata().is_ok());
    let Some(name) = name else { return Ok(Ignore::default()) };
    let path = root.join(name);
    let content = assay_fs::read_within(root, Path::new(name), IGNORE_CAP)
        .map_err(|source| TaskError::Read { path: path.clone(), source })?;
    Ignore::parse(&String::from_utf8_lossy(&content.bytes)).map_err(|error| TaskError::Line {
        path,
        line: error.line(),
        column: 1,
        message: error.to_string(),
        hint: "fix or remove the pattern".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn dockerignore_is_applied() {
        let check = |rules: &str, expected: &[&str]| {
            let temp = tempfile::tempdir().unwrap();
            for file in ["a.txt", "b.md", "sub/a.txt", "sub/deep/c.txt", "data/x", "data/keep", "{x}"] {
                let file = temp.path().join(file);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, "").unwrap();
            }
            fs::write(temp.path().join(".dockerignore"), rules).unwrap();
            let context = Context::read(temp.path()).unwrap();
            let kept = context.kept.iter().filter(|(_, kind)| **kind == FileKind::File);
            let kept: Vec<_> =
                kept.map(|(path, _)| path.to_str().unwrap()).filter(|p| *p != ".dockerignore").collect();
            assert_eq!(kept, expected, "{rules:?}");
        };
        let all = ["a.txt", "b.md", "data/keep", "data/x", "sub/a.txt", "sub/deep/c.txt", "{x}"];
        check("", &all);
        check("# *\n\n../a.txt\n", &all);
        check("*.txt\n", &["b.md", "data/keep", "data/x", "sub/a.txt", "sub/deep/c.txt", "{x}"]);
        check("**/*.txt\n", &["b.md", "data/keep", "data/x", "{x}"]);
        check("/sub/\n", &["a.txt", "b.md", "data/keep", "data/x", "{x}"]);
        check("data\n!data/keep\n", &["a.txt", "b.md", "data/keep", "sub/a.txt", "sub/deep/c.txt", "{x}"]);
        check("!data/keep\ndata\n", &["a.txt", "b.md", "sub/a.txt", "sub/deep/c.txt", "{x}"]);
        check("{x}\nsub/*\n", &["a.txt", "b.md", "data/keep", "data/x"]);
        check("*\n", &[]);
    }

    #[test]
    fn invalid_and_too_large_copy_patterns_match_nothing() {
        for text in ["[a", &"[^a-z]*".repeat(100_000)] {
            assert!(matches!(Source::new(text), Source::Invalid), "{} bytes", text.len());
            assert!(!Source::new(text).names(Path::new("a")), "{} bytes", text.len());
        }
    }

    #[test]
    fn invalid_ignore_pattern_is_an_error() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join(".dockerignore"), "ok\n[a\n").unwrap();
        let error = Context::read(temp.path()).err().unwrap();
        assert!(error.to_string().ends_with(".dockerignore:2:1: not a pattern"), "{error}");
    }
}
