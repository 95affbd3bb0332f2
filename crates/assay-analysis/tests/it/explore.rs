//! Exploratory results, computed by hand.

use assay_analysis::explore::{NextTrials, Stratum, StratumKind};
use assay_analysis::{NextStep, Report};
use assay_stats::PairedTask;
use assay_store::{KnownSkills, Outcome, PlannedProvision, PlannedSkill, Record};
use assay_trace::Exposure;
use assay_usage::Usage;
use serde_json::json;

use crate::suite::{Suite, close};

/// Strata as `by value condition tasks`, with their lifts; without those by baseline.
fn strata(report: &Report) -> Vec<(String, f64)> {
    let name = |stratum: &Stratum| {
        let by = serde_json::to_value(stratum.by).unwrap();
        format!("{} {}: {} on {}", by.as_str().unwrap(), stratum.value, stratum.condition, stratum.tasks)
    };
    let by_task = report.exploration.strata.iter().filter(|stratum| stratum.by != StratumKind::Baseline);
    by_task.map(|stratum| (name(stratum), stratum.lift.unwrap())).collect()
}

fn check_strata(report: &Report, expected: &[(&str, f64)]) {
    let found = strata(report);
    let found: Vec<(&str, f64)> = found.iter().map(|(name, lift)| (name.as_str(), *lift)).collect();
    assert_eq!(found, expected);
}

fn provision(task: &str, condition: &str, bodies: &[usize]) -> PlannedProvision {
    let skill = |tokens: &usize| PlannedSkill {
        name: format!("of-{tokens}"),
        digest: format!("blake3:{tokens}"),
        body_tokens: *tokens,
    };
    PlannedProvision {
        task: task.into(),
        condition: condition.into(),
        skills: bodies.iter().map(skill).collect(),
        known: None,
    }
}

#[test]
fn strata_partition_tasks_by_attributes() {
    let suite = Suite::new(
        &["none", "curated", "full"],
        &[("a", &["FF", "PP", "FF"]), ("b", &["FF", "PF", "FF"]), ("c", &["PP", "FF", "PP"])],
    );
    check_strata(&suite.report(), &[]);
    let suite = suite.plan(|run| {
        run.tasks[0].category = Some("ledgers".into());
        run.tasks[1].category = Some("ledgers".into());
        run.tasks[0].difficulty = Some("hard".into());
        run.tasks[1].difficulty = Some("odd".into());
        run.tasks[2].difficulty = Some("easy".into());
        run.provisions = vec![
            provision("a", "none", &[]),
            provision("a", "curated", &[499]),
            provision("a", "full", &[499, 20, 30, 40]),
            provision("b", "curated", &[1000, 600]),
            provision("c", "curated", &[9000]),
        ];
    });
    check_strata(
        &suite.report(),
        &[
            ("domain ledgers: curated on 2", 0.75),
            ("domain not stated: curated on 1", -1.0),
            ("domain ledgers: full on 2", 0.0),
            ("domain not stated: full on 1", 0.0),
            ("difficulty easy: curated on 1", -1.0),
            ("difficulty hard: curated on 1", 1.0),
            ("difficulty odd: curated on 1", 0.5),
            ("difficulty easy: full on 1", 0.0),
            ("difficulty hard: full on 1", 0.0),
            ("difficulty odd: full on 1", 0.0),
            ("skills 1: curated on 2", 0.0),
            ("skills 2 to 3: curated on 1", 0.5),
            ("skills 4 or more: full on 1", 0.0),
            ("length compact: curated on 1", 1.0),
            ("length detailed: curated on 1", 0.5),
            ("length comprehensive: curated on 1", -1.0),
            ("length compact: full on 1", 0.0),
            ("length detailed: full on 1", 0.0),
            ("length comprehensive: full on 1", 0.0),
        ],
    );
}

