//! What `assay lab self-test` takes.

use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct SelfTestArgs {
    /// Skills to hide attacks in [default: assay's own]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Seed for the choice of skills and positions
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Times that each attack is planted in each way
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) repetitions: u16,
}
