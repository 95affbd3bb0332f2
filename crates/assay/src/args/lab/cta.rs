//! What `assay lab cta-2026` takes.

use std::path::PathBuf;

use clap::Subcommand;

use crate::args::audit::SheetArgs;

/// Run the Counterfactual Trace Auditor of 2026
///
/// Reproduces the auditor as published, for comparison. Use `assay audit` for results: pairs of runs that do not
/// differ show as many patterns here. docs/lab/CTA.md has the details.
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
    Sheet(SheetArgs),
}

/// Audit one run with a skill against one without
///
/// Every two runs without the skill are audited as null pairs.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab cta-2026 pairs --with a.jsonl --without b.jsonl --skill SKILL.md
  assay lab cta-2026 pairs --with a.jsonl --without b.jsonl --skill SKILL.md --null c.jsonl --records")]
pub(crate) struct CtaPairsArgs {
    /// Claude Code session log of the run with the skill; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) with: PathBuf,
    /// Session log of the run without the skill
    #[arg(long, value_name = "FILE")]
    pub(crate) without: PathBuf,
    /// The skill's SKILL.md
    #[arg(long, value_name = "FILE")]
    pub(crate) skill: PathBuf,
    /// Null pairs: more session logs without the skill
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) null: Vec<PathBuf>,
    /// Print every divergence of the pairs
    #[arg(long)]
    pub(crate) records: bool,
    /// Exit with 1 if a transcript has defects
    #[arg(long)]
    pub(crate) strict: bool,
}

/// Audit all runs in a folder
///
/// With --format json the result is JSON Lines, one line per pair.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab cta-2026 corpus traces-of-2026
  assay lab cta-2026 corpus traces-of-2026 --tables --format json")]
pub(crate) struct CtaCorpusArgs {
    /// A folder with traces/<arm>/<task>/{with,without}/r<k>/*.jsonl and skills/<task>/SKILL.md
    pub(crate) dir: PathBuf,
    /// Print the paper's three tables
    #[arg(long)]
    pub(crate) tables: bool,
    /// Include every divergence of the pairs in JSON
    #[arg(long)]
    pub(crate) records: bool,
    /// Exit with 1 if a transcript has defects
    #[arg(long)]
    pub(crate) strict: bool,
}
