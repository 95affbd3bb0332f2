//! `assay import rubric`: rubrics in the formats of other tools, as tasks.

use assay_judge::{
    ImportedRubric, ImportedRubrics, RecordedScores, RubricImport, RubricRefusal, import_rubrics,
};
use assay_trial::import::rubric_experiment::write_rubric_experiment;
use serde_json::json;

use crate::args::import::ImportRubricArgs;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

/// Refusals and notes that are printed; the others are counted.
const SHOWN: usize = 10;

pub(super) fn run(args: &ImportRubricArgs, ui: &Ui) -> Result<Status, Failure> {
    if let Some(file) = args.experiment.as_ref().filter(|file| file.symlink_metadata().is_ok()) {
        return Err(Failure::bad_input(format!("{} exists", file.display())).hint("choose another file"));
    }
    let import = RubricImport {
        path: &args.path,
        out: &args.out,
        image: &args.image,
        goal_completion: args.goal_completion,
        dry_run: args.dry_run,
    };
    let ImportedRubrics { imported, refused, infeasible, scenarios } = import_rubrics(&import)
        .map_err(|error| Failure::bad_input(format!("cannot read {}: {error}", args.path.display())))?;
    if scenarios.is_empty() && refused.is_empty() {
        return Err(Failure::bad_input(format!("{} contains no rubric", args.path.display())).hint(
            "expected criteria.json with task.md, evals.json, eval.yaml, promptfooconfig.yaml, judge.toml, or a JSON file of DevAI or PaperBench",
        ));
    }
    if let Some(file) = &args.experiment {
        let tasks: Vec<&str> =
            imported.iter().filter(|one| one.is_task).map(|one| one.task.as_str()).collect();
        write_rubric_experiment(file, &args.out, &args.image, &tasks, &scenarios, &args.path)?;
        ui.note(&format!("wrote {}; set the model of its agent and of its judge", file.display()));
    }
    if ui.json() {
        let infeasible: Vec<_> =
            infeasible.iter().map(|list| json!({"path": list.path, "scenarios": list.scenarios})).collect();
        ui.document(&json!({
            "schema": "assay.import-rubric/1", "imported": imported.len(), "refused": refused,
            "tasks": imported, "infeasible": infeasible,
        }))?;
    } else {
        ui.out(&text(&imported, &refused, args))?;
        for list in &infeasible {
            let count = assay_report::counted(list.scenarios.len(), "scenario", "scenarios");
            ui.note(&format!(
                "{} lists {count} that its author found impossible to judge",
                list.path.display()
            ));
        }
        if !args.dry_run && imported.iter().any(|one| one.is_task) {
            ui.note(&format!("`assay judge check {}` looks for defects in the rubrics", args.out.display()));
        }
    }
    Ok(if refused.is_empty() { Status::Done } else { Status::DidNotHold })
}

fn text(imported: &[ImportedRubric], refused: &[RubricRefusal], args: &ImportRubricArgs) -> String {
    let mut text = String::new();
    let width = imported.iter().map(|one| one.task.chars().count()).max().unwrap_or(0).min(60);
    for one in imported {
        let items = assay_report::counted(one.items, "item", "items");
        text.push_str(&format!("{:width$}  {:14}  {items}\n", one.task, one.format));
        if let Some(RecordedScores { groups, equal }) = &one.recorded {
            text.push_str(&format!("  recorded scores of groups: {equal} of {groups} as computed\n"));
        }
        for note in &one.notes {
            text.push_str(&format!("  note: {note}\n"));
        }
    }
    for one in refused.iter().take(SHOWN) {
        text.push_str(&format!("refused: {}: {}\n", one.path, one.reason));
    }
    if let Some(more) = refused.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        text.push_str(&format!("refused: {more} more; `--format json` lists them\n"));
    }
    let verb = if args.dry_run { "would be imported" } else { "imported" };
    let (rubrics, refused) = (assay_report::counted(imported.len(), "rubric", "rubrics"), refused.len());
    text.push_str(&format!("{rubrics} {verb}, {refused} refused\n"));
    text
}
