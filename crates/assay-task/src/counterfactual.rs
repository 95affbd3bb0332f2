//! Counterfactual skills: the same rules with other names, limits and markers.
//!
//! What a skill fixes by a word or a number can be known from elsewhere: the skill is public, or was seen in training. Its
//! counterfactual copy has other words and numbers in the same places, which nobody can know who does not read it. The
//! table of replacements belongs to a task: [`COUNTERFACTUAL_TABLE`] in its folder. The checks with replaced words are
//! beside it; instruction and given files have none of the words and stay as they are.

use std::io;
use std::path::Path;

use assay_fs::Digest;
use serde::{Deserialize, Serialize};

/// The table of a task, within its folder.
pub const COUNTERFACTUAL_TABLE: &str = "tests/counterfactual/table.json";

const SCHEMA: &str = "assay.counterfactual/1";

/// Most bytes of a table.
const TABLE_BYTES: u64 = 1 << 20;

/// Fewest letters of a word that is replaced: shorter ones are units and prepositions.
const WORD_LETTERS: usize = 3;

/// Most letters of a file's ending, which is kept.
const ENDING_LETTERS: usize = 5;

/// The most that a number changes, as a part of itself. Data that is on one side of a limit should stay there, so that a task
/// works with both.
const NUMBER_SHARE: f64 = 0.3;

/// A phrase and what takes its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkReplacement {
    /// The phrase, as the skill has it.
    pub from: String,
    /// What the copy has.
    pub to: String,
}

/// The replacements that make the counterfactual copy of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterfactualTable {
    schema: String,
    /// The longest phrase first.
    pub replacements: Vec<MarkReplacement>,
}

/// Why a table cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CounterfactualError {
    /// The file cannot be read.
    #[error("cannot read {COUNTERFACTUAL_TABLE}: {0}")]
    Read(#[from] io::Error),
    /// It is not a table.
    #[error("{COUNTERFACTUAL_TABLE}:{}: {source}", source.line())]
    Json {
        /// Why.
        #[from]
        source: serde_json::Error,
    },
}

impl CounterfactualTable {
    /// Makes a table for phrases, of which equal ones and those that nothing can replace are left out. The same phrases and
    /// seed give the same table. A word has the same replacement in all phrases.
    pub fn from_marks<'a>(marks: impl IntoIterator<Item = &'a str>, seed: u64) -> Self {
        let mut replacements: Vec<MarkReplacement> = Vec::new();
        for mark in marks {
            let to = replace_parts(mark, seed);
            let is_known = replacements.iter().any(|one| one.from.eq_ignore_ascii_case(mark));
            if to != mark && !is_known {
                replacements.push(MarkReplacement { from: mark.to_owned(), to });
            }
        }
        replacements.sort_by(|a, b| b.from.len().cmp(&a.from.len()).then_with(|| a.from.cmp(&b.from)));
        Self { schema: SCHEMA.to_owned(), replacements }
    }

    /// Reads the table of a task; `None` if it has none.
    ///
    /// # Errors
    /// The file cannot be read, or is not a table.
    pub fn read_from(task: &Path) -> Result<Option<Self>, CounterfactualError> {
        let bytes = match assay_fs::read_file(&task.join(COUNTERFACTUAL_TABLE), TABLE_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        Ok(Some(serde_json::from_slice(&bytes)?))
    }

    /// The file.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Replaces the phrases in a text, whatever their case, and not within longer words or numbers. A phrase in capitals has a
    /// replacement in capitals. Lines stay lines.
    pub fn apply_to(&self, text: &str) -> String {
        let mut made = String::with_capacity(text.len());
        let mut rest = text;
        let mut before = None;
        'text: while let Some(sign) = rest.chars().next() {
            for one in &self.replacements {
                if let Some(found) = find_start(rest, &one.from, before) {
                    made.push_str(&follow_case(found, &one.from, &one.to));
                    before = found.chars().next_back();
                    rest = &rest[found.len()..];
                    continue 'text;
                }
            }
            made.push(sign);
            before = Some(sign);
            rest = &rest[sign.len_utf8()..];
        }
        made
    }

    /// Whether a text has one of the phrases.
    pub fn occurs_in(&self, text: &str) -> bool {
        self.apply_to(text) != text
    }
}

fn is_word(sign: Option<char>) -> bool {
    sign.is_some_and(|sign| sign.is_alphanumeric() || sign == '_')
}

/// The phrase at the start of a text, if it is there and ends where a word ends. `before` is what precedes the text.
fn find_start<'t>(text: &'t str, phrase: &str, before: Option<char>) -> Option<&'t str> {
    let found = text.get(..phrase.len()).filter(|found| found.eq_ignore_ascii_case(phrase))?;
    let after = text[found.len()..].chars().next();
    let joined = is_word(before) && is_word(phrase.chars().next())
        || is_word(after) && is_word(phrase.chars().next_back());
    (!joined && !found.is_empty()).then_some(found)
}

/// A replacement in the case of what it replaces.
fn follow_case(found: &str, from: &str, to: &str) -> String {
    if found == from {
        return to.to_owned();
    }
    let letters = || found.chars().filter(|sign| sign.is_alphabetic());
    if letters().all(char::is_uppercase) {
        to.to_uppercase()
    } else if letters().all(char::is_lowercase) {
        to.to_lowercase()
    } else {
        let mut signs = to.to_lowercase().chars().collect::<Vec<char>>();
        if let Some(first) = signs.iter_mut().find(|sign| sign.is_alphabetic()) {
            first.make_ascii_uppercase();
        }
        signs.into_iter().collect()
    }
}

