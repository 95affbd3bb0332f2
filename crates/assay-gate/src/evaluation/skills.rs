//! The skills of a pull request: which there were, where they went, and which are new.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use assay_skill::Package;

use super::layout::{copy, remove, restore};
use super::lineage::lineage;
use super::patterns::unmatched;
use super::problem::{describe_pointer, find_pointer, in_its_place};
use super::request::EvaluationError;
use super::subject::{Change, Subject};
use super::tree::{PathKind, Trees};
use crate::ledger::content;
use crate::paths::{clean, display_from, relative};
use crate::policy::Policy;
use crate::repository::{ChangedPath, EntryKind, Repository};
use crate::rules::{Rules, SKILL, task_folders};
use crate::terms::{SkillTerms, Terms};

/// What was laid out.
pub(super) struct LaidOut {
    pub(super) policy: Policy,
    pub(super) terms: Terms,
    pub(super) subjects: Vec<Subject>,
    /// Paths inside of skills that the target's rules would read, and that are not the target's.
    pub(super) untrusted: Vec<String>,
}

/// Where a skill of the target went.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Went {
    /// It is where it was.
    Stayed,
    /// To another folder.
    To(PathBuf),
    /// It is gone.
    Gone,
    /// Something else is in its place.
    Blocked(String),
}

/// The skills of the target and of the merge result.
pub(super) struct SkillIndex<'a> {
    trees: &'a Trees,
    /// The policy at the target.
    old: Policy,
    /// The same policy at the merge result.
    new: Policy,
    changed: Vec<ChangedPath>,
    /// The rules at the target.
    rules: Rules,
    /// The target's, by their folders.
    before: Vec<PathBuf>,
    went: BTreeMap<PathBuf, Went>,
    added: Vec<PathBuf>,
}

impl<'a> SkillIndex<'a> {
    pub(super) fn of(
        repository: &Repository,
        trees: &'a Trees,
        policy: &Policy,
        directory: &Path,
    ) -> Result<Self, EvaluationError> {
        // Where the policy lies in its tree, which is the target or the merge result.
        let roots = [&trees.target.folder, &trees.merged.folder];
        let place = roots.iter().find_map(|root| directory.strip_prefix(root).ok()).unwrap_or(Path::new(""));
        let old = policy.in_folder(&trees.target.folder.join(place));
        let new = policy.in_folder(&trees.merged.folder.join(place));
        let changed = repository.changed(&trees.target.id, &trees.merged.id)?;
        // Through links of the target, as far as they stay in it.
        let real = |folder: &Path| {
            std::fs::canonicalize(folder).ok().and_then(|real| relative(&trees.target.folder, &real))
        };
        let before: Vec<PathBuf> = old.skills().iter().filter_map(|(folder, _)| real(folder)).collect();
        let rules = Rules::of(&old, &trees.target.folder);
        let (went, added) = (BTreeMap::new(), Vec::new());
        let mut survey = Self { trees, old, new, changed, rules, before, went, added };
        let mut taken = BTreeSet::new();
        for skill in &survey.before {
            let went = survey.find(skill, &taken);
            if let Went::To(path) = &went {
                taken.insert(path.clone());
            }
            survey.went.insert(skill.clone(), went);
        }
        let skills = survey.new.skills();
        let found: BTreeSet<PathBuf> =
            skills.iter().filter_map(|(folder, _)| trees.follow_known_links(folder)).collect();
        let is_new = |skill: &PathBuf| !survey.before.contains(skill) && !taken.contains(skill);
        survey.added = found.into_iter().chain(survey.hidden()).filter(is_new).collect();
        Ok(survey)
    }

    /// New submodules, and links out of the repository, where rules expect skills: what they will have, a gate does not see.
    fn hidden(&self) -> Vec<PathBuf> {
        let merged = &self.trees.merged;
        let expected = self.new.folders();
        let others = merged.listing.iter().filter(|(path, entry)| {
            entry.kind == EntryKind::Submodule
                || (entry.kind == EntryKind::Link && merged.leads_outside(path))
        });
        let new = others.filter(|(path, entry)| self.trees.target.listing.get(*path) != Some(*entry));
        let paths = new.map(|(path, _)| path.clone());
        paths.filter(|path| expected.contains(&merged.folder.join(path))).collect()
    }