#[test]
fn strata_of_imports_count_tasks_whose_skills_are_unknown() {
    let suite = Suite::new(
        &["none", "curated"],
        &[("a", &["FF", "PP"]), ("b", &["FF", "PF"]), ("c", &["PP", "FF"]), ("d", &["FF", "FF"])],
    )
    .plan(|run| {
        run.imported = Some("harbor".into());
        let known = |task: &str, number, body_tokens| PlannedProvision {
            known: Some(KnownSkills { number, body_tokens }),
            ..provision(task, "curated", &[])
        };
        run.provisions =
            vec![known("a", Some(2), Some(600)), known("b", Some(1), None), known("c", Some(0), Some(0))];
    });
    check_strata(
        &suite.report(),
        &[
            ("skills none: curated on 1", -1.0),
            ("skills 1: curated on 1", 0.5),
            ("skills 2 to 3: curated on 1", 1.0),
            ("skills not stated: curated on 1", 0.0),
            ("length standard: curated on 1", 1.0),
            ("length not stated: curated on 2", 0.25),
        ],
    );
}

#[test]
fn a_stratum_has_the_interval_of_its_tasks_and_no_verdict() {
    let suite = Suite::uniform(&["none", "curated"], &["FF", "PP"])
        .plan(|run| run.tasks.iter_mut().for_each(|task| task.category = Some("all".into())));
    let report = suite.report();
    assert_eq!(
        (report.exploration.strata[0].tasks, report.exploration.strata[0].ci95),
        (20, report.comparisons[0].ci95)
    );
    let keys = serde_json::to_value(&report.exploration.strata[0]).unwrap();
    assert_eq!(keys.get("verdict"), None);
    // Under 5 tasks there is a lift and no interval.
    let few = Suite::new(&["none", "curated"], &[("a", &["F", "P"])])
        .plan(|run| run.tasks[0].category = Some("all".into()));
    assert_eq!(
        (few.report().exploration.strata[0].lift, few.report().exploration.strata[0].ci95),
        (Some(1.0), None)
    );
}

#[test]
fn a_half_of_the_baseline_decides_the_stratum_of_the_other() {
    // Task a: `P` decides for easy, where `F` is compared with 1, and `F` for hard, where `P` is. Task b
    // is hard twice, and c has too few trials.
    let suite =
        Suite::new(&["none", "curated"], &[("a", &["PF", "PP"]), ("b", &["FF", "PP"]), ("c", &["F", "P"])]);
    let report = suite
        .each(|record| {
            let input = if record.condition == "curated" { 50 } else { 100 };
            record.usage = Some(Usage { input, ..Usage::default() });
        })
        .report();
    let found: Vec<_> = report
        .exploration
        .strata
        .iter()
        .map(|stratum| (stratum.by, stratum.value.as_str(), stratum.tasks, stratum.ci95))
        .collect();
    let by = StratumKind::Baseline;
    assert_eq!(found, [(by, "hard", 2, None), (by, "easy", 1, None)]);
    let [hard, easy] = &report.exploration.strata[..] else { panic!("two strata") };
    close(hard.baseline_score, 1.0 / 3.0);
    close(hard.lift, 2.0 / 3.0);
    close(easy.baseline_score, 0.0);
    close(easy.lift, 1.0);
    close(hard.token_ratio, 0.5);

    // Ten tasks, nine of which are hard: an interval, of at most one unit a task.
    let names: Vec<String> = (0..10).map(|n| format!("t{n}")).collect();
    let rows: Vec<(&str, &[&str])> = names
        .iter()
        .map(|name| (name.as_str(), if name == "t0" { &["PPPP", "PPPP"][..] } else { &["FFFF", "PPFF"] }))
        .collect();
    let report = Suite::new(&["none", "curated"], &rows).report();
    let [hard, easy] = &report.exploration.strata[..] else { panic!("two strata") };
    assert_eq!((hard.tasks, easy.tasks, easy.ci95), (9, 1, None));
    let [low, high] = hard.ci95.unwrap();
    assert!(low < 0.5 && 0.5 < high && high - low < 0.7, "{low} {high}");
}

#[test]
fn pools_are_over_agents_crossed_with_tasks() {
    // One agent is not a pool.
    let one =
        Suite::new(&["none", "curated"], &[("a", &["FF", "PP"]), ("b", &["FF", "FF"]), ("c", &["F", "P"])]);
    assert_eq!(one.report().exploration.pooled, []);
    // On a: 1 and ½; on b: 0 and 1; c the second has not.
    let two = one.agent("openai:two", &[("a", &["FFFF", "PPFF"]), ("b", &["F", "P"])]);
    let report = two.report();
    let pool = &report.exploration.pooled[0];
    assert_eq!((pool.condition.as_str(), pool.agents, pool.tasks), ("curated", 2, 2));
    close(pool.lift, 0.625);
    assert_eq!(pool.ci95, None);
}

