//! What `assay draft directives` takes.

use std::path::PathBuf;

use crate::args::model::ModelFlags;

/// List what skills tell an agent to do
///
/// Finds directives by rules: imperatives, limits, names, rows of tables, commands and templates, each with its lines. With
/// --model, a model reads the skill and says for each what an agent that follows it does, what one does that never saw
/// it, and of which class it is. The result tells whether an evaluation can show what the skill is worth. With --format
/// json, prints a line for each skill.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay draft directives skills/xlsx
  assay draft directives skills --model openai:gpt-5 --price 1.25,10 --max-usd 2 --format json")]
pub(crate) struct DraftDirectivesArgs {
    /// Folders with skills, SKILL.md files, or corpora: JSON Lines, plain, .gz or .zst
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Model that reads the skills, as provider:name [default: none, rules alone]
    #[arg(long, value_name = "PROVIDER:MODEL")]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) flags: ModelFlags,
}
