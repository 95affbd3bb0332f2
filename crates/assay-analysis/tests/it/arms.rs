use assay_analysis::{Arm, Note};
use assay_store::{Cause, Outcome};
use assay_trace::{Execution, Exposure};
use assay_usage::Usage;

use crate::suite::{Suite, close};

fn arm(suite: &Suite, condition: &str) -> Arm {
    suite.report().arms.into_iter().find(|arm| arm.condition == condition).unwrap()
}

fn mixed() -> Suite {
    Suite::new(
        &["none", "curated"],
        &[("a", &["PPF", "PPP"]), ("b", &["FFi", "PXT"]), ("c", &["iii", "PPP"]), ("d", &["P", ""])],
    )
}

#[test]
fn tasks_have_equal_weight_and_need_a_result_in_every_arm() {
    let (none, curated) = (arm(&mixed(), "none"), arm(&mixed(), "curated"));
    // a: 2 of 3; b: 0 of 2, the third was lost. c has no result here, d was not planned there.
    close(none.pass_rate, f64::midpoint(2.0 / 3.0, 0.0));
    assert_eq!((none.tasks, none.trials, none.planned, none.unfinished), (2, 5, 10, 0));
    // a: 3 of 3; b: 1 of 3, because tampering and running out of time do not pass.
    close(curated.pass_rate, f64::midpoint(1.0, 1.0 / 3.0));
    assert_eq!((curated.tasks, curated.trials, curated.tampered, curated.timed_out), (2, 6, 1, 1));
}

#[test]
fn bounds_fill_in_lost_trials_of_shared_tasks() {
    let suite = mixed();
    let [low, high] = arm(&suite, "none").bounds.unwrap();
    close(low, (2.0 / 3.0 + 0.0 + 0.0) / 3.0);
    close(high, (2.0 / 3.0 + 1.0 / 3.0 + 1.0) / 3.0);
    // Nothing was lost in this arm.
    let [low, high] = arm(&suite, "curated").bounds.unwrap();
    close(low, 7.0 / 9.0);
    close(high, 7.0 / 9.0);
}

#[test]
fn a_trial_that_was_not_executed_is_not_lost() {
    let none = arm(&Suite::new(&["none"], &[("a", &["P..?"])]), "none");
    assert_eq!((none.trials, none.planned, none.unfinished, none.infrastructure), (1, 4, 3, 0));
    close(none.pass_rate, 1.0);
    let [low, high] = none.bounds.unwrap();
    close(low, 1.0);
    close(high, 1.0);
}

#[test]
fn losses_are_listed_by_cause_on_all_tasks() {
    let suite = mixed().each(|record| {
        if record.task == "c" && record.outcome == Outcome::Infrastructure && record.repetition > 1 {
            record.cause = Some(Cause::Verifier);
        }
    });
    let none = arm(&suite, "none");
    let causes: Vec<(&str, usize)> =
        none.infrastructure_causes.iter().map(|(cause, n)| (cause.as_str(), *n)).collect();
    assert_eq!((none.infrastructure, causes), (4, vec![("model_provider", 2), ("verifier", 2)]));
}

#[test]
fn exposure_is_in_shares_of_valid_trials() {
    let fact = |repetition: u32, from: u32| (repetition >= from).then_some(2);
    let suite = Suite::new(&["curated"], &[("a", &["PPPPi"])]).each(|record| {
        let n = record.repetition;
        let execution = Execution { step: 3, file: "x.py".into(), evidence: "command-text".into() };
        let shown = Exposure {
            skill: "one".into(),
            offered: true,
            advertised: fact(n, 1),
            mentioned: fact(n, 2),
            opened: fact(n, 3),
            executed: (n >= 4).then_some(execution),
            body_lines: 9,
            body_lines_delivered: 9,
        };
        // A second skill that nothing happened to takes nothing away.
        let idle = Exposure {
            skill: "two".into(),
            advertised: None,
            mentioned: None,
            opened: None,
            executed: None,
            ..shown.clone()
        };
        record.exposure = Some(vec![idle, shown]);
    });
    let shares = arm(&suite, "curated").exposure.unwrap();
    assert_eq!(
        (shares.offered, shares.advertised, shares.mentioned, shares.opened, shares.executed),
        (1.0, 1.0, 0.75, 0.5, 0.25)
    );
    // Without skills all of them are 0.
    let none = || Suite::new(&["none"], &[("a", &["PP"])]);
    let shares = arm(&none(), "none").exposure.unwrap();
    assert_eq!((shares.offered, shares.opened), (0.0, 0.0));
    // Without a valid trial, or with one whose exposure is unknown, all of them are unknown.
    assert_eq!(arm(&Suite::new(&["none"], &[("a", &["i"])]), "none").exposure, None);
    let one_unknown = none().each(|record| {
        record.exposure = record.exposure.take().filter(|_| record.repetition > 1);
        record.turns = record.turns.filter(|_| record.repetition > 1);
    });
    let found = arm(&one_unknown, "none");
    assert_eq!((found.exposure, found.turns), (None, None));
}

