//! Labels: one per item, from the marks of several people.

use std::collections::BTreeMap;

use super::marks::{ADJUDICATED, Mark, Marks};
use super::sheet::Sheet;

/// What a label follows from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// The final label that somebody set.
    Adjudicated,
    /// All marks of the item are equal.
    Unanimous,
    /// More than half of the marks are equal.
    Majority,
    /// No label has more than half of the marks.
    Undecided,
    /// There are no marks.
    Unmarked,
}

impl Basis {
    /// Its name in tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Adjudicated => "adjudicated",
            Self::Unanimous => "unanimous",
            Self::Majority => "majority",
            Self::Undecided => "undecided",
            Self::Unmarked => "unmarked",
        }
    }
}

/// The label of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemLabel<'a> {
    /// Whether the criterion is met; `None` if people cannot tell, or if it is undecided.
    pub label: Option<bool>,
    /// What it follows from.
    pub basis: Basis,
    /// The last mark of each annotator, in the order of their names, without the final label.
    pub marks: Vec<&'a Mark>,
    /// The final label, if somebody set it.
    pub adjudicated: Option<&'a Mark>,
}

impl ItemLabel<'_> {
    /// Whether people differ about the item, or none of them can tell.
    pub fn needs_adjudication(&self) -> bool {
        let mut labels = self.marks.iter().map(|mark| mark.label);
        labels.next().is_some_and(|first| first.is_none() || labels.any(|label| label != first))
    }
}

/// The labels of a sheet's items, in the order of its file. *Cannot tell* counts as a label of its own.
pub fn decide<'a>(sheet: &Sheet, marks: &'a Marks) -> Vec<ItemLabel<'a>> {
    let final_labels = marks.by_item(ADJUDICATED);
    let given: Vec<BTreeMap<&str, &Mark>> =
        marks.annotators().into_iter().map(|annotator| marks.by_item(annotator)).collect();
    let label = |id: &str| {
        let marks: Vec<&Mark> = given.iter().filter_map(|marks| marks.get(id).copied()).collect();
        let adjudicated = final_labels.get(id).copied();
        let (label, basis) =
            adjudicated.map_or_else(|| most_common(&marks), |mark| (mark.label, Basis::Adjudicated));
        ItemLabel { label, basis, marks, adjudicated }
    };
    sheet.items().iter().map(|item| label(item.id())).collect()
}

fn most_common(marks: &[&Mark]) -> (Option<bool>, Basis) {
    if marks.is_empty() {
        return (None, Basis::Unmarked);
    }
    let count = |label: Option<bool>| marks.iter().filter(|mark| mark.label == label).count();
    let labels = [Some(true), Some(false), None];
    match labels.into_iter().find(|label| 2 * count(*label) > marks.len()) {
        Some(label) if count(label) == marks.len() => (label, Basis::Unanimous),
        Some(label) => (label, Basis::Majority),
        None => (None, Basis::Undecided),
    }
}
