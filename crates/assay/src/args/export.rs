//! What `assay export` takes.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

use super::permission::ForeignFlags;

/// Export the store's results for other tools
///
/// Use it to analyze trials with DuckDB, Polars, pandas or a spreadsheet. Nothing in the store
/// changes.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay export data --as csv --out tables
  assay export run my-suite --out my-suite.run.tar.zst")]
pub(crate) struct ExportArgs {
    #[command(subcommand)]
    pub(crate) what: ExportWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ExportWhat {
    Data(ExportDataArgs),
    Run(ExportRunArgs),
    Rubric(ExportRubricArgs),
    PluginEval(ExportPluginEvalArgs),
    K8s(ExportK8sArgs),
}

/// Export the objects that execute a run on Kubernetes
///
/// Prints a List for `kubectl apply`: a Job that plans and reports, an indexed Job of workers, a Deployment and a
/// Service of the gateway that keeps the budget, and network policies. Pods share a volume that contains the
/// experiment, its tasks and its skills, and gets the store. API keys are read from Secrets by their names. Nothing
/// is sent to a cluster.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay export k8s experiment.toml --image assay:1 --claim shared --workers 64 > run.json
  assay export k8s experiment.toml --image assay:1 --claim shared --secret keys -- --max-usd 50")]
pub(crate) struct ExportK8sArgs {
    /// The experiment, which names the run; the pods read it from the volume
    #[arg(value_name = "EXPERIMENT")]
    pub(crate) experiment: PathBuf,
    /// Image with assay, bubblewrap and the agents
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: String,
    /// PersistentVolumeClaim that all pods can write to (ReadWriteMany)
    #[arg(long, value_name = "NAME")]
    pub(crate) claim: String,
    /// Where the volume is mounted in the pods
    #[arg(long, value_name = "PATH", default_value = "/shared")]
    pub(crate) mount: String,
    /// Folder of the experiment on the mounted volume [default: the mount itself]
    #[arg(long, value_name = "PATH")]
    pub(crate) folder: Option<String>,
    /// Secret whose entries become environment variables, such as OPENAI_API_KEY; repeatable
    #[arg(long = "secret", value_name = "NAME")]
    pub(crate) secrets: Vec<String>,
    /// Namespace of the objects [default: that of kubectl]
    #[arg(long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// Pods of workers
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub(crate) workers: u16,
    /// Concurrent trials of each worker
    #[arg(short = 'j', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: u16,
    /// Processors that a worker requests
    #[arg(long, value_name = "QUANTITY", default_value = "1")]
    pub(crate) cpu: String,
    /// Memory that a worker requests, and its limit
    #[arg(long, value_name = "QUANTITY", default_value = "4Gi")]
    pub(crate) memory: String,
    /// Run workers as privileged containers, where bubblewrap cannot make namespaces otherwise
    #[arg(long)]
    pub(crate) privileged: bool,
    /// Let workers reach this network, such as that of a model server in the cluster; repeatable
    #[arg(long, value_name = "CIDR")]
    pub(crate) allow: Vec<String>,
    /// Send at most N requests per minute to each provider
    #[arg(long, value_name = "N")]
    pub(crate) requests_per_minute: Option<u32>,
    #[command(flatten)]
    pub(crate) permissions: ForeignFlags,
    /// Further options of `assay run`, such as --max-usd or --no-cap
    #[arg(last = true, value_name = "OPTIONS")]
    pub(crate) options: Vec<String>,
}

/// A format of rubrics that can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RubricFormat {
    /// task.md and criteria.json with a checklist
    Tessl,
    /// The same with `criteria`, as in Adobe's skills
    TesslCriteria,
    /// evals.json
    SkillCreator,
    /// eval.yaml and a file for each task
    Waza,
    /// A JSON file for each task
    #[value(name = "devai")]
    DevAi,
}

