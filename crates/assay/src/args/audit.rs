//! What `assay audit` takes.

use std::path::PathBuf;

use clap::Subcommand;

/// Show how a skill changed agents' behavior
///
/// An audit looks for the skill's text in transcripts: what agents wrote, ran and said. It compares
/// transcripts of trials with and without the skill, and reports how far the overlap exceeds what
/// trials without it show by chance. docs/AUDIT.md describes the method.
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

/// Audit one transcript with a skill against one without
///
/// Use it for two transcripts at hand. Without --null there is no measure of chance.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay audit pairs --with a.jsonl --without b.jsonl --skill SKILL.md
  assay audit pairs --with a.jsonl --without b.jsonl --skill SKILL.md --null c.jsonl d.jsonl")]
pub(crate) struct PairsArgs {
    /// Transcript with the skill, in any format that `assay trace` reads; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) with: PathBuf,
    /// Transcript without the skill, in any format that `assay trace` reads; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) without: PathBuf,
    /// The skill's SKILL.md
    #[arg(long, value_name = "FILE")]
    pub(crate) skill: PathBuf,
    /// File with the task's prompt, whose text is not counted as text of the skill
    #[arg(long, value_name = "FILE")]
    pub(crate) task: Option<PathBuf>,
    /// Measure of chance: more transcripts without the skill, or other skills (.md)
    ///
    /// All pairs of transcripts without the skill are audited against each other, and the
    /// transcripts are audited for the other skills.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) null: Vec<PathBuf>,
    /// Exit with 1 if a transcript has defects, such as unreadable lines
    #[arg(long)]
    pub(crate) strict: bool,
}

/// Show two transcripts side by side
///
/// Aligns the steps of both and marks where text of the skill was used. --format html writes one
/// page.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay audit show --with 3f2a91 --without 77be02
  assay audit show --with a.jsonl --without b.jsonl --skill SKILL.md --out pair.html")]
pub(crate) struct ShowArgs {
    /// With the skill: a trial's id, or a transcript; `-` is standard input
    #[arg(long, value_name = "TRIAL|FILE")]
    pub(crate) with: PathBuf,
    /// Without the skill: a trial's id or a transcript
    #[arg(long, value_name = "TRIAL|FILE")]
    pub(crate) without: PathBuf,
    /// The SKILL.md [default: the skill of the trial of --with]
    #[arg(long, value_name = "FILE")]
    pub(crate) skill: Option<PathBuf>,
    /// File with the task's prompt, whose text is not counted as text of the skill
    #[arg(long, value_name = "FILE")]
    pub(crate) task: Option<PathBuf>,
    /// Write to FILE; without --format, its extension (.html, .json) sets the format
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Exit with 1 if a transcript has defects, such as unreadable lines
    #[arg(long)]
    pub(crate) strict: bool,
}

/// Audit all trials of a run, or all transcripts in a folder
///
/// For each task, compares transcripts of agents that had the skill to those of agents that did
/// not. With --format json, the result is JSON Lines: pairs, transcripts and totals, one per line.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay audit corpus my-run
  assay audit corpus traces-of-2026 --check")]
pub(crate) struct CorpusArgs {
    /// Name of a run in the store, or a folder of transcripts
    ///
    /// A folder needs this layout: traces/<arm>/<task>/with/r<k>/*.jsonl,
    /// traces/<arm>/<task>/without/r<k>/*.jsonl and skills/<task>/SKILL.md, where <arm> is any name
    /// and <k> a number. Prompts in tasks/<task>.md are optional.
    #[arg(value_name = "RUN|DIR")]
    pub(crate) dir: PathBuf,
    /// Exit with 1 if a transcript has defects, such as unreadable lines
    #[arg(long)]
    pub(crate) strict: bool,
    /// Validate the adoption score, which measures how much of the skill's text was used
    ///
    /// Reports how well the score separates transcripts in which the agent read the skill from those
    /// without the skill, and whether it finds lines of the skill that assay inserts into the
    /// latter.
    #[arg(long)]
    pub(crate) check: bool,
}

/// Draw findings for people to label
///
/// Use it to measure how often findings are right. Prints comma-separated values, or JSON Lines
/// with --format json. Raters fill in the columns label_1, label_2 and so on; `assay audit
/// agreement` reads them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay audit sheet traces-of-2026 --size 60 --key key.jsonl
  assay lab cta-2026 sheet traces-of-2026 --seed 7")]
pub(crate) struct SheetArgs {
    /// Folder of transcripts, with the layout that `assay audit corpus --help` describes
    pub(crate) dir: PathBuf,
    /// Exit with 1 if a transcript has defects, such as unreadable lines
    #[arg(long)]
    pub(crate) strict: bool,
    /// Number of findings, spread evenly over conditions and kinds of findings
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub(crate) size: usize,
    /// Seed for the draw
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Write where each finding comes from, which raters must not see, as JSON Lines
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
}

/// Measure how far raters agree on labels
///
/// Reads sheets of `assay audit sheet` after they were labelled. Prints the share of equal labels
/// and Cohen's kappa for each pair of raters, and Krippendorff's alpha for all.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay audit agreement sheet.csv
  assay audit agreement ann.csv ben.csv --resamples 10000")]
pub(crate) struct AgreementArgs {
    /// Labelled sheets; every column that begins with `label` and is not blank is a rater
    #[arg(required = true, value_name = "FILE")]
    pub(crate) sheets: Vec<PathBuf>,
    /// Bootstrap resamples for the confidence intervals
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    pub(crate) resamples: u32,
    /// Seed for the bootstrap
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
}
