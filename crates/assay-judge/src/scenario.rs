//! Scenarios: instructions with their rubrics, found below a folder in any of the formats.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use assay_fs::FileKind;
use assay_fs::tree::walk;

use crate::format::tessl::InfeasibleScenario;
use crate::format::{Format, slug};
use crate::rubric::Rubric;

mod instruction;
mod search;

/// Folders that are never searched.
const SKIPPED: [&str; 4] = [".git", "node_modules", "target", ".venv"];

/// An instruction with its rubric.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// The file or folder that it was read from, relative to the root of the search.
    pub path: PathBuf,
    /// The format.
    pub format: Format,
    /// What it belongs to, such as a skill: scenarios of one group are not independent.
    pub group: String,
    /// Its name, unique among the scenarios found: lower-case words joined by hyphens.
    pub name: String,
    /// What its author calls it.
    pub title: Option<String>,
    /// What the agent is told. `None`: the rubric has no instruction of its own.
    pub instruction: Option<String>,
    /// The rubric, which was checked.
    pub rubric: Rubric,
    /// The initial content of the work folder.
    pub inputs: Vec<Input>,
    /// Texts that the agent must not see, such as the answers of a simulated user: name and content.
    pub hidden: Vec<(String, String)>,
    /// Skills that it is about: each SKILL.md below the folder that contains `evals`, relative to the root of the
    /// search.
    pub skills: Vec<PathBuf>,
    /// For a graded tree: recorded scores of groups that are those computed, of how many.
    pub recorded: Option<(usize, usize)>,
    /// What is odd about it.
    pub notes: Vec<String>,
}

/// A file of the initial work folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Its path in the work folder.
    pub to: PathBuf,
    /// Its content.
    pub content: Vec<u8>,
}

/// A scenario that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The file, relative to the root of the search, with `#id` for a part of it.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// Scenarios that their author found impossible to judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Infeasible {
    /// The file that lists them, relative to the root of the search.
    pub path: PathBuf,
    /// What it lists.
    pub scenarios: Vec<InfeasibleScenario>,
}

/// What was found below a folder.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scenarios {
    /// The scenarios, by path.
    pub scenarios: Vec<Scenario>,
    /// What looks like a scenario and is not, and why.
    pub refused: Vec<Refused>,
    /// Lists of scenarios that cannot be judged.
    pub infeasible: Vec<Infeasible>,
}

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
mod tests;
