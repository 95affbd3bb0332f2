//! What `assay audit` takes.

use std::path::PathBuf;

use clap::Subcommand;

/// Find what a skill changed in agents' traces
///
/// Compares traces with a skill to traces without it and reports text of the skill that reappears in the agent's
/// actions, beyond what pairs of runs without a skill show by chance. docs/AUDIT.md describes the method.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay audit corpus my-run
  assay audit show --with 3f2a91 --without 77be02 --out pair.html")]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    pub(crate) what: AuditWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditWhat {
    Pairs(PairsArgs),
    Show(ShowArgs),
    Corpus(CorpusArgs),
    Sheet(SheetArgs),
    Agreement(AgreementArgs),
}

/// Audit one run with a skill against one without
///
/// Use it for two transcripts that you have at hand. With --null, differences that chance explains are subtracted.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay audit pairs --with a.jsonl --without b.jsonl --skill SKILL.md
  assay audit pairs --with a.jsonl --without b.jsonl --skill SKILL.md --null c.jsonl d.jsonl")]
pub(crate) struct PairsArgs {
    /// Transcript of the run with the skill, in any format that `assay trace` reads; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) with: PathBuf,
    /// Transcript of the run without the skill
    #[arg(long, value_name = "FILE")]
    pub(crate) without: PathBuf,
    /// The skill's SKILL.md
    #[arg(long, value_name = "FILE")]
    pub(crate) skill: PathBuf,
    /// The task's prompt; text that it contains is not evidence
    #[arg(long, value_name = "FILE")]
    pub(crate) task: Option<PathBuf>,
    /// Null pairs: more transcripts without the skill, or other skills (.md)
    ///
    /// Every two transcripts without the skill are audited against each other; another skill is audited in place of the
    /// right one.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) null: Vec<PathBuf>,
    /// Exit with 1 if a transcript has defects
    #[arg(long)]
    pub(crate) strict: bool,
}

/// Show two runs side by side
///
/// Aligns the steps of both runs and marks where the skill's text was used. --format html writes one page.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay audit show --with 3f2a91 --without 77be02
  assay audit show --with a.jsonl --without b.jsonl --skill SKILL.md --out pair.html")]
pub(crate) struct ShowArgs {
    /// The run with the skill: a trial's id, or a transcript; `-` is standard input
    #[arg(long, value_name = "TRIAL|FILE")]
    pub(crate) with: PathBuf,
    /// The run without the skill
    #[arg(long, value_name = "TRIAL|FILE")]
    pub(crate) without: PathBuf,
    /// The skill's SKILL.md [default: the skill provided to the trial of --with]
    #[arg(long, value_name = "FILE")]
    pub(crate) skill: Option<PathBuf>,
    /// The task's prompt; text that it contains is not evidence
    #[arg(long, value_name = "FILE")]
    pub(crate) task: Option<PathBuf>,
    /// Write to FILE; the ending .html or .json sets the format
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Exit with 1 if a transcript has defects
    #[arg(long)]
    pub(crate) strict: bool,
}

/// Audit all trials of a run, or all traces in a folder
///
/// With --format json the result is JSON Lines, one line per pair.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay audit corpus my-run
  assay audit corpus traces-of-2026 --check")]
pub(crate) struct CorpusArgs {
    /// Name of a run in the store, or a folder of traces
    ///
    /// The folder contains traces/<arm>/<task>/{with,without}/r<k>/*.jsonl, skills/<task>/SKILL.md and tasks/<task>.md.
    pub(crate) dir: PathBuf,
    /// Exit with 1 if a transcript has defects
    #[arg(long)]
    pub(crate) strict: bool,
    /// Measure the score's accuracy by planting lines of skills in the controls
    #[arg(long)]
    pub(crate) check: bool,
}

/// Draw findings for people to label
///
/// Prints comma-separated values, or JSON Lines with --format json. Raters fill in the columns label_1, label_2 and so
/// on; `assay audit agreement` reads them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay audit sheet traces-of-2026 --size 60 --key key.jsonl
  assay lab cta-2026 sheet traces-of-2026 --seed 7")]
pub(crate) struct SheetArgs {
    /// The folder of traces, as for `corpus`
    pub(crate) dir: PathBuf,
    /// Exit with 1 if a transcript has defects
    #[arg(long)]
    pub(crate) strict: bool,
    /// Number of findings, spread evenly over arms, modes and patterns
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub(crate) size: usize,
    /// Seed of the draw
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Write the origin of each finding, which raters must not see, as JSON Lines
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
}

/// Measure the agreement of labels
///
/// Prints the share of equal labels and Cohen's kappa for every two raters, and Krippendorff's alpha for all.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay audit agreement sheet.csv
  assay audit agreement ann.csv ben.csv --resamples 10000")]
pub(crate) struct AgreementArgs {
    /// Labelled sheets; every column that begins with `label` and is not blank is a rater
    #[arg(required = true, value_name = "FILE")]
    pub(crate) sheets: Vec<PathBuf>,
    /// Bootstrap resamples for the intervals
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    pub(crate) resamples: u32,
    /// Seed of the bootstrap
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
}
