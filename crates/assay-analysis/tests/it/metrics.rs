//! Metrics of a run, compared between its conditions.

use assay_analysis::{GuardWord, MetricComparison, MetricWord};
use assay_store::MetricSpec;

use crate::suite::{Suite, close};

/// Six tasks with two trials each; `cost` of a condition, task and repetition.
fn metric(metric: &str, cost: fn(&str, f64, f64) -> Option<f64>) -> Vec<MetricComparison> {
    let names: Vec<String> = (0..6).map(|n| format!("t{n}")).collect();
    let words: &[&str] = &["PP", "PP", "PP"];
    let rows: Vec<(&str, &[&str])> = names.iter().map(|name| (name.as_str(), words)).collect();
    let metric: MetricSpec = metric.parse().unwrap();
    Suite::new(&["none", "curated", "placebo"], &rows)
        .plan(|run| run.metrics.push(metric))
        .each(|record| {
            let task: f64 = record.task[1..].parse().unwrap();
            record.cost_usd = cost(&record.condition, task, f64::from(record.repetition));
            let lines = record.cost_usd.map(|cost| ("lines".to_owned(), cost));
            record.numbers.extend(lines);
        })
        .report()
        .metrics
}

#[test]
fn a_ratio_is_that_of_geometric_means_and_its_verdict_follows_the_adjusted_interval() {
    // Twice as expensive on every task, whatever the task costs.
    let found = metric("cost_usd,guard=1.5", |condition, task, repetition| {
        Some((task + 1.0) * repetition * if condition == "curated" { 2.0 } else { 1.0 })
    });
    let [curated, placebo] = &found[..] else { panic!("{found:?}") };
    close(curated.effect, 2.0);
    assert_eq!(
        (curated.verdict, curated.guard_verdict),
        (Some(MetricWord::Worsens), Some(GuardWord::Violated))
    );
    close(placebo.effect, 1.0);
    assert_eq!(
        (placebo.verdict, placebo.guard_verdict),
        (Some(MetricWord::Inconclusive), Some(GuardWord::Held))
    );
    close(curated.family.map(|family| family.level), 0.975);
    // Trials cost 1, 2, 2, 4, 3, 6, 4, 8, 5, 10, 6, 12 under the baseline; tasks 1.5, 3, 4.5, 6, 7.5, 9.
    close(curated.median[0], 4.5);
    close(curated.median_of_task_medians[0], 5.25);
    assert_eq!((curated.tasks, curated.trials, curated.missing), (6, [12, 12], [0, 0]));
}

#[test]
fn missing_values_and_values_without_a_logarithm_are_counted() {
    let found = metric("cost_usd", |condition, task, repetition| match (condition, task) {
        ("curated", 0.0) => None,
        ("curated", 1.0) => Some(repetition - 1.0),
        _ => Some(1.0),
    });
    let curated = &found[0];
    assert_eq!((curated.tasks, curated.trials), (5, [12, 10]));
    assert_eq!((curated.missing, curated.not_positive), ([0, 2], [0, 1]));
}

#[test]
fn a_difference_within_the_margin_is_negligible_and_a_direction_turns_the_verdict() {
    let cost: fn(&str, f64, f64) -> Option<f64> =
        |condition, _, _| Some(if condition == "curated" { 12.0 } else { 10.0 });
    let check = |text: &str, expected: Option<MetricWord>| {
        assert_eq!(metric(text, cost)[0].verdict, expected, "{text}");
        close(metric(text, cost)[0].effect, 2.0);
    };
    check("lines,lower", Some(MetricWord::Worsens));
    check("lines,higher", Some(MetricWord::Improves));
    check("lines,lower,margin=3", Some(MetricWord::Negligible));
    check("lines,lower,margin=1", Some(MetricWord::Worsens));
    assert!(metric("other,lower", cost)[0].effect.is_none());
}

#[test]
fn a_key_that_is_part_of_the_score_can_be_a_metric() {
    let names: Vec<String> = (0..6).map(|n| format!("t{n}")).collect();
    let rows: Vec<(&str, &[&str])> = names.iter().map(|name| (name.as_str(), &["PP", "PP"][..])).collect();
    let report = Suite::new(&["none", "curated"], &rows)
        .plan(|run| run.metrics.push("reward:speed,higher".parse().unwrap()))
        .each(|record| {
            let speed = if record.condition == "curated" { 3.0 } else { 1.0 };
            record.rewards = [("right".to_owned(), 1.0), ("speed".to_owned(), speed)].into();
            // A number of the same name comes first.
            if record.task == "t0" {
                record.numbers.insert("speed".to_owned(), 7.0);
            }
        })
        .report();
    let [speed] = &report.metrics[..] else { panic!("{:?}", report.metrics) };
    assert_eq!((speed.tasks, speed.missing), (6, [0, 0]));
    // Five tasks differ by 2, and one by 0.
    close(speed.effect, 10.0 / 6.0);
}

/// Of three trials 3, 2, 3, 1, 3, 2 pass with the skill and 1, 2, 0, 1, 3, 0 without; pass^2 is C(c, 2)/3.
#[test]
fn reliability_is_compared_by_task() {
    let rows: [(&str, &[&str]); 7] = [
        ("a", &["PFF", "PPP"]),
        ("b", &["PPF", "PPF"]),
        ("c", &["FFF", "PPP"]),
        ("d", &["PFF", "FFP"]),
        ("e", &["PPP", "PPP"]),
        ("f", &["FFF", "PPF"]),
        // Too few trials are left.
        ("g", &["PPP", "Pii"]),
    ];
    let report = Suite::new(&["none", "curated"], &rows)
        .plan(|run| run.metrics.extend(["pass^2", "pass@2"].map(|metric| metric.parse().unwrap())))
        .report();
    let [all, any] = &report.metrics[..] else { panic!("{:?}", report.metrics) };
    close(all.mean[0], 4.0 / 18.0);
    close(all.mean[1], 11.0 / 18.0);
    close(all.effect, 7.0 / 18.0);
    assert_eq!((all.tasks, all.trials, all.missing, all.median), (6, [21, 18], [0, 1], [None, None]));
    // At least one of two fails in C(3 − c, 2)/3 of the pairs not at all: 1/3 with one pass, 0 with two.
    close(any.mean[0], (2.0 / 3.0 + 1.0 + 0.0 + 2.0 / 3.0 + 1.0 + 0.0) / 6.0);
    close(any.mean[1], (5.0 + 2.0 / 3.0) / 6.0);
    close(all.family.map(|family| family.level), 0.975);
    let json = serde_json::to_value(all).unwrap();
    assert_eq!((&json["name"], &json["source"]), (&"pass^2".into(), &serde_json::json!({ "pass^k": 2 })));
}
