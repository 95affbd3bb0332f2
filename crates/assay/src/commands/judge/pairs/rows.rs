//! The rows of a table of pairs.

use std::collections::BTreeMap;

use assay_stats::pairwise::Preference;
use assay_table::{TableReader, Value};

use crate::args::judge::PairsArgs;
use crate::commands::judge::items::batch::text;
use crate::failure::Failure;

/// What is known of a pair without its judge.
#[derive(Debug, Clone)]
pub(super) struct PairOrigin {
    /// The conditions of `a` and `b`, or the names of their columns.
    pub(super) conditions: [String; 2],
    /// Number of the cluster.
    pub(super) cluster: Option<usize>,
    /// Characters of `a` and `b`.
    pub(super) lengths: Option<[usize; 2]>,
}

/// A row that is judged.
#[derive(Debug)]
pub(super) struct PairRow {
    /// All columns, as read.
    pub(super) columns: Vec<(String, Value)>,
    pub(super) instruction: String,
    pub(super) criteria: String,
    pub(super) results: [String; 2],
    pub(super) candidates: [Option<String>; 2],
    pub(super) origin: PairOrigin,
}

/// A row whose choices are recorded.
#[derive(Debug)]
pub(super) struct RecordedRow {
    pub(super) judge: String,
    /// By order: `a` first, `b` first.
    pub(super) choices: [Option<Preference>; 2],
    pub(super) origin: PairOrigin,
}

/// The columns of one row.
struct Cells<'a> {
    args: &'a PairsArgs,
    line: u64,
    columns: &'a [(String, Value)],
}

impl Cells<'_> {
    fn get(&self, name: &str) -> Option<String> {
        self.columns.iter().find(|(own, _)| own == name).and_then(|(_, value)| text(value))
    }

    fn needed(&self, name: &str) -> Result<String, Failure> {
        self.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.columns.iter().map(|(name, _)| name.as_str()).collect();
            self.invalid(&format!("no value in column `{name}`"))
                .hint(format!("the row has {}", known.join(", ")))
        })
    }

    /// A named column, which must have a value, or one of those that may be there.
    fn optional(&self, named: Option<&String>, defaults: &[&str]) -> Result<Option<String>, Failure> {
        match named {
            Some(name) => self.needed(name).map(Some),
            None => Ok(defaults.iter().find_map(|name| self.get(name))),
        }
    }

    fn invalid(&self, message: &str) -> Failure {
        Failure::bad_input(format!("{}:{}: {message}", self.args.table.display(), self.line))
    }

    fn origin(&self, clusters: &mut Clusters) -> Result<PairOrigin, Failure> {
        let args = self.args;
        let conditions = [
            self.optional(args.condition_a.as_ref(), &["condition_a"])?.unwrap_or_else(|| args.a.clone()),
            self.optional(args.condition_b.as_ref(), &["condition_b"])?.unwrap_or_else(|| args.b.clone()),
        ];
        if conditions[0] == conditions[1] {
            return Err(
                self.invalid(&format!("both results are of the condition {}", clean_name(&conditions[0])))
            );
        }
        let cluster = self.optional(args.cluster.as_ref(), &["task"])?;
        Ok(PairOrigin { conditions, cluster: clusters.number(cluster, self)?, lengths: self.lengths() })
    }

    /// Characters of both results, or the recorded ones.
    fn lengths(&self) -> Option<[usize; 2]> {
        let recorded = |name: &str| self.get(name)?.parse::<usize>().ok();
        let of = |result: &str, length: &str| match self.get(result) {
            Some(text) => Some(text.chars().count()),
            None => recorded(length),
        };
        Some([of(&self.args.a, "length_a")?, of(&self.args.b, "length_b")?])
    }

    fn choice(&self, column: &str) -> Result<Option<Preference>, Failure> {
        let Some(word) = self.get(column) else { return Ok(None) };
        match word.trim().to_lowercase().as_str() {
            "1" | "a" => Ok(Some(Preference::A)),
            "2" | "b" => Ok(Some(Preference::B)),
            "tie" => Ok(Some(Preference::Tie)),
            _ => Err(self
                .invalid(&format!("`{}` in column `{column}` is not a choice", clean_name(&word)))
                .hint("choices are 1, 2 and tie, or a, b and tie; empty if there is none")),
        }
    }
}

