//! The counterfactual copy of a task's checks: for the skill with other names, limits and markers.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use assay_fs::tree;
use assay_task::{COUNTERFACTUAL_TABLE, CounterfactualTable};

use super::collect::EvidenceCollector;
use super::record::CounterfactualCopy;
use crate::error::DraftError;
use crate::items::{ITEMS_FILE, TaskItem, TaskItems};
use crate::proposal::read_task;

/// The folder of the copy, within a task.
const COPY: &str = "tests/counterfactual";

/// Tables that are tried: with another number a sorted list may be wrong, or the data trigger nothing.
const TABLES: u64 = 5;

/// The checks of a copy.
struct CopiedChecks {
    table: CounterfactualTable,
    checks: String,
    items: TaskItems,
}

impl EvidenceCollector<'_, '_> {
    /// Writes the counterfactual copy of the checks into the task, if the solution with the replaced words meets them. The
    /// inner error says why there is none.
    ///
    /// # Errors
    /// Nothing can be executed, or the files cannot be written.
    pub(crate) fn write_counterfactual(&mut self) -> Result<Result<CounterfactualCopy, String>, DraftError> {
        let files = read_task(self.task.root);
        let measuring = self.task.items.items.iter().filter(|item| item.is_measuring() && !item.readable);
        let marks: Vec<&str> = measuring.flat_map(|item| item.marks.iter().map(String::as_str)).collect();
        let checks = files.iter().find(|file| file.path == "tests/check.py").map_or("", |file| &file.text);
        let solution = self.read_solution()?;
        let mut reason = "no item has a word that can be replaced".to_owned();
        for seed in 1..=TABLES {
            let mut table = CounterfactualTable::from_marks(marks.iter().copied(), seed);
            // What an agent is given stays as it is.
            let given = files
                .iter()
                .filter(|file| file.path == "instruction.md" || file.path.starts_with("environment/files/"));
            let shown: Vec<&str> =
                given.map(|file| file.text.as_str()).chain([self.task.skill.name.as_str()]).collect();
            table.replacements.retain(|one| {
                let alone = CounterfactualTable::from_marks([one.from.as_str()], seed);
                !shown.iter().any(|text| alone.occurs_in(text))
            });
            if table.replacements.is_empty() {
                break;
            }
            let copied = copy_checks(table, checks, self.task.items);
            let met = self.grade_copied(&copied, &copied.table.apply_to(&solution))?;
            let missed: Vec<&str> = met.iter().filter(|(_, met)| !**met).map(|(id, _)| id.as_str()).collect();
            if !missed.is_empty() {
                reason = format!("the solution with replaced words misses {}", missed.join(", "));
                continue;
            }
            // An item that the original solution meets as well is not replaced.
            let original = self.grade_copied(&copied, &solution)?;
            let replaced: Vec<String> =
                original.iter().filter(|(_, met)| !**met).map(|(id, _)| id.clone()).collect();
            if replaced.is_empty() {
                "the original solution meets all items of the copy".clone_into(&mut reason);
                continue;
            }
            write_copy(self.task.root, copied, &replaced)?;
            return Ok(Ok(CounterfactualCopy { seed, replaced }));
        }
        Ok(Err(reason))
    }

    /// Grades a script by the checks of the copy in the place of the task's own.
    fn grade_copied(
        &mut self,
        copied: &CopiedChecks,
        script: &str,
    ) -> Result<BTreeMap<String, bool>, DraftError> {
        let copy = self.copy_with(script, true)?;
        let solution = copy.join("solution");
        if script != fs::read_to_string(self.task.root.join("solution/solve.sh")).unwrap_or_default() {
            replace_texts(&solution, &copied.table)?;
            write_text(&solution.join("solve.sh"), script)?;
        }
        write_text(&copy.join("tests/check.py"), &copied.checks)?;
        write_text(&copy.join(ITEMS_FILE), &copied.items.to_json())?;
        Ok(self.grade_copy(&copy)?.0)
    }
}

fn copy_checks(table: CounterfactualTable, checks: &str, items: &TaskItems) -> CopiedChecks {
    let apply = |text: &String| table.apply_to(text);
    let items = items.items.iter().map(|item| TaskItem {
        text: apply(&item.text),
        quote: item.quote.as_ref().map(apply),
        answer: item.answer.as_ref().map(apply),
        marks: item.marks.iter().map(apply).collect(),
        ..item.clone()
    });
    let items = TaskItems::new(items.collect());
    CopiedChecks { checks: table.apply_to(checks), items, table }
}

fn write_copy(root: &Path, copied: CopiedChecks, replaced: &[String]) -> Result<(), DraftError> {
    crate::folder::make_folder(&root.join(COPY))?;
    let CopiedChecks { table, checks, mut items } = copied;
    for item in &mut items.items {
        item.replaced = replaced.contains(&item.id);
    }
    write_text(&root.join(COPY).join("check.py"), &checks)?;
    write_text(&root.join(COPY).join("items.json"), &items.to_json())?;
    write_text(&root.join(COUNTERFACTUAL_TABLE), &table.to_json())
}

/// Replaces the words in the texts of a folder.
fn replace_texts(folder: &Path, table: &CounterfactualTable) -> Result<(), DraftError> {
    for node in tree::walk(folder).nodes {
        let path = folder.join(&node.path);
        let Some(text) = path.is_file().then(|| fs::read_to_string(&path).ok()).flatten() else { continue };
        if table.occurs_in(&text) {
            write_text(&path, &table.apply_to(&text))?;
        }
    }
    Ok(())
}

fn write_text(path: &Path, text: &str) -> Result<(), DraftError> {
    fs::write(path, text).map_err(|error| DraftError::io(format!("write {}", path.display()), error))
}
