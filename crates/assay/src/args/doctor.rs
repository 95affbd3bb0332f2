//! What `assay doctor` takes.

/// Check the environment and suggest fixes
///
/// Checks the sandboxes, their limits (CPUs, memory, processes, disk), the Docker daemon, the
/// store, and whether API keys are set (they are not sent anywhere). Exits with 3 if no trial can run here.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay doctor
  assay doctor --format json")]
pub(crate) struct DoctorArgs {}
