//! The instructions of a skill as units that a run can be checked against.
//!
//! A directive is one checkable demand of one line of a skill: a command to run, a literal to
//! write, a threshold to use, a step to do before another, a thing to avoid. [`extract`] splits a
//! skill into directives without a model; [`ask`] has what a model finds besides.
//! [`crate::adherence`] compares them with runs. [`statement`] has the passages that say what to do, whether or not a
//! run can be checked against them.

use serde::{Deserialize, Serialize};

pub mod ask;
mod clause;
mod code;
mod example;
mod extract;
mod layout;
mod lists;
mod number;
mod order;
mod package;
mod prose;
pub mod statement;
mod table;
mod unit;
mod whole_call;
mod word;

pub(crate) use clause::unless_asked;
pub use extract::{DIRECTIVES, extract, merge};
pub use package::FILE_CAP;

/// A file of a skill's package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFile {
    /// Path relative to the folder of the skill, with slashes: `SKILL.md`, `references/gate.md`.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// A skill as its directives are read from it: the document, and the package's other text files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillPackage {
    /// `name` of the front matter; empty where it has none.
    pub name: String,
    /// `description` of the front matter; empty where it has none.
    pub description: String,
    /// `SKILL.md` first, then the others by path. Scripts are included: what they print counts as
    /// evidence if the agent ran them.
    pub files: Vec<SkillFile>,
}

/// What a directive demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A program, with its subcommand, to run.
    Command,
    /// An option of a command.
    Flag,
    /// A file or folder by name.
    File,
    /// A column, key or field by name.
    Column,
    /// A code, identifier or fixed text.
    Literal,
    /// A layout with variable parts: `<user>-<yyyymmdd>-<nn>`, `yyyy-mm-dd`.
    Format,
    /// A number that decides something, with its unit.
    Threshold,
    /// Two acts in a stated order.
    Order,
    /// A file of the package to run.
    Script,
}

/// Whether a directive demands or forbids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Modality {
    /// It is to be done.
    Required,
    /// It is not to be done.
    Forbidden,
}

/// A pattern in what an agent ran or wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probe {
    /// One call of a program: `git`, `["rebase", "--onto"]`. The words before the first option stand
    /// together in that order, with no others than options between them; the options and the words
    /// after them stand anywhere after these.
    Command {
        /// The program's name, without its folder.
        program: String,
        /// Subcommands and options.
        words: Vec<String>,
    },
    /// A text at word boundaries, in the case of the skill.
    Text(String),
    /// A layout as a regular expression, unanchored.
    Layout(String),
    /// A number near one of these words, on one line or in one statement.
    Number {
        /// Digits as the skill has them, without separators.
        value: String,
        /// Lower-case words of the directive, of which at least one has to be near; empty where the
        /// number is distinctive by itself.
        near: Vec<String>,
    },
    /// A path of the package: run, sourced or imported.
    Script(String),
    /// `first` before `then`; of what is forbidden, `first` whose output goes into `then`.
    Sequence {
        /// What comes first.
        first: Box<Probe>,
        /// What follows.
        then: Box<Probe>,
    },
}

/// One checkable demand of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directive {
    /// What it demands.
    pub kind: Kind,
    /// Whether it demands or forbids.
    pub modality: Modality,
    /// The file of the package that has it.
    pub file: String,
    /// Its line in that file, from 1.
    pub line: usize,
    /// The line's text, trimmed.
    pub text: String,
    /// The part of the line that is checked: `--sum`, `999983`, `config.json.sum`.
    pub subject: String,
    /// Whether it comes from an example, such as a code block that no sentence demands: using it is
    /// evidence, leaving it out is no fault.
    pub example: bool,
    /// The clause under which it applies, in the skill's words; `None` where it always applies.
    pub condition: Option<String>,
    /// Shows that the situation in which it applies arose; `None` where that cannot be seen or is
    /// always so.
    pub applies: Option<Probe>,
    /// Shows that it was followed, or for a forbidden act, that it was violated.
    pub probe: Probe,
    /// Shows that something else was done in place of a required act; empty where nothing does.
    pub instead: Vec<Probe>,
}

#[cfg(test)]
mod tests;
