//! Sentences of a skill: what they forbid, and under which condition they apply.

use std::ops::Range;

/// What the words before a unit make of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stance {
    /// It is demanded, or stated.
    Demanded,
    /// It is not to be done.
    Forbidden,
    /// It is not to be done, save in some case: "never X without Y".
    Qualified,
    /// It is only talked about: part of a reason, or of a consequence.
    Mentioned,
}

/// A sentence, as a range of its block's text.
#[derive(Debug, Clone)]
pub(super) struct Sentence {
    pub(super) range: Range<usize>,
    /// Its text in lower case, of the same length, with inline code blanked out.
    masked: String,
    /// Where the stance changes, in bytes of the block.
    turns: Vec<(usize, Stance)>,
    /// The clause under which it applies, in bytes of the block.
    pub(super) condition: Option<Range<usize>>,
}

/// Words that forbid what follows them.
const FORBIDS: [&str; 36] = [
    "never ",
    "never: ",
    "do not: ",
    "don't: ",
    "don’t: ",
    "must not: ",
    "do not ",
    "don't ",
    "don’t ",
    "must not ",
    "mustn't ",
    "should not ",
    "shouldn't ",
    "may not ",
    "can not be used",
    "avoid ",
    "avoid: ",
    "avoiding ",
    "instead of ",
    "rather than ",
    "refrain from ",
    "not allowed: ",
    "forbidden: ",
    "prohibited: ",
    "wrong: ",
    "bad: ",
    "incorrect: ",
    "under no circumstances ",
    "at no time ",
    "forbidden to ",
    "prohibited to ",
    "not allowed to ",
    "not permitted to ",
    "steer clear of ",
    "stay away from ",
    "stop using ",
];

/// Words after which a demand begins, or begins again.
const DEMANDS: [&str; 35] = [
    "; ",
    " but ",
    "instead, ",
    ", use ",
    ": use ",
    " use ",
    " prefer ",
    ", run ",
    ", write ",
    ", set ",
    " → ",
    " -> ",
    " => ",
    " — ",
    " – ",
    "right: ",
    "good: ",
    "correct: ",
    ", call ",
    ", change ",
    ", edit ",
    ", put ",
    ", keep ",
    ", prefer ",
    ", take ",
    ", choose ",
    ", pass ",
    ", add ",
    ", store ",
    ", create ",
    ", import ",
    ", return ",
    " - use ",
    " - write ",
    "; instead ",
];

/// Words after which reasons and consequences stand.
const REASONS: [&str; 13] = [
    " because ",
    " since ",
    " otherwise ",
    "otherwise, ",
    " so that ",
    " which means ",
    " as it ",
    " this means ",
    " to avoid ",
    " would ",
    " compared to ",
    " unlike ",
    " similar to ",
];

/// Words that, before one of [`FORBIDS`], do not forbid, or after it turn it into a demand.
const EXEMPT: [&str; 14] = [
    "forget",
    "hesitate",
    "only ",
    "just ",
    "necessarily",
    "worry",
    "need to",
    "have to",
    "neglect",
    "skip",
    "omit",
    "ignore",
    "miss ",
    "leave",
];

/// How much of a sentence around a unit is looked at, in bytes.
const AROUND: usize = 240;

/// Longest sentence, in bytes; a longer one is divided.
const SENTENCE_CAP: usize = 2000;

/// The sentences of a text. `code` has the ranges of inline code, which no sentence ends within.
pub(super) fn sentences(text: &str, code: &[Range<usize>]) -> Vec<Sentence> {
    let masked = mask(text, code);
    let mut sentences = Vec::new();
    let bytes = masked.as_bytes();
    let mut start = 0;
    for at in 0..bytes.len() {
        let ends = match bytes[at] {
            b'\n' => true,
            b' ' if at - start > SENTENCE_CAP => true,
            b'.' | b'!' | b'?' => {
                bytes.get(at + 1).is_some_and(u8::is_ascii_whitespace)
                    && !is_abbreviation(&masked[start..at])
                    && !text[at + 1..].trim_start().starts_with(|c: char| c.is_lowercase())
            }
            _ => false,
        };
        if ends {
            sentences.extend(sentence(&masked, start..at + 1));
            start = at + 1;
        }
    }
    sentences.extend(sentence(&masked, start..text.len()));
    sentences
}

