//! `assay audit`: what a skill changed in an agent's behaviour, from traces.

mod agreement;
mod calibrated;
mod corpus;
mod input;
mod pairs;
mod runs;
mod sheet;
mod show;
mod tables;

use std::collections::BTreeSet;
use std::path::Path;

use assay_audit::corpus::Notice;

use crate::args::audit::{AuditArgs, AuditWhat};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

pub(crate) fn run(args: &AuditArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    match &args.what {
        AuditWhat::Pairs(args) => pairs::run(args, ui),
        AuditWhat::Show(args) => show::run(args, settings, ui),
        AuditWhat::Corpus(args) => corpus::run(args, settings, ui),
        AuditWhat::Sheet(args) => sheet::run(args, ui),
        AuditWhat::Agreement(args) => agreement::run(args, ui),
    }
}

/// Beyond so many, notices are not told apart any more.
const REMEMBERED: usize = 10_000;

/// What was odd about the input: told as it is met, once, and counted.
struct Notices<'a> {
    ui: &'a Ui,
    faults: usize,
    told: BTreeSet<String>,
}

impl<'a> Notices<'a> {
    fn new(ui: &'a Ui) -> Self {
        Self { ui, faults: 0, told: BTreeSet::new() }
    }

    fn tell(&mut self, notice: &Notice) {
        let line = notice.line.map_or_else(String::new, |line| format!(":{line}"));
        let text = format!("{}{line}: {}", notice.path.display(), notice.message);
        if self.told.len() < REMEMBERED && !self.told.insert(text.clone()) {
            return;
        }
        self.faults += 1;
        self.ui.note(&format!("warning: {text}"));
    }

    /// Something odd about a file.
    fn odd(&mut self, path: &Path, line: Option<usize>, message: &str) {
        self.tell(&Notice { path: path.to_owned(), line, message: message.to_owned() });
    }

    /// The status of a command that otherwise did its work.
    fn status(&self, strict: bool) -> Status {
        if strict && self.faults > 0 { Status::DidNotHold } else { Status::Done }
    }
}
