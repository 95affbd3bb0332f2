//! What `assay task` takes.

use std::path::PathBuf;

use clap::Subcommand;

/// Check tasks, or run one task once
///
/// Use it while writing tasks, before an experiment depends on them.
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
    Run(TaskRunArgs),
}

/// Check whether tasks can be trusted
///
/// Checks their files, looks for leaks between skill and task, and executes each task: its solution must pass and doing
/// nothing must fail. docs/TASKS.md lists the rules.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay task check tasks/
  assay task check tasks/pivot-table --static --experiment experiment.toml")]
pub(crate) struct TaskCheckArgs {
    /// Tasks, or folders of tasks
    #[arg(required = true, value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,
    /// Check files only, and execute nothing
    #[arg(long = "static")]
    pub(crate) r#static: bool,
    /// Apply opt-in rules as well; docs/TASKS.md lists their precision
    #[arg(long)]
    pub(crate) all_rules: bool,
    /// Experiment with the tasks' skills and sandbox
    ///
    /// Without it, tasks run in bubblewrap, with this machine's /usr in place of every image.
    #[arg(long, value_name = "FILE")]
    pub(crate) experiment: Option<PathBuf>,
    /// Concurrent trials [default: 2]
    #[arg(short = 'j', long = "jobs", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
}

/// Run one task once, outside any run
///
/// Use it to debug a task or an agent. The trial goes into a store of its own, so no report counts it. The agents
/// `oracle` and `nop` play the solution and nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay task run tasks/pivot-table --agent oracle
  assay task run tasks/pivot-table --condition curated --keep")]
pub(crate) struct TaskRunArgs {
    /// Folder of the task
    pub(crate) task: PathBuf,
    /// The condition
    #[arg(long, default_value = "none")]
    pub(crate) condition: String,
    /// Experiment with agents, skills and sandbox [default: the nearest experiment.toml above the task]
    #[arg(long, value_name = "FILE")]
    pub(crate) experiment: Option<PathBuf>,
    /// Agent to run [default: the experiment's first]
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// The repetition
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) repetition: u32,
    /// Keep the sandbox's folders for inspection
    #[arg(long)]
    pub(crate) keep: bool,
}
