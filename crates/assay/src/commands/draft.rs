//! `assay draft`: from a skill to its own evaluation.

mod needs;
mod requests;

use crate::args::draft::{DraftArgs, DraftWhat};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

pub(crate) fn run(args: &DraftArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    match &args.what {
        DraftWhat::Needs(args) => needs::run(args, ui),
        DraftWhat::Requests(args) => requests::run(args, settings, ui),
    }
}
