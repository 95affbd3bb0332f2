//! Agents are installed once per version, beside each other, and never inside a trial.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What npm is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: &'static str,
    /// Its version, exactly.
    pub version: &'static str,
    /// What is installed beside it, each as `name@version`.
    pub beside: &'static [&'static str],
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
    /// npm cannot be started.
    #[error("npm cannot be started: {0}")]
    NoNpm(#[source] std::io::Error),
    /// npm failed.
    #[error("npm could not install {package}: {said}")]
    Npm {
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
        let asked = format!("{}@{}", package.name, package.version);
        let folder = place(cache, make);
        let io = |path: &Path| {
            let path = path.to_path_buf();
            move |source| InstallError::Io { path, source }
        };
        let above = folder.parent().unwrap_or(cache);
        fs::create_dir_all(above).map_err(io(above))?;
        let made = above.join(format!(".{}-{}", package.version, std::process::id()));
        let outcome = Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", "--prefix"])
            .arg(&made)
            .arg(&asked)
            .args(package.beside)
            .stdin(Stdio::null())
            .output()
            .map_err(InstallError::NoNpm)?;
        let result = if !outcome.status.success() {
            let said = String::from_utf8_lossy(&outcome.stderr);
            let said: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
            let said = said[said.len().saturating_sub(3)..].join(" ");
            Err(InstallError::Npm { package: asked, said })
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
