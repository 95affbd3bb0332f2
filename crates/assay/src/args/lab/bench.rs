//! What `assay lab bench` takes.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

#[derive(Debug, clap::Args)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub(crate) what: BenchWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchWhat {
    /// The cost of a trial that does nothing, of planning, of resuming, of starting
    Harness {
        /// Trials to execute at each concurrency
        #[arg(long, value_name = "N", default_value_t = 200)]
        trials: u32,
        /// Trials at once; may be given several times
        #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 4, 16])]
        concurrency: Vec<usize>,
        /// Where the trials run
        #[arg(long, value_enum, default_value_t = BenchSandbox::Bubblewrap)]
        sandbox: BenchSandbox,
        /// The image that trials in Docker start from; it is not pulled
        #[arg(long, value_name = "NAME", default_value = "base:bookworm")]
        image: String,
    },
    /// The funnel over a synthetic corpus: time, and memory
    Corpus(CorpusBenchArgs),
    /// Measure the safety rules on sets of harmful and harmless packages
    #[command(
        after_help = "FOLDER holds a folder per set: gt-malicious, gt-benign, inject-obv, own. A set holds a folder per package.\nspans.json beside the sets tells where injected lines stand. Nothing is executed or fetched.\n\nExamples:\n  assay lab bench safety sets\n  assay lab bench safety sets --format json"
    )]
    Safety {
        /// Folder with the sets
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
    },
    /// What the gateway adds to a model's first byte, and the memory of many streams at once
    Gateway {
        /// Requests, direct and through the gateway each
        #[arg(long, value_name = "N", default_value_t = 1000)]
        requests: usize,
        /// Streams at once
        #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u16).range(1..=900))]
        streams: u16,
        /// Size of a request's system text, in kB
        #[arg(long, value_name = "N", default_value_t = 32)]
        kilobytes: usize,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchSandbox {
    Bubblewrap,
    Docker,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CorpusBenchArgs {
    /// Records to make and sift
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub(crate) records: u64,
}
