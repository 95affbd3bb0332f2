//! Contrasts between the agents of a run.

use assay_analysis::{Contrast, ContrastKind, ContrastVerdict, Note};
use assay_store::ConditionSettings;
use assay_trace::Disclosure;

use crate::suite::{Suite, close};

/// Twenty tasks, the same two cells in each.
fn rows<'a>(names: &'a [String], words: &'a [&'a str]) -> Vec<(&'a str, &'a [&'a str])> {
    names.iter().map(|name| (name.as_str(), words)).collect()
}

fn contrasts(first: &[&str], second: &[&str], tasks: usize) -> Vec<Contrast> {
    let names: Vec<String> = (0..tasks).map(|n| format!("t{n:02}")).collect();
    let suite = Suite::new(&["none", "curated"], &rows(&names, first));
    suite.agent("openai:two", &rows(&names, second)).report().contrasts
}

#[test]
fn two_agents_have_three_contrasts() {
    // Lifts .5 and .25; the first with the skill .75, the second without .5, and vice versa .75 and .25.
    let found = contrasts(&["PFFF", "PPPF"], &["PPFF", "PPPF"], 20);
    let facts: Vec<_> = found
        .iter()
        .map(|contrast| (contrast.kind, contrast.first.short(), contrast.second.short(), contrast.tasks))
        .collect();
    let (one, two) = ("openai:one", "openai:two");
    assert_eq!(
        facts,
        [
            (ContrastKind::Lifts, one, two, 20),
            (ContrastKind::SkillForModel, one, two, 20),
            (ContrastKind::SkillForModel, two, one, 20),
        ]
    );
    close(found[0].difference, 0.25);
    close(found[1].difference, 0.25);
    close(found[2].difference, 0.5);
    for contrast in &found {
        close(contrast.family.map(|family| family.level), 1.0 - 0.05 / 3.0);
        assert_eq!(contrast.verdict, Some(ContrastVerdict::Higher), "{contrast:?}");
    }
}

#[test]
fn interval_of_a_difference_of_lifts_has_the_variance_of_four_arms() {
    // Equal differences: s = 0, so with n = 20 tasks and r = 4 trials in each of four cells the half
    // width is t(f)·√(2·v₀/(n + 1))/√n, v₀ = ¼·4/4 = ¼, f = 21²/19; t at .975 is 2.067620 (scipy).
    let found = contrasts(&["PFFF", "PPPF"], &["PPFF", "PPPF"], 20);
    let [low, high] = found[0].ci95.unwrap();
    let half = 2.067_620 * (2.0 * 0.25 / 21.0_f64).sqrt() / 20.0_f64.sqrt();
    assert!((high - low - 2.0 * half).abs() < 1e-6, "{low} {high} {half}");
}

#[test]
fn contrasts_need_five_tasks_and_two_agents() {
    let check = |tasks: usize, expected: Option<ContrastVerdict>| {
        let found = contrasts(&["FFFF", "PPPP"], &["FFFF", "FFFF"], tasks);
        assert_eq!(found[0].verdict, expected, "{tasks}");
        close(found[0].difference, 1.0);
    };
    check(4, Some(ContrastVerdict::Inconclusive));
    check(20, Some(ContrastVerdict::Higher));
    let one = Suite::uniform(&["none", "curated"], &["PF", "PP"]).report();
    assert_eq!(one.contrasts, []);
}

#[test]
fn tasks_without_a_result_in_one_arm_do_not_count() {
    let names: Vec<String> = (0..6).map(|n| format!("t{n:02}")).collect();
    let first = rows(&names, &["FF", "PP"]);
    let mut second = rows(&names, &["FF", "FF"]);
    second[0].1 = &["ii", "FF"];
    let report = Suite::new(&["none", "curated"], &first).agent("openai:two", &second).report();
    let tasks: Vec<_> = report.contrasts.iter().map(|contrast| contrast.tasks).collect();
    // The second without a skill has no result on one task; the last contrast does not use that arm.
    assert_eq!(tasks, [5, 5, 6]);
}

#[test]
fn activation_is_the_difference_between_offered_and_announced_skills() {
    // Offered .25, announced .75 on each of 20 tasks.
    let told = ConditionSettings {
        is: Some("curated".to_owned()),
        disclosure: Some(Disclosure::Told),
        repetitions: Some(2),
    };
    let suite = Suite::uniform(&["none", "curated", "told", "placebo"], &["FFFF", "PFFF", "PPPF", "FFFF"]);
    let report = suite.plan(|run| run.settings = [("told".to_owned(), told.clone())].into()).report();
    let [found] = &report.contrasts[..] else { panic!("{:#?}", report.contrasts) };
    assert_eq!(
        (found.kind, found.condition.as_str(), found.baseline.as_str(), found.tasks, found.verdict),
        (ContrastKind::Activation, "curated", "told", 20, Some(ContrastVerdict::Lower))
    );
    close(found.difference, -0.5);
    // The only contrast: no adjustment. Equal differences, r = 4 trials in each of two cells: the half
    // width is t(f)·√(2·v₀/(n + 1))/√n with v₀ = ¼·2/4 = ⅛.
    let [low, high] = found.ci95.unwrap();
    let half = 2.067_620 * (2.0 * 0.125 / 21.0_f64).sqrt() / 20.0_f64.sqrt();
    assert!((high - low - 2.0 * half).abs() < 1e-6, "{low} {high} {half}");
    let arms: Vec<_> =
        report.arms.iter().map(|arm| (arm.condition.as_str(), arm.disclosure.as_str())).collect();
    assert_eq!(arms, [("none", "offered"), ("curated", "offered"), ("told", "told"), ("placebo", "offered")]);
    let noted = Note::Condition {
        condition: "told".to_owned(),
        is: "curated".to_owned(),
        disclosure: Some("told".to_owned()),
        repetitions: Some(2),
    };
    assert!(report.notes.contains(&noted), "{:#?}", report.notes);
}
