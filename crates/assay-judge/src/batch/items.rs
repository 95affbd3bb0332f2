//! Items of a table judged by language models.

use std::collections::BTreeMap;
use std::path::Path;

use assay_ask::AskError;
use assay_diagnostic::counted;
use serde_json::{Map, Value, json};

use super::error::{BatchJudgeError, BatchKind, BatchTableError};
use super::item_requests::ItemGroup;
use super::item_rows::{ItemColumns, ItemRow, read_rows};
use super::output::write_table;
use super::panel::{Batch, BatchForecast, JudgePanel, Judged};
use crate::ask::{Ruling, Undecided, majority};
use crate::cells::row_json;
use crate::score::Verdict;

/// A table of items, and the requests that it makes.
#[derive(Debug)]
pub struct ItemTable {
    rows: Vec<ItemRow>,
    batch: Batch<ItemGroup>,
}

/// Reads a table of items.
///
/// # Errors
/// It cannot be read, has no rows, or a row misses a value.
pub fn read_items(table: &Path, columns: &ItemColumns<'_>) -> Result<ItemTable, BatchTableError> {
    let rows = read_rows(table, columns)?;
    Ok(ItemTable { batch: Batch::of_items(&rows), rows })
}

impl ItemTable {
    /// How many items it has.
    pub fn count_items(&self) -> usize {
        self.rows.len()
    }

    /// The model of each item's result, if it is known.
    pub fn candidates(&self) -> impl Iterator<Item = Option<&str>> + Clone {
        self.rows.iter().map(|row| row.candidate.as_deref())
    }

    /// What judges are to be sent, and what it costs at most.
    ///
    /// # Errors
    /// Stored replies cannot be read.
    pub fn forecast_cost(&self, panel: &JudgePanel) -> Result<BatchForecast, AskError> {
        panel.forecast(&self.batch)
    }

    /// Judges the items. The first failure of a judge ends it; replies so far are stored.
    ///
    /// # Errors
    /// A judge has no answer, or missed planted items.
    pub fn judge_items(&self, panel: &JudgePanel) -> Result<ItemVerdicts<'_>, BatchJudgeError> {
        let judged = panel.judge_all(&self.batch)?;
        judged.check_planted(BatchKind::Items)?;
        let decided =
            judged.rulings.iter().map(|rulings| majority(rulings).unwrap_or_else(no_answer)).collect();
        let judges = panel.names().join(", ");
        Ok(ItemVerdicts { rows: &self.rows, judges, is_repeated: panel.is_repeated(), judged, decided })
    }
}

fn no_answer() -> (Ruling, f64) {
    let ruling = Ruling {
        item: String::new(),
        verdict: Verdict::CannotTell,
        undecided: Some(Undecided::NoAnswer),
        part: None,
        quote: None,
        reason: String::new(),
    };
    (ruling, 0.0)
}

/// The verdicts on the items of a table.
#[derive(Debug)]
pub struct ItemVerdicts<'a> {
    rows: &'a [ItemRow],
    judges: String,
    /// Whether an item is judged more than once.
    is_repeated: bool,
    judged: Judged<Ruling>,
    /// By row: what the majority says, and the share that agrees.
    decided: Vec<(Ruling, f64)>,
}

impl ItemVerdicts<'_> {
    /// Writes the table with the verdicts, as JSON Lines.
    ///
    /// # Errors
    /// The file exists, or cannot be written.
    pub fn write_file(&self, out: &Path) -> Result<(), BatchJudgeError> {
        let row = |(row, (ruling, agreement)): (&ItemRow, &(Ruling, f64))| {
            let mut object: Map<String, Value> = row_json(&row.columns);
            let verdict = match ruling.verdict {
                Verdict::Met => json!(true),
                Verdict::NotMet => json!(false),
                Verdict::CannotTell => json!(null),
                Verdict::Points(points) => json!(points),
            };
            let own = [
                ("verdict", verdict),
                ("undecided", json!(ruling.undecided.map(Undecided::name))),
                ("quote", json!(ruling.quote)),
                ("reason", json!(ruling.reason)),
                ("agreement", json!(agreement)),
                ("judge", json!(self.judges)),
            ];
            object.extend(own.map(|(name, value)| (name.to_owned(), value)));
            object
        };
        write_table(out, self.rows.iter().zip(&self.decided).map(row))
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.decided.iter().filter(|(ruling, _)| ruling.verdict == verdict).count()
    }

    /// Undecided items by their reason.
    fn undecided(&self) -> BTreeMap<&'static str, usize> {
        let mut undecided = BTreeMap::new();
        for why in self.decided.iter().filter_map(|(ruling, _)| ruling.undecided) {
            *undecided.entry(why.name()).or_default() += 1;
        }
        undecided
    }

    /// The mean share of answers that agree with the majority.
    fn agreement(&self) -> f64 {
        self.decided.iter().map(|(_, share)| share).sum::<f64>() / self.decided.len().max(1) as f64
    }

    /// As `assay.judge-items/1`.
    pub fn to_json(&self) -> Value {
        let judged = &self.judged;
        json!({
            "schema": "assay.judge-items/1", "items": self.decided.len(), "met": self.count(Verdict::Met),
            "not_met": self.count(Verdict::NotMet), "cannot_tell": self.count(Verdict::CannotTell),
            "undecided": self.undecided(), "agreement": self.agreement(), "requests": judged.requests,
            "cached": judged.cached, "planted": {"items": judged.planted, "missed": judged.missed},
            "cost_usd": judged.cost_usd, "usage": judged.usage,
        })
    }

    /// Lines with the numbers of verdicts and requests.
    pub fn to_text(&self) -> String {
        let mut text = format!(
            "{}: {} met, {} not met, {} that cannot be told\n",
            counted(self.decided.len(), "item", "items"),
            self.count(Verdict::Met),
            self.count(Verdict::NotMet),
            self.count(Verdict::CannotTell)
        );
        for (why, count) in self.undecided() {
            text.push_str(&format!("  {why}: {count}\n"));
        }
        if self.is_repeated {
            text.push_str(&format!("agreement with the majority: {:.3}\n", self.agreement()));
        }
        let (missed, planted) = (self.judged.missed, self.judged.planted);
        let cost = self.judged.cost_text();
        text.push_str(&format!("{cost}; planted items missed: {missed} of {planted}\n"));
        text
    }
}