fn clean_name(name: &str) -> String {
    assay_report::clean(name).chars().take(100).collect()
}

/// Numbers of clusters by their names. All rows have one, or none has.
#[derive(Default)]
struct Clusters {
    numbers: BTreeMap<String, usize>,
    without: bool,
}

impl Clusters {
    fn number(&mut self, name: Option<String>, cells: &Cells<'_>) -> Result<Option<usize>, Failure> {
        self.without |= name.is_none();
        if self.without && (name.is_some() || !self.numbers.is_empty()) {
            return Err(cells
                .invalid("some rows have a task, and others have none")
                .hint("--cluster names a column that all rows have"));
        }
        Ok(name.map(|name| {
            let next = self.numbers.len();
            *self.numbers.entry(name).or_insert(next)
        }))
    }
}

/// Reads each row of the table.
fn read_all<T>(
    args: &PairsArgs,
    mut row_of: impl FnMut(Cells<'_>, &mut Clusters) -> Result<T, Failure>,
) -> Result<Vec<T>, Failure> {
    let bad = |error: &dyn std::fmt::Display| Failure::bad_input(error.to_string());
    let mut reader = TableReader::open(&args.table).map_err(|error| bad(&error))?;
    let mut clusters = Clusters::default();
    let mut rows = Vec::new();
    while let Some(row) = reader.next() {
        let row = row.map_err(|error| bad(&error))?;
        let columns: Vec<(String, Value)> = reader.columns().iter().cloned().zip(row.values).collect();
        rows.push(row_of(Cells { args, line: row.line, columns: &columns }, &mut clusters)?);
    }
    if rows.is_empty() {
        return Err(Failure::bad_input(format!("{} has no rows", args.table.display())));
    }
    Ok(rows)
}

/// Reads pairs to judge.
pub(super) fn read(args: &PairsArgs) -> Result<Vec<PairRow>, Failure> {
    read_all(args, |cells, clusters| {
        Ok(PairRow {
            columns: cells.columns.to_vec(),
            instruction: cells.needed(&args.instruction)?,
            criteria: cells.optional(args.criteria.as_ref(), &["criteria"])?.unwrap_or_default(),
            results: [cells.needed(&args.a)?, cells.needed(&args.b)?],
            candidates: [
                cells.optional(args.candidate_a.as_ref(), &["model_a", "model"])?,
                cells.optional(args.candidate_b.as_ref(), &["model_b", "model"])?,
            ],
            origin: cells.origin(clusters)?,
        })
    })
}

/// Reads recorded choices from two columns.
pub(super) fn read_recorded(args: &PairsArgs, winners: [&str; 2]) -> Result<Vec<RecordedRow>, Failure> {
    let mut seen = [false; 2];
    let rows = read_all(args, |cells, clusters| {
        for (seen, name) in seen.iter_mut().zip(winners) {
            *seen |= cells.columns.iter().any(|(own, _)| own == name);
        }
        Ok(RecordedRow {
            judge: cells.optional(args.by.as_ref(), &["judge"])?.unwrap_or_else(|| "all".to_owned()),
            choices: [cells.choice(winners[0])?, cells.choice(winners[1])?],
            origin: cells.origin(clusters)?,
        })
    })?;
    if let Some((name, _)) = winners.iter().zip(seen).find(|(_, seen)| !seen) {
        return Err(Failure::bad_input(format!("{}: no column `{name}`", args.table.display())));
    }
    Ok(rows)
}
