//! Why a table is not judged.

use std::io;
use std::path::PathBuf;

use assay_ask::{AskError, CapReached};
use assay_diagnostic::counted;
use assay_table::ReadError;

/// Why a table of items or pairs cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BatchTableError {
    /// The table cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It has no rows.
    #[error("{} has no rows", table.display())]
    Empty {
        /// The table.
        table: PathBuf,
    },
    /// No row has a column.
    #[error("{}: no column `{column}`", table.display())]
    NoColumn {
        /// The table.
        table: PathBuf,
        /// The column.
        column: String,
    },
    /// A row has no value that is needed.
    #[error("{}:{line}: no value in column `{column}`", table.display())]
    NoValue {
        /// The table.
        table: PathBuf,
        /// The line.
        line: u64,
        /// The column.
        column: String,
        /// The columns of the row.
        columns: Vec<String>,
    },
    /// Both results of a row are of one condition.
    #[error("{}:{line}: both results are of the condition {condition}", table.display())]
    OneCondition {
        /// The table.
        table: PathBuf,
        /// The line.
        line: u64,
        /// The condition.
        condition: String,
    },
    /// A recorded choice that is not one of the words for choices.
    #[error("{}:{line}: `{word}` in column `{column}` is not a choice", table.display())]
    NotAChoice {
        /// The table.
        table: PathBuf,
        /// The line.
        line: u64,
        /// What the row has.
        word: String,
        /// The column.
        column: String,
    },
    /// Some rows have a cluster, and others have none.
    #[error("{}:{line}: some rows have a task, and others have none", table.display())]
    MixedClusters {
        /// The table.
        table: PathBuf,
        /// The first row that is unlike those before it.
        line: u64,
    },
}

/// Why a batch is not judged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BatchJudgeError {
    /// A judge has no answer, or may not be asked. Replies so far are stored.
    #[error(transparent)]
    Unanswered(#[from] AskError),
    /// The judges missed items or pairs with known answers.
    #[error("the judge missed {missed} of {asked} planted {}, so no {} counts", kind.name(), kind.counted_by())]
    Blocked {
        /// How many of them were asked.
        asked: usize,
        /// How many were missed.
        missed: usize,
        /// What they are.
        kind: BatchKind,
    },
    /// The file for the result exists.
    #[error("{} exists", out.display())]
    Exists {
        /// The file.
        out: PathBuf,
    },
    /// The file for the result cannot be written.
    #[error("cannot write {}: {error}", out.display())]
    Write {
        /// The file.
        out: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl From<CapReached> for BatchJudgeError {
    fn from(reason: CapReached) -> Self {
        Self::Unanswered(reason.into())
    }
}

/// What a batch consists of, and what is planted in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchKind {
    /// Items, each with a verdict.
    Items,
    /// Pairs of results, each with a choice.
    Pairs,
}

impl BatchKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Items => "items",
            Self::Pairs => "pairs",
        }
    }

    /// So many of them.
    pub(super) fn count(self, number: usize) -> String {
        match self {
            Self::Items => counted(number, "item", "items"),
            Self::Pairs => counted(number, "pair", "pairs"),
        }
    }

    /// What a judge says of one.
    fn counted_by(self) -> &'static str {
        match self {
            Self::Items => "verdict",
            Self::Pairs => "choice",
        }
    }
}
