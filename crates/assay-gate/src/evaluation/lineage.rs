//! Which skill it is over its versions, names and places.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::paths::relative;
use crate::terms::{SkillTerms, Terms};

/// The lineage of a skill: the paths of its tasks, and its own where another skill of the target has the same ones. A new
/// name or place of the skill does not change it.
pub(super) fn lineage(terms: &SkillTerms, before: &Terms, top: &Path) -> Option<String> {
    let tasks = |terms: &SkillTerms, top: &Path| -> BTreeSet<PathBuf> {
        terms.tasks.values().filter_map(|task| relative(top, &task.folder)).collect()
    };
    let own = tasks(terms, top);
    if own.is_empty() {
        return None;
    }
    let mut hasher = blake3::Hasher::new();
    for path in &own {
        hasher.update(path.as_os_str().as_encoded_bytes());
        hasher.update(b"\n");
    }
    let same = before.skills.values().filter(|other| other.folder != terms.folder);
    let names = |other: &SkillTerms| other.tasks.keys().eq(terms.tasks.keys());
    if same.filter(|other| names(other)).any(|other| {
        other.package.as_ref().map(|one| &one.directory) != terms.package.as_ref().map(|one| &one.directory)
    }) {
        let path = relative(top, &terms.folder).unwrap_or_default();
        hasher.update(path.as_os_str().as_encoded_bytes());
    }
    hasher.finalize().to_hex().get(..16).map(str::to_owned)
}
