//! Installs CLI agents: each version once, next to the others, and never during a trial.

mod npm;
mod pypi;
mod tool;

use std::fs;
use std::path::{Path, PathBuf};

pub use self::tool::InstallError;
use super::harness::Harness;
use super::package::Registry;

/// An installed agent in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    /// Its folder.
    pub folder: PathBuf,
    /// Its version.
    pub version: String,
}

impl Installation {
    /// Finds a complete installation in the cache: the given version, or the one assay is tested
    /// with.
    pub fn find(cache: &Path, harness: &dyn Harness, version: Option<&str>) -> Option<Self> {
        let version = version.unwrap_or(harness.package().version);
        let folder = installation_folder(cache, harness, version);
        folder.join(harness.program()).is_file().then(|| Self { folder, version: version.to_owned() })
    }

    /// All installations of an agent in the cache, sorted by version string.
    pub fn all(cache: &Path, harness: &dyn Harness) -> Vec<Self> {
        let above = cache.join("agents").join(harness.name());
        let names = fs::read_dir(above).into_iter().flatten().flatten();
        let mut versions: Vec<String> = names
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| !name.starts_with('.'))
            .collect();
        versions.sort();
        versions.iter().filter_map(|version| Self::find(cache, harness, Some(version))).collect()
    }

    /// Installs an agent into the cache, by default in the version that assay is tested with. The
    /// installation appears complete or not at all; an existing one is not changed.
    pub fn install(cache: &Path, harness: &dyn Harness, version: Option<&str>) -> Result<Self, InstallError> {
        if let Some(found) = Self::find(cache, harness, version) {
            return Ok(found);
        }
        let package = harness.package();
        let version = version.unwrap_or(package.version);
        let requested = format!("{} {version}", package.name);
        let folder = installation_folder(cache, harness, version);
        let io = |path: &Path| {
            let path = path.to_path_buf();
            move |source| InstallError::Io { path, source }
        };
        let above = folder.parent().unwrap_or(cache);
        fs::create_dir_all(above).map_err(io(above))?;
        let made = above.join(format!(".{version}-{}", std::process::id()));
        fs::create_dir_all(&made).map_err(io(&made))?;
        let outcome = match package.registry {
            Registry::Npm { beside } => npm::install_package(&requested, beside, &made),
            Registry::PyPi { lock, entry } => {
                let other = (version != package.version).then_some((package.name, version));
                pypi::install_package(&requested, lock, other, entry, &made)
            }
        };
        let result = if outcome.is_err() {
            outcome
        } else if !made.join(harness.program()).is_file() {
            Err(InstallError::NoProgram { package: requested, program: harness.program().to_owned() })
        } else {
            // Replaces the incomplete installation of a process that died.
            let _ = fs::remove_dir_all(&folder);
            fs::rename(&made, &folder).map_err(io(&folder))
        };
        let _ = fs::remove_dir_all(&made);
        result?;
        Ok(Self { folder, version: version.to_owned() })
    }
}

fn installation_folder(cache: &Path, harness: &dyn Harness, version: &str) -> PathBuf {
    cache.join("agents").join(harness.name()).join(version)
}

/// The part after the `@` of an agent's name is not an exact version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an exact version: write NAME@1.2.3")]
pub struct InexactVersion(String);

/// Splits `NAME` or `NAME@VERSION`.
pub fn named_version(text: &str) -> Result<(&str, Option<&str>), InexactVersion> {
    let Some((name, version)) = text.split_once('@') else { return Ok((text, None)) };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-+._".contains(c);
    let is_exact = version.len() <= 60
        && version.starts_with(|c: char| c.is_ascii_digit())
        && version.chars().all(is_plain);
    if is_exact { Ok((name, Some(version))) } else { Err(InexactVersion(version.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_exact_versions_are_accepted() {
        let check = |text: &str, expected: Result<(&str, Option<&str>), &str>| {
            let found = named_version(text);
            match expected {
                Ok(expected) => assert_eq!(found, Ok(expected), "{text}"),
                Err(expected) => {
                    assert!(found.is_err_and(|why| why.to_string().contains(expected)), "{text}");
                }
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
    fn versions_are_installed_side_by_side() {
        let cache = tempfile::tempdir().unwrap();
        let codex = crate::cli_agents::find("codex").unwrap();
        let lay = |version: &str| {
            let program = installation_folder(cache.path(), codex, version).join(codex.program());
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
        fs::create_dir_all(installation_folder(cache.path(), codex, "0.2.0")).unwrap();
        let all: Vec<String> =
            Installation::all(cache.path(), codex).into_iter().map(|found| found.version).collect();
        assert_eq!(all, ["0.1.0", codex.package().version]);
    }
}