#[test]
fn pooled_interval_equals_that_of_all_trials_with_equal_repetitions() {
    let rows: [(&str, &[&str]); 6] = [
        ("a", &["FF", "PP"]),
        ("b", &["FP", "PP"]),
        ("c", &["PF", "PF"]),
        ("d", &["PP", "PF"]),
        ("e", &["FF", "FP"]),
        ("f", &["FF", "PP"]),
    ];
    let other: [(&str, &[&str]); 6] = [
        ("a", &["PF", "PP"]),
        ("b", &["FP", "PF"]),
        ("c", &["FF", "PP"]),
        ("d", &["FP", "PF"]),
        ("e", &["FF", "FF"]),
        ("f", &["PP", "PP"]),
    ];
    let report = Suite::new(&["none", "curated"], &rows).agent("openai:two", &other).report();
    let scores = |one: &str, two: &str| -> Vec<f64> {
        one.chars().chain(two.chars()).map(|letter| f64::from(u8::from(letter == 'P'))).collect()
    };
    let tasks: Vec<PairedTask> = rows
        .iter()
        .zip(&other)
        .map(|((_, one), (_, two))| PairedTask {
            arm: scores(one[1], two[1]),
            base: scores(one[0], two[0]),
            cluster: None,
        })
        .collect();
    let expected = assay_stats::lift(&tasks, 0.95).unwrap();
    let pool = &report.exploration.pooled[0];
    close(pool.lift, expected.mean);
    close(pool.ci95.unwrap()[0], expected.interval.unwrap().low);
    close(pool.ci95.unwrap()[1], expected.interval.unwrap().high);
}

#[test]
fn frontier_contains_only_undominated_arms() {
    let conditions = ["none", "curated", "placebo", "full", "negative"];
    let suite = Suite::new(&conditions, &[("a", &["PF", "PP", "PF", "PP", "PP"])]).each(|record| {
        record.cost_usd = match record.condition.as_str() {
            "none" => Some(0.01),
            "curated" | "full" => Some(0.02),
            "placebo" => Some(0.03),
            // One trial of unknown cost is enough.
            _ => (record.repetition == 1).then_some(0.01),
        };
    });
    let frontier = suite.report().exploration.frontier;
    let points: Vec<(&str, bool)> =
        frontier.points.iter().map(|point| (point.condition.as_str(), point.on_frontier)).collect();
    assert_eq!(points, [("none", true), ("curated", true), ("full", true), ("placebo", false)]);
    close(frontier.points[1].cost_usd, 0.02);
    assert_eq!(frontier.unknown_cost.len(), 1);
    assert_eq!(frontier.unknown_cost[0].condition, "negative");
}

#[test]
fn variance_is_split_into_tasks_and_trials() {
    let report =
        Suite::new(&["none", "curated"], &[("a", &["FF", "PF"]), ("b", &["FF", "PP"]), ("c", &["FF", "FF"])])
            .report();
    let curated = &report.exploration.variance[1];
    // Within: ½, 0, 0. The means ½, 1, 0 vary by ¼, of which the trials make (½/2 + 0 + 0)/3.
    close(curated.within, 1.0 / 6.0);
    close(curated.between, 0.25 - 1.0 / 12.0);
    close(curated.between_share, 0.5);
    // (1/6 + 1/24)/(1/4) of the variance is left.
    close(curated.narrower_by_repetitions, 1.0 - (5.0_f64 / 6.0).sqrt());
    close(curated.narrower_by_tasks, 1.0 - 0.5_f64.sqrt());
    // The baseline has the same result everywhere.
    let none = &report.exploration.variance[0];
    assert_eq!((none.within, none.between, none.between_share), (Some(0.0), Some(0.0), None));
    assert_eq!((none.narrower_by_repetitions, none.narrower_by_tasks), (None, None));
    // The baseline adds nothing to the differences.
    let lift = &report.exploration.repetitions[0];
    close(lift.variance, 0.25);
    close(lift.noise, 1.0 / 12.0);
    close(lift.narrower_by_repetitions, 1.0 - (5.0_f64 / 6.0).sqrt());
    assert_eq!(lift.suffice, Some(true));
}

