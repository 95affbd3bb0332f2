//! What an experiment of somebody else may not do without a word of the caller: run without a sandbox, and
//! name paths outside of its own project. The word is given on the command line only.

use std::fs;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use assay_diagnostic::{ConfigError, escape_path};

use super::requests::NamedPath;
use super::{AgentSpec, Experiment};
use crate::condition::{ConditionRef, ConditionRefError};

/// What the caller permits an experiment, which may be by others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Permissions {
    /// Sandbox `none`: commands of agents and tests run as the caller.
    pub unsandboxed: bool,
    /// Paths outside of the experiment's project.
    pub outside: bool,
    /// Skills with a safety error.
    pub unsafe_skills: bool,
}

impl Permissions {
    /// Everything, for experiments that the caller wrote.
    pub const ALL: Self = Self { unsandboxed: true, outside: true, unsafe_skills: true };

    /// The options by which `assay run` and `assay worker` are told of the first two.
    pub fn worker_options(self) -> Vec<&'static str> {
        let options = [("--allow-unsandboxed", self.unsandboxed), ("--allow-outside", self.outside)];
        options.into_iter().filter(|(_, permitted)| *permitted).map(|(option, _)| option).collect()
    }
}

/// What an experiment requests and the caller did not permit.
#[derive(Debug, thiserror::Error)]
#[error("{}:{line}:{column}: {message}", path.display())]
pub struct NotPermitted {
    /// The experiment.
    pub path: PathBuf,
    /// From 1.
    pub line: usize,
    /// From 1.
    pub column: usize,
    /// What is requested, and the option that permits it.
    pub message: String,
    /// The line and a mark below the request, if they can be shown.
    pub excerpt: Vec<String>,
}

/// What an experiment may name without a permission.
struct Project {
    root: PathBuf,
    what: &'static str,
}

impl Project {
    /// The Git work tree around a folder, else the nearest folder with an assay.toml, else the folder.
    fn around(folder: &Path) -> Self {
        let folder = resolve(folder);
        let above = |name: &str| {
            folder.ancestors().find(|above| above.join(name).symlink_metadata().is_ok()).map(Path::to_owned)
        };
        if let Some(root) = above(".git") {
            Self { root, what: "the Git work tree" }
        } else if let Some(root) = above("assay.toml") {
            Self { root, what: "the folder of assay.toml" }
        } else {
            Self { root: folder, what: "the experiment's folder" }
        }
    }
}

/// A path without links, as far as it exists; the rest by its text.
fn resolve(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut found = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                found.pop();
            }
            Component::CurDir => {}
            part => found.push(part),
        }
        // A link may lead up: it is followed before the next part, as the kernel does.
        found = fs::canonicalize(&found).unwrap_or(found);
    }
    found
}

/// The part of a pattern before its first wildcard.
fn fixed_part(pattern: &str) -> PathBuf {
    let is_wild = |part: &Component<'_>| part.as_os_str().to_string_lossy().contains(['*', '?', '[', '{']);
    Path::new(pattern).components().take_while(|part| !is_wild(part)).collect()
}

impl Experiment {
    /// Refuses what the caller did not permit: sandbox `none`, and paths outside of the project. Nothing that
    /// the experiment names is read for it.
    ///
    /// # Errors
    /// The first request that is not permitted, with its line and the option that permits it.
    pub fn check_permissions(&self, permissions: Permissions) -> Result<(), NotPermitted> {
        if let Some(place) = self.requests.unsandboxed.clone().filter(|_| !permissions.unsandboxed) {
            return Err(self.not_permitted(
                place,
                "sandbox \"none\" isolates nothing: commands of this experiment would run with your permissions on your \
                 files (hint: read the experiment; if you trust it, pass --allow-unsandboxed)"
                    .to_owned(),
            ));
        }
        if permissions.outside {
            return Ok(());
        }
        let project = Project::around(&self.directory);
        for named in &self.requests.paths {
            self.check_path(&project, named, &self.directory.join(fixed_part(&named.value)))?;
            if named.is_pattern {
                for folder in assay_task::folders(&named.value, &self.directory) {
                    self.check_path(&project, named, &folder)?;
                }
            } else {
                self.check_path(&project, named, &self.directory.join(&named.value))?;
            }
        }
        Ok(())
    }

    /// The files and folders, relative to the experiment's folder, that its text names beside tasks and skills: scripts of
    /// models, documents, other versions, calibration tables and root file systems.
    pub fn named_paths(&self) -> impl Iterator<Item = &str> {
        self.requests.paths.iter().filter(|named| !named.is_pattern).map(|named| named.value.as_str())
    }

    /// Refuses folders that were found below those of a key and are outside of the project, by links.
    ///
    /// # Errors
    /// The first such folder.
    pub fn check_found<'a>(
        &self,
        permissions: Permissions,
        key: &str,
        folders: impl Iterator<Item = &'a Path>,
    ) -> Result<(), NotPermitted> {
        let Some(named) = self.requests.paths.iter().find(|named| named.key == key) else { return Ok(()) };
        if permissions.outside {
            return Ok(());
        }
        let project = Project::around(&self.directory);
        for folder in folders {
            self.check_path(&project, named, folder)?;
        }
        Ok(())
    }

    /// Replaces the suite by folders that the caller names, which need no permission.
    pub fn use_suite(&mut self, suite: Vec<String>) {
        self.suite = suite;
        self.requests.drop_key("suite");
    }

    /// Leaves one cell of the experiment: a task, given by its folder, under a condition, by one of its agents or a further one.
    ///
    /// # Errors
    /// The condition has no such form.
    pub fn keep_cell(
        &mut self,
        task: &Path,
        condition: &str,
        repetition: u32,
        agent: Option<&str>,
    ) -> Result<(), ConditionRefError> {
        ConditionRef::parse(self.condition_of(condition))?;
        let name = task.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.use_suite(vec![task.display().to_string()]);
        self.conditions = vec![condition.to_owned()];
        self.repetitions = repetition;
        self.settings.values_mut().for_each(|settings| settings.repetitions = None);
        self.pairings.retain(|task, _| *task == name);
        if let Some(wanted) = agent {
            let known = self.agents.iter().find(|agent| agent.name == wanted).cloned();
            self.agents = vec![known.unwrap_or_else(|| AgentSpec::named(wanted))];
        } else {
            self.agents.truncate(1);
        }
        Ok(())
    }

    fn check_path(&self, project: &Project, named: &NamedPath, path: &Path) -> Result<(), NotPermitted> {
        let found = resolve(path);
        if found.starts_with(&project.root) {
            return Ok(());
        }
        let message = format!(
            "`{}` leads outside of {} {}: {:?} is {} (hint: read the experiment; if you trust it, pass --allow-outside)",
            named.key,
            project.what,
            escape_path(&project.root),
            named.value,
            escape_path(&found)
        );
        Err(self.not_permitted(named.place.clone(), message))
    }

    fn not_permitted(&self, place: Range<usize>, message: String) -> NotPermitted {
        let ConfigError { line, column, message, excerpt } = ConfigError::at(&self.source, place, message);
        NotPermitted { path: self.path.clone(), line, column, message, excerpt }
    }
}

#[cfg(test)]
mod tests;
