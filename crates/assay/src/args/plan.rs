//! What `assay plan` takes.

use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct PlanArgs {
    /// The experiment: a file, or a folder with an experiment.toml
    pub(crate) experiment: PathBuf,
    /// A true lift that is to be found, as a fraction: what it takes
    #[arg(long, value_name = "LIFT", allow_negative_numbers = true)]
    pub(crate) lift: Option<f64>,
    /// A margin within which no effect is to be shown, as a fraction: what it takes
    #[arg(long, value_name = "D")]
    pub(crate) equivalence_margin: Option<f64>,
    /// A p value that a gate asks for, after Holm's correction: whether it can be met
    #[arg(long = "p", value_name = "P")]
    pub(crate) p: Option<f64>,
    /// Write each trial's specification into this folder, for executing it elsewhere
    #[arg(long, value_name = "DIR")]
    pub(crate) specs: Option<PathBuf>,
}
