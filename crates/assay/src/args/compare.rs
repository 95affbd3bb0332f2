//! What `assay compare` takes.

/// Compare two runs, condition by condition
///
/// Use it after changing a skill or a model. Compares each agent under each condition that both
/// runs have, on the tasks with results in both; at least five are needed, and fewer are reported
/// as excluded. A positive lift means that SECOND scored higher.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay compare my-suite my-suite-2
  assay compare before after --format json")]
pub(crate) struct CompareArgs {
    /// The run to compare with, such as the one before a change
    pub(crate) first: String,
    /// The run to compare, such as the one after a change
    pub(crate) second: String,
}
