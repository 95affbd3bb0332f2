//! The lift of each skill, and estimates with skills and models as units.

use assay_stats::{PairedTask, UnitEffect, random_effects};
use assay_store::{PlannedProvision, PlannedSkill};
use assay_usage::Usage;

use crate::suite::{Suite, close};

/// Tasks of two skills with six each, and of one with two: `curated` passes all trials of `a`, half of those of `b`, and
/// none of `c`; the baseline passes one of four.
fn three_skills() -> Suite {
    let names: Vec<String> = (0..14).map(|n| format!("t{n:02}")).collect();
    let words = |n: usize| -> &[&str] {
        match n {
            0..6 => &["PFFF", "PPPP"],
            6..12 => &["PFFF", "PPFF"],
            _ => &["PFFF", "FFFF"],
        }
    };
    let rows: Vec<(&str, &[&str])> =
        names.iter().enumerate().map(|(n, name)| (name.as_str(), words(n))).collect();
    Suite::new(&["none", "curated"], &rows).plan(|run| {
        run.provisions = (0..14)
            .map(|n| provision(&format!("t{n:02}"), "curated", &[["a", "b", "c"][(n / 6).min(2)]]))
            .collect();
    })
}

fn provision(task: &str, condition: &str, skills: &[&str]) -> PlannedProvision {
    let skill = |name: &&str| PlannedSkill {
        name: (*name).to_owned(),
        digest: format!("blake3:{name}"),
        body_tokens: 100,
    };
    PlannedProvision {
        task: task.into(),
        condition: condition.into(),
        skills: skills.iter().map(skill).collect(),
        known: None,
    }
}

fn tasks(arm: &[f64], count: usize) -> Vec<PairedTask> {
    vec![PairedTask { arm: arm.to_vec(), base: vec![1.0, 0.0, 0.0, 0.0], cluster: None }; count]
}

#[test]
fn each_skill_with_five_tasks_has_a_lift_and_its_costs() {
    let report = three_skills()
        .each(|record| {
            let input = if record.condition == "curated" { 150 } else { 100 };
            record.usage = Some(Usage { input, ..Usage::default() });
            record.seconds.agent = Some(if record.condition == "curated" { 2.0 } else { 4.0 });
        })
        .report();
    let [a, b] = &report.exploration.skills[..] else { panic!("{:?}", report.exploration.skills) };
    assert_eq!((a.name.as_str(), a.digest.as_str(), a.tasks), ("a", "blake3:a", 6));
    assert_eq!((b.name.as_str(), b.tasks), ("b", 6));
    close(a.lift, 0.75);
    close(b.lift, 0.25);
    let expected = assay_stats::lift(&tasks(&[1.0; 4], 6), 0.95).unwrap().interval.unwrap();
    assert_eq!(a.ci95, Some([expected.low, expected.high]));
    close(a.tokens_ratio, 1.5);
    close(a.seconds_ratio, 0.5);
    // The estimate over both, from their lifts and variances.
    let units = [tasks(&[1.0; 4], 6), tasks(&[1.0, 1.0, 0.0, 0.0], 6)];
    let units = units.map(|tasks| UnitEffect::of_sample(&tasks).unwrap());
    let expected = random_effects(&units).unwrap();
    let [over] = &report.exploration.over_skills[..] else { panic!("one condition") };
    assert_eq!((over.skills, over.few_tasks, over.shared_tasks), (2, 1, false));
    close(over.estimate.lift, expected.mean);
    close(over.estimate.tau, expected.tau);
    assert!(over.estimate.tau_ci95.is_none_or(|[_, high]| high <= 1.0), "{over:?}");
    // Two units: t(1) is 12.7, and the interval leaves the range of lifts.
    assert_eq!((over.estimate.ci95, over.estimate.prediction95), (Some([-1.0, 1.0]), None));
    close(a.shrunk_lift, expected.shrunk[0]);
    assert!(b.shrunk_lift > b.lift && a.shrunk_lift < a.lift, "{a:?} {b:?}");
    let json = serde_json::to_value(&report).unwrap();
    for key in ["name", "digest", "tasks", "lift", "ci95", "tokens_ratio", "seconds_ratio"] {
        assert!(!json["skills"][0][key].is_null(), "{key} in {}", json["skills"][0]);
    }
}

#[test]
fn tasks_of_several_skills_count_for_each_and_give_no_estimate_over_them() {
    let report =
        three_skills().plan(|run| run.provisions[0] = provision("t00", "curated", &["a", "b", "b"])).report();
    let [a, b] = &report.exploration.skills[..] else { panic!("{:?}", report.exploration.skills) };
    assert_eq!((a.tasks, b.tasks, a.shrunk_lift), (6, 7, None));
    let [over] = &report.exploration.over_skills[..] else { panic!("one condition") };
    assert!(over.shared_tasks && over.estimate.lift.is_none(), "{over:?}");
    // Unknown tokens have no ratio.
    assert_eq!(a.tokens_ratio, None);
}

#[test]
fn conditions_that_provide_something_else_say_nothing_of_a_skill() {
    for (condition, expected) in [("full", 0), ("placebo", 0), ("negative", 0), ("version:v1", 2)] {
        let report = three_skills()
            .plan(|run| {
                run.conditions[1] = condition.to_owned();
                run.cells.iter_mut().filter(|cell| cell.condition == "curated").for_each(|cell| {
                    condition.clone_into(&mut cell.condition);
                });
                run.provisions.iter_mut().for_each(|own| condition.clone_into(&mut own.condition));
            })
            .report();
        assert_eq!(report.exploration.skills.len(), expected, "{condition}");
    }
}

/// Agents are units and tasks are given: the variance of each agent's lift is that of its trials.
#[test]
fn models_are_a_sample_on_given_tasks() {
    let rows: [(&str, &[&str]); 2] = [("a", &["FF", "PP"]), ("b", &["FP", "PP"])];
    let other: [(&str, &[&str]); 2] = [("a", &["FF", "FF"]), ("b", &["PP", "PP"])];
    let report = Suite::new(&["none", "curated"], &rows).agent("openai:two", &other).report();
    let pair =
        |arm: &[f64], base: &[f64]| PairedTask { arm: arm.to_vec(), base: base.to_vec(), cluster: None };
    let lifts = [
        vec![pair(&[1.0, 1.0], &[0.0, 0.0]), pair(&[1.0, 1.0], &[0.0, 1.0])],
        vec![pair(&[0.0, 0.0], &[0.0, 0.0]), pair(&[1.0, 1.0], &[1.0, 1.0])],
    ];
    let units = lifts.map(|tasks| UnitEffect::of_fixed_tasks(&tasks).unwrap());
    let expected = random_effects(&units).unwrap();
    let [over] = &report.exploration.over_models[..] else { panic!("{:?}", report.exploration.over_models) };
    assert_eq!((over.agents, over.tasks), (2, 2));
    close(over.estimate.lift, expected.mean);
    close(over.estimate.tau, expected.tau);
    assert_eq!(three_skills().report().exploration.over_models, []);
}
