//! `[metrics.NAME]` in an experiment, and `assay report --metric`.

use serde_json::{Value, json};

use crate::fixture::{Fixture, needs_bubblewrap};

/// Five tasks; with the skill the agent writes two lines instead of four.
fn lab() -> Fixture {
    let test = "mkdir -p /logs/verifier\nprintf '{\"reward\": 1, \"bytes\": %s}' $(wc -c < answer.txt) > /logs/verifier/reward.json\n";
    let does = |condition: &str, run: &str| json!({"condition": condition, "turn": 0, "run": [run]});
    let rules = [
        does("curated", "printf '1\\n2\\n' > answer.txt"),
        does("none", "printf '1\\n2\\n3\\n4\\n' > answer.txt"),
    ];
    let mut lab = Fixture::new().skill("short", "Writes less.", "Write two lines.").script(&rules);
    for task in ["a", "b", "c", "d", "e"] {
        lab = lab.task(task, |task| task.test_sh(test));
    }
    lab.experiment(|e| {
        let mut design = e.conditions(&["none", "curated"]).repetitions(2).table(
            "[metrics.lines_changed]\nmargin = 1\n[metrics.size]\nsource = \"reward:bytes\"\ndirection = \"lower\"\nscale = \"log\"\nguard = 1.1\n",
        );
        for task in ["a", "b", "c", "d", "e"] {
            design = design.pair(task, &["short"]);
        }
        design
    })
}

#[test]
fn an_experiment_compares_its_conditions_by_its_metrics() {
    needs_bubblewrap!();
    let lab = lab();
    lab.run(&["--no-checks"]);
    let record = lab.records().into_iter().find(|record| record["condition"] == "none").unwrap();
    assert_eq!(record["numbers"], json!({ "bytes": 8.0, "lines_changed": 4.0 }));
    assert_eq!((&record["outcome"], &record["rewards"]), (&json!("passed"), &json!({ "reward": 1.0 })));
    let report = lab.assay(&["report", "lab", "--format", "json"]).ok().json();
    let facts = |name: &str| {
        let all = report["metrics"].as_array().unwrap();
        let found = all.iter().find(|metric| metric["name"] == name).unwrap();
        ["effect", "verdict", "guard_verdict", "median", "tasks"].map(|key| found[key].clone())
    };
    assert_eq!(
        facts("lines_changed"),
        [json!(-2.0), json!("improves"), Value::Null, json!([4.0, 2.0]), json!(5)]
    );
    let [ratio, verdict, guard, ..] = facts("size");
    assert!((ratio.as_f64().unwrap() - 0.5).abs() < 1e-12);
    assert_eq!((verdict, guard), (json!("improves"), json!("held")));
    let shown = lab.assay(&["report", "lab", "--metric", "turns"]).ok().stdout;
    let (_, section) = shown.split_once("\nMetrics\n").unwrap();
    let (section, _) = section.split_once("\nResults by task").unwrap();
    insta::assert_snapshot!(section);
    let unknown = lab.assay(&["report", "lab", "--metric", "nope,lower"]).ended(2);
    assert!(
        unknown.stderr.contains("no trial of lab has a value of the metric \"nope\""),
        "{}",
        unknown.stderr
    );
    let bare = lab.assay(&["report", "lab", "--metric", "bytes"]).ended(2);
    assert!(bare.stderr.contains("needs a direction"), "{}", bare.stderr);
    // Other metrics are another plan: one chosen after seeing the results does not replace it.
    let path = lab.path("experiment.toml");
    let text = std::fs::read_to_string(&path).unwrap().replace("margin = 1\n", "margin = 2\n");
    std::fs::write(&path, text).unwrap();
    let (again, _) = lab.run(&["--no-checks"]);
    assert!(lab.path(".assay/runs/lab-2").exists(), "{again}");
}
