//! What `assay judge pairs` takes.

use std::path::PathBuf;

use super::PanelArgs;

/// Compare two results of each task with a language model
///
/// Each row has an instruction and two results, `a` and `b`. The judge is asked in both orders which result is better.
/// A choice counts only with a quotation that occurs in the chosen result. If the choices differ, or one of them
/// does not count, the row is a tie. Printed are wins, ties and losses, the win rate with ties as halves and with
/// ties for the shorter result, the win rate at equal length, and how far the order decides. A judge of a candidate's
/// own family is refused; pairs with known answers are planted, and two misses block the batch. Replies are kept in
/// the store, so that a repeated command sends only what is missing. With --winner and --winner-swapped the figures
/// are those of recorded choices, and nothing is sent.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay judge pairs pairs.jsonl --judge openai:gpt-5 --price 1.25,10 --max-usd 2 --out judged.jsonl
  assay judge pairs pairs.csv --judge anthropic:claude --judge gemini:gemini-3-pro --no-cap --out judged.jsonl
  assay judge pairs recorded.jsonl.zst --winner winner --winner-swapped winner_swapped")]
pub(crate) struct PairsArgs {
    /// Table with a row for each pair
    pub(crate) table: PathBuf,
    /// Model that judges, as provider:name; repeat it for a panel
    #[arg(
        long,
        value_name = "PROVIDER:MODEL",
        required_unless_present = "winner",
        conflicts_with = "winner"
    )]
    pub(crate) judge: Vec<String>,
    /// File to write, as JSON Lines
    #[arg(
        long,
        value_name = "FILE",
        required_unless_present_any = ["dry_run", "winner"],
        conflicts_with = "winner"
    )]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) panel: PanelArgs,
    /// Column with one result
    #[arg(long, value_name = "COLUMN", default_value = "a", help_heading = "Columns")]
    pub(crate) a: String,
    /// Column with the other result
    #[arg(long, value_name = "COLUMN", default_value = "b", help_heading = "Columns")]
    pub(crate) b: String,
    /// Column with what the candidates were told
    #[arg(long, value_name = "COLUMN", default_value = "instruction", help_heading = "Columns")]
    pub(crate) instruction: String,
    /// Column with criteria to compare by [default: criteria, if there is one]
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub(crate) criteria: Option<String>,
    /// Column with the condition of `a` [default: condition_a, if there is one]
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub(crate) condition_a: Option<String>,
    /// Column with the condition of `b` [default: condition_b, if there is one]
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub(crate) condition_b: Option<String>,
    /// Column with the model that made `a` [default: model_a or model, if there is one]
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub(crate) candidate_a: Option<String>,
    /// Column with the model that made `b` [default: model_b or model, if there is one]
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub(crate) candidate_b: Option<String>,
    /// Column whose pairs are not independent [default: task, if there is one]
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub(crate) cluster: Option<String>,
    /// Column with the recorded choice where `a` was shown first
    ///
    /// 1, 2 or tie; also a or b. Both columns name the same result by the same value.
    #[arg(long, value_name = "COLUMN", requires = "winner_swapped", help_heading = "Recorded choices")]
    pub(crate) winner: Option<String>,
    /// Column with the recorded choice where `b` was shown first
    #[arg(long, value_name = "COLUMN", requires = "winner", help_heading = "Recorded choices")]
    pub(crate) winner_swapped: Option<String>,
    /// Column with the judge that chose [default: judge, if there is one]
    #[arg(long, value_name = "COLUMN", requires = "winner", help_heading = "Recorded choices")]
    pub(crate) by: Option<String>,
}
