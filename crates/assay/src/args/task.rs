//! What `assay task` takes.

use std::path::PathBuf;

use assay_store::ConditionRole;
use clap::Subcommand;

use super::permission::{ForeignFlags, PermissionFlags};

/// Check tasks, or run one task once
///
/// Use these commands while you write tasks, before an experiment depends on them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay task check tasks/
  assay task run tasks/pivot-table --agent oracle")]
pub(crate) struct TaskArgs {
    #[command(subcommand)]
    pub(crate) what: TaskWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TaskWhat {
    Check(TaskCheckArgs),
    Review(TaskReviewArgs),
    Run(TaskRunArgs),
}

/// Check that tasks are valid, solvable and free of leaks
///
/// A leak is text that a skill shares with the task's tests, solution or instruction. Unless
/// --static is given, each task is executed as well: the reference solution must pass the task's
/// tests twice (oracle check), and the tests must fail if nothing is done (no-op check).
/// docs/TASKS.md lists the rules.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay task check tasks/
  assay task check tasks/pivot-table --static --experiment experiment.toml")]
pub(crate) struct TaskCheckArgs {
    /// Tasks, or folders of tasks
    #[arg(required = true, value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,
    /// Check files and leaks only, and execute nothing
    #[arg(long = "static")]
    pub(crate) r#static: bool,
    /// Also apply rules that are off by default
    ///
    /// These rules report many false positives. docs/TASKS.md gives the share of true findings for
    /// each rule.
    #[arg(long)]
    pub(crate) all_rules: bool,
    /// The experiment: a file, or a folder with an experiment.toml
    ///
    /// The experiment defines the sandbox, and the skills that are checked for leaks. Without an
    /// experiment, only skills inside a task are checked for leaks. Each task then runs in
    /// bubblewrap (with this machine's /usr instead of the task's container image), or in Docker if
    /// bubblewrap cannot run the task.
    #[arg(long, value_name = "EXPERIMENT")]
    pub(crate) experiment: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) permissions: ForeignFlags,
    /// Concurrent executions [default: 2]
    #[arg(short = 'j', long = "jobs", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
}

/// Write a benchmark report for each task
///
/// Use it to decide whether a task belongs into a suite. The report has six parts: the task, the
/// oracle, the policy checks, results with and without skills, failures, and a recommendation that
/// follows from rules. Results come from the runs in the store. docs/TASKS.md lists the rules. The
/// report is Markdown; with --format json, one document for all tasks is printed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay task review tasks/pivot-table --experiment experiment.toml
  assay task review tasks/* --run my-suite --out reviews")]
pub(crate) struct TaskReviewArgs {
    /// Tasks, or folders of tasks
    #[arg(required = true, value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,
    /// Read files and results only, and execute nothing
    #[arg(long = "static")]
    pub(crate) r#static: bool,
    /// The experiment: a file, or a folder with an experiment.toml
    ///
    /// The experiment defines the sandbox, and the skills that belong to tasks.
    #[arg(long, value_name = "EXPERIMENT")]
    pub(crate) experiment: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) permissions: ForeignFlags,
    /// Run with results; repeatable [default: all runs of the store that have the task unchanged]
    #[arg(long = "run", value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// Write NAME.md for each task to this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Concurrent executions [default: 2]
    #[arg(short = 'j', long = "jobs", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
}

/// Execute one trial of a task without creating a run
///
/// Use this command to debug a task or an agent. The trial belongs to no run, so no report counts
/// the trial. The agent `oracle` executes the task's reference solution; the agent `nop` does
/// nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay task run tasks/pivot-table --agent oracle
  assay task run tasks/pivot-table --condition curated --keep")]
pub(crate) struct TaskRunArgs {
    /// Folder of the task
    pub(crate) task: PathBuf,
    /// Condition, which defines the skills that the agent gets; `none` means no skills
    #[arg(long, default_value = ConditionRole::None.name())]
    pub(crate) condition: String,
    /// Experiment with agents, skills and sandbox [default: the nearest experiment.toml above the task]
    #[arg(long, value_name = "FILE")]
    pub(crate) experiment: Option<PathBuf>,
    /// Agent to run [default: the first agent of the experiment]
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Number of the repetition to execute
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) repetition: u32,
    /// Keep the folders of the sandbox for inspection
    #[arg(long)]
    pub(crate) keep: bool,
    #[command(flatten)]
    pub(crate) permissions: PermissionFlags,
}
