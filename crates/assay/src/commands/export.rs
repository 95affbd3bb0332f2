//! `assay export`: results as tables for other tools, and runs as files.

mod k8s;
mod plugin_eval;
mod rubric;

use std::path::PathBuf;

use assay_store::{ArchiveTask, RunExport, export_run};
use assay_table::{WriteError, WriteFormat};
use assay_task::Suite;
use assay_trial::{ExportError, ExportedTables, export_tables, table_files};
use serde_json::json;

use crate::args::export::{ExportArgs, ExportDataArgs, ExportFormat, ExportRunArgs, ExportWhat};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

pub(crate) fn run(args: &ExportArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    match &args.what {
        ExportWhat::Data(args) => data(args, settings, ui),
        ExportWhat::Run(args) => whole_run(args, settings, ui),
        ExportWhat::Rubric(args) => rubric::run(args, ui),
        ExportWhat::PluginEval(args) => plugin_eval::run(args, ui),
        ExportWhat::K8s(args) => k8s::run(args, ui),
    }
}

fn whole_run(args: &ExportRunArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    refuse_overwriting(std::slice::from_ref(&args.out), args.force)?;
    let store = machine::read_store(&settings.store)?;
    let secrets = machine::secrets();
    let suite = Suite::load(&args.tasks, std::path::Path::new("."));
    let tasks: Vec<ArchiveTask<'_>> = suite
        .tasks
        .iter()
        .map(|task| ArchiveTask {
            name: &task.name,
            root: &task.root,
            has_digest: Box::new(|digest| task.has_digest(digest)),
        })
        .collect();
    let export = RunExport {
        run: &args.run,
        out: &args.out,
        trajectories: !args.no_trajectories,
        tasks: &tasks,
        clean: &|text| assay_report::redact(text, &secrets),
    };
    let mut exported = export_run(&store, &export)?;
    exported.skipped.extend(suite.problems.iter().map(ToString::to_string));
    exported.skipped.extend(suite.unreadable.iter().map(|task| task.error.to_string()));
    if ui.json() {
        ui.document(&json!({
            "schema": "assay.export-run/1", "run": args.run, "file": args.out, "trials": exported.trials,
            "tasks": exported.tasks, "files": exported.files, "bytes": exported.bytes, "skipped": exported.skipped,
        }))?;
    } else {
        let trials = assay_diagnostic::counted(exported.trials, "trial", "trials");
        let bytes = assay_diagnostic::group_digits(exported.bytes);
        ui.out(&format!("{}: {trials}, {bytes} bytes\n", args.out.display()))?;
    }
    for message in &exported.skipped {
        ui.note(&format!("skipped: {message}"));
    }
    Ok(if exported.skipped.is_empty() { Status::Done } else { Status::DidNotHold })
}

fn data(args: &ExportDataArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let format = match args.table_format {
        ExportFormat::Csv => WriteFormat::Csv,
        ExportFormat::Jsonl => WriteFormat::JsonLines,
        ExportFormat::Parquet => WriteFormat::Parquet,
    };
    format.require().map_err(failure)?;
    let store = machine::read_store(&settings.store)?;
    for name in &args.runs {
        store.run(name)?;
    }
    refuse_overwriting(&table_files(&args.out, format), args.force)?;
    let ExportedTables { runs, tables, skipped } = export_tables(&store, &args.runs, &args.out, format)
        .map_err(|error| match error {
            ExportError::Store(error) => error.into(),
            ExportError::Write(error) => failure(error),
            error @ ExportError::Folder { .. } => Failure::infrastructure(assay_diagnostic::chain(&error)),
        })?;
    if ui.json() {
        let tables: Vec<_> = tables
            .iter()
            .map(|written| json!({ "table": written.table, "file": written.file, "rows": written.rows }))
            .collect();
        ui.document(&json!({
            "schema": "assay.export/1", "runs": runs, "tables": tables, "skipped": skipped,
        }))?;
    } else {
        for written in &tables {
            let rows = assay_report::counted(written.rows, "row", "rows");
            ui.out(&format!("{}: {rows}\n", written.file.display()))?;
        }
    }
    for message in &skipped {
        ui.note(&format!("skipped: {message}"));
    }
    Ok(if skipped.is_empty() { Status::Done } else { Status::DidNotHold })
}

fn refuse_overwriting(paths: &[PathBuf], force: bool) -> Result<(), Failure> {
    match paths.iter().find(|path| path.exists()) {
        Some(path) if !force => Err(Failure::bad_input(format!("{} exists", path.display()))
            .hint("--force overwrites it; --out names another folder")),
        _ => Ok(()),
    }
}

fn failure(error: WriteError) -> Failure {
    match error {
        WriteError::NoParquet => Failure::bad_input(error.to_string())
            .hint("use --as csv or --as jsonl, or build assay with `--features parquet`"),
        error => Failure::infrastructure(assay_diagnostic::chain(&error)),
    }
}
