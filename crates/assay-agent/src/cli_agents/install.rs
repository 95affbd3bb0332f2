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
    /// Finds a complete installation in the cache: the given version, or the one assay is tested with.
    pub fn find(cache: &Path, make: &dyn super::Make, version: Option<&str>) -> Option<Self> {
        let version = version.unwrap_or(make.package().version);
        let folder = place(cache, make, version);
        folder.join(make.program()).is_file().then(|| Self { folder, version: version.to_owned() })
    }

    /// All installations of a make in the cache, in the order of their versions' names.
    pub fn all(cache: &Path, make: &dyn super::Make) -> Vec<Self> {
        let above = cache.join("agents").join(make.name());
        let names = fs::read_dir(above).into_iter().flatten().flatten();
        let mut versions: Vec<String> = names
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| !name.starts_with('.'))
            .collect();
        versions.sort();
        versions.iter().filter_map(|version| Self::find(cache, make, Some(version))).collect()
    }

    /// Installs a make into the cache, in a version or else in the one that assay is tested with. It appears there whole or not at
    /// all; one that is there already stays.
    pub fn install(
        cache: &Path,
        make: &dyn super::Make,
        version: Option<&str>,
    ) -> Result<Self, InstallError> {
        if let Some(found) = Self::find(cache, make, version) {
            return Ok(found);
        }
        let package = make.package();
        let version = version.unwrap_or(package.version);
        let asked = format!("{} {version}", package.name);
        let folder = place(cache, make, version);
        let io = |path: &Path| {
            let path = path.to_path_buf();
            move |source| InstallError::Io { path, source }
        };
        let above = folder.parent().unwrap_or(cache);
        fs::create_dir_all(above).map_err(io(above))?;
        let made = above.join(format!(".{version}-{}", std::process::id()));
        fs::create_dir_all(&made).map_err(io(&made))?;
        let brought = match package.registry {
            Registry::Npm { beside } => npm::bring(&asked, beside, &made),
            Registry::PyPi { lock, entry } => {
                let other = (version != package.version).then_some((package.name, version));
                pypi::bring(&asked, lock, other, entry, &made)
            }
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
        Ok(Self { folder, version: version.to_owned() })
    }
}

fn place(cache: &Path, make: &dyn super::Make, version: &str) -> PathBuf {
    cache.join("agents").join(make.name()).join(version)
}

/// A name and a version, of `NAME` or `NAME@VERSION`.
///
/// # Errors
/// The reason, where what follows the `@` is not one exact version.
pub fn named_version(text: &str) -> Result<(&str, Option<&str>), String> {
    let Some((name, version)) = text.split_once('@') else { return Ok((text, None)) };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-+._".contains(c);
    let is_exact = version.len() <= 60
        && version.starts_with(|c: char| c.is_ascii_digit())
        && version.chars().all(is_plain);
    if is_exact {
        Ok((name, Some(version)))
    } else {
        Err(format!("{version:?} is not an exact version: write NAME@1.2.3"))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_one_exact_version() {
        let check = |text: &str, expected: Result<(&str, Option<&str>), &str>| {
            let found = named_version(text);
            match expected {
                Ok(expected) => assert_eq!(found, Ok(expected), "{text}"),
                Err(expected) => assert!(found.is_err_and(|why| why.contains(expected)), "{text}"),
            }
        };
        check("codex", Ok(("codex", None)));
        check("codex@0.168.0", Ok(("codex", Some("0.168.0"))));
        check("codex@0.170.0-alpha.1", Ok(("codex", Some("0.170.0-alpha.1"))));
        for wrong in
            ["codex@", "codex@latest", "codex@^1.0", "codex@../../x", "codex@1/2", "codex@1 2", "codex@-1"]
        {
            check(wrong, Err("not an exact version"));
        }
    }

    #[test]
    fn versions_lie_beside_each_other() {
        let cache = tempfile::tempdir().unwrap();
        let codex = super::super::find("codex").unwrap();
        let lay = |version: &str| {
            let program = place(cache.path(), codex, version).join(codex.program());
            fs::create_dir_all(program.parent().unwrap()).unwrap();
            fs::write(program, "").unwrap();
        };
        assert_eq!(Installation::find(cache.path(), codex, None), None);
        lay("0.1.0");
        assert_eq!(Installation::find(cache.path(), codex, None), None);
        assert_eq!(Installation::find(cache.path(), codex, Some("0.1.0")).unwrap().version, "0.1.0");
        lay(codex.package().version);
        lay(".0.3.0-77");
        assert_eq!(Installation::find(cache.path(), codex, None).unwrap().version, codex.package().version);
        // An incomplete installation is not listed.
        fs::create_dir_all(place(cache.path(), codex, "0.2.0")).unwrap();
        let all: Vec<String> =
            Installation::all(cache.path(), codex).into_iter().map(|found| found.version).collect();
        assert_eq!(all, ["0.1.0", codex.package().version]);
    }
}
