//! Two sequences of steps, put side by side.
//!
//! Needleman and Wunsch's global alignment (1970), with gaps that cost nothing: what is paired is
//! what scores. The same act on the same target scores most, a little more in the same phase; the
//! same act on another target is a pair only in the same phase, and scores by the words that the
//! targets share.

use std::collections::BTreeSet;

use crate::evidence::words;

/// What is compared of a step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Key {
    /// What is done.
    pub(super) act: &'static str,
    /// To what.
    pub(super) target: String,
    /// Where in the work.
    pub(super) phase: &'static str,
}

/// The relation of two steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Row {
    /// The same act on the same target.
    Shared(usize, usize),
    /// The same act on another target.
    Other(usize, usize),
    /// Only in the first sequence.
    First(usize),
    /// Only in the second.
    Second(usize),
}

/// Longer sequences are aligned piece by piece, so many steps at a time: the table of a piece stays
/// at 4 MB, and there are two rows beside it.
const PIECE: usize = 2000;

/// A pair on one target.
const SHARED: usize = 20;

/// More in the same phase.
const PHASE: usize = 2;

/// A pair on targets that share no word.
const OTHER: usize = 3;

/// More where they share all.
const WORDS: usize = 10;

/// Where a cell of the table was reached from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    Both,
    First,
    Second,
}

/// The rows of two sequences, both in their order.
pub(super) fn align(first: &[Key], second: &[Key]) -> Vec<Row> {
    in_pieces(first, second, PIECE)
}

fn in_pieces(first: &[Key], second: &[Key], length: usize) -> Vec<Row> {
    let mut rows = Vec::with_capacity(first.len() + second.len());
    let pieces = first.len().max(second.len()).div_ceil(length);
    for piece in 0..pieces {
        let (from, to) = (piece * length, (piece + 1) * length);
        let cut = |keys: &[Key]| from.min(keys.len())..to.min(keys.len());
        let (one, other) = (cut(first), cut(second));
        rows.extend(of_piece(&first[one.clone()], &second[other.clone()]).into_iter().map(|row| match row {
            Row::Shared(a, b) => Row::Shared(a + one.start, b + other.start),
            Row::Other(a, b) => Row::Other(a + one.start, b + other.start),
            Row::First(a) => Row::First(a + one.start),
            Row::Second(b) => Row::Second(b + other.start),
        }));
    }
    rows
}

fn of_piece(first: &[Key], second: &[Key]) -> Vec<Row> {
    let (one, other) = (bags(first), bags(second));
    let width = second.len() + 1;
    let mut before = vec![0_usize; width];
    let mut table = vec![From::Second; (first.len() + 1) * width];
    for a in 1..=first.len() {
        let mut row = vec![0_usize; width];
        table[a * width] = From::First;
        for b in 1..=second.len() {
            let pair = score(&first[a - 1], &second[b - 1], &one[a - 1], &other[b - 1])
                .map(|pair| before[b - 1] + pair);
            // Of equals a pair is kept, and then what is only in the second: reading backwards, the
            // first's is before it.
            let (best, from) =
                if row[b - 1] >= before[b] { (row[b - 1], From::Second) } else { (before[b], From::First) };
            (row[b], table[a * width + b]) = match pair {
                Some(pair) if pair >= best => (pair, From::Both),
                _ => (best, from),
            };
        }
        before = row;
    }
    let (mut a, mut b) = (first.len(), second.len());
    let mut rows = Vec::new();
    while a > 0 || b > 0 {
        match table[a * width + b] {
            From::Both => {
                (a, b) = (a - 1, b - 1);
                let shared = same_target(&first[a].target, &second[b].target);
                rows.push(if shared { Row::Shared(a, b) } else { Row::Other(a, b) });
            }
            From::First => {
                a -= 1;
                rows.push(Row::First(a));
            }
            From::Second => {
                b -= 1;
                rows.push(Row::Second(b));
            }
        }
    }
    rows.reverse();
    rows
}

fn score(one: &Key, other: &Key, words: &BTreeSet<&str>, others: &BTreeSet<&str>) -> Option<usize> {
    if one.act != other.act {
        return None;
    }
    let phase = one.phase == other.phase;
    if same_target(&one.target, &other.target) {
        return Some(SHARED + PHASE * usize::from(phase));
    }
    let all = words.union(others).count().max(1);
    let shared = words.intersection(others).count();
    phase.then(|| OTHER + WORDS * shared / all)
}

