//! What `assay gc` takes.

/// Remove leftovers of crashed runs and unreferenced data
///
/// Removes leases, sandboxes and temporary files of dead processes, and attempts without a result. `assay run` cleans up
/// as well, so this is for stores that no run uses any more.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay gc --dry-run
  assay gc --unreferenced --image-budget 20")]
pub(crate) struct GcArgs {
    /// Remove trials that no run refers to as well
    #[arg(long)]
    pub(crate) unreferenced: bool,
    /// List what would be removed, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Remove the least recently used images of this store beyond GB gigabytes
    #[arg(long, value_name = "GB")]
    pub(crate) image_budget: Option<f64>,
}
