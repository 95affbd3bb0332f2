//! The released auditor's regular expressions, as functions: Python's `\w` and `\b` are
//! in no engine of Rust's.
//!
//! Each function names its expression. `tests/reference` has what CPython's `re`
//! finds on random text.

use std::collections::BTreeSet;

use super::python::{boundary, is_digit, is_space, is_word};

/// Shortest literal of the kinds that have a least length, in code points.
const LEAST: usize = 6;

/// The literals of a text that might have been copied: versions, paths and dotted names, quoted
/// strings, constants.
///
/// - `\b(?:\d+\.\d+(?:\.\d+){0,2}|v\d+(?:\.\d+){0,3}|\d+\.\d+\.\d+[-+][\w.]+)\b`, of any length
/// - `\b[A-Za-z_][\w-]*[/.][\w./-]+\b`
/// - `["'][^"'\n]{4,80}["']`, without its quotes
/// - `\b[A-Z][A-Z0-9_]{3,}\b`
///
/// The last three with at least six code points, in their own case.
pub(super) fn literals(text: &[char]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut keep = |part: &[char], least: usize| {
        if part.len() >= least {
            found.insert(part.iter().collect());
        }
    };
    each(text, true, version, |from, to| keep(&text[from..to], 0));
    paths(text, |from, to| keep(&text[from..to], LEAST));
    each(text, false, quoted, |from, to| keep(&text[from + 1..to - 1], LEAST));
    each(text, true, constant, |from, to| keep(&text[from..to], LEAST));
    found
}

/// Calls `hit` with the non-overlapping matches, from left to right, of what `end` finds to begin
/// at a position.
fn each(
    text: &[char],
    at_boundary: bool,
    end: impl Fn(&[char], usize) -> Option<usize>,
    mut hit: impl FnMut(usize, usize),
) {
    let mut at = 0;
    while at < text.len() {
        match end(text, at).filter(|_| !at_boundary || boundary(text, at)) {
            Some(to) => {
                hit(at, to);
                at = to;
            }
            None => at += 1,
        }
    }
}

/// The first position from `at` on that does not hold.
fn run(text: &[char], at: usize, holds: impl Fn(char) -> bool) -> usize {
    at + text[at.min(text.len())..].iter().take_while(|&&c| holds(c)).count()
}

/// The third alternative of the expression never matches: whatever it could match, the first one
/// has matched before.
fn version(text: &[char], at: usize) -> Option<usize> {
    let (mut to, groups) = if is_digit(text[at]) {
        let whole = run(text, at, is_digit);
        (group(text, whole)?, 2)
    } else if text[at] == 'v' {
        let whole = run(text, at + 1, is_digit);
        (Some(whole).filter(|&to| to > at + 1)?, 3)
    } else {
        return None;
    };
    // The longest of the ends after a group that is followed by no word character. Inside digits
    // there is no boundary.
    let mut last = Some(to).filter(|&to| boundary(text, to));
    for _ in 0..groups {
        let Some(next) = group(text, to) else { break };
        to = next;
        last = if boundary(text, to) { Some(to) } else { last };
    }
    last
}

/// The end of a dot and digits.
fn group(text: &[char], at: usize) -> Option<usize> {
    let to = run(text, at + 1, is_digit);
    (text.get(at) == Some(&'.') && to > at + 1).then_some(to)
}

/// Paths and dotted names. Where a name is followed by neither slash nor dot, none of its parts is
/// either: the whole run is passed over, or a long one would be read once for each of its hyphens.
fn paths(text: &[char], mut hit: impl FnMut(usize, usize)) {
    let mut at = 0;
    while at < text.len() {
        if !(text[at].is_ascii_alphabetic() || text[at] == '_') || !boundary(text, at) {
            at += 1;
            continue;
        }
        let name = run(text, at, |c| is_word(c) || c == '-');
        if !matches!(text.get(name), Some('/' | '.')) {
            at = name;
            continue;
        }
        let mut to = run(text, name + 1, |c| is_word(c) || matches!(c, '.' | '/' | '-'));
        while to > name + 1 && !boundary(text, to) {
            to -= 1;
        }
        if to > name + 1 {
            hit(at, to);
            at = to;
        } else {
            at = name + 1;
        }
    }
}

