use serde_json::json;

use super::*;
use crate::identity::TrialId;
use crate::record::AgentLabel;

fn record(outcome: Outcome, rewards: &[(&str, f64)], numbers: &[(&str, f64)]) -> Record {
    let label = AgentLabel { name: "loop".to_owned(), version: "1".to_owned(), model: None };
    let named = |pairs: &[(&str, f64)]| pairs.iter().map(|(name, one)| ((*name).to_owned(), *one)).collect();
    let mean = rewards.iter().map(|(_, reward)| reward).sum::<f64>() / rewards.len() as f64;
    Record {
        reward: Some(mean).filter(|_| !rewards.is_empty()),
        rewards: named(rewards),
        numbers: named(numbers),
        ..Record::new(TrialId::of(&json!(1)), "t".to_owned(), label, outcome)
    }
}

#[test]
fn outcome_value_follows_the_rule_and_what_the_verifier_writes() {
    use Outcome::{Failed, Infrastructure, Passed, Tampered, TimedOut};
    // Values under no rule (older plans), `auto`, `score` and `pass`.
    let check = |outcome, rewards: &[(&str, f64)], expected: [Option<f64>; 4]| {
        let record = record(outcome, rewards, &[]);
        let rules = [None, Some(OutcomeRule::Auto), Some(OutcomeRule::Score), Some(OutcomeRule::Pass)];
        let found = rules.map(|rule| {
            let mut outcomes = RunOutcomes::new(rule);
            outcomes.observe(&record);
            outcomes.value(&record)
        });
        assert_eq!(found, expected, "{outcome:?} {rewards:?}");
    };
    let all = |value: f64| [Some(value); 4];
    check(Failed, &[("reward", 0.25)], [Some(0.25), Some(0.25), Some(0.25), Some(0.0)]);
    // The only key has any name.
    check(Failed, &[("accuracy", 0.5)], [Some(0.5), Some(0.5), Some(0.5), Some(0.0)]);
    // Several keys without `reward`: all of them must be 1.
    check(Failed, &[("a", 1.0), ("b", 0.0)], [Some(0.5), Some(0.0), Some(0.5), Some(0.0)]);
    check(Passed, &[("a", 1.0), ("b", 2.0)], all(1.0));
    // `reward` beside other keys, as older imports have it.
    check(Failed, &[("a", 1.0), ("reward", 0.0)], [Some(0.5), Some(0.0), Some(0.0), Some(0.0)]);
    // Rewards outside of [0, 1] are cut.
    check(Failed, &[("reward", -3.0)], all(0.0));
    check(TimedOut, &[("a", 1.0), ("b", 0.0)], all(0.0));
    check(Tampered, &[("reward", 1.0)], all(0.0));
    check(Failed, &[], all(0.0));
    check(Infrastructure, &[], [None; 4]);
}

#[test]
fn auto_decides_for_each_task_by_all_of_its_trials() {
    let several = record(Outcome::Failed, &[("a", 1.0), ("b", 0.0)], &[]);
    // A verifier that ends early may write one of its keys alone.
    let alone = record(Outcome::Failed, &[("a", 0.5)], &[]);
    let named = record(Outcome::Failed, &[("reward", 0.5)], &[]);
    let check = |records: &[&Record], expected: OutcomeKind| {
        let mut outcomes = RunOutcomes::new(Some(OutcomeRule::Auto));
        for record in records {
            outcomes.observe(record);
        }
        assert_eq!(outcomes.kind("t"), expected, "{records:?}");
        assert_eq!(outcomes.count(expected), 1);
    };
    check(&[&several], OutcomeKind::Pass);
    check(&[&named], OutcomeKind::Score);
    check(&[&alone, &alone], OutcomeKind::Score);
    check(&[&alone, &several], OutcomeKind::Pass);
    check(&[&named, &several], OutcomeKind::Score);
    let lost = record(Outcome::Infrastructure, &[], &[]);
    let mut outcomes = RunOutcomes::new(Some(OutcomeRule::Auto));
    outcomes.observe(&lost);
    assert_eq!((outcomes.count(OutcomeKind::Score), outcomes.count(OutcomeKind::Pass)), (0, 0));
}

#[test]
fn checks_are_tests_or_named_rewards() {
    let check = |record: &Record, expected: &[(&str, Option<bool>)]| {
        let checks = record.checks();
        let found: Vec<(&str, Option<bool>)> =
            checks.iter().map(|check| (check.name.as_str(), check.passed())).collect();
        assert_eq!(found, expected, "{:?} {:?}", record.rewards, record.numbers);
    };
    let failed = |rewards: &[(&str, f64)], numbers: &[(&str, f64)]| record(Outcome::Failed, rewards, numbers);
    check(&failed(&[("a", 1.0), ("b", 0.4)], &[]), &[("a", Some(true)), ("b", Some(false))]);
    check(&failed(&[("a", 1.0), ("reward", 0.0)], &[]), &[("a", Some(true))]);
    check(&failed(&[("reward", 0.0)], &[]), &[]);
    check(&failed(&[("accuracy", 0.5)], &[]), &[]);
    check(&failed(&[], &[("x", 1.0), ("y", 0.0)]), &[]);
    // Verdicts of 0 and 1 beside the reward that follows from them are checks.
    let verdicts = [("a", 1.0), ("b", 0.0), ("lines_changed", 12.0)];
    check(&failed(&[("reward", 0.0)], &verdicts), &[("a", Some(true)), ("b", Some(false))]);
    // Measurements are not.
    check(&failed(&[("reward", 0.0)], &[("seconds", 3.5), ("ok", 1.0)]), &[]);
    check(&failed(&[("reward", 1.0)], &[("errors", 0.0), ("warnings", 0.0)]), &[]);
    check(&failed(&[("reward", 0.0)], &[("retries", 0.0)]), &[]);
    // A report of tests comes before rewards, whether it is whole or its results alone.
    let tests = json!({ "tests": [
        { "name": "one", "status": "passed" }, { "name": "two", "status": "failed", "message": "no" },
        { "name": "three", "status": "skipped" }, { "status": "passed" },
    ] });
    for report in [tests.clone(), json!({ "results": tests })] {
        let record = Record { ctrf: Some(report), ..failed(&[("a", 1.0), ("b", 0.0)], &[]) };
        check(&record, &[("one", Some(true)), ("two", Some(false)), ("three", None)]);
        assert_eq!(record.checks()[1].message, "no");
        assert!(record.checks().iter().all(|check| check.label.is_none()));
    }
}
