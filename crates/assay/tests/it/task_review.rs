//! `assay task review`: a report in six parts.

use std::fs;

use serde_json::{Value, json};

use crate::fixture::{Fixture, needs_bubblewrap};
use crate::suite;

/// Two tasks: the skill decides `t1`; `easy` needs none.
fn lab() -> Fixture {
    let mut rules = suite::diligent();
    rules.insert(0, json!({"task": "easy", "turn": 0, "run": "echo right > answer.txt"}));
    let toml = "version = \"1.0\"\n[metadata]\ncategory = \"writing\"\ntags = [\"a|b\"]\nrequired_skills = [\"reports\"]\n";
    suite::lab(0)
        .script(&rules)
        .task("t1", |task| task.toml(toml).instruction("# End it\n\nEnd the <report>: answer.txt.\n"))
        .task("easy", |task| task.toml(toml))
        .experiment(|e| e.conditions(&["none", "curated"]).repetitions(3))
}

fn review<'a>(document: &'a Value, name: &str) -> &'a Value {
    document["tasks"].as_array().unwrap().iter().find(|review| review["task"]["name"] == name).unwrap()
}

fn codes(review: &Value) -> Vec<&str> {
    let reasons = review["recommendation"]["reasons"].as_array().unwrap();
    reasons.iter().map(|reason| reason["code"].as_str().unwrap()).collect()
}

#[test]
fn a_report_has_six_parts_from_files_executions_and_runs() {
    needs_bubblewrap!();
    let lab = lab();
    let args = ["task", "review", "tasks", "--experiment", "experiment.toml"];
    let json = ["--format", "json"];
    let before = lab.assay(&[&args[..], &json].concat()).ok().json();
    assert_eq!(before["schema"], "assay.task-review/1");
    assert_eq!(review(&before, "t1")["recommendation"]["choice"], "revise", "{before:#}");
    assert!(codes(review(&before, "t1")).contains(&"no-trials"));

    lab.run(&[]);
    let after = lab.assay(&[&args[..], &json].concat()).ok().json();
    let t1 = review(&after, "t1");
    let arms: Vec<_> = t1["results"][0]["arms"]
        .as_array()
        .unwrap()
        .iter()
        .map(|arm| {
            (
                arm["condition"].as_str().unwrap(),
                arm["trials"].as_u64().unwrap(),
                arm["passed"].as_u64().unwrap(),
                arm["opened"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(arms, [("none", 3, 0, 0), ("curated", 3, 3, 3)]);
    assert_eq!(t1["results"][0]["arms"][1]["difference"], 1.0);
    assert_eq!(t1["results"][0]["failures"].as_array().unwrap().len(), 3);
    assert!(codes(review(&after, "easy")).contains(&"no-headroom"), "{after:#}");
    assert!(!codes(t1).contains(&"no-trials") && !codes(t1).contains(&"no-headroom"));
    assert_eq!(review(&after, "easy")["results"][0]["passed_unopened"].as_array().unwrap().len(), 3);

    // For people: the same in Markdown, with text of the task escaped.
    let printed = lab.assay(&args).ok().stdout;
    for part in [
        "## 1. Task",
        "- tags: a\\|b",
        "- summary: End the &lt;report>: answer.txt.",
        "- skill: `reports`: Ends reports",
        "## 2. Oracle",
        "| oracle | passed | 1 |",
        "| no-op | failed | 0 |",
        "## 3. Policy",
        "| tests | warning | warn `few-tests`",
        "## 4. Results with and without skills",
        "3/3 | 100% (29% to 100%) | +100 pp",
        "## 5. Failures",
        "## 6. Recommendation",
        "**revise**",
        "2 tasks: 0 accept, 2 revise, 0 reject, 0 not measured, 0 unreadable",
    ] {
        assert!(printed.contains(part), "{part}\n{printed}");
    }
    lab.assay(&[&args[..], &["--out", "reviews", "--static"]].concat()).ok();
    assert!(fs::read_to_string(lab.path("reviews/t1.md")).unwrap().contains("Not executed (`--static`)"));

    // Results of another version of the task are left out.
    let path = lab.path("tasks/t1/instruction.md");
    fs::write(&path, "End the report otherwise: answer.txt.\n").unwrap();
    let changed = lab.assay(&[&args[..], &["--static"], &json].concat()).ok().json();
    assert_eq!(review(&changed, "t1")["other_versions"], json!(["lab"]));
    assert_eq!(review(&changed, "t1")["results"], json!([]));
    assert_eq!(review(&changed, "easy")["results"].as_array().unwrap().len(), 1);
}

#[test]
fn tasks_that_cannot_be_solved_or_read_are_rejected() {
    needs_bubblewrap!();
    let lab =
        lab().task("broken", |task| task.solve_sh("true\n")).file("tasks/none/task.toml", "version = [\n");
    let document = lab.assay(&["task", "review", "tasks", "--format", "json"]).ended(1).json();
    assert_eq!(review(&document, "broken")["recommendation"]["choice"], "reject");
    assert!(codes(review(&document, "broken")).contains(&"oracle-fails"));
    assert_eq!(document["unreadable"].as_array().unwrap().len(), 1, "{document:#}");
    let unknown = lab.assay(&["task", "review", "tasks", "--run", "none"]).ended(2);
    assert!(unknown.stderr.contains("none"), "{}", unknown.stderr);
}

#[test]
fn tests_are_executed_where_a_rubric_has_no_judge() {
    needs_bubblewrap!();
    let rubric = json!({"schema": "assay.rubric/1", "sets": [{"name": "quality", "items": [{"id": "a", "text": "Its tone is polite.", "points": 1.0}]}]});
    let lab = Fixture::new().task("judged", |task| task.file("tests/rubric.json", &rubric.to_string()));
    let document = lab.assay(&["task", "check", "tasks", "--format", "json"]).ok().json();
    let executed = &document["tasks"][0]["executed"];
    assert_eq!(executed["oracle"]["outcome"], "passed", "{document:#}");
    assert_eq!(executed["nop"]["outcome"], "failed");
    assert_eq!(document["summary"]["unchecked"], 0);
}

#[test]
fn tasks_of_one_name_get_a_report_each() {
    let lab = Fixture::new();
    for folder in ["one", "other"] {
        let text = format!("# Task\n\nWrite the word {folder} to /app/answer.txt.\n");
        lab.write(&format!("{folder}/t/instruction.md"), text);
        lab.write(&format!("{folder}/t/task.toml"), "version = \"1.0\"\n");
        lab.write(&format!("{folder}/t/tests/test.sh"), "exit 0\n");
        lab.write(&format!("{folder}/t/environment/Dockerfile"), "FROM debian:bookworm-slim\n");
    }
    let ran = lab.assay(&["task", "review", "one/t", "other/t", "--static", "--out", "reports"]);
    let reports = ["t", "t-2"].map(|name| {
        fs::read_to_string(lab.path(&format!("reports/{name}.md")))
            .unwrap_or_else(|error| panic!("{name}: {error}: {}", ran.stderr))
    });
    assert!(reports[0].contains("one") && reports[1].contains("other"), "{reports:?}");
}
