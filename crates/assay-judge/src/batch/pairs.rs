//! Pairs of results judged by language models, and recorded choices between them.

use std::path::Path;

use assay_ask::AskError;
use assay_stats::pairwise::{Preference, tie_to_shorter};
use serde_json::{Map, Value, json};

use super::error::{BatchJudgeError, BatchKind, BatchTableError};
use super::output::write_table;
use super::pair_figures::{JudgedPair, PairFigures, PlantedCount, figures};
use super::pair_requests::{PairRequest, planted_pairs, slot};
use super::pair_rows::{PairColumns, PairRow, read_recorded_rows, read_rows};
use super::panel::{Batch, BatchForecast, JudgePanel, Judged};
use crate::ask::Undecided;
use crate::cells::row_json;
use crate::pair::{Choice, PairRuling, pair_majority};

/// The name of a panel's majority in the column `judge`.
const MAJORITY: &str = "majority";

/// A table of pairs, and the requests that it makes.
#[derive(Debug)]
pub struct PairTable {
    rows: Vec<PairRow>,
    batch: Batch<PairRequest>,
}

/// Reads a table of pairs.
///
/// # Errors
/// It cannot be read, has no rows, or a row misses a value.
pub fn read_pairs(table: &Path, columns: &PairColumns<'_>) -> Result<PairTable, BatchTableError> {
    let rows = read_rows(table, columns)?;
    Ok(PairTable { batch: Batch::of_pairs(&rows), rows })
}

impl PairTable {
    /// How many pairs it has.
    pub fn count_pairs(&self) -> usize {
        self.rows.len()
    }

    /// The models of the results, two for each pair, if they are known.
    pub fn candidates(&self) -> impl Iterator<Item = Option<&str>> + Clone {
        self.rows.iter().flat_map(|row| row.candidates.iter().map(Option::as_deref))
    }

    /// What judges are to be sent, and what it costs at most.
    ///
    /// # Errors
    /// Stored replies cannot be read.
    pub fn forecast_cost(&self, panel: &JudgePanel) -> Result<BatchForecast, AskError> {
        panel.forecast(&self.batch)
    }

    /// Judges the pairs. The first failure of a judge ends it; replies so far are stored.
    ///
    /// # Errors
    /// A judge has no answer, or missed planted pairs.
    pub fn judge_pairs(&self, panel: &JudgePanel) -> Result<PairChoices<'_>, BatchJudgeError> {
        let judged = panel.judge_all(&self.batch)?;
        judged.check_planted(BatchKind::Pairs)?;
        let judges = panel.names();
        let decided = decide(&judges, &self.rows, &judged);
        let pairs = decided.iter().map(|one| one.pair.clone()).collect();
        let planted = |judge: &str| Some(planted_count(&judges, self.rows.len(), &judged, judge));
        let figures = figures(pairs, planted);
        Ok(PairChoices { rows: &self.rows, judged, decided, figures })
    }
}

/// The choices between the results of a table, and their figures.
#[derive(Debug)]
pub struct PairChoices<'a> {
    rows: &'a [PairRow],
    judged: Judged<PairRuling>,
    decided: Vec<DecidedPair>,
    figures: Vec<PairFigures>,
}

/// What a judge, or the majority of a panel, chose for a row.
#[derive(Debug)]
struct DecidedPair {
    /// The number of the row.
    row: usize,
    pair: JudgedPair,
    /// By order.
    rulings: [PairRuling; 2],
}

/// The choices for each row: those of each judge, and of the majority if there are several.
fn decide(judges: &[String], rows: &[PairRow], judged: &Judged<PairRuling>) -> Vec<DecidedPair> {
    let mut all = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        for judge in deciders(judges) {
            let decided = [false, true].map(|is_swapped| {
                let rulings = rulings_of(judges, judged, slot(number, is_swapped), judge);
                pair_majority(rulings).unwrap_or_else(no_answer)
            });
            let agreement = f64::midpoint(decided[0].1, decided[1].1);
            let rulings = decided.map(|(ruling, _)| ruling);
            let choices = [
                preference(rulings[0].choice, [Preference::A, Preference::B]),
                preference(rulings[1].choice, [Preference::B, Preference::A]),
            ];
            let pair = JudgedPair {
                origin: row.origin.clone(),
                judge: judge.to_owned(),
                choices,
                agreement: Some(agreement),
            };
            all.push(DecidedPair { row: number, pair, rulings });
        }
    }
    all
}

/// The judges, and the majority if there are several.
fn deciders(judges: &[String]) -> impl Iterator<Item = &str> {
    let is_panel = judges.len() > 1;
    judges.iter().map(String::as_str).chain(is_panel.then_some(MAJORITY))
}

/// The rulings of one judge, or of all for the majority. They are by judge and repeat.
fn rulings_of<'a>(
    judges: &[String],
    judged: &'a Judged<PairRuling>,
    slot: usize,
    judge: &str,
) -> &'a [PairRuling] {
    let rulings = &judged.rulings[slot];
    match judges.iter().position(|own| own == judge) {
        Some(at) => rulings.chunks(rulings.len() / judges.len()).nth(at).unwrap_or_default(),
        None => rulings,
    }
}

