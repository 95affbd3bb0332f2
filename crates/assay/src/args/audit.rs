//! What `assay audit` takes.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, clap::Args)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    pub(crate) what: AuditWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditWhat {
    /// Audit one run with a skill against one without
    Pairs(PairsArgs),
    /// Show two runs side by side, step against step, and where the skill's text went; also --format html
    Show(ShowArgs),
    /// Audit all runs of a folder, or of `assay run`; with --format json a line of JSON each pair
    Corpus(CorpusArgs),
    /// Draw findings for people to label: comma-separated values, or JSON Lines with --format json
    Sheet(SheetArgs),
    /// Tell how far people's labels agree
    Agreement(AgreementArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct PairsArgs {
    /// The run with the skill: any transcript that `assay trace` reads; compressed or not; - is
    /// standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) with: PathBuf,
    /// The run without it
    #[arg(long, value_name = "FILE")]
    pub(crate) without: PathBuf,
    /// The skill's SKILL.md
    #[arg(long, value_name = "FILE")]
    pub(crate) skill: PathBuf,
    /// The task's prompt: what stands in it is no evidence
    #[arg(long, value_name = "FILE")]
    pub(crate) task: Option<PathBuf>,
    /// What chance does is seen from these: more runs without the skill, of which each two are audited too; or other skills (.md), which
    /// take the right one's place
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) null: Vec<PathBuf>,
    /// Exit with 1 if a trace has defects
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// The run with the skill: a trial of the store by its id, or any transcript that `assay trace` reads, compressed or not; - is
    /// standard input
    #[arg(long, value_name = "TRIAL|FILE")]
    pub(crate) with: PathBuf,
    /// The run without it
    #[arg(long, value_name = "TRIAL|FILE")]
    pub(crate) without: PathBuf,
    /// The skill's SKILL.md [default: the skill that the trial of --with was given, as the store keeps it]
    #[arg(long, value_name = "FILE")]
    pub(crate) skill: Option<PathBuf>,
    /// The task's prompt: what stands in it is no evidence
    #[arg(long, value_name = "FILE")]
    pub(crate) task: Option<PathBuf>,
    /// Write it to a file; one that ends in .html or .json says its format itself
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// End with status 1 where anything about the input was odd
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CorpusArgs {
    /// A folder with traces/<arm>/<task>/{with,without}/r<k>/*.jsonl, skills/<task>/SKILL.md and tasks/<task>.md; or the name of a run in
    /// the store
    pub(crate) dir: PathBuf,
    /// Exit with 1 if a trace has defects
    #[arg(long)]
    pub(crate) strict: bool,
    /// Tell how well the adoption score works on these runs, with lines of skills planted in the controls
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SheetArgs {
    /// The folder, as for corpus
    pub(crate) dir: PathBuf,
    /// Exit with 1 if a trace has defects
    #[arg(long)]
    pub(crate) strict: bool,
    /// Findings to draw, evenly from arms, modes and patterns
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub(crate) size: usize,
    /// The seed; the same one draws the same findings
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Write where each finding is from, which raters must not see, as JSON Lines
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct AgreementArgs {
    /// Labelled sheets; each column that begins with label, and is not blank, is a rater
    #[arg(required = true, value_name = "FILE")]
    pub(crate) sheets: Vec<PathBuf>,
    /// Resamples of the items, for the intervals
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    pub(crate) resamples: u32,
    /// The seed
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
}
