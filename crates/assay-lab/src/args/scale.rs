//! What `assay lab scale` takes.

/// Estimate what evaluating a whole library costs
///
/// Arithmetic, not a measurement: the trials, the money, the machines and the store of a library's evaluation, as each
/// way of saving trials is added. The defaults are the inputs of docs/lab/scale.md, which says where each is from.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab scale
  assay lab scale --skills 5000 --tasks 200 --usd 0.5 --wait-seconds 600")]
pub(crate) struct ScaleArgs {
    /// Skills in the library
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub(crate) skills: u64,
    /// Tasks
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub(crate) tasks: u64,
    /// Repetitions of each task under each condition
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) repetitions: u64,
    /// Tasks of each skill that it was written for
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) relevant: u64,
    /// Share of the trials that sequential verdicts need
    #[arg(long, value_name = "SHARE", default_value_t = 0.41)]
    pub(crate) sequential: f64,
    /// Share of the skills that change between two evaluations
    #[arg(long, value_name = "SHARE", default_value_t = 0.05)]
    pub(crate) changed: f64,
    /// Half-width of the confidence interval for the share of skills that help
    #[arg(long, value_name = "SHARE", default_value_t = 0.01)]
    pub(crate) precision: f64,
    /// Cost of a trial's model, in USD
    #[arg(long, value_name = "AMOUNT", default_value_t = 0.18)]
    pub(crate) usd: f64,
    /// Seconds that a trial takes, most of them waiting for its model
    #[arg(long, value_name = "SECONDS", default_value_t = 300.0)]
    pub(crate) wait_seconds: f64,
    /// Processor seconds of assay for a trial
    #[arg(long, value_name = "SECONDS", default_value_t = 0.021)]
    pub(crate) cpu_seconds: f64,
    /// Files and folders of a trial
    #[arg(long, value_name = "N", default_value_t = 15)]
    pub(crate) files: u64,
    /// Disk space of a trial, in kB
    #[arg(long, value_name = "N", default_value_t = 55.0)]
    pub(crate) kilobytes: f64,
    /// Seconds to read a record that is not in memory
    #[arg(long, value_name = "SECONDS", default_value_t = 0.000_163)]
    pub(crate) read_seconds: f64,
}
