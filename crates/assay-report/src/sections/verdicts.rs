//! Comparisons with the baseline.

use assay_analysis::{Comparison, Report};

use crate::cells::{or_none, plus_minus};
use crate::doc::{Block, Grid, Level, Section, Verdict};
use crate::labels::Labels;
use crate::links::Target;
use crate::plot;
use crate::sentences::{estimand_sentence, groups, sentence, who};
use crate::text::{clean, p_value, points, points_between};

pub(super) fn build_section(report: &Report, labels: &Labels) -> Section {
    let mut blocks = comparison_blocks(&report.comparisons, report.margin, labels);
    if !report.comparisons.is_empty() {
        blocks.extend(estimand_sentence(&report.selected_by).map(Block::Text));
    }
    Section { title: "Verdicts", level: Level::Summary, blocks }
}

/// Comparisons as a plot, as verdicts and as a table.
pub(super) fn comparison_blocks(comparisons: &[Comparison], margin: f64, labels: &Labels) -> Vec<Block> {
    let mut blocks: Vec<Block> =
        plot::forest(comparisons, margin, labels).map(Block::Plot).into_iter().collect();
    for (who, comparisons) in groups(comparisons, |item| who(&item.who)) {
        if labels.several() {
            blocks.push(Block::Who(who));
        }
        blocks.extend(comparisons.into_iter().map(|comparison| verdict(comparison, margin)));
    }
    if !comparisons.is_empty() {
        blocks.push(Block::Grid(comparison_grid(comparisons, labels).into_folded()));
    }
    blocks
}

fn verdict(comparison: &Comparison, margin: f64) -> Block {
    Block::Verdict(Verdict {
        condition: clean(&comparison.condition),
        baseline: clean(&comparison.baseline),
        kind: comparison.verdict,
        sentence: sentence(comparison, margin),
        target: Some(Target::Comparison {
            who: comparison.who.clone(),
            condition: comparison.condition.clone(),
        }),
    })
}

fn comparison_grid(comparisons: &[Comparison], labels: &Labels) -> Grid {
    let passed: &[&str] = if labels.fractional() { &["pass rate lift"] } else { &[] };
    let mut grid = labels.grid(
        "Comparisons with the baseline (lift, CIs, run-to-run noise and MDE in pp)",
        &["verdict"],
        &[
            &["tasks", "lift"],
            passed,
            &[
                "adjusted CI",
                "95% CI",
                "fixed-tasks 95% CI",
                "normalized change",
                "Hake's gain",
                "p (CI)",
                "adjusted p (CI)",
                "run-to-run noise",
                "MDE",
                "tasks better/equal/worse",
            ],
        ]
        .concat(),
    );
    // The sentences of the verdicts have these figures too.
    grid.detail_columns(&["verdict", "tasks", "adjusted CI", "Hake's gain"]);
    for comparison in comparisons {
        let mut row = labels.cells(&comparison.who, &comparison.condition);
        let [better, equal, worse] = comparison.better_equal_worse;
        let tasks = comparison
            .clusters
            .map_or_else(|| comparison.tasks.to_string(), |_| crate::sentences::units(comparison));
        row.extend([comparison.word().into(), tasks.into(), or_none(comparison.lift, points)]);
        row.extend(labels.fractional().then(|| or_none(comparison.pass_rate_lift, points)));
        row.extend([
            points_between(comparison.family.map(|family| [family.low, family.high])).into(),
            points_between(comparison.ci95).into(),
            points_between(comparison.fixed_tasks_ci95).into(),
            or_none(comparison.normalized_change, signed),
            or_none(comparison.hake_gain, signed),
            p_value(comparison.p_interval).into(),
            p_value(comparison.p_interval_adjusted).into(),
            or_none(comparison.run_to_run_noise, plus_minus),
            // No lift is larger than 100 pp.
            or_none(comparison.mde, |mde| if mde > 1.0 { ">100".to_owned() } else { plus_minus(mde) }),
            format!("{better}/{equal}/{worse}").into(),
        ]);
        grid.rows.push(row);
    }
    grid
}

/// A ratio with its sign.
fn signed(ratio: f64) -> String {
    format!("{ratio:+.2}").replace('-', "−")
}