#[test]
fn unknown_figures_are_null_not_zero() {
    let suite = |unknown: u32| {
        Suite::new(&["none"], &[("a", &["PFPi"])]).each(move |record| {
            let n = u64::from(record.repetition);
            record.usage = (record.repetition != unknown).then_some(Usage {
                input: 100 * n,
                output: 10 * n,
                cache_read: n,
                cache_write: 0,
                ..Usage::default()
            });
            record.cost_usd = record.usage.map(|_| 0.5 * n as f64);
        })
    };
    let known = arm(&suite(0), "none");
    close(known.cost_usd, 1.0);
    close(known.tokens, 222.0);
    close(known.token_counts.map(|mean| mean.input), 200.0);
    close(known.seconds, 3.0);
    close(known.turns, 2.0);
    // The lost trial's cost is not needed.
    close(arm(&suite(4), "none").cost_usd, 1.0);
    // One unknown cost makes the mean unknown; tokens are a mean over the trials that counted them.
    let partly = arm(&suite(1), "none");
    assert_eq!(partly.cost_usd, None);
    close(partly.tokens, 277.5);
    let report = Suite::new(&["none"], &[("a", &["P"])]).report();
    let json = serde_json::to_value(&report).unwrap();
    for field in ["cost_usd", "tokens", "token_counts"] {
        assert!(json["arms"][0][field].is_null(), "{field}");
    }
}

#[test]
fn contamination_counts_valid_trials_only() {
    let suite = Suite::new(&["none"], &[("a", &["PFi"])])
        .each(|record| record.contaminated = vec!["skill in /data/x.md".into()]);
    assert_eq!(arm(&suite, "none").contaminated, 2);
}

#[test]
fn losses_by_the_environment_are_noted_from_five_points_of_difference() {
    let check = |none: &str, curated: &str, expected: &[(&str, usize, usize)]| {
        let suite = Suite::new(&["none", "curated"], &[("a", &[none, curated])]).each(|record| {
            if record.outcome == Outcome::Infrastructure {
                record.cause = Some(Cause::Environment);
            }
        });
        let report = suite.report();
        let found: Vec<(&str, usize, usize)> = report
            .notes
            .iter()
            .filter_map(|note| match note {
                Note::EnvironmentDependent { arm, trials, executed } => {
                    Some((arm.condition.as_str(), *trials, *executed))
                }
                _ => None,
            })
            .collect();
        assert_eq!(found, expected, "{none} {curated}");
    };
    check("PPPP", "PPPP", &[]);
    // As many in both conditions favour neither.
    check("PiPP", "PPiP", &[]);
    check("PPPP", "PPPi", &[("none", 0, 4), ("curated", 1, 4)]);
    // 1 of 24 is 4 points, and 1 of 20 is 5.
    check(&"P".repeat(24), &format!("{}i", "P".repeat(23)), &[]);
    check(&"P".repeat(20), &format!("{}i", "P".repeat(19)), &[("none", 0, 20), ("curated", 1, 20)]);
}

