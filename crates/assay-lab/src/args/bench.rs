//! What `assay lab bench` takes.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

use assay_cli::args::export::ExportFormat;

/// Measure the cost and the error rates of assay itself
///
/// The figures in docs/lab/PERFORMANCE.md and docs/SAFETY.md are from these commands.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab bench harness --trials 200
  assay lab bench gateway")]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub(crate) what: BenchWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchWhat {
    /// Measure the cost of empty trials, planning and resuming
    ///
    /// Executes trials whose agent does nothing, and bare sandboxes for comparison.
    #[command(after_help = "Examples:
  assay lab bench harness --trials 200
  assay lab bench harness --sandbox docker --concurrency 1,4 --trials 24")]
    Harness {
        /// Trials at each concurrency
        #[arg(long, value_name = "N", default_value_t = 200)]
        trials: u32,
        /// Concurrent trials; repeatable
        #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 4, 16])]
        concurrency: Vec<usize>,
        /// Sandbox of the trials
        #[arg(long, value_enum, default_value_t = BenchSandbox::Bubblewrap)]
        sandbox: BenchSandbox,
        /// Base image of trials in Docker; not pulled
        #[arg(long, value_name = "NAME", default_value = "base:bookworm")]
        image: String,
    },
    Corpus(CorpusBenchArgs),
    Export(ExportBenchArgs),
    View(ViewBenchArgs),
    Report(ReportBenchArgs),
    Workers(WorkersBenchArgs),
    /// Measure the safety rules on labelled skills
    ///
    /// FOLDER contains the folders gt-malicious, gt-benign, inject-obv and own, and each of these a
    /// folder for each skill. spans.json beside them gives the lines that were injected. Nothing is
    /// executed or downloaded.
    #[command(after_help = "Examples:
  assay lab bench safety sets
  assay lab bench safety sets --format json")]
    Safety {
        /// Folder with the labelled skills
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
    },
    /// Measure the gateway's latency and memory
    ///
    /// Compares the time to the first byte, direct and through the gateway, and measures memory with many streams.
    #[command(after_help = "Examples:
  assay lab bench gateway
  assay lab bench gateway --requests 5000 --streams 400")]
    Gateway {
        /// Requests, both direct and through the gateway
        #[arg(long, value_name = "N", default_value_t = 1000)]
        requests: usize,
        /// Concurrent streams
        #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u16).range(1..=900))]
        streams: u16,
        /// Size of a request's system prompt, in kB
        #[arg(long, value_name = "N", default_value_t = 32)]
        kilobytes: usize,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchSandbox {
    Bubblewrap,
    Docker,
}

/// Measure the funnel over a synthetic corpus
///
/// Reports time and memory of `assay lab corpus funnel`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab bench corpus
  assay lab bench corpus --records 100000 --format json")]
pub(crate) struct CorpusBenchArgs {
    /// Records in the corpus
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub(crate) records: u64,
}

/// Measure `assay export data` over a store of records
///
/// Writes a store of one run with random outcomes and no trajectories to a temporary folder, about 8 kB per
/// record, and reports the time and peak memory of the export.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab bench export
  assay lab bench export --records 50000 --format json")]
pub(crate) struct ExportBenchArgs {
    /// Records in the store
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub(crate) records: u32,
    /// Format of the tables
    #[arg(long = "as", value_name = "FORMAT", default_value = "csv")]
    pub(crate) table_format: ExportFormat,
}

/// Measure `assay view` on a run of many trials
///
/// Writes a store like that of `assay lab bench export`, and reports the time until the first reply and
/// until the run is loaded, the time of a request once it is, and the time of `assay report` on the same store.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab bench view
  assay lab bench view --records 5000 --format json")]
pub(crate) struct ViewBenchArgs {
    /// Records in the store
    #[arg(long, value_name = "N", default_value_t = 40_000)]
    pub(crate) records: u32,
}

/// Measure `assay report` on a run of many trials
///
/// Writes a store like that of `assay lab bench export`, and reports the time of the first report and the median time of
/// the next five. As root, the kernel's caches are emptied before the first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab bench report
  assay lab bench report --records 5000 --format json")]
pub(crate) struct ReportBenchArgs {
    /// Records in the store
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub(crate) records: u32,
}

/// Measure a run on workers against one process
///
/// Runs trials of a scripted agent that waits, in one process, with workers on this machine and, with --slurm, with
/// workers in Slurm, all with the same number of concurrent trials. Exits with 1 if the comparisons of the reports are
/// not the same except for times.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab bench workers
  assay lab bench workers --slurm --folder /shared")]
pub(crate) struct WorkersBenchArgs {
    /// Trials of each run
    #[arg(long, value_name = "N", default_value_t = 500)]
    pub(crate) trials: u32,
    /// Concurrent trials
    #[arg(short = 'j', long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: u16,
    /// Workers, which share the concurrent trials
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) workers: u16,
    /// How long the agent waits in a trial
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    pub(crate) seconds: f64,
    /// Run the trials with Slurm as well
    #[arg(long)]
    pub(crate) slurm: bool,
    /// Folder for the stores, shared by the nodes [default: the system's temporary folder]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
}