fn planted_count(judges: &[String], rows: usize, judged: &Judged<PairRuling>, judge: &str) -> PlantedCount {
    let mut count = PlantedCount::default();
    for number in 0..planted_pairs(rows) {
        for (is_swapped, expected) in [(false, Choice::First), (true, Choice::Second)] {
            let rulings = rulings_of(judges, judged, slot(rows + number, is_swapped), judge);
            count.planted += rulings.len();
            count.missed += rulings.iter().filter(|ruling| ruling.choice != expected).count();
        }
    }
    count
}

/// A choice as a preference, with what was shown first and second.
fn preference(choice: Choice, [first, second]: [Preference; 2]) -> Option<Preference> {
    match choice {
        Choice::First => Some(first),
        Choice::Second => Some(second),
        Choice::Tie => Some(Preference::Tie),
        Choice::Undecided => None,
    }
}

fn no_answer() -> (PairRuling, f64) {
    let ruling = PairRuling {
        choice: Choice::Undecided,
        undecided: Some(Undecided::NoAnswer),
        quote: None,
        reason: String::new(),
    };
    (ruling, 0.0)
}

fn word(preference: Preference) -> &'static str {
    match preference {
        Preference::A => "a",
        Preference::B => "b",
        Preference::Tie => "tie",
    }
}

impl DecidedPair {
    /// Its row with the choices.
    fn to_row(&self, rows: &[PairRow]) -> Map<String, Value> {
        let Self { row, pair, rulings } = self;
        let mut object = row_json(&rows[*row].columns);
        let preference = pair.preference();
        let broken = tie_to_shorter(preference, pair.length_difference());
        let [choice, swapped] = pair.choices.map(|choice| json!(choice.map(word)));
        let [why, why_swapped] =
            rulings.each_ref().map(|ruling| json!(ruling.undecided.map(Undecided::name)));
        let lengths = pair.origin.lengths;
        let own = [
            ("preference", json!(word(preference))),
            ("preference_with_ties_broken", json!(broken.map(word))),
            ("winner", choice),
            ("winner_swapped", swapped),
            ("undecided", why),
            ("undecided_swapped", why_swapped),
            ("quote", json!(rulings[0].quote)),
            ("quote_swapped", json!(rulings[1].quote)),
            ("reason", json!(rulings[0].reason)),
            ("reason_swapped", json!(rulings[1].reason)),
            ("length_a", json!(lengths.map(|[a, _]| a))),
            ("length_b", json!(lengths.map(|[_, b]| b))),
            ("agreement", json!(pair.agreement)),
            ("judge", json!(pair.judge)),
        ];
        object.extend(own.map(|(name, value)| (name.to_owned(), value)));
        object
    }
}

impl PairChoices<'_> {
    /// Writes the table with the choices, as JSON Lines.
    ///
    /// # Errors
    /// The file exists, or cannot be written.
    pub fn write_file(&self, out: &Path) -> Result<(), BatchJudgeError> {
        write_table(out, self.decided.iter().map(|one| one.to_row(self.rows)))
    }

    /// As `assay.judge-pairs/1`.
    pub fn to_json(&self) -> Value {
        let judged = &self.judged;
        json!({
            "schema": "assay.judge-pairs/1", "groups": groups_json(&self.figures),
            "requests": judged.requests, "cached": judged.cached, "cost_usd": judged.cost_usd,
            "usage": judged.usage,
        })
    }

    /// Figures by conditions and judge, and the numbers of requests.
    pub fn to_text(&self) -> String {
        format!("{}{}\n", groups_text(&self.figures), self.judged.cost_text())
    }
}

/// The figures of choices that are in a table.
#[derive(Debug)]
pub struct RecordedChoices {
    figures: Vec<PairFigures>,
}

/// Reads choices from two columns: where `a` was shown first, and where `b` was.
///
/// # Errors
/// The table cannot be read, or has something else than choices there.
pub fn read_recorded_pairs(
    table: &Path,
    columns: &PairColumns<'_>,
    winners: [&str; 2],
) -> Result<RecordedChoices, BatchTableError> {
    let rows = read_recorded_rows(table, columns, winners)?;
    let pairs = rows.into_iter().map(|row| JudgedPair {
        origin: row.origin,
        judge: row.judge,
        choices: row.choices,
        agreement: None,
    });
    Ok(RecordedChoices { figures: figures(pairs.collect(), |_| None) })
}

impl RecordedChoices {
    /// As `assay.judge-pairs/1`.
    pub fn to_json(&self) -> Value {
        json!({ "schema": "assay.judge-pairs/1", "groups": groups_json(&self.figures) })
    }

    /// Figures by conditions and judge.
    pub fn to_text(&self) -> String {
        groups_text(&self.figures)
    }
}

fn groups_json(figures: &[PairFigures]) -> Vec<Value> {
    figures.iter().map(PairFigures::to_json).collect()
}

fn groups_text(figures: &[PairFigures]) -> String {
    figures.iter().map(PairFigures::to_text).collect()
}
