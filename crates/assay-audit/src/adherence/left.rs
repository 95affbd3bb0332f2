//! What a run left behind.

use super::call::patched;

/// What a run left and did, beside its trajectory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Left {
    /// Files that the run made or changed, by path relative to the workspace, with the added text.
    /// From `workspace.diff` and the artifacts that were collected.
    pub files: Vec<(String, String)>,
}

impl Left {
    /// The files of a diff, each with its added lines.
    pub fn of_diff(diff: &str) -> Self {
        let mut files = Vec::new();
        if diff.lines().any(|line| line.starts_with("+++ ")) {
            patched(diff, "", &mut files);
        }
        Self { files }
    }
}
