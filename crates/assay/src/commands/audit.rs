//! `assay audit`: what a skill changed in an agent's behaviour, from traces.

pub mod agreement;
mod ask;
mod calibrated;
pub mod corpus;
pub mod input;
pub mod notices;
mod runs;
pub mod sheet;
mod show;
pub mod source;

use crate::args::audit::{AuditArgs, AuditWhat};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

pub(crate) fn run(args: &AuditArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    match &args.what {
        AuditWhat::Pairs(args) => calibrated::of_pairs(args, ui),
        AuditWhat::Show(args) => show::run(args, settings, ui),
        AuditWhat::Corpus(args) => corpus::run(args, settings, ui),
        AuditWhat::Sheet(args) => sheet::run(args, settings, ui),
        AuditWhat::Agreement(args) => agreement::run(args, ui),
    }
}
