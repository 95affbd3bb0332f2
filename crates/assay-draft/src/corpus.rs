//! Reading corpora, with the lines that hold no record.

use std::path::Path;

use assay_skill::corpus::Record;
use assay_skill::corpus::input::Input;

use crate::error::DraftError;
use crate::event::{DraftEvent, DraftEvents};

/// Most lines without a record that are reported one by one.
const MOST: usize = 100;

/// Reads the records of a corpus: `work` is done by several threads, and `each` gets its results in order. Lines that hold
/// no record are reported: the first hundred in full, the rest as a count. Returns how many records there are.
pub(crate) fn read_corpus<T: Send>(
    path: &Path,
    work: impl Fn(Record) -> T + Sync,
    mut each: impl FnMut(T) -> Result<(), DraftError>,
    events: &dyn DraftEvents,
) -> Result<usize, DraftError> {
    let mut input = Input::open(path)?;
    let (mut records, mut bad) = (0, 0);
    while let Some(batch) = input.batch(&work)? {
        for line in batch {
            match line {
                Ok(result) => {
                    records += 1;
                    each(result)?;
                }
                Err(line) => {
                    bad += 1;
                    if bad <= MOST {
                        events.handle_event(&DraftEvent::BadLine { path, line: &line });
                    }
                }
            }
        }
    }
    if bad > MOST {
        events.handle_event(&DraftEvent::BadLines { path, count: bad });
    }
    Ok(records)
}