/// A text in lower case with the inline code blanked out, byte for byte.
pub(super) fn mask(text: &str, code: &[Range<usize>]) -> String {
    let mut bytes = text.to_ascii_lowercase().into_bytes();
    for range in code {
        if let Some(blank) = bytes.get_mut(range.clone()) {
            blank.fill(b'`');
        }
    }
    // Whole characters are blanked, so the bytes stay valid.
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_ascii_lowercase())
}

fn is_abbreviation(before: &str) -> bool {
    let word = before.rsplit([' ', '(']).next().unwrap_or(before);
    matches!(word, "e.g" | "i.e" | "etc" | "vs" | "cf" | "approx" | "no" | "fig" | "eq" | "st")
        || word.chars().all(|c| c.is_ascii_digit())
}

fn sentence(masked: &str, range: Range<usize>) -> Option<Sentence> {
    let text = &masked[range.clone()];
    if text.trim().is_empty() {
        return None;
    }
    let turns = turns(text, range.start);
    let condition = condition(text).map(|found| found.start + range.start..found.end + range.start);
    Some(Sentence { masked: text.to_owned(), range, turns, condition })
}

fn turns(text: &str, offset: usize) -> Vec<(usize, Stance)> {
    let mut turns = Vec::new();
    let glyph = text.trim_start().chars().next();
    if matches!(glyph, Some('❌' | '🚫' | '⛔' | '✗' | '✘' | '✖')) {
        turns.push((offset, Stance::Forbidden));
    }
    for (cues, stance) in [
        (&FORBIDS[..], Stance::Forbidden),
        (&DEMANDS[..], Stance::Demanded),
        (&REASONS[..], Stance::Mentioned),
    ] {
        for cue in cues {
            for (at, _) in text.match_indices(cue) {
                let starts = at == 0
                    || !cue.starts_with(|c: char| c.is_alphabetic())
                    || !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '-');
                let after = &text[at + cue.len()..];
                let exempt = stance == Stance::Forbidden && EXEMPT.iter().any(|word| after.starts_with(word));
                // "never X without Y", "do not X unless Y": X may be done.
                let qualified = stance == Stance::Forbidden
                    && !unless_asked(clause(after))
                    && [
                        " unless ",
                        " without ",
                        " until ",
                        " except ",
                        " more than ",
                        " before ",
                        " outside ",
                        " other than ",
                        " besides ",
                        " beyond ",
                    ]
                    .iter()
                    .any(|word| clause(after).contains(word));
                // "Do not use X" forbids on.
                let inner = stance == Stance::Demanded
                    && *cue == " use "
                    && ["not", "never", "don't", "don’t", "to", "the", "when", "you", "we"]
                        .iter()
                        .any(|word| text[..at].trim_end_matches(':').ends_with(word));
                if starts && !exempt && !inner {
                    let stance = if qualified { Stance::Qualified } else { stance };
                    turns.push((offset + at + cue.len().saturating_sub(1), stance));
                }
            }
        }
    }
    let by_place = |turns: &mut Vec<(usize, Stance)>| {
        turns.sort_by_key(|(at, stance)| (*at, *stance != Stance::Demanded));
    };
    by_place(&mut turns);
    let asides = asides(text, offset, &turns);
    turns.extend(asides);
    by_place(&mut turns);
    turns
}

