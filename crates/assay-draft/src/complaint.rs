//! What is wrong with a reply of a model.

use assay_syntax::reply::ReplyError;

/// What is wrong with a reply: a complaint to the model, which is asked again with it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Complaint {
    /// It has no JSON of the form.
    #[error(transparent)]
    Reply(#[from] ReplyError),
    /// It lacks something that is required, or has something that is not allowed.
    #[error("{0}")]
    Content(String),
}

impl Complaint {
    pub(crate) fn new(fault: impl Into<String>) -> Self {
        Self::Content(fault.into())
    }
}
