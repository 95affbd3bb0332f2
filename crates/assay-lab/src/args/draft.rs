//! What `assay lab draft` takes.

use std::path::PathBuf;

use clap::Subcommand;

/// Validate `assay draft` on labeled skills
///
/// docs/DRAFTING.md has the results.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab draft needs labels.jsonl --corpus corpus.jsonl.zst
  assay lab draft needs labels.jsonl --corpus corpus.jsonl.zst --frequencies")]
pub(crate) struct LabDraftArgs {
    #[command(subcommand)]
    pub(crate) what: LabDraftWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabDraftWhat {
    Needs(LabNeedsArgs),
}

/// Compare the needs of skills with the labels of two readers
///
/// Counts only labels on which both readers agree. With --frequencies, also prints the share of the
/// corpus that needs each category, beside the shares that Tessl published.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab draft needs labels.jsonl --corpus corpus.jsonl.zst
  assay lab draft needs labels.jsonl --corpus corpus.jsonl.zst --frequencies --format json")]
pub(crate) struct LabNeedsArgs {
    /// Labels: JSON Lines with `id`, and `a` and `b`, which have 0 or 1 for each category
    pub(crate) labels: PathBuf,
    /// The corpus with these skills: JSON Lines, plain, .gz or .zst
    #[arg(long, value_name = "FILE")]
    pub(crate) corpus: PathBuf,
    /// Print the share of the corpus that needs each category
    #[arg(long)]
    pub(crate) frequencies: bool,
    /// Also print each label that was missed or wrongly found, with its lines
    #[arg(long)]
    pub(crate) errors: bool,
}
