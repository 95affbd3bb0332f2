//! Tasks that are excluded.

use assay_analysis::{Exclusion, Report};

use crate::doc::{Block, Cell, Grid, Level, Section};
use crate::labels::Labels;
use crate::text::clean;

pub(super) fn build_section(report: &Report, _labels: &Labels) -> Section {
    let blocks = excluded_grid(&report.excluded).map(Block::Grid).into_iter().collect();
    Section { title: "Excluded", level: Level::Summary, blocks }
}

fn excluded_grid(excluded: &[Exclusion]) -> Option<Grid> {
    let mut grid = Grid::new("", &["task", "condition", "reason"], &[]);
    for exclusion in excluded {
        let condition =
            exclusion.condition.as_deref().map_or(Cell::from("all"), |name| Cell::Name(clean(name)));
        grid.rows.push(vec![
            Cell::Name(clean(&exclusion.task)),
            condition,
            Cell::Text(clean(&exclusion.reason)),
        ]);
    }
    (!grid.rows.is_empty()).then_some(grid)
}