#[test]
fn the_interval_is_the_one_of_the_shared_tasks() {
    let suite = mixed();
    let expected = assay_stats::rate(&[vec![1.0, 1.0, 0.0], vec![0.0, 0.0]], 0.95).unwrap();
    let interval = expected.interval.unwrap();
    assert_eq!(arm(&suite, "none").ci95, Some([interval.low, interval.high]));
}

#[test]
fn task_rows_include_every_task_with_direction() {
    let report = mixed().report();
    let row = |task: &str| {
        let row = report.tasks.iter().find(|row| row.task == task).unwrap();
        row.arms.iter().map(|arm| (arm.passed, arm.trials, arm.infrastructure)).collect::<Vec<_>>()
    };
    assert_eq!(row("a"), [(2, 3, 0), (3, 3, 0)]);
    assert_eq!(row("b"), [(0, 2, 1), (1, 3, 0)]);
    assert_eq!(row("c"), [(0, 0, 3), (3, 3, 0)]);
    assert_eq!(row("d"), [(1, 1, 0)]);
    let lifts = |task: &str| {
        let row = report.tasks.iter().find(|row| row.task == task).unwrap();
        row.arms.iter().map(|arm| arm.lift).collect::<Vec<_>>()
    };
    assert_eq!(lifts("a")[0], None);
    close(lifts("a")[1], 1.0 / 3.0);
    assert_eq!(lifts("c"), [None, None]);
}

/// A run that has only begun is shown as far as it goes.
#[test]
fn arm_is_shown_without_baseline_results() {
    let begun = Suite::new(&["none", "curated"], &[("a", &["..", "PF"]), ("b", &["..", "PP"])]);
    let curated = arm(&begun, "curated");
    close(curated.pass_rate, 0.75);
    assert_eq!((curated.tasks, curated.trials), (2, 4));
    assert_eq!(arm(&begun, "none").pass_rate, None);
    assert!(begun.report().comparisons.is_empty());
}

#[test]
fn partial_report_contains_only_its_part() {
    use assay_store::Selection;
    let suite = Suite::new(
        &["none", "curated", "placebo"],
        &[("a", &["FF", "PP", ".."]), ("b", &["..", "..", ".."]), ("c", &["..", "..", ".."])],
    )
    .plan(|run| {
        run.excluded = ["a", "b"]
            .map(|task| assay_store::Exclusion { task: task.into(), condition: None, reason: "x".into() })
            .to_vec();
    });
    let only = |tasks: &[&str], conditions: &[&str]| Selection {
        tasks: tasks.iter().map(|&task| task.to_owned()).collect(),
        conditions: conditions.iter().map(|&condition| condition.to_owned()).collect(),
        ..Selection::default()
    };
    let part = suite.selected(&only(&["a"], &["none", "curated"]));
    let arms: Vec<_> = part
        .arms
        .iter()
        .map(|arm| (arm.condition.as_str(), arm.planned, arm.trials, arm.unfinished))
        .collect();
    assert_eq!(arms, [("none", 2, 2, 0), ("curated", 2, 2, 0)]);
    assert_eq!(part.tasks.iter().map(|row| row.task.as_str()).collect::<Vec<_>>(), ["a"]);
    assert_eq!(part.excluded.len(), 1);
    assert!(part.notes.is_empty(), "{:?}", part.notes);
    let [compared] = &part.comparisons[..] else { panic!("{:?}", part.comparisons) };
    assert_eq!((compared.tasks, compared.verdict, compared.tasks_needed), (1, None, None));
    // Without its baseline an arm is shown and not compared.
    let alone = suite.selected(&only(&[], &["cur*"]));
    assert_eq!((alone.arms.len(), alone.comparisons.len()), (1, 0));
    close(alone.arms[0].pass_rate, 1.0);
}

/// Imported trials may have no times.
#[test]
fn an_unknown_time_is_not_zero() {
    let suite = |agent: Option<f64>| {
        Suite::new(&["none"], &[("a", &["PP"])])
            .each(move |record| record.seconds.agent = if record.repetition == 1 { agent } else { Some(3.0) })
    };
    close(arm(&suite(Some(5.0)), "none").seconds, 4.0);
    assert_eq!(arm(&suite(None), "none").seconds, None);
}
