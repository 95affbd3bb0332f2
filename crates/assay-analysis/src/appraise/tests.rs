//! What appraisals conclude, by tables of results.

use std::collections::BTreeSet;

use assay_store::{
    ArmRole, AttemptEnd, PublishedComparison, PublishedRates, ResultArm, ResultAttempt, ResultSource,
    ToolResults,
};

use super::{Appraisal, AppraisalOptions, appraise_results};

/// Results of two arms; each case has its scores with and without the skill.
fn results(cases: &[(impl AsRef<[f64]>, impl AsRef<[f64]>)]) -> ToolResults {
    let arm = |name: &str, role| ResultArm {
        name: name.to_owned(),
        role,
        models: BTreeSet::from(["claude-x".to_owned()]),
    };
    let mut attempts = Vec::new();
    for (number, (with, without)) in cases.iter().enumerate() {
        for (at, scores) in [with.as_ref(), without.as_ref()].into_iter().enumerate() {
            attempts.extend(scores.iter().map(|score| ResultAttempt {
                arm: at,
                case: format!("case-{number}"),
                score: Some(*score),
                cost_usd: Some(0.5),
                ..ResultAttempt::default()
            }));
        }
    }
    ToolResults {
        source: ResultSource {
            format: "test".to_owned(),
            tool: "tool".to_owned(),
            version: None,
            files: Vec::new(),
        },
        arms: vec![arm("with", ArmRole::Treatment), arm("without", ArmRole::Baseline)],
        attempts,
        scores_failures: true,
        ..ToolResults::default()
    }
}

fn appraise(results: &ToolResults) -> Appraisal {
    appraise_results(results, &AppraisalOptions::default()).unwrap()
}

fn codes(appraisal: &Appraisal) -> Vec<&str> {
    appraisal.warnings.iter().map(|warning| warning.code.as_str()).collect()
}

/// Verdict, reason and the ends of the interval in percentage points.
fn opinion(appraisal: &Appraisal) -> String {
    let ours = &appraisal.ours;
    let points = |value: f64| format!("{:.0}", 100.0 * value);
    let interval =
        ours.ci95.map_or_else(|| "-".to_owned(), |[low, high]| format!("{}..{}", points(low), points(high)));
    format!(
        "{} {} {} {interval}",
        ours.verdict.unwrap_or("none"),
        ours.reason.unwrap_or("-"),
        ours.lift.map_or_else(|| "-".to_owned(), points)
    )
}

#[test]
fn verdicts_by_number_of_cases() {
    let check = |cases: &[(&[f64], &[f64])], expected: &str| {
        assert_eq!(opinion(&appraise(&results(cases))), expected, "{cases:?}");
    };
    let up: (&[f64], &[f64]) = (&[1.0, 1.0], &[0.0, 0.0]);
    let same: (&[f64], &[f64]) = (&[1.0, 0.0], &[1.0, 0.0]);
    check(&[up], "inconclusive design 100 -100..100");
    // n = 3, d = 1, 1, 0: s² = 1/3, t(2) = 4.3027: 4.3027·√(1/9) = 1.434, cut at −.767 and 1.
    check(&[up, up, same], "inconclusive design 67 -100..100");
    check(&[up; 8], "helps - 100 82..100");
    check(&[(up.1, up.0); 8], "harms - -100 -100..-82");
    check(&[same; 40], "negligible - 0 -4..4");
    check(&[&[up; 4][..], &[same; 6][..]].concat(), "helps - 40 3..79");
    check(&[&[up; 3][..], &[same; 7][..]].concat(), "inconclusive noise 30 -5..68");
}

#[test]
fn few_cases_have_no_power_and_a_step_with_its_cost() {
    let appraisal = appraise(&results(&[(&[1.0, 1.0][..], &[0.0, 0.0][..]); 3]));
    let ours = &appraisal.ours;
    assert_eq!((ours.tasks, ours.repetitions, ours.power, ours.mde), (3, Some(2), Some(0.0), None));
    assert!(appraisal.missing.contains_key("ours.mde"), "{:?}", appraisal.missing);
    // (2.802)²·(.105 + .063) + 2 = 3.3, and five at least: two more, of four runs each, at 50 cents.
    assert_eq!((appraisal.next.trials, appraisal.next.cost_usd), (Some(8), Some(4.0)));
    assert!(codes(&appraisal).contains(&"few-cases"));
    let ceiling = appraise(&results(&[(&[1.0][..], &[1.0][..]); 6]));
    assert!(ceiling.next.text.starts_with("write harder cases"), "{}", ceiling.next.text);
    assert!(codes(&ceiling).contains(&"single-attempts"));
}

