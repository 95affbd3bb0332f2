//! `assay lab corpus unpack`.

use assay_corpus::unpack::unpack;
use assay_skill::corpus::input::Input;
use serde::Serialize;

use crate::args::corpus::UnpackArgs;
use crate::commands::bad_lines::BadLines;
use crate::failure::unpack_failure;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    records: usize,
    /// Records that another had the id of.
    repeated: usize,
    bad_lines: usize,
}

pub(super) fn run(args: &UnpackArgs, ui: &Ui) -> Result<Status, Failure> {
    let mut bad_lines = BadLines::new(ui, &args.input);
    let unpacked = unpack(&mut Input::open(&args.input)?, &args.out, &mut |bad| bad_lines.note(bad))
        .map_err(unpack_failure)?;
    bad_lines.summarize();
    let document = Document {
        schema: "assay.corpus-unpack/1",
        records: unpacked.records,
        repeated: unpacked.repeated,
        bad_lines: bad_lines.lines,
    };
    if ui.json() {
        ui.document(&document)?;
    } else {
        ui.out(&format!("{} records, {} repeated\n", document.records, document.repeated))?;
    }
    Ok(Status::Done)
}
