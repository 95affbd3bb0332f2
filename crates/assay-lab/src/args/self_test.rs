//! What `assay lab self-test` takes.

use std::path::PathBuf;

/// Measure the error rates of lint's safety rules
///
/// Plants known attacks and harmless look-alikes in clean skills, and counts which attacks the
/// rules miss and which look-alikes they report. docs/SAFETY.md describes the method.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab self-test
  assay lab self-test skills --seed 7 --repetitions 5")]
pub(crate) struct SelfTestArgs {
    /// Skills to plant attacks in [default: a built-in set]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Seed for the choice of skills and positions
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Times that each attack is planted in each way
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) repetitions: u16,
}