/// Where parentheses change the stance: what they say is demanded, unless they list what is
/// forbidden before them, and after them the sentence goes on as before.
fn asides(text: &str, offset: usize, turns: &[(usize, Stance)]) -> Vec<(usize, Stance)> {
    let stance_at = |at: usize| {
        let turn = turns.iter().rev().find(|(turn, _)| *turn < offset + at);
        turn.map_or(Stance::Demanded, |(_, stance)| *stance)
    };
    let mut found = Vec::new();
    let mut rest = 0;
    while let Some(open) = text[rest..].find('(').map(|at| rest + at) {
        let close = clause_end(&text[open + 1..], &[]).map_or(text.len(), |at| open + 1 + at);
        let (inner, before) = (&text[open + 1..close], stance_at(open));
        if before != Stance::Forbidden || !is_list(inner) {
            found.push((offset + open, Stance::Demanded));
        }
        if close < text.len() {
            found.push((offset + close, before));
        }
        rest = (close + 1).min(text.len());
    }
    found
}

/// Whether what stands in parentheses gives instances, and not an alternative.
fn is_list(inner: &str) -> bool {
    let inner = inner.trim_start_matches([' ', '"', '\'', '*']);
    let turns = ["instead", "use ", "prefer", "→", "->", "better"].iter().any(|word| inner.contains(word));
    let leads = ["`", "e.g", "eg ", "such as", "like ", "for example", "i.e", "including", "incl"];
    !turns && leads.iter().any(|word| inner.starts_with(word))
}

/// Whether a sentence forbids what the one before it names: "Never use them."
pub(super) fn takes_back(masked: &str) -> bool {
    let start = masked.trim_start_matches(|c: char| !c.is_alphabetic());
    let verbs = [
        "use", "run", "call", "import", "execute", "invoke", "commit", "edit", "modify", "touch", "add",
        "install",
    ];
    ["never ", "do not ", "don't ", "don’t ", "must not ", "avoid "]
        .iter()
        .filter_map(|word| start.strip_prefix(word))
        .any(|rest| {
            let rest = verbs.iter().find_map(|verb| rest.strip_prefix(verb)).unwrap_or(rest).trim_start();
            let pronoun = rest.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
            let ends = rest[pronoun.len()..].trim_start().starts_with(['.', '!', ',', ';', ':', '—', '(']);
            matches!(pronoun, "it" | "them" | "these" | "those" | "either" | "this")
                && (ends || rest.len() == pronoun.len())
        })
}

/// Whether a clause makes an exception only for what the user asks for.
pub(crate) fn unless_asked(clause: &str) -> bool {
    const ASKED: [&str; 14] = [
        "asked",
        "asks",
        "ask ",
        "approv",
        "being told",
        "confirm",
        "consent",
        "explicit",
        "instructed",
        "permission",
        "request",
        "user says",
        "user tells",
        "user wants",
    ];
    [" unless ", " without "].iter().filter_map(|word| clause.split_once(word)).any(|(before, rest)| {
        let exception = &rest[..rest.find([',', ';', '(', '—']).unwrap_or(rest.len())];
        // "without X unless asked" allows X.
        !before.contains(" unless ")
            && ASKED.iter().any(|word| exception.contains(word))
            && !exception.contains('`')
    })
}

/// The rest of a clause.
fn clause(text: &str) -> &str {
    let end = [". ", "; ", " but ", " — "].iter().filter_map(|mark| text.find(mark)).min();
    &text[..end.unwrap_or(text.len())]
}

/// The conditional clause of a sentence: leading up to its comma, or trailing.
fn condition(text: &str) -> Option<Range<usize>> {
    let lead = text.len() - text.trim_start_matches(|c: char| !c.is_alphanumeric()).len();
    let start = &text[lead..];
    let opens =
        ["if ", "when ", "whenever ", "where ", "unless ", "once ", "for ", "in case ", "on ", "while "];
    if opens.iter().any(|word| start.starts_with(word))
        && ![
            "for example",
            "for each",
            "for every",
            "for all",
            "for any",
            "for instance",
            "for the",
            "on the",
            "for more",
            "for detail",
            "on each",
            "on or ",
        ]
        .iter()
        .any(|words| start.starts_with(words))
    {
        let end = clause_end(start, &[',', ':']).filter(|end| *end <= 160);
        if let Some(end) = end {
            // "For details, see …" points elsewhere.
            let rest = start[end + 1..].trim_start();
            let points =
                ["see ", "refer ", "read ", "check ", "consult "].iter().any(|word| rest.starts_with(word));
            if !points {
                return Some(lead..lead + end);
            }
        }
    }
    let tail = [" only if ", " only when ", " if ", " when ", " unless ", " whenever "]
        .iter()
        .filter_map(|word| text.find(word))
        .min()
        .filter(|at| text[..*at].matches('(').count() <= text[..*at].matches(')').count())?;
    let rest = &text[tail + 1..];
    let end =
        clause_end(rest, &[',', ';', ':', '—', '→']).unwrap_or(rest.trim_end_matches(['.', ' ', '\n']).len());
    Some(tail + 1..tail + 1 + end)
}

