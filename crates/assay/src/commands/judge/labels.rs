//! `assay judge labels`: the agreement of annotators, and labels from their marks.

use assay_judge::{AddedFeedback, LabelRequest, make_labels};
use serde_json::json;

use crate::args::judge::LabelsArgs;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

pub(super) fn run(args: &LabelsArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    if !settings.store.is_dir() {
        let message = format!("there is no store at {}", settings.store.display());
        return Err(
            Failure::bad_input(message).hint("`assay judge sheet` creates one; --store names another")
        );
    }
    let store = machine::read_store(&settings.store)?;
    let request = LabelRequest {
        sheet: &args.sheet,
        out: args.out.as_deref(),
        feedback: args.feedback.as_deref(),
        annotator: &args.annotator,
    };
    let labels = make_labels(&store, &request)?;
    if ui.json() {
        let mut document = labels.summary.to_json();
        document["out"] = json!(args.out.as_ref().map(|path| path.display().to_string()));
        document["feedback"] = json!(labels.added.as_ref().map(AddedFeedback::to_json));
        ui.document(&document)?;
    } else {
        ui.out(&labels.summary.to_text())?;
    }
    if let Some(added) = &labels.added {
        ui.note(&added.to_text());
    }
    match &args.out {
        Some(out) => ui.note(&format!(
            "wrote {}; `assay judge calibrate` reads it with --label label --labels-by people",
            out.display()
        )),
        None => ui.note("--out FILE writes the labels"),
    }
    Ok(Status::Done)
}
