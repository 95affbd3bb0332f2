//! Sentences of reasoning, and sections of a skill.

use super::python::{is_space, strip};

/// Shortest sentence that is kept, in code points.
const LEAST: usize = 12;

/// The sentences of a stretch of reasoning, trimmed; shorter ones than twelve code points are
/// dropped.
///
/// The text is split at `(?<=[.!?])\s+(?=[A-Z"'`])|\n{2,}`. Where that leaves it whole, and it
/// holds a full stop, it is split at every full stop.
pub(super) fn sentences(text: &str) -> Vec<&str> {
    let mut parts = split(text);
    if parts.len() == 1 && text.contains('.') {
        parts = text.split('.').collect();
    }
    parts.into_iter().map(strip).filter(|part| part.chars().nth(LEAST - 1).is_some()).collect()
}

fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut from, mut at, mut ends) = (0, 0, false);
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let mut gap = 0;
        if ends && is_space(c) {
            let after = rest.trim_start_matches(is_space);
            if after.starts_with(|c: char| c.is_ascii_uppercase() || matches!(c, '"' | '\'' | '`')) {
                gap = rest.len() - after.len();
            }
        }
        if gap == 0 && rest.starts_with("\n\n") {
            gap = rest.len() - rest.trim_start_matches('\n').len();
        }
        if gap > 0 {
            parts.push(&text[from..at]);
            from = at + gap;
            at = from;
            ends = false;
        } else {
            ends = matches!(c, '.' | '!' | '?');
            at += c.len_utf8();
        }
    }
    parts.push(&text[from..]);
    parts
}

/// The sections of a skill: each runs from a match of `(?m)^#{1,6}\s+.+$` to before the next, and
/// what precedes the first is one too. Trimmed; empty ones are dropped. Fences of code are not
/// looked at: a comment in a script begins a section.
pub(super) fn sections(text: &str) -> Vec<&str> {
    let mut starts = vec![0];
    let mut at = 0;
    while at < text.len() {
        if let Some(length) = header(&text[at..]) {
            starts.push(at);
            at += length;
        }
        // On to the next line.
        at = text[at..].find('\n').map_or(text.len(), |end| at + end + 1);
    }
    starts.push(text.len());
    starts.windows(2).map(|pair| strip(&text[pair[0]..pair[1]])).filter(|part| !part.is_empty()).collect()
}

/// The length of a header at the beginning of a line, up to the end of its last line. The blanks
/// after the hashes may hold line breaks.
fn header(text: &str) -> Option<usize> {
    let hashes = text.len() - text.trim_start_matches('#').len();
    if !(1..=6).contains(&hashes) {
        return None;
    }
    let after = &text[hashes..];
    let title = after.trim_start_matches(is_space);
    if title.len() == after.len() {
        return None;
    }
    if title.is_empty() {
        // Nothing but blanks to the end: all but the first may be the title, if one of them is no
        // line break.
        let last = after.char_indices().skip(1).filter(|&(_, c)| c != '\n').last()?;
        let end = last.0 + last.1.len_utf8();
        return Some(hashes + end);
    }
    let begin = text.len() - title.len();
    Some(begin + title.find('\n').unwrap_or(title.len()))
}
