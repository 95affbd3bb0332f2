//! How a pull request's rules demand less than those of its common ancestor with the target, or the merge less than the target.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use assay_skill::Package;
use assay_task::Task;
use assay_trial::Experiment;

use super::tree::Tree;
use crate::paths::{display_from, relative};
use crate::policy::Policy;
use crate::rules::SETTINGS;
use crate::terms::{SkillTerms, TaskTerms, Terms};
use crate::weakening::weakened;

/// Two trees, and where paths of the first are in the second.
pub(super) struct Places<'a> {
    pub(super) base: &'a Tree,
    pub(super) head: &'a Tree,
    /// Skills that have another folder now.
    pub(super) moved: &'a BTreeMap<PathBuf, PathBuf>,
}

/// How the rules of the second tree demand less than those of the first, in sentence fragments. Where the first has no policy, there
/// is nothing to weaken.
pub(super) fn find(places: &Places<'_>, policy: &Path, directory: Option<&Path>) -> Vec<String> {
    let load = |tree: &Tree| {
        let file = tree.folder.join(policy);
        file.is_file().then(|| Policy::load(&file).map_err(|error| error.at(policy)))
    };
    match (load(places.base), load(places.head)) {
        (Some(Ok(before)), Some(Ok(now))) => compare(places, (&before, &now), directory),
        (Some(Ok(_)), Some(Err(error))) => vec![format!("the policy cannot be read: {error}")],
        (Some(Ok(_)), None) if places.head.leads_outside(policy) => {
            vec!["the policy is a symbolic link that leads out of the repository".to_owned()]
        }
        (Some(Ok(_)), None) => vec!["the policy is removed".to_owned()],
        (None | Some(Err(_)), _) => Vec::new(),
    }
}

fn compare(places: &Places<'_>, (before, now): (&Policy, &Policy), directory: Option<&Path>) -> Vec<String> {
    let old = Terms::of(before);
    let mut new = Terms::of(now);
    let mut there = BTreeSet::new();
    let mut named = Vec::new();
    for (name, terms) in &old.skills {
        // Nothing is relative to the top but a skill that is the whole repository.
        let skill = relative(&places.base.folder, &terms.folder).unwrap_or_default();
        if let Some(place) = places.of_moved(&skill) {
            let found = new.skills.remove(&display_from(&now.directory, &places.head.folder.join(&place)));
            new.skills.insert(name.clone(), places.follow(terms, found, &place));
        } else if places.head.skill_file(&skill).is_none() {
            // A skill that is gone demands nothing.
            continue;
        }
        there.insert(name.clone());
        named.extend(places.changed_files(terms).into_iter().map(|path| format!("{name}: {path} changed")));
    }
    let mut found = weakened(&old, &new, |skill| there.contains(skill));
    found.extend(named);
    let has_guard = |terms: &SkillTerms| terms.rule.guards.cost_ratio.is_some();
    if old.skills.values().any(has_guard) && places.has_other_prices(directory.unwrap_or(Path::new(""))) {
        found.push("prices of the settings changed".to_owned());
    }
    found
}

impl Places<'_> {
    /// The new folder of a skill that is not where it was.
    fn of_moved(&self, skill: &Path) -> Option<PathBuf> {
        let is_there = self.head.skill_file(skill).is_some();
        self.moved.get(skill).filter(|_| !is_there).cloned()
    }

    /// Where a path is in the pull request: with the skill that it belongs to, if that was moved.
    fn path(&self, path: &Path) -> PathBuf {
        let owner = path.ancestors().find_map(|above| Some((above, self.of_moved(above)?)));
        let moved = owner.and_then(|(above, place)| Some(place.join(path.strip_prefix(above).ok()?)));
        moved.unwrap_or_else(|| path.to_owned())
    }

    fn file(&self, file: &Path) -> Option<PathBuf> {
        Some(self.head.folder.join(self.path(&relative(&self.base.folder, file)?)))
    }

    /// What is demanded of a skill in its new place: where no rule covers it, by the old rule. Its tasks are those that it had, as
    /// long as the experiment that pairs them is the same.
    fn follow(&self, old: &SkillTerms, new: Option<SkillTerms>, place: &Path) -> SkillTerms {
        let folder = self.head.folder.join(place);
        let mut terms = new.unwrap_or_else(|| {
            let own = old.experiment.as_ref().and_then(|experiment| self.file(&experiment.path));
            SkillTerms {
                package: Package::load(&folder).package,
                folder,
                rule: old.rule.clone(),
                experiment: own.and_then(|path| Experiment::load(&path).ok()),
                problem: None,
                tasks: BTreeMap::new(),
            }
        });
        let source = |terms: &SkillTerms| terms.experiment.as_ref().map(|found| found.source.clone());
        if source(old) == source(&terms) {
            for (name, task) in &old.tasks {
                let found = self.file(&task.folder).and_then(|folder| Task::load(&folder).ok());
                if let Some(found) = found.filter(|_| !terms.tasks.contains_key(name)) {
                    terms.tasks.insert(name.clone(), TaskTerms::of(&found));
                }
            }
        }
        terms
    }

    /// The files and folders that a skill's experiment names beside tasks and skills, and that differ.
    fn changed_files(&self, terms: &SkillTerms) -> Vec<String> {
        let Some(experiment) = &terms.experiment else { return Vec::new() };
        let named = experiment.named_paths().map(|path| experiment.directory.join(path));
        let named: BTreeSet<PathBuf> = named.filter_map(|path| relative(&self.base.folder, &path)).collect();
        let differs = |path: &&PathBuf| self.base.below(path) != self.head.below(&self.path(path));
        named.iter().filter(differs).map(|path| path.display().to_string()).collect()
    }

    /// Whether the settings name other prices, or the same file has others.
    fn has_other_prices(&self, directory: &Path) -> bool {
        let prices = |tree: &Tree| {
            let text = std::fs::read_to_string(tree.folder.join(directory).join(SETTINGS)).ok()?;
            let settings = text.parse::<toml::Table>().ok()?;
            let path = directory.join(settings.get("prices")?.as_str()?);
            let entry = tree.listing.get(&path).cloned();
            Some((path, entry))
        };
        prices(self.base) != prices(self.head)
    }
}
