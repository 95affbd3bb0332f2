//! What `assay compare` takes.

/// Compare two runs arm by arm
///
/// Use it after a change of a skill or a model. Arms that both runs have are compared on their shared tasks; at least
/// five are needed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay compare my-suite my-suite-2
  assay compare before after --format json")]
pub(crate) struct CompareArgs {
    /// The run to compare with
    pub(crate) first: String,
    /// The run to compare
    pub(crate) second: String,
}
