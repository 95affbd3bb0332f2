//! Processes, as the kernel lists them under `/proc`.

use std::collections::BTreeMap;
use std::fs;

/// The fields that are read of one process (proc(5), `/proc/pid/stat`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    /// User and system time, its own and that of the children it waited for, in ticks.
    pub(crate) ticks: u64,
    pub(crate) threads: u64,
    /// Start time in ticks since boot: together with the id, it identifies a process permanently.
    pub(crate) start: u64,
    /// Resident memory, in pages.
    pub(crate) pages: u64,
}

/// The process, unless it is gone.
pub(crate) fn stat(pid: i32) -> Option<Stat> {
    parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse(line: &str) -> Option<Stat> {
    // The name, in parentheses, may itself contain spaces and parentheses.
    let fields: Vec<&str> = line.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    // Fields are numbered from 1 in proc(5), and the first one here is number 3.
    let number = |field: usize| fields.get(field - 3)?.parse::<i64>().ok();
    let count = |field: usize| number(field).map(|n| u64::try_from(n).unwrap_or(0));
    let id = |field: usize| number(field).and_then(|n| i32::try_from(n).ok());
    Some(Stat {
        parent: id(4)?,
        group: id(5)?,
        session: id(6)?,
        ticks: count(14)? + count(15)? + count(16)? + count(17)?,
        threads: count(20)?,
        start: count(22)?,
        pages: count(24)?,
    })
}

/// Every process that can be seen.
pub(crate) fn all() -> BTreeMap<i32, Stat> {
    let Ok(entries) = fs::read_dir("/proc") else { return BTreeMap::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, stat(pid)?)))
        .collect()
}

/// The total usage of a process and all its descendants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tree {
    pub(crate) ticks: u64,
    pub(crate) threads: u64,
    pub(crate) pages: u64,
}

/// Adds up `root` and its descendants. In a process namespace every process descends from the
/// first.
pub(crate) fn tree(root: i32) -> Tree {
    sum(root, &all())
}

fn sum(root: i32, processes: &BTreeMap<i32, Stat>) -> Tree {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for (&pid, stat) in processes {
        children.entry(stat.parent).or_default().push(pid);
    }
    let (mut tree, mut open) = (Tree::default(), vec![root]);
    while let Some(pid) = open.pop() {
        let Some(stat) = processes.get(&pid) else { continue };
        tree.ticks += stat.ticks;
        tree.threads += stat.threads;
        tree.pages += stat.pages;
        // Removed, so that an inconsistent list cannot cause a cycle.
        open.extend(children.remove(&pid).unwrap_or_default());
    }
    tree
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_line_whatever_the_name() {
        let line =
            "7 (a) R (b) S 3 7 5 0 -1 4194560 90 0 0 0 1 2 3 4 20 0 9 0 12345 1000 55 18446744073709551615 1";
        let expected =
            Stat { parent: 3, group: 7, session: 5, ticks: 10, threads: 9, start: 12345, pages: 55 };
        assert_eq!(parse(line), Some(expected));
        for bad in ["", "7 (a", "7 (a) S 3", "7 (a) S x 7 5 0 -1 4194560 90 0 0 0 1 2 3 4 20 0 9 0 1 1 1"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn sums_descendants_only() {
        let process =
            |parent, n| Stat { parent, group: 0, session: 0, ticks: n, threads: 1, start: 0, pages: n };
        let list = BTreeMap::from([
            (1, process(0, 1)),
            (5, process(1, 10)),
            (6, process(5, 100)),
            (9, process(6, 1000)),
            (8, process(1, 10_000)),
        ]);
        assert_eq!(sum(5, &list), Tree { ticks: 1110, threads: 3, pages: 1110 });
        assert_eq!(sum(4, &list), Tree::default());
    }
}
