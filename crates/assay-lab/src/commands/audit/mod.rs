//! `assay lab audit`: validation of the audit, and its data.

mod figures;
mod prohibitions;
mod rarity;

use crate::args::audit::{LabAuditArgs, LabAuditWhat};
use assay_cli::config::Settings;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

pub(super) fn run(args: &LabAuditArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    match &args.what {
        LabAuditWhat::Rarity(args) => rarity::run(args, ui),
        LabAuditWhat::Figures(args) => figures::run(args, settings, ui),
        LabAuditWhat::Prohibitions(args) => prohibitions::run(args, ui),
    }
}
