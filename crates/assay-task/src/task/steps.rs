//! The steps of a task, and the task that each of them is for a trial.

use std::path::{Path, PathBuf};

use assay_fs::tree::{self, Node};
use assay_skill::{Diagnostic, FileKind};

use super::model::Task;
use super::root::Root;
use super::step::{STEPS, Step};
use crate::dockerfile::copy_folder;
use crate::{TaskConfig, TaskError};

/// The steps of a configuration, with the texts and scripts in their folders.
pub(super) fn steps(
    root: &Root<'_>,
    nodes: &[Node],
    config: &TaskConfig,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Vec<Step>, TaskError> {
    let kind = |path: &Path| nodes.iter().find(|node| node.path == path).map(|node| node.kind);
    let is_file = |path: &Path| match kind(path) {
        Some(FileKind::File) => true,
        Some(FileKind::Link) => !tree::escapes(root.dir, path) && root.dir.join(path).is_file(),
        _ => false,
    };
    let shared_tests = is_file(Path::new("tests/test.sh"));
    let shared_solution = is_file(Path::new("solution/solve.sh"));
    let mut found = Vec::new();
    for own in &config.steps {
        let folder = Path::new(STEPS).join(&own.name);
        let shown = |name: &str| folder.join(name).display().to_string();
        if kind(&folder) != Some(FileKind::Directory) {
            let hint =
                "add the folder with instruction.md and tests/test.sh, or remove the step from task.toml";
            return Err(root.part(&folder.display().to_string(), "the folder of a step is not there", hint));
        }
        let instruction = root.instruction(&shown("instruction.md"), diagnostics)?;
        if !is_file(&folder.join("tests/test.sh")) && !shared_tests {
            let hint = "write a script that checks the outcome of the step and writes the reward";
            return Err(root.part(&shown("tests/test.sh"), "not there", hint));
        }
        let is_solved = is_file(&folder.join("solution/solve.sh"))
            || shared_solution && kind(&folder.join("solution")).is_none();
        found.push(Step { config: own.clone(), instruction, is_solved });
    }
    if !found.is_empty() && !found.iter().any(|step| step.is_solved) {
        root.check_solution(&[], "write steps/NAME/solution/solve.sh for each step", diagnostics);
    }
    Ok(found)
}

impl Task {
    /// The task that a step is by itself: its instruction, its limits, tests and solution in place
    /// of the task's. `None` if there is no such step.
    pub fn of_step(&self, number: usize) -> Option<Self> {
        let step = self.steps.get(number)?;
        let own = &step.config;
        let mut task = self.clone();
        task.instruction.clone_from(&step.instruction);
        task.tests_folders = vec![PathBuf::from("tests"), step.path("tests")];
        if self.root.join(step.path("solution")).is_dir() {
            task.solution_folder = step.path("solution");
        }
        let config = &mut task.config;
        config.steps.clear();
        task.steps.clear();
        config.agent_timeout = own.agent_timeout.or(config.agent_timeout);
        config.verifier_timeout = own.verifier_timeout.unwrap_or(config.verifier_timeout);
        config.agent_user = own.agent_user.clone().or(config.agent_user.take());
        config.verifier_user = own.verifier_user.clone().or(config.verifier_user.take());
        config.verifier_env.extend(own.verifier_env.clone());
        config.verifier_mode = own.verifier_mode.unwrap_or(config.verifier_mode);
        config.verifier_environment = own.verifier_environment.clone().or(config.verifier_environment.take());
        config.collect.extend(own.collect.iter().cloned());
        config.artifacts.extend(own.artifacts.iter().cloned());
        // The environment's own was awaited before the first step.
        if number > 0 {
            config.environment.healthcheck = None;
        }
        Some(task)
    }

    /// Writes the files that a step adds to the work folder, `steps/NAME/workdir`, to a folder.
    /// Returns whether there are any.
    ///
    /// No other process may write to `into`.
    pub fn lay_out_step_files(&self, number: usize, into: &Path) -> Result<bool, TaskError> {
        let Some(step) = self.steps.get(number) else { return Ok(false) };
        let folder = self.root.join(step.path("workdir"));
        if !folder.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            return Ok(false);
        }
        copy_folder(&folder, |_| true, Path::new("/"), into)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
