//! `assay import rubric`: rubrics in the formats of other tools, as tasks.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use assay_judge::{Class, Format, Item, Rubric, Scenario, Scenarios, Set, TaskError, find, write_task};
use serde::Serialize;
use serde_json::json;

use crate::args::import::ImportRubricArgs;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

/// Refusals and notes that are printed; the others are counted.
const SHOWN: usize = 10;

/// A scenario that was imported.
#[derive(Debug, Serialize)]
struct Imported {
    /// The folder of the task, or the file of a rubric without an instruction.
    task: String,
    #[serde(skip)]
    is_task: bool,
    /// Where it was read from.
    path: String,
    format: &'static str,
    /// Items that are judged.
    items: usize,
    points: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded: Option<Recorded>,
    notes: Vec<String>,
}

/// Recorded scores of groups, compared with those computed.
#[derive(Debug, Serialize)]
struct Recorded {
    groups: usize,
    equal: usize,
}

#[derive(Debug, Serialize)]
struct Refusal {
    path: String,
    reason: String,
}

pub(super) fn run(args: &ImportRubricArgs, ui: &Ui) -> Result<Status, Failure> {
    let found = find(&args.path)
        .map_err(|error| Failure::bad_input(format!("cannot read {}: {error}", args.path.display())))?;
    let Scenarios { mut scenarios, refused, infeasible } = found;
    if let Some(file) = args.experiment.as_ref().filter(|file| file.symlink_metadata().is_ok()) {
        return Err(Failure::bad_input(format!("{} exists", file.display())).hint("choose another file"));
    }
    // Scenarios of one skill are the units of its evaluation. With several skills, those of one are a cluster.
    let groups: BTreeSet<&str> = scenarios.iter().map(|scenario| scenario.group.as_str()).collect();
    if groups.len() == 1 {
        for scenario in &mut scenarios {
            scenario.group.clear();
        }
    }
    if args.goal_completion {
        for scenario in &mut scenarios {
            add_goal_completion(&mut scenario.rubric);
        }
    }
    let mut refused: Vec<Refusal> =
        refused.into_iter().map(|one| Refusal { path: shown(args, &one.path), reason: one.reason }).collect();
    if scenarios.is_empty() && refused.is_empty() {
        return Err(Failure::bad_input(format!("{} contains no rubric", args.path.display())).hint(
            "expected criteria.json with task.md, evals.json, eval.yaml, promptfooconfig.yaml, judge.toml, or a JSON file of DevAI or PaperBench",
        ));
    }
    let mut imported = Vec::new();
    for scenario in &scenarios {
        match written(scenario, args) {
            Ok(task) => imported.push(summary(scenario, task, args)),
            Err(reason) => refused.push(Refusal { path: shown(args, &scenario.path), reason }),
        }
    }
    if let Some(file) = &args.experiment {
        let tasks: Vec<&str> =
            imported.iter().filter(|one| one.is_task).map(|one| one.task.as_str()).collect();
        super::rubric_experiment::write(file, &args.out, &args.image, &tasks, &scenarios, &args.path)?;
        ui.note(&format!("wrote {}; set the model of its agent and of its judge", file.display()));
    }
    if ui.json() {
        let infeasible: Vec<_> = infeasible
            .iter()
            .map(|list| json!({"path": shown(args, &list.path), "scenarios": list.scenarios}))
            .collect();
        ui.document(&json!({
            "schema": "assay.import-rubric/1", "imported": imported.len(), "refused": refused,
            "tasks": imported, "infeasible": infeasible,
        }))?;
    } else {
        ui.out(&text(&imported, &refused, args))?;
        for list in &infeasible {
            let count = assay_report::counted(list.scenarios.len(), "scenario", "scenarios");
            let path = shown(args, &list.path);
            ui.note(&format!("{path} lists {count} that its author found impossible to judge"));
        }
        if !args.dry_run && imported.iter().any(|one| one.is_task) {
            ui.note(&format!("`assay judge check {}` looks for defects in the rubrics", args.out.display()));
        }
    }
    Ok(if refused.is_empty() { Status::Done } else { Status::DidNotHold })
}

