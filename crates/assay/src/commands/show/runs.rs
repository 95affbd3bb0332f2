//! `assay show` without argument: the runs in the store.

use assay_report::{clean, counted};
use assay_store::Store;
use serde_json::json;

use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

pub(super) fn run(settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let runs = Store::open(&settings.store)?.summaries();
    if ui.json() {
        ui.document(&json!({ "schema": "assay.runs/1", "runs": runs }))?;
    } else if runs.is_empty() {
        ui.note("no runs in the store (hint: `assay run EXPERIMENT` creates one)");
    } else {
        let width = runs.iter().map(|run| run.run.chars().count()).max().unwrap_or_default();
        for run in runs {
            if let Some(damaged) = run.damaged {
                ui.out(&format!("{:width$}  unreadable plan\n", clean(&run.run)))?;
                ui.note(&format!(
                    "warning: {}; run its experiment again to rewrite the plan (trials are kept), or remove the file",
                    clean(&damaged)
                ));
                continue;
            }
            let planned = run.planned_at.unwrap_or_default();
            let line = format!(
                "{:width$}  {} of {} finished  planned {planned}\n",
                clean(&run.run),
                run.finished,
                counted(run.trials, "trial", "trials")
            );
            ui.out(&line)?;
        }
    }
    Ok(Status::Done)
}
