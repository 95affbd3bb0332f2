use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use assay_fs::{Caps, copy_tree};
use assay_skill::{Digest, FileKind, Package};
use assay_store::ConditionRole;
use assay_task::CounterfactualTable;

use super::error::{ConditionError, CounterfactualSkillError};
use super::provision::{Condition, ConditionContext, Provision, curated};

/// The curated skills with other names, limits and markers: what an agent has from reading them, and not from memory.
pub(super) struct Counterfactual;

impl Condition for Counterfactual {
    fn role(&self) -> ConditionRole {
        ConditionRole::Counterfactual
    }

    fn provide(&self, context: &ConditionContext<'_>) -> Result<Provision, ConditionError> {
        let table = CounterfactualTable::read_from(&context.task.root)?;
        let Some(table) = table.filter(|table| !table.replacements.is_empty()) else {
            return Err(ConditionError::NoReplacements);
        };
        let originals = curated(context)?;
        let mut skills = Vec::new();
        for skill in &originals {
            let copy = copy_skill(skill, &table, context.made)
                .map_err(|error| ConditionError::Counterfactual { skill: skill.name.clone(), error })?;
            skills.push(copy);
        }
        // A copy that is the skill itself would be reported as something that it is not.
        if skills.iter().zip(&originals).all(|(copy, skill)| copy.digest == skill.digest) {
            return Err(ConditionError::NoReplacements);
        }
        Ok(Provision { skills, ..Provision::default() })
    }
}

/// Makes the copy of a skill, in a folder that is named by its digest.
fn copy_skill(
    skill: &Package,
    table: &CounterfactualTable,
    made: &Path,
) -> Result<Package, CounterfactualSkillError> {
    let made = made.join("counterfactual");
    let write = |error: io::Error| CounterfactualSkillError::Write { folder: made.clone(), error };
    fs::create_dir_all(&made).map_err(write)?;
    let draft = tempfile::tempdir_in(&made).map_err(write)?;
    let copy = draft.path().join(&skill.directory);
    copy_tree(&skill.root, &copy, &Caps::default())?;
    for file in skill.files.iter().filter(|file| file.kind == FileKind::File) {
        let path = copy.join(&file.path);
        let bytes = fs::read(&path).map_err(write)?;
        // Files that are no text stay as they are.
        let Ok(text) = String::from_utf8(bytes) else { continue };
        if table.occurs_in(&text) {
            fs::write(&path, table.apply_to(&text)).map_err(write)?;
        }
    }
    let no_skill = || CounterfactualSkillError::NotASkill { name: skill.name.clone() };
    let found = Package::load(&copy).package.ok_or_else(no_skill)?;
    let kept = kept_folder(&made, &skill.directory, found.digest);
    if !kept.is_dir() {
        fs::create_dir_all(kept.parent().unwrap_or(&made)).map_err(write)?;
        match fs::rename(&copy, &kept) {
            // Another process made the same one meanwhile.
            Err(_) if kept.is_dir() => {}
            other => other.map_err(write)?,
        }
    }
    Package::load(&kept).package.filter(|kept| kept.digest == found.digest).ok_or_else(no_skill)
}

fn kept_folder(made: &Path, directory: &str, digest: Digest) -> PathBuf {
    made.join(digest.short()).join(directory)
}

/// The counterfactual copy with a digest, if this machine has one.
pub(crate) fn counterfactual_of((directory, digest): (&str, Digest), made: &Path) -> Option<Package> {
    let folder = kept_folder(&made.join("counterfactual"), directory, digest);
    if !folder.is_dir() {
        return None;
    }
    Package::load(&folder).package.filter(|package| package.digest == digest)
}
