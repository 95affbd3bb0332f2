//! `assay draft skill`: skills from tasks, documentation and runs, and the conditions that provide them.

use std::fs;

use serde_json::{Value, json};

use crate::fixture::{Fixture, needs_bubblewrap, read_json};
use crate::server::{Answer, Server};
use crate::suite;

/// A model that writes one skill with the agreed word, each time with another description.
fn model() -> Server {
    Server::start(move |number, _| {
        let skill = json!({"name": "reports", "description": format!("Ends reports, version {number}."),
            "lines": suite::body("right").lines().collect::<Vec<_>>()});
        Answer::done(&json!({"skills": [skill]}).to_string())
    })
}

/// What a server was asked last.
fn last_request(server: &Server) -> String {
    let requests = server.requests();
    let messages = requests.last().unwrap().body["messages"].as_array().unwrap();
    let user = messages.iter().rfind(|message| message["role"] == "user").unwrap();
    user["content"].as_str().unwrap().to_owned()
}

fn lab() -> Fixture {
    suite::lab(1)
        .env("OPENAI_API_KEY", "k")
        .task("train", |task| task.file("tests/hidden.txt", "the hidden expectation\n"))
        .file("tasks/train/environment/given.csv", "a,b\n1,2\n")
        .file("docs/style.md", "# Style\n\nReports end with the word `right`.\n")
        .file("docs/.hidden.md", "Not this.\n")
}

#[test]
fn each_source_gives_skills_that_its_condition_provides() {
    needs_bubblewrap!();
    let server = model();
    let lab = lab().experiment(|e| e.conditions(&["none"]));
    lab.run(&["--no-checks"]);
    let url = format!("{}/v1", server.url());
    let ask = |what: &[&str]| {
        let model = ["--model", "openai:gpt-5", "--base-url", &url];
        lab.assay(&[&["draft", "skill"], what, &model[..]].concat())
    };
    let seen = || last_request(&server);

    ask(&["from-task", "tasks/train"]).ok();
    assert!(
        seen().contains("End the report train")
            && seen().contains("--- given file given.csv ")
            && seen().contains("\na,b\n1,2"),
        "{}",
        seen()
    );
    assert!(!seen().contains("hidden expectation") && !seen().contains("echo right"), "{}", seen());
    ask(&["from-docs", "docs"]).ok();
    assert!(
        seen().contains("--- document docs/style.md ")
            && seen().contains("\n# Style")
            && !seen().contains("Not this"),
        "{}",
        seen()
    );
    ask(&["from-runs", "lab", "--task", "tr*"]).ok();
    assert!(seen().contains("--- run: failed") && seen().contains("End the report train"), "{}", seen());
    assert!(!seen().contains("End the report t1"), "{}", seen());

    let origin = read_json(&lab.path("generated/runs/generated.json")).unwrap();
    assert_eq!(origin["schema"], "assay.generated-skills/1");
    assert_eq!(origin["tasks"][0]["name"], "train");
    assert_eq!(origin["trials"].as_array().unwrap().len(), 1);
    let origin = read_json(&lab.path("generated/docs/generated.json")).unwrap();
    assert_eq!(origin["files"][0]["path"], "docs/style.md");

    // The reply is cached, and nothing is overwritten.
    let before = server.requests().len();
    ask(&["from-docs", "docs", "--out", "again"]).ok();
    assert_eq!(server.requests().len(), before);
    let again = ask(&["from-docs", "docs"]).ended(2);
    assert!(again.stderr.contains("generated/docs exists"), "{}", again.stderr);

    let conditions = ["none", "generated-from-task", "generated-from-docs", "generated-from-runs"];
    let lab = lab.experiment(|e| e.conditions(&conditions).top("# generated"));
    fs::write(
        lab.path("experiment.toml"),
        fs::read_to_string(lab.path("experiment.toml")).unwrap().replace("\"lab\"", "\"measured\""),
    )
    .unwrap();
    lab.run(&["--no-checks"]);
    let outcome = |condition: &str, task: &str| -> Vec<Value> {
        let records = lab.records().into_iter();
        let of = records.filter(|record| record["condition"] == condition && record["task"] == task);
        of.map(|record| record["outcome"].clone()).collect()
    };
    for condition in &conditions[1..] {
        assert_eq!(outcome(condition, "t1"), [json!("passed")], "{condition}");
    }
    // The task that skills were written from is no measurement of them; documentation knows no task.
    assert_eq!(outcome("generated-from-task", "train"), [] as [Value; 0]);
    assert_eq!(outcome("generated-from-runs", "train"), [] as [Value; 0]);
    assert_eq!(outcome("generated-from-docs", "train"), [json!("passed")]);
    let plan = read_json(&lab.path(".assay/runs/measured/plan.json")).unwrap();
    let excluded = plan["excluded"].as_array().unwrap();
    let reason = |condition: &str| {
        let found = excluded.iter().find(|one| one["condition"] == condition && one["task"] == "train");
        found.unwrap()["reason"].as_str().unwrap().to_owned()
    };
    assert_eq!(reason("generated-from-task"), "its skills were generated from this task");
    assert_eq!(reason("generated-from-runs"), "its skills were generated from this task");
}

#[test]
fn bad_sources_are_refused_before_anything_is_sent() {
    let server = model();
    let lab = lab().file("binary/a.md", [0xff, 0xfe, 0x00]).file("empty/a.bin", "x");
    let url = format!("{}/v1", server.url());
    let check = |what: &[&str], message: &str| {
        let model = ["--model", "openai:gpt-5", "--base-url", &url];
        let output = lab.assay(&[&["draft", "skill"], what, &model[..]].concat()).ended(2);
        assert!(output.stderr.contains(message), "{what:?}: {}", output.stderr);
    };
    check(&["from-task", "docs"], "cannot read the task docs");
    check(&["from-docs", "absent"], "cannot read absent");
    check(&["from-docs", "binary"], "binary/a.md is not a text in UTF-8");
    check(&["from-docs", "empty"], "the folders contain no documentation");
    check(&["from-docs", "tasks/train/tests"], "is in the task");
    check(&["from-docs", "tasks"], "is in the task");
    check(&["from-runs", "absent"], "absent");
    assert_eq!(server.requests().len(), 0);
    let forecast = [
        "draft",
        "skill",
        "from-docs",
        "docs",
        "--model",
        "openai:gpt-5",
        "--price",
        "1,2",
        "--dry-run",
        "--format",
        "json",
    ];
    let forecast = lab.assay(&forecast).ok().json();
    assert!(forecast["tokens"].as_u64().unwrap() > 100 && forecast["max_usd"].as_f64().unwrap() > 0.0);
    // A paid model without a cap.
    let paid = ["draft", "skill", "from-docs", "docs", "--model", "openai:gpt-5"];
    assert!(lab.assay(&paid).ended(2).stderr.contains("no cap"));
}
