//! What each import keeps of the facts that reports divide tasks by: exactly what its format can state.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use assay_store::{KnownSkills, RunFolder};
use serde_json::{Value, json};

use super::results::{RESULT_FORMATS, ResultColumns, import_results, read_results};
use super::*;

/// The facts of imports that are no format of results, by name.
fn other_importers() -> Vec<(&'static str, &'static [ImportFact])> {
    let layouts = BenchmarkLayout::ALL.into_iter().map(|layout| (layout.command(), layout.facts()));
    [("harbor", &ImportFact::ALL[..]), ("table", &ImportFact::ALL[..])].into_iter().chain(layouts).collect()
}

/// A file that states every fact which its format can state, of two tasks: of one it says everything, of the other nothing.
fn example(importer: &str) -> (&'static str, String) {
    let documents = |documents: &[Value]| documents.iter().map(|own| format!("{own}\n")).collect::<String>();
    match importer {
        "table" => (
            "rows.csv",
            "task,condition,score,category,difficulty,cluster,skills,skill_tokens\n\
             a,none,0,web,hard,c,0,0\na,curated,1,web,hard,c,\"docx, pdf\",1200\n\
             b,none,0,,,,,\nb,curated,1,,,,,\n"
                .to_owned(),
        ),
        "jsonl-swe-skills-bench" => {
            let report = |skill: &str, with: bool| {
                json!({"skill_id": skill, "success": true,
                    "container_name": format!("benchmark_{skill}_use-skill-{with}_use-agent-true_m"),
                    "evaluation_scores": {"details": [
                        {"level": "L2", "method": "unit_test", "details": {"passed": 1, "total": 2}}]}})
            };
            ("swe.jsonl", documents(&[report("a", true), report("a", false)]))
        }
        "jsonl-skillsbench" => {
            let trial = |task: &str, condition: &str, label: Value| json!({"task_id": task, "condition": condition, "reward": 1, "category": label, "difficulty": label});
            (
                "skills.jsonl",
                documents(&[
                    trial("a", "with_skills", json!("web")),
                    trial("a", "no_skills", json!("web")),
                    trial("b", "with_skills", Value::Null),
                    trial("b", "no_skills", Value::Null),
                ]),
            )
        }
        "jsonl-benchflow" => {
            let rollout = |mode: &str| json!({"rollout_name": mode, "task_name": "a", "agent": "x", "skill_mode": mode, "rewards": {"reward": 1.0}});
            ("flow.jsonl", documents(&[rollout("with-skill"), rollout("no-skill")]))
        }
        "Inspect log" => {
            let sample = |id: &str, solver: Value| json!({"id": id, "epoch": 1, "scores": {"s": {"value": "C"}}, "metadata": solver});
            let known = json!({"category": "web", "difficulty": 3, "cluster": "c"});
            (
                "log.json",
                json!({"version": 2, "status": "success", "eval": {"task": "t", "model": "m", "config": {}},
                    "results": {"scores": [{"name": "s"}]}, "samples": [sample("a", known), sample("b", Value::Null)]})
                .to_string(),
            )
        }
        "promptfoo results" => {
            let known = json!({"category": "web", "difficulty": "hard", "cluster": "c"});
            let row = |name: &str, metadata: Value| {
                json!({"promptIdx": 0, "provider": {"id": "p"}, "success": true, "gradingResult": {"pass": true},
                    "testCase": {"description": name, "metadata": metadata}})
            };
            let rows = [row("a", known), row("b", json!({}))];
            ("results.json", json!({"results": {"results": rows, "stats": {}}}).to_string())
        }
        "waza results" => {
            let task = |id: &str, group: Value| json!({"test_id": id, "group": group, "runs": [{"status": "passed"}]});
            let tasks = json!([task("a", json!("web")), task("b", Value::Null)]);
            (
                "waza.json",
                json!({"eval_id": "e", "skill": "s", "config": {}, "summary": {}, "tasks": tasks,
                    "baseline_outcome": {"tasks": tasks}})
                .to_string(),
            )
        }
        "Driftproof receipt" => {
            let case = |mode: &str| json!({"id": "a", "mode": mode, "outcome": "pass", "score": 1.0});
            (
                "receipt.json",
                json!({"receipt_hash": "h", "suite": {}, "run": {}, "results": {"cases": [case("with_skill"), case("baseline")]}})
                    .to_string(),
            )
        }
        "skill-creator workspace" => {
            let run = |configuration: &str| json!({"configuration": configuration, "eval_id": 1, "run_number": 1, "result": {"pass_rate": 1.0}});
            (
                "benchmark.json",
                json!({"metadata": {}, "runs": [run("with_skill"), run("without_skill")], "run_summary": {}})
                    .to_string(),
            )
        }
        other => panic!("no example of {other}"),
    }
}

