//! `assay export plugin-eval`: tasks as cases of another tool.

use std::path::Path;

use assay_task::Suite;
use assay_trial::{CASE_TOOLS, CaseOptions, PluginExportError, export_plugin_cases};
use serde_json::json;

use crate::args::export::ExportPluginEvalArgs;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

pub(super) fn run(args: &ExportPluginEvalArgs, ui: &Ui) -> Result<Status, Failure> {
    let suite = Suite::load(&args.tasks, Path::new("."));
    if let Some(problem) = suite.problems.first() {
        return Err(Failure::bad_input(problem.to_string()));
    }
    if let Some(task) = suite.unreadable.first() {
        return Err(Failure::bad_input(assay_diagnostic::chain(&task.error)));
    }
    let tools = match args.tools.as_slice() {
        [] => CASE_TOOLS.map(str::to_owned).to_vec(),
        named => named.to_vec(),
    };
    let options =
        CaseOptions { max_turns: args.max_turns, runs: args.runs, focus: args.focus.clone(), tools };
    let exported = export_plugin_cases(&suite.tasks, &options, &args.out).map_err(failure)?;
    let command = exported.client_command(&options.tools, &args.out);
    if ui.json() {
        let left_out = exported.left_out.iter();
        let left_out = left_out.map(|(task, reason)| json!({ "task": task, "reason": reason.to_string() }));
        ui.document(&json!({
            "schema": "assay.export-plugin-eval/1", "cases": exported.cases, "files": exported.files,
            "left_out": left_out.collect::<Vec<_>>(), "notes": exported.notes, "command": command,
        }))?;
    } else {
        for case in &exported.cases {
            ui.out(&format!("{}\n", args.out.join(case).display()))?;
        }
        if !exported.cases.is_empty() {
            ui.out(&format!("\nNext: {command}\n"))?;
        }
    }
    for note in &exported.notes {
        ui.note(note);
    }
    for (task, reason) in &exported.left_out {
        ui.note(&format!("left out: {task}: {reason}"));
    }
    Ok(if exported.left_out.is_empty() { Status::Done } else { Status::DidNotHold })
}

fn failure(error: PluginExportError) -> Failure {
    match error {
        error @ PluginExportError::Exists(_) => {
            Failure::bad_input(error.to_string()).hint("remove it, or choose another folder with `--out`")
        }
        error @ PluginExportError::Name(_) => Failure::bad_input(error.to_string()),
        error @ PluginExportError::Task(_) => Failure::bad_input(assay_diagnostic::chain(&error)),
        error => Failure::infrastructure(assay_diagnostic::chain(&error)),
    }
}
