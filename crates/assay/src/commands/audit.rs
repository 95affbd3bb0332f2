//! `assay audit`: what a skill changed in an agent's behaviour, from traces.

mod agreement;
mod args;
mod corpus;
mod input;
mod pairs;
mod sheet;
mod tables;

use assay_audit::corpus::Notice;

pub(crate) use self::args::AuditArgs;
use self::args::{AuditWhat, MethodArg};
use crate::failure::{Failure, Status};
use crate::ui::Ui;

pub(crate) fn run(args: &AuditArgs, ui: &Ui) -> Result<Status, Failure> {
    match &args.what {
        AuditWhat::Pairs(args) => pairs::run(args, ui),
        AuditWhat::Corpus(args) => corpus::run(args, ui),
        AuditWhat::Sheet(args) => sheet::run(args, ui),
        AuditWhat::Agreement(args) => agreement::run(args, ui),
    }
}

/// What was odd about the input: told as it is met, and counted.
struct Notices<'a> {
    ui: &'a Ui,
    faults: usize,
}

impl<'a> Notices<'a> {
    fn new(ui: &'a Ui) -> Self {
        Self { ui, faults: 0 }
    }

    fn tell(&mut self, notice: &Notice) {
        let line = notice.line.map_or_else(String::new, |line| format!(":{line}"));
        let text = format!("{}{line}: {}", notice.path.display(), notice.message);
        self.faults += 1;
        self.ui.note(&format!("warning: {text}"));
    }

    /// The status of a command that otherwise did its work.
    fn status(&self, strict: bool) -> Status {
        if strict && self.faults > 0 { Status::DidNotHold } else { Status::Done }
    }
}

/// Refuses the method that is not built yet.
fn only_published(method: MethodArg) -> Result<(), Failure> {
    match method {
        MethodArg::Cta2026 => Ok(()),
        MethodArg::Calibrated => {
            Err(Failure::bad_input("the calibrated method is not there yet").hint("try --method cta-2026"))
        }
    }
}
