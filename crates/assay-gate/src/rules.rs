//! What is a rule: the files that a policy reads beside the skills, and those that decide how the gate is called.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use assay_task::Task;
use assay_trial::Experiment;

use crate::paths::relative;
use crate::policy::{LedgerPlace, Policy};

/// The name of assay's settings.
pub const SETTINGS: &str = "assay.toml";

/// The file by which a folder is a skill.
pub(crate) const SKILL: &str = "SKILL.md";

/// The rules of a policy in a tree: paths of files and folders, relative to the top of the repository, with all that is
/// below them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    paths: BTreeSet<PathBuf>,
    /// The folders of skills: what is below them is no rule, unless a rule names it.
    skills: BTreeSet<PathBuf>,
    /// Folders of skills that are tasks as well.
    tasks_of_skills: BTreeSet<PathBuf>,
}

impl Rules {
    /// The rules of a policy whose repository lies in `root`.
    pub fn of(policy: &Policy, root: &Path) -> Self {
        let mut rules = Self::default();
        let skills = policy.skills();
        for (folder, _) in &skills {
            let real = std::fs::canonicalize(folder).ok();
            rules.skills.extend(relative(root, folder).into_iter().chain(relative_to_real(root, real)));
        }
        let mut tasks = BTreeSet::new();
        let mut add = |path: &Path| rules.add(root, path);
        add(&policy.path);
        if let Some(LedgerPlace::File(path) | LedgerPlace::Artifact(path)) =
            policy.ledger.as_ref().map(|ledger| &ledger.place)
        {
            add(&policy.directory.join(path));
        }
        let mut experiments = BTreeSet::new();
        for (folder, rule) in &skills {
            let Some(name) = &rule.experiment else { continue };
            let skill = folder.file_name().unwrap_or_default().to_string_lossy();
            experiments.insert(policy.directory.join(name.replace("{skill}", &skill)));
        }
        // A rule without a skill has an experiment as well.
        let names = policy.rules.iter().filter_map(|rule| rule.experiment.as_ref());
        experiments
            .extend(names.filter(|name| !name.contains("{skill}")).map(|name| policy.directory.join(name)));
        for named in experiments {
            let path = if named.is_dir() { named.join("experiment.toml") } else { named };
            add(&path);
            let Ok(experiment) = Experiment::load(&path) else { continue };
            for named in experiment.named_paths() {
                add(&experiment.directory.join(named));
            }
            for folder in task_folders(&experiment) {
                add(&folder);
                tasks.extend(relative_to_real(root, std::fs::canonicalize(&folder).ok()));
            }
        }
        rules.tasks_of_skills = rules.skills.intersection(&tasks).cloned().collect();
        rules
    }

    /// Adds the rules of another tree.
    pub fn extend(&mut self, other: Self) {
        self.paths.extend(other.paths);
        self.skills.extend(other.skills);
        self.tasks_of_skills.extend(other.tasks_of_skills);
    }

    /// Adds a path of a tree, with all links on the way to it and below it, and what they lead to in the tree. A skill that a link
    /// leads to is no rule.
    pub fn add(&mut self, root: &Path, path: &Path) {
        let mut pending: Vec<PathBuf> = relative(root, path).into_iter().collect();
        while let Some(path) = pending.pop() {
            if self.skills.contains(&path) || !self.paths.insert(path.clone()) {
                continue;
            }
            let above = path.ancestors().filter(|above| is_link(&root.join(above)));
            self.paths.extend(above.map(Path::to_owned).collect::<Vec<_>>());
            let at = root.join(&path);
            pending.extend(relative_to_real(root, std::fs::canonicalize(&at).ok()));
            if !is_link(&at) {
                pending.extend(links_below(&at).iter().filter_map(|link| relative(root, link)));
            }
        }
    }

    /// Whether a path is a rule, or below one, and not below a skill inside the rule's folder.
    pub fn contains(&self, path: &Path) -> bool {
        if is_rule_by_name(path) {
            return true;
        }
        let deepest =
            path.ancestors().find(|above| self.paths.contains(*above) || self.skills.contains(*above));
        deepest.is_some_and(|found| self.paths.contains(found))
    }

    /// Whether the folder of a skill is also that of a task.
    pub(crate) fn is_task(&self, skill: &Path) -> bool {
        self.tasks_of_skills.contains(skill)
    }

    /// The rules strictly below a folder.
    pub fn below<'a>(&'a self, folder: &'a Path) -> impl Iterator<Item = &'a PathBuf> {
        self.paths.iter().filter(move |path| *path != folder && path.starts_with(folder))
    }
}

/// A path that links were followed to, relative to the top of a repository; `None` outside of it.
fn relative_to_real(root: &Path, real: Option<PathBuf>) -> Option<PathBuf> {
    let top = std::fs::canonicalize(root).ok()?;
    relative(&top, &real?)
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink())
}

/// The links below a folder.
fn links_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_symlink() => found.push(entry.path()),
                Ok(kind) if kind.is_dir() => pending.push(entry.path()),
                _ => {}
            }
        }
    }
    found
}

/// The folders of an experiment's tasks, readable or not.
pub(crate) fn task_folders(experiment: &Experiment) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for pattern in experiment.suite.iter().filter(|pattern| !pattern.starts_with('!')) {
        for folder in assay_task::folders(pattern, &experiment.directory) {
            if Task::is_task(&folder) {
                found.push(folder);
                continue;
            }
            let children = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            found.extend(children.map(|entry| entry.path()).filter(|child| Task::is_task(child)));
        }
    }
    found
}

/// Files that decide how the gate is called, wherever they are: workflows, actions and assay's settings.
fn is_rule_by_name(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let folders = [".github/workflows", ".github/actions", ".gitlab/ci"];
    matches!(name.as_str(), "action.yml" | "action.yaml" | ".gitlab-ci.yml" | SETTINGS)
        || name.ends_with(".gitlab-ci.yml")
        || folders.iter().any(|folder| path.starts_with(folder))
}
