//! Scenarios: instructions with their rubrics, found below a folder in any of the formats.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use assay_fs::FileKind;
use assay_fs::tree::walk;

use crate::format::slug;

mod instruction;
mod scenarios;
mod search;

pub use self::scenarios::{Infeasible, Input, Refused, Scenario, Scenarios};

/// Folders that are never searched.
const SKIPPED: [&str; 4] = [".git", "node_modules", "target", ".venv"];

/// Reads every scenario below a folder, or in a file. Links are not followed.
///
/// # Errors
/// The path cannot be read.
pub fn find(path: &Path) -> std::io::Result<Scenarios> {
    let metadata = fs::metadata(path)?;
    let (root, files) = if metadata.is_dir() {
        (path.to_path_buf(), files_below(path))
    } else {
        let root = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        (root.to_path_buf(), path.file_name().map(PathBuf::from).into_iter().collect())
    };
    let mut found = search::read(&root, &files);
    for scenario in &mut found.scenarios {
        scenario.skills = skills_of(&scenario.path, &files);
    }
    name_uniquely(&mut found.scenarios);
    Ok(found)
}

fn files_below(root: &Path) -> Vec<PathBuf> {
    let is_skipped =
        |path: &Path| path.components().any(|part| SKIPPED.iter().any(|name| part.as_os_str() == *name));
    let files = walk(root).nodes.into_iter().filter(|node| node.kind == FileKind::File);
    files.map(|node| node.path).filter(|path| !is_skipped(path)).collect()
}

/// Most skills of a scenario: of more it is not known which it is about.
const MOST_SKILLS: usize = 100;

/// The `SKILL.md` files below the folder that contains `evals`.
fn skills_of(scenario: &Path, files: &[PathBuf]) -> Vec<PathBuf> {
    let Some(evals) =
        scenario.ancestors().find(|above| above.file_name().is_some_and(|name| name == "evals"))
    else {
        return Vec::new();
    };
    let owner = evals.parent().unwrap_or(Path::new(""));
    let is_skill = |file: &&PathBuf| file.starts_with(owner) && file.ends_with("SKILL.md");
    let skills: Vec<PathBuf> = files.iter().filter(is_skill).cloned().collect();
    let own = owner.join("SKILL.md");
    if skills.contains(&own) {
        return vec![own];
    }
    if skills.len() > MOST_SKILLS { Vec::new() } else { skills }
}

/// Puts the group before the names of scenarios, and numbers those that are still equal.
fn name_uniquely(scenarios: &mut [Scenario]) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for scenario in scenarios {
        let (group, own) = (slug(&scenario.group), slug(&scenario.name));
        let name = match (group.is_empty(), own.is_empty()) {
            (false, false) => format!("{group}-{own}"),
            (true, false) => own,
            (false, true) => group,
            (true, true) => "scenario".to_owned(),
        };
        let count = counts.entry(name.clone()).or_default();
        *count += 1;
        scenario.name = if *count == 1 { name } else { format!("{name}-{count}") };
    }
}

#[cfg(test)]
mod feature_tests;
#[cfg(test)]
mod tests;
