//! `assay export rubric`: the rubrics of tasks in the formats of other tools.

use std::path::Path;

use assay_judge::{ExportError, Exported, Format, Rubric, export};
use assay_task::{RUBRIC_FILE, Task};
use serde_json::json;

use crate::args::export::{ExportRubricArgs, RubricFormat};
use crate::failure::{Failure, Status};
use crate::ui::Ui;

pub(super) fn run(args: &ExportRubricArgs, ui: &Ui) -> Result<Status, Failure> {
    let tasks = args.tasks.iter().map(|folder| read(folder)).collect::<Result<Vec<_>, _>>()?;
    let format = match args.rubric_format {
        RubricFormat::Tessl => Format::Tessl,
        RubricFormat::TesslCriteria => Format::TesslCriteria,
        RubricFormat::SkillCreator => Format::SkillCreator,
        RubricFormat::Waza => Format::Waza,
        RubricFormat::DevAi => Format::DevAi,
    };
    let (files, notes) = export(&tasks, format, &args.skill, &args.out).map_err(|error| {
        let failure = Failure::bad_input(assay_diagnostic::chain(&error));
        match error {
            ExportError::Exists(_) => failure.hint("choose another folder with `--out`"),
            _ => failure,
        }
    })?;
    if ui.json() {
        let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        ui.document(
            &json!({"schema": "assay.export-rubric/1", "tasks": tasks.len(), "files": files, "notes": notes}),
        )?;
    } else {
        for file in &files {
            ui.out(&format!("{}\n", file.display()))?;
        }
    }
    for note in &notes {
        ui.note(note);
    }
    Ok(Status::Done)
}

fn read(folder: &Path) -> Result<Exported, Failure> {
    let task = Task::load(folder).map_err(|error| Failure::bad_input(assay_diagnostic::chain(&error)))?;
    let file = folder.join(RUBRIC_FILE);
    let text = assay_fs::read_text(&file, assay_fs::DOCUMENT_CAP).map_err(|error| {
        Failure::bad_input(format!("cannot read {}: {error}", file.display()))
            .hint("only tasks with a rubric can be exported")
    })?;
    let rubric =
        Rubric::parse(&text).map_err(|error| Failure::bad_input(format!("{}: {error}", file.display())))?;
    let name =
        folder.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    Ok(Exported { name: name.unwrap_or_default(), instruction: task.instruction, rubric })
}
