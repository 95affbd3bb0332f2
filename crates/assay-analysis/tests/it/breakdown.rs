use assay_analysis::explore::{TestArm, TestChange};
use serde_json::{Value, json};

use crate::suite::{Rows, Suite, close};

/// A suite whose trials report the tests that `tests` gives for condition and repetition.
fn suite(rows: Rows<'_>, tests: fn(&str, u32) -> Value) -> Suite {
    Suite::new(&["none", "curated"], rows).each(move |record| {
        record.ctrf = Some(json!({ "tests": tests(&record.condition, record.repetition) }));
    })
}

fn test(name: &str, passed: bool) -> Value {
    json!({ "name": name, "status": if passed { "passed" } else { "failed" } })
}

/// Condition, passed, failed, change.
type Expected<'a> = &'a [(&'a str, usize, usize, Option<TestChange>)];

fn check(suite: &Suite, expected: &[(&str, &str, Expected<'_>)]) {
    let rows = suite.report().exploration.tests;
    let found: Vec<(&str, &str)> = rows.iter().map(|row| (row.task.as_str(), row.test.as_str())).collect();
    let names: Vec<(&str, &str)> = expected.iter().map(|(task, test, _)| (*task, *test)).collect();
    assert_eq!(found, names);
    for (row, (_, _, arms)) in rows.iter().zip(expected) {
        let found: Vec<_> =
            row.arms.iter().map(|arm| (arm.condition.as_str(), arm.passed, arm.failed, arm.change)).collect();
        assert_eq!(found, *arms, "{}", row.test);
    }
}

#[test]
fn test_changes_are_detected_in_both_directions() {
    let suite = suite(&[("a", &["FFF", "PPP"])], |condition, repetition| {
        let curated = condition == "curated";
        json!([
            test("broken", !curated),
            test("fixed", curated || repetition == 1),
            test("same", true),
            test("wavers", repetition <= if curated { 3 } else { 2 }),
        ])
    });
    check(
        &suite,
        &[
            ("a", "broken", &[("none", 3, 0, None), ("curated", 0, 3, Some(TestChange::PassedToFailed))]),
            ("a", "fixed", &[("none", 1, 2, None), ("curated", 3, 0, Some(TestChange::FailedToPassed))]),
            ("a", "same", &[("none", 3, 0, None), ("curated", 3, 0, None)]),
            ("a", "wavers", &[("none", 2, 1, None), ("curated", 3, 0, None)]),
        ],
    );
    let rows = suite.report().exploration.tests;
    let lift = |row: usize, arm: usize| -> &TestArm { &rows[row].arms[arm] };
    close(lift(1, 1).lift, 2.0 / 3.0);
    close(lift(3, 1).lift, 1.0 / 3.0);
    assert_eq!(lift(1, 0).lift, None);
}

#[test]
fn only_valid_trials_and_tests_that_ended_count() {
    // The second trial of the baseline was lost, and its tests with it.
    let lost = suite(&[("a", &["Fi", "PP"])], |_, _| {
        json!([
            test("one", false), { "name": "skipped", "status": "skipped" }, { "name": "odd", "status": 1 },
            { "status": "failed" }, { "name": "", "status": "failed" }, 7, null,
            // Several with one name have to pass together.
            test("two", true), test("two", false),
        ])
    });
    check(
        &lost,
        &[
            ("a", "one", &[("none", 0, 1, None), ("curated", 0, 2, None)]),
            ("a", "two", &[("none", 0, 1, None), ("curated", 0, 2, None)]),
        ],
    );
}

#[test]
fn test_missing_in_the_baseline_is_not_a_change() {
    let only = suite(&[("a", &["F", "P"]), ("b", &["", "P"])], |condition, _| {
        if condition == "curated" { json!([test("new", true)]) } else { json!([]) }
    });
    check(&only, &[("a", "new", &[("curated", 1, 0, None)]), ("b", "new", &[("curated", 1, 0, None)])]);
}

#[test]
fn invalid_ctrf_reports_have_no_tests() {
    for ctrf in [json!(null), json!([]), json!({ "tests": 1 }), json!({ "tests": {} }), json!("x")] {
        let suite = Suite::new(&["none"], &[("a", &["P"])]).each(|record| record.ctrf = Some(ctrf.clone()));
        assert_eq!(suite.report().exploration.tests, [], "{ctrf}");
    }
    assert_eq!(Suite::new(&["none"], &[("a", &["P"])]).report().exploration.tests, []);
}