    /// Where skills of the target are that have another folder now.
    pub(super) fn moved(&self) -> BTreeMap<PathBuf, PathBuf> {
        let moved = self.went.iter().filter_map(|(skill, went)| match went {
            Went::To(path) => Some((skill.clone(), path.clone())),
            _ => None,
        });
        moved.collect()
    }

    /// Refuses a policy with a pattern that matches no skill, before and after, or the whole repository.
    pub(super) fn check_patterns(&self, policy: &Path) -> Result<(), EvaluationError> {
        for (given, tree) in [(&self.old, &self.trees.target), (&self.new, &self.trees.merged)] {
            if given.skills().iter().any(|(folder, _)| clean(folder) == tree.folder) {
                return Err(EvaluationError::TopSkill { policy: policy.display().to_string() });
            }
        }
        unmatched(&self.old, policy, &[&self.old.directory, &self.new.directory]).map_or(Ok(()), Err)
    }

    /// Where a skill of the target is in the merge result.
    fn find(&self, skill: &Path, taken: &BTreeSet<PathBuf>) -> Went {
        let merged = &self.trees.merged;
        if merged.has(&skill.join(SKILL)) {
            return Went::Stayed;
        }
        let found = merged.find(skill);
        if let PathKind::Other(what) = found {
            return Went::Blocked(in_its_place(what));
        }
        if let Some(file) = merged.skill_file(skill) {
            return Went::Blocked(misspelled(file));
        }
        let is_free = |folder: &PathBuf| !taken.contains(folder) && !self.before.contains(folder);
        let own = skill.join(SKILL);
        let renamed = self.changed.iter().find(|change| change.from.as_ref() == Some(&own));
        let renamed = renamed.filter(|change| change.path.file_name() == own.file_name());
        if let Some(folder) = renamed.and_then(|change| change.path.parent()).map(Path::to_owned)
            && is_free(&folder)
        {
            return Went::To(folder);
        }
        let Some(before) = Package::load(&self.trees.target.folder.join(skill)).package else {
            return Went::Gone;
        };
        let new = self.new_skills().into_iter().filter(is_free);
        let packages: Vec<(PathBuf, Package)> = new
            .filter_map(|folder| Some((folder.clone(), Package::load(&merged.folder.join(&folder)).package?)))
            .collect();
        let same = packages.iter().find(|(_, package)| package.digest == before.digest);
        let named = || packages.iter().find(|(_, package)| package.name == before.name);
        let like = || packages.iter().find(|(_, package)| package.directory == before.directory);
        same.or_else(named).or_else(like).map_or(Went::Gone, |(folder, _)| Went::To(folder.clone()))
    }

    /// The folders with a SKILL.md that the target does not have.
    fn new_skills(&self) -> Vec<PathBuf> {
        let is_new = |path: &&PathBuf| {
            path.file_name().is_some_and(|name| name == SKILL) && !self.trees.target.has(path)
        };
        let files = self.trees.merged.listing.keys().filter(is_new);
        files.filter_map(|path| path.parent()).map(Path::to_owned).collect()
    }

    /// Replaces the skills of the laid-out tree, which has the rules, by those of the merge result.
    pub(super) fn lay_out(
        &self,
        root: &Path,
        place: &Path,
        settings: &Rules,
        is_trusted: bool,
    ) -> Result<LaidOut, EvaluationError> {
        let merged = &self.trees.merged;
        let policy = self.old.in_folder(&root.join(place));
        let mut replaced = Vec::new();
        let mut problems: BTreeMap<PathBuf, String> = BTreeMap::new();
        let mut place_skill = |at: &Path, from: &Path| -> Result<(), EvaluationError> {
            if let Some(problem) = self.trees.problem(from, &self.rules) {
                problems.insert(at.to_owned(), problem);
                return Ok(());
            }
            remove(root, at)?;
            copy(&merged.folder, from, root, at)?;
            replaced.push(at.to_owned());
            Ok(())
        };
        for (skill, went) in &self.went {
            match went {
                Went::Stayed => place_skill(skill, skill)?,
                Went::To(path) => {
                    place_skill(skill, path)?;
                    if is_trusted {
                        // The same skill is not there twice.
                        remove(root, path)?;
                    }
                }
                Went::Gone => remove(root, skill)?,
                Went::Blocked(_) => {}
            }
        }
        for skill in &self.added {
            place_skill(skill, skill)?;
        }
        let untrusted = if is_trusted {
            Vec::new()
        } else {
            restore(&policy, settings, root, &self.trees.target.folder, &replaced)?
        };
        let mut terms = Terms::of(&policy);
        let before = Terms::of(&self.old);
        let subjects = self.subjects(&policy, &before, &mut terms, &problems);
        Ok(LaidOut { policy, terms, subjects, untrusted })
    }

