//! `assay draft`: from a skill to its own evaluation.

mod needs;

use crate::args::draft::{DraftArgs, DraftWhat};
use crate::failure::{Failure, Status};
use crate::ui::Ui;

pub(crate) fn run(args: &DraftArgs, ui: &Ui) -> Result<Status, Failure> {
    match &args.what {
        DraftWhat::Needs(args) => needs::run(args, ui),
    }
}
