//! The two formats of a task's folder, and what belongs to each.

use std::path::Path;

/// The file of a task with requirements that a judge decides.
pub const RUBRIC_FILE: &str = "tests/rubric.json";

/// The folder of a task with a case of `claude plugin eval`: a plugin whose suite has this one case.
pub const PLUGIN_EVAL_FOLDER: &str = "tests/plugin-eval";

/// The files that make a folder a task of `task.md`.
pub(super) const PARTS: [&str; 3] = ["task.md", "verify.sh", "metadata.json"];
/// The initial content of the work folder.
pub(super) const STARTING: &str = "starting";
/// The work folder.
pub(super) const WORKDIR: &str = "/app";
/// The format names no image. This one has what its tasks and their verifiers use, a shell and
/// Python.
pub(super) const IMAGE: &str = "python:3.11-slim-bookworm";

/// The format of a task's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `task.toml`, `instruction.md`, `environment/`, `tests/`.
    Harbor,
    /// `task.md`, `starting/`, `verify.sh`, `metadata.json`.
    TaskMd,
}

impl Layout {
    /// The layout of a folder that is a task.
    pub(super) fn of(dir: &Path) -> Option<Self> {
        let has = |name: &str| dir.join(name).is_file();
        if has("task.toml") {
            return Some(Self::Harbor);
        }
        PARTS.iter().all(|part| has(part)).then_some(Self::TaskMd)
    }

    /// Whether a path at the top of a task is there for people who review it, and not for the agent
    /// or the verifier.
    pub(super) fn is_review(self, path: &Path) -> bool {
        let Some(top) = path.iter().next().and_then(|part| part.to_str()) else { return false };
        if self == Self::TaskMd {
            let stem = top.split('.').next().unwrap_or(top);
            return ["readme", "review", "notes"].iter().any(|name| stem.eq_ignore_ascii_case(name));
        }
        let named =
            |prefix: &str| top.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
        let markdown =
            Path::new(top).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"));
        let alone = path.iter().count() == 1;
        named("readme") || named("review") || (alone && markdown && top != "instruction.md")
    }
}

/// What a folder with a `task.md` lacks, for messages; `None` for a folder without one.
pub(super) fn missing(dir: &Path) -> Option<String> {
    let has = |part: &&str| dir.join(part).is_file();
    if !has(&"task.md") {
        return None;
    }
    let lacking: Vec<&str> = PARTS.iter().filter(|part| !has(part)).copied().collect();
    Some(format!("it has a task.md but no {}", lacking.join(" and no ")))
}

/// Whether a path of a task of `task.md` is there while it is graded.
pub(super) fn is_graded(path: &Path) -> bool {
    !path.starts_with("solution") && !Layout::TaskMd.is_review(path)
}
