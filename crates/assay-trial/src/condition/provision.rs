//! The trait of all conditions, its input, its output and the reasons for an exclusion.

use std::path::Path;

use assay_skill::{Library, Package};
use assay_store::ConditionRole;
use assay_task::Task;
use serde::Deserialize;

use super::error::ConditionError;

/// A condition: how a trial is provisioned.
pub trait Condition: Sync {
    /// What it is, which also names it in experiments and reports.
    fn role(&self) -> ConditionRole;

    /// Its name in experiments, without an argument.
    fn name(&self) -> &'static str {
        self.role().name()
    }

    /// The argument that it takes after a colon.
    fn argument(&self) -> Argument {
        Argument::None
    }

    /// The skills for a trial on this task.
    ///
    /// # Errors
    /// Why the cell is excluded.
    fn provide(&self, context: &ConditionContext<'_>) -> Result<Provision, ConditionError>;
}

/// The argument of a condition, as in `version:v1`. The texts name it in messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    /// It takes none.
    None,
    /// It may have one.
    Optional(&'static str),
    /// It needs one.
    Required(&'static str),
}

/// The input of a condition.
#[derive(Debug, Clone, Copy)]
pub struct ConditionContext<'a> {
    /// The condition's argument.
    pub argument: Option<&'a str>,
    /// The experiment's folder, the base of relative paths in arguments.
    pub directory: &'a Path,
    /// The task.
    pub task: &'a Task,
    /// The experiment's skills.
    pub library: &'a Library,
    /// The experiment's entry for this task.
    pub pairing: Option<&'a Pairing>,
    /// The experiment's seed.
    pub seed: u64,
    /// A folder that keeps the skills that a condition generates, for people to inspect.
    pub made: &'a Path,
}

/// The skills of a trial.
#[derive(Debug, Clone, Default)]
pub struct Provision {
    /// Skills, in order, each in the folder it is mounted from.
    pub skills: Vec<Package>,
    /// Text before the instruction. If the agent writes skills, `{skills}` in it is replaced by the
    /// skills folder inside the sandbox.
    pub preface: String,
    /// Whether the folder of skills is empty and the agent fills it; what it writes is kept.
    pub writes_skills: bool,
}

/// An entry of `[tasks."NAME"]` in an experiment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pairing {
    /// The skills that belong to the task, by name.
    pub curated: Option<Vec<String>>,
    /// The skill of the conditions `negative` and `plus-unrelated`, by name.
    pub negative: Option<String>,
    /// The second skill of the condition `plus-related`, by name.
    pub related: Option<String>,
    /// The folder of the condition `documents`, relative to the experiment's folder.
    pub documents: Option<String>,
}

/// A skill that the experiment names.
pub(super) fn named(context: &ConditionContext<'_>, name: &str) -> Result<Package, ConditionError> {
    Ok(context.library.get(name)?.clone())
}

/// The skills that belong to a task: those the experiment pairs it with, else those in its folder,
/// else those it requires by name.
///
/// # Errors
/// The reason why there are none.
pub fn curated(context: &ConditionContext<'_>) -> Result<Vec<Package>, ConditionError> {
    let by_name =
        |names: &[String]| names.iter().map(|name| named(context, name)).collect::<Result<Vec<_>, _>>();
    let skills = if let Some(names) = context.pairing.and_then(|pairing| pairing.curated.as_deref()) {
        by_name(names)?
    } else if !context.task.skills.is_empty() {
        context.task.skills.clone()
    } else {
        by_name(&context.task.required_skills)?
    };
    if skills.is_empty() && context.task.negative_control {
        return Err(ConditionError::NegativeControl);
    }
    if skills.is_empty() {
        return Err(ConditionError::NoCurated { task: context.task.name.clone() });
    }
    let mut folders: Vec<&str> = skills.iter().map(|skill| skill.directory.as_str()).collect();
    folders.sort_unstable();
    if let Some([twice, ..]) = folders.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(ConditionError::SameFolder { folder: (*twice).to_owned() });
    }
    Ok(skills)
}
