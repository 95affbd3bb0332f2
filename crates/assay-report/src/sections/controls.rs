//! Negative controls.

use assay_analysis::Report;

use crate::doc::{Block, Grid, Level, Section};
use crate::labels::Labels;
use crate::sections::arms::arm_grid;
use crate::sections::tasks::task_grids;
use crate::sections::verdicts::comparison_blocks;

pub(super) fn build_section(report: &Report, _labels: &Labels) -> Section {
    let mut blocks = Vec::new();
    if let Some(controls) = &report.negative_controls {
        let labels = Labels::new(&controls.arms);
        blocks.push(Block::Text(
            "Tasks on which no skill should help; the expected verdict is `negligible`. They are excluded from all other \
             tables, and their comparisons are Bonferroni-adjusted separately."
                .to_owned(),
        ));
        let mut grids = vec![arm_grid(&controls.arms, &labels)];
        grids.extend(task_grids(&controls.tasks, &labels).into_iter().map(Grid::into_detail));
        blocks.extend(comparison_blocks(&controls.comparisons, report.margin, &labels).into_iter().map(
            |block| match block {
                Block::Grid(grid) => Block::Grid(grid.into_detail()),
                block => block,
            },
        ));
        blocks.extend(grids.into_iter().map(Block::Grid));
    }
    Section { title: "Negative controls", level: Level::Summary, blocks }
}
