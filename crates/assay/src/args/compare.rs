//! What `assay compare` takes.

#[derive(Debug, clap::Args)]
pub(crate) struct CompareArgs {
    /// The run compared with
    pub(crate) first: String,
    /// The run compared
    pub(crate) second: String,
}
