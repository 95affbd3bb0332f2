//! What `assay gc` takes.

#[derive(Debug, clap::Args)]
pub(crate) struct GcArgs {
    /// Remove trials that no run refers to, too
    #[arg(long)]
    pub(crate) unreferenced: bool,
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Remove images built for this store, least recently used first, until the rest takes no more than this many gigabytes
    #[arg(long, value_name = "GB")]
    pub(crate) image_budget: Option<f64>,
}
