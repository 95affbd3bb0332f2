//! What `assay run` takes.

use std::path::PathBuf;

use super::permission::PermissionFlags;

/// What executes trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ExecutorFlag {
    /// This process
    Local,
    /// `assay worker`, on any machine
    Workers,
    /// `assay worker`, started by Slurm
    Slurm,
}

/// Run an experiment: agents with and without skills
///
/// Executes every trial that has no result in the store, retries trials that ended in an
/// infrastructure error, and prints the report. You can interrupt the command at any time; the next
/// `assay run` resumes. The run is named after the experiment. A changed experiment gets a new run,
/// whose name has a number appended (my-suite-2).
///
/// Before the trials, each task is checked once: the reference solution must pass the task's tests
/// (oracle check), and the tests must fail if nothing is done (no-op check). Tasks that fail a check
/// are excluded.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
#[command(after_help = "Examples:
  assay run experiment.toml --dry-run
  assay run experiment.toml --jobs 8 --max-usd 20
  assay run experiment.toml --executor slurm --jobs 64 --sbatch '--partition=long --mem=4G'")]
pub(crate) struct RunArgs {
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
    /// Run only the trials that match, such as task=pivot*,agent=claude; repeatable
    ///
    /// KEY is task, condition, agent or repetition. Names may contain *. A trial must match every
    /// key that is given. If a key is given several times, one of the key's values must match.
    #[arg(long, value_name = "KEY=VALUE,…", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Print what would be run, and run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) permissions: PermissionFlags,
    /// Do not call the models of CLI agents; use recorded replies
    ///
    /// DIR is the store that contains the recorded replies. The built-in agent `loop` is not
    /// replayed: it still calls its model.
    #[arg(long, value_name = "DIR")]
    pub(crate) replay: Option<PathBuf>,
    /// Concurrent trials [default: as in the experiment]
    #[arg(short = 'j', long = "jobs", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// What executes the trials: threads of this process, or workers
    ///
    /// With `workers`, this process plans, checks and reports, and `assay worker` executes the
    /// trials, on any number of machines that have the store, the tasks and the skills in the same
    /// folders. If this process ends, workers finish what it has begun.
    ///
    /// With `slurm`, this process submits workers as a job array of --jobs tasks, each with one
    /// trial at a time, and submits further ones in place of those that are lost. Started again, in
    /// any shell of the cluster, it follows the workers that are in the queue.
    #[arg(long, value_name = "EXECUTOR", default_value = "local", conflicts_with = "replay")]
    pub(crate) executor: ExecutorFlag,
    /// Options of sbatch, in one string; with --executor slurm
    ///
    /// Slurm's environment variables, such as SBATCH_PARTITION, hold as well.
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    pub(crate) sbatch: Option<String>,
    /// Cancel the Slurm jobs when this process is interrupted [default: they go on]
    #[arg(long)]
    pub(crate) cancel_on_interrupt: bool,
    /// Execute at most N trials now; the next `assay run` resumes
    #[arg(long, value_name = "N")]
    pub(crate) max_trials: Option<usize>,
    /// Spend at most this many US dollars in this invocation
    ///
    /// Each paid model needs a `price` in its [[agents]] table of the experiment. A trial that
    /// would probably exceed the cap is not started. Each request under way sets aside what it may
    /// cost (its prompt, and its limit of output tokens, else 8,192), and others wait while that does
    /// not fit: at most one request exceeds the cap. If the provider reports no usage for a reply, its
    /// cost is estimated from characters, and the report says so.
    #[arg(long, value_name = "AMOUNT")]
    pub(crate) max_usd: Option<f64>,
    /// Use at most N tokens in this invocation, input and output
    ///
    /// At most one request exceeds the cap, as with --max-usd. If the provider reports no usage for a
    /// request, it counts as 0 tokens, and the report says so.
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
    /// Allow models of remote providers without --max-usd, --max-tokens or --max-trials
    ///
    /// Without --no-cap, one of these three options is required for such models.
    #[arg(long)]
    pub(crate) no_cap: bool,
    /// Run a design that has too few tasks for any verdict
    ///
    /// A confidence interval needs at least five tasks, or effective clusters of tasks. Without this
    /// option such a design is refused before its first trial, unless --only or --max-trials select
    /// a part of it, or all its trials are recorded.
    #[arg(long)]
    pub(crate) allow_no_verdict: bool,
    /// Do not retry trials that had an infrastructure error in an earlier invocation
    #[arg(long)]
    pub(crate) no_retry: bool,
    /// Use results of imported runs instead of executing their trials
    ///
    /// `assay import run` brings results that others produced. They are no results of this store: without this option
    /// their trials are executed here. With it, the plan records how many results were imported, and so does the
    /// report.
    #[arg(long)]
    pub(crate) reuse_imported: bool,
    /// Skip the preflight, a first request to each model that shows whether the model replies
    #[arg(long)]
    pub(crate) no_preflight: bool,
    /// Skip the oracle and no-op checks of tasks
    ///
    /// Tasks that cannot be solved, or that pass without any work, are then not detected.
    #[arg(long)]
    pub(crate) no_checks: bool,
}
