//! The tools of package registries, and their errors.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// Why an agent cannot be installed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// A required program cannot be started.
    #[error("cannot start {program}")]
    Missing {
        /// The program.
        program: String,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// No Python that sandboxes have as well, or no pip.
    #[error("{0}")]
    NoPython(String),
    /// The registry's tool failed.
    #[error("{tool} could not install {package}: {said}")]
    Tool {
        /// The tool.
        tool: &'static str,
        /// The requested package.
        package: String,
        /// The end of its error output.
        said: String,
    },
    /// It was installed, but its program is missing.
    #[error("{package} has no {program} for this platform")]
    NoProgram {
        /// The requested package.
        package: String,
        /// The missing program.
        program: String,
    },
    /// A folder cannot be written.
    #[error("cannot write {}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
}

/// Runs a tool of a package registry to its end.
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
