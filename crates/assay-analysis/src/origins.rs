//! What the records of a run prove about where they come from.

use std::collections::{BTreeMap, BTreeSet};

use assay_store::{RecordOrigin, TrialId};
use serde::Serialize;

use crate::result::TrialResult;

/// The state of one trial on disk.
#[derive(Debug, Clone)]
pub(crate) enum RecordState {
    /// There is no record yet.
    Missing,
    /// It cannot be read.
    Unreadable,
    /// It does not match its signature.
    Changed,
    /// It has a result.
    Result(Box<TrialResult>, RecordOrigin),
}

/// The records of a run by their origin. A signature proves who accepted a result, not that it is true.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct RecordOrigins {
    /// Records with a signature by a key of this process.
    pub signed: usize,
    /// Records without one: of earlier versions, of other keys, or written by something else.
    pub unsigned: usize,
    /// Of `unsigned`, those with a signature by another key.
    pub unknown_key: usize,
    /// Imported records.
    pub imported: usize,
    /// Records that do not match their signature. They are no results.
    pub changed: usize,
}

impl RecordOrigins {
    /// Counts the records of some trials. In a run that another program executed, every record is imported.
    pub(crate) fn count(
        states: &BTreeMap<&TrialId, &RecordState>,
        trials: &BTreeSet<&TrialId>,
        is_imported: bool,
    ) -> Self {
        let mut found = Self::default();
        for state in trials.iter().filter_map(|trial| states.get(trial)) {
            match state {
                RecordState::Missing | RecordState::Unreadable => {}
                RecordState::Changed => found.changed += 1,
                RecordState::Result(_, RecordOrigin::Signed) => found.signed += 1,
                RecordState::Result(_, RecordOrigin::Imported) => found.imported += 1,
                RecordState::Result(..) if is_imported => found.imported += 1,
                RecordState::Result(_, origin) => {
                    found.unsigned += 1;
                    found.unknown_key += usize::from(*origin == RecordOrigin::UnknownKey);
                }
            }
        }
        found
    }
}
