//! What a policy demands of each skill, with the experiments and tasks that it names, and whether it demands less than
//! at another revision.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_skill::Package;
use assay_task::{Suite, Task};
use assay_trial::Experiment;
use serde::Serialize;

use crate::parts;
use crate::policy::{LedgerSpec, Missing, Policy, Requirement, Rule};

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
    error_budget: f64,
    without_experiment: Missing,
    ledger: Option<LedgerSpec>,
    reuses_baseline: bool,
    /// Each skill, by its folder relative to the policy.
    pub skills: BTreeMap<String, SkillTerms>,
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
    parts: parts::Parts,
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
            let terms = SkillTerms::of(policy, &folder, rule);
            if let Some(experiment) = &terms.experiment {
                hasher.update(experiment.source.as_bytes());
            }
            for (name, task) in &terms.tasks {
                hasher.update(name.as_bytes());
                hasher.update(task.digest.as_bytes());
            }
            let name = folder.strip_prefix(&policy.directory).unwrap_or(&folder).display().to_string();
            skills.insert(name, terms);
        }
        Self {
            hash: format!("blake3:{}", hasher.finalize().to_hex()),
            error_budget: policy.error_budget,
            without_experiment: policy.without_experiment,
            ledger: policy.ledger.clone(),
            reuses_baseline: policy.reuse.is_some(),
            skills,
        }
    }
}

