//! Why a skill of a pull request cannot be evaluated, and what to do about it. What the target has as well, in a skill that
//! the pull request does not change, is no reason.

use std::path::{Component, Path, PathBuf};

use super::tree::{PathKind, Trees};
use crate::lfs::is_pointer;
use crate::paths::clean;
use crate::repository::EntryKind;
use crate::rules::Rules;

/// How many links one may lead through.
const LONGEST_CHAIN: usize = 8;

impl Trees {
    /// Why a skill of the merge result cannot be evaluated.
    pub(super) fn problem(&self, skill: &Path, rules: &Rules) -> Option<String> {
        let merged = &self.merged;
        if let Some(conflict) = self.conflicts.iter().find(|path| path.starts_with(skill)) {
            return Some(format!(
                "{} conflicts with the target: merge the target into the branch",
                conflict.display()
            ));
        }
        if let PathKind::Other(what) = merged.find(skill) {
            return Some(in_its_place(what));
        }
        let is_here = |path: &PathBuf| path.starts_with(skill) || skill.starts_with(path);
        if let Some((one, other)) = self.new_twins.iter().find(|(one, other)| is_here(one) || is_here(other))
        {
            return Some(format!(
                "{} and {} are the same path on case-insensitive file systems: rename one of them",
                one.display(),
                other.display()
            ));
        }
        if self.is_same(skill) {
            return None;
        }
        if rules.is_task(skill) {
            return Some(
                "its folder is also that of a task: move the task to a folder of its own".to_owned(),
            );
        }
        if skill.to_str().is_none() {
            return Some("its path is not UTF-8: rename it".to_owned());
        }
        self.problem_of_entries(skill)
    }

    /// Whether the target has the same skill, and the same files behind its links.
    fn is_same(&self, skill: &Path) -> bool {
        let entries = self.merged.below(skill);
        let mut links = entries.iter().filter(|(_, entry)| entry.kind == EntryKind::Link);
        !entries.is_empty()
            && self.target.below(skill) == entries
            && links.all(|(path, _)| self.is_same_behind(&skill.join(path)))
    }

    fn problem_of_entries(&self, skill: &Path) -> Option<String> {
        for (path, entry) in self.merged.below(skill) {
            let at = skill.join(&path);
            match entry.kind {
                EntryKind::Submodule => {
                    return Some(format!("{} is a submodule: commit its files in its place", path.display()));
                }
                EntryKind::File if is_pointer(&self.merged.folder.join(&at)) => {
                    return Some(describe_pointer(&path));
                }
                EntryKind::File => {}
                EntryKind::Link => {
                    let leads = self.merged.link(&at);
                    let to = at.parent().unwrap_or(Path::new("")).join(&leads);
                    let is_inside = !leads.is_absolute() && stays_within(&to, skill);
                    if !is_inside && !self.is_same_behind(&at) {
                        return Some(format!(
                            "{} is a symbolic link to {}, outside of the skill: copy the file into the skill",
                            path.display(),
                            leads.display()
                        ));
                    }
                }
            }
        }
        None
    }

    /// Whether a link and all that it leads to is the same at the target.
    fn is_same_behind(&self, link: &Path) -> bool {
        let (old, new) = (&self.target, &self.merged);
        let mut at = link.to_owned();
        for _ in 0..LONGEST_CHAIN {
            if old.listing.get(&at) != new.listing.get(&at) {
                return false;
            }
            let leads = new.link(&at);
            if leads.is_absolute() {
                return true;
            }
            at = clean(&at.parent().unwrap_or(Path::new("")).join(leads));
            match (old.find(&at), new.find(&at)) {
                (PathKind::Nothing, PathKind::Nothing) => return true,
                (PathKind::Other("a symbolic link"), PathKind::Other("a symbolic link"))
                    if new.listing.contains_key(&at) => {}
                (PathKind::Folder, PathKind::Folder)
                | (PathKind::Other("a file"), PathKind::Other("a file")) => {
                    return old.below(&at) == new.below(&at);
                }
                _ => return false,
            }
        }
        false
    }
}

/// What is said of a skill in whose place something else is.
pub(super) fn in_its_place(what: &str) -> String {
    format!("{what} is in the place of its folder: commit the folder with its files")
}

/// What is said of a file that Git LFS keeps elsewhere.
pub(super) fn describe_pointer(path: &Path) -> String {
    format!(
        "{} is a pointer of Git LFS, and a gate fetches nothing: commit the file itself (git lfs untrack, git add --renormalize)",
        path.display()
    )
}

/// A file below a folder that Git LFS keeps elsewhere.
pub(super) fn find_pointer(folder: &Path) -> Option<PathBuf> {
    let mut pending = vec![folder.to_owned()];
    while let Some(at) = pending.pop() {
        for entry in std::fs::read_dir(at).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => pending.push(entry.path()),
                Ok(kind) if kind.is_file() && is_pointer(&entry.path()) => return Some(entry.path()),
                _ => {}
            }
        }
    }
    None
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