    fn subjects(
        &self,
        policy: &Policy,
        before: &Terms,
        terms: &mut Terms,
        problems: &BTreeMap<PathBuf, String>,
    ) -> Vec<Subject> {
        let root = policy.directory.clone();
        let top = place_of(&root, &self.old.directory, &self.trees.target.folder);
        let name = |path: &Path| display_from(&self.old.directory, &self.trees.target.folder.join(path));
        let mut subjects = Vec::new();
        let mut found: BTreeMap<String, SkillTerms> = BTreeMap::new();
        for (skill, went) in &self.went {
            let old = before.skills.get(&name(skill));
            let mut laid = terms.skills.remove(&name(skill));
            if let (Some(old), Some(laid)) = (old, &mut laid) {
                laid.follow(old, (&self.trees.target.folder, &top));
            }
            let digest = |terms: Option<&SkillTerms>| {
                terms.and_then(|terms| terms.package.as_ref()).map(|package| package.digest)
            };
            let is_same = digest(old).is_some() && digest(old) == digest(laid.as_ref());
            let (now, change) = match went {
                Went::To(path) if path.parent() == skill.parent() => (path, Change::Renamed),
                Went::To(path) => (path, Change::Moved),
                Went::Gone => (skill, Change::Removed),
                Went::Stayed if is_same => (skill, Change::Unchanged),
                Went::Stayed | Went::Blocked(_) => (skill, Change::Changed),
            };
            let problem = match went {
                Went::Blocked(reason) => Some(reason.clone()),
                _ => problems.get(skill).cloned(),
            };
            let problem = problem
                .or_else(|| if is_same { None } else { self.missing_content(Some(skill), laid.as_ref()) });
            // The linter reads the skill where the pull request has it: its name is that of its folder there.
            if let (Went::To(path), Some(laid)) = (went, &mut laid) {
                laid.folder = self.trees.merged.folder.join(path);
            }
            if let Some(laid) = laid.filter(|_| change != Change::Removed) {
                found.insert(name(now), laid);
            }
            subjects.push(Subject {
                skill: name(now),
                from: (now != skill).then(|| name(skill)),
                lineage: old.and_then(|old| lineage(old, before, &self.trees.target.folder)),
                target_content: old.and_then(|old| old.package.as_ref()).map(content),
                change: if problem.is_some() && change == Change::Unchanged {
                    Change::Changed
                } else {
                    change
                },
                is_known: true,
                is_covered: true,
                is_same: is_same && problem.is_none(),
                problem,
                untrusted: None,
            });
        }
        let proposed = self.proposed(&policy.path);
        for skill in &self.added {
            let laid = terms.skills.remove(&name(skill));
            let is_measurable = laid.as_ref().is_some_and(|laid| !laid.tasks.is_empty());
            let own = proposed.as_ref().and_then(|terms| terms.skills.get(&name(skill)));
            let own = own.filter(|own| !is_measurable && !own.tasks.is_empty());
            let lineage = laid.as_ref().and_then(|laid| lineage(laid, before, &top));
            let problem = problems.get(skill).cloned();
            let problem = problem.or_else(|| self.missing_content(None, laid.as_ref()));
            found.extend(laid.map(|laid| (name(skill), laid)));
            subjects.push(Subject {
                lineage,
                untrusted: own.cloned().map(Box::new),
                problem,
                ..Subject::added(name(skill), true)
            });
        }
        subjects.extend(self.uncovered().iter().map(|skill| {
            let change =
                if self.trees.target.has(&skill.join(SKILL)) { Change::Changed } else { Change::Added };
            let file =
                self.trees.merged.skill_file(skill).filter(|file| file.file_name() != Some(SKILL.as_ref()));
            Subject { change, problem: file.map(misspelled), ..Subject::added(name(skill), false) }
        }));
        terms.skills = found;
        subjects.sort_by(|one, other| one.skill.cmp(&other.skill));
        subjects
    }

