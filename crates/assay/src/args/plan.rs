//! What `assay plan` takes.

use std::path::PathBuf;

use super::permission::PermissionFlags;

/// Forecast an experiment's cost and statistical power
///
/// Use this command before `assay run`. It counts the trials, estimates time and cost, and states
/// the minimum detectable effect, which is the smallest lift that the experiment detects with 80%
/// power. Lift is the difference in mean score from the baseline. Nothing is executed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay plan experiment.toml
  assay plan experiment.toml --lift 0.10 --equivalence-margin 0.05
  assay plan experiment.toml --register")]
pub(crate) struct PlanArgs {
    /// The experiment: a file, or a folder with an experiment.toml
    pub(crate) experiment: PathBuf,
    /// File with prices of models for agents without a price [default: assay's list prices]
    ///
    /// Has the format of `assay trace stats --prices`. Unlike it, only models of the experiment are
    /// priced; a model that is not listed has no cost.
    #[arg(long, value_name = "FILE")]
    pub(crate) prices: Option<PathBuf>,
    /// Reuse results of another server: an address, or a `server` name; repeatable
    ///
    /// Results belong to the server that the experiment declares, and those of another server are not
    /// reused. With this option, trials without a result use one of SERVER, and the plan and the report say so.
    /// `unknown` means results of assay 0.1.0 of whose server nothing is known.
    #[arg(long, value_name = "SERVER")]
    pub(crate) same_server: Vec<String>,
    /// Compute how many tasks are needed to detect this lift (0.10 is 10 percentage points)
    ///
    /// Exits with 1 if the experiment has so few tasks that even the best possible result would
    /// not be significant.
    #[arg(long, value_name = "LIFT", allow_negative_numbers = true)]
    pub(crate) lift: Option<f64>,
    /// Compute how many tasks are needed to show that a lift is within ±D (0.05 is 5 percentage points)
    ///
    /// Exits with 1 if the experiment has so few tasks that even the best possible result would
    /// not show this.
    /// The verdict `negligible` in reports does not use D, but the experiment's own `margin`.
    #[arg(long, value_name = "D")]
    pub(crate) equivalence_margin: Option<f64>,
    /// Check whether a Holm-adjusted p-value of at most P is attainable; if not, exit with 1
    #[arg(long = "p", value_name = "P")]
    pub(crate) p: Option<f64>,
    /// Write the plan's digest to a Git tag before the trials
    ///
    /// Reports say whether the tag, `assay-plan/…` in the experiment's repository, is older than the
    /// trials. Its date is that of this machine: push it before `assay run` as evidence for others.
    #[arg(long)]
    pub(crate) register: bool,
    /// Write a file for each trial to DIR, for `assay trial exec` on another machine
    ///
    /// `assay --help` does not list `assay trial`; see `assay trial --help`.
    #[arg(long, value_name = "DIR")]
    pub(crate) specs: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) permissions: PermissionFlags,
}
