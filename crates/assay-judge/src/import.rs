//! Rubrics in the formats of other tools, written as tasks.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use serde::Serialize;

use crate::format::Format;
use crate::rubric::{Class, Item, Rubric, Set};
use crate::scenario::{Infeasible, Scenario, Scenarios, find};
use crate::task::{TaskError, write_task};

/// What to import, and how.
#[derive(Debug, Clone, Copy)]
pub struct RubricImport<'a> {
    /// The file, or the folder below which rubrics are looked for.
    pub path: &'a Path,
    /// The folder of the tasks.
    pub out: &'a Path,
    /// The image of the tasks.
    pub image: &'a str,
    /// Whether a set for the goal of the task is added to rubrics of one set.
    pub goal_completion: bool,
    /// Whether nothing is written.
    pub dry_run: bool,
}

/// What was imported, and what was not.
#[derive(Debug)]
pub struct ImportedRubrics {
    /// The rubrics, in the order of their paths.
    pub imported: Vec<ImportedRubric>,
    /// Files that were refused.
    pub refused: Vec<RubricRefusal>,
    /// Lists of scenarios that their author found impossible to judge.
    pub infeasible: Vec<Infeasible>,
    /// The scenarios as they were read.
    pub scenarios: Vec<Scenario>,
}

/// A scenario that was imported.
#[derive(Debug, Serialize)]
pub struct ImportedRubric {
    /// The folder of the task, or the file of a rubric without an instruction.
    pub task: String,
    /// Whether it is a task and not the file of a rubric.
    #[serde(skip)]
    pub is_task: bool,
    /// Where it was read from.
    pub path: String,
    /// The name of its format.
    pub format: &'static str,
    /// Items that are judged.
    pub items: usize,
    /// The points of all items.
    pub points: f64,
    /// Scores that the file recorded, if it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<RecordedScores>,
    /// What the reader should know of it, in sentences.
    pub notes: Vec<String>,
}

/// Recorded scores of groups, compared with those computed.
#[derive(Debug, Serialize)]
pub struct RecordedScores {
    /// Groups with a recorded score.
    pub groups: usize,
    /// Groups whose recorded score is the one computed.
    pub equal: usize,
}

/// A file that was refused.
#[derive(Debug, Serialize)]
pub struct RubricRefusal {
    /// Its path.
    pub path: String,
    /// Why, in a sentence.
    pub reason: String,
}

/// Writes each rubric that is found as a task, or as a file where there is no instruction.
///
/// # Errors
/// The path cannot be read. What is wrong with one file is among the refused.
pub fn import_rubrics(import: &RubricImport<'_>) -> io::Result<ImportedRubrics> {
    let Scenarios { mut scenarios, refused, infeasible } = find(import.path)?;
    // Scenarios of one skill are the units of its evaluation. With several skills, those of one are a cluster.
    let groups: BTreeSet<&str> = scenarios.iter().map(|scenario| scenario.group.as_str()).collect();
    if groups.len() == 1 {
        for scenario in &mut scenarios {
            scenario.group.clear();
        }
    }
    if import.goal_completion {
        for scenario in &mut scenarios {
            add_goal_completion(&mut scenario.rubric);
        }
    }
    let mut refused: Vec<RubricRefusal> = refused
        .into_iter()
        .map(|one| RubricRefusal { path: shown(import, &one.path), reason: one.reason })
        .collect();
    let mut imported = Vec::new();
    for scenario in &scenarios {
        match written(scenario, import) {
            Ok(task) => imported.push(summary(scenario, task, import)),
            Err(reason) => refused.push(RubricRefusal { path: shown(import, &scenario.path), reason }),
        }
    }
    let infeasible = infeasible
        .into_iter()
        .map(|list| Infeasible { path: shown(import, &list.path).into(), ..list })
        .collect();
    Ok(ImportedRubrics { imported, refused, infeasible, scenarios })
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
fn shown(import: &RubricImport<'_>, path: impl AsRef<Path>) -> String {
    let folder =
        if import.path.is_dir() { import.path } else { import.path.parent().unwrap_or(Path::new("")) };
    folder.join(path).display().to_string()
}

/// Writes a scenario, and returns where.
fn written(scenario: &Scenario, import: &RubricImport<'_>) -> Result<String, String> {
    if scenario.format == Format::Assay {
        return Err("it is a task already".to_owned());
    }
    if scenario.instruction.is_none() {
        let file = import.out.join(format!("{}.rubric.json", scenario.name));
        if !import.dry_run {
            if file.symlink_metadata().is_ok() {
                return Err(format!("{} exists", file.display()));
            }
            let write = fs::create_dir_all(import.out)
                .and_then(|()| assay_fs::replace_file(&file, scenario.rubric.to_json().as_bytes()));
            write.map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        }
        return Ok(file.display().to_string());
    }
    let folder = import.out.join(&scenario.name);
    if import.dry_run {
        return if folder.symlink_metadata().is_ok() {
            Err(TaskError::Exists(folder).to_string())
        } else {
            Ok(folder.display().to_string())
        };
    }
    write_task(scenario, import.image, &folder).map_err(|error| assay_diagnostic::chain(&error))?;
    Ok(folder.display().to_string())
}

fn summary(scenario: &Scenario, task: String, import: &RubricImport<'_>) -> ImportedRubric {
    ImportedRubric {
        task,
        is_task: scenario.instruction.is_some(),
        path: shown(import, &scenario.path),
        format: scenario.format.name(),
        items: scenario.rubric.leaves().count(),
        points: scenario.rubric.sets.iter().flat_map(|set| &set.items).map(|item| item.points).sum(),
        recorded: scenario.recorded.map(|(equal, groups)| RecordedScores { groups, equal }),
        notes: scenario.notes.clone(),
    }
}
