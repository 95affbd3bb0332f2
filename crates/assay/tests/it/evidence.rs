//! What of a trial's evidence is not kept is in its record, and is shown.

use serde_json::json;

use crate::fixture::{Fixture, attempt, needs_bubblewrap};

/// A task with a script of the agent's and one of the verifier's.
fn lab(run: &str, test_sh: &str) -> Fixture {
    Fixture::new()
        .task("a", |task| task.test_sh(test_sh))
        .script(&[json!({"turn": 0, "run": [run]})])
        .experiment(|design| design)
}

#[test]
fn files_that_are_too_large_are_listed() {
    needs_bubblewrap!();
    let large = "truncate -s 17M";
    let lab = lab(
        &format!(
            "{large} /logs/artifacts/large.bin; echo x >/logs/artifacts/small.txt; {large} /logs/agent/own.log"
        ),
        &format!("{large} /logs/verifier/trace.bin; ln -s /etc/passwd /logs/verifier/link; reward 0\n"),
    );
    let (document, code) = lab.run(&["--no-checks"]);
    assert_eq!((code, &document["executed"]), (0, &json!(1)), "{document:#}");
    let record = lab.record("a");
    let lost = record["evidence"]["lost"].as_array().unwrap();
    let lines: Vec<String> = lost
        .iter()
        .map(|lost| format!("{}: {}", lost["path"].as_str().unwrap(), lost["reason"].as_str().unwrap()))
        .collect();
    let larger = "larger than 16777216 bytes";
    assert_eq!(
        lines,
        [
            format!("agent/own.log: {larger}"),
            format!("artifacts/large.bin: {larger}"),
            "verifier/link: a symbolic link".to_owned(),
            format!("verifier/trace.bin: {larger}"),
        ]
    );
    assert!(attempt(&record, "artifacts/small.txt").is_file());
    let trial = record["trial"].as_str().unwrap();
    let shown = lab.assay(&["show", trial]).ok().stdout;
    assert!(shown.contains(&format!("evidence lost: artifacts/large.bin: {larger}")), "{shown}");
    let report = lab.assay(&["report", "lab"]).ok().stdout;
    assert!(report.contains("Evidence: of 1 trial of `none`"), "{report}");
    let arms = lab.assay(&["report", "lab", "--format", "json"]).ok().json();
    assert_eq!(arms["arms"][0]["evidence_lost"], 1);
    lab.assay(&["view", "--export", "site"]).ok();
    let page = lab.path(&format!("site/runs/lab/trials/{trial}/index.html"));
    assert!(std::fs::read_to_string(page).unwrap().contains("not kept: agent/own.log (larger than"));
}

#[test]
fn evidence_that_is_complete_is_no_news() {
    needs_bubblewrap!();
    let lab = lab("echo x >/logs/artifacts/small.txt", "reward 0\n");
    lab.run(&["--no-checks"]);
    let record = lab.record("a");
    assert_eq!(record["evidence"], json!({"lost": []}));
    assert!(!lab.assay(&["show", record["trial"].as_str().unwrap()]).ok().stdout.contains("evidence"));
    assert!(!lab.assay(&["report", "lab"]).ok().stdout.contains("Evidence"));
}
