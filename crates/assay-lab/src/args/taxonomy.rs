//! What `assay lab taxonomy` takes.

use std::path::PathBuf;

use clap::Subcommand;

use assay_cli::args::model::ModelFlags;

/// Sort the skills of a corpus into categories
///
/// `discover` has a model tag skills on three axes, `cluster` makes categories of the tags, and `assign`
/// has a model vote on the category of each skill. `sheet` and `accuracy` measure the result with people.
/// docs/lab/TAXONOMY.md describes the method.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab taxonomy discover corpus.jsonl --model openai:gpt-5 --no-cap --out tags.jsonl
  assay lab taxonomy cluster tags.jsonl --out taxonomy.json")]
pub(crate) struct TaxonomyArgs {
    #[command(subcommand)]
    pub(crate) what: TaxonomyWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TaxonomyWhat {
    Discover(DiscoverArgs),
    Cluster(ClusterArgs),
    Assign(AssignArgs),
    Sheet(CategorySheetArgs),
    Accuracy(AccuracyArgs),
}

/// Tag skills on three axes with a model
///
/// The axes are domain, activity and artifact. Replies are kept in the store, so that a repeated command
/// sends only what is missing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab taxonomy discover corpus.jsonl --model openai:gpt-5 --price 1.25,10 --max-usd 5 --out tags.jsonl
  assay lab taxonomy discover corpus.jsonl.zst --n 500 --model openai:gpt-5 --no-cap --out tags.jsonl")]
pub(crate) struct DiscoverArgs {
    /// The corpus: JSON Lines, plain, .gz or .zst
    #[arg(value_name = "CORPUS")]
    pub(crate) corpus: PathBuf,
    /// Skills to tag, chosen by the seed
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=3_000))]
    pub(crate) n: u32,
    /// Seed of the choice
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// File to write
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Model that tags, as provider:name
    #[arg(long, value_name = "PROVIDER:MODEL")]
    pub(crate) model: String,
    #[command(flatten)]
    pub(crate) flags: ModelFlags,
}

/// Make categories of tags by consensus clustering
///
/// Partitions at five resolutions from twenty starts each decide which skills belong together. The names of
/// the categories in the file may be edited before `assign`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab taxonomy cluster tags.jsonl --out taxonomy.json
  assay lab taxonomy cluster tags.jsonl --smallest 10 --out taxonomy.json --format json")]
pub(crate) struct ClusterArgs {
    /// Tags, as `discover` writes them
    pub(crate) tags: PathBuf,
    /// File to write
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Fewest skills of a category
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) smallest: usize,
    /// Most similar skills that each skill is joined with
    #[arg(long, value_name = "N", default_value_t = 15)]
    pub(crate) neighbours: usize,
    /// Seed of the starts
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

/// Have a model vote on the category of each skill
///
/// Five votes, each with the categories in another order. A skill gets the category that has more than
/// half of them, or none.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab taxonomy assign corpus.jsonl --taxonomy taxonomy.json --model openai:gpt-5 --no-cap --out x.jsonl
  assay lab taxonomy assign some.jsonl --taxonomy taxonomy.json --model ollama:qwen3 --out categories.jsonl")]
pub(crate) struct AssignArgs {
    /// The corpus: JSON Lines, plain, .gz or .zst
    #[arg(value_name = "CORPUS")]
    pub(crate) corpus: PathBuf,
    /// The categories, as `cluster` writes them
    #[arg(long, value_name = "FILE")]
    pub(crate) taxonomy: PathBuf,
    /// File to write
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Model that votes, as provider:name
    #[arg(long, value_name = "PROVIDER:MODEL")]
    pub(crate) model: String,
    #[command(flatten)]
    pub(crate) flags: ModelFlags,
}

/// Sample assignments for people to label
///
/// The sample has as many skills of each category, as far as there are any. `assay judge sheet` adds the file to the store, and people label it in `assay view`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab taxonomy sheet categories.jsonl --corpus corpus.jsonl --taxonomy taxonomy.json --out topics.jsonl
  assay judge sheet topics.jsonl")]
pub(crate) struct CategorySheetArgs {
    /// Categories of skills, as `assign` writes them
    pub(crate) categories: PathBuf,
    /// The corpus: JSON Lines, plain, .gz or .zst
    #[arg(long, value_name = "CORPUS")]
    pub(crate) corpus: PathBuf,
    /// The categories, as `cluster` writes them
    #[arg(long, value_name = "FILE")]
    pub(crate) taxonomy: PathBuf,
    /// Skills to label
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(crate) n: usize,
    /// Seed of the sample
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// File to write
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

/// Compute the accuracy of assignments from labels of people
///
/// Prints the share of right assignments by category and, weighted by the categories' sizes, over all.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab taxonomy accuracy labels.jsonl --categories categories.jsonl
  assay lab taxonomy accuracy labels.jsonl --categories categories.jsonl --format json")]
pub(crate) struct AccuracyArgs {
    /// Labels, as `assay judge labels` writes them
    pub(crate) labels: PathBuf,
    /// Categories of skills, as `assign` writes them
    #[arg(long, value_name = "FILE")]
    pub(crate) categories: PathBuf,
}
