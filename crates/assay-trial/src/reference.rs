//! Live objects as specifications refer to them.

use std::path::{Path, PathBuf};

use assay_skill::Package;
use assay_store::{ProvisionSpec, SkillRef, TaskRef};
use assay_task::Task;

use crate::condition::Provision;

/// The reference to a task.
pub(crate) fn task_ref(task: &Task) -> TaskRef {
    TaskRef {
        name: task.name.clone(),
        digest: task.digest,
        environment: task.environment_digest,
        folder: absolute(&task.root),
    }
}

/// The reference to a skill.
pub(crate) fn skill_ref(skill: &Package) -> SkillRef {
    SkillRef {
        name: skill.name.clone(),
        directory: skill.directory.clone(),
        digest: skill.digest,
        folder: absolute(&skill.root),
    }
}

impl From<&Provision> for ProvisionSpec {
    fn from(provision: &Provision) -> Self {
        Self {
            skills: provision.skills.iter().map(skill_ref).collect(),
            preface: provision.preface.clone(),
            writes_skills: provision.writes_skills,
        }
    }
}

/// A path that leads to the same place from any folder.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
