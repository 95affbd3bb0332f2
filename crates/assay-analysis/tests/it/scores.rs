//! Rewards between 0 and 1, and beyond.

use assay_analysis::VerdictKind;
use assay_stats::PairedTask;

use crate::suite::{Suite, close};

#[test]
fn rewards_are_scores_in_all_figures() {
    // Nothing passes in either arm, and the skill more than doubles the score.
    let report = Suite::uniform(&["none", "curated"], &["3333", "6789"]).report();
    assert!(report.fractional_scores);
    let [none, curated] = &report.arms[..] else { panic!("two arms") };
    close(none.score, 0.3);
    close(curated.score, 0.75);
    assert_eq!((none.pass_rate, curated.pass_rate), (Some(0.0), Some(0.0)));
    assert!(curated.score_ci95.is_some_and(|[low, high]| low < 0.75 && 0.75 < high));
    close(curated.bounds.map(|[low, _]| low), 0.75);
    let compared = &report.comparisons[0];
    assert_eq!((compared.verdict, compared.better_equal_worse), (Some(VerdictKind::Helps), [20, 0, 0]));
    close(compared.lift, 0.45);
    close(compared.pass_rate_lift, 0.0);
    close(compared.normalized_change, 0.45 / 0.7);
    let arm = &report.tasks[0].arms[1];
    assert_eq!((arm.trials, arm.passed, arm.pass_rate), (4, 0, Some(0.0)));
    close(arm.score, 0.75);
    close(arm.lift, 0.45);
    let row = &report.exploration.heat[0].rows[0];
    assert_eq!(row.pass_rates, [Some(0.0), Some(0.0)]);
    close(row.scores[1], 0.75);
    close(row.lift, 0.45);
    let gain = &report.exploration.gains[0].tasks[0];
    close(gain.score, 0.75);
    close(gain.baseline_score, 0.3);
    close(gain.lift, 0.45);
    // Of tenths 6 to 9 around .75: 5/300.
    close(report.exploration.variance[1].within, 5.0 / 300.0);
}

#[test]
fn a_frontier_is_of_scores() {
    let report = Suite::uniform(&["none", "curated"], &["2222", "8888"])
        .each(|record| record.cost_usd = Some(if record.condition == "none" { 1.0 } else { 2.0 }))
        .report();
    let points: Vec<(bool, f64)> =
        report.exploration.frontier.points.iter().map(|point| (point.on_frontier, point.pass_rate)).collect();
    assert_eq!(points, [(true, 0.0), (true, 0.0)]);
    close(report.exploration.frontier.points[1].score, 0.8);
}

#[test]
fn score_verdict_matches_the_statistics() {
    let rows: &[(&str, &[&str])] = &[
        ("a", &["25", "78"]),
        ("b", &["00", "P5"]),
        ("c", &["91", "99"]),
        ("d", &["44", "46"]),
        ("e", &["F3", "PP"]),
    ];
    let compared = Suite::new(&["none", "curated"], rows).compared();
    let score = |letter: char| match letter {
        'P' => 1.0,
        'F' => 0.0,
        tenths => f64::from(tenths.to_digit(10).unwrap()) / 10.0,
    };
    let tasks: Vec<PairedTask> = rows
        .iter()
        .map(|(_, words)| PairedTask {
            arm: words[1].chars().map(score).collect(),
            base: words[0].chars().map(score).collect(),
            cluster: None,
        })
        .collect();
    let interval = assay_stats::verdict(&tasks, 1, 0.1, None).interval.unwrap();
    assert_eq!(compared.family.map(|family| (family.low, family.high)), Some((interval.low, interval.high)));
}
