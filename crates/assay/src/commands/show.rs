//! `assay show`: the runs, a run's trials, or one trial.

pub(super) mod history;
mod runs;

use std::fs;

use assay_report::{TrialFiles, run_cells_text, trial_text};
use assay_store::{Store, StoreError, TrialId};
use assay_trace::Trajectory;
use serde_json::{Value, json};

use crate::args::show::ShowArgs;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

pub(crate) fn run(args: &ShowArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    if args.history {
        return history::run(&args.what, settings, ui);
    }
    let what = match &args.what[..] {
        [] => return runs::run(settings, ui),
        [what] => what,
        [_, more, ..] => {
            return Err(Failure::bad_input(format!(
                "unexpected argument {more:?}: only one run or trial can be shown at a time"
            ))
            .hint("`assay compare` compares two runs; `assay show --history` takes several"));
        }
    };
    let store = machine::read_store(&settings.store)?;
    match store.run(what) {
        Ok(_) => show_run(&store, what, ui)?,
        Err(StoreError::NotFound(no_run)) => match store.find_trial(what) {
            Ok(id) => show_trial(&store, &id, ui)?,
            Err(StoreError::NotFound(no_trial)) => {
                return Err(
                    Failure::bad_input(format!("{no_run}; {no_trial}")).hint("`assay show` lists the runs")
                );
            }
            Err(error) => return Err(error.into()),
        },
        Err(error) => return Err(error.into()),
    }
    Ok(Status::Done)
}

fn show_run(store: &Store, name: &str, ui: &Ui) -> Result<(), Failure> {
    let run = store.run(name)?;
    let mut rows = Vec::new();
    for cell in &run.cells {
        let record = store.record(&cell.trial)?;
        rows.push((cell, record));
    }
    if ui.json() {
        let cells: Vec<Value> =
            rows.iter().map(|(cell, record)| json!({ "cell": cell, "record": record })).collect();
        return ui.document(&json!({ "schema": "assay.cells/1", "run": run.run, "cells": cells }));
    }
    ui.out(&run_cells_text(&run, &rows))
}

fn show_trial(store: &Store, id: &TrialId, ui: &Ui) -> Result<(), Failure> {
    let folder = store.trial_folder(id);
    // Work that judges decide on has a record of its own.
    let record = match store.record(id)? {
        Some(record) => Some(record),
        None => store.work_record(id)?,
    };
    let attempt = record.as_ref().map_or(1, |record| record.attempt);
    let attempt = folder.join("attempts").join(attempt.to_string());
    let trajectory: Option<Trajectory> =
        fs::read(attempt.join("trajectory.json")).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let diff = fs::read(attempt.join("workspace.diff"))
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .ok();
    let verifier = fs::read(attempt.join("verifier/test-stdout.txt"))
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .ok();
    if ui.json() {
        return ui.document(&json!({
            "schema": "assay.trial/1",
            "trial": id,
            "folder": folder,
            "record": record,
            "trajectory": trajectory,
            "workspace_diff": diff,
            "verifier_output": verifier,
        }));
    }
    let files =
        TrialFiles { trajectory: trajectory.as_ref(), diff: diff.as_deref(), verifier: verifier.as_deref() };
    ui.out(&trial_text(id, record.as_ref(), &attempt, files))
}
