//! What `assay plan` takes.

use std::path::PathBuf;

/// Forecast an experiment's cost and statistical power
///
/// Use it before `assay run`: it lists the trials, estimates time and cost, and states the minimum detectable effect.
/// Nothing is executed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay plan experiment.toml
  assay plan experiment.toml --lift 0.10 --equivalence-margin 0.05")]
pub(crate) struct PlanArgs {
    /// The experiment: a file, or a folder with an experiment.toml
    pub(crate) experiment: PathBuf,
    /// Compute the tasks needed to detect this lift (e.g. 0.10)
    #[arg(long, value_name = "LIFT", allow_negative_numbers = true)]
    pub(crate) lift: Option<f64>,
    /// Compute the tasks needed for a negligible verdict (e.g. 0.05)
    #[arg(long, value_name = "D")]
    pub(crate) equivalence_margin: Option<f64>,
    /// Check whether a Holm-adjusted p ≤ P is attainable
    #[arg(long = "p", value_name = "P")]
    pub(crate) p: Option<f64>,
    /// Write each trial's specification into DIR, to execute it elsewhere
    #[arg(long, value_name = "DIR")]
    pub(crate) specs: Option<PathBuf>,
}
