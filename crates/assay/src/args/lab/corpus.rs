//! What `assay lab corpus` takes.

use std::path::PathBuf;

use clap::ValueEnum;

#[derive(Debug, clap::Args)]
pub(crate) struct CorpusArgs {
    #[command(subcommand)]
    pub(crate) what: CorpusWhat,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum CorpusWhat {
    /// Make a corpus of folders, Git checkouts and other corpora: one record a package
    Build(BuildArgs),
    /// Take strays and copies out of a corpus, in SkillRet's five stages, with a ledger
    Funnel(FunnelArgs),
    /// Compare a ledger with what the records of a corpus say of themselves
    Compare(CompareArgs),
    /// Find near-duplicates, and measure how many are missed
    Near(NearArgs),
    /// Count what a corpus is made of: sizes, structure, files, quality, metrics
    Stats(StatsArgs),
    /// Write each record's document into a folder of its own, for programs that read packages
    Unpack(UnpackArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct BuildArgs {
    /// Folders of skills, Git checkouts, corpora in JSON Lines
    #[arg(required = true, value_name = "SOURCE")]
    pub(crate) sources: Vec<PathBuf>,
    /// Where to write the corpus; `-` for standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, clap::Args)]
pub(crate) struct FunnelArgs {
    /// The corpus: JSON Lines, plain, .gz or .zst; `-` for standard input
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// Where to write a line for every record removed: id, stage, reason, survivor
    #[arg(long, value_name = "FILE")]
    pub(crate) ledger: Option<PathBuf>,
    /// What the stages ask
    #[arg(long, value_name = "NAME", default_value = "corpus")]
    pub(crate) rules: RulesName,
    /// Which stage comes first [default: paper for the corpus's rules, code for SkillRet's]
    #[arg(long, value_name = "NAME")]
    pub(crate) order: Option<OrderName>,
    /// Queries whose `gold_ids` survive their copies: JSON Lines; the corpus's rules only
    #[arg(long, value_name = "FILE")]
    pub(crate) gold: Option<PathBuf>,
}

/// What the stages ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RulesName {
    /// The rules that made the corpus assay is tested on; the licence is as the record has it
    Corpus,
    /// The rules of SkillRet's public code; the licence is as the front matter has it
    Skillret,
}

/// Which stage comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OrderName {
    /// Description, language, licence, content, name and description
    Paper,
    /// Content, name and description, description, language, licence
    Code,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CompareArgs {
    /// The corpus, whose records have `filter_stage` and `dup_of`
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// The ledger that `assay lab corpus funnel` wrote of it
    pub(crate) ledger: PathBuf,
    /// Queries whose `gold_ids` tell which of two twins had to stay: JSON Lines
    #[arg(long, value_name = "FILE")]
    pub(crate) gold: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct NearArgs {
    /// The corpus: JSON Lines, plain, .gz or .zst; `-` for standard input
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// The Jaccard similarity of word 3-grams from which two bodies are near
    #[arg(long, value_name = "S", default_value_t = 0.8)]
    pub(crate) threshold: f64,
    /// Records compared with every other one, to measure the recall
    #[arg(long, value_name = "N", default_value_t = 500)]
    pub(crate) sample: usize,
    /// Where to write the near pairs: JSON Lines of a, b, similarity
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct StatsArgs {
    /// The corpus: JSON Lines, plain, .gz or .zst; `-` for standard input
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// Where to write the figures as a page with plots that needs nothing beside it
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct UnpackArgs {
    /// The corpus
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// Where to write the folders, as OWNER/REPOSITORY/ID/FOLDER; a new folder, or an empty one
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}
