//! Notes on rewards between 0 and 1, and beyond.

use assay_store::{Outcome, OutcomeRule, Record};

use crate::sentences::sentences;
use crate::suite::{Suite, close};

#[test]
fn scores_of_0_and_1_are_pass_rates() {
    let report = Suite::uniform(&["none", "curated"], &["PFFT", "PPXP"]).report();
    assert!(!report.fractional_scores);
    for arm in &report.arms {
        assert_eq!((arm.score, arm.score_ci95), (arm.pass_rate, arm.ci95));
    }
    let compared = &report.comparisons[0];
    assert_eq!(compared.lift, compared.pass_rate_lift);
    close(compared.lift, 0.5);
    let notes = sentences(&report.notes);
    assert!(!notes.iter().any(|note| note.contains("reward")), "{notes:?}");
}

#[test]
fn rewards_outside_0_to_1_are_clamped_and_noted() {
    let rewards = |record: &mut Record| {
        let several = |a: f64, b: f64| [("a".to_owned(), a), ("b".to_owned(), b)].into();
        match (record.task.as_str(), record.condition.as_str()) {
            ("t00", "curated") => (record.outcome, record.reward) = (Outcome::Passed, Some(37.0)),
            ("t01", "curated") => record.reward = Some(-2.0),
            // Cut before the mean is taken: .75, and not the 1.25 that would be more than a passed
            // trial has.
            ("t02", "curated") => (record.reward, record.rewards) = (Some(1.25), several(2.0, 0.5)),
            ("t03", "curated") => (record.outcome, record.reward) = (Outcome::TimedOut, Some(1.0)),
            ("t04", "curated") => (record.outcome, record.reward) = (Outcome::Tampered, Some(0.9)),
            _ => {}
        }
    };
    let suite = Suite::uniform(&["none", "curated"], &["F", "F"]).each(rewards);
    let report = suite.plan(|run| run.outcome = Some(OutcomeRule::Score)).report();
    let scores: Vec<Option<f64>> = report.tasks.iter().take(6).map(|row| row.arms[1].score).collect();
    assert_eq!(scores, [1.0, 0.0, 0.75, 0.0, 0.0, 0.0].map(Some));
    let notes = sentences(&report.notes);
    let told: Vec<&String> = notes.iter().filter(|note| note.contains("reward")).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("3 trials have a reward outside 0 to 1 (−2 to 37)."), "{told:?}");
}
