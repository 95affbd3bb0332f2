//! The tools of registries, and why they fail.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// Why an agent cannot be installed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// A program that is needed cannot be started.
    #[error("cannot start {program}")]
    Missing {
        /// Which.
        program: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// There is no Python that sandboxes have too, or no pip.
    #[error("{0}")]
    NoPython(String),
    /// The registry's tool failed.
    #[error("{tool} could not install {package}: {said}")]
    Tool {
        /// Which.
        tool: &'static str,
        /// What was asked for.
        package: String,
        /// The end of what it said.
        said: String,
    },
    /// It was installed, and lacks its program.
    #[error("{package} has no {program} for this platform")]
    NoProgram {
        /// What was asked for.
        package: String,
        /// What it should hold.
        program: String,
    },
    /// A folder.
    #[error("cannot write {}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

/// Runs a tool of a registry to its end.
pub(super) fn run(mut command: Command, tool: &'static str, package: &str) -> Result<Output, InstallError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let outcome = command.stdin(Stdio::null()).output();
    let outcome = outcome.map_err(|source| InstallError::Missing { program, source })?;
    if outcome.status.success() {
        return Ok(outcome);
    }
    let said = String::from_utf8_lossy(&outcome.stderr);
    let said: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let said = said[said.len().saturating_sub(3)..].join(" ");
    Err(InstallError::Tool { tool, package: package.to_owned(), said })
}
