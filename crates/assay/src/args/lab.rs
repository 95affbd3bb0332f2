//! What `assay lab` takes: all that follows is for the program `assay-lab`.

use std::ffi::OsString;

/// Evaluate assay itself and reproduce published results
///
/// For developers of assay and researchers. No command here is needed to evaluate a skill. docs/lab
/// has the results. The commands are in a program of their own, `assay-lab`, which is beside `assay`
/// or on the PATH.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "Examples:
  assay lab simulate --suites 4000
  assay lab search bench --corpus corpus.jsonl --queries queries.jsonl"
)]
pub(crate) struct LabArgs {
    /// A command of the laboratory, and its arguments
    #[arg(value_name = "COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<OsString>,
}
