//! Why a skill of a pull request cannot be evaluated.

use std::path::{Component, Path, PathBuf};

use super::tree::{PathKind, Trees};
use crate::paths::clean;
use crate::repository::EntryKind;

impl Trees {
    /// Why a skill of the merge result cannot be evaluated.
    pub(super) fn problem(&self, skill: &Path) -> Option<String> {
        let merged = &self.merged;
        if let Some(conflict) = self.conflicts.iter().find(|path| path.starts_with(skill)) {
            return Some(format!("{} conflicts with the target: merge the target first", conflict.display()));
        }
        if let PathKind::Other(what) = merged.find(skill) {
            return Some(format!("{what} is in the place of its folder"));
        }
        for (path, entry) in merged.below(skill) {
            if entry.kind == EntryKind::Submodule {
                return Some(format!("{} is a submodule", path.display()));
            }
            if entry.kind != EntryKind::Link {
                continue;
            }
            let link = skill.join(&path);
            let target = std::fs::read_link(merged.folder.join(&link)).unwrap_or_default();
            let leads = link.parent().unwrap_or(Path::new("")).join(&target);
            let is_inside = !target.is_absolute() && stays_within(&leads, skill);
            if !is_inside && !self.is_same_behind(&link, &target) {
                return Some(format!(
                    "{} is a symbolic link to {}, outside of the skill",
                    path.display(),
                    target.display()
                ));
            }
        }
        None
    }

    /// Whether a link and all that it leads to is the same at the target.
    fn is_same_behind(&self, link: &Path, target: &Path) -> bool {
        let (old, new) = (&self.target, &self.merged);
        if old.listing.get(link) != new.listing.get(link) {
            return false;
        }
        if target.is_absolute() {
            return true;
        }
        let leads = clean(&link.parent().unwrap_or(Path::new("")).join(target));
        matches!(new.find(&leads), PathKind::Folder | PathKind::Other("a file"))
            && old.below(&leads) == new.below(&leads)
    }
}

/// Whether a path never leaves a folder on its way.
fn stays_within(path: &Path, folder: &Path) -> bool {
    let mut at = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                at.pop();
                if !at.starts_with(folder) {
                    return false;
                }
            }
            Component::CurDir => {}
            part => at.push(part),
        }
    }
    at.starts_with(folder)
}
