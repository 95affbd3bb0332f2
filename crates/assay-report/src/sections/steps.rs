//! What to do next.

use assay_analysis::Report;

use crate::doc::{Block, Level, Section};
use crate::labels::Labels;
use crate::next_steps::next_step;
use crate::text::clean;

pub(super) fn build_section(report: &Report, _labels: &Labels) -> Section {
    let steps: Vec<String> =
        report.next_steps.iter().map(|step| clean(&next_step(step, report.experiment.as_deref()))).collect();
    let blocks = if steps.is_empty() { Vec::new() } else { vec![Block::List(steps)] };
    Section { title: "Next steps", level: Level::Summary, blocks }
}
