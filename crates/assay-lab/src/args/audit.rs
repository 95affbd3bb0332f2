//! What `assay lab audit` takes.

use std::path::PathBuf;

use clap::Subcommand;

/// Validate `assay audit` and build its data
///
/// docs/AUDIT.md has the results.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab audit rarity corpus.jsonl.zst --out rarity.bin
  assay lab audit figures --shared ../shared")]
pub(crate) struct LabAuditArgs {
    #[command(subcommand)]
    pub(crate) what: LabAuditWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabAuditWhat {
    Rarity(RarityArgs),
    Figures(FiguresArgs),
    Prohibitions(ProhibitionsArgs),
}

/// Build the table of document frequencies
///
/// Counts in how many families of skills each run of one to three tokens occurs. Copies and variants
/// of a skill are one family, and so are the skills of a small repository. The table contains hashes
/// and no text.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab audit rarity corpus.jsonl.zst --out rarity.bin
  assay lab audit rarity corpus.jsonl --large 100 --out rarity.bin")]
pub(crate) struct RarityArgs {
    /// The corpus: JSON Lines, plain, .gz or .zst
    #[arg(value_name = "CORPUS")]
    pub(crate) corpus: PathBuf,
    /// File for the table
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Skills from which on a repository is a collection, whose skills are families of their own
    #[arg(long, value_name = "N", default_value_t = 300)]
    pub(crate) large: usize,
    /// Minimum Jaccard similarity of word 3-grams of variants
    #[arg(long, value_name = "S", default_value_t = 0.6)]
    pub(crate) threshold: f64,
}

/// Print the figures of docs/AUDIT.md
///
/// Reports for each source how well the adoption score separates runs that read the skill from the
/// others, how many directives are found that assay plants in runs without the skill, and how often
/// raters found findings to be true.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab audit figures --shared ../shared own-runs.tar.zst --labels first.jsonl second.jsonl
  assay lab audit figures traces-of-2026 --unseen other-traces")]
pub(crate) struct FiguresArgs {
    /// Data used in development: folders of transcripts, stores, archives of a store (.tar.zst), or
    /// names of runs
    #[arg(value_name = "SOURCE", required_unless_present_any = ["shared", "unseen"])]
    pub(crate) sources: Vec<PathBuf>,
    /// Folder with data/runs/twelve.tar.zst and data/cta, which are used in development
    #[arg(long, value_name = "DIR")]
    pub(crate) shared: Option<PathBuf>,
    /// Data not used in development, in the same forms; repeatable
    ///
    /// Its figures are in the second column, beside those of a source of the same form.
    #[arg(long, value_name = "SOURCE")]
    pub(crate) unseen: Vec<PathBuf>,
    /// Labelled sheets of `assay audit sheet`
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) labels: Vec<PathBuf>,
}

/// Compare the audit with labelled acts under prohibitions
///
/// A line of the labels has an act that a reader wrote to obey or to break a line of a public skill, and what a second reader,
/// who saw one act at a time, calls it. The audit should call the guilty ones violations and no other. Acts that the readers
/// label differently do not count.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab audit prohibitions twins.jsonl --corpus corpus_raw.jsonl.zst
  assay lab audit prohibitions twins.jsonl --corpus corpus_raw.jsonl.zst --list")]
pub(crate) struct ProhibitionsArgs {
    /// Labelled acts, JSON Lines
    #[arg(value_name = "FILE", required = true)]
    pub(crate) labels: Vec<PathBuf>,
    /// The corpus of the skills: JSON Lines, plain, .gz or .zst
    #[arg(long, value_name = "FILE")]
    pub(crate) corpus: PathBuf,
    /// List the acts that the audit has wrong
    #[arg(long)]
    pub(crate) list: bool,
}
