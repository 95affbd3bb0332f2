//! Warnings about the input of an audit.

use std::collections::BTreeSet;
use std::path::Path;

use assay_analysis::audited::AuditPace;
use assay_audit::corpus::Notice;

use crate::failure::Status;
use crate::ui::Ui;

/// Notices remembered to suppress repetitions.
const REMEMBERED: usize = 10_000;

/// Prints each warning once, and counts them.
pub struct Notices<'a> {
    ui: &'a Ui,
    faults: usize,
    pace: AuditPace,
    printed: BTreeSet<String>,
}

impl<'a> Notices<'a> {
    /// Notices of a command, none so far.
    pub fn new(ui: &'a Ui) -> Self {
        Self { ui, faults: 0, pace: AuditPace::default(), printed: BTreeSet::new() }
    }

    /// Reports what is wrong with a folder of transcripts.
    pub fn report(&mut self, notice: &Notice) {
        let line = notice.line.map_or_else(String::new, |line| format!(":{line}"));
        self.warn(&format!("{}{line}: {}", notice.path.display(), notice.message));
    }

    /// Notes now and then how far an audit is.
    pub(super) fn note_progress(&mut self, what: &str, done: usize, total: usize) {
        self.pace.describe_progress(what, done, total).iter().for_each(|line| self.ui.note(line));
    }

    /// Reports a warning whose text names the file.
    pub fn warn(&mut self, text: &str) {
        if self.printed.len() < REMEMBERED && !self.printed.insert(text.to_owned()) {
            return;
        }
        self.faults += 1;
        self.ui.note(&format!("warning: {text}"));
    }

    /// Reports a warning about a file.
    pub(in crate::commands) fn report_file(&mut self, path: &Path, line: Option<usize>, message: &str) {
        self.report(&Notice { path: path.to_owned(), line, message: message.to_owned() });
    }

    /// The status of a command that otherwise succeeded.
    pub fn status(&self, strict: bool) -> Status {
        if strict && self.faults > 0 { Status::DidNotHold } else { Status::Done }
    }
}
