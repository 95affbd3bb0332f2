//! Explanations of a repository's skill, before and after its trials.

use assay_store::{Cell, Outcome};

use super::*;
use crate::testing::{GateRepository, POLICY, record_skill};

#[test]
fn looks_are_one_line() {
    let look = |lift: f64, bound: f64, upper: f64| LookLine {
        id: "a".to_owned(),
        opened_at: "2026-01-02T03:04:05Z".to_owned(),
        version: 1,
        look: 1,
        level: 0.04,
        decision: Some("undecided".to_owned()),
        lift: Some(lift),
        bound: Some(bound),
        upper: Some(upper),
        same: true,
    };
    assert_eq!(
        look(0.1, -0.1, 0.3).describe_look(),
        "2026-01-02 version 1, look 1 (this content) at level 0.0400: undecided, +10 pp (\u{2212}10 to +30)"
    );
}

fn explain(lab: &GateRepository) -> Explanation {
    let found = lab.with_gate(&lab.request(), &lab.host(), &|_| {}, |gate| gate.explain("./skills/reports/"));
    found.unwrap().unwrap()
}

#[test]
fn an_explanation_follows_a_skill_through_its_look() {
    let lab = GateRepository::scripted(POLICY);
    let unchanged = explain(&lab);
    assert_eq!(
        (unchanged.claim, unchanged.next),
        (Some("helps"), vec!["same as at the base revision".to_owned()])
    );
    lab.write_skill("reports", "The word is `right`, always.");
    // Nothing is made of a store that is not there.
    let before = explain(&lab);
    assert_eq!((before.version, before.look, before.level), (Some(1), Some(1), Some(level(0.05, 1, 1))));
    let missing = format!("the recorded trials are not read: there is no store {}", lab.store().display());
    assert!(before.next.contains(&missing) && !lab.store().exists(), "{:?}", before.next);
    let text = before.to_text();
    assert!(text.contains("  compared  with the baseline `none`, 6 tasks × 3, 36 trials\n"), "{text}");
    // Half of the tasks: undecided.
    let helped = |cell: &Cell| {
        let is_helped = cell.condition == "curated" && cell.task.as_str() < "reports-4";
        if is_helped { Outcome::Passed } else { Outcome::Failed }
    };
    let (request, host) = (lab.request(), lab.host());
    lab.with_gate(&request, &host, &|_| {}, |gate| record_skill(gate, "skills/reports", helped));
    let document = lab.decide(&request, &host, &|_| {}).unwrap();
    assert_eq!(document.exit_verdict().word(), "undecided", "{}", document.to_text());
    let after = explain(&lab);
    let recorded: Vec<(usize, usize)> = after.arms.iter().map(|arm| (arm.recorded, arm.planned)).collect();
    assert_eq!((recorded, after.results.len(), after.looks.len()), (vec![(18, 18), (18, 18)], 1, 1));
    let continues = after.continues.map(|next| (next.version, next.look));
    assert_eq!(continues, Some((1, 1)), "the same results are the same look");
    assert!(after.next.iter().any(|next| next.starts_with("to pass, the lower limit")), "{:?}", after.next);
    assert!(after.to_text().contains("  look      "), "{}", after.to_text());
}

#[test]
fn a_skill_without_a_rule_is_an_error_that_names_those_with_one() {
    let lab = GateRepository::scripted(POLICY);
    let found = lab.with_gate(&lab.request(), &lab.host(), &|_| {}, |gate| gate.explain("skills/other"));
    let error = found.unwrap_err();
    assert!(error.to_string().ends_with("gate.toml covers skills/other"), "{error}");
    assert_eq!(error.hint().as_deref(), Some("it covers: skills/reports"));
}
