//! Runs with little to report: it is reported plainly, and nothing is invented.

use assay_analysis::{Direction, Reason, VerdictKind};
use assay_store::Exclusion;
use serde_json::{Value, json};

use crate::suite::{Rows, Suite};

/// The figures of an answer that must be there or be null.
fn figures(suite: &Suite) -> Value {
    let report = serde_json::to_value(suite.report()).unwrap();
    let pick = |item: &Value, keys: &[&str]| keys.iter().map(|key| item[*key].clone()).collect::<Vec<_>>();
    let all = |list: &str, keys: &[&str]| {
        report[list].as_array().unwrap().iter().map(|item| pick(item, keys)).collect::<Vec<_>>()
    };
    json!({
        "arms": all("arms", &["condition", "tasks", "trials", "pass_rate", "ci95"]),
        "comparisons": all("comparisons", &["tasks", "lift", "ci95", "family", "p", "p_adjusted", "run_to_run_noise", "verdict", "reason"]),
        "tasks": report["tasks"].as_array().unwrap().len(),
    })
}

fn check(rows: Rows<'_>, expected: &Value) {
    assert_eq!(&figures(&Suite::new(&["none", "curated"], rows)), expected, "{rows:?}");
}

#[test]
fn a_run_without_cells() {
    check(&[], &json!({ "arms": [], "comparisons": [], "tasks": 0 }));
}

#[test]
fn a_run_that_has_not_begun() {
    let nothing = |condition| json!([condition, 0, 0, null, null]);
    let waiting = figures(&Suite::new(&["none", "curated"], &[("a", &["..", ".."])]));
    assert_eq!(waiting["arms"], json!([nothing("none"), nothing("curated")]));
    // There is nothing to compare yet.
    assert_eq!(waiting["comparisons"], json!([]));
    check(
        &[("a", &["PP", "ii"])],
        &json!({ "arms": [["none", 1, 2, 1.0, null], nothing("curated")], "comparisons": [], "tasks": 1 }),
    );
}

#[test]
fn one_task() {
    let found = figures(&Suite::new(&["none", "curated"], &[("a", &["PPF", "PPP"])]));
    assert_eq!(found["arms"][1], json!(["curated", 1, 3, 1.0, null]));
    let compared = &found["comparisons"][0];
    assert_eq!((&compared[0], &compared[2], &compared[3]), (&json!(1), &Value::Null, &Value::Null));
    assert_eq!((&compared[7], &compared[8]), (&json!("inconclusive"), &json!("design")));
}

#[test]
fn one_repetition() {
    let suite = Suite::uniform(&["none", "curated"], &["F", "P"]);
    let compared = suite.compared();
    // There is nothing to split into halves.
    assert_eq!((compared.run_to_run_noise, compared.verdict), (None, Some(VerdictKind::Helps)));
}

#[test]
fn a_baseline_that_passes_everything() {
    let compared = Suite::uniform(&["none", "curated"], &["PPP", "PPP"]).compared();
    assert_eq!((compared.lift, compared.normalized_change), (Some(0.0), None));
    assert_eq!(compared.p, Some(1.0));
}

#[test]
fn single_condition_has_no_comparison() {
    let report = Suite::new(&["none"], &[("a", &["PF"])]).report();
    assert_eq!((report.arms.len(), report.comparisons.len(), report.tasks.len()), (1, 0, 1));
}

#[test]
fn tasks_with_failed_checks_are_excluded_everywhere() {
    let mut suite = Suite::new(&["none", "curated"], &[("a", &["P", "P"]), ("b", &["F", "F"])]);
    suite.failed = vec![Exclusion { task: "b".into(), condition: None, reason: "no solution".into() }];
    suite.run.excluded = vec![Exclusion { task: "c".into(), condition: None, reason: "needs a GPU".into() }];
    let report = suite.report();
    assert_eq!((report.arms[0].tasks, report.arms[0].planned, report.tasks.len()), (1, 1, 1));
    let excluded: Vec<&str> = report.excluded.iter().map(|excluded| excluded.task.as_str()).collect();
    assert_eq!(excluded, ["c", "b"]);
    // All of them: an empty report, with the reasons.
    suite.failed.push(Exclusion { task: "a".into(), condition: None, reason: "no solution".into() });
    let report = suite.report();
    assert_eq!((report.arms.len(), report.comparisons.len(), report.excluded.len()), (0, 0, 3));
}

#[test]
fn the_document_begins_with_its_schema() {
    let report = Suite::new(&["none", "curated"], &[("a", &["P", "F"])]).report();
    let json = serde_json::to_string(&report).unwrap();
    assert!(json.starts_with("{\"schema\":\"assay.report/2\","), "{json}");
}

#[test]
fn json_words_match_reports() {
    let word = |value: serde_json::Value| value.as_str().unwrap().to_owned();
    for (kind, expected) in [
        (VerdictKind::Helps, "helps"),
        (VerdictKind::Harms, "harms"),
        (VerdictKind::Negligible, "negligible"),
        (VerdictKind::Inconclusive, "inconclusive"),
    ] {
        assert_eq!((kind.word(), word(serde_json::to_value(kind).unwrap()).as_str()), (expected, expected));
    }
    for (direction, expected) in [(Direction::Positive, "positive"), (Direction::Negative, "negative")] {
        let json = word(serde_json::to_value(direction).unwrap());
        assert_eq!((direction.word(), json.as_str()), (expected, expected));
    }
    let reasons = [Reason::Design, Reason::Losses, Reason::Noise];
    assert_eq!(
        reasons.map(|reason| word(serde_json::to_value(reason).unwrap())),
        ["design", "losses", "noise"]
    );
}
