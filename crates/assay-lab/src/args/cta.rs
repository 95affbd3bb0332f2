//! What `assay lab cta-2026` takes.

use std::path::PathBuf;

use clap::Subcommand;

use assay_cli::args::audit::SampleArgs;

/// Run the Counterfactual Trace Auditor of 2026
///
/// Reproduces this published auditor, for comparison. Use `assay audit` for results: this auditor
/// finds as many patterns between two transcripts without the skill as between one with and one
/// without it. docs/lab/CTA.md has the details.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab cta-2026 corpus traces-of-2026 --tables
  assay lab cta-2026 pairs --with a.jsonl --without b.jsonl --skill SKILL.md")]
pub(crate) struct CtaArgs {
    #[command(subcommand)]
    pub(crate) what: CtaWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CtaWhat {
    Pairs(CtaPairsArgs),
    Corpus(CtaCorpusArgs),
    Sheet(CtaSheetArgs),
}

/// Audit one transcript with a skill against one without
///
/// All pairs of transcripts without the skill are audited as well, as a measure of chance.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab cta-2026 pairs --with a.jsonl --without b.jsonl --skill SKILL.md
  assay lab cta-2026 pairs --with a.jsonl --without b.jsonl --skill SKILL.md --null c.jsonl --records")]
pub(crate) struct CtaPairsArgs {
    /// Claude Code session log with the skill; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) with: PathBuf,
    /// Claude Code session log without the skill
    #[arg(long, value_name = "FILE")]
    pub(crate) without: PathBuf,
    /// The skill's SKILL.md
    #[arg(long, value_name = "FILE")]
    pub(crate) skill: PathBuf,
    /// Measure of chance: more session logs without the skill
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) null: Vec<PathBuf>,
    /// Print every divergence of the pairs
    #[arg(long)]
    pub(crate) records: bool,
    /// Exit with 1 if a transcript has defects, such as unreadable lines
    #[arg(long)]
    pub(crate) strict: bool,
}

/// Print a random sample of patterns for people to label
///
/// Prints comma-separated values, or JSON Lines with --format json. Raters fill in the columns
/// label_1, label_2 and so on; `assay audit agreement` reads the labels.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab cta-2026 sheet traces-of-2026 --seed 7
  assay lab cta-2026 sheet traces-of-2026 --size 60 --key key.jsonl")]
pub(crate) struct CtaSheetArgs {
    /// Folder of transcripts, with the layout that `assay audit corpus --help` describes
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) sample: SampleArgs,
}

/// Audit all transcripts in a folder
///
/// With --format json the result is JSON Lines, one line for each pair of transcripts.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab cta-2026 corpus traces-of-2026
  assay lab cta-2026 corpus traces-of-2026 --tables --format json")]
pub(crate) struct CtaCorpusArgs {
    /// A folder with traces/<arm>/<task>/{with,without}/r<k>/*.jsonl and skills/<task>/SKILL.md
    pub(crate) dir: PathBuf,
    /// Print the three tables of the paper
    #[arg(long)]
    pub(crate) tables: bool,
    /// Include every divergence of the pairs in JSON
    #[arg(long)]
    pub(crate) records: bool,
    /// Exit with 1 if a transcript has defects, such as unreadable lines
    #[arg(long)]
    pub(crate) strict: bool,
}
