//! Two runs against each other.

use assay_analysis::{Note, RunComparison, compare_gathered};

use crate::suite::{Suite, close};

fn against(first: &Suite, second: &Suite) -> RunComparison {
    compare_gathered(&first.run, &first.gathered(), &second.run, &second.gathered())
}

fn named(suite: Suite, name: &str) -> Suite {
    suite.named(name)
}

#[test]
fn arms_with_the_same_trials_are_not_compared() {
    let check = |before: [&str; 2], after: [&str; 2], excluded: &[&str]| {
        let conditions = ["none", "curated"];
        let (before, after) = (Suite::uniform(&conditions, &before), Suite::uniform(&conditions, &after));
        let found = against(&before, &after);
        let names: Vec<&str> = found.excluded.iter().map(|arm| arm.condition.as_str()).collect();
        assert_eq!(names, excluded, "{found:?}");
        assert_eq!(found.comparisons.len(), 2 - excluded.len());
        assert!(found.excluded.iter().all(|arm| arm.reason == "its trials are the same in both runs"));
    };
    check(["PF", "PP"], ["PF", "PP"], &["curated", "none"]);
    // One run has the trials of the other and more.
    check(["PF", "PP"], ["PFPF", "PPPP"], &["curated", "none"]);
    // Only some are the same.
    check(["PF", "P."], ["PF", ".P"], &["none"]);
}

#[test]
fn two_runs_are_compared_when_both_are_complete() {
    let (half, whole) = (
        named(Suite::uniform(&["none"], &["PF."]), "half"),
        named(Suite::uniform(&["none"], &["PFF"]), "whole"),
    );
    for (one, other, expected) in [(&half, &whole, true), (&whole, &half, true)] {
        let found = against(one, other);
        assert_eq!((found.interim, found.comparisons[0].verdict.is_none()), (expected, expected));
    }
    assert!(!against(&whole, &named(Suite::uniform(&["none"], &["FFF"]), "third")).interim);
}

#[test]
fn lift_is_second_minus_first_arm_by_arm() {
    // Curated passed 2 of 5 before and passes all now; the baseline stays at 1 of 5.
    let before = named(Suite::uniform(&["none", "curated"], &["PFFFF", "PPFFF"]), "before");
    let after = named(Suite::uniform(&["none", "curated"], &["PFFFF", "PPPPP"]), "after");
    // At ±10 points twenty tasks are too few for `negligible`.
    let (before, after) = (before.plan(|run| run.margin = 0.3), after.plan(|run| run.margin = 0.3));
    let found = against(&before, &after);
    assert_eq!((found.first.as_str(), found.second.as_str()), ("before", "after"));
    let arms: Vec<_> = found
        .comparisons
        .iter()
        .map(|arm| (arm.condition.as_str(), arm.baseline.as_str(), arm.word()))
        .collect();
    assert_eq!(arms, [("curated", "before", "helps"), ("none", "before", "negligible")]);
    close(found.comparisons[0].lift, 0.6);
    close(found.comparisons[1].lift, 0.0);
    // Both arms share one error rate.
    close(found.comparisons[0].family.map(|family| family.level), 0.975);
    // Turned round, the same difference has the other sign.
    close(against(&after, &before).comparisons[0].lift, -0.6);
}

#[test]
fn arms_without_shared_tasks_are_excluded_with_the_reason() {
    let before = named(Suite::uniform(&["none", "curated"], &["PF", "PP"]), "before");
    let after = named(Suite::uniform(&["none", "placebo"], &["PF", "PP"]), "after");
    let found = against(&before, &after);
    let reasons: Vec<_> =
        found.excluded.iter().map(|arm| (arm.condition.as_str(), arm.reason.as_str())).collect();
    assert_eq!(reasons, [("curated", "only in before"), ("placebo", "only in after")]);
    assert_eq!(found.comparisons.len(), 1);
}