#[test]
fn repetitions_are_insufficient_if_trials_dominate_variance() {
    let report = Suite::new(&["none", "curated"], &[("a", &["PF", "PF"]), ("b", &["FP", "PF"])]).report();
    let lift = &report.exploration.repetitions[0];
    // Equal differences: there is nothing but trials.
    assert_eq!((lift.variance, lift.suffice), (Some(0.0), Some(false)));
    close(lift.noise, 0.5);
    close(lift.narrower_by_repetitions, 1.0 - 0.5_f64.sqrt());
}

#[test]
fn one_repetition_has_no_within_variance() {
    let report = Suite::uniform(&["none", "curated"], &["F", "P"]).report();
    assert_eq!((report.exploration.variance[1].within, report.exploration.variance[1].between), (None, None));
    assert_eq!(
        (report.exploration.repetitions[0].noise, report.exploration.repetitions[0].suffice),
        (None, None)
    );
    // Where some tasks have more, the others are taken to be like them.
    let some = Suite::new(&["none", "curated"], &[("a", &["PF", "P"]), ("b", &["P", "PF"])]).report();
    close(some.exploration.variance[0].within, 0.5);
    close(some.exploration.repetitions[0].noise, 0.375 + 0.375);
}

#[test]
fn heat_is_ordered_by_lift() {
    let report = Suite::new(
        &["none", "curated"],
        &[("a", &["P", "F"]), ("b", &["F", "P"]), ("c", &["P", "i"]), ("d", &["F", "P"]), ("e", &["P", ""])],
    )
    .report();
    let map = &report.exploration.heat[0];
    assert_eq!((map.conditions.len(), map.sorted_by.as_deref()), (2, Some("curated")));
    let rows: Vec<(&str, Option<f64>)> = map.rows.iter().map(|row| (row.task.as_str(), row.lift)).collect();
    assert_eq!(rows, [("b", Some(1.0)), ("d", Some(1.0)), ("a", Some(-1.0)), ("c", None), ("e", None)]);
    assert_eq!(map.rows[3].pass_rates, [Some(1.0), None]);
}

