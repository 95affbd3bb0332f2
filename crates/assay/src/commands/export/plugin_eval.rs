//! `assay export plugin-eval`: tasks as cases of another tool.

use std::path::Path;

use assay_task::Suite;
use assay_trial::{CaseOptions, ExportedCases, PluginExportError, export_plugin_cases};
use serde_json::json;

use crate::args::export::ExportPluginEvalArgs;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

/// Tools of cases: those that read, and those that write files.
const TOOLS: [&str; 6] = ["Read", "Glob", "Grep", "Skill", "Write", "Edit"];

/// Tools that the client grants without `--allow-tools`.
const UNGATED: [&str; 4] = ["Read", "Glob", "Grep", "Skill"];

pub(super) fn run(args: &ExportPluginEvalArgs, ui: &Ui) -> Result<Status, Failure> {
    let suite = Suite::load(&args.tasks, Path::new("."));
    if let Some(problem) = suite.problems.first() {
        return Err(Failure::bad_input(problem.to_string()));
    }
    if let Some(task) = suite.unreadable.first() {
        return Err(Failure::bad_input(assay_diagnostic::chain(&task.error)));
    }
    let tools = match args.tools.as_slice() {
        [] => TOOLS.map(str::to_owned).to_vec(),
        named => named.to_vec(),
    };
    let options =
        CaseOptions { max_turns: args.max_turns, runs: args.runs, focus: args.focus.clone(), tools };
    let exported = export_plugin_cases(&suite.tasks, &options, &args.out).map_err(failure)?;
    let command = rerun(&exported, &options.tools, &args.out);
    if ui.json() {
        let left_out: Vec<_> = exported
            .left_out
            .iter()
            .map(|(task, reason)| json!({ "task": task, "reason": reason.to_string() }))
            .collect();
        ui.document(&json!({
            "schema": "assay.export-plugin-eval/1", "cases": exported.cases, "files": exported.files,
            "left_out": left_out, "notes": exported.notes, "command": command,
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

/// The client's command with what these cases need.
fn rerun(exported: &ExportedCases, tools: &[String], out: &Path) -> String {
    let plugin = out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut words = vec!["claude plugin eval".to_owned(), plugin.display().to_string()];
    if out.file_name().is_some_and(|name| name != "evals") {
        let name = out.file_name().unwrap_or_default().to_string_lossy();
        words.push(format!("--eval-dir {name}"));
    }
    if exported.needs_scaffold {
        words.push("--scaffold".to_owned());
    }
    let gated: Vec<&str> = tools.iter().map(String::as_str).filter(|tool| !UNGATED.contains(tool)).collect();
    if !gated.is_empty() {
        words.push(format!("--allow-tools {}", gated.join(" ")));
    }
    words.join(" ")
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
