//! What `assay lab corpus` takes.

use std::path::PathBuf;

use clap::ValueEnum;

/// Build, deduplicate and summarize skill corpora
///
/// A corpus is a JSON Lines file with one record for each skill. docs/lab/CORPUS.md describes the
/// format and the results on public collections.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab corpus build checkouts/ --out corpus.jsonl
  assay lab corpus funnel corpus.jsonl --ledger ledger.jsonl")]
pub(crate) struct CorpusArgs {
    #[command(subcommand)]
    pub(crate) what: CorpusWhat,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum CorpusWhat {
    Build(BuildArgs),
    Funnel(FunnelArgs),
    Compare(CompareArgs),
    Near(NearArgs),
    Sample(SampleArgs),
    Stats(StatsArgs),
    Unpack(UnpackArgs),
}

/// Build a corpus from folders, checkouts and corpora
///
/// Writes one record for each skill. For Git checkouts, records include repository, commit and
/// licence.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab corpus build checkouts/ --out corpus.jsonl
  assay lab corpus build skills old.jsonl.zst --out -")]
pub(crate) struct BuildArgs {
    /// Folders of skills, Git checkouts, corpora in JSON Lines
    #[arg(required = true, value_name = "SOURCE")]
    pub(crate) sources: Vec<PathBuf>,
    /// File for the corpus; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

/// Filter and deduplicate a corpus in SkillRet's five stages
///
/// Removes records by description, language, licence and duplication, and writes each removal to a
/// ledger.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab corpus funnel corpus.jsonl --ledger ledger.jsonl
  assay lab corpus funnel corpus.jsonl.zst --rules skillret --order code")]
pub(crate) struct FunnelArgs {
    /// The corpus: JSON Lines, plain, .gz or .zst; `-` is standard input
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// Write a line for every removed record: id, stage, reason, survivor
    #[arg(long, value_name = "FILE")]
    pub(crate) ledger: Option<PathBuf>,
    /// Which version of the rules to apply
    #[arg(long, value_name = "NAME", default_value = "corpus")]
    pub(crate) rules: RulesName,
    /// Order of the stages [default: paper for the rules `corpus`, code for `skillret`]
    #[arg(long, value_name = "NAME")]
    pub(crate) order: Option<OrderName>,
    /// Queries as JSON Lines: of copies, the one in a query's `gold_ids` is kept; for the rules `corpus`
    #[arg(long, value_name = "FILE")]
    pub(crate) gold: Option<PathBuf>,
}

/// The rules of the stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RulesName {
    /// The rules of the corpus that assay is tested on; licence from the record
    Corpus,
    /// The rules of SkillRet's public code; licence from the front matter
    Skillret,
}

/// The order of the stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OrderName {
    /// Description, language, licence, content, name and description
    Paper,
    /// Content, name and description, description, language, licence
    Code,
}

/// Compare a ledger with the stages recorded in a corpus
///
/// Use it to check the funnel against a corpus that its authors filtered.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab corpus compare corpus.jsonl ledger.jsonl
  assay lab corpus compare corpus.jsonl ledger.jsonl --gold queries.jsonl")]
pub(crate) struct CompareArgs {
    /// The corpus, whose records have `filter_stage` and `dup_of`
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// The ledger written by `assay lab corpus funnel`
    pub(crate) ledger: PathBuf,
    /// Queries as JSON Lines: of copies, the one in a query's `gold_ids` is kept
    #[arg(long, value_name = "FILE")]
    pub(crate) gold: Option<PathBuf>,
}

/// Find near-duplicates and estimate how many are missed
///
/// Compares a sample of the records with every other record for the estimate.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab corpus near corpus.jsonl --out pairs.jsonl
  assay lab corpus near corpus.jsonl --threshold 0.9 --sample 2000")]
pub(crate) struct NearArgs {
    /// The corpus: JSON Lines, plain, .gz or .zst; `-` is standard input
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// Minimum Jaccard similarity of word 3-grams
    #[arg(long, value_name = "S", default_value_t = 0.8)]
    pub(crate) threshold: f64,
    /// Number of records to compare with every other record
    #[arg(long, value_name = "N", default_value_t = 500)]
    pub(crate) sample: usize,
    /// Write the pairs as JSON Lines of a, b, similarity
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// Draw a stratified sample of skills to draft evaluations for
///
/// Strata are the product of the keys, and the sample is allocated to them equally. Skills for which
/// no evaluation can be drafted are excluded, counted and replaced: those with a safety error, with
/// needs that cannot be met on this machine, with unreadable front matter, and copies. The sample
/// has an order and depends on the seed, not on the order of the input.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab corpus sample corpus.jsonl --n 15 --seed 1 --out sample
  assay lab corpus sample corpus.jsonl.zst --n 50 --by category --categories labels.jsonl --out sample")]
pub(crate) struct SampleArgs {
    /// The corpus: JSON Lines, plain, .gz or .zst; `-` is standard input
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// Number of skills to draw
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) n: u32,
    /// Keys of the strata, separated by commas
    #[arg(long, value_name = "KEYS", value_delimiter = ',', default_value = "quality,length,category")]
    pub(crate) by: Vec<SampleKey>,
    /// Categories as JSON Lines of id and category, instead of the records' own
    #[arg(long, value_name = "FILE")]
    pub(crate) categories: Option<PathBuf>,
    /// Seed of the draw and of the order of the sample
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub(crate) seed: u64,
    /// New or empty folder for packages and sample.jsonl; or a file ending in .jsonl for the list alone
    #[arg(long, value_name = "DIR|FILE")]
    pub(crate) out: PathBuf,
}

/// A key of strata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SampleKey {
    /// Terciles of the quality points of `stats`, of 12
    Quality,
    /// Terciles of the words of the body
    Length,
    /// The category of the record, or of --categories; ignored where no skill has one
    Category,
}

/// Summarize a corpus
///
/// Counts sizes, structure, files and quality metrics, with percentiles.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab corpus stats corpus.jsonl
  assay lab corpus stats corpus.jsonl.zst --html stats.html")]
pub(crate) struct StatsArgs {
    /// The corpus: JSON Lines, plain, .gz or .zst; `-` is standard input
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// Write a page with plots
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

/// Write each record of a corpus to a folder as SKILL.md
///
/// For programs that read skills from folders, such as `assay lint`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab corpus unpack corpus.jsonl --out packages
  assay lab corpus unpack corpus.jsonl.zst --out packages --quiet")]
pub(crate) struct UnpackArgs {
    /// The corpus: JSON Lines, plain, .gz or .zst; `-` is standard input
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// New or empty folder; skills go to OWNER/REPOSITORY/ID/FOLDER
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}
