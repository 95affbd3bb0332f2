//! What `assay show` takes.

#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// A run's name, or the beginning of a trial's id
    pub(crate) what: String,
}
