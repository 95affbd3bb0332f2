//! What `assay compare` takes.

/// Compare two runs, condition by condition
///
/// Use this command after you changed a skill or a model. Each agent in SECOND is compared with the
/// same agent in FIRST, under each condition that is in both runs: one with the same role, whatever its name. Names
/// tell several conditions of a role apart, and those without a role. Only tasks with results in both
/// runs count. A comparison with fewer than five such tasks is excluded. A positive lift means that
/// SECOND scored higher. Disclosure, placement, limits and sandbox that differ between the runs are named, because
/// the difference includes their effects.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay compare my-suite my-suite-2
  assay compare before after --format json")]
pub(crate) struct CompareArgs {
    /// The reference run, such as the one before a change
    pub(crate) first: String,
    /// The run to compare with FIRST, such as the one after a change
    pub(crate) second: String,
}
