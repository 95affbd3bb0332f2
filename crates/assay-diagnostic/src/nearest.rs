//! Suggestions for misspelled names.

use std::collections::BTreeSet;

/// Up to three of some names that resemble one, nearest first, as suggestions for a misspelled
/// name.
pub fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let wanted = name.to_lowercase();
    let limit = (wanted.chars().count() / 3).max(2);
    let names: BTreeSet<&str> = names.into_iter().collect();
    let mut near: Vec<(usize, &str)> = names
        .into_iter()
        .filter_map(|candidate| {
            let lower = candidate.to_lowercase();
            let part = wanted.len() >= 3
                && (lower.contains(&wanted) || (lower.len() >= 3 && wanted.contains(&lower)));
            let distance = edits(&wanted, &lower);
            (distance <= limit || part).then_some((distance, candidate))
        })
        .collect();
    near.sort_unstable();
    near.into_iter().take(3).map(|(_, candidate)| candidate.to_owned()).collect()
}

/// Levenshtein's distance of the first 100 characters of two texts.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(100).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(100).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        let check = |a, b, expected| assert_eq!(edits(a, b), expected, "{a} {b}");
        check("", "abc", 3);
        check("kitten", "sitting", 3);
        check("same", "same", 0);
    }
}