/// Whether two targets are one: equal, or one the end of the other's path, as a path from the
/// folder of work is of an absolute one.
fn same_target(one: &str, other: &str) -> bool {
    let ends = |long: &str, short: &str| {
        !short.is_empty()
            && long.starts_with('/')
            && long.strip_suffix(short).is_some_and(|rest| rest.ends_with('/'))
    };
    one == other || ends(one, other) || ends(other, one)
}

fn bags(keys: &[Key]) -> Vec<BTreeSet<&str>> {
    keys.iter().map(|key| words(&key.target).into_iter().take(64).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `read a.py`, in the phase after the `@`, if there is one.
    fn keys(text: &[&'static str]) -> Vec<Key> {
        let key = |line: &&'static str| {
            let (what, phase) = line.split_once('@').unwrap_or((line, "orientation"));
            let (act, target) = what.split_once(' ').unwrap_or((what, ""));
            Key { act, target: target.to_owned(), phase }
        };
        text.iter().map(key).collect()
    }

    fn check(first: &[&'static str], second: &[&'static str], expected: &[Row]) {
        assert_eq!(align(&keys(first), &keys(second)), expected, "{first:?} {second:?}");
    }

    #[test]
    fn the_same_on_the_same_target_goes_before_the_same_on_another() {
        use Row::{First, Other, Second, Shared};
        check(&[], &[], &[]);
        check(&["read a"], &[], &[First(0)]);
        check(&[], &["read a"], &[Second(0)]);
        check(&["read a"], &["read b"], &[Other(0, 0)]);
        check(&["read a"], &["write a"], &[First(0), Second(0)]);
        check(&["read a", "read b"], &["read b"], &[First(0), Shared(1, 0)]);
        check(
            &["read a", "read b", "write c"],
            &["read b", "write c"],
            &[First(0), Shared(1, 0), Shared(2, 1)],
        );
        // Of two possible partners the one with more words in common.
        check(&["run make test"], &["run ls x", "run make test all"], &[Second(0), Other(0, 1)]);
        check(&["run make", "run ls -l"], &["run ls -a x"], &[First(0), Other(1, 0)]);
        // Order is kept: what is crossed can be paired once.
        check(&["read a", "write b"], &["write b", "read a"], &[First(0), Shared(1, 0), Second(1)]);
    }

    #[test]
    fn another_target_needs_the_same_phase_and_the_same_target_does_not() {
        use Row::{First, Second, Shared};
        check(&["run x@debugging"], &["run y@validation"], &[First(0), Second(0)]);
        check(&["run x@debugging"], &["run x@validation"], &[Shared(0, 0)]);
        check(&["run x@debugging"], &["run x@validation", "run x@debugging"], &[Second(0), Shared(0, 1)]);
    }

    #[test]
    fn a_path_is_the_same_from_the_folder_of_work() {
        check(&["read /w/src/a.py"], &["read src/a.py"], &[Row::Shared(0, 0)]);
        check(&["read /w/src/a.py"], &["read c/a.py"], &[Row::Other(0, 0)]);
        check(&["read /w/xa.py"], &["read a.py"], &[Row::Other(0, 0)]);
        check(&["run "], &["run /a/"], &[Row::Other(0, 0)]);
    }

    #[test]
    fn long_sequences_are_aligned_in_pieces_and_nothing_is_lost() {
        let many = |count: usize, act: &'static str| {
            let key = |at: usize| Key { act, target: (at % 7).to_string(), phase: "orientation" };
            (0..count).map(key).collect::<Vec<_>>()
        };
        for (first, second) in [(45, 21), (3, 24), (20, 20), (0, 41)] {
            let rows = in_pieces(&many(first, "run"), &many(second, "run"), 20);
            let of = |wanted: fn(&Row) -> Option<usize>| rows.iter().filter_map(wanted).collect::<Vec<_>>();
            let ones = of(|row| match row {
                Row::Shared(a, _) | Row::Other(a, _) | Row::First(a) => Some(*a),
                Row::Second(_) => None,
            });
            let others = of(|row| match row {
                Row::Shared(_, b) | Row::Other(_, b) | Row::Second(b) => Some(*b),
                Row::First(_) => None,
            });
            assert!(ones.into_iter().eq(0..first) && others.into_iter().eq(0..second), "{first} {second}");
        }
    }
}
