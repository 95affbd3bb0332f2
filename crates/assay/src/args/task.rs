//! What `assay task` takes.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, clap::Args)]
pub(crate) struct TaskArgs {
    #[command(subcommand)]
    pub(crate) what: TaskWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TaskWhat {
    /// Tell whether tasks can be trusted: their text, leaks between skill and task, solution passes and nothing fails
    Check(TaskCheckArgs),
    /// Execute one task once, outside any run
    Run(TaskRunArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct TaskCheckArgs {
    /// Tasks, or folders that hold tasks
    #[arg(required = true, value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,
    /// Look at the text only, and execute nothing
    #[arg(long = "static")]
    pub(crate) r#static: bool,
    /// Apply opt-in rules as well: they find more, and are often wrong (docs/TASKS.md has their precision)
    #[arg(long)]
    pub(crate) all_rules: bool,
    /// The experiment that says which skills belong to the tasks, and which sandbox they run in [default: bubblewrap
    /// with this machine's own /usr in place of every image]
    #[arg(long, value_name = "FILE")]
    pub(crate) experiment: Option<PathBuf>,
    /// Trials at once [default: 2]
    #[arg(short = 'j', long = "jobs", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TaskRunArgs {
    /// The task's folder
    pub(crate) task: PathBuf,
    /// The condition
    #[arg(long, default_value = "none")]
    pub(crate) condition: String,
    /// The experiment that says agents, skills and sandbox [default: the next experiment.toml above the task]
    #[arg(long, value_name = "FILE")]
    pub(crate) experiment: Option<PathBuf>,
    /// Which agent, by name, instead of the experiment's first: loop, oracle, nop
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Which repetition
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) repetition: u32,
    /// Leave the sandbox's folders for looking at
    #[arg(long)]
    pub(crate) keep: bool,
}