/// An errored run that the tool scored counts in its difference and not in ours.
#[test]
fn errored_and_skipped_runs_are_no_results() {
    let mut planted = results(&[(&[1.0, 1.0][..], &[0.5, 0.5][..]); 6]);
    planted.published.push(PublishedComparison {
        delta: Some(0.5 - 0.25 / 6.0),
        rounding: 0.5e-4,
        ..PublishedComparison::default()
    });
    for (at, end) in [(0, AttemptEnd::Errored("429".to_owned())), (2, AttemptEnd::Errored("429".to_owned()))]
    {
        planted.attempts[at].end = end;
    }
    planted.attempts[0].score = Some(0.25);
    planted.attempts[2].score = Some(0.25);
    let appraisal = appraise(&planted);
    // (.625 − .375 + 5 · .5)/6 by the tool, all .5 without the errored runs.
    assert!((appraisal.theirs.recomputed.unwrap() - (0.25 + 2.5) / 6.0).abs() < 1e-12);
    assert_eq!(appraisal.ours.lift, Some(0.5));
    assert_eq!((appraisal.ours.lost.arm, appraisal.ours.lost.baseline), (1, 1));
    let found = codes(&appraisal);
    assert!(found.contains(&"errors-scored"), "{found:?}");
    assert_eq!(
        found.contains(&"delta-differs"),
        (appraisal.theirs.delta.unwrap() - appraisal.theirs.recomputed.unwrap()).abs() > 0.5e-4
    );
    planted.attempts[0].end = AttemptEnd::Skipped("cost".to_owned());
    planted.attempts[2].end = AttemptEnd::Skipped("cost".to_owned());
    assert!(codes(&appraise(&planted)).contains(&"skips-scored"));
    // Losses in one arm only make the verdict inconclusive: they may be what failed.
    let mut lopsided = results(&[(&[1.0, 1.0][..], &[0.0, 0.0][..]); 8]);
    for case in 0..8 {
        lopsided.attempts[4 * case].end = AttemptEnd::Errored("crash".to_owned());
    }
    let appraisal = appraise(&lopsided);
    assert_eq!((appraisal.ours.verdict, appraisal.ours.reason), (Some("inconclusive"), Some("losses")));
    assert_eq!(appraisal.next.trials, Some(8));
}

#[test]
fn what_is_not_comparable_is_a_warning() {
    let check = |change: &dyn Fn(&mut ToolResults), expected: &str| {
        let mut changed = results(&[(&[1.0, 1.0][..], &[0.0, 0.0][..]); 6]);
        assert!(!codes(&appraise(&changed)).contains(&expected), "{expected} without a reason");
        change(&mut changed);
        let appraisal = appraise(&changed);
        assert!(codes(&appraisal).contains(&expected), "{expected}: {:?}", codes(&appraisal));
    };
    check(&|results| results.arms[0].models = BTreeSet::from(["claude-y".to_owned()]), "model-per-arm");
    check(&|results| results.arms.iter_mut().for_each(|arm| arm.models.clear()), "unknown-model");
    check(&|results| results.arms[0].models.clear(), "unknown-model");
    check(&|results| results.judges.extend(["claude-judge".to_owned()]), "judge-family");
    check(&|results| results.partial = Some("cost".to_owned()), "partial");
    check(&|results| results.absent_cases.push("lost".to_owned()), "missing-cases");
    check(&|results| results.own_tasks = true, "own-tasks");
    check(&|results| results.attempts.truncate(22), "unpaired-cases");
    check(&|results| results.attempts.truncate(23), "unequal-runs");
    check(&|results| results.attempts.truncate(16), "few-cases");
    check(
        &|results| {
            results.published.push(PublishedComparison {
                delta: Some(0.9),
                rounding: 0.005,
                ..PublishedComparison::default()
            });
        },
        "delta-differs",
    );
    check(
        &|results| {
            let check = assay_store::ResultCheck { judged: true, ..assay_store::ResultCheck::default() };
            results.attempts[0].checks.push(check);
        },
        "unknown-judge",
    );
}

#[test]
fn rates_alone_decide_only_what_holds_for_all_scores() {
    let check = |with: f64, without: f64, tasks: usize, attempts: usize, expected: &str| {
        let rates = PublishedRates { with, without, tasks, attempts: Some(attempts) };
        let published = PublishedComparison {
            delta: Some(with - without),
            rounding: 0.005,
            rates: Some(rates),
            ..PublishedComparison::default()
        };
        let report = ToolResults { published: vec![published], ..ToolResults::default() };
        let appraisal = appraise(&report);
        assert_eq!(opinion(&appraisal), expected, "{with} {without} {tasks}");
        assert_eq!(appraisal.ours.ci95, None);
        assert!(appraisal.missing.contains_key("ours.ci95"));
    };
    check(1.0, 0.25, 4, 1, "inconclusive design 75 -");
    check(0.6, 0.5, 8, 1, "inconclusive noise 10 -");
    check(0.88, 0.60, 18, 1, "none rates-only 28 -");
    check(1.0, 0.0, 40, 2, "helps rates-only 100 -");
    check(0.0, 1.0, 40, 2, "harms rates-only -100 -");
    check(0.5, 0.5, 40, 1, "none rates-only 0 -");
}

