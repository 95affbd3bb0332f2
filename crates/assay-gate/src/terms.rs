//! What a policy demands of each skill, with the experiments and tasks that it names, and whether it demands less than
//! at another revision.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_report::counted;
use assay_skill::Package;
use assay_task::{Suite, Task};
use assay_trial::Experiment;
use serde::Serialize;

use crate::parts;
use crate::paths::{display_from, name_of, path_from};
use crate::policy::{BudgetScope, LedgerSpec, Missing, OnUndecided, Policy, Reuse, Rule};

/// Words that begin a check in a line of a verifier.
const CHECKS: [&str; 12] = [
    "assert",
    "expect(",
    "require(",
    "def test_",
    "it(",
    "test ",
    "[ ",
    "[[ ",
    "grep ",
    "diff ",
    "cmp ",
    "check ",
];

/// All that a policy demands.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    /// The hash of the policy, its experiments and their tasks.
    pub hash: String,
    pub(crate) demands: Demands,
    /// Each skill, by its folder relative to the policy.
    pub skills: BTreeMap<String, SkillTerms>,
}

/// What a policy demands of every skill.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Demands {
    pub(crate) error_budget: f64,
    pub(crate) budget_scope: BudgetScope,
    pub(crate) without_experiment: Missing,
    pub(crate) new_skill: Missing,
    pub(crate) on_undecided: OnUndecided,
    pub(crate) min_power: f64,
    pub(crate) allow_unsandboxed: bool,
    pub(crate) ledger: Option<LedgerSpec>,
    pub(crate) reuse: Option<Reuse>,
}

/// What a policy demands of a skill.
#[derive(Debug, Clone)]
pub struct SkillTerms {
    /// The skill's folder.
    pub folder: PathBuf,
    /// The skill; `None` if it cannot be read.
    pub package: Option<Package>,
    /// The rule that applies.
    pub rule: Rule,
    /// Its experiment.
    pub experiment: Option<Experiment>,
    /// Why there is none, if the policy names one.
    pub problem: Option<String>,
    /// The tasks that the skill belongs to, by name.
    pub tasks: BTreeMap<String, TaskTerms>,
}

/// A task of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskTerms {
    /// The digest of its folder, without labels.
    pub digest: String,
    /// Whether no skill should help, so that it counts for no requirement.
    pub negative_control: bool,
    /// Tasks of a cluster are not independent.
    pub cluster: Option<String>,
    /// Lines of its tests that check something.
    pub assertions: usize,
    /// Its folder.
    pub folder: PathBuf,
    /// The instruction.
    pub instruction: String,
    /// What decides its results beside the instruction: parts that a pull request does not change unseen.
    pub(crate) parts: parts::Parts,
    /// The skills that it names itself.
    required: Vec<String>,
}

impl Terms {
    /// Reads the experiments and tasks that a policy names.
    pub fn of(policy: &Policy) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(policy.source.as_bytes());
        let mut skills = BTreeMap::new();
        for (folder, rule) in policy.skills() {
            let (folder, name) = follow_links(&policy.directory, folder);
            let terms = SkillTerms::of(policy, &folder, rule);
            if let Some(experiment) = &terms.experiment {
                hasher.update(experiment.source.as_bytes());
            }
            for (name, task) in &terms.tasks {
                hasher.update(name.as_bytes());
                hasher.update(task.digest.as_bytes());
            }
            skills.entry(name).or_insert(terms);
        }
        Self {
            hash: format!("blake3:{}", hasher.finalize().to_hex()),
            demands: Demands {
                error_budget: policy.error_budget,
                budget_scope: policy.budget_scope,
                without_experiment: policy.without_experiment,
                new_skill: policy.new_skill,
                on_undecided: policy.on_undecided,
                min_power: policy.min_power,
                allow_unsandboxed: policy.allow_unsandboxed,
                ledger: policy.ledger.clone(),
                reuse: policy.reuse,
            },
            skills,
        }
    }
}

impl SkillTerms {
    /// What is demanded of the skill, and how many trials that takes.
    pub(crate) fn describe_demand(&self) -> String {
        let word = self.rule.require.word();
        let Some(experiment) = self.experiment.as_ref().filter(|_| !self.tasks.is_empty()) else {
            return format!("{word}, without an experiment");
        };
        format!(
            "{word} on {} with {}, {}",
            counted(self.tasks.len(), "task", "tasks"),
            counted(experiment.repetitions as usize, "repetition", "repetitions"),
            counted(self.planned_trials(), "trial", "trials")
        )
    }