/// The facts of which a run knows something, and the names of its tasks.
fn known_facts(run: &RunFolder) -> BTreeSet<ImportFact> {
    let counts = facts::count_facts(&run.tasks, &run.provisions, &run.cells, run.conditions.first());
    let known = |fact: &ImportFact| counts[fact.name()].known > 0;
    ImportFact::ALL.into_iter().filter(known).collect()
}

#[test]
fn each_import_keeps_what_its_format_states() {
    let check = |importer: &str, stated: &[ImportFact], run: &RunFolder| {
        let stated: BTreeSet<ImportFact> = stated.iter().copied().collect();
        // One arm is no comparison: skills are counted beside the baseline.
        assert_eq!(known_facts(run), stated, "{importer}");
    };
    for (importer, stated) in other_importers() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("store")).unwrap();
        let imported = if importer == "harbor" {
            write_jobs(folder.path());
            let options = ImportOptions { name: "run".to_owned(), ..ImportOptions::default() };
            harbor(&store, &[folder.path().join("jobs")], &options).unwrap().run
        } else {
            let (name, text) = example(importer);
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            let layout = BenchmarkLayout::ALL.into_iter().find(|layout| layout.command() == importer);
            let analysis = AnalysisOptions::default();
            match layout {
                Some(layout) => benchmark(&store, &path, layout, "run", &analysis).unwrap().run,
                None => table(&store, &path, &table_options()).unwrap().run,
            }
        };
        check(importer, stated, &store.run(&imported).unwrap());
    }
    for format in RESULT_FORMATS {
        // Rates without results of cases, a plugin of any number of skills, and job folders, which are read above.
        if ["NVIDIA BENCHMARK.md", "claude plugin eval", "Harbor or BenchFlow jobs"].contains(&format.name())
        {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("store")).unwrap();
        let (name, text) = example(format.name());
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let results = read_results(&path, &ResultColumns::default()).unwrap();
        assert_eq!(results.source.format, format.name());
        let imported = import_results(&store, &results, "run", &AnalysisOptions::default()).unwrap();
        check(format.name(), format.facts(), &store.run(&imported.run).unwrap());
    }
}

fn table_options() -> TableOptions {
    TableOptions {
        name: "run".to_owned(),
        columns: TableColumns::default(),
        filters: Vec::new(),
        ignored: Vec::new(),
        analysis: AnalysisOptions::default(),
        range: (0.0, 1.0),
    }
}

/// Jobs of two tasks under two conditions; the folder of one task is beside them, with a skill.
fn write_jobs(folder: &Path) {
    let write = |path: &str, text: &str| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(
        "tasks/a/task.toml",
        "[metadata]\ncategory = \"web\"\ndifficulty = \"hard\"\n[metadata.assay]\ncluster = \"c\"\n",
    );
    write("tasks/a/environment/skills/one/SKILL.md", "---\nname: one\ndescription: d\n---\nA word or two.\n");
    for (job, condition) in [("with-skills", "w"), ("no-skills", "n")] {
        for task in ["a", "b"] {
            let id = format!("{task}{condition}");
            let result = json!({
                "id": id, "task_name": task, "trial_name": id, "task_id": {"path": format!("/home/me/tasks/{task}")},
                "config": {"agent": {"name": "x"}}, "verifier_result": {"rewards": {"reward": 1.0}},
                "started_at": "2026-01-15T10:00:00Z", "finished_at": "2026-01-15T10:01:00Z",
            });
            write(&format!("jobs/{job}/{id}/result.json"), &result.to_string());
            write(&format!("jobs/{job}/{id}/trial.log"), "");
        }
    }
}

