//! `assay judge diagnose`: items of rubrics beside the directives of the skill that they test.

use assay_analysis::judged::diagnose;
use assay_report::diagnosis_text;
use serde_json::json;

use crate::args::judge::DiagnoseArgs;
use crate::commands::audit::notices::Notices;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

pub(super) fn run(args: &DiagnoseArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let store = machine::read_store(&settings.store)?;
    let run = store.run(&args.run)?;
    let report = assay_analysis::report(&store, &run)?;
    let Some(judged) = &report.judged else {
        return Err(Failure::bad_input(format!("no trial of {} was judged", run.run))
            .hint("tasks with tests/rubric.json are judged if the experiment has `[judge]`"));
    };
    let found = diagnose(&store, &run, judged, &mut Notices::new(ui))?;
    if ui.json() {
        ui.document(&json!({ "schema": "assay.judge-diagnosis/1", "run": run.run, "items": found }))?;
    } else {
        ui.out(&diagnosis_text(&found))?;
    }
    Ok(Status::Done)
}