/// Export rubrics of tasks
///
/// Writes the instructions and rubrics of tasks with tests/rubric.json in the format of another tool. What the
/// format has no place for is said.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay export rubric tasks/* --as tessl --out scenarios
  assay export rubric tasks/* --as skill-creator --skill notes --out skills/notes")]
pub(crate) struct ExportRubricArgs {
    /// Folders of tasks
    #[arg(required = true, value_name = "TASK")]
    pub(crate) tasks: Vec<PathBuf>,
    /// Format to write
    #[arg(long = "as", value_name = "FORMAT")]
    pub(crate) rubric_format: RubricFormat,
    /// Name of the skill, for formats that state one
    #[arg(long, value_name = "NAME", default_value = "skill")]
    pub(crate) skill: String,
    /// Folder to write to; created if missing
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

/// Export tasks as cases of `claude plugin eval`
///
/// Writes a folder for each task that the format can express: a task that a rubric alone grades, whose environment is
/// no more than files and MCP servers with recorded results. Items become graders whose weights give the rubric's
/// score. Other tasks are listed with the reason; the exit status is 1.
///
/// The client runs scaffold scripts and grants tools such as Write only if its options say so.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay export plugin-eval 'tasks/*' --out my-plugin/evals
  assay export plugin-eval tasks/summary --focus summary.md --out my-plugin/evals")]
pub(crate) struct ExportPluginEvalArgs {
    /// Folders of tasks, or patterns
    #[arg(required = true, value_name = "TASK")]
    pub(crate) tasks: Vec<String>,
    /// Folder of the plugin's cases; created if missing
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// What judges read: last_message, trace, files (a list of names), or the path of a file in the work folder
    #[arg(long, value_name = "WHAT", default_value = "last_message")]
    pub(crate) focus: String,
    /// Tool that cases ask for; repeatable [default: Read, Glob, Grep, Skill, Write, Edit]
    #[arg(long = "tool", value_name = "NAME")]
    pub(crate) tools: Vec<String>,
    /// Most turns of a run
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub(crate) max_turns: u32,
    /// Runs of each case under each arm
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=50))]
    pub(crate) runs: u32,
}

/// Export a run to one file
///
/// The file contains the plan, the experiment, the records, the SKILL.md of each provided skill and
/// the trajectories with the verifiers' output; the folders of tasks with --tasks; no logs of agents.
/// `assay import run` restores it in another store, where `assay report` gives the same report. Values
/// of environment variables named like secrets, and what looks like a key, are removed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay export run my-suite --out my-suite.run.tar.zst
  assay export run my-suite --out my-suite.run.tar.zst --tasks 'tasks/*'
  assay export run my-suite --out small.run.tar.zst --no-trajectories")]
pub(crate) struct ExportRunArgs {
    /// Name of the run
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// File to write
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Include the folders of the run's tasks, among those that PATTERN matches; repeatable
    ///
    /// Only tasks that are the same as in the run are included, without links.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) tasks: Vec<String>,
    /// Leave out trajectories and the verifiers' output: enough for reports, not for audits
    #[arg(long)]
    pub(crate) no_trajectories: bool,
    /// Overwrite an existing file
    #[arg(long)]
    pub(crate) force: bool,
}

/// Export trials as tables
///
/// Writes six files to DIR: trials, tasks, steps (of the trajectories), task_steps (of tasks with several
/// steps), checks (the tests of the verifiers) and exposure (which skills agents saw and opened). docs/EXPORT.md describes each column, with queries that reproduce
/// the figures of `assay report`. Damaged records are listed and left out; the exit status is then 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay export data --as csv --out tables
  assay export data my-suite --as jsonl --out tables --force")]
pub(crate) struct ExportDataArgs {
    /// Names of runs [default: all runs]
    #[arg(value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// Format of the tables
    #[arg(long = "as", value_name = "FORMAT")]
    pub(crate) table_format: ExportFormat,
    /// Folder to write to; created if missing
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Overwrite existing files
    #[arg(long)]
    pub(crate) force: bool,
}

/// The format of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Comma-separated values with a header line
    Csv,
    /// One JSON object per line
    Jsonl,
    /// Apache Parquet
    Parquet,
}
