//! What `assay audit` takes.

use std::path::PathBuf;

use clap::Subcommand;

use super::model::ModelFlags;

/// Show how a skill changed agents' behavior
///
/// An audit splits a skill into directives: single demands that can be checked, such as a command
/// to run or a limit to use. It checks which of them the agent received and which it followed in
/// each trial. Trials without the skill show what agents do anyway. docs/AUDIT.md describes the
/// method.
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
/// Use this command for two transcripts in files. Without --null, the audit cannot say how many of
/// the skill's directives would be followed by chance.
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
    /// File with the task's prompt: directives that it states too do not count
    #[arg(long, value_name = "FILE")]
    pub(crate) task: Option<PathBuf>,
    /// More transcripts without the skill, or other skills (.md), to measure what appears by chance
    ///
    /// The transcripts without the skill are audited against one another, in pairs. All transcripts
    /// are audited for directives of the other skills.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) null: Vec<PathBuf>,
    /// Exit with 1 if a transcript has defects, such as unreadable lines
    #[arg(long)]
    pub(crate) strict: bool,
}

/// Show two trials or transcripts side by side
///
/// Shows outcome and checks of both trials, which of the skill's directives each followed, and
/// their aligned steps. --format html writes one page.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay audit show --with 3f2a91 --without 77be02
  assay audit show --with a.jsonl --without b.jsonl --skill SKILL.md --out pair.html")]
pub(crate) struct ShowArgs {
    /// With the skill: a trial's id or its beginning, or a transcript; `-` is standard input
    #[arg(long, value_name = "TRIAL|FILE")]
    pub(crate) with: PathBuf,
    /// Without the skill: a trial's id or its beginning, or a transcript
    #[arg(long, value_name = "TRIAL|FILE")]
    pub(crate) without: PathBuf,
    /// The SKILL.md [default: the skill of the trial of --with]
    #[arg(long, value_name = "FILE")]
    pub(crate) skill: Option<PathBuf>,
    /// File with the task's prompt: directives that it states too do not count
    #[arg(long, value_name = "FILE")]
    pub(crate) task: Option<PathBuf>,
    /// Write to FILE; its extension (.html, .json) sets the format, unless --format is given
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Exit with 1 if a transcript has defects, such as unreadable lines
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) judge: JudgeArgs,
}

/// Audit all trials of a run, or all transcripts in a folder
///
/// For each task, compares the transcripts with the skill to the transcripts without the skill.
/// Reports whether the skill changed what the agent did, and each directive of the skill that was
/// violated, not followed where checks fail, or never delivered. With --format json, the result is
/// JSON Lines: pairs, transcripts, directives and totals, one per line.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay audit corpus my-run
  assay audit corpus my-run --directives-from openai:gpt-5-mini --price 0.25,2 --max-usd 1
  assay audit corpus my-run --judge openai:gpt-5 --price 1.25,10 --max-usd 2")]
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
    /// Show all directives, each pattern with its test, the adoption of each task, and thresholds
    #[arg(long)]
    pub(crate) details: bool,
    #[command(flatten)]
    pub(crate) directives: DirectivesArgs,
    #[command(flatten)]
    pub(crate) judge: JudgeArgs,
}

// The model that adds directives. A doc comment would become the help of the command that includes it.
#[derive(Debug, clap::Args)]
pub(crate) struct DirectivesArgs {
    /// Chat model that adds directives to those found without a model, as provider:name
    ///
    /// Each skill that is audited is sent once; replies are kept in the store. Directives whose text
    /// is not in the stated line of the skill are ignored.
    #[arg(long, value_name = "PROVIDER:MODEL")]
    pub(crate) directives_from: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct JudgeArgs {
    /// Chat model that judges beside the rules which directives each run followed, as provider:name
    ///
    /// It is told neither condition nor outcome, and has to quote the step that shows its answer, else
    /// that is "cannot tell". Prints a table of judge and rules, their agreement, and differences.
    #[arg(long, value_name = "PROVIDER:MODEL")]
    pub(crate) judge: Option<String>,
    /// Seed for the order of runs and directives in the judge's requests
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) flags: ModelFlags,
}

/// Print a random sample of findings for people to label
///
/// Use the sample to measure how often findings are right. Prints comma-separated values, or JSON
/// Lines with --format json: the task, an instruction of the skill, what the agent did, each with
/// the lines around it, and a claim about them. Raters fill in the columns label_1, label_2 and so
/// on with `true`, `weak` or `false`; `assay audit agreement` reads the labels.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay audit sheet my-run
  assay audit sheet traces-of-2026 store.tar.zst --size 50 --key key.jsonl")]
pub(crate) struct SheetArgs {
    /// Names of runs, folders of transcripts, stores, or archives of a store (.tar.zst)
    #[arg(required = true, value_name = "RUN|DIR|FILE")]
    pub(crate) sources: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) sample: SampleArgs,
}

/// The sample of a sheet.
#[derive(Debug, clap::Args)]
pub struct SampleArgs {
    /// Exit with 1 if a transcript has defects, such as unreadable lines
    #[arg(long)]
    pub strict: bool,
    /// Number of findings, spread evenly over sources and kinds of findings
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub size: usize,
    /// Seed for the random sample
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Write the origin of each finding to FILE, as JSON Lines; raters must not see this file
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
}

/// Measure how well raters agree on labels
///
/// Reads the labelled sheets of `assay audit sheet`. Prints the share of equal labels
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
