//! What `assay draft skill` takes.

use std::path::PathBuf;

use clap::Subcommand;

use crate::args::model::ModelFlags;

/// Write skills with a language model
///
/// From tasks, documentation or recorded runs, to compare them with skills that people wrote. Each command writes
/// skills and a generated.json with their sources. The conditions `generated-from-task`,
/// `generated-from-docs` and `generated-from-runs` of an experiment provide them on all tasks but
/// those that they were written from.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay draft skill from-docs docs/api --model openai:gpt-5 --price 1.25,10 --max-usd 1
  assay draft skill from-runs my-suite --task 'train-*' --model openai:gpt-5 --no-cap")]
pub(crate) struct SkillArgs {
    #[command(subcommand)]
    pub(crate) what: SkillWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SkillWhat {
    #[command(name = "from-task")]
    Task(FromTaskArgs),
    #[command(name = "from-docs")]
    Docs(FromDocsArgs),
    #[command(name = "from-runs")]
    Runs(FromRunsArgs),
}

/// Write skills from instructions and given files of tasks
///
/// The model sees neither the tests nor the solution. Measure the skills on other tasks.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay draft skill from-task train/* --model openai:gpt-5 --price 1.25,10 --max-usd 1
  assay draft skill from-task train/invoice --model openai:gpt-5 --no-cap --out generated/task")]
pub(crate) struct FromTaskArgs {
    /// Folders of tasks
    #[arg(required = true, value_name = "TASK")]
    pub(crate) tasks: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) model: SkillModelArgs,
}

/// Write skills from documentation
///
/// Reads Markdown, text, reStructuredText and HTML. Files of tasks are refused.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay draft skill from-docs docs/api --model openai:gpt-5 --price 1.25,10 --max-usd 1
  assay draft skill from-docs manual.md --model openai:gpt-5 --no-cap --out generated/docs")]
pub(crate) struct FromDocsArgs {
    /// Files, or folders with files
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) model: SkillModelArgs,
}

/// Write skills from recorded runs
///
/// The model sees trials in which the agent had no skill: what it did, whether it passed, and which
/// tests failed. Measure the skills on other tasks.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay draft skill from-runs my-suite --task 'train-*' --model openai:gpt-5 --no-cap
  assay draft skill from-runs pilot --model openai:gpt-5 --price 1.25,10 --max-usd 1")]
pub(crate) struct FromRunsArgs {
    /// Names of runs; `assay show` lists them
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// Only trials of tasks that match; `*` stands for any text; repeatable
    #[arg(long = "task", value_name = "PATTERN")]
    pub(crate) tasks: Vec<String>,
    #[command(flatten)]
    pub(crate) model: SkillModelArgs,
}

/// The model that writes, and where to.
#[derive(Debug, clap::Args)]
pub(crate) struct SkillModelArgs {
    /// Model that writes, as provider:name
    #[arg(long, value_name = "PROVIDER:MODEL")]
    pub(crate) model: String,
    /// New folder for the skills [default: generated/task, generated/docs or generated/runs]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Most skills to write
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=5))]
    pub(crate) skills: u8,
    /// Print the length of the request and its maximum cost, and send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) flags: ModelFlags,
}
