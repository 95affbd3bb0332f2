//! What `assay trace` takes.

use std::path::PathBuf;

use clap::Subcommand;

use assay_trace::read::{self, Reader};

/// Convert, show and summarize agent transcripts
///
/// A transcript is what an agent recorded of a session: its messages, tool calls and token counts.
/// Reads those of Claude Code, Codex and other agents and harnesses; docs/TRACES.md lists the
/// formats.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay trace show session.jsonl
  assay trace stats ~/.claude/projects/my-project --skill skills/xlsx")]
pub(crate) struct TraceArgs {
    #[command(subcommand)]
    pub(crate) what: TraceWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TraceWhat {
    Convert(ConvertArgs),
    Show(ShowArgs),
    Stats(StatsArgs),
}

// What is read, and how. A doc comment would become the help of every command that includes it.
#[derive(Debug, clap::Args)]
pub(crate) struct Inputs {
    /// Transcripts: files (also .gz and .zst), folders, or `-` for standard input
    ///
    /// A folder may contain sessions, such as those of a project in ~/.claude/projects, or jobs and
    /// trials of Harbor.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Format of the transcripts [default: detected for each file]
    #[arg(long, value_name = "NAME", value_parser = formats())]
    pub(crate) from: Option<String>,
    /// Exit with 1 if a transcript has defects, such as unreadable lines
    #[arg(long)]
    pub(crate) strict: bool,
}

pub(crate) fn formats() -> clap::builder::PossibleValuesParser {
    read::READERS.into_iter().map(Reader::name).collect::<Vec<_>>().into()
}

/// Convert transcripts to ATIF trajectories
///
/// Use it to read the transcripts of all agents in one JSON format, the Agent Trajectory
/// Interchange Format.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay trace convert session.jsonl
  assay trace convert logs/ --out trajectories")]
pub(crate) struct ConvertArgs {
    #[command(flatten)]
    pub(crate) inputs: Inputs,
    /// Folder for the trajectories [default: standard output, for one transcript]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// Show the steps of a transcript
///
/// Use it to read what an agent did. Long messages and outputs are cut unless --full is given.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay trace show session.jsonl
  assay trace show session.jsonl.zst --full")]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) inputs: Inputs,
    /// Do not cut long messages and outputs
    #[arg(long)]
    pub(crate) full: bool,
}

/// Count steps, calls and tokens, and skill exposure
///
/// With --skill, shows how far the skill got: offered to the agent, advertised to the model,
/// mentioned, opened, or executed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay trace stats logs/*.jsonl --skill skills/xlsx
  assay trace stats session.jsonl --prices prices.toml --format json")]
pub(crate) struct StatsArgs {
    #[command(flatten)]
    pub(crate) inputs: Inputs,
    /// Report the exposure of a skill: its folder or SKILL.md; repeatable
    #[arg(long = "skill", value_name = "SKILL")]
    pub(crate) skills: Vec<PathBuf>,
    /// Treat the transcripts as controls, which should not know the skills of --skill
    ///
    /// Reports those that read a skill nevertheless.
    #[arg(long, requires = "skills")]
    pub(crate) control: bool,
    /// Prices of tokens, as a TOML file
    ///
    /// Each [[price]] table has the keys `model`, `from` (first day on which the prices apply),
    /// `input`, `output`, `cache_read`, `cache_write`, `cache_write_1h` and `above_200k` (a table of
    /// prices for long prompts); prices are in US dollars per million tokens.
    #[arg(long, value_name = "FILE")]
    pub(crate) prices: Option<PathBuf>,
}
