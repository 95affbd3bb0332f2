//! Why a condition has nothing for a task.

use std::io;
use std::path::PathBuf;

use assay_fs::FsError;
use assay_skill::LookupError;
use assay_skill::generated::GeneratedError;
use assay_skill::placebo::PlaceboError;
use assay_task::{COUNTERFACTUAL_TABLE, CounterfactualError};

use super::documents::error::DocumentsError;

/// Why a condition has nothing for a task. Messages are sentence fragments: they are the reason of
/// an exclusion.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConditionError {
    /// A name that is not in the library, or twice.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// A negative control without a skill.
    #[error("it is a negative control and has no skill of its own")]
    NegativeControl,
    /// A task without a skill.
    #[error("no curated skill: pair it in the experiment, `[tasks.\"{task}\"] curated = [\"…\"]`")]
    NoCurated {
        /// The task's name.
        task: String,
    },
    /// Skills that cannot be mounted side by side.
    #[error("two of its skills are in folders called `{folder}`")]
    SameFolder {
        /// The folder's name.
        folder: String,
    },
    /// A library with nothing to choose from.
    #[error("the library contains {skills} skills, and at least 2 are needed")]
    SmallLibrary {
        /// The number of skills in it.
        skills: usize,
    },
    /// A library of the task's own skills.
    #[error("the library contains only the task's own skills and similar ones")]
    NoOthers,
    /// A library about the task.
    #[error("every other skill in the library resembles the task")]
    NoUnrelated,
    /// A library about something else.
    #[error("no other skill in the library shares a word with the task's own")]
    NoRelated,
    /// Skills of nothing but front matter.
    #[error("its curated skills have no text besides their front matter")]
    NoText,
    /// No documentation to retrieve from.
    #[error(transparent)]
    Documents(#[from] DocumentsError),
    /// No skills that a model wrote from something else.
    #[error(transparent)]
    Generated(#[from] GeneratedSkillsError),
    /// A skill without the other version.
    #[error("the skill `{skill}` has no version `{version}`: {error}")]
    Version {
        /// The skill's name.
        skill: String,
        /// The argument of the condition.
        version: String,
        /// Why.
        error: Box<VersionError>,
    },
    /// A task without a table of replacements, or one that changes nothing of its skills.
    #[error(
        "it has no table of replacements for its skills (hint: `assay draft run` writes {COUNTERFACTUAL_TABLE})"
    )]
    NoReplacements,
    /// A table that cannot be read.
    #[error(transparent)]
    Table(#[from] CounterfactualError),
    /// A counterfactual copy that cannot be made.
    #[error("no counterfactual copy of the skill `{skill}`: {error}")]
    Counterfactual {
        /// The skill's name.
        skill: String,
        /// Why.
        error: CounterfactualSkillError,
    },
    /// A placebo that cannot be made.
    #[error("no placebo of the skill `{skill}`: {error}")]
    Placebo {
        /// The skill's name.
        skill: String,
        /// Why.
        error: PlaceboPackageError,
    },
}

/// Why the counterfactual copy of a skill cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CounterfactualSkillError {
    /// The skill cannot be copied.
    #[error("cannot copy it: {0}")]
    Copy(#[from] FsError),
    /// The folder of the copy.
    #[error("cannot write {}: {error}", folder.display())]
    Write {
        /// Which.
        folder: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The copy is no skill any more.
    #[error("the copy of {name} is not a skill: a replacement changes its front matter")]
    NotASkill {
        /// The skill's name.
        name: String,
    },
}

/// Why a placebo cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceboPackageError {
    /// A file of the original.
    #[error("cannot read it: {0}")]
    Read(std::io::Error),
    /// The generator refused.
    #[error(transparent)]
    Placebo(#[from] PlaceboError),
    /// The folder of the placebo.
    #[error("cannot write {}: {error}", folder.display())]
    Write {
        /// Which.
        folder: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A folder that was changed.
    #[error("{} contains no skill: delete it", folder.display())]
    NotASkill {
        /// Which.
        folder: PathBuf,
    },
}

/// Why generated skills cannot be provided for a task.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GeneratedSkillsError {
    /// The folder has no origin that can be read.
    #[error("no generated skills in {}: {error} (hint: `assay draft skill` writes them)", folder.display())]
    Origin {
        /// The folder.
        folder: PathBuf,
        /// Why.
        error: GeneratedError,
    },
    /// They were written from something else.
    #[error("the skills in {} were written from another source: {found}", folder.display())]
    OtherOrigin {
        /// The folder.
        folder: PathBuf,
        /// The origin of its skills.
        found: &'static str,
    },
    /// A skill is missing or was edited.
    #[error(
        "the skill {} is missing or differs from what was generated: provide an edited skill under `curated` instead",
        folder.display()
    )]
    Edited {
        /// The folder of the skill.
        folder: PathBuf,
    },
    /// The skills know the task.
    #[error("its skills were generated from this task")]
    FromThisTask,
    /// The skills were written from a file of the task.
    #[error("its skills were generated from a file that the task contains: {path}")]
    FromItsFile {
        /// The file, as the origin names it.
        path: String,
    },
}

/// Why a skill has no other version.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VersionError {
    /// Not in the folder, or twice.
    #[error("in {}: {error}", folder.display())]
    NotInFolder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        error: LookupError,
    },
    /// Neither a folder nor a revision, because there is no repository.
    #[error("{} is not a folder, and {} is not in a Git repository ({message})", folder.display(), skill.display())]
    NoRepository {
        /// The folder that does not exist.
        folder: PathBuf,
        /// The skill's folder.
        skill: PathBuf,
        /// Git's message.
        message: String,
    },
    /// Neither a folder nor a revision of the repository.
    #[error("{} is not a folder, and the Git repository {} has no such revision", folder.display(), repository.display())]
    NoRevision {
        /// The folder that does not exist.
        folder: PathBuf,
        /// The repository.
        repository: PathBuf,
    },
    /// A revision without the skill.
    #[error("at that revision {path} contains no skill")]
    NotAtRevision {
        /// The skill's path in the repository.
        path: String,
    },
    /// No Git to ask.
    #[error("{} is not a folder, and git is not installed, so it cannot be looked up as a revision", folder.display())]
    NoGit {
        /// The folder that does not exist.
        folder: PathBuf,
    },
    /// Git failed.
    #[error("git failed: {0}")]
    Git(String),
    /// The store's copy.
    #[error("cannot copy it to {}: {error}", folder.display())]
    Write {
        /// The folder of the copy.
        folder: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The store's copy.
    #[error(transparent)]
    Copy(#[from] FsError),
    /// A copy that differs from its original.
    #[error("its copy {} differs from it: delete the copy", folder.display())]
    Differs {
        /// The folder of the copy.
        folder: PathBuf,
    },
}
