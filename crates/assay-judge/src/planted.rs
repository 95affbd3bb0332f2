//! Planted items and pairs: those with an unmistakable answer, among those that are judged. A judge that misses them
//! does not read the material.

use assay_fs::Digest;

use crate::ask::Ruling;
use crate::rubric::Item;
use crate::score::Verdict;

/// One item is planted for this many: 5%.
pub const EVERY: usize = 20;

/// Misses from which no verdict of a batch counts.
pub const BLOCKED: usize = 2;

/// The beginning of a planted item's id.
const PREFIX: &str = "planted-";

/// A planted item and its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Planted {
    /// The item.
    pub item: Item,
    /// The only right verdict.
    pub expected: Verdict,
}

/// A planted item for a material, which a line of it decides, or a text that it does not contain. `None` if no
/// line of the material is long enough. The same `seed` gives the same item.
pub fn planted(material: &[(String, String)], seed: u64) -> Option<Planted> {
    let lines: Vec<&str> = material
        .iter()
        .flat_map(|(_, text)| text.lines())
        .map(str::trim)
        .filter(|line| (16..=200).contains(&line.chars().count()))
        .collect();
    let digest = Digest::of(format!("{seed}\n{}", lines.concat()).as_bytes());
    let bytes = digest.as_bytes();
    let pick = usize::from(bytes[0]) << 8 | usize::from(bytes[1]);
    let line = lines.get(pick % lines.len().max(1))?;
    let id = format!("{PREFIX}{}", digest.short());
    if bytes[2].is_multiple_of(2) {
        let item = Item::new(id, format!("The material contains the following line: {line}"), 1.0);
        return Some(Planted { item, expected: Verdict::Met });
    }
    let code = &digest.hex()[20..36];
    let item = Item::new(id, format!("The material contains the code {code}."), 1.0);
    Some(Planted { item, expected: Verdict::NotMet })
}

/// Fewest words of a result of which a planted pair has a part.
const LONG: usize = 40;

/// A result that fulfils hardly any instruction.
const UNRELATED: &str = "The museum opens at nine on weekdays and is closed on Mondays.";

/// A pair of results of which one is better beyond doubt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlantedPair {
    /// What both were told.
    pub instruction: String,
    /// The better result.
    pub better: String,
    /// The other.
    pub worse: String,
}

/// A planted pair from a row: the longer of its results against three words of it, or against an unrelated sentence.
///
/// If neither result is long, it is a pair of its own: a code that is asked for against the sentence. The same
/// `seed` gives the same pair.
pub fn planted_pair(instruction: &str, results: [&str; 2], seed: u64) -> PlantedPair {
    let words = |text: &str| text.split_whitespace().count();
    let [a, b] = results;
    let longer = if words(b) > words(a) { b } else { a };
    let digest = Digest::of(format!("{seed}\n{instruction}\n{longer}").as_bytes());
    if words(longer) < LONG {
        let code = digest.hex()[20..36].to_owned();
        let instruction = format!("Reply with the code {code} and nothing else.");
        return PlantedPair { instruction, better: code, worse: UNRELATED.to_owned() };
    }
    let worse = if digest.as_bytes()[2].is_multiple_of(2) {
        // From the middle, where they cannot be a short answer.
        let middle = longer.split_whitespace().skip(words(longer) / 2).take(3);
        middle.collect::<Vec<_>>().join(" ")
    } else {
        UNRELATED.to_owned()
    };
    PlantedPair { instruction: instruction.to_owned(), better: longer.to_owned(), worse }
}

/// How many of `requests` requests, with `items` items in all, get a planted item.
pub fn how_many(items: usize, requests: usize) -> usize {
    items.div_ceil(EVERY).min(requests)
}

/// Whether a ruling is about a planted item, and wrong.
pub fn is_missed(planted: &Planted, rulings: &[Ruling]) -> bool {
    !rulings.iter().any(|ruling| ruling.item == planted.item.id && ruling.verdict == planted.expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn material() -> Vec<(String, String)> {
        vec![(
            "a.md".to_owned(),
            "short\nThis line is long enough to be quoted.\nAnd this is another such line.\n".to_owned(),
        )]
    }

    #[test]
    fn planted_items_have_one_right_answer() {
        let mut seen = Vec::new();
        for seed in 0..50 {
            let Planted { item, expected } = planted(&material(), seed).unwrap();
            let line = item.text.strip_prefix("The material contains the following line: ");
            match expected {
                Verdict::Met => assert!(material()[0].1.contains(line.unwrap())),
                _ => assert!(line.is_none() && expected == Verdict::NotMet),
            }
            seen.push(expected);
            assert_eq!(planted(&material(), seed).unwrap().item, item);
        }
        assert!(seen.contains(&Verdict::Met) && seen.contains(&Verdict::NotMet));
        assert_eq!(planted(&[("a".into(), "x".into())], 1), None);
    }

    #[test]
    fn planted_pairs_have_one_right_answer() {
        let long = (0..60).map(|at| format!("word{at}")).collect::<Vec<_>>().join(" ");
        let mut seen = Vec::new();
        for seed in 0..20 {
            let pair = planted_pair("Count", [&long, "short"], seed);
            assert_eq!((pair.instruction.as_str(), &pair.better), ("Count", &long));
            assert_eq!(planted_pair("Count", [&long, "short"], seed), pair);
            seen.push(pair.worse);
            let PlantedPair { instruction, better, worse } = planted_pair("Count", ["1", "2"], seed);
            assert!(instruction.contains(&better) && worse == UNRELATED);
        }
        assert!(seen.iter().any(|worse| worse == "word30 word31 word32"));
        assert!(seen.iter().any(|worse| worse == UNRELATED));
    }

    #[test]
    fn shares() {
        assert_eq!(
            [(0, 0), (1, 1), (20, 20), (21, 20), (100, 3)].map(|(items, requests)| how_many(items, requests)),
            [0, 1, 1, 2, 3]
        );
    }
}