    /// The file without which a skill, its version at the target or one of its tasks cannot be measured.
    fn missing_content(&self, skill: Option<&Path>, terms: Option<&SkillTerms>) -> Option<String> {
        let target = &self.trees.target.folder;
        let own = skill.map(|skill| target.join(skill));
        let tasks = terms.into_iter().flat_map(|terms| terms.tasks.values()).map(|task| task.folder.clone());
        own.into_iter().chain(tasks).find_map(|folder| {
            let file = find_pointer(&folder)?;
            let path = file.strip_prefix(folder.parent().unwrap_or(&folder)).unwrap_or(&file);
            Some(describe_pointer(path))
        })
    }

    /// What the pull request's own rules demand.
    fn proposed(&self, policy: &Path) -> Option<Terms> {
        let path = self.new.directory.join(policy.file_name()?);
        Policy::load(&path).ok().map(|policy| Terms::of(&policy))
    }

    /// Whether clients read a skill in a folder. Some also read a file whose name differs in case: it counts where rules expect
    /// skills, and where it begins like one.
    fn is_skill(&self, folder: &Path) -> bool {
        let merged = &self.trees.merged;
        let Some(file) = merged.skill_file(folder) else { return false };
        if file.file_name() == Some(SKILL.as_ref()) {
            return true;
        }
        let begins_like_one = || {
            let text = std::fs::read(merged.folder.join(file)).unwrap_or_default();
            text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text).starts_with(b"---")
        };
        self.new.folders().contains(&merged.folder.join(folder)) || begins_like_one()
    }

    /// Skills that the pull request changes and that no rule covers, or leaves out. Those of tasks belong to the tasks.
    fn uncovered(&self) -> BTreeSet<PathBuf> {
        let merged = &self.trees.merged;
        let mut known: BTreeSet<PathBuf> = self.before.iter().cloned().collect();
        known.extend(self.added.iter().cloned());
        known.extend(self.went.values().filter_map(|went| match went {
            Went::To(path) => Some(path.clone()),
            _ => None,
        }));
        let relative = |folder: &Path| relative(&merged.folder, folder);
        known.extend(self.new.left_out().iter().filter_map(|folder| relative(folder)));
        for (folder, rule) in self.new.skills() {
            let Some(path) = self.new.experiment(rule, &folder) else { continue };
            let own = relative(&path).map(|path| self.trees.target.folder.join(path));
            // The target's patterns, in the merge result's folders.
            let Some(mut experiment) = own.and_then(|path| assay_trial::Experiment::load(&path).ok()) else {
                continue;
            };
            path.parent().unwrap_or(Path::new("")).clone_into(&mut experiment.directory);
            known.extend(task_folders(&experiment).iter().filter_map(|folder| relative(folder)));
        }
        let mut found = BTreeSet::new();
        for change in self.changed.iter().filter(|change| !change.removed) {
            let skill = change.path.ancestors().skip(1).find(|folder| self.is_skill(folder));
            let Some(skill) = skill else { continue };
            // Everything lies in a skill at the top: only its own text counts.
            let is_top = skill.as_os_str().is_empty() && !change.path.as_os_str().eq_ignore_ascii_case(SKILL);
            if !is_top && !skill.ancestors().any(|above| known.contains(above)) {
                found.insert(skill.to_owned());
            }
        }
        found
    }
}

/// What is said of a skill whose file not every client reads.
fn misspelled(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    format!("its file is called {name}, which not every client reads: rename it to {SKILL}")
}

/// The top of the laid-out tree, by the policy's folder in it and in another tree.
fn place_of(directory: &Path, other: &Path, other_top: &Path) -> PathBuf {
    let place = other.strip_prefix(other_top).unwrap_or(Path::new(""));
    let depth = place.components().count();
    directory.ancestors().nth(depth).unwrap_or(directory).to_owned()
}
