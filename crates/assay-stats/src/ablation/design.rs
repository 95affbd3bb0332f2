//! The design of Plackett & Burman (1946, *Biometrika* 33, 305–325) with 12 runs, randomized for each task.

use std::fmt;

use crate::random::{Purpose, index, stream, uniform};

/// The runs of the design.
pub const ROWS: usize = 12;

/// The most parts that it can separate.
pub const MOST_PARTS: usize = ROWS - 1;

/// A set of parts of a treatment, numbered from 0.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartSet(u16);

impl PartSet {
    /// The empty set.
    pub const EMPTY: Self = Self(0);

    /// The first `parts` parts, at most [`MOST_PARTS`].
    pub fn all(parts: usize) -> Self {
        Self((1 << parts.min(MOST_PARTS)) - 1)
    }

    /// The set of the parts in a list; parts above [`MOST_PARTS`] are left out.
    pub fn of(parts: impl IntoIterator<Item = usize>) -> Self {
        parts.into_iter().fold(Self::EMPTY, Self::with)
    }

    /// Whether a part is in the set.
    pub fn has(self, part: usize) -> bool {
        part < MOST_PARTS && self.0 & (1 << part) != 0
    }

    /// The set with one more part.
    #[must_use]
    pub fn with(self, part: usize) -> Self {
        if part < MOST_PARTS { Self(self.0 | (1 << part)) } else { self }
    }

    /// The set without a part.
    #[must_use]
    pub fn without(self, part: usize) -> Self {
        if part < MOST_PARTS { Self(self.0 & !(1 << part)) } else { self }
    }

    /// The parts in order.
    pub fn parts(self) -> impl Iterator<Item = usize> {
        (0..MOST_PARTS).filter(move |part| self.has(*part))
    }

    /// The number of parts.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether there is no part.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Debug for PartSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.parts()).finish()
    }
}

/// The sets of parts that the variants of one task keep: [`ROWS`] of them, or twice as many, of which the second half are
/// the complements of the first (a fold-over: main effects are then free of interactions of two parts).
///
/// The columns of the design are assigned to the parts at random, and the two levels of each column are exchanged at random.
/// Every variant is then uniform over all sets of parts, so that the expectation of an estimated effect, over designs, is
/// the effect of the full factorial, whatever the interactions. Without it a suite of tasks shares the aliases of one
/// design. `parts` is at most [`MOST_PARTS`]; more are not in any set.
pub fn screening(parts: usize, folds: usize, seed: u64, task: u64) -> Vec<PartSet> {
    let random = &mut stream(seed, Purpose::Screening, task);
    let mut columns: Vec<usize> = (0..MOST_PARTS).collect();
    // Fisher & Yates.
    for last in (1..MOST_PARTS).rev() {
        columns.swap(last, index(random, last + 1));
    }
    let exchanged: Vec<bool> = (0..MOST_PARTS).map(|_| uniform(random) < 0.5).collect();
    let parts = parts.min(MOST_PARTS);
    let first: Vec<PartSet> = (0..ROWS)
        .map(|row| PartSet::of((0..parts).filter(|&part| is_high(row, columns[part]) != exchanged[part])))
        .collect();
    let all = PartSet::all(parts);
    let folded: Vec<PartSet> = first.iter().map(|kept| PartSet(all.0 & !kept.0)).collect();
    if folds < 2 { first } else { [first, folded].concat() }
}

/// The level of a column in a run of the unrandomized design: the first row is high where the column's number is 0 or a
/// square modulo 11, the next rows are its cyclic shifts, and the last is low (Paley's construction).
fn is_high(row: usize, column: usize) -> bool {
    row < MOST_PARTS && matches!((column + MOST_PARTS - row) % MOST_PARTS, 0 | 1 | 3 | 4 | 5 | 9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_row_is_that_of_plackett_and_burman() {
        let row: String = (0..MOST_PARTS).map(|column| if is_high(0, column) { '+' } else { '-' }).collect();
        assert_eq!(row, "++-+++---+-");
        assert!((0..MOST_PARTS).all(|column| !is_high(ROWS - 1, column)));
    }

    /// Of two columns each pair of levels is in three runs of twelve.
    #[test]
    fn columns_are_balanced_and_orthogonal() {
        for task in 0..50 {
            let rows = screening(MOST_PARTS, 1, 7, task);
            assert_eq!(rows.len(), ROWS);
            for one in 0..MOST_PARTS {
                assert_eq!(rows.iter().filter(|kept| kept.has(one)).count(), 6, "{task} {one}");
                for other in 0..one {
                    let both = rows.iter().filter(|kept| kept.has(one) && kept.has(other)).count();
                    assert_eq!(both, 3, "{task}: {one} {other}");
                }
            }
        }
    }

    #[test]
    fn a_fold_has_the_complements() {
        let rows = screening(8, 2, 7, 3);
        assert_eq!(rows.len(), 2 * ROWS);
        assert_eq!(rows[..ROWS], screening(8, 1, 7, 3));
        for (one, other) in rows[..ROWS].iter().zip(&rows[ROWS..]) {
            assert_eq!(PartSet::all(8).parts().filter(|part| one.has(*part) == other.has(*part)).count(), 0);
        }
    }

    /// 4 parts have 16 sets; 6,000 tasks of 12 variants give each 4,500 ± 65.
    #[test]
    fn every_set_is_as_likely_as_any_other() {
        let mut counts = [0_u32; 16];
        for task in 0..6000 {
            for kept in screening(4, 1, 1, task) {
                counts[usize::from(kept.0)] += 1;
            }
        }
        // The variants of a task are not independent, hence twice the limit of 4 standard errors.
        assert!(counts.iter().all(|&count| count.abs_diff(4500) < 520), "{counts:?}");
    }

    #[test]
    fn sets_keep_their_parts() {
        let set = PartSet::of([0, 3, 10, 11, 40]);
        assert_eq!(set.parts().collect::<Vec<_>>(), [0, 3, 10]);
        assert_eq!((set.len(), set.without(3).with(1).parts().collect::<Vec<_>>()), (3, vec![0, 1, 10]));
        assert!(PartSet::EMPTY.is_empty() && !set.has(11) && PartSet::all(99) == PartSet::all(MOST_PARTS));
        assert_eq!(format!("{set:?}"), "{0, 3, 10}");
    }
}
