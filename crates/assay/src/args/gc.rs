//! What `assay gc` takes.

/// Remove unreferenced data and leftovers of crashed runs
///
/// Removes what crashed runs left: sandboxes, temporary files, locks and unfinished attempts of
/// trials. Every `assay run` cleans up as well, so `assay gc` is for a store that is no longer used
/// for runs, and for the options below.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay gc --dry-run
  assay gc --unreferenced --image-budget 20")]
pub(crate) struct GcArgs {
    /// Also remove trials that belong to no run
    #[arg(long)]
    pub(crate) unreferenced: bool,
    /// List what would be removed; remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Remove Docker images built for this store, least recently used first, down to GB gigabytes
    #[arg(long, value_name = "GB")]
    pub(crate) image_budget: Option<f64>,
}