/// Where a clause ends, in bytes: at one of some signs, not within parentheses.
fn clause_end(text: &str, signs: &[char]) -> Option<usize> {
    let mut depth = 0usize;
    for (at, sign) in text.char_indices() {
        match sign {
            '(' => depth += 1,
            ')' if depth == 0 => return Some(at),
            ')' => depth -= 1,
            sign if depth == 0 && signs.contains(&sign) => return Some(at),
            _ => {}
        }
    }
    None
}

impl Sentence {
    /// What the words around a range of the block's text make of it.
    pub(super) fn stance(&self, unit: &Range<usize>) -> Stance {
        let turn = self.turns.iter().rev().find(|(at, _)| *at <= unit.start);
        let stance = turn.map_or(Stance::Demanded, |(_, stance)| *stance);
        let (before, after) = self.around(unit);
        if stance == Stance::Demanded && (is_denied(before) || is_condemned(after)) {
            return Stance::Forbidden;
        }
        stance
    }

    /// How far, in bytes, the words that set the stance stand before a range.
    pub(super) fn distance(&self, unit: &Range<usize>) -> usize {
        let turn = self.turns.iter().rev().find(|(at, _)| *at <= unit.start);
        turn.map_or(0, |(at, _)| unit.start - at)
    }

    /// What stands before and after a range of the block: the sentence in lower case, inline code
    /// blanked out, up to [`AROUND`].
    pub(super) fn around(&self, unit: &Range<usize>) -> (&str, &str) {
        let start = unit.start.saturating_sub(self.range.start).min(self.masked.len());
        let end = unit.end.saturating_sub(self.range.start).min(self.masked.len());
        let from = self.masked.ceil_char_boundary(start.saturating_sub(AROUND));
        let to = self.masked.floor_char_boundary(self.masked.len().min(end + AROUND));
        (&self.masked[from..start], &self.masked[end..to])
    }

    /// The sentence in lower case, inline code blanked out.
    pub(super) fn masked(&self) -> &str {
        &self.masked
    }
}

/// Whether what stands before a unit denies it: ", not X", "no X".
fn is_denied(before: &str) -> bool {
    let before = before.trim_end_matches(['`', ' ', '"', '\'', '*', '“']);
    let before = [" a", " an", " the"].iter().find_map(|word| before.strip_suffix(word)).unwrap_or(before);
    if let Some(rest) = before.strip_suffix("not") {
        let rest = rest.trim_end();
        return rest.ends_with([',', '(', '—', '–', ';']) || rest.ends_with(" and") || rest.ends_with(" but");
    }
    let words: Vec<&str> = before.split(' ').collect();
    words.last() == Some(&"no") || words.last() == Some(&"neither") || words.last() == Some(&"nor")
}

