//! `assay lab audit`: validation of the audit, and its data.

mod figures;
mod rarity;

use crate::args::lab::audit::{LabAuditArgs, LabAuditWhat};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

pub(super) fn run(args: &LabAuditArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    match &args.what {
        LabAuditWhat::Rarity(args) => rarity::run(args, ui),
        LabAuditWhat::Figures(args) => figures::run(args, settings, ui),
    }
}