fn quoted(text: &[char], at: usize) -> Option<usize> {
    if !matches!(text[at], '"' | '\'') {
        return None;
    }
    // 81 characters without a quote are one too many, whatever follows.
    let inside = text[at + 1..].iter().take(81).take_while(|c| !matches!(c, '"' | '\'' | '\n')).count();
    let close = at + 1 + inside;
    ((4..=80).contains(&inside) && matches!(text.get(close), Some('"' | '\''))).then_some(close + 1)
}

fn constant(text: &[char], at: usize) -> Option<usize> {
    if !text[at].is_ascii_uppercase() {
        return None;
    }
    let to = run(text, at, |c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    (to >= at + 4 && boundary(text, to)).then_some(to)
}

/// How often the nine patterns of edge-case handling match, each counted without
/// overlaps: `\btry\s*[:{(]`, `\bexcept\b`, `\bcatch\s*\(`, `\bif\s+[^:\n]{0,40}\b(?:is\s+None|==
/// ?None|!= ?None)\b`, `(?i)\bnull\s*(?:check|guard)\b`, `\bassert\b`, `\braise\s+\w+`,
/// `(?i)\bedge\s*case\b`, `(?i)\bboundary\b`.
pub(super) fn edge_hits(text: &[char]) -> usize {
    let mut hits = 0;
    // Where the next match of a pattern may begin. Only `if` and `raise` reach over other words;
    // each has its own.
    let mut free = [0; 2];
    let mut word_before = false;
    for at in 0..text.len() {
        let word = is_word(text[at]);
        let begins = word && !word_before;
        word_before = word;
        if !begins {
            continue;
        }
        let rest = &text[at..];
        let found = match text[at] {
            't' => literal(rest, "try").is_some_and(|to| blanks_then(rest, to, &[':', '{', '('])),
            'c' => literal(rest, "catch").is_some_and(|to| blanks_then(rest, to, &['('])),
            'a' => literal(rest, "assert").is_some_and(|to| boundary(rest, to)),
            'i' if at >= free[0] => none_check(rest).is_some_and(|to| {
                free[0] = at + to;
                true
            }),
            'r' if at >= free[1] => raised(rest).is_some_and(|to| {
                free[1] = at + to;
                true
            }),
            'n' | 'N' => any_case(rest, 0, "null").is_some_and(|to| {
                let to = run(rest, to, is_space);
                ["check", "guard"].iter().any(|w| any_case(rest, to, w).is_some_and(|to| boundary(rest, to)))
            }),
            'e' | 'E' => {
                let except = literal(rest, "except").is_some_and(|to| boundary(rest, to));
                except
                    || any_case(rest, 0, "edge")
                        .and_then(|to| any_case(rest, run(rest, to, is_space), "case"))
                        .is_some_and(|to| boundary(rest, to))
            }
            'b' | 'B' => any_case(rest, 0, "boundary").is_some_and(|to| boundary(rest, to)),
            _ => false,
        };
        hits += usize::from(found);
    }
    hits
}

fn literal(text: &[char], word: &str) -> Option<usize> {
    let mut at = 0;
    for c in word.chars() {
        if text.get(at) != Some(&c) {
            return None;
        }
        at += 1;
    }
    Some(at)
}

/// A word at a position, with `re.IGNORECASE`: the long s and the Kelvin sign are an s and a k.
fn any_case(text: &[char], mut at: usize, word: &str) -> Option<usize> {
    for c in word.chars() {
        let there = match *text.get(at)? {
            '\u{17f}' => 's',
            '\u{212a}' => 'k',
            other => other.to_ascii_lowercase(),
        };
        if there != c {
            return None;
        }
        at += 1;
    }
    Some(at)
}

fn blanks_then(text: &[char], at: usize, signs: &[char]) -> bool {
    text.get(run(text, at, is_space)).is_some_and(|c| signs.contains(c))
}

fn raised(text: &[char]) -> Option<usize> {
    let word = literal(text, "raise")?;
    let name = run(text, word, is_space);
    let to = run(text, name, is_word);
    (name > word && to > name).then_some(to)
}

/// The comparison with None, with all the ways an engine that tracks back would try, in its order:
/// as many blanks as there are, then as much of the line as there may be.
fn none_check(text: &[char]) -> Option<usize> {
    let word = literal(text, "if")?;
    let blanks = run(text, word, is_space);
    for from in (word + 1..=blanks).rev() {
        let most = run(&text[..text.len().min(from + 40)], from, |c| !matches!(c, ':' | '\n'));
        for at in (from..=most).rev() {
            if boundary(text, at)
                && let Some(to) = is_none(&text[at..])
                && boundary(text, at + to)
            {
                return Some(at + to);
            }
        }
    }
    None
}

fn is_none(text: &[char]) -> Option<usize> {
    let name = if let Some(to) = literal(text, "is") {
        Some(run(text, to, is_space)).filter(|&name| name > to)?
    } else {
        let to = literal(text, "==").or_else(|| literal(text, "!="))?;
        to + usize::from(text.get(to) == Some(&' '))
    };
    literal(&text[name..], "None").map(|to| name + to)
}

/// The words of a text, `\w+`, as ranges.
pub(super) fn words(text: &str, mut hit: impl FnMut(&str)) {
    let mut from = None;
    for (at, c) in text.char_indices() {
        match (is_word(c), from) {
            (true, None) => from = Some(at),
            (false, Some(start)) => {
                hit(&text[start..at]);
                from = None;
            }
            _ => {}
        }
    }
    if let Some(start) = from {
        hit(&text[start..]);
    }
}

/// The terms of a lower-cased text: `\b[a-zA-Z][a-zA-Z0-9_-]+\b`.
pub(super) fn terms(text: &str, mut hit: impl FnMut(&str)) {
    let bytes = text.as_bytes();
    let word_at = |at: usize| text[at..].chars().next().is_some_and(is_word);
    let mut at = 0;
    let mut word_before = false;
    while let Some(c) = text[at..].chars().next() {
        if c.is_ascii_alphabetic() && !word_before {
            let part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
            let mut to = at + bytes[at..].iter().take_while(|b| part(b)).count();
            // An end is one where a word character meets another kind.
            while to > at + 1 && (bytes[to - 1] != b'-') == word_at(to) {
                to -= 1;
            }
            if to > at + 1 {
                hit(&text[at..to]);
                word_before = bytes[to - 1] != b'-';
                at = to;
                continue;
            }
        }
        word_before = is_word(c);
        at += c.len_utf8();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::python::lower;
    use super::super::sentences::{sections, sentences};
    use super::*;

    #[test]
    fn random_text_is_taken_apart_as_cpython_takes_it() {
        let all: Value =
            serde_json::from_str(include_str!("../../tests/reference/patterns.json")).expect("JSON");
        let cases = all["cases"].as_array().expect("cases");
        assert!(cases.len() >= 500);
        for case in cases {
            let text = case["text"].as_str().expect("text");
            let characters: Vec<char> = text.chars().collect();
            let low = lower(text);
            let found = |name: &str, found: &[String]| {
                assert_eq!(case[name], Value::from(found), "{name} of {text:?}");
            };
            found("literals", &literals(&characters).into_iter().collect::<Vec<_>>());
            assert_eq!(case["edge"], edge_hits(&characters), "edge of {text:?}");
            let (mut w, mut t) = (Vec::new(), Vec::new());
            words(&low, |word| w.push(word.to_owned()));
            terms(&low, |term| t.push(term.to_owned()));
            found("words", &w);
            found("terms", &t);
            found("sentences", &sentences(text).into_iter().map(str::to_owned).collect::<Vec<_>>());
            found("sections", &sections(text).into_iter().map(str::to_owned).collect::<Vec<_>>());
        }
    }
}
