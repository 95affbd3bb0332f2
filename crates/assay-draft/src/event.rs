//! What happens while a draft is made.

use std::path::Path;

use assay_diagnostic::Diagnostic;
use assay_fs::LeftOut;
use assay_safety::Finding;
use assay_skill::corpus::input::BadLine;
use assay_trace::read::TraceError;

use crate::error::DraftError;

/// Something that happened.
#[derive(Debug)]
#[non_exhaustive]
pub enum DraftEvent<'a> {
    /// Something is wrong with a package.
    Diagnostic(&'a Diagnostic),
    /// A skill has a safety error.
    SafetyError(&'a Finding),
    /// Something of a skill is not in its copy.
    NotCopied(&'a LeftOut),
    /// A line of a corpus holds no record.
    BadLine {
        /// The corpus.
        path: &'a Path,
        /// The line.
        line: &'a BadLine,
    },
    /// A corpus has more such lines than are reported.
    BadLines {
        /// The corpus.
        path: &'a Path,
        /// How many there are.
        count: usize,
    },
    /// The document of a skill cannot be read, and the skill is left out.
    UnreadableSkill(&'a DraftError),
    /// A corpus has no record.
    NoRecords(&'a Path),
    /// Skills of a library have one id.
    DuplicateIds(usize),
    /// A transcript cannot be read, and is left out.
    UnreadableTranscript(&'a TraceError),
    /// The transcript of a trial cannot be read, and is left out.
    UnreadableTrial(&'a TraceError),
    /// A path has no transcript.
    NoTranscript(&'a Path),
    /// An intent is longer than a request may be.
    IntentCut {
        /// Where it comes from.
        source: &'a str,
        /// What is kept of it.
        characters: usize,
    },
    /// What skills are written from is longer than a request may be.
    MaterialCut,
    /// A draft goes on with another model.
    OtherModel {
        /// The model that it goes on with.
        model: &'a str,
        /// The model before.
        before: &'a str,
    },
    /// A draft was begun with other prompts.
    OtherPrompts,
    /// The directives of the skill were listed: how many.
    Directives(usize),
    /// No model that is to be measured was asked what it does without the skill.
    NoProbe,
    /// The question about a directive gives its answer away, so it is not asked.
    NotAsked {
        /// The directive.
        directive: &'a str,
        /// How, as a clause.
        reason: &'a str,
    },
    /// The model that is to be measured was asked what it does without the skill.
    Probed {
        /// Directives that it follows anyway.
        known: usize,
        /// Directives that it does not follow.
        unknown: usize,
    },
    /// The directives cannot show what the skill is worth.
    NothingToMeasure {
        /// Why, as a clause.
        reason: &'a str,
        /// Whether tasks are drafted all the same.
        is_forced: bool,
    },
    /// What the model wrote of a task cannot be used.
    Unusable {
        /// The task.
        task: &'a str,
        /// Why.
        reason: &'a str,
    },
    /// A task was written.
    Written(&'a Path),
    /// The checks of a task begin.
    Checking {
        /// The task.
        task: &'a str,
        /// How often the oracle runs.
        oracle_trials: u32,
    },
    /// Others than the author work on a task.
    Working {
        /// The task.
        task: &'a str,
        /// What is done, such as "the work without the skill, 2 of 3, by openai:gpt-5".
        what: &'a str,
    },
    /// An item was left out of a task.
    ItemDropped {
        /// The task.
        task: &'a str,
        /// The item.
        item: &'a str,
        /// Why.
        reason: &'a str,
    },
    /// A draft is to have so few tasks that they rarely decide anything.
    FewTasks(usize),
    /// Ideas are asked for in the place of tasks that fell.
    Refilling {
        /// How many tasks are missing.
        missing: usize,
    },
    /// An idea cannot be used.
    IdeaDropped {
        /// Its name.
        idea: &'a str,
        /// Why.
        reason: &'a str,
    },
    /// A task was accepted.
    Accepted(&'a str),
    /// A task was rejected.
    Rejected {
        /// The task.
        task: &'a str,
        /// Why.
        reason: &'a str,
    },
    /// The model repaired a task.
    Repaired {
        /// The task.
        task: &'a str,
        /// Its repairs so far.
        repairs: usize,
        /// Most repairs of a task.
        most: usize,
    },
    /// No other model than the author's does the work with the skill, or reads the items for fairness.
    NoSecondModel,
    /// The other model is of the author's family.
    SameFamily {
        /// The author.
        author: &'a str,
        /// The other model.
        other: &'a str,
    },
    /// No model attempts the tasks.
    NoSolver,
    /// Another model solved a task.
    Solved {
        /// The task.
        task: &'a str,
        /// The model.
        model: &'a str,
    },
    /// The model that is to be measured attempted a task once without and once with the skill, in this order.
    Piloted {
        /// The task.
        task: &'a str,
        /// Whether it passed.
        passed: [bool; 2],
        /// How many items of directives were met.
        met: [usize; 2],
        /// How many there are.
        of: usize,
    },
    /// A note about trials.
    TrialNote(&'a str),
    /// The experiment does not get the condition `counterfactual`.
    NoCounterfactual(&'static str),
    /// No pilot has measured which tasks are too easy.
    NoHeadroom,
    /// Requests of a kind were accepted.
    Requests {
        /// The kind, as in files.
        source: &'static str,
        /// How many so far.
        accepted: usize,
        /// How many are to be.
        of: u32,
    },
}

/// Hears what happens.
pub trait DraftEvents {
    /// Handles an event.
    fn handle_event(&self, event: &DraftEvent<'_>);
}

impl<F: Fn(&DraftEvent<'_>)> DraftEvents for F {
    fn handle_event(&self, event: &DraftEvent<'_>) {
        self(event);
    }
}
