//! Agents side by side, and their contrasts.

use assay_analysis::{ContrastKind, ContrastVerdict, INTERIM, Report};

use crate::cells::or_none;
use crate::doc::{Block, Cell, Grid, Level, Section};
use crate::labels::Labels;
use crate::text::{clean, count, percent, points, points_between, usd};

/// Agents side by side, and their contrasts.
pub(super) fn build_section(report: &Report, _labels: &Labels) -> Section {
    let mut blocks: Vec<Block> = model_grid(report).map(Block::Grid).into_iter().collect();
    if let Some(grid) = contrast_grid(report) {
        blocks.push(Block::Grid(grid));
        blocks.push(Block::Text(format!(
            "The verdict of a contrast is about the difference: `higher`, `lower`, `negligible` (within ±{:.0} pp) or \
             `inconclusive`. All contrasts are Bonferroni-adjusted together, separately from the comparisons with the baseline.",
            100.0 * report.margin
        )));
    }
    Section { title: "Agents", level: Level::Summary, blocks }
}

/// The models of a run side by side: without and with the skills, and at what cost.
///
/// The columns are those of Table 4 of Tessl's study of 500 skills; the costs are those of the
/// condition with skills.
fn model_grid(report: &Report) -> Option<Grid> {
    let caption = "Without and with skills (lift in pp; time, cost and tokens: means with skills)";
    let figures = ["without", "with", "lift", "minutes", "cost", "tokens in", "tokens out"];
    let mut grid = Grid::new(caption, &["agent", "condition"], &figures);
    let labels = Labels::of(report);
    for comparison in &report.comparisons {
        let arm = |condition: &str| {
            report.arms.iter().find(|arm| arm.who == comparison.who && arm.condition == condition)
        };
        let (Some(base), Some(with)) = (arm(&comparison.baseline), arm(&comparison.condition)) else {
            continue;
        };
        let unknown = |figure: Option<String>| Cell::from(figure.unwrap_or_else(|| "unknown".to_owned()));
        let tokens = with.token_counts;
        grid.rows.push(vec![
            Cell::Name(clean(&labels.group(&comparison.who).unwrap_or_default())),
            Cell::Name(clean(&comparison.condition)),
            or_none(base.score, percent),
            or_none(with.score, percent),
            or_none(comparison.lift, points),
            unknown(with.seconds.map(|seconds| format!("{:.1}", seconds / 60.0))),
            unknown(with.cost_usd.map(usd)),
            unknown(tokens.map(|tokens| count(tokens.prompt()))),
            unknown(tokens.map(|tokens| count(tokens.output))),
        ]);
    }
    (labels.several() && !grid.rows.is_empty()).then_some(grid)
}

/// Contrasts between agents.
fn contrast_grid(report: &Report) -> Option<Grid> {
    let caption = "Contrasts between agents (differences and CIs in pp)";
    let figures = ["tasks", "difference", "adjusted CI"];
    let mut grid = Grid::new(caption, &["contrast", "agent", "minus agent", "verdict"], &figures);
    let labels = Labels::of(report);
    for contrast in &report.contrasts {
        let name = |who| clean(&labels.group(who).unwrap_or_default());
        let (first, second) = (name(&contrast.first), name(&contrast.second));
        let (condition, baseline) = (clean(&contrast.condition), clean(&contrast.baseline));
        let what = match contrast.kind {
            ContrastKind::Lifts => format!("lift of {condition}"),
            ContrastKind::SkillForModel => format!("{condition} minus {baseline}"),
            ContrastKind::Activation => continue,
        };
        grid.rows.push(vec![
            Cell::Name(what),
            Cell::Name(first),
            Cell::Name(second),
            contrast.verdict.map_or(INTERIM, ContrastVerdict::word).into(),
            contrast.tasks.into(),
            or_none(contrast.difference, points),
            points_between(contrast.family.map(|family| [family.low, family.high])).into(),
        ]);
    }
    (!grid.rows.is_empty()).then_some(grid)
}
