//! Strata of reports on imported results: what imports keep of tasks and skills.

use serde_json::{Value, json};

use crate::fixture::Fixture;

/// The strata of a run as `BY VALUE: TASKS`.
fn strata(lab: &Fixture, run: &str) -> Vec<String> {
    let report = lab.assay(&["report", run, "--format", "json"]).ok().json();
    let strata = report["strata"].as_array().unwrap();
    let text = |own: &Value, key: &str| own[key].as_str().unwrap().to_owned();
    strata.iter().map(|own| format!("{} {}: {}", text(own, "by"), text(own, "value"), own["tasks"])).collect()
}

#[test]
fn tables_have_strata() {
    let lab = Fixture::new();
    lab.write(
        "rows.csv",
        "task,condition,score,category,difficulty,skills,skill_tokens\n\
         a,none,0,web,hard,0,0\na,curated,1,web,hard,\"docx; pdf\",1200\n\
         b,none,0,cli,easy,0,0\nb,curated,1,cli,easy,1,300\n\
         c,none,0,,,,\nc,curated,1,,,,\n",
    );
    let imported = lab.assay(&["import", "table", "rows.csv", "--format", "json"]).ok().json();
    assert_eq!(imported["facts"]["category"], json!({ "known": 2, "of": 3 }));
    let notes = imported["notes"].to_string();
    assert!(notes.contains("The category of 1 of 3 tasks is not known"), "{notes}");
    let expected = [
        "domain cli: 1",
        "domain web: 1",
        "domain not stated: 1",
        "difficulty easy: 1",
        "difficulty hard: 1",
        "difficulty not stated: 1",
        "skills 1: 1",
        "skills 2 to 3: 1",
        "skills not stated: 1",
        "length compact: 1",
        "length standard: 1",
        "length not stated: 1",
    ];
    assert_eq!(strata(&lab, imported["run"].as_str().unwrap()), expected);
}

#[test]
fn jobs_of_harbor_have_the_strata_of_their_tasks() {
    let lab = Fixture::new();
    lab.write("tasks/a/task.toml", "[metadata]\ncategory = \"web\"\ndifficulty = \"hard\"\n");
    lab.write("tasks/a/environment/skills/one/SKILL.md", "---\nname: one\ndescription: d\n---\nA word.\n");
    for job in ["with-skills", "no-skills"] {
        for task in ["a", "b"] {
            let result = json!({
                "id": format!("{job}-{task}"), "task_name": task, "trial_name": task,
                "task_id": { "path": format!("/elsewhere/tasks/{task}") },
                "config": { "agent": { "name": "x" } }, "verifier_result": { "rewards": { "reward": 1.0 } },
                "started_at": "2026-01-15T10:00:00Z", "finished_at": "2026-01-15T10:01:00Z",
            });
            lab.write(&format!("jobs/{job}/{task}__1/result.json"), result.to_string());
            lab.write(&format!("jobs/{job}/{task}__1/trial.log"), "");
        }
    }
    let imported = lab.assay(&["import", "harbor", "jobs", "--format", "json"]).ok().json();
    let expected = [
        "domain web: 1",
        "domain not stated: 1",
        "difficulty hard: 1",
        "difficulty not stated: 1",
        "skills 1: 1",
        "skills not stated: 1",
        "length compact: 1",
        "length not stated: 1",
    ];
    assert_eq!(strata(&lab, imported["run"].as_str().unwrap()), expected);
}
