//! Agents are installed once per version, beside each other, and never inside a trial.

mod npm;
mod pypi;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub(super) use pypi::LAUNCHER;

/// What a registry is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: &'static str,
    /// Its version, exactly.
    pub version: &'static str,
    /// Where it comes from.
    pub registry: Registry,
}

/// Where packages come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registry {
    /// npm, for programs and for what runs in Node.
    Npm {
        /// What is installed beside the package, each as `name@version`.
        beside: &'static [&'static str],
    },
    /// PyPI, for what runs in the sandbox's own Python.
    PyPi {
        /// The package and all that it needs, in one version each, with hashes: a `requirements.txt`.
        lock: &'static str,
        /// What is called, as `module:function`.
        entry: &'static str,
    },
}

impl Registry {
    /// Its name, and a command that tells whether it is reached.
    pub fn tool(self) -> (&'static str, &'static str) {
        match self {
            Self::Npm { .. } => ("npm", "npm ping"),
            Self::PyPi { .. } => ("pip", "pip index versions pip"),
        }
    }
}

/// An agent in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    /// Where it lies.
    pub folder: PathBuf,
    /// Which version it is.
    pub version: String,
}

/// Why an agent cannot be installed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// A program that is needed cannot be started.
    #[error("{program} cannot be started")]
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
    #[error("{package} holds no {program} for this system")]
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

impl Installation {
    /// The installation of a make in the cache, where it is whole.
    pub fn find(cache: &Path, make: &dyn super::Make) -> Option<Self> {
        let package = make.package();
        let folder = place(cache, make);
        folder.join(make.program()).is_file().then(|| Self { folder, version: package.version.to_owned() })
    }

    /// Installs a make into the cache. It appears there whole or not at all; one that is there already stays.
    pub fn install(cache: &Path, make: &dyn super::Make) -> Result<Self, InstallError> {
        if let Some(found) = Self::find(cache, make) {
            return Ok(found);
        }
        let package = make.package();
        let asked = format!("{} {}", package.name, package.version);
        let folder = place(cache, make);
        let io = |path: &Path| {
            let path = path.to_path_buf();
            move |source| InstallError::Io { path, source }
        };
        let above = folder.parent().unwrap_or(cache);
        fs::create_dir_all(above).map_err(io(above))?;
        let made = above.join(format!(".{}-{}", package.version, std::process::id()));
        fs::create_dir_all(&made).map_err(io(&made))?;
        let brought = match package.registry {
            Registry::Npm { beside } => npm::bring(&asked, beside, &made),
            Registry::PyPi { lock, entry } => pypi::bring(&asked, lock, entry, &made),
        };
        let result = if brought.is_err() {
            brought
        } else if !made.join(make.program()).is_file() {
            Err(InstallError::NoProgram { package: asked, program: make.program().to_owned() })
        } else {
            // What a process that died left half done gives way.
            let _ = fs::remove_dir_all(&folder);
            fs::rename(&made, &folder).map_err(io(&folder))
        };
        let _ = fs::remove_dir_all(&made);
        result?;
        Ok(Self { folder, version: package.version.to_owned() })
    }
}

fn place(cache: &Path, make: &dyn super::Make) -> PathBuf {
    cache.join("agents").join(make.name()).join(make.package().version)
}

/// Runs a tool of a registry to its end.
fn run(mut command: Command, tool: &'static str, package: &str) -> Result<Output, InstallError> {
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
