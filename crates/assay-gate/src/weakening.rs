//! Whether a policy demands less than at another revision.

use crate::ledger::GATE_REF;
use crate::parts;
use crate::policy::{BudgetScope, LedgerPlace, OnUndecided, Requirement};
use crate::terms::{Demands, SkillTerms, Terms};

/// How a policy demands less than before, in sentence fragments; empty if it does not. Skills that no longer exist
/// demand nothing.
pub fn weakened(before: &Terms, now: &Terms, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    let mut check = |weaker: bool, message: String| {
        if weaker {
            found.push(message);
        }
    };
    weakened_demands(&before.demands, &now.demands, &mut check);
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

fn weakened_demands(before: &Demands, now: &Demands, check: &mut impl FnMut(bool, String)) {
    check(
        now.error_budget > before.error_budget,
        format!("error_budget: {} → {}", before.error_budget, now.error_budget),
    );
    check(now.min_power < before.min_power, format!("min_power: {} → {}", before.min_power, now.min_power));
    check(now.without_experiment < before.without_experiment, "without_experiment: fail → warn".to_owned());
    check(now.new_skill < before.new_skill, "new_skill: fail → warn".to_owned());
    check(
        now.on_undecided == OnUndecided::Warn && before.on_undecided != OnUndecided::Warn,
        "on_undecided: now warn".to_owned(),
    );
    check(
        now.budget_scope == BudgetScope::Skill && before.budget_scope == BudgetScope::PullRequest,
        "budget_scope: pull-request → skill".to_owned(),
    );
    check(now.allow_unsandboxed && !before.allow_unsandboxed, "allow_unsandboxed: added".to_owned());
    let required = |demands: &Demands| demands.ledger.as_ref().is_some_and(|ledger| ledger.required);
    check(required(before) && !required(now), "ledger: no longer required".to_owned());
    check(ledger_of(before) != ledger_of(now), "ledger: another place".to_owned());
    check(now.reuse.is_some() && before.reuse.is_none(), "reuse_baseline: added".to_owned());
    check(
        before.reuse.is_some() && now.reuse.is_some() && before.reuse != now.reuse,
        "reuse_baseline: changed".to_owned(),
    );
}

/// Where looks are counted; without a table in the reference of gates.
fn ledger_of(demands: &Demands) -> (LedgerPlace, Option<&str>) {
    let default = || LedgerPlace::GitRef(GATE_REF.to_owned());
    let ledger = demands.ledger.as_ref();
    (
        ledger.map_or_else(default, |ledger| ledger.place.clone()),
        ledger.and_then(|ledger| ledger.remote.as_deref()),
    )
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
    let own = |terms: &SkillTerms| -> Vec<String> {
        let package = terms.package.as_ref();
        package.map_or_else(Vec::new, |package| vec![package.name.clone(), package.directory.clone()])
    };
    let (own_before, own_now) = (own(before), own(now));
    for (name, task) in &before.tasks {
        let pairings = [
            parts::of_pairing(was.pairings.get(name), &own_before),
            parts::of_pairing(is.pairings.get(name), &own_now),
        ];
        check(pairings[0] != pairings[1], format!("{skill}: task {name}: other skills or documents"));
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
    use crate::policy::Policy;

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
        check("gate.toml", "[ledger]\n", "[ledger]\nrequired = false\n", &["ledger: no longer required"]);
        check(
            "gate.toml",
            "[ledger]\npath = \"ledger.jsonl\"\n",
            "",
            &["ledger: no longer required", "ledger: another place"],
        );
        for (line, expected) in [
            ("error_budget = 0.1", "error_budget: 0.05 → 0.1"),
            ("min_power = 0.1", "min_power: 0.5 → 0.1"),
            ("without_experiment = \"warn\"", "without_experiment: fail → warn"),
            ("new_skill = \"warn\"", "new_skill: fail → warn"),
            ("on_undecided = \"warn\"", "on_undecided: now warn"),
            ("allow_unsandboxed = true", "allow_unsandboxed: added"),
        ] {
            check("gate.toml", "/1\"\n", &format!("/1\"\n{line}\n"), &[expected]);
        }
        check("gate.toml", "[[rules]]", "[reuse_baseline]\n[[rules]]", &["reuse_baseline: added"]);
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
        check("experiment.toml", "\"skills/*\"]", "\"skills/*\", \"more/*\"]", &[&part("library")]);
        let given = |task: &str| format!("{name}: task {task}: other skills or documents");
        check(
            "experiment.toml",
            "t1]\ncurated = [\"reports\"]",
            "t1]\ncurated = [\"reports\", \"hints\"]",
            &[&given("t1")],
        );
        check("experiment.toml", "[tasks.t2]", "[tasks.t2]\ndocuments = \"hints\"", &[&given("t2")]);
        for (line, expected) in [
            ("allow_env = [\"TOKEN\"]", "allow_env"),
            ("network = \"public\"", "network"),
            ("sandbox = \"none\"", "sandbox"),
            ("disclosure = \"told\"", "disclosure"),
            ("verifier_network = true", "network"),
        ] {
            check("experiment.toml", "repetitions", &format!("{line}\nrepetitions"), &[&part(expected)]);
        }
    }

    #[test]
    fn a_policy_that_demands_more_or_the_same_is_not_weaker() {
        for line in [
            "error_budget = 0.01",
            "min_power = 0.9",
            "on_undecided = \"extend\"",
            "budget_scope = \"pull-request\"",
        ] {
            check("gate.toml", "/1\"\n", &format!("/1\"\n{line}\n"), &[]);
        }
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
