//! What was odd about the input of an audit.

use std::collections::BTreeSet;
use std::path::Path;

use assay_audit::corpus::Notice;

use crate::failure::Status;
use crate::ui::Ui;

/// Beyond so many, notices are not told apart any more.
const REMEMBERED: usize = 10_000;

/// What was odd about the input: told as it is met, once, and counted.
pub(in crate::commands) struct Notices<'a> {
    ui: &'a Ui,
    faults: usize,
    told: BTreeSet<String>,
}

impl<'a> Notices<'a> {
    pub(in crate::commands) fn new(ui: &'a Ui) -> Self {
        Self { ui, faults: 0, told: BTreeSet::new() }
    }

    pub(in crate::commands) fn tell(&mut self, notice: &Notice) {
        let line = notice.line.map_or_else(String::new, |line| format!(":{line}"));
        let text = format!("{}{line}: {}", notice.path.display(), notice.message);
        if self.told.len() < REMEMBERED && !self.told.insert(text.clone()) {
            return;
        }
        self.faults += 1;
        self.ui.note(&format!("warning: {text}"));
    }

    /// Something odd about a file.
    pub(in crate::commands) fn odd(&mut self, path: &Path, line: Option<usize>, message: &str) {
        self.tell(&Notice { path: path.to_owned(), line, message: message.to_owned() });
    }

    /// The status of a command that otherwise did its work.
    pub(in crate::commands) fn status(&self, strict: bool) -> Status {
        if strict && self.faults > 0 { Status::DidNotHold } else { Status::Done }
    }
}