/// Replaces the words and numbers of a phrase.
fn replace_parts(phrase: &str, seed: u64) -> String {
    let mut made = String::new();
    let mut rest = phrase;
    while let Some(first) = rest.chars().next() {
        let kind = |sign: char| (sign.is_ascii_alphabetic(), sign.is_ascii_digit());
        let end = rest.find(|sign| kind(sign) != kind(first)).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        let is_ending = made.ends_with('.') && after.is_empty() && part.len() <= ENDING_LETTERS;
        match kind(first) {
            (true, _) if part.len() >= WORD_LETTERS && !is_ending => made.push_str(&replace_word(part, seed)),
            (_, true) => made.push_str(&replace_number(part, seed)),
            _ => made.push_str(part),
        }
        rest = after;
    }
    made
}

/// Bytes that depend on a text and a seed.
fn draw_bytes(text: &str, seed: u64) -> Vec<u8> {
    let hex = Digest::of(format!("counterfactual {seed} {text}").as_bytes()).hex();
    hex.as_bytes()
        .chunks(2)
        .filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

/// A word of the same length and case that can be spoken and means nothing.
fn replace_word(word: &str, seed: u64) -> String {
    const CONSONANTS: &[u8] = b"bdfgklmnprstvz";
    const VOWELS: &[u8] = b"aeiou";
    let bytes = draw_bytes(&word.to_ascii_lowercase(), seed);
    let starts_with_vowel = bytes.last().is_some_and(|byte| byte % 3 == 0);
    let letter = |at: usize| {
        let signs = if (at % 2 == 0) == starts_with_vowel { VOWELS } else { CONSONANTS };
        char::from(signs[usize::from(bytes[at % bytes.len()]) % signs.len()])
    };
    let made = word
        .chars()
        .enumerate()
        .map(|(at, own)| if own.is_ascii_uppercase() { letter(at).to_ascii_uppercase() } else { letter(at) });
    made.collect()
}

/// Another number with as many digits, near to it.
fn replace_number(digits: &str, seed: u64) -> String {
    let Ok(number) = digits.parse::<u64>() else { return digits.to_owned() };
    if number == 0 || digits.len() > 15 {
        return digits.to_owned();
    }
    let bytes = draw_bytes(digits, seed);
    let most = ((number as f64 * NUMBER_SHARE) as u64).max(1);
    let change = 1 + u64::from(bytes[0]) % most;
    let (low, high) = (number.saturating_sub(change), number + change);
    let fits = |number: u64| number > 0 && number.to_string().len() <= digits.len();
    let other = match (bytes[1] % 2 == 0, fits(low), fits(high)) {
        (_, false, true) | (false, _, true) => high,
        (_, true, _) => low,
        _ => return digits.to_owned(),
    };
    format!("{other:0width$}", width = digits.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replacement_has_the_form_of_what_it_replaces() {
        for mark in
            ["close-ledger.txt", "LEDGER/4", "dormant", "-- filed --", "80%", "3", "v2", "Node: Main", "007"]
        {
            for seed in 0..20 {
                let table = CounterfactualTable::from_marks([mark], seed);
                let to = &table.replacements[0].to;
                assert_ne!(to, mark);
                assert_eq!(to.len(), mark.len(), "{mark} {to}");
                for (own, other) in mark.chars().zip(to.chars()) {
                    let kind = |sign: char| (sign.is_alphabetic(), sign.is_numeric(), sign.is_uppercase());
                    assert_eq!(kind(own), kind(other), "{mark} {to}");
                }
                assert!(!mark.ends_with(".txt") || to.ends_with(".txt"), "{to}");
            }
        }
        // Nothing replaces these.
        assert_eq!(CounterfactualTable::from_marks(["==", "of", "0", ""], 1).replacements, []);
        let twice = CounterfactualTable::from_marks(["dormant", "Dormant", "dormant"], 1);
        assert_eq!(twice.replacements.len(), 1);
    }

    #[test]
    fn numbers_stay_near() {
        for seed in 0..200 {
            let to: u64 = replace_number("40", seed).parse().unwrap();
            assert!((28..=52).contains(&to) && to != 40, "{to}");
            assert_ne!(replace_number("9", seed), "10");
        }
        assert_eq!(replace_number("99999999999999999999", 1), "99999999999999999999");
    }

    #[test]
    fn phrases_are_replaced_as_whole_words() {
        let replacement = |from: &str, to: &str| MarkReplacement { from: from.to_owned(), to: to.to_owned() };
        let table = CounterfactualTable {
            schema: SCHEMA.to_owned(),
            replacements: vec![
                replacement("dormant shops", "valuno kireb"),
                replacement("dormant", "valuno"),
                replacement("40", "47"),
            ],
        };
        let check = |text: &str, expected: &str| {
            assert_eq!(table.apply_to(text), expected, "{text}");
            assert_eq!(table.occurs_in(text), text != expected);
        };
        check("below 40 is dormant", "below 47 is valuno");
        check("Dormant, DORMANT: dormant shops", "Valuno, VALUNO: valuno kireb");
        check("dormants 401 a40 40", "dormants 401 a40 47");
        check("if x < 40 and y == \"dormant\":\n", "if x < 47 and y == \"valuno\":\n");
        check("ä40 é", "ä40 é");
        check("", "");
    }

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(CounterfactualTable::read_from(root.path()).unwrap(), None);
        let table = CounterfactualTable::from_marks(["dormant", "40"], 1);
        let path = root.path().join(COUNTERFACTUAL_TABLE);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, table.to_json()).unwrap();
        assert_eq!(CounterfactualTable::read_from(root.path()).unwrap(), Some(table));
        std::fs::write(&path, "{\n1").unwrap();
        let error = CounterfactualTable::read_from(root.path()).unwrap_err().to_string();
        assert!(error.starts_with("tests/counterfactual/table.json:2: "), "{error}");
    }
}
