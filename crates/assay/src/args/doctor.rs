//! What `assay doctor` takes.

/// Check the environment and suggest fixes
///
/// Tests the sandboxes, the Docker daemon, API keys, limits and the store. Exits with 3 if no trial can run here.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay doctor
  assay doctor --format json")]
pub(crate) struct DoctorArgs {}
