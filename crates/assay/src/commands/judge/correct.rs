//! `assay judge correct`: rates without the errors of the judge.

use assay_judge::{RateCorrection, correct_rates};

use crate::args::judge::CorrectArgs;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

pub(super) fn run(args: &CorrectArgs, ui: &Ui) -> Result<Status, Failure> {
    let found = correct_rates(&RateCorrection {
        table: &args.table,
        calibration: &args.calibration,
        label: &args.label,
        verdict: &args.verdict,
        by: args.by.as_deref(),
        cluster: args.cluster.as_deref(),
        separate: args.separate,
    })?;
    if ui.json() {
        ui.document(&found.to_json())?;
    } else {
        ui.out(&found.to_text())?;
    }
    Ok(Status::Done)
}
