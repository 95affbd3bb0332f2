//! How much the words of a passage tell an agent what to do.

use super::verbs::VERBS;

/// Points from which a passage is a statement.
pub(super) const ENOUGH: i32 = 2;

/// Words that oblige, in lower case.
const MODALS: [&str; 44] = [
    "must",
    "never",
    "always",
    "do not",
    "don't",
    "don’t",
    "should",
    "shouldn't",
    "shall",
    "ensure",
    "make sure",
    "avoid",
    "prefer",
    "required",
    "requires",
    "mandatory",
    "at least",
    "at most",
    "no more than",
    "up to",
    "instead of",
    "rather than",
    "only",
    "not allowed",
    "forbidden",
    "cannot",
    "can't",
    "may not",
    "need to",
    "needs to",
    "have to",
    "has to",
    "recommended",
    "recommend",
    "not",
    "no",
    "every",
    "without",
    "regardless",
    "default",
    "defaults",
    "exactly",
    "before",
    "unless",
];

/// How strongly a word of [`MODALS`] obliges: the last of them only together with another sign.
const WEAK_MODALS: [&str; 11] =
    ["not", "no", "every", "without", "only", "up to", "before", "default", "defaults", "cannot", "can't"];

/// First words that no imperative begins with, although an article or a pronoun may follow.
const OTHERS: [&str; 74] = [
    "the", "a", "an", "this", "that", "these", "those", "it", "its", "they", "there", "here", "we", "you",
    "your", "our", "i", "is", "are", "was", "were", "be", "been", "has", "have", "had", "does", "did", "can",
    "could", "will", "would", "may", "might", "in", "on", "at", "of", "by", "for", "from", "to", "with",
    "within", "without", "into", "over", "under", "after", "before", "during", "because", "since", "as",
    "like", "and", "or", "but", "so", "while", "although", "both", "all", "each", "every", "any", "some",
    "most", "many", "what", "why", "how", "who", "which",
];

/// Words between the verb of an imperative and its object.
const DETERMINERS: [&str; 22] = [
    "the", "a", "an", "all", "each", "every", "any", "your", "its", "no", "only", "it", "them", "this",
    "that", "these", "those", "one", "two", "both", "more", "new",
];

/// What the words of a sentence say by themselves, in points. `masked` is its text in lower case with inline code
/// blanked out, `text` the same as it is written.
pub(super) fn score_sentence(masked: &str, text: &str) -> i32 {
    let clause = main_clause(masked);
    let mut points = 0;
    if is_imperative(clause) {
        points += 2;
    }
    points += obligation(masked);
    points += i32::from(masked.contains('`') || has_literal(text));
    points += i32::from(has_limit(masked));
    let words = masked.trim_start_matches(|sign: char| !sign.is_alphanumeric() && sign != '`');
    if clause.len() < words.len() {
        // "If the kiln is cold, wait": a circumstance, and what to do in it.
        points += 1;
    }
    if points_elsewhere(masked) {
        points -= 3;
    }
    points
}

/// The part of a sentence after a leading circumstance, a label and adverbs.
fn main_clause(masked: &str) -> &str {
    let mut rest = masked.trim_start_matches(|sign: char| !sign.is_alphanumeric() && sign != '`');
    let circumstances =
        ["if ", "when ", "whenever ", "where ", "unless ", "once ", "for ", "before ", "after ", "in "];
    if circumstances.iter().any(|word| rest.starts_with(word))
        && let Some(at) = rest.find(", ").filter(|at| *at <= 160)
    {
        rest = &rest[at + 2..];
    }
    for word in
        ["then ", "always ", "also ", "next, ", "first, ", "finally, ", "please ", "carefully ", "instead, "]
    {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    rest
}

/// Whether a clause begins with a verb that tells somebody to do something.
fn is_imperative(clause: &str) -> bool {
    let mut words =
        clause.split_whitespace().map(|word| word.trim_matches(|sign: char| ",:;.!?()\"'*".contains(sign)));
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let is_word = !first.is_empty() && first.chars().all(|sign| sign.is_ascii_lowercase() || sign == '-');
    if !is_word || OTHERS.contains(&first) || first.ends_with("ing") || first.ends_with("ly") {
        return false;
    }
    if VERBS.binary_search(&first).is_ok() {
        return !["is", "are", "of", "was"].contains(&second);
    }
    let open = first.ends_with('s') && !first.ends_with("ss");
    !open && !first.ends_with("ed") && DETERMINERS.contains(&second)
}

/// Points of the words that oblige: 2 for a strong one, 1 for weak ones.
fn obligation(masked: &str) -> i32 {
    let has = |word: &str| {
        masked.match_indices(word).any(|(at, _)| {
            let before = masked[..at].chars().next_back().is_none_or(|sign| !sign.is_alphanumeric());
            let after = masked[at + word.len()..].chars().next().is_none_or(|sign| !sign.is_alphanumeric());
            before && after
        })
    };
    let strong = MODALS.iter().any(|word| !WEAK_MODALS.contains(word) && has(word));
    if strong { 2 } else { i32::from(WEAK_MODALS.iter().any(|word| has(word))) }
}

/// Whether a text has a fixed text in quotation marks, an identifier, a path or a placeholder.
fn has_literal(text: &str) -> bool {
    let quoted = text.matches('"').count() >= 2 || text.contains('“');
    let named = text.split_whitespace().any(|word| {
        let word = word.trim_matches(|sign: char| !sign.is_alphanumeric());
        (word.contains('_') || word.contains('/')) && word.len() >= 5
            || word.len() >= 3
                && word.contains('.')
                && word.split('.').all(|part| !part.is_empty() && part.chars().all(char::is_alphanumeric))
    });
    quoted || named
}

/// Whether a text has a number that limits or measures.
fn has_limit(masked: &str) -> bool {
    let bytes = masked.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    (0..bytes.len()).any(|at| is_digit(at) && (at == 0 || !bytes[at - 1].is_ascii_alphanumeric()))
        || masked.contains(['=', '<', '≥', '≤', '→'])
        || masked.contains(" -> ")
}

/// Whether a sentence only says where to read on.
fn points_elsewhere(masked: &str) -> bool {
    let start = masked.trim_start_matches(|sign: char| !sign.is_alphanumeric());
    start.starts_with("see ")
        || start.starts_with("for more ")
        || start.starts_with("for details")
        || start.starts_with("learn more")
}

/// Whether a text is as short as a name or a noun phrase.
pub(super) fn is_short(text: &str) -> bool {
    text.split_whitespace().count() <= 6
}
