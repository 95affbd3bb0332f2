//! The section on metrics.

use assay_analysis::{INTERIM, MetricComparison, MetricDirection, MetricScale, MetricWord, Report};

use crate::doc::{Block, Cell, Level, Section};
use crate::labels::Labels;
use crate::text::clean;

/// Metrics of each condition against the baseline.
pub(super) fn build_section(report: &Report, labels: &Labels) -> Section {
    let mut blocks = Vec::new();
    if !report.metrics.is_empty() {
        let mut grid = labels.grid(
            "Metrics compared with the baseline (medians over trials, then the mean change over tasks)",
            &["metric", "better", "verdict", "guard"],
            &["tasks", "baseline", "condition", "change", "adjusted CI", "95% CI", "task medians"],
        );
        grid.detail_columns(&["95% CI", "task medians"]);
        let guarded = report.metrics.iter().any(|metric| metric.metric.guard.is_some());
        grid.rows.extend(report.metrics.iter().map(|metric| row(metric, labels)));
        if !guarded {
            grid.remove_column("guard");
        }
        blocks.push(Block::Grid(grid));
        // All metrics have the level of one family; those with too few tasks have no interval.
        let level = report.metrics.iter().find_map(|metric| Some(metric.family?.level));
        let level = level.map(|level| format!("{:.1}%: ", 100.0 * level)).unwrap_or_default();
        let mut text = "A change is a difference, or a ratio where it begins with ×.".to_owned();
        if report.metrics.iter().any(|metric| metric.metric.source.trials_needed().is_some()) {
            text.push_str(
                " pass^k is the probability that k of k trials of a task pass, pass@k that at least one does; under baseline and \
                 condition are their means over tasks.",
            );
        }
        if !report.interim {
            text.push_str(&format!(
                " `improves` and `worsens` follow from the adjusted CI ({level}all metrics are Bonferroni-adjusted together, \
                 separately from the verdicts on the score)."
            ));
        }
        blocks.push(Block::Text(text));
        blocks.extend(report.metrics.iter().filter_map(|metric| left_out(metric, labels)).map(Block::Text));
    }
    Section { title: "Metrics", level: Level::Summary, blocks }
}

fn row(metric: &MetricComparison, labels: &Labels) -> Vec<Cell> {
    let or_none = |text: Option<String>| Cell::from(text.unwrap_or_else(|| "–".to_owned()));
    let spec = &metric.metric;
    let name = match &spec.unit {
        Some(unit) if *unit != spec.name => format!("{} ({unit})", spec.name),
        _ => spec.name.clone(),
    };
    let better = match spec.direction {
        MetricDirection::Lower => "lower",
        MetricDirection::Higher => "higher",
    };
    let between =
        |[low, high]: [f64; 2]| format!("{} to {}", change(low, spec.scale), change(high, spec.scale));
    let medians = metric.median_of_task_medians;
    let task_medians = medians[0].zip(medians[1]);
    let mut row = labels.cells(&metric.who, &metric.condition);
    row.extend([
        Cell::Name(clean(&name)),
        better.into(),
        metric.verdict.map_or(INTERIM, MetricWord::word).into(),
        guard_word(metric).into(),
        metric.tasks.into(),
        or_none(metric.mean[0].or(metric.median[0]).map(number)),
        or_none(metric.mean[1].or(metric.median[1]).map(number)),
        or_none(metric.effect.map(|effect| change(effect, spec.scale))),
        or_none(metric.family.map(|family| between([family.low, family.high]))),
        or_none(metric.ci95.map(between)),
        or_none(task_medians.map(|(base, arm)| format!("{} → {}", number(base), number(arm)))),
    ]);
    row
}

/// The state of the guard, if the metric has one.
fn guard_word(metric: &MetricComparison) -> &'static str {
    match (metric.guard_verdict, metric.metric.guard) {
        (Some(guard), _) => guard.word(),
        (None, Some(_)) => INTERIM,
        (None, None) => "–",
    }
}

/// What a metric does not count.
fn left_out(metric: &MetricComparison, labels: &Labels) -> Option<String> {
    let mut parts = Vec::new();
    let without = match metric.metric.source.trials_needed() {
        Some(_) => "of tasks with too few of them",
        None => "without a value",
    };
    for (counts, what) in [
        (metric.missing, without),
        (metric.not_positive, "with a value that is not positive, which a ratio leaves out"),
    ] {
        if counts != [0, 0] {
            parts.push(format!("{} + {} valid trials {what}", counts[0], counts[1]));
        }
    }
    let arm = labels.arm(&metric.who, &metric.condition);
    (!parts.is_empty()).then(|| {
        format!(
            "{} (`{}` + `{}`): {}.",
            clean(&metric.metric.name),
            clean(&metric.baseline),
            clean(&arm),
            parts.join(", ")
        )
    })
}

/// A difference with its sign, or a ratio.
fn change(effect: f64, scale: MetricScale) -> String {
    match scale {
        MetricScale::Log => format!("×{}", number(effect)),
        MetricScale::Linear if effect < 0.0 => format!("−{}", number(-effect)),
        MetricScale::Linear => format!("+{}", number(effect)),
    }
}

/// A number with three significant digits, and all digits before the point.
fn number(value: f64) -> String {
    if value < 0.0 {
        return format!("−{}", number(-value));
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let exponent = value.log10().floor();
    if !(-6.0..15.0).contains(&exponent) {
        return format!("{value:.2e}");
    }
    let decimals = (2.0 - exponent).max(0.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 8")]
    let text = format!("{value:.*}", decimals as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_significant_digits() {
        let check = |value: f64, expected: &str| assert_eq!(number(value), expected, "{value}");
        check(0.0, "0");
        check(0.177_063, "0.177");
        check(1.0, "1");
        check(-12.5, "−12.5");
        check(123_456.7, "123457");
        check(0.000_123_456, "0.000123");
        check(1e-9, "1.00e-9");
        assert_eq!(change(1.378, MetricScale::Log), "×1.38");
        assert_eq!(change(-4.5, MetricScale::Linear), "−4.5");
        assert_eq!(change(0.25, MetricScale::Linear), "+0.25");
    }
}