#[test]
fn conditions_are_compared_by_role_whatever_their_names() {
    let before =
        || named(Suite::uniform(&["none", "curated", "placebo"], &["PFFFF", "PPFFF", "PFFFF"]), "before");
    let after = |names: &[&str], cells: &[&str], roles: &[(&str, &str)]| {
        named(Suite::uniform(names, cells), "after").plan(|run| {
            let is =
                |role: &str| assay_store::ConditionSettings { is: Some(role.into()), ..Default::default() };
            run.settings = roles.iter().map(|(name, role)| ((*name).to_owned(), is(role))).collect();
        })
    };
    let cells = ["PFFFF", "PPPPP", "PFFFF"];
    let usual = after(&["none", "curated", "placebo"], &cells, &[]);
    // The names of the roles, given to others.
    let roles = [("curated", "none"), ("placebo", "curated"), ("none", "placebo")];
    let renamed = after(&["curated", "placebo", "none"], &cells, &roles);
    let figures = |found: &RunComparison| {
        let mut figures: Vec<_> = found
            .comparisons
            .iter()
            .map(|arm| {
                (arm.role.name(), format!("{:?} {:?} {:?} {:?}", arm.lift, arm.family, arm.verdict, arm.p))
            })
            .collect();
        figures.sort();
        figures
    };
    let (expected, found) = (against(&before(), &usual), against(&before(), &renamed));
    assert_eq!(figures(&found), figures(&expected));
    assert_eq!((found.comparisons.len(), found.excluded.len()), (3, 0));
    let pairs: Vec<_> = found
        .matched
        .iter()
        .map(|pair| (pair.first.as_str(), pair.second.as_str(), pair.role.name()))
        .collect();
    assert_eq!(
        pairs,
        [("none", "curated", "none"), ("curated", "placebo", "curated"), ("placebo", "none", "placebo")]
    );
    // The reader is told, where the names differ.
    let told = |found: &RunComparison| {
        found
            .notes
            .iter()
            .any(|note| matches!(note, Note::ConditionsMatched { pairs, .. } if pairs.len() == 3))
    };
    assert!(told(&found) && !told(&expected), "{:?}", found.notes);
    // What is called alike and is something else is not compared.
    let other = after(&["none", "curated"], &["PFFFF", "PPPPP"], &[("curated", "negative")]);
    let found = against(&before(), &other);
    let excluded: Vec<_> =
        found.excluded.iter().map(|arm| (arm.condition.as_str(), arm.reason.as_str())).collect();
    assert_eq!(
        excluded,
        [("curated", "only in after"), ("curated", "only in before"), ("placebo", "only in before")]
    );
    assert_eq!(found.comparisons.len(), 1);
}

#[test]
fn comparison_needs_as_many_tasks_as_a_verdict() {
    let check = |tasks: usize, compared: usize| {
        let names: Vec<String> = (0..tasks).map(|n| format!("t{n}")).collect();
        let rows: Vec<(&str, &[&str])> = names.iter().map(|name| (name.as_str(), &["PF"][..])).collect();
        let (suite, other) = (Suite::new(&["none"], &rows), named(Suite::new(&["none"], &rows), "other"));
        assert_eq!(against(&suite, &other).comparisons.len(), compared, "{tasks}");
    };
    check(4, 0);
    check(5, 1);
}

#[test]
fn extended_run_is_marked_and_shared_trials_counted() {
    let suite = Suite::uniform(&["none"], &["PF"]);
    let extended = Suite::uniform(&["none"], &["PFPF"]).plan(|run| run.extends = Some("test".into()));
    let found = against(&suite, &extended);
    assert!(found.extended_after_look);
    // Twenty tasks with two trials each are in both.
    assert_eq!(found.shared_trials, 40);
    assert!(!against(&suite, &suite).extended_after_look);
}

#[test]
fn skills_of_both_runs_are_listed_with_digests() {
    let with = |skills: &[(&str, &str)]| {
        let skills = skills.iter().map(|(name, digest)| ((*name).to_owned(), (*digest).to_owned())).collect();
        Suite::uniform(&["none"], &["PF"]).plan(|run| run.skills = skills)
    };
    let found = against(
        &with(&[("a", "blake3:1"), ("b", "blake3:2")]),
        &with(&[("a", "blake3:3"), ("c", "blake3:4")]),
    );
    let rows: Vec<_> = found
        .skills
        .iter()
        .map(|skill| (skill.name.as_str(), skill.first.as_deref(), skill.second.as_deref(), skill.changed))
        .collect();
    assert_eq!(
        rows,
        [
            ("a", Some("blake3:1"), Some("blake3:3"), true),
            ("b", Some("blake3:2"), None, true),
            ("c", None, Some("blake3:4"), true),
        ]
    );
}

#[test]
fn different_disclosure_and_placement_are_noted() {
    let check = |change: &dyn Fn(&mut assay_store::RunFolder), expected: Option<(&str, &str, &str)>| {
        let before = Suite::uniform(&["none", "curated"], &["PF", "PP"]).plan(|run| {
            run.agents[0].placement = Some(assay_trace::Placement::Native);
        });
        let after = Suite::uniform(&["none", "curated"], &["PF", "PP"]).plan(|run| {
            run.agents[0].placement = Some(assay_trace::Placement::Native);
            change(run);
        });
        let found = against(&before, &after);
        let settings: Vec<_> = found
            .notes
            .iter()
            .filter_map(|note| match note {
                Note::SettingDiffers { setting, first, second, tasks: None } => {
                    Some((*setting, first.as_str(), second.as_str()))
                }
                _ => None,
            })
            .collect();
        assert_eq!(settings, expected.into_iter().collect::<Vec<_>>());
    };
    check(&|_| (), None);
    check(&|run| run.disclosure = "told".into(), Some(("disclosure", "offered", "told")));
    let told = assay_store::ConditionSettings {
        disclosure: Some(assay_trace::Disclosure::Told),
        ..Default::default()
    };
    check(
        &|run| run.settings = [("curated".to_owned(), told.clone())].into(),
        Some(("disclosure", "offered", "told")),
    );
    check(
        &|run| run.agents[0].placement = Some(assay_trace::Placement::System),
        Some(("placement of skills", "native", "system")),
    );
}
