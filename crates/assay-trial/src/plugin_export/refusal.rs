//! Why a task is no case.

use assay_diagnostic::escape;

use crate::TaskRubricError;

/// What of a task a case cannot express.
#[derive(Debug, thiserror::Error)]
pub enum CaseRefusal {
    /// Tests: a case has no program that grades.
    #[error("its tests are a program ({0}): graders execute none")]
    Tests(&'static str),
    /// Several steps.
    #[error("it has several steps: a case has one prompt")]
    Steps,
    /// An environment that is built or started.
    #[error("its environment needs {0}: a case has only files of its work folder")]
    Environment(String),
    /// Test doubles other than MCP servers with recorded results.
    #[error("its test doubles: {0}")]
    Doubles(String),
    /// A path of a container in the instruction.
    #[error("its instruction names {}, a path that a run does not have", escape(.0))]
    Path(String),
    /// A file outside of the work folder.
    #[error("it has files in {}, outside of its work folder", escape(.0))]
    OutsideFile(String),
    /// A file of the work folder that would make a case of it.
    #[error("its work folder contains {}, which the client would read as a case", escape(.0))]
    NestedCase(String),
    /// The rubric cannot be read.
    #[error("tests/rubric.json: {0}")]
    Rubric(#[from] TaskRubricError),
    /// Nothing is left that grades.
    #[error("its rubric has no item with points")]
    NoItems,
    /// An item.
    #[error("item {}: {reason}", escape(.id))]
    Item {
        /// Its id.
        id: String,
        /// Why.
        reason: &'static str,
    },
    /// A set whose score is not a mean.
    #[error("set {}: its score is no mean, and that of a case is one", escape(.0))]
    Set(String),
}
