//! The sections of a report: a file for each, which owns its tables and sentences.

mod agents;
mod arms;
mod checks;
mod controls;
mod cost;
mod exclusions;
mod failures;
mod heading;
mod item_sets;
mod judged;
mod metrics;
mod provenance;
mod reading;
mod skills;
mod steps;
mod strata;
mod tasks;
mod variance;
mod verdicts;

use assay_analysis::Report;

use crate::doc::{Document, Section};
use crate::labels::Labels;
use crate::sentences::{answer, outcome};
use crate::text::clean;

/// All sections, in their order. One without blocks is left out.
const SECTIONS: [fn(&Report, &Labels) -> Section; 18] = [
    verdicts::build_section,
    arms::build_section,
    item_sets::build_section,
    judged::build_section,
    metrics::build_section,
    skills::build_section,
    agents::build_section,
    controls::build_section,
    tasks::build_section,
    checks::build_section,
    failures::build_section,
    cost::build_section,
    variance::build_section,
    strata::build_section,
    exclusions::build_section,
    provenance::build_section,
    steps::build_section,
    reading::build_section,
];

/// Arranges a report into sections.
pub(crate) fn document(report: &Report) -> Document {
    let labels = Labels::of(report);
    let sections = SECTIONS.iter().map(|build| build(report, &labels));
    Document {
        run: clean(&report.run),
        outcome: outcome(report),
        demonstration: (!report.measures_a_model)
            .then_some("Demonstration: no model was measured. The figures only show what assay prints."),
        answer: answer(report),
        provenance: heading::provenance_line(&report.provenance),
        facts: heading::list_facts(report, &labels),
        notes: report.notes.iter().map(|note| clean(&crate::notes::note(note))).collect(),
        sections: sections.filter(|section| !section.blocks.is_empty()).collect(),
    }
}
