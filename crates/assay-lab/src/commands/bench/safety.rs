//! `assay lab bench safety`: error rates of the safety rules on sets of packages that others made.

use std::path::Path;

use crate::safety_sets as sets;

use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

pub(super) fn run(folder: &Path, ui: &Ui) -> Result<Status, Failure> {
    let report = sets::measure(folder).map_err(|error| {
        Failure::bad_input(format!("cannot read {}: {error}", folder.display()))
            .hint("unpack the sets into a folder and name it")
    })?;
    if report.sets.is_empty() {
        let names = sets::SETS.map(|(name, ..)| name).join(", ");
        return Err(Failure::bad_input(format!("no set in {}", folder.display()))
            .hint(format!("expected one or more of these folders: {names}")));
    }
    if ui.json() {
        ui.document(&report)?;
    } else {
        ui.out(&sets::sets_table(&report))?;
    }
    Ok(Status::Done)
}
