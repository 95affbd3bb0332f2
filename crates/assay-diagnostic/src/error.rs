//! Errors and their causes.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use crate::escape::escape;

/// An error with its causes, in one line.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// A file or folder that could not be read, written, made or removed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}", escape(&path.to_string_lossy()))]
pub struct Io {
    /// What failed, as an infinitive: `read`, `write`.
    pub action: &'static str,
    /// On what.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

impl Io {
    /// Puts action and path to a cause: `fs::read(path).map_err(Io::new("read", path))`.
    pub fn new(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self { action, path: path.as_ref().to_owned(), source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_joined_in_one_line() {
        let error = Err::<(), _>(io::Error::other("disk full")).map_err(Io::new("write", "a/\u{1b}b"));
        let error = error.expect_err("an error");
        assert_eq!(error.to_string(), "cannot write a/\\u{1b}b");
        assert_eq!(chain(&error), "cannot write a/\\u{1b}b: disk full");
    }
}