#[test]
fn never_opened_skills_have_a_bound() {
    let alone = |tasks: usize, runs: usize| {
        let mut results = results(&vec![(&[1.0, 0.0, 1.0][..runs], &[][..]); tasks]);
        results.arms.truncate(1);
        for attempt in &mut results.attempts {
            attempt.opened = Some(false);
        }
        results
    };
    let check = |results: &ToolResults, expected: (Option<&str>, Option<&str>), bound: Option<f64>| {
        let appraisal = appraise(results);
        assert_eq!((appraisal.ours.verdict, appraisal.ours.reason), expected);
        let found = appraisal.exposure.and_then(|exposure| exposure.bound);
        assert_eq!(found.map(|bound| (1000.0 * bound).round()), bound.map(|bound| (1000.0 * bound).round()));
        appraisal
    };
    let negligible = (Some("negligible"), Some("never-opened"));
    check(&alone(29, 1), negligible, Some(0.098));
    // By cases: three runs of each of ten are no thirty.
    let few = check(&alone(10, 3), (None, Some("no-baseline")), Some(0.259));
    assert_eq!((few.next.trials, few.next.cost_usd), (Some(19), Some(9.5)));
    let mut opened = alone(29, 1);
    opened.attempts[3].opened = Some(true);
    check(&opened, (None, Some("no-baseline")), Some(0.153));
    let mut unknown = alone(29, 1);
    unknown.attempts[3].opened = None;
    check(&unknown, (None, Some("no-baseline")), None);
    // One that broke ended before it could open anything.
    let mut broken = alone(29, 1);
    broken.attempts[3].end = AttemptEnd::Errored("429".to_owned());
    check(&broken, (None, Some("no-baseline")), None);
    // A baseline that differs all the same contradicts it.
    let mut contradicted = results(&[(&[1.0, 1.0][..], &[0.0, 0.0][..]); 30]);
    for attempt in contradicted.attempts.iter_mut().filter(|attempt| attempt.arm == 0) {
        attempt.opened = Some(false);
    }
    check(&contradicted, (Some("helps"), None), Some(0.095));
}

#[test]
fn arms_have_to_be_told_apart() {
    let check = |change: &dyn Fn(&mut ToolResults), options: AppraisalOptions, expected: &str| {
        let mut changed = results(&[(&[1.0][..], &[0.0][..]); 6]);
        change(&mut changed);
        let error = appraise_results(&changed, &options)
            .map(|found| opinion(&found))
            .expect_err(expected)
            .to_string();
        assert!(error.contains(expected), "{error}");
    };
    let none = |results: &mut ToolResults| results.arms[1].role = ArmRole::Unnamed;
    check(&none, AppraisalOptions::default(), "several arms and no baseline among them: with; without");
    let named =
        |name: &str| AppraisalOptions { baseline: Some(name.to_owned()), ..AppraisalOptions::default() };
    check(&none, named("nobody"), "no arm is called \"nobody\"; arms: with; without");
    check(
        &|results| results.attempts[0].score = Some(7.0),
        AppraisalOptions::default(),
        "case \"case-0\" has the score 7",
    );
    check(
        &|results| results.attempts.iter_mut().filter(|one| one.arm == 0).for_each(|one| one.case.push('x')),
        AppraisalOptions::default(),
        "no case in common",
    );
    let mut ten = results(&[(&[10.0][..], &[0.0][..]); 6]);
    none(&mut ten);
    let options = AppraisalOptions { range: (0.0, 10.0), ..named("without") };
    assert_eq!(appraise_results(&ten, &options).unwrap().ours.lift, Some(1.0));
}

#[test]
fn checks_are_counted_over_cases_and_arms() {
    let mut checked = results(&[(&[1.0, 1.0][..], &[0.0, 0.0][..]); 2]);
    for (at, attempt) in checked.attempts.iter_mut().enumerate() {
        let check = |name: &str, passed: bool| assay_store::ResultCheck {
            name: name.to_owned(),
            passed,
            reason: Some(format!("reason {at}")),
            judged: name == "tone",
        };
        attempt.checks = vec![check("format", true), check("tone", attempt.arm == 0 && at > 0)];
    }
    checked.attempts[7].end = AttemptEnd::Errored("429".to_owned());
    let found = appraise(&checked).checks;
    let counts: Vec<_> =
        found.iter().map(|check| (check.name.as_str(), check.judged, check.arm, check.baseline)).collect();
    assert_eq!(counts, [("tone", true, [3, 4], [0, 3]), ("format", false, [4, 4], [3, 3])]);
    assert_eq!(found[0].reason.as_deref(), Some("reason 0"));
}

/// A thousand results take far less than the second that is promised, also in a debug build.
#[test]
fn a_thousand_results_are_quick() {
    let many = results(&[(&[1.0, 0.0, 1.0, 1.0, 1.0][..], &[0.0, 0.0, 1.0, 0.0, 1.0][..]); 100]);
    let started = std::time::Instant::now();
    assert_eq!(appraise(&many).ours.tasks, 100);
    assert!(started.elapsed().as_secs_f64() < 5.0, "{:?}", started.elapsed());
}
