//! `assay corpus unpack`.

use assay_corpus::input::Input;
use assay_corpus::unpack::{UnpackError, unpack};
use serde::Serialize;

use super::Told;
use crate::args::corpus::UnpackArgs;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    records: usize,
    /// Records that another had the id of.
    repeated: usize,
    bad_lines: usize,
}

pub(super) fn run(args: &UnpackArgs, ui: &Ui) -> Result<Status, Failure> {
    let mut told = Told::new(ui, &args.input);
    let unpacked = unpack(&mut Input::open(&args.input)?, &args.out, &mut |bad| told.bad(bad))?;
    told.end();
    let document = Document {
        schema: "assay.corpus-unpack/1",
        records: unpacked.records,
        repeated: unpacked.repeated,
        bad_lines: told.lines,
    };
    if ui.json() {
        ui.document(&document)?;
    } else {
        ui.out(&format!("{} records, {} repeated\n", document.records, document.repeated))?;
    }
    Ok(Status::Done)
}

impl From<UnpackError> for Failure {
    fn from(error: UnpackError) -> Self {
        let message = error.to_string();
        match error {
            UnpackError::Input(error) => error.into(),
            UnpackError::NotEmpty { .. } => Self::BadInput {
                message,
                hint: Some("name a folder that does not exist yet".to_owned()),
                source: None,
                details: Vec::new(),
            },
            UnpackError::Write { source, .. } => Self::BadInput {
                message,
                hint: Some("name a folder that can be written to".to_owned()),
                source: Some(source.into()),
                details: Vec::new(),
            },
        }
    }
}
