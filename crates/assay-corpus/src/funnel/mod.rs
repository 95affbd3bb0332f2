//! SkillRet's funnel: five stages that remove unsuitable records and copies from a corpus, and a
//! ledger with the decision on each record.
//!
//! The stages are those of the SkillRet paper: description, language, licence, equal content, equal
//! name and description. The public code runs them in another order, and with other criteria in
//! three of them. Both are available: [`Rules`] has the criteria of each stage, [`Order`] the
//! order.
//!
//! One pass over the input. Two hashes of a record, its id and some numbers are kept, so a corpus
//! may be larger than the memory. Which of several copies is kept does not depend on threads.

mod rules;

use std::io::{self, Write};

use serde::Serialize;

pub use rules::{AGGREGATORS, Licence, Rules};

use assay_skill::corpus::input::{BadLine, Input, InputError};
use rules::Features;
pub(crate) use rules::survival;

/// A stage of the funnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FilterStage {
    /// No meaningful description.
    Description,
    /// Not in English.
    Language,
    /// Not under a licence that allows to use it.
    License,
    /// The same content as another.
    Content,
    /// The same name and description as another.
    NameDescription,
}

impl FilterStage {
    /// Its name in JSON and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Description => "description",
            Self::Language => "language",
            Self::License => "license",
            Self::Content => "content",
            Self::NameDescription => "name-description",
        }
    }
}

/// Which stage comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// As in the SkillRet paper: checks of single records first, copies last.
    Paper,
    /// As the public code has it: copies first.
    Code,
}

impl Order {
    /// The stages, first to last.
    pub fn stages(self) -> [FilterStage; 5] {
        use FilterStage::{Content, Description, Language, License, NameDescription};
        match self {
            Self::Paper => [Description, Language, License, Content, NameDescription],
            Self::Code => [Content, NameDescription, Description, Language, License],
        }
    }
}

/// How many records a stage took out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StageCount {
    /// Which stage.
    #[serde(rename = "stage")]
    pub filter_stage: FilterStage,
    /// Records removed by it.
    pub removed: usize,
    /// Records left after it.
    pub left: usize,
}

/// The result of a funnel. Records are identified by their index in the input, from 0.
#[derive(Debug)]
pub struct Outcome {
    /// Records that went in.
    pub records: usize,
    /// Lines without a record.
    pub bad_lines: usize,
    /// The stages in their order.
    pub stages: Vec<StageCount>,
    ids: Ids,
    decisions: Vec<Decision>,
}

/// Why a record is out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    Retained,
    Out(FilterStage, Reason),
    Copy(FilterStage, u32),
}

/// A reason that needs no survivor, or the survivor that it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    NoDescription,
    NotEnglish,
    Undeclared,
    Other,
    CopyOfOther(u32),
}

/// A line of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry<'a> {
    /// The record.
    pub id: &'a str,
    /// The stage that removed it.
    #[serde(rename = "stage")]
    pub filter_stage: &'static str,
    /// Why.
    pub reason: &'static str,
    /// Of a copy: the record that is left of its group after this stage. Of one that copies a
    /// record under another licence: that record.
    pub survivor: Option<&'a str>,
}

/// Ids, one behind the other.
#[derive(Debug, Default)]
struct Ids {
    bytes: String,
    ends: Vec<u64>,
}

impl Ids {
    fn push(&mut self, id: &str) {
        self.bytes.push_str(id);
        self.ends.push(self.bytes.len() as u64);
    }

    fn get(&self, index: usize) -> &str {
        let end = |index: usize| usize::try_from(self.ends[index]).unwrap_or(usize::MAX);
        let start = if index == 0 { 0 } else { end(index - 1) };
        &self.bytes[start..end(index)]
    }
}

impl Outcome {
    /// Records that are left.
    pub fn kept(&self) -> usize {
        self.stages.last().map_or(self.records, |stage| stage.left)
    }

    /// The stage that removed a record; `None` for one that is left.
    pub fn stage(&self, record: usize) -> Option<FilterStage> {
        match self.decisions[record] {
            Decision::Retained => None,
            Decision::Out(stage, _) | Decision::Copy(stage, _) => Some(stage),
        }
    }

    /// The removed records, in the order of the input.
    pub fn ledger(&self) -> impl Iterator<Item = Entry<'_>> {
        self.decisions.iter().enumerate().filter_map(|(index, decision)| {
            let (stage, reason, survivor) = match *decision {
                Decision::Retained => return None,
                Decision::Out(stage, Reason::NoDescription) => (stage, "no-description", None),
                Decision::Out(stage, Reason::NotEnglish) => (stage, "not-english", None),
                Decision::Out(stage, Reason::Undeclared) => (stage, "undeclared", None),
                Decision::Out(stage, Reason::Other) => (stage, "other-license", None),
                Decision::Out(stage, Reason::CopyOfOther(of)) => (stage, "copy-of-other-license", Some(of)),
                Decision::Copy(stage @ FilterStage::Content, of) => (stage, "same-content", Some(of)),
                Decision::Copy(stage, of) => (stage, "same-name-and-description", Some(of)),
            };
            let survivor = survivor.map(|index| self.ids.get(index as usize));
            Some(Entry { id: self.ids.get(index), filter_stage: stage.name(), reason, survivor })
        })
    }

    /// Writes the ledger as JSON Lines.
    pub fn write_ledger(&self, out: &mut dyn Write) -> io::Result<()> {
        for entry in self.ledger() {
            serde_json::to_writer(&mut *out, &entry)?;
            out.write_all(b"\n")?;
        }
        out.flush()
    }
}

