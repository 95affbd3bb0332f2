//! Lines of a document: `12`, `74-77`, `32,69`.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Most ranges of one directive.
const RANGES: usize = 50;

/// Lines of a document, counted from 1: ranges in ascending order that do not touch. In JSON they are a text such as
/// `12`, `74-77` or `32,69`; a bare number is read as well.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DirectiveLines(Vec<(usize, usize)>);

/// A text that names no lines.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} names no lines: write a line, a range or several of them, such as 12, 74-77 or 32,69")]
pub struct LineSetError(String);

impl DirectiveLines {
    /// A single line.
    pub fn single(line: usize) -> Self {
        Self::between(line, line)
    }

    /// The lines from `first` to `last`, which may be one.
    pub fn between(first: usize, last: usize) -> Self {
        Self(vec![(first.min(last), first.max(last))])
    }

    /// The first line.
    pub fn first_line(&self) -> usize {
        self.0.first().map_or(1, |(first, _)| *first)
    }

    /// The last line.
    pub fn last_line(&self) -> usize {
        self.0.last().map_or(1, |(_, last)| *last)
    }

    /// Whether a line is among them.
    pub fn has_line(&self, line: usize) -> bool {
        self.0.iter().any(|(first, last)| (*first..=*last).contains(&line))
    }

    /// Whether a line is in both.
    pub fn overlap_with(&self, other: &Self) -> bool {
        let meets =
            |(first, last): &(usize, usize)| other.0.iter().any(|(start, end)| first <= end && start <= last);
        self.0.iter().any(meets)
    }

    /// All lines in ascending order.
    pub fn each_line(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().flat_map(|(first, last)| *first..=*last)
    }

    /// The lines of both.
    #[must_use]
    pub fn union_with(&self, other: &Self) -> Self {
        Self::from_ranges(self.0.iter().chain(&other.0).copied().collect())
    }

    /// Ranges in any order, which may touch; `None` without one.
    pub(crate) fn of_ranges(ranges: &[(usize, usize)]) -> Option<Self> {
        (!ranges.is_empty()).then(|| Self::from_ranges(ranges.to_vec()))
    }

    fn from_ranges(mut ranges: Vec<(usize, usize)>) -> Self {
        ranges.sort_unstable();
        let mut joined: Vec<(usize, usize)> = Vec::new();
        for (first, last) in ranges {
            match joined.last_mut() {
                Some((_, end)) if first <= end.saturating_add(1) => *end = last.max(*end),
                _ => joined.push((first, last)),
            }
        }
        Self(joined)
    }
}

impl fmt::Display for DirectiveLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (first, last)) in self.0.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            write!(f, "{comma}{first}")?;
            if first != last {
                write!(f, "-{last}")?;
            }
        }
        Ok(())
    }
}

impl FromStr for DirectiveLines {
    type Err = LineSetError;

    fn from_str(text: &str) -> Result<Self, LineSetError> {
        let wrong = || LineSetError(text.chars().take(60).collect());
        let number = |text: &str| text.trim().parse::<usize>().ok().filter(|line| *line > 0);
        let range = |part: &str| {
            let (first, last) = part.split_once(['-', '–']).unwrap_or((part, part));
            number(first).zip(number(last)).filter(|(first, last)| first <= last)
        };
        let ranges = text.split(',').take(RANGES + 1).map(range).collect::<Option<Vec<_>>>();
        let ranges = ranges.filter(|ranges| ranges.len() <= RANGES).ok_or_else(wrong)?;
        Ok(Self::from_ranges(ranges))
    }
}

impl Serialize for DirectiveLines {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DirectiveLines {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::String(text) => text,
            other => other.to_string(),
        };
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_ranges_in_order() {
        let check = |text: &str, expected: &str, first: usize, last: usize| {
            let lines: DirectiveLines = text.parse().unwrap();
            assert_eq!(
                (lines.to_string().as_str(), lines.first_line(), lines.last_line()),
                (expected, first, last)
            );
        };
        check("12", "12", 12, 12);
        check(" 74 - 77 ", "74-77", 74, 77);
        check("69,32", "32,69", 32, 69);
        check("3-5,4-9,10", "3-10", 3, 10);
        check("8,19–20", "8,19-20", 8, 20);
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "0", "a", "5-3", "1,,2", "-4", "1-2-3"] {
            text.parse::<DirectiveLines>().unwrap_err();
        }
        (0..60)
            .map(|line| (line * 3 + 1).to_string())
            .collect::<Vec<_>>()
            .join(",")
            .parse::<DirectiveLines>()
            .unwrap_err();
    }

    #[test]
    fn json_has_a_text_and_a_bare_number_is_read() {
        let lines: DirectiveLines = serde_json::from_str("7").unwrap();
        assert_eq!(serde_json::to_string(&lines).unwrap(), "\"7\"");
        let error = serde_json::from_str::<DirectiveLines>("[1, 2]").unwrap_err().to_string();
        assert!(error.contains("names no lines"), "{error}");
    }

    #[test]
    fn lines_overlap_where_one_is_in_both() {
        let check = |one: &str, other: &str, expected: bool| {
            let (one, other): (DirectiveLines, DirectiveLines) =
                (one.parse().unwrap(), other.parse().unwrap());
            assert_eq!(
                (one.overlap_with(&other), other.overlap_with(&one)),
                (expected, expected),
                "{one} {other}"
            );
        };
        check("32,69", "69", true);
        check("32,69", "40-68", false);
        check("74-77", "76-90", true);
        let union = "3".parse::<DirectiveLines>().unwrap().union_with(&"4,9".parse().unwrap());
        assert_eq!(
            (union.to_string(), union.each_line().collect::<Vec<_>>()),
            ("3-4,9".to_owned(), vec![3, 4, 9])
        );
    }
}
