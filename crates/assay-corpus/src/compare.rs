//! Compares a ledger with decisions that others recorded in the records.
//!
//! Only this and [`sample`](crate::sample) read `filter_stage`, and only this `dup_of`. It compares decisions that a funnel has
//! already made, and no funnel calls it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::funnel::survival;
use assay_skill::corpus::input::{Input, InputError};
use assay_skill::corpus::normal::hash_pair;

/// How a ledger compares.
#[derive(Debug, Default, Serialize)]
pub struct Comparison {
    /// Records with a decision of both sides.
    pub records: usize,
    /// Of them, those in the same stage, or kept by both.
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
    /// Our stage; `kept` if we keep it.
    pub ours: String,
    /// The survivor we name.
    pub our_survivor: Option<String>,
    /// Their stage; `kept` if they keep it.
    pub theirs: String,
    /// The survivor they name.
    pub their_survivor: Option<String>,
    /// Why they differ.
    pub reason: Reason,
    /// Who is right.
    pub right: Right,
}

/// Why two funnels put a record into different stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// A query names the twin that they keep.
    Gold,
    /// Name and description equal the survivor's only in the letters a to z and the digits.
    Letters,
    /// Twins: by the order of survivors ours comes first; a query that names theirs would turn it
    /// round.
    Twins,
    /// None of these: needs manual review.
    Unknown,
}

impl Reason {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Gold => "duplicates; a query names theirs",
            Self::Letters => "the descriptions differ only outside of a to z and 0 to 9",
            Self::Twins => "duplicates; ours is first by path, unless an unpublished query names theirs",
            Self::Unknown => "unexplained: review the record",
        }
    }
}

/// Which side a difference speaks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Right {
    /// Our decision follows the rules, theirs does not.
    Ours,
    /// Their decision follows the rules, and so does ours once it has the queries (`--gold`).
    Theirs,
    /// It cannot be decided from the records.
    Open,
}

impl Right {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Theirs => "theirs",
            Self::Open => "open",
        }
    }
}

/// Why two ledgers cannot be compared.
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
    /// A line of the ledger is invalid.
    #[error("{}:{line}: invalid ledger line", path.display())]
    Line {
        /// Which file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// No record has a recorded stage.
    #[error("no record of {} has a `filter_stage`", path.display())]
    Undecided {
        /// Which corpus.
        path: PathBuf,
    },
}

/// A decision about a record.
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

/// The facts about a record that a judgement needs.
struct Facts {
    label: [u8; 16],
    /// Lower survives: the corpus's rules without queries, then the place in the input.
    rank: (u64, u64, usize),
}

#[derive(Deserialize)]
struct Line {
    id: String,
    #[serde(rename = "stage")]
    ledger_stage: String,
    survivor: Option<String>,
}

/// Compares a ledger with the decisions in a corpus: `filter_stage`, `kept` or a digit from 1 to 5
/// with any suffix, and `dup_of`. `gold` are the records that queries name, which decide between
/// twins.
pub fn compare(corpus: &Path, ledger: &Path, gold: &BTreeSet<String>) -> Result<Comparison, CompareError> {
    let removed = read(ledger)?;
    let mut comparison = Comparison::default();
    let mut input = Input::open(corpus)?;
    while let Some(lines) = input.lines()? {
        for (_, line) in lines {
            // The funnel has reported invalid lines.
            let Ok(decided) = serde_json::from_slice::<Decided>(&line) else { continue };
            let Some(theirs) = ledger_stage(&decided.filter_stage) else { continue };
            let our = removed.get(&decided.id);
            let ours = our.map_or("kept", |line| line.ledger_stage.as_str());
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
                reason: Reason::Unknown,
                right: Right::Open,
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
    let facts = facts(corpus, &comparison.differences)?;
    for found in &mut comparison.differences {
        (found.reason, found.right) = explain_difference(found, &facts, gold);
    }
    Ok(comparison)
}

/// The facts about the records that differ, and about their survivors: a second reading, so that
/// the first keeps nothing in memory.
fn facts(corpus: &Path, differences: &[Difference]) -> Result<BTreeMap<String, Facts>, InputError> {
    let wanted: BTreeSet<&str> = differences
        .iter()
        .flat_map(|found| {
            [Some(&found.id), found.our_survivor.as_ref(), found.their_survivor.as_ref()]
                .into_iter()
                .flatten()
        })
        .map(String::as_str)
        .collect();
    let mut facts = BTreeMap::new();
    let mut input = Input::open(corpus)?;
    let mut place = 0;
    while let Some(batch) = input.batch(|record| {
        wanted
            .contains(record.id.as_str())
            .then(|| (record.id.clone(), hash_pair(&record.name, &record.description), survival(&record)))
    })? {
        for line in batch {
            place += 1;
            if let Ok(Some((id, label, (source, length)))) = line {
                facts.insert(id, Facts { label, rank: (source, length, place) });
            }
        }
    }
    Ok(facts)
}

/// Why a record differs, and who is right.
fn explain_difference(
    found: &Difference,
    facts: &BTreeMap<String, Facts>,
    gold: &BTreeSet<String>,
) -> (Reason, Right) {
    let copy = |stage: &str| matches!(stage, "content" | "name-description");
    let kept = |stage: &str, survivor: &Option<String>| match survivor {
        _ if stage == "kept" => Some(found.id.clone()),
        Some(survivor) if copy(stage) => Some(survivor.clone()),
        _ => None,
    };
    let (ours, theirs) = (kept(&found.ours, &found.our_survivor), kept(&found.theirs, &found.their_survivor));
    let (Some(ours), Some(theirs)) = (ours, theirs) else { return (Reason::Unknown, Right::Open) };
    let (Some(our), Some(their)) = (facts.get(&ours), facts.get(&theirs)) else {
        return (Reason::Unknown, Right::Open);
    };
    if found.theirs == "name-description" && our.label != their.label {
        return (Reason::Letters, Right::Ours);
    }
    match (gold.contains(&ours), gold.contains(&theirs)) {
        (false, true) => (Reason::Gold, Right::Theirs),
        (false, false) if our.rank < their.rank => (Reason::Twins, Right::Open),
        _ => (Reason::Unknown, Right::Open),
    }
}

/// The name of a stage from its number.
fn ledger_stage(theirs: &str) -> Option<&'static str> {
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
