//! A step of a task, and its folder.

use std::path::{Path, PathBuf};

use assay_fs::tree::Node;
use assay_skill::FileKind;

use crate::TaskConfig;
use crate::config::StepConfig;

/// The folder of the steps.
pub(super) const STEPS: &str = "steps";

/// One of a task's steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its table in `task.toml`.
    pub config: StepConfig,
    /// `steps/NAME/instruction.md`.
    pub instruction: String,
    /// Whether the oracle has something to do: there is a `steps/NAME/solution/solve.sh`, or a
    /// `solution/solve.sh` for steps without their own.
    pub is_solved: bool,
}

impl Step {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// A path below its folder, relative to the task's.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        Path::new(STEPS).join(self.name()).join(name)
    }
}

/// Whether a path of a task's folder is in a folder called `name` at the top or of a step.
pub(super) fn is_in(path: &Path, name: &str) -> bool {
    let mut parts = path.iter();
    match parts.next() {
        Some(first) if first == name => true,
        Some(first) if first == STEPS => parts.nth(1).is_some_and(|part| part == name),
        _ => false,
    }
}

/// Whether there is a folder of steps of which `task.toml` says nothing.
pub(super) fn are_unlisted(nodes: &[Node], config: &TaskConfig) -> bool {
    let is_there = |node: &Node| node.kind == FileKind::Directory && node.path == Path::new(STEPS);
    config.steps.is_empty() && nodes.iter().any(is_there)
}
