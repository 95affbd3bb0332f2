//! Paths that are nearly another.

use std::collections::BTreeMap;

use assay_diagnostic::Severity;

use crate::check::finding::Finding;
use crate::check::mention;
use crate::check::rule::TaskRule;
use crate::check::subject::{Subject, Text};
use crate::check::words::distance;

pub(super) const RULE: TaskRule = TaskRule {
    code: "path-typo",
    levels: "warn",
    summary: "a path mentioned nowhere else, one or two letters off another path",
    is_opt_in: true,
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    let places: [BTreeMap<String, (&Text, usize)>; 3] = [
        mention::all(&subject.instructions),
        mention::all(subject.tests.iter().filter(|text| text.is_code())),
        mention::all(subject.solution.iter().filter(|text| text.is_code())),
    ];
    for (number, place) in places.iter().enumerate().filter(|(_, place)| place.len() <= MOST) {
        for (path, (text, line)) in place {
            let name = mention::name(path);
            let elsewhere = || places.iter().enumerate().filter(|(other, _)| *other != number);
            let known = subject.finds(name)
                || elsewhere().any(|(_, other)| other.keys().any(|there| mention::name(there) == name));
            if known || name.len() < SHORTEST {
                continue;
            }
            let mut near = elsewhere()
                .flat_map(|(_, other)| other.keys().take(MOST))
                .map(|there| mention::name(there))
                .chain(subject.visible.iter().take(MOST).filter_map(|path| path.file_name()?.to_str()))
                .filter(|there| place.keys().all(|own| mention::name(own) != *there))
                .filter(|there| is_slip(name, there));
            if let Some(there) = near.next() {
                let message = format!("{path} is mentioned nowhere else, but {there} is");
                let hint = "use the same spelling everywhere";
                found.push(Finding::new(Severity::Warning, RULE.code, &text.file, message, hint).at(*line));
            }
        }
    }
}

/// Names shorter than this are too near to each other by nature.
const SHORTEST: usize = 7;
/// Paths of one place that are compared.
const MOST: usize = 300;

/// Whether one name is probably a misspelling of the other: a number that is added or changed is
/// not one.
fn is_slip(one: &str, other: &str) -> bool {
    let most = if one.len() < 10 { 1 } else { 2 };
    let letters = |name: &str| name.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    letters(one) != letters(other) && distance(one, other, most).is_some_and(|changes| changes > 0)
}