/// Runs the funnel over the complete input. `bad` is called for each invalid line. At most 2^32 − 1
/// records.
pub fn run(
    input: &mut Input,
    rules: &Rules,
    order: Order,
    bad: &mut dyn FnMut(&BadLine),
) -> Result<Outcome, InputError> {
    let recovered = order == Order::Paper;
    let (mut features, mut ids, mut bad_lines) = (Vec::<Features>::new(), Ids::default(), 0);
    while let Some(batch) = input.batch(|record| (record.key(), rules.features(&record, recovered)))? {
        for line in batch {
            match line {
                Ok((id, feature)) => {
                    ids.push(&id);
                    features.push(feature);
                }
                Err(line) => {
                    bad_lines += 1;
                    bad(&line);
                }
            }
        }
    }
    let count = u32::try_from(features.len()).unwrap_or(u32::MAX);
    let mut decisions = vec![Decision::Retained; features.len()];
    let mut left: Vec<u32> = (0..count).collect();
    let mut stages = Vec::new();
    for stage in order.stages() {
        let before = left.len();
        left = match stage {
            FilterStage::Description => filter(left, stage, &mut decisions, |at| {
                features[at].no_description.then_some(Reason::NoDescription)
            }),
            FilterStage::Language => {
                filter(left, stage, &mut decisions, |at| features[at].foreign.then_some(Reason::NotEnglish))
            }
            FilterStage::License => {
                let others = others(&features);
                filter(left, stage, &mut decisions, |at| licence(&features[at], &others))
            }
            FilterStage::Content => copies(left, stage, &mut decisions, &features, |feature| feature.content),
            FilterStage::NameDescription => {
                copies(left, stage, &mut decisions, &features, |feature| feature.label)
            }
        };
        stages.push(StageCount { filter_stage: stage, removed: before - left.len(), left: left.len() });
    }
    Ok(Outcome { records: features.len(), bad_lines, stages, ids, decisions })
}

fn filter(
    left: Vec<u32>,
    filter_stage: FilterStage,
    decisions: &mut [Decision],
    judge: impl Fn(usize) -> Option<Reason>,
) -> Vec<u32> {
    left.into_iter()
        .filter(|&index| {
            let reason = judge(index as usize);
            if let Some(reason) = reason {
                decisions[index as usize] = Decision::Out(filter_stage, reason);
            }
            reason.is_none()
        })
        .collect()
}

/// Contents of records that declare another licence in their own front matter, sorted, each with
/// its first record.
fn others(features: &[Features]) -> Vec<([u8; 16], u32)> {
    let mut others: Vec<_> = (0..)
        .zip(features)
        .filter(|(_, feature)| feature.licence == Licence::Other && feature.declares)
        .map(|(index, feature)| (feature.content, index))
        .collect();
    others.sort_unstable();
    others.dedup_by_key(|other| other.0);
    others
}

fn licence(feature: &Features, others: &[([u8; 16], u32)]) -> Option<Reason> {
    match feature.licence {
        Licence::Undeclared => Some(Reason::Undeclared),
        Licence::Other => Some(Reason::Other),
        Licence::Accepted | Licence::NotAsked if feature.declares || !feature.copies_count => None,
        Licence::Accepted | Licence::NotAsked => others
            .binary_search_by_key(&feature.content, |other| other.0)
            .ok()
            .map(|at| Reason::CopyOfOther(others[at].1)),
    }
}

/// Leaves the first of each group of equal hashes, first by [`Features::rank`].
fn copies(
    left: Vec<u32>,
    filter_stage: FilterStage,
    decisions: &mut [Decision],
    features: &[Features],
    hash: impl Fn(&Features) -> [u8; 16],
) -> Vec<u32> {
    let key = |index: &u32| {
        let feature = &features[*index as usize];
        (hash(feature), feature.rank, *index)
    };
    let mut sorted = left;
    sorted.sort_unstable_by_key(key);
    let mut kept = Vec::with_capacity(sorted.len());
    for group in sorted.chunk_by(|a, b| hash(&features[*a as usize]) == hash(&features[*b as usize])) {
        kept.push(group[0]);
        for &copy in &group[1..] {
            decisions[copy as usize] = Decision::Copy(filter_stage, group[0]);
        }
    }
    kept.sort_unstable();
    kept
}

#[cfg(test)]
mod tests;
