//! Why nothing could be imported.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_store::{ConditionRole, StoreError};

/// Why nothing could be imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// Not a folder.
    #[error("{} is not a readable directory", .0.display())]
    NotAFolder(PathBuf),
    /// No trial in any of the folders.
    #[error("no finished Harbor or BenchFlow trial in {}", .folders.iter().map(|f| f.display().to_string()).collect::<Vec<_>>().join(", "))]
    Nothing {
        /// The searched folders.
        folders: Vec<PathBuf>,
        /// What was there instead, by reason.
        unusable: BTreeMap<String, usize>,
    },
    /// An invalid pattern.
    #[error("invalid pattern {pattern:?}: {message}")]
    Pattern {
        /// As given by the user.
        pattern: String,
        /// Why.
        message: String,
    },
    /// A name that cannot be one.
    #[error("invalid {what} name {name:?}: use letters, digits, `-`, `_` and `.`, at most 80 characters")]
    Name {
        /// `run` or `condition`.
        what: &'static str,
        /// As given by the user.
        name: String,
    },
    /// A baseline that no trial ran under.
    #[error("no trial ran under the baseline {baseline:?}; conditions found: {}", .conditions.join(", "))]
    Baseline {
        /// As given by the user.
        baseline: String,
        /// The conditions there are.
        conditions: Vec<String>,
    },
    /// A primary condition that cannot be one.
    #[error("the primary condition {primary:?} {}; conditions compared: {}", not_primary(*.is_baseline), .conditions.join(", "))]
    Primary {
        /// As given by the user.
        primary: String,
        /// Whether it is the baseline.
        is_baseline: bool,
        /// The conditions that are compared with the baseline.
        conditions: Vec<String>,
    },
    /// A role of a condition that no trial ran under.
    #[error("no trial ran under {name:?}, whose role is given; conditions found: {}", .conditions.join(", "))]
    Role {
        /// As given by the user.
        name: String,
        /// The conditions there are.
        conditions: Vec<String>,
    },
    /// Several conditions, and none that is the baseline by its name.
    #[error("no condition is called `{}`: `--baseline CONDITION` chooses one of {}", ConditionRole::None, .conditions.join(", "))]
    NoBaseline {
        /// The conditions there are.
        conditions: Vec<String>,
    },
    /// A table without a column.
    #[error("{} has no column {column:?}; its columns are {}{}", .path.display(), list_columns(.columns), other_column(.hint.as_ref()))]
    Column {
        /// The table.
        path: PathBuf,
        /// The column.
        column: String,
        /// The columns there are.
        columns: Vec<String>,
        /// The option that names another column, and the column that is most likely.
        hint: Option<(&'static str, String)>,
    },
    /// Two rows about one trial.
    #[error(
        "{}:{}: the trial {trial:?} has a result in line {} already, with the same task, condition and agent (hint: remove one of the rows; `--ignore trial` if the column is not an id)",
        .path.display(), .lines[1], .lines[0]
    )]
    SameTrial {
        /// The table.
        path: PathBuf,
        /// The id.
        trial: String,
        /// The lines of the first two rows.
        lines: [u64; 2],
    },
    /// Two results of one trial: which of them holds is unknown.
    #[error(
        "{}: the trial {trial:?} has another result in {} (hint: remove one of the folders)",
        .folders[1].display(), .folders[0].display()
    )]
    SameTrialFolders {
        /// The id.
        trial: String,
        /// The first two folders.
        folders: [PathBuf; 2],
    },
    /// More trials than fit into memory.
    #[error(
        "line {line}: the {trials} trials before it take {cap} MiB of memory, the most for one import (hint: import parts, chosen with `--where`)"
    )]
    TooMany {
        /// The line of the first trial that does not fit.
        line: u64,
        /// The trials that fit.
        trials: usize,
        /// The most, in MiB.
        cap: usize,
    },
    /// A table without a usable row.
    #[error("no row of {} can be imported{}{}", .path.display(), first_of(.first.as_ref()), left_out(*.filtered))]
    NoRow {
        /// The table.
        path: PathBuf,
        /// The first unusable row: its line, and why.
        first: Option<(u64, String)>,
        /// Rows that the filters left out.
        filtered: usize,
    },
    /// A table that cannot be read.
    #[error(transparent)]
    Table(#[from] assay_table::ReadError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The first columns of a table.
fn list_columns(columns: &[String]) -> String {
    const SHOWN: usize = 50;
    let more = columns.len().saturating_sub(SHOWN);
    let shown = columns.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

fn first_of(first: Option<&(u64, String)>) -> String {
    first.map_or_else(String::new, |(line, reason)| format!("; line {line}: {reason}"))
}

fn not_primary(is_baseline: bool) -> &'static str {
    if is_baseline { "is the baseline" } else { "has no trial" }
}

fn left_out(rows: usize) -> String {
    if rows == 0 { String::new() } else { format!("; the filters leave out {rows}") }
}

fn other_column(hint: Option<&(&'static str, String)>) -> String {
    hint.map_or_else(String::new, |(option, column)| format!(" (`{option} {column}` reads another column)"))
}
