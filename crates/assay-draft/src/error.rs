//! Why a stage of a draft, or a command beside it, cannot do its work.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use assay_ask::{AskError, CacheError, CapReached};
use assay_skill::corpus::input::InputError;
use assay_store::StoreError;
use assay_table::ReadError;
use assay_trial::{ExperimentError, PlanError, RunError};

/// Why something below a draft failed.
pub type ErrorCause = Box<dyn Error + Send + Sync>;

/// Why a stage of a draft, or a command beside it, cannot do its work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DraftError {
    /// Something cannot be done with a file, such as "lock draft/.lock".
    #[error("cannot {action}: {source}")]
    Io {
        /// What, as the object of "cannot".
        action: String,
        /// Why.
        source: ErrorCause,
    },
    /// A result cannot be written.
    #[error("cannot {action}: {source}")]
    Write {
        /// What, as the object of "cannot".
        action: String,
        /// Why.
        source: ErrorCause,
    },
    /// A file that was given cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ErrorCause,
    },
    /// A file that was given, or was edited, cannot be used.
    #[error(transparent)]
    Input(#[from] InputFault),
    /// A skill cannot be used.
    #[error(transparent)]
    Skill(#[from] SkillFault),
    /// The folder of a draft cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderFault),
    /// A model cannot attempt the tasks.
    #[error(transparent)]
    Solver(#[from] SolverFault),
    /// Nothing of a reply can be used.
    #[error("cannot read the model's {what}: {fault}")]
    Reply {
        /// What it was to contain, such as "ideas".
        what: &'static str,
        /// What is wrong with it.
        fault: String,
    },
    /// The checks of a task cannot be executed.
    #[error("cannot execute the checks of the task {task}: {reason}")]
    Unchecked {
        /// The task.
        task: String,
        /// Why.
        reason: String,
    },
    /// The program that makes the files of a task cannot be executed.
    #[error("cannot run {}: {}", script.display(), assay_diagnostic::chain(&**source))]
    Generator {
        /// The program.
        script: PathBuf,
        /// Why.
        source: ErrorCause,
    },
    /// What the caller provides for the stages failed.
    #[error(transparent)]
    Host(ErrorCause),
    /// The model does not answer.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// Replies cannot be read.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// A cap is required.
    #[error(transparent)]
    Capped(#[from] CapReached),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A corpus cannot be read.
    #[error(transparent)]
    Corpus(#[from] InputError),
    /// A table cannot be read.
    #[error(transparent)]
    Table(#[from] ReadError),
    /// An experiment of the draft cannot be used.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// Its trials cannot be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Its trials cannot be executed.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Why a file that was given, or was edited, cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputFault {
    /// It is not JSON of its form.
    #[error("{}:{line}: {message}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// A file of a draft is not JSON of its form.
    #[error("{}:{line}: {message}", path.display())]
    DraftFile {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// A line of intents has no text.
    #[error("{}:{line}: no `text`", path.display())]
    NoText {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
    },
    /// A line of labels is not of their form.
    #[error("{}:{line}: {message}", path.display())]
    Label {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: u64,
        /// What is wrong.
        message: String,
    },
    /// An input is a link.
    #[error("{} is a link", .0.display())]
    Link(PathBuf),
    /// A folder of inputs has too many files, or none.
    #[error("{} contains {files} files, 1 to {most} are allowed", path.display())]
    Count {
        /// The folder.
        path: PathBuf,
        /// Its files.
        files: usize,
        /// Most that are allowed.
        most: usize,
    },
    /// An input has a name that cannot be shown.
    #[error("{:?} is not an allowed name", .0.display().to_string())]
    Name(PathBuf),
    /// An input is too long.
    #[error("{} has more than {most} bytes", path.display())]
    Length {
        /// The file.
        path: PathBuf,
        /// Most bytes.
        most: u64,
    },
    /// A file has no intent.
    #[error("{} contains no intent", .0.display())]
    NoIntent(PathBuf),
    /// There are too many intents.
    #[error("{count} intents, at most {most} are allowed")]
    Intents {
        /// How many there are.
        count: usize,
        /// Most that are allowed.
        most: usize,
    },
    /// A path does not exist.
    #[error("cannot read {}: it does not exist", .0.display())]
    Absent(PathBuf),
    /// The name of an idea cannot be that of a folder, or occurs twice.
    #[error("{}: {name:?} {what}", path.display())]
    IdeaName {
        /// The file of ideas.
        path: PathBuf,
        /// The name.
        name: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A task cannot be read.
    #[error("cannot read the task {}: {message}", path.display())]
    Task {
        /// Its folder.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// A file of documentation cannot be read, or is too long.
    #[error("cannot read {}: {source}", path.display())]
    Document {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file of documentation is not a text.
    #[error("{} is not a text in UTF-8", .0.display())]
    Binary(PathBuf),
    /// Folders without documentation.
    #[error("the folders contain no documentation")]
    NoDocuments,
    /// A file that was given as documentation is part of a task.
    #[error("{} is in the task {}, so it is not documentation", path.display(), task.display())]
    InTask {
        /// The file.
        path: PathBuf,
        /// The task.
        task: PathBuf,
    },
    /// Runs without a trial that a skill may be written from.
    #[error("the runs have no finished trial without skills that matches")]
    NoTrials,
    /// A run of a pilot with trials that had a skill.
    #[error(
        "{run} has trials with the condition {condition}, and only the baseline decides which tasks stay"
    )]
    NotPilot {
        /// The run.
        run: String,
        /// The condition.
        condition: String,
        /// The experiment that is to be run.
        pilot: PathBuf,
    },
    /// A folder without a skill.
    #[error("no skill in {}", .0.display())]
    NoSkill(PathBuf),
    /// A library without a skill.
    #[error("no skill in {0}")]
    NoLibrary(String),
    /// A pool without a skill.
    #[error("the pool has no skills")]
    EmptyPool,
    /// The parent of a new folder cannot be written to.
    #[error("cannot write to {}: {source}", path.display())]
    Parent {
        /// The parent.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file that would be replaced.
    #[error("{} exists", path.display())]
    Exists {
        /// The file or folder.
        path: PathBuf,
        /// What names another one, such as "--out".
        what: Existing,
    },
}

/// What would be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// The folder of a draft.
    Draft,
    /// The folder of generated skills.
    Skills,
    /// A file of requests.
    Requests,
    /// An experiment of requests.
    Experiment,
}

/// Why a skill cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SkillFault {
    /// Its path cannot be opened.
    #[error("cannot open the skill {}: {source}", path.display())]
    Open {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It has no document that can be read.
    #[error("{} contains no readable SKILL.md", .0.display())]
    Unreadable(PathBuf),
    /// It has safety errors.
    #[error(
        "the skill {} has {}, so nothing is drafted for it",
        assay_diagnostic::clean(name),
        assay_diagnostic::counted(*errors, "safety error", "safety errors")
    )]
    Unsafe {
        /// Its name.
        name: String,
        /// Its path, as it was given.
        path: PathBuf,
        /// How many.
        errors: usize,
    },
    /// Two skills have one name.
    #[error("two of the skills are called {}", assay_diagnostic::clean(.0))]
    Twice(String),
    /// It needs something that nothing replaces.
    #[error("the skill cannot be evaluated here: nothing replaces {}", categories.join(", "))]
    Discarded {
        /// What it needs.
        categories: Vec<String>,
        /// The file with its needs.
        needs: PathBuf,
    },
    /// It is not the one that the draft was begun for.
    #[error("the skill is not the one that {} was drafted for", .0.display())]
    Other(PathBuf),
    /// What the model wrote is no package.
    #[error("the model's skill cannot be read as a package")]
    Generated,
    /// What the model wrote has safety errors.
    #[error(
        "the model wrote a skill with {}, so nothing is kept",
        assay_diagnostic::counted(*.0, "safety error", "safety errors")
    )]
    GeneratedUnsafe(usize),
}

/// Why the folder of a draft cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderFault {
    /// It has no state.
    #[error("{} is not a draft: it has no draft.json", .0.display())]
    NotADraft(PathBuf),
    /// Another command uses it.
    #[error("another command is working on {}{}", root.display(), process(owner))]
    Locked {
        /// The folder.
        root: PathBuf,
        /// The process id of the command; empty if it is unknown.
        owner: String,
    },
}

fn process(owner: &str) -> String {
    if owner.is_empty() { String::new() } else { format!(", process {owner}") }
}

/// Why a model cannot attempt the tasks.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SolverFault {
    /// It is the model that writes the tasks.
    #[error("{0} writes the tasks, so it cannot be their solver")]
    Author(String),
    /// There is a cap, and the price of a model is unknown.
    #[error("a cap in USD needs the price of {0}")]
    NoPrice(String),
    /// Somebody bills for it, and there is no cap.
    #[error("{0} is a paid model, and this draft has no cap")]
    NoCap(String),
    /// The experiment of attempts has another model.
    #[error("{} has another model than {model}", path.display())]
    OtherModel {
        /// The experiment.
        path: PathBuf,
        /// The model that attempts the tasks.
        model: String,
    },
    /// No attempt on a task can be planned.
    #[error("the task {task} cannot be attempted: {reasons}")]
    NotPlanned {
        /// The task.
        task: String,
        /// Why.
        reasons: String,
    },
    /// An attempt has no result.
    #[error("the attempt on the task {task} has no result: {reason}")]
    NoResult {
        /// The task.
        task: String,
        /// Why.
        reason: String,
        /// The experiment of the attempts, in the folder of the draft.
        file: &'static str,
    },
    /// What is left of the cap allows no attempt.
    #[error("attempts stopped at the task {task}: {capped}")]
    Capped {
        /// The task.
        task: String,
        /// Which cap.
        capped: String,
    },
    /// The command was interrupted.
    #[error("interrupted")]
    Interrupted,
}

impl DraftError {
    /// Something that cannot be done with a file; `action` is the object of "cannot".
    pub(crate) fn io(action: impl Into<String>, source: impl Into<ErrorCause>) -> Self {
        Self::Io { action: action.into(), source: source.into() }
    }

    /// A result that cannot be written; `action` is the object of "cannot".
    pub(crate) fn write(action: impl Into<String>, source: impl Into<ErrorCause>) -> Self {
        Self::Write { action: action.into(), source: source.into() }
    }

    /// A file that cannot be read.
    pub(crate) fn read(path: &Path, source: impl Into<ErrorCause>) -> Self {
        Self::Read { path: path.to_owned(), source: source.into() }
    }
}
