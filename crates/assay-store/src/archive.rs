//! A run in one file: `assay export run` and `assay import run`.
//!
//! The file is a tar archive compressed with Zstandard. `manifest.json` comes first and lists the
//! other files in order, with size and digest, so that nothing has to be accepted before it is
//! known what should come. Equal runs give equal bytes.

#[cfg(test)]
mod fuzz;
mod read;
mod write;

use std::path::PathBuf;

use crate::{IMPORTED_SPECIFICATION, StoreError, TrialId, is_evidence, is_run_name};
use serde::{Deserialize, Serialize};

pub use read::{ImportedRun, import_run};
pub use write::{ArchiveTask, ExportedRun, RunExport, export_run};

/// The format of the file.
const SCHEMA: &str = "assay.run-archive/1";

/// The name of the list of files.
const MANIFEST: &str = "manifest.json";

/// Most bytes of one file.
const FILE_CAP: u64 = crate::EVIDENCE_CAP;

/// What a run's folder contributes. Events tell of processes and their times, and the summary of
/// an import tells of folders on the machine where it was made.
const RUN_FILES: [&str; 4] = ["calibration.json", "checks.json", "experiment.toml", "plan.json"];

/// The folder of a run's tasks, in its folder.
const TASKS: &str = "tasks";

#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    schema: String,
    run: String,
    /// The plan's digest.
    plan: String,
    trajectories: bool,
    files: Vec<Member>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Member {
    path: String,
    bytes: u64,
    blake3: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    executable: bool,
}

/// Why a run cannot be written to a file, or read from one.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file or folder cannot be read or written.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried, as a verb: `read`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// The file is not one that `assay export run` wrote.
    #[error("{} is not a valid run archive: {reason}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// What the store has differs.
    #[error("{message}")]
    Conflict {
        /// What differs.
        message: String,
        /// What to do about it.
        hint: String,
    },
}

/// What a path in an archive is.
#[derive(Debug, PartialEq, Eq)]
enum MemberKind {
    Run,
    Task,
    Skill,
    Record(TrialId),
    Specification(TrialId),
    /// That of a trial that was imported before: its id is that of another document.
    ImportedSpecification(TrialId),
    Evidence(TrialId),
}

impl MemberKind {
    /// `None` for a path that no archive contains, such as an absolute one.
    fn of(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.split('/').collect();
        match &parts[..] {
            ["run", name] if RUN_FILES.contains(name) => Some(Self::Run),
            ["run", TASKS, task, _, ..] => {
                let is_plain =
                    |part: &&str| !matches!(*part, "" | "." | "..") && !part.contains(['\\', '\0']);
                (is_run_name(task) && parts.iter().all(is_plain)).then_some(Self::Task)
            }
            ["skills", name] => {
                let id: Result<TrialId, _> = name.strip_suffix(".md")?.parse();
                id.ok().map(|_| Self::Skill)
            }
            ["trials", id, rest @ ..] => {
                let id: TrialId = id.parse().ok()?;
                match rest {
                    ["record.json"] => Some(Self::Record(id)),
                    ["trial.json"] => Some(Self::Specification(id)),
                    [IMPORTED_SPECIFICATION] => Some(Self::ImportedSpecification(id)),
                    ["attempts", number, rest @ ..] => {
                        let number: u32 =
                            number.parse().ok().filter(|parsed: &u32| parsed.to_string() == *number)?;
                        (number > 0 && is_evidence(rest)).then_some(Self::Evidence(id))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_paths_have_a_kind() {
        let id = "ab".repeat(32);
        let trial: TrialId = id.parse().unwrap();
        let check =
            |path: &str, expected: Option<MemberKind>| assert_eq!(MemberKind::of(path), expected, "{path}");
        check("run/plan.json", Some(MemberKind::Run));
        check("run/tasks/report/tests/test.sh", Some(MemberKind::Task));
        for path in
            ["run/tasks/report", "run/tasks/report/../../x", "run/tasks/../x/y", "run/tasks/report//x"]
        {
            check(path, None);
        }
        check(&format!("skills/{id}.md"), Some(MemberKind::Skill));
        check(&format!("trials/{id}/record.json"), Some(MemberKind::Record(trial.clone())));
        check(&format!("trials/{id}/trial.json"), Some(MemberKind::Specification(trial.clone())));
        for rest in ["trajectory.json", "verifier/reward.txt", "steps/report/verifier/reward.txt"] {
            check(&format!("trials/{id}/attempts/2/{rest}"), Some(MemberKind::Evidence(trial.clone())));
        }
        for rest in [
            "origin.txt",
            "agent/trajectory.json",
            "steps/../trajectory.json",
            "steps/a/steps/b/gateway.json",
        ] {
            check(&format!("trials/{id}/attempts/1/{rest}"), None);
        }
        for path in
            ["", "/run/plan.json", "run/../plan.json", "run/events.jsonl", "run//plan.json", "store.json"]
        {
            check(path, None);
        }
        check(&format!("trials/{id}/lease"), None);
        check(&format!("trials/{id}/attempts/01/trajectory.json"), None);
        check(&format!("trials/../trials/{id}/record.json"), None);
    }
}
