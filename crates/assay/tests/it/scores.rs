//! Verifiers that give a part of the reward.

use serde_json::{Value, json};

use crate::fixture::needs_bubblewrap;
use crate::suite;

#[test]
fn a_part_of_the_reward_is_a_part_of_the_score_from_the_run_to_the_next_plan() {
    needs_bubblewrap!();
    let part = "grep -q right /app/answer.txt && reward 0.8 || reward 0.3\n";
    let lab = (1..=5)
        .fold(suite::lab(0), |lab, number| lab.task(&format!("t{number}"), |task| task.test_sh(part)))
        .experiment(|e| suite::paired(e.conditions(&["none", "curated"]).repetitions(2), 5));
    let (document, _) = lab.run(&["--no-checks"]);
    let report = &document["report"];
    assert_eq!(report["fractional_scores"], true);
    for (arm, score) in [(0, 0.3), (1, 0.8)] {
        let arm = &report["arms"][arm];
        let found = arm["score"].as_f64().unwrap();
        assert!((found - score).abs() < 1e-9, "{arm:#}");
        assert_eq!(arm["pass_rate"], 0.0);
    }
    let compared = &report["comparisons"][0];
    assert!((compared["lift"].as_f64().unwrap() - 0.5).abs() < 1e-9, "{compared:#}");
    assert_eq!(compared["pass_rate_lift"], 0.0);
    assert!(compared["fixed_tasks_ci95"].is_array(), "{compared:#}");
    assert!(compared["time_overlap"].is_number(), "{compared:#}");
    // Each screen speaks of scores.
    let shown = |args: &[&str]| lab.assay(args).ok().stdout;
    let text = shown(&["report", "lab"]);
    assert!(text.contains("condition  score") && text.contains("80%, 0/2 (+50)"), "{text}");
    assert!(shown(&["report", "lab", "--details"]).contains("the width of the score's CI"));
    assert!(shown(&["show", "lab"]).contains("failed  reward 0.8"));
    let history: Value = lab.assay(&["show", "--history", "--format", "json"]).ok().json();
    assert!((history["trends"][0]["lifts"][0].as_f64().unwrap() - 0.5).abs() < 1e-9, "{history:#}");
    // The recorded baseline of the next plan: five tasks at .3, with a little of what is not known; none of them passed.
    let plan = lab.assay(&["plan", "experiment.toml", "--format", "json"]).json();
    assert_eq!(plan["design"]["baseline_from"], json!("records"));
    let baseline = plan["design"]["baseline"].as_f64().unwrap();
    assert!((0.25..0.45).contains(&baseline), "{plan:#}");
}
