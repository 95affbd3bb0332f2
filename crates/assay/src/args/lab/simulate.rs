//! What `assay lab simulate` takes.

use clap::ValueEnum;

/// What can be typed.
#[derive(Debug, clap::Args)]
pub(crate) struct SimulateArgs {
    /// Which suites to simulate
    #[arg(long, value_name = "GRID", default_value = "validity")]
    pub(crate) grid: Grid,
    /// Suites of every cell
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub(crate) suites: u64,
    /// The seed; the same one gives the same table
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Threads [default: as many as there are processors]
    #[arg(short = 'j', long = "jobs", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
}

/// A set of suites with a known truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Grid {
    /// The grid that the statistics are held to: docs/STATISTICS.md
    Validity,
}
