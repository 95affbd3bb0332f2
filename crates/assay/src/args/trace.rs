//! What `assay trace` takes.

use std::path::PathBuf;

use clap::Subcommand;

use assay_trace::read::{self, Reader};

#[derive(Debug, clap::Args)]
pub(crate) struct TraceArgs {
    #[command(subcommand)]
    pub(crate) what: TraceWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TraceWhat {
    /// Write transcripts as ATIF trajectories
    Convert(ConvertArgs),
    /// Show what was said and done, step by step
    Show(ShowArgs),
    /// Count steps, calls and tokens, and tell which skills reached the agent
    Stats(StatsArgs),
}

/// What is read, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct Inputs {
    /// Transcripts: files, also compressed, `-`, and folders: of sessions, such as a project's in `~/.claude/projects`, or of
    /// trials and jobs as Harbor leaves them
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The format [default: told from what stands in the file]
    #[arg(long, value_name = "NAME", value_parser = formats())]
    pub(crate) from: Option<String>,
    /// Exit with 1 if anything about a transcript was odd
    #[arg(long)]
    pub(crate) strict: bool,
}

pub(crate) fn formats() -> clap::builder::PossibleValuesParser {
    read::READERS.into_iter().map(Reader::name).collect::<Vec<_>>().into()
}

#[derive(Debug, clap::Args)]
pub(crate) struct ConvertArgs {
    #[command(flatten)]
    pub(crate) inputs: Inputs,
    /// The folder to write into, a file a transcript [default: standard output, for one]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) inputs: Inputs,
    /// Cut nothing
    #[arg(long)]
    pub(crate) full: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct StatsArgs {
    #[command(flatten)]
    pub(crate) inputs: Inputs,
    /// A skill whose way to the agent is to be told: its folder or its SKILL.md; may be given several times
    #[arg(long = "skill", value_name = "SKILL")]
    pub(crate) skills: Vec<PathBuf>,
    /// The transcripts are controls: say which are contaminated by a skill
    #[arg(long, requires = "skills")]
    pub(crate) control: bool,
    /// What tokens cost: a TOML file with [[price]] tables of model, from (a day), input, output, cache_read and cache_write, in USD
    /// per million
    #[arg(long, value_name = "FILE")]
    pub(crate) prices: Option<PathBuf>,
}
