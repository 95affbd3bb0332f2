//! What `assay draft` takes.

mod requests;

use std::path::PathBuf;

use clap::Subcommand;

pub(crate) use self::requests::{PoolName, RequestsArgs};

/// Draft an evaluation from a skill
///
/// `needs` lists what a skill requires of an environment. `requests` writes requests that skills serve, for tests of
/// search, routing and triggering. docs/DRAFTING.md describes the method.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay draft needs skills
  assay draft needs corpus.jsonl.zst --format json")]
pub(crate) struct DraftArgs {
    #[command(subcommand)]
    pub(crate) what: DraftWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DraftWhat {
    Needs(NeedsArgs),
    Requests(Box<RequestsArgs>),
}

/// List what skills require of an environment
///
/// Finds needs of 16 categories in commands, code, front matter and text, and shows the lines that
/// contain them. No model is called. The verdict is `usable`, `double` if test doubles have to
/// replace what the skill needs, or `discard` if nothing can. With --format json, prints a line for
/// each skill.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay draft needs skills/xlsx
  assay draft needs corpus.jsonl.zst --format json")]
pub(crate) struct NeedsArgs {
    /// Folders with skills, SKILL.md files, or corpora: JSON Lines, plain, .gz or .zst
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
}