#[test]
fn unknown_facts_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("store")).unwrap();
    write_jobs(folder.path());
    let options = ImportOptions { name: "run".to_owned(), ..ImportOptions::default() };
    let imported = harbor(&store, &[folder.path().join("jobs")], &options).unwrap();
    for expected in [
        "The category of 1 of 2 tasks is not known; reports list them as `not stated`.",
        "The difficulty of 1 of 2 tasks is not known; reports list them as `not stated`.",
        "The number of skills of 1 of 2 tasks is not known; reports list them as `not stated`.",
        "The length of the skills of 1 of 2 tasks is not known; reports list them as `not stated`.",
    ] {
        assert!(imported.notes.iter().any(|note| note == expected), "{expected}: {:?}", imported.notes);
    }
    assert_eq!(imported.facts["category"], FactCount { known: 1, of: 2 });
    let run = store.run("run").unwrap();
    let known: Vec<_> = run
        .provisions
        .iter()
        .map(|own| {
            (own.task.as_str(), own.condition.as_str(), own.number(), own.body_tokens().map(|n| n > 0))
        })
        .collect();
    assert_eq!(
        known,
        [
            ("a", ConditionRole::Curated.name(), Some(1), Some(true)),
            ("a", ConditionRole::None.name(), Some(0), Some(false)),
            ("b", ConditionRole::None.name(), Some(0), Some(false)),
        ]
    );
    // The skills themselves are not known.
    assert!(run.provisions.iter().all(|own| own.skills.is_empty() && own.known.is_some()));
}

#[test]
fn skills_of_a_lock_have_their_length_beside_the_job() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("store")).unwrap();
    write_jobs(folder.path());
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("skills/two/SKILL.md", "---\nname: two\ndescription: d\n---\nMore words than the other.\n");
    for id in ["aw", "bw"] {
        let skill = |name: &str| json!({"name": name, "source": format!("/home/me/skills/{name}"), "digest": "sha256:0"});
        let names: &[&str] = if id == "aw" { &["two"] } else { &["two", "three"] };
        let lock = json!({"skills": names.iter().map(|name| skill(name)).collect::<Vec<_>>()});
        write(&format!("jobs/with-skills/{id}/lock.json"), &lock.to_string());
    }
    let options = ImportOptions { name: "run".to_owned(), ..ImportOptions::default() };
    harbor(&store, &[folder.path().join("jobs")], &options).unwrap();
    let run = store.run("run").unwrap();
    let curated: Vec<KnownSkills> = run
        .provisions
        .iter()
        .filter(|own| own.condition == ConditionRole::Curated.name())
        .filter_map(|own| own.known)
        .collect();
    let body = assay_skill::tokens("More words than the other.\n");
    assert_eq!(
        curated,
        [
            KnownSkills { number: Some(1), body_tokens: Some(body) },
            KnownSkills { number: Some(2), body_tokens: None },
        ]
    );
}

/// The table in docs/FORMATS.md has the rows that the readers state.
#[test]
fn the_documents_list_the_facts_of_each_import() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/FORMATS.md");
    let text = fs::read_to_string(path).unwrap();
    let formats = RESULT_FORMATS.iter().map(|format| (format.name(), format.facts()));
    for (importer, facts) in other_importers().into_iter().chain(formats) {
        let marks = ImportFact::ALL.map(|fact| if facts.contains(&fact) { "yes" } else { "–" });
        let row = format!("| {importer} | {} |", marks.join(" | "));
        assert!(text.contains(&row), "{row}");
    }
}