/// Whether what stands after a unit condemns it.
fn is_condemned(after: &str) -> bool {
    let after = after.trim_start_matches(['`', ' ', '"', '*']);
    let modal = [
        "must not ",
        "must never ",
        "should not ",
        "should never ",
        "may not ",
        "may never ",
        "is never ",
        "are never ",
        "is not to ",
    ]
    .iter()
    .find_map(|words| after.strip_prefix(words));
    // "`x` must not be empty" is about its value.
    let verb = modal.is_some_and(|rest| {
        let rest = rest.strip_prefix("be ").unwrap_or(rest);
        let verbs = [
            "used",
            "appear",
            "called",
            "run",
            "written",
            "edited",
            "changed",
            "modified",
            "touched",
            "committed",
            "present",
            "occur",
            "set",
            "included",
            "passed",
            "added",
            "imported",
            "listed",
        ];
        verbs.iter().any(|verb| rest.starts_with(verb))
    });
    let words = [
        "is forbidden",
        "are forbidden",
        "is not allowed",
        "are not allowed",
        "is prohibited",
        "are prohibited",
        "is deprecated",
        "are deprecated",
        "is wrong",
        "loses ",
        "is banned",
        "are banned",
        "is off limits",
        "are off limits",
        "is out of bounds",
    ];
    // "`x` comments are not allowed": a noun may stand between.
    let near =
        &after[..after.floor_char_boundary(after.find(['`', ',', '.', ';']).unwrap_or(after.len()).min(48))];
    let far = [
        "is forbidden",
        "are forbidden",
        "not allowed",
        "not permitted",
        "is prohibited",
        "are prohibited",
        "is banned",
        "are banned",
    ];
    verb || words.iter().any(|words| after.starts_with(words)) || far.iter().any(|words| near.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stance towards each piece between backticks.
    fn stances(marked: &str) -> Vec<Stance> {
        let mut text = String::new();
        let mut code = Vec::new();
        for (at, piece) in marked.split('`').enumerate() {
            if at % 2 == 1 {
                code.push(text.len()..text.len() + piece.len());
            }
            text.push_str(piece);
        }
        let sentences = sentences(&text, &code);
        code.iter()
            .map(|unit| {
                let sentence =
                    sentences.iter().find(|sentence| sentence.range.contains(&unit.start)).unwrap();
                sentence.stance(unit)
            })
            .collect()
    }

    #[test]
    fn words_forbid_what_follows_them() {
        use Stance::{Demanded as D, Forbidden as F, Mentioned as M, Qualified as Q};
        let check = |text: &str, expected: &[Stance]| assert_eq!(stances(text), expected, "{text}");
        check("Use `a`.", &[D]);
        check("Never use `a`. Use `b`.", &[F, D]);
        check("Do not use `a` or `b`; use `c`.", &[F, F, D]);
        check("Use `a`, not `b`.", &[D, F]);
        check("Use `a` instead of `b`.", &[D, F]);
        check("Don't forget to run `a`.", &[D]);
        check("Avoid `a` (use `b`).", &[F, D]);
        check("`a` is deprecated.", &[F]);
        check("Never run `a` without `b`.", &[Q, Q]);
        check("`a` must not appear in it.", &[F]);
        check("Do not edit `a`, change `b`.", &[F, D]);
        check("Leave it; `a` must not be empty.", &[D]);
        check("Use `a` because `b` is slow.", &[D, M]);
        check("There is no `a` beside it.", &[F]);
        check("❌ `a` everywhere", &[F]);
        check("Prefer `a` over this.", &[D]);
    }

    #[test]
    fn conditions_lead_or_trail() {
        let check = |text: &str, expected: &str| {
            let sentence = &sentences(text, &[])[0];
            let found = sentence.condition.clone().map_or("", |range| &text[range]);
            assert_eq!(found, expected, "{text}");
        };
        check("If the kiln is cold, wait.", "If the kiln is cold");
        check("For stoneware, use cone 6.", "For stoneware");
        check("Wait when the kiln is cold.", "when the kiln is cold");
        check("Use it, for example, here.", "");
        check("Wait.", "");
    }

    #[test]
    fn sentences_end_at_stops() {
        let check = |text: &str, expected: &[&str]| {
            let found: Vec<&str> =
                sentences(text, &[]).iter().map(|s| text[s.range.clone()].trim()).collect();
            assert_eq!(found, expected, "{text}");
        };
        check("One. Two! Three", &["One.", "Two!", "Three"]);
        check("Use it, e.g. Here. And v1.2 there.", &["Use it, e.g. Here.", "And v1.2 there."]);
    }
}
