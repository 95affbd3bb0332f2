//! Conditions: which skills a trial gets, and how it hears of them.
//!
//! A [`Condition`] is one file here and one line in [`find`]. It is a deterministic function of task, library and seed.

mod curated;
mod full;
mod negative;
mod neighbours;
mod none;
mod placebo;
mod plus;
mod self_generated;

use std::path::{Path, PathBuf};

use assay_skill::{Library, Package};
use assay_task::Task;

use crate::experiment::Pairing;

/// A way of provisioning a trial.
pub trait Condition: Sync {
    /// The name it has in experiments and reports.
    fn name(&self) -> &'static str;

    /// What a trial on this task gets.
    ///
    /// # Errors
    /// The reason, as a sentence fragment, for which the cell is excluded.
    fn provide(&self, setting: &Setting<'_>) -> Result<Provision, String>;
}

/// What a condition may look at.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    /// The task.
    pub task: &'a Task,
    /// The experiment's skills.
    pub library: &'a Library,
    /// What the experiment says of this task.
    pub pairing: Option<&'a Pairing>,
    /// The experiment's seed.
    pub seed: u64,
    /// A folder that keeps what a condition makes, so that people can look at it.
    pub made: &'a Path,
}

/// What a trial gets.
#[derive(Debug, Clone, Default)]
pub struct Provision {
    /// Skills, in order, each in the folder it is mounted from.
    pub skills: Vec<Package>,
    /// Put before the instruction; `{skills}` stands for the folder of skills inside.
    pub preface: String,
    /// Whether the folder of skills is empty and the agent's to fill; what it writes is kept.
    pub writes_skills: bool,
}

/// The names of all conditions, for messages.
pub const NAMES: [&str; 8] =
    ["none", "curated", "placebo", "negative", "full", "plus-related", "plus-unrelated", "self-generated"];

/// A condition by its name.
pub fn find(name: &str) -> Option<&'static dyn Condition> {
    let all: [&dyn Condition; 8] = [
        &none::None,
        &curated::Curated,
        &placebo::Placebo,
        &negative::Negative,
        &full::Full,
        &plus::PlusRelated,
        &plus::PlusUnrelated,
        &self_generated::SelfGenerated,
    ];
    all.into_iter().find(|condition| condition.name() == name)
}

/// A skill that the experiment names.
fn named(setting: &Setting<'_>, name: &str) -> Result<Package, String> {
    setting.library.get(name).cloned().map_err(|error| error.to_string())
}

/// The skills that belong to a task: what the experiment pairs it with; else what it carries; else what it requires by name.
///
/// # Errors
/// The reason why there are none.
pub fn curated(setting: &Setting<'_>) -> Result<Vec<Package>, String> {
    let by_name =
        |names: &[String]| names.iter().map(|name| named(setting, name)).collect::<Result<Vec<_>, _>>();
    let skills = if let Some(names) = setting.pairing.and_then(|pairing| pairing.curated.as_deref()) {
        by_name(names)?
    } else if !setting.task.skills.is_empty() {
        setting.task.skills.clone()
    } else {
        by_name(&setting.task.required_skills)?
    };
    if skills.is_empty() && setting.task.negative_control {
        return Err("it is a negative control without a skill of its own".to_owned());
    }
    if skills.is_empty() {
        return Err(format!(
            "no curated skill: pair it in the experiment, `[tasks.\"{}\"] curated = [\"…\"]`",
            setting.task.name
        ));
    }
    let mut folders: Vec<&str> = skills.iter().map(|skill| skill.directory.as_str()).collect();
    folders.sort_unstable();
    if let Some([twice, ..]) = folders.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("two of its skills lie in a folder called `{twice}`"));
    }
    Ok(skills)
}

/// The folder in `made` that belongs to one made package.
fn made_folder(made: &Path, kind: &str, original: &Package, seed: u64) -> PathBuf {
    made.join(kind).join(format!("{}-{seed}", original.digest.short())).join(&original.directory)
}
