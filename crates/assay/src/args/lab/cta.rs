//! What `assay lab cta-2026` takes.

use std::path::PathBuf;

use clap::Subcommand;

use crate::args::audit::SheetArgs;

#[derive(Debug, clap::Args)]
pub(crate) struct CtaArgs {
    #[command(subcommand)]
    pub(crate) what: CtaWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CtaWhat {
    /// Audit one run with a skill against one without
    Pairs(CtaPairsArgs),
    /// Audit all runs in a folder
    Corpus(CtaCorpusArgs),
    /// Draw findings for people to label
    Sheet(SheetArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct CtaPairsArgs {
    /// The run with the skill: a session log of Claude Code, compressed or not; - is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) with: PathBuf,
    /// The run without the skill
    #[arg(long, value_name = "FILE")]
    pub(crate) without: PathBuf,
    /// The skill's SKILL.md
    #[arg(long, value_name = "FILE")]
    pub(crate) skill: PathBuf,
    /// More runs without the skill, audited against each other as null pairs
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) null: Vec<PathBuf>,
    /// Print every divergence of the pairs
    #[arg(long)]
    pub(crate) records: bool,
    /// Exit with 1 if a trace has defects
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CtaCorpusArgs {
    /// A folder with traces/<arm>/<task>/{with,without}/r<k>/*.jsonl and skills/<task>/SKILL.md
    pub(crate) dir: PathBuf,
    /// Print the paper's three tables
    #[arg(long)]
    pub(crate) tables: bool,
    /// Include every divergence of the pairs in JSON
    #[arg(long)]
    pub(crate) records: bool,
    /// Exit with 1 if a trace has defects
    #[arg(long)]
    pub(crate) strict: bool,
}
