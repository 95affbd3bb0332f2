//! The notes of a report in sentences.

use assay_analysis::Note;

use crate::suite::Suite;

pub(crate) trait Sentences {
    /// The report's notes in sentences.
    fn notes(&self) -> Vec<String>;
}

impl Sentences for Suite {
    fn notes(&self) -> Vec<String> {
        sentences(&self.report().notes)
    }
}

pub(crate) fn sentences(notes: &[Note]) -> Vec<String> {
    notes.iter().map(assay_report::note).collect()
}
