//! Notes on tasks and conditions where no skill should help.

use crate::sentences::Sentences as _;
use crate::suite::Suite;

fn check(suite: &Suite, expected: &str) {
    let notes = suite.notes();
    assert!(notes.iter().any(|note| note.contains(expected)), "{notes:#?}\nlacks: {expected}");
}

#[test]
fn controls_are_judged_by_equivalence() {
    let of = |control| Suite::with_controls("curated", ["FFFFF", "PPPPP"], control);
    check(
        &of(["PPPPP", "PPPPP"]),
        "`curated` has a negligible effect (±10 pp) on the 30 negative controls, as expected.",
    );
    check(
        &of(["FFFFF", "PPPPP"]),
        "`curated` helps on the 30 negative controls (+100 pp), on which no skill should help",
    );
    check(&of(["PPPPP", "FFFFF"]), "`curated` harms on the 30 negative controls (−100 pp).");
    check(&of(["PPPPP", "iiiii"]), "`curated` has no usable trials on the negative controls: of 150 trials");
    check(&of(["PPPPP", "Piiii"]), "Too many infrastructure errors on the");
    let two: Vec<(&str, &[&str])> = vec![("a", &["P", "P", "P"]), ("b", &["P", "P", "F"])];
    let two = Suite::new(&["none", "curated", "full"], &two)
        .plan(|run| run.tasks.iter_mut().for_each(|task| task.negative_control = true));
    check(&two, "`curated` and `full` are inconclusive (±10 pp) on the 2 negative controls");
    let one = Suite::new(&["none", "curated"], &[("a", &["P", "P"])])
        .plan(|run| run.tasks[0].negative_control = true);
    check(&one, "is inconclusive (±10 pp) on the one negative control.");
    assert_eq!(one.report().comparisons, []);
}

#[test]
fn negative_controls_count_as_planned_trials() {
    check(
        &Suite::with_controls("curated", ["F", "P"], ["P", "."]),
        "30 of 72 planned trials were not executed",
    );
}

#[test]
fn helping_control_condition_is_noted() {
    let helps = |condition| Suite::uniform(&["none", condition], &["FFF", "PPP"]);
    check(&helps("placebo"), "`placebo` helps: a skill that teaches nothing raised the pass rate by +100 pp");
    check(
        &helps("negative"),
        "`negative` helps: a skill unrelated to the task raised the pass rate by +100 pp",
    );
    let silent = |suite: &Suite| {
        let notes = suite.notes();
        assert!(!notes.iter().any(|note| note.contains("helps")), "{notes:?}");
    };
    silent(&helps("curated"));
    silent(&Suite::uniform(&["none", "placebo"], &["PPP", "PPP"]));
    // With several agents, the note names the agent.
    let rows: Vec<(String, [&str; 2])> = (0..20).map(|n| (format!("t{n:02}"), ["F", "P"])).collect();
    let rows: Vec<(&str, &[&str])> = rows.iter().map(|(name, words)| (name.as_str(), &words[..])).collect();
    check(&helps("placebo").agent("openai:two", &rows), "`placebo` by openai:two helps");
}