#[test]
fn five_largest_gains_and_losses_are_listed() {
    let rows: [(&str, &[&str]); 9] = [
        ("a", &["FFFF", "PFFF"]),
        ("b", &["FFFF", "PPPP"]),
        ("c", &["FFFF", "PPPF"]),
        ("d", &["FFFF", "PPPF"]),
        ("e", &["FFFF", "PPFF"]),
        ("f", &["FFFF", "PFFF"]),
        ("g", &["PPPP", "PPPP"]),
        ("h", &["PPPP", "PFFF"]),
        ("i", &["PPPP", "FFFF"]),
    ];
    let report = Suite::new(&["none", "curated"], &rows).report();
    let names = |tasks: &[assay_analysis::explore::TopTask]| -> String {
        tasks.iter().map(|task| task.task.as_str()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(&report.exploration.gains[0].tasks), "b c d e a");
    assert_eq!(names(&report.exploration.losses[0].tasks), "i h");
    let first = &report.exploration.losses[0].tasks[0];
    assert_eq!((first.lift, first.baseline_pass_rate, first.pass_rate), (-1.0, 1.0, 0.0));
}

#[test]
fn unequal_suites_are_compared_on_shared_tasks() {
    let report = Suite::new(
        &["none", "curated", "full"],
        &[("a", &["F", "P", "P"]), ("b", &["F", "P", ""]), ("c", &["F", "", "P"])],
    )
    .report();
    let tasks: Vec<usize> = report.exploration.variance.iter().map(|arm| arm.tasks).collect();
    assert_eq!(tasks, [1, 1, 1]);
    assert_eq!(report.exploration.gains.iter().map(|top| top.tasks.len()).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn completely_lost_arm_has_no_findings() {
    let report = Suite::new(&["none", "curated"], &[("a", &["PP", "ii"]), ("b", &["FF", "ii"])]).report();
    // The arm that was lost has no figures; the other one keeps its own.
    assert_eq!((report.exploration.variance[0].tasks, report.exploration.variance[0].within), (2, Some(0.0)));
    assert_eq!((report.exploration.variance[1].tasks, report.exploration.variance[1].within), (0, None));
    // And nothing is compared with an arm without results.
    assert_eq!(
        (
            report.exploration.repetitions.len(),
            report.exploration.gains.len(),
            report.exploration.losses.len()
        ),
        (0, 0, 0)
    );
    assert_eq!((report.exploration.strata.len(), report.comparisons.len()), (0, 0));
}

#[test]
fn remaining_failures_are_listed_by_check_with_their_trials() {
    // Task a: `FP` of `curated` fails in its first trial, with one of two checks. Task b fails twice
    // without a report of checks.
    let suite = Suite::new(&["none", "curated"], &[("a", &["FF", "FP"]), ("b", &["FF", "FF"])]);
    let report = suite
        .each(|record| {
            let status = if record.outcome == Outcome::Passed { "passed" } else { "failed" };
            if record.task == "a" {
                let tests =
                    json!([{ "name": "rows", "status": "passed" }, { "name": "total", "status": status }]);
                record.ctrf = Some(json!({ "tests": tests }));
            }
        })
        .report();
    let found: Vec<_> = report
        .exploration
        .residual_failures
        .iter()
        .map(|row| (row.condition.as_str(), row.task.as_str(), row.test.as_deref(), row.failed, row.trials))
        .collect();
    assert_eq!(found, [("curated", "b", None, 2, 2), ("curated", "a", Some("total"), 1, 2)]);
    let [b, a] = &report.exploration.residual_failures[..] else { panic!("two rows") };
    assert_eq!((b.failed_trials.len(), a.failed_trials.len()), (2, 1));
}

fn exposure(opened: Option<usize>) -> Exposure {
    let exposure = json!({ "skill": "s", "offered": true, "advertised": 1, "mentioned": opened, "opened": opened,
        "executed": null, "body_lines": 9, "body_lines_delivered": 9 });
    serde_json::from_value(exposure).unwrap()
}

#[test]
fn next_steps_follow_from_the_findings_at_most_three() {
    let check = |suite: Suite, expected: &[&str]| {
        let report = suite.report();
        let name = |step: &NextStep| format!("{step:?}").split_once(' ').unwrap().0.to_owned();
        assert_eq!(
            report.next_steps.iter().map(name).collect::<Vec<_>>(),
            expected,
            "{:#?}",
            report.next_steps
        );
    };
    let opened = |record: &mut Record| {
        if record.condition == "curated" {
            record.exposure = Some(vec![exposure(Some(1))]);
        }
    };
    let unread = |record: &mut Record| {
        if record.condition == "curated" {
            record.exposure = Some(vec![exposure(None)]);
        }
    };
    let conditions = ["none", "curated"];
    // It helps on all tasks, and nothing says whether its content does.
    check(Suite::uniform(&conditions, &["FF", "PP"]).each(opened), &["NoPlacebo"]);
    let with_placebo = Suite::uniform(&["none", "curated", "placebo"], &["FF", "PP", "FF"]);
    check(with_placebo.plan(|run| run.primary = Some("curated".to_owned())).each(opened), &[]);
    let explained = Suite::uniform(&["none", "curated", "placebo"], &["FF", "PP", "PP"]);
    check(explained.plan(|run| run.primary = Some("curated".to_owned())).each(opened), &["PlaceboHelps"]);
    check(Suite::uniform(&conditions, &["FF", "PP"]).each(unread), &["NotOpened", "NoPlacebo"]);
    check(Suite::uniform(&conditions, &["PP", "FF"]).each(opened), &["Harms", "StillFails"]);
    check(Suite::uniform(&conditions, &["PF", "PF"]).each(opened), &["Inconclusive", "StillFails"]);
    // More rules hold than fit: those that a verdict needs come first.
    let lost = Suite::new(&conditions, &[("a", &["FF", "Fi"]), ("b", &["FF", "Fi"])]);
    check(lost.each(unread), &["Finish", "Inconclusive", "NotOpened"]);
    // While trials are missing there is no verdict to act on.
    let part = Suite::new(&conditions, &[("a", &["FF", "Fi"]), ("b", &["FF", "F."])]);
    check(part.each(unread), &["Finish"]);
}

/// A list that is cut would otherwise show those of the control alone.
#[test]
fn failures_of_the_primary_condition_are_listed_first_and_those_of_controls_last() {
    let conditions = ["none", "placebo", "told", "curated"];
    let rows: &[(&str, &[&str])] = &[("a", &["FF", "FF", "FP", "FP"]), ("b", &["FF", "FF", "PP", "FF"])];
    let report = Suite::new(&conditions, rows).plan(|run| run.primary = Some("curated".into())).report();
    let found: Vec<(&str, &str)> = report
        .exploration
        .residual_failures
        .iter()
        .map(|row| (row.condition.as_str(), row.task.as_str()))
        .collect();
    let expected = [("curated", "b"), ("curated", "a"), ("told", "a"), ("placebo", "a"), ("placebo", "b")];
    assert_eq!(found, expected);
}

#[test]
fn failures_are_folded_to_a_row_for_each_task() {
    let conditions = ["none", "placebo", "told", "curated"];
    let rows: &[(&str, &[&str])] = &[
        ("a", &["FF", "FF", "FP", "FP"]),
        ("b", &["FF", "FF", "PP", "FF"]),
        ("c", &["FF", "FF", "PP", "PP"]),
        ("d", &["FF", "PP", "PP", "PP"]),
    ];
    // Every failed trial of b fails two checks, and the first one a third.
    let report = Suite::new(&conditions, rows)
        .plan(|run| run.primary = Some("curated".into()))
        .each(|record| {
            let names: &[&str] = match (record.task.as_str(), record.repetition) {
                ("b", 1) => &["sum", "mean", "count"],
                ("b", _) => &["sum", "mean"],
                _ => &[],
            };
            let test = |name: &&str| json!({ "name": name, "status": "failed" });
            if record.outcome == Outcome::Failed && !names.is_empty() {
                record.ctrf = Some(json!({ "tests": names.iter().map(test).collect::<Vec<_>>() }));
            }
        })
        .report();
    let tasks = &report.exploration.failing_tasks;
    let found: Vec<_> = tasks
        .iter()
        .map(|task| {
            let conditions = task.conditions.iter();
            let each =
                conditions.map(|found| (found.condition.as_str(), found.failed, found.trials, found.control));
            (task.task.as_str(), task.is_of_controls(), each.collect::<Vec<_>>())
        })
        .collect();
    assert_eq!(
        found,
        [
            ("b", false, vec![("curated", 2, 2, false), ("placebo", 2, 2, true)]),
            ("a", false, vec![("curated", 1, 2, false), ("told", 1, 2, false), ("placebo", 2, 2, true)]),
            ("c", true, vec![("placebo", 2, 2, true)]),
        ]
    );
    assert_eq!(tasks[0].conditions[0].checks, ["mean", "sum", "count"]);
    assert_eq!(tasks[0].conditions[0].failed_trials.len(), 2);
    assert!(tasks[1].conditions[0].checks.is_empty());
}

/// Tasks with more trials are shrunk less: `a` gained as much as `b`, in six trials instead of two, and comes first.
#[test]
fn lists_by_gain_are_in_the_order_of_shrunk_lifts() {
    let rows: [(&str, &[&str]); 6] = [
        ("b", &["FF", "PP"]),
        ("a", &["FFFFFF", "PPPPPP"]),
        ("c", &["PF", "FP"]),
        ("d", &["PF", "PF"]),
        ("e", &["FP", "PF"]),
        ("f", &["PPF", "FFF"]),
    ];
    let report = Suite::new(&["none", "curated"], &rows).report();
    let gains: Vec<(&str, f64)> = report.exploration.gains[0]
        .tasks
        .iter()
        .map(|task| (task.task.as_str(), task.shrunk_lift.unwrap()))
        .collect();
    let [("a", first), ("b", second)] = gains[..] else { panic!("{gains:?}") };
    assert!(first < 1.0 && second < first, "{gains:?}");
    let heat = &report.exploration.heat[0].rows;
    let order: Vec<&str> = heat.iter().map(|row| row.task.as_str()).collect();
    assert_eq!((order[0], order[1], order[5]), ("a", "b", "f"));
    assert_eq!(heat[0].shrunk_lift, Some(first));
    // What is chance is unknown with one trial each: nothing is shrunk.
    let single = Suite::new(&["none", "curated"], &[("a", &["F", "P"]), ("b", &["P", "F"])]).report();
    assert_eq!(single.exploration.gains[0].tasks[0].shrunk_lift, None);
    let next = &report.exploration.repetitions[0];
    assert_eq!(next.suffice.map(|suffice| suffice == (next.next == Some(NextTrials::Tasks))), Some(true));
}