/// Adds a set that the instruction alone decides. Tessl's framework has two rubrics of 100 points each: one for the
/// skill's instructions, one for the goal of the task.
fn add_goal_completion(rubric: &mut Rubric) {
    const GOAL: &str = "goal completion";
    if rubric.sets.iter().any(|set| set.name == GOAL) {
        return;
    }
    if let [only] = &mut rubric.sets[..] {
        "instruction following".clone_into(&mut only.name);
        only.weight = Some(100.0);
    }
    let ids: BTreeSet<&str> = rubric.all().map(|item| item.id.as_str()).collect();
    let item = |id: &str, text: &str, points: f64| {
        let mut id = id.to_owned();
        while ids.contains(id.as_str()) {
            id.push('+');
        }
        Item { class: Some(Class::Outcome), ..Item::new(id, text, points) }
    };
    let items = vec![
        item("goal-complete", "Everything that the task asks for is done.", 60.0),
        item(
            "goal-usable",
            "Whoever gave the task can use the result as it is, without correcting it.",
            25.0,
        ),
        item(
            "goal-consistent",
            "Nothing in the result contradicts the task or the files that came with it.",
            15.0,
        ),
    ];
    rubric.sets.push(Set { name: GOAL.to_owned(), weight: Some(100.0), items, ..Set::default() });
}

/// A path below the folder that was searched, as the user can open it.
fn shown(args: &ImportRubricArgs, path: impl AsRef<Path>) -> String {
    let folder = if args.path.is_dir() { &args.path } else { args.path.parent().unwrap_or(Path::new("")) };
    folder.join(path).display().to_string()
}

/// Writes a scenario, and returns where.
fn written(scenario: &Scenario, args: &ImportRubricArgs) -> Result<String, String> {
    if scenario.format == Format::Assay {
        return Err("it is a task already".to_owned());
    }
    if scenario.instruction.is_none() {
        let file = args.out.join(format!("{}.rubric.json", scenario.name));
        if !args.dry_run {
            if file.symlink_metadata().is_ok() {
                return Err(format!("{} exists", file.display()));
            }
            let write = fs::create_dir_all(&args.out)
                .and_then(|()| assay_fs::replace_file(&file, scenario.rubric.to_json().as_bytes()));
            write.map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        }
        return Ok(file.display().to_string());
    }
    let folder = args.out.join(&scenario.name);
    if args.dry_run {
        return if folder.symlink_metadata().is_ok() {
            Err(TaskError::Exists(folder).to_string())
        } else {
            Ok(folder.display().to_string())
        };
    }
    write_task(scenario, &args.image, &folder).map_err(|error| assay_diagnostic::chain(&error))?;
    Ok(folder.display().to_string())
}

fn summary(scenario: &Scenario, task: String, args: &ImportRubricArgs) -> Imported {
    Imported {
        task,
        is_task: scenario.instruction.is_some(),
        path: shown(args, &scenario.path),
        format: scenario.format.name(),
        items: scenario.rubric.leaves().count(),
        points: scenario.rubric.sets.iter().flat_map(|set| &set.items).map(|item| item.points).sum(),
        recorded: scenario.recorded.map(|(equal, groups)| Recorded { groups, equal }),
        notes: scenario.notes.clone(),
    }
}

fn text(imported: &[Imported], refused: &[Refusal], args: &ImportRubricArgs) -> String {
    let mut text = String::new();
    let width = imported.iter().map(|one| one.task.chars().count()).max().unwrap_or(0).min(60);
    for one in imported {
        let items = assay_report::counted(one.items, "item", "items");
        text.push_str(&format!("{:width$}  {:14}  {items}\n", one.task, one.format));
        if let Some(Recorded { groups, equal }) = &one.recorded {
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
