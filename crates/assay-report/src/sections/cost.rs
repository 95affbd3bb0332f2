//! Cost against score.

use assay_analysis::Report;
use assay_analysis::explore::Frontier;

use crate::cells::rate_name;
use crate::doc::{Block, Grid, Level, Section};
use crate::labels::Labels;
use crate::plot;
use crate::text::{clean, counted, percent, percents, usd};

pub(super) fn build_section(report: &Report, labels: &Labels) -> Section {
    let mut blocks = Vec::new();
    blocks.extend(plot::frontier(&report.exploration.frontier, labels).map(Block::Plot));
    blocks
        .extend(frontier_grid(&report.exploration.frontier, labels).map(Grid::into_folded).map(Block::Grid));
    if !report.exploration.frontier.unknown_cost.is_empty() {
        let arms: Vec<String> = report
            .exploration
            .frontier
            .unknown_cost
            .iter()
            .map(|arm| labels.arm(&arm.who, &arm.condition))
            .collect();
        blocks.push(Block::Text(format!(
            "The cost per trial is unknown for {}: {}.",
            if labels.several() {
                counted(arms.len(), "arm", "arms")
            } else {
                counted(arms.len(), "condition", "conditions")
            },
            clean(&arms.join(", "))
        )));
    }
    let title = if labels.fractional() { "Cost and score" } else { "Cost and pass rate" };
    Section { title, level: Level::Details, blocks }
}

fn frontier_grid(frontier: &Frontier, labels: &Labels) -> Option<Grid> {
    let mut grid =
        labels.grid("", &[], &["point", "cost per trial", rate_name(labels), "95% CI", "on frontier"]);
    for (number, point) in frontier.points.iter().enumerate() {
        let mut row = labels.cells(&point.who, &point.condition);
        row.extend([
            (number + 1).into(),
            usd(point.cost_usd).into(),
            percent(point.score).into(),
            percents(point.score_ci95).into(),
            if point.on_frontier { "yes" } else { "no" }.into(),
        ]);
        grid.rows.push(row);
    }
    (!grid.rows.is_empty()).then_some(grid)
}
