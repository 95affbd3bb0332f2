//! A ledger of ours against decisions that somebody else wrote into the records.
//!
//! The only place that reads `filter_stage` and `dup_of`. It compares what a funnel has already decided, and no funnel calls it.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::input::{Input, InputError};

/// How a ledger compares.
#[derive(Debug, Default, Serialize)]
pub struct Comparison {
    /// Records with a decision of both sides.
    pub records: usize,
    /// Of them, in the same stage, or kept by both.
    pub same_stage: usize,
    /// Of those that both take for copies: with the same survivor.
    pub same_survivor: usize,
    /// Those that both take for copies.
    pub both_copies: usize,
    /// The others, in the order of the input.
    pub differences: Vec<Difference>,
}

/// A record that ended in different stages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The record.
    pub id: String,
    /// Where it is from.
    pub repo: String,
    /// Its document there.
    pub path: String,
    /// Our stage; `kept` where we keep it.
    pub ours: String,
    /// The survivor we name.
    pub our_survivor: Option<String>,
    /// Their stage; `kept` where they keep it.
    pub theirs: String,
    /// The survivor they name.
    pub their_survivor: Option<String>,
    /// What kind of difference it is, and who is right.
    pub judgement: &'static str,
}

/// Why there is no comparison.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// The corpus cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The ledger cannot be read.
    #[error("cannot read the ledger {}", path.display())]
    Ledger {
        /// Which one.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A line of the ledger is none.
    #[error("{}:{line}: not a line of a ledger", path.display())]
    Line {
        /// Which file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// No record says what became of it.
    #[error("no record of {} has a `filter_stage`", path.display())]
    Undecided {
        /// Which corpus.
        path: PathBuf,
    },
}

/// What somebody decided of a record.
#[derive(Deserialize)]
struct Decided {
    id: String,
    #[serde(default)]
    repo: String,
    #[serde(default)]
    path: String,
    filter_stage: String,
    #[serde(default)]
    dup_of: Option<String>,
}

#[derive(Deserialize)]
struct Line {
    id: String,
    stage: String,
    survivor: Option<String>,
}

/// Compares a ledger with the decisions in a corpus: `filter_stage`, `kept` or a digit from 1 to 5 and whatever follows it, and `dup_of`.
pub fn compare(corpus: &Path, ledger: &Path) -> Result<Comparison, CompareError> {
    let removed = read(ledger)?;
    let mut comparison = Comparison::default();
    let mut input = Input::open(corpus)?;
    while let Some(lines) = input.lines()? {
        for (_, line) in lines {
            // The funnel has told of the lines that hold no record.
            let Ok(decided) = serde_json::from_slice::<Decided>(&line) else { continue };
            let Some(theirs) = stage(&decided.filter_stage) else { continue };
            let our = removed.get(&decided.id);
            let ours = our.map_or("kept", |line| line.stage.as_str());
            let our_survivor = our.and_then(|line| line.survivor.clone());
            let copy = |stage| matches!(stage, "content" | "name-description");
            comparison.records += 1;
            if copy(ours) && copy(theirs) {
                comparison.both_copies += 1;
                comparison.same_survivor += usize::from(our_survivor == decided.dup_of);
            }
            if ours == theirs {
                comparison.same_stage += 1;
                continue;
            }
            comparison.differences.push(Difference {
                judgement: judgement(ours, theirs),
                id: decided.id,
                repo: decided.repo,
                path: decided.path,
                ours: ours.to_owned(),
                our_survivor,
                theirs: theirs.to_owned(),
                their_survivor: decided.dup_of,
            });
        }
    }
    if comparison.records == 0 {
        return Err(CompareError::Undecided { path: corpus.to_path_buf() });
    }
    Ok(comparison)
}

/// What can be said of a difference by the two stages alone.
fn judgement(ours: &str, theirs: &str) -> &'static str {
    match (ours, theirs) {
        ("content" | "name-description", "kept") => {
            "twins: theirs keeps this one, ours its copy; neither is wrong"
        }
        ("kept", "content" | "name-description") => {
            "twins: ours keeps this one, theirs its copy; neither is wrong"
        }
        ("content" | "name-description", "content" | "name-description") => {
            "twins: out in both; the stage follows from which copy of its content was kept"
        }
        _ => "the rules differ: look at the record",
    }
}

/// The name of a stage from its number.
fn stage(theirs: &str) -> Option<&'static str> {
    match theirs.as_bytes().first()? {
        b'1' => Some("description"),
        b'2' => Some("language"),
        b'3' => Some("license"),
        b'4' => Some("content"),
        b'5' => Some("name-description"),
        _ if theirs == "kept" => Some("kept"),
        _ => None,
    }
}

fn read(ledger: &Path) -> Result<BTreeMap<String, Line>, CompareError> {
    let failed = |source| CompareError::Ledger { path: ledger.to_path_buf(), source };
    let file = std::io::BufReader::new(std::fs::File::open(ledger).map_err(failed)?);
    let mut removed = BTreeMap::new();
    for (number, text) in file.lines().enumerate() {
        let text = text.map_err(failed)?;
        let line: Line = serde_json::from_str(&text).map_err(|source| CompareError::Line {
            path: ledger.to_path_buf(),
            line: number + 1,
            source,
        })?;
        removed.insert(line.id.clone(), line);
    }
    Ok(removed)
}