    /// The trials of the skill and of its baseline.
    pub(crate) fn planned_trials(&self) -> usize {
        let Some(experiment) = &self.experiment else { return 0 };
        2 * self.tasks.len() * experiment.repetitions as usize * experiment.agents.len().max(1)
    }

    /// Follows a skill whose name changed: the tasks stay those that belonged to it before, and are paired with the name
    /// that it has now. `from` and `to` are the folders of the two repositories.
    pub(crate) fn follow(&mut self, before: &Self, (from, to): (&Path, &Path)) {
        let (Some(old), Some(new)) = (&before.package, &self.package) else { return };
        let Some(experiment) = &mut self.experiment else { return };
        let moved = |task: &TaskTerms| {
            let folder =
                task.folder.strip_prefix(from).map_or_else(|_| task.folder.clone(), |path| to.join(path));
            TaskTerms { folder, ..task.clone() }
        };
        self.tasks = before.tasks.iter().map(|(name, task)| (name.clone(), moved(task))).collect();
        for name in self.tasks.keys() {
            let Some(task) = self.tasks.get(name) else { continue };
            let pairing = experiment.pairings.entry(name.clone()).or_default();
            if pairing.curated.is_none() && !task.required.is_empty() && old.name != new.name {
                pairing.curated = Some(task.required.clone());
            }
            let Some(curated) = &mut pairing.curated else { continue };
            for known in curated.iter_mut().filter(|known| **known == old.name || **known == old.directory) {
                known.clone_from(&new.directory);
            }
        }
        if !self.tasks.is_empty() {
            self.problem = None;
        }
    }

    fn of(policy: &Policy, folder: &Path, rule: &Rule) -> Self {
        let package = Package::load(folder).package;
        let mut terms = Self {
            folder: folder.to_owned(),
            package,
            rule: rule.clone(),
            experiment: None,
            problem: None,
            tasks: BTreeMap::new(),
        };
        let Some(path) = policy.experiment(rule, folder) else {
            terms.problem = rule.experiment.as_ref().map(|name| format!("no experiment at {name}"));
            return terms;
        };
        match Experiment::load(&path) {
            Ok(experiment) => {
                let suite = Suite::load(&experiment.suite, &experiment.directory);
                if let Some(package) = &terms.package {
                    let own = suite.tasks.iter().filter(|task| belongs(&experiment, task, package));
                    terms.tasks = own.map(|task| (task.name.clone(), TaskTerms::of(task))).collect();
                }
                if terms.tasks.is_empty() {
                    terms.problem = Some(format!("no task of {} belongs to the skill", path.display()));
                }
                terms.experiment = Some(experiment);
            }
            Err(error) => terms.problem = Some(error.to_string()),
        }
        terms
    }
}

impl TaskTerms {
    pub(crate) fn of(task: &Task) -> Self {
        Self {
            digest: task.digest.to_string(),
            negative_control: task.negative_control,
            cluster: task.cluster.clone(),
            assertions: assertions(&task.root.join("tests")),
            folder: task.root.clone(),
            instruction: task.instruction.clone(),
            parts: parts::of_task(task),
            required: task.required_skills.clone(),
        }
    }
}

/// The folder of a skill, through links, and its name: the path from the folder of the policy.
fn follow_links(directory: &Path, folder: PathBuf) -> (PathBuf, String) {
    let (top, real) = (std::fs::canonicalize(directory), std::fs::canonicalize(&folder));
    let (Ok(top), Ok(real)) = (top, real) else {
        let name = display_from(directory, &folder);
        return (folder, name);
    };
    let path = path_from(&top, &real);
    (directory.join(&path), name_of(&path))
}

/// Whether a skill belongs to a task.
fn belongs(experiment: &Experiment, task: &Task, package: &Package) -> bool {
    let is_it = |name: &String| *name == package.name || *name == package.directory;
    match experiment.pairings.get(&task.name).and_then(|pairing| pairing.curated.as_ref()) {
        Some(names) => names.iter().any(is_it),
        None if !task.skills.is_empty() => task.skills.iter().any(|skill| skill.name == package.name),
        None => task.required_skills.iter().any(is_it),
    }
}

/// Lines in the files of a folder that check something, by their words. An approximation: it is compared with itself
/// at another revision only.
fn assertions(folder: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| {
            let path = entry.path();
            if path.is_dir() && !path.is_symlink() {
                return assertions(&path);
            }
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let checks = |line: &&str| {
                let line = line.trim_start();
                !line.starts_with('#') && CHECKS.iter().any(|word| line.contains(word))
            };
            text.lines().filter(checks).count()
        })
        .sum()
}
