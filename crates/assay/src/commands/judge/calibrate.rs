//! `assay judge calibrate`: verdicts against labels.

use assay_judge::{LabelSource, VerdictColumns, measure_agreement};

use crate::args::judge::CalibrateArgs;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

pub(super) fn run(args: &CalibrateArgs, ui: &Ui) -> Result<Status, Failure> {
    let columns = VerdictColumns {
        label: Some(&args.label),
        verdict: &args.verdict,
        second: args.second_order.as_deref(),
        by: args.by.iter().map(String::as_str).collect(),
        cluster: args.cluster.as_deref(),
        ..VerdictColumns::default()
    };
    let found = measure_agreement(&args.table, &columns)?;
    let labels_by = LabelSource::from(args.labels_by);
    if ui.json() {
        ui.document(&found.to_json(labels_by))?;
    } else {
        ui.out(&found.to_text())?;
    }
    if !labels_by.calibrates() {
        ui.note("not called calibrated: that needs labels of people, `--labels-by people`");
    }
    Ok(Status::Done)
}