impl SkillTerms {
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
    fn of(task: &Task) -> Self {
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

/// How a policy demands less than before, in sentence fragments; empty if it does not. Skills that no longer exist
/// demand nothing.
pub fn weakened(before: &Terms, now: &Terms, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    let mut check = |weaker: bool, message: String| {
        if weaker {
            found.push(message);
        }
    };
    check(
        now.error_budget > before.error_budget,
        format!("error_budget: {} → {}", before.error_budget, now.error_budget),
    );
    check(now.without_experiment < before.without_experiment, "without_experiment: fail → warn".to_owned());
    let required = |terms: &Terms| terms.ledger.as_ref().is_some_and(|ledger| ledger.required);
    check(required(before) && !required(now), "ledger: no longer required".to_owned());
    check(
        before.ledger.is_some() && now.ledger.is_some() && before.ledger != now.ledger,
        "ledger: another place".to_owned(),
    );
    check(now.reuses_baseline && !before.reuses_baseline, "reuse_baseline: added".to_owned());
    for (skill, before) in &before.skills {
        if !exists(skill) {
            continue;
        }
        match now.skills.get(skill) {
            None => check(true, format!("{skill}: no longer covered by a rule")),
            Some(now) => weakened_skill(skill, before, now, &mut check),
        }
    }
    found
}

fn weakened_skill(skill: &str, before: &SkillTerms, now: &SkillTerms, check: &mut impl FnMut(bool, String)) {
    let (old, new) = (&before.rule, &now.rule);
    check(
        rank(new.require) < rank(old.require),
        format!("{skill}: require: {} → {}", old.require.word(), new.require.word()),
    );
    check(new.margin > old.margin, format!("{skill}: margin: {} → {}", old.margin, new.margin));
    check(before.experiment.is_some() && new.baseline != old.baseline, format!("{skill}: baseline changed"));
    let looser = |old: Option<f64>, new: Option<f64>| old.is_some_and(|old| new.is_none_or(|new| new > old));
    check(looser(old.exact_p, new.exact_p), format!("{skill}: exact_p removed or raised"));
    let (was, is) = (&old.guards, &new.guards);
    check(looser(was.cost_ratio, is.cost_ratio), format!("{skill}: guard cost_ratio removed or raised"));
    for (name, was, is) in [("lint", &was.lint, &is.lint), ("scanner", &was.scanner, &is.scanner)] {
        let weaker =
            matches!((was.as_deref(), is.as_deref()), (Some(_), None) | (Some("warning"), Some("error")));
        check(weaker, format!("{skill}: guard {name} removed or lowered"));
    }
    check(
        was.discovery_rank.is_some_and(|was| is.discovery_rank.is_none_or(|is| is > was)),
        format!("{skill}: guard discovery_rank removed or raised"),
    );
    let (Some(was), Some(is)) = (&before.experiment, &now.experiment) else {
        check(before.experiment.is_some(), format!("{skill}: its experiment is missing or cannot be read"));
        return;
    };
    check(
        is.repetitions < was.repetitions,
        format!("{skill}: repetitions: {} → {}", was.repetitions, is.repetitions),
    );
    check(
        is.margin > was.margin,
        format!("{skill}: margin of the experiment: {} → {}", was.margin, is.margin),
    );
    check(
        is.agents.len() < was.agents.len(),
        format!("{skill}: agents: {} → {}", was.agents.len(), is.agents.len()),
    );
    for (part, changed) in parts::differ(&parts::of_experiment(was), &parts::of_experiment(is)) {
        check(changed, format!("{skill}: {part} of the experiment changed"));
    }
    for (name, task) in &before.tasks {
        match now.tasks.get(name) {
            None => check(true, format!("{skill}: task {name} removed")),
            Some(now) => {
                let fewer = now.assertions < task.assertions;
                check(
                    fewer,
                    format!("{skill}: task {name}: assertions: {} → {}", task.assertions, now.assertions),
                );
                for (part, changed) in parts::differ(&task.parts, &now.parts) {
                    let counted = fewer && part == parts::TESTS;
                    check(changed && !counted, format!("{skill}: task {name}: {part} changed"));
                }
                // Labels are not part of the digest. These two decide which results count, and for how much.
                check(
                    now.negative_control && !task.negative_control,
                    format!("{skill}: task {name}: now a negative control"),
                );
                check(
                    task.cluster.is_some() && now.cluster != task.cluster,
                    format!("{skill}: task {name}: another cluster, or none"),
                );
            }
        }
    }
}

/// The order of requirements: `helps` is above the others, which differ in the baseline.
fn rank(require: Requirement) -> u8 {
    match require {
        Requirement::NotHarmful | Requirement::NonInferior => 0,
        Requirement::Helps => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A policy with one skill and two tasks.
    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new() -> Self {
            let tree = Self(tempfile::tempdir().unwrap());
            tree.write(
                "skills/reports/SKILL.md",
                "---\nname: reports\ndescription: Ends reports.\n---\nEnd it.\n",
            );
            for task in ["t1", "t2"] {
                tree.write(&format!("tasks/{task}/task.toml"), "version = \"1.0\"\n");
                tree.write(&format!("tasks/{task}/instruction.md"), &format!("End the report {task}.\n"));
                tree.write(&format!("tasks/{task}/environment/Dockerfile"), "FROM scratch\n");
                tree.write(&format!("tasks/{task}/tests/test.sh"), "[ -s a ] && grep x a\n[ -s b ]\n");
            }
            tree.write(
                "experiment.toml",
                "schema = \"assay.experiment/1\"\nname = \"e\"\nsuite = [\"tasks/*\"]\nlibrary = [\"skills/*\"]\n\
                 conditions = [\"none\", \"curated\"]\nrepetitions = 3\n[[agents]]\nname = \"loop\"\nmodel = \"openai:m\"\n\
                 [tasks.t1]\ncurated = [\"reports\"]\n[tasks.t2]\ncurated = [\"reports\"]\n",
            );
            tree.write("gate.toml", POLICY);
            tree
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }

        fn edit(&self, path: &str, from: &str, to: &str) {
            let text = std::fs::read_to_string(self.0.path().join(path)).unwrap();
            assert!(text.contains(from), "{text}");
            self.write(path, &text.replacen(from, to, 1));
        }

        fn terms(&self) -> Terms {
            Terms::of(&Policy::load(&self.0.path().join("gate.toml")).unwrap())
        }
    }

    const POLICY: &str = "schema = \"assay.gate-policy/1\"\n[ledger]\npath = \"ledger.jsonl\"\n[[rules]]\n\
                          skills = [\"skills/*\"]\nexperiment = \"experiment.toml\"\nrequire = \"helps\"\nmargin = 0.05\n\
                          guards = { lint = \"warning\", cost_ratio = 1.5, discovery_rank = 2 }\n";

    /// What an edit is found to weaken.
    fn check(path: &str, from: &str, to: &str, expected: &[&str]) {
        let tree = Tree::new();
        let before = tree.terms();
        assert_eq!(weakened(&before, &tree.terms(), |_| true), Vec::<String>::new());
        tree.edit(path, from, to);
        let now = tree.terms();
        assert_ne!(now.hash, before.hash, "{path}");
        assert_eq!(weakened(&before, &now, |_| true), expected, "{path}: {from} → {to}");
    }

    #[test]
    fn a_policy_that_demands_less_is_found() {
        let name = "skills/reports";
        check(
            "gate.toml",
            "\"helps\"",
            "\"not-harmful\"",
            &[&format!("{name}: require: helps → not-harmful")],
        );
        check("gate.toml", "0.05", "0.2", &[&format!("{name}: margin: 0.05 → 0.2")]);
        check(
            "gate.toml",
            "\"skills/*\"]",
            "\"skills/*\", \"!skills/reports\"]",
            &[&format!("{name}: no longer covered by a rule")],
        );
        check("gate.toml", "\"warning\"", "\"error\"", &[&format!("{name}: guard lint removed or lowered")]);
        check(
            "gate.toml",
            ", cost_ratio = 1.5",
            "",
            &[&format!("{name}: guard cost_ratio removed or raised")],
        );
        check(
            "gate.toml",
            "[ledger]\n",
            "[ledger]\nrequired = false\n",
            &["ledger: no longer required", "ledger: another place"],
        );
        check("gate.toml", "/1\"\n", "/1\"\nerror_budget = 0.1\n", &["error_budget: 0.05 → 0.1"]);
        check(
            "experiment.toml",
            "repetitions = 3",
            "repetitions = 2",
            &[&format!("{name}: repetitions: 3 → 2")],
        );
        check(
            "experiment.toml",
            "\"tasks/*\"",
            "\"tasks/*\", \"!tasks/t2\"",
            &[&format!("{name}: task t2 removed")],
        );
        check(
            "tasks/t1/tests/test.sh",
            "\n[ -s b ]\n",
            "\n",
            &[&format!("{name}: task t1: assertions: 2 → 1")],
        );
        // As many lines with words of checks can check less.
        let changed = |part: &str| format!("{name}: task t1: {part} changed");
        check("tasks/t1/tests/test.sh", "grep x a", ": grep x a", &[&changed("tests")]);
        check("tasks/t1/tests/test.sh", "[ -s b ]", "[ -s b ]\n[ -s c ]", &[&changed("tests")]);
        check("tasks/t1/environment/Dockerfile", "scratch", "debian", &[&changed("image")]);
        check(
            "tasks/t1/task.toml",
            "\"1.0\"\n",
            "\"1.0\"\n[agent]\ntimeout_sec = 9.0\n",
            &[&changed("timeouts")],
        );
        check(
            "tasks/t1/task.toml",
            "\"1.0\"\n",
            "\"1.0\"\n[metadata.assay]\nexpected = [\"conftest.py\"]\n",
            &[&changed("files that it may change")],
        );
    }

    #[test]
    fn parts_of_an_experiment_that_decide_results_are_compared() {
        let name = "skills/reports";
        let part = |part: &str| format!("{name}: {part} of the experiment changed");
        let agent = |more: &str, expected: &str| {
            let line = "model = \"openai:m\"";
            check("experiment.toml", line, &format!("{line}\n{more}"), &[&part(expected)]);
        };
        check("experiment.toml", "openai:m\"", "openai:other\"", &[&part("model")]);
        agent("base_url = \"http://127.0.0.1:9/v1\"", "base_url");
        agent("api_key_env = \"OTHER\"", "api_key_env");
        agent("price = { input = 0, output = 0 }", "price");
        agent("max_turns = 3", "max_turns");
        agent("timeout = 3", "limits");
        for (line, expected) in [
            ("allow_env = [\"TOKEN\"]", "allow_env"),
            ("network = \"public\"", "network"),
            ("sandbox = \"none\"", "sandbox"),
            ("disclosure = \"told\"", "disclosure"),
        ] {
            check("experiment.toml", "repetitions", &format!("{line}\nrepetitions"), &[&part(expected)]);
        }
    }

    #[test]
    fn a_policy_that_demands_more_or_the_same_is_not_weaker() {
        check("gate.toml", "0.05", "0.01", &[]);
        check("experiment.toml", "repetitions = 3", "repetitions = 5", &[]);
        check("tasks/t1/instruction.md", "End", "Finish", &[]);
    }

    #[test]
    fn labels_of_tasks_are_not_terms() {
        let tree = Tree::new();
        let before = tree.terms();
        let label = |text: &str| tree.write("tasks/t1/task.toml", &format!("version = \"1.0\"\n{text}"));
        for text in [
            "# A comment.\n[metadata]\ncategory = \"data\"\ndifficulty = \"easy\"\n",
            "[metadata.assay]\ncluster = \"one\"\n",
        ] {
            label(text);
            let now = tree.terms();
            assert_eq!((&now.hash, weakened(&before, &now, |_| true)), (&before.hash, Vec::new()), "{text}");
        }
        // What takes results away, or takes them for independent, demands less.
        let clustered = tree.terms();
        label("");
        let message = "skills/reports: task t1: another cluster, or none";
        assert_eq!(weakened(&clustered, &tree.terms(), |_| true), [message]);
        label("[metadata.assay]\nnegative_control = true\n");
        let message = "skills/reports: task t1: now a negative control";
        assert_eq!(weakened(&before, &tree.terms(), |_| true), [message]);
        // Everything else is identity.
        label("[agent]\ntimeout_sec = 77.0\n");
        assert_ne!(tree.terms().hash, before.hash);
    }

    #[test]
    fn a_skill_without_tasks_has_a_reason() {
        let tree = Tree::new();
        tree.write("skills/other/SKILL.md", "---\nname: other\ndescription: Other.\n---\nText.\n");
        let terms = tree.terms();
        assert_eq!(terms.skills.len(), 2);
        let problem = terms.skills["skills/other"].problem.clone().unwrap();
        assert!(problem.contains("no task of") && problem.contains("belongs to the skill"), "{problem}");
        assert_eq!(terms.skills["skills/reports"].tasks.len(), 2);
    }
}
