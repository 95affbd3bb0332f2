//! The requests of a table of pairs: two for each row, one in each order.

use assay_syntax::reply::ReplyError;

use super::pair_rows::PairRow;
use super::panel::{Batch, Prompt};
use crate::ask::Request;
use crate::pair::{Choice, Pair, PairRuling};
use crate::planted::{how_many, planted_pair};

/// One pair in one order.
#[derive(Debug)]
pub(super) struct PairRequest {
    instruction: String,
    criteria: String,
    first: String,
    second: String,
    /// Where its ruling goes.
    slot: usize,
    /// The only right choice, if it is planted.
    expected: Option<Choice>,
}

/// The place of a ruling. Planted pairs come after all rows.
pub(super) fn slot(pair: usize, is_swapped: bool) -> usize {
    2 * pair + usize::from(is_swapped)
}

/// How many planted pairs a table gets.
pub(super) fn planted_pairs(rows: usize) -> usize {
    how_many(rows, rows)
}

impl Batch<PairRequest> {
    /// Two requests for each row, and for each planted pair.
    pub(super) fn of_pairs(rows: &[PairRow]) -> Self {
        let mut groups = Vec::new();
        for (number, row) in rows.iter().enumerate() {
            let [a, b] = &row.results;
            for is_swapped in [false, true] {
                let (first, second) = if is_swapped { (b, a) } else { (a, b) };
                groups.push(PairRequest {
                    instruction: row.instruction.clone(),
                    criteria: row.criteria.clone(),
                    first: first.clone(),
                    second: second.clone(),
                    slot: slot(number, is_swapped),
                    expected: None,
                });
            }
        }
        let count = planted_pairs(rows.len());
        for number in 0..count {
            // At equal distances, and without criteria, by which the worse result might be the better one.
            let row = &rows[number * rows.len() / count];
            let [a, b] = &row.results;
            let planted = planted_pair(&row.instruction, [a, b], number as u64);
            for is_swapped in [false, true] {
                let (first, second) = (planted.better.clone(), planted.worse.clone());
                let (first, second) = if is_swapped { (second, first) } else { (first, second) };
                groups.push(PairRequest {
                    instruction: planted.instruction.clone(),
                    criteria: String::new(),
                    first,
                    second,
                    slot: slot(rows.len() + number, is_swapped),
                    expected: Some(if is_swapped { Choice::Second } else { Choice::First }),
                });
            }
        }
        Self { groups, rows: 2 * (rows.len() + count) }
    }
}

impl PairRequest {
    fn pair(&self) -> Pair<'_> {
        let Self { instruction, criteria, first, second, .. } = self;
        Pair { instruction, criteria, first, second }
    }
}

impl Prompt for PairRequest {
    type Ruling = PairRuling;

    fn request(&self) -> Request {
        self.pair().request()
    }

    fn read_reply(&self, reply: &str) -> Result<Vec<PairRuling>, ReplyError> {
        self.pair().read(reply).map(|ruling| vec![ruling])
    }

    fn rows(&self) -> Vec<Option<usize>> {
        vec![Some(self.slot)]
    }

    fn is_missed(&self, rulings: &[PairRuling]) -> Option<bool> {
        self.expected.map(|expected| rulings.iter().any(|ruling| ruling.choice != expected))
    }
}
