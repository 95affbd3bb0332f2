//! What surrounds a judgement, and why there is none.

use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use assay_ask::{AskError, AskProgress, CacheError};
use assay_diagnostic::chain;
use assay_gateway::Budget;
use assay_model::{ModelError, ScriptContext};
use assay_store::Cause;

use super::agent::NoAnswer;

/// Why a rubric is not decided.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JudgeError {
    /// A judge does not reply.
    #[error("the judge {judge} gives no reply: {source}")]
    NoReply {
        /// `provider:model`.
        judge: String,
        /// Why.
        source: ModelError,
    },
    /// Its replies have another form than was asked for.
    #[error("cannot read the replies of the judge {judge}: {fault}")]
    Unreadable {
        /// `provider:model`.
        judge: String,
        /// What is wrong with the last one.
        fault: String,
    },
    /// Another reason why it gives no answer.
    #[error(transparent)]
    Ask(AskError),
    /// No answer of a judge that is an agent.
    #[error("the judge {judge} gives no answer: {reason}")]
    Agent {
        /// `provider:model`.
        judge: String,
        /// Why.
        reason: NoAnswer,
    },
    /// The run's budget is spent.
    #[error("{0}")]
    Budget(String),
    /// Replies cannot be read from the store or be stored.
    #[error("{}", chain(.0))]
    Replies(#[from] CacheError),
    /// The judged files cannot be read, or the judgement not be written.
    #[error("cannot read or write what is judged: {0}")]
    Files(#[from] io::Error),
    /// Everything was left out, so that there is no score.
    #[error("every item of the rubric was left out, so there is no score")]
    NoScore,
    /// It was interrupted.
    #[error("interrupted")]
    Cancelled,
}

impl From<AskError> for JudgeError {
    fn from(error: AskError) -> Self {
        match error {
            error if error.is_cancelled() => Self::Cancelled,
            AskError::NoReply { model, source } => Self::NoReply { judge: model, source },
            AskError::Unreadable { model, fault } => Self::Unreadable { judge: model, fault },
            AskError::Capped(reason) => Self::Budget(reason.to_string()),
            AskError::Cache(error) => Self::Replies(error),
            error => Self::Ask(error),
        }
    }
}

impl JudgeError {
    /// The cause in records.
    pub(crate) fn cause(&self) -> Cause {
        match self {
            Self::Budget(_) => Cause::Budget,
            Self::Files(_) | Self::Replies(_) => Cause::Harness,
            _ => Cause::Judge,
        }
    }
}

/// What surrounds a judgement.
#[derive(Clone, Copy)]
pub struct JudgeContext<'a> {
    /// The run's budget, which judges are charged to.
    pub budget: &'a Budget,
    /// Set from outside to stop soon.
    pub cancel: &'a AtomicBool,
    /// A folder for judges that are agents.
    pub scratch: &'a Path,
    /// The place in the experiment, for scripted models.
    pub script: &'a ScriptContext,
    /// The id of the work, which decides where items are planted.
    pub trial: &'a str,
    /// The folder of the work's judgements, where replies are stored as they come.
    pub judgements: &'a Path,
    /// Hears how long judges are waited for.
    pub progress: &'a AskProgress,
}
