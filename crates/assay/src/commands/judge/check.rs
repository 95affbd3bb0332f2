//! `assay judge check`: defects of rubrics.

use assay_judge::check_folders;

use crate::args::judge::CheckArgs;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

pub(super) fn run(args: &CheckArgs, ui: &Ui) -> Result<Status, Failure> {
    let checked = check_folders(&args.paths, &args.skill)?;
    if ui.json() {
        ui.document(&checked.to_json())?;
    } else {
        ui.out(&checked.to_text())?;
    }
    Ok(if checked.is_sound() { Status::Done } else { Status::DidNotHold })
}
