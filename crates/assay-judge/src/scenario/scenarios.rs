//! Scenarios as they are found: an instruction with its rubric, and what else it needs.

use std::path::PathBuf;

use crate::format::Format;
use crate::format::tessl::InfeasibleScenario;
use crate::rubric::Rubric;

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
