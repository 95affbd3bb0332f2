//! Words, literals and phrases of requirements.

use std::collections::BTreeSet;

/// Words without a meaning of their own, and those that every requirement has.
const STOP: &str = " a about above after again all also an and any are as at be because been before being below but by can \
    could did do does doing each every exactly explicitly for from further given had has have having here how i if in into \
    is it its just may more most must no not of off on once one only or other out over own per same shall should so some \
    such than that the their them then there these they this those through to too under until up use used uses using very \
    was were what when where which while who will with without would you your \
    agent answer clearly contain contains correctly describe describes exist exists file includes include included \
    least list lists mention mentions output present produce produced provide provides response result specific state \
    states via ";

/// The words of a text that carry meaning, reduced to their stems.
pub(super) struct Words(BTreeSet<String>);

impl Words {
    pub(super) fn of(text: &str) -> Self {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let words = words.map(str::to_lowercase);
        Self(words.filter(|word| !STOP.contains(&format!(" {word} "))).map(|word| stem(&word)).collect())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The share of these words that others have, too.
    pub(super) fn share_in(&self, others: &Self) -> f64 {
        if self.0.is_empty() {
            return 0.0;
        }
        self.0.intersection(&others.0).count() as f64 / self.0.len() as f64
    }
}

/// The first word that carries meaning: what a requirement is about.
pub(super) fn first(text: &str) -> Option<String> {
    let mut words = text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    words.find(|word| !word.is_empty() && !STOP.contains(&format!(" {word} "))).map(|word| stem(&word))
}

/// A word without its usual endings: enough to match "records" with "recorded".
fn stem(word: &str) -> String {
    for ending in ["ations", "ation", "ings", "ing", "ies", "ers", "ed", "er", "es", "ly", "s", "e"] {
        if let Some(stem) = word.strip_suffix(ending)
            && stem.chars().count() >= 4
        {
            return stem.to_owned();
        }
    }
    word.to_owned()
}

/// What a requirement states literally: code, quotations, paths and numbers.
pub(super) struct Literals(Vec<String>);

impl Literals {
    pub(super) fn of(text: &str) -> Self {
        let mut found: Vec<String> = quoted(text, '`', '`');
        found.extend(quotations(text));
        for token in text.split_whitespace() {
            let token = token.trim_matches(|c: char| !c.is_alphanumeric());
            let is_path = token.contains('/') || token.contains('_') || has_extension(token);
            let is_number = token.chars().any(|c| c.is_ascii_digit());
            // `InvalidRequest`, not `Requests`.
            let is_name =
                token.chars().skip(1).any(char::is_uppercase) && token.chars().any(char::is_lowercase);
            if (is_path || is_number || is_name) && token.chars().count() >= 2 {
                found.push(token.to_owned());
            }
        }
        Self(found)
    }

    /// Whether all of these are among others, without regard to case.
    pub(super) fn are_in(&self, others: &Self) -> bool {
        self.iter().all(|own| others.iter().any(|other| own.eq_ignore_ascii_case(other)))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

/// The lines of a text that are not code, nor the content of a file between lines of `=====`.
pub(super) fn prose(text: &str) -> Vec<&str> {
    let (mut fence, mut is_file) = (None, false);
    let mut kept = Vec::new();
    for line in text.lines() {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        if start.starts_with("=====") && start.trim_end().ends_with("=====") {
            is_file = !start.contains("END FILE") && start.contains("FILE");
        } else if is_file {
        } else if fence.is_some() {
            fence = fence.filter(|open| mark != Some(*open));
        } else if mark.is_some() {
            fence = mark;
        } else {
            kept.push(line);
        }
    }
    kept
}

/// Whether a literal is the path of a file.
pub(super) fn is_path(literal: &str) -> bool {
    has_extension(literal) && literal.contains(char::is_alphabetic) && !literal.contains(char::is_whitespace)
}

fn has_extension(token: &str) -> bool {
    token.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && (1..=5).contains(&extension.len())
            && extension.chars().all(|c| c.is_ascii_alphanumeric())
    })
}

/// Texts between quotation marks.
fn quotations(text: &str) -> Vec<String> {
    let mut found = quoted(text, '"', '"');
    found.extend(quoted(text, '“', '”'));
    // An apostrophe is no quotation mark: one opens after a space and closes before none.
    let mut rest = text;
    while let Some(at) =
        rest.find([' ', '(']).filter(|at| rest[at + 1..].starts_with('\'')).or_else(|| rest.find(" '"))
    {
        let inner = &rest[at + 2..];
        let Some(end) = inner.find('\'') else { break };
        if inner[end + 1..].starts_with(|c: char| !c.is_alphanumeric()) || inner.len() == end + 1 {
            found.push(inner[..end].to_owned());
        }
        rest = &inner[end + 1..];
    }
    found
}

fn quoted(text: &str, open: char, close: char) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(open) {
        let inner = &rest[at + open.len_utf8()..];
        let Some(end) = inner.find(close) else { break };
        if !inner[..end].trim().is_empty() {
            found.push(inner[..end].to_owned());
        }
        rest = &inner[end + close.len_utf8()..];
    }
    found
}

/// Quotations of two words or more that are language rather than code: a term, a heading, a phrase.
pub(super) fn phrases(text: &str) -> Vec<String> {
    let is_language = |phrase: &String| {
        let words = phrase.split_whitespace().count();
        (2..=8).contains(&words)
            && phrase.chars().all(|c| c.is_alphanumeric() || c.is_whitespace() || "-'’,".contains(c))
    };
    quotations(text).into_iter().filter(is_language).collect()
}

/// Whether a name is a part of a literal, as in `name/file.md` or `name:term`.
pub(super) fn has_part(literal: &str, name: &str) -> bool {
    let parts = literal.split(|c: char| !c.is_alphanumeric() && c != '-');
    name.chars().count() >= 4
        && parts.into_iter().any(|part| part.eq_ignore_ascii_case(name))
        && literal.len() > name.len()
}

/// The headings of a skill that are terms of two to four words in title case.
pub(super) fn titles(skill: &str) -> Vec<String> {
    let headings = skill
        .lines()
        .filter_map(|line| line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#')));
    let is_term = |text: &&str| {
        let words: Vec<&str> = text.split_whitespace().collect();
        (2..=4).contains(&words.len())
            && words.iter().all(|word| {
                word.starts_with(char::is_uppercase) && word.chars().all(|c| c.is_alphanumeric() || c == '-')
            })
    };
    headings.map(str::trim).filter(is_term).map(str::to_owned).collect()
}

/// A text without what stands in parentheses.
pub(super) fn without_parentheses(text: &str) -> String {
    let mut depth = 0_usize;
    let mut kept = String::new();
    for letter in text.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => kept.push(letter),
            _ => {}
        }
    }
    kept
}

/// Whether a requirement, in lower case, is that a skill is loaded, invoked or followed.
pub(super) fn asks_for_a_skill(lower: &str) -> bool {
    let verbs = [
        "invoked",
        "invokes",
        "activated",
        "activates",
        "loaded",
        "loads",
        "triggered",
        "triggers",
        "consulted",
    ];
    let near =
        |sentence: &str| sentence.contains("skill") && verbs.iter().any(|verb| has_word(sentence, verb));
    lower.split(['.', ';']).any(near)
}

/// Whether a requirement is only that nothing unrelated is done.
pub(super) fn forbids_the_unrelated(lower: &str) -> bool {
    let things = ["changes", "files", "edits", "modifications", "features", "code", "content"];
    let kinds = ["unrelated", "unnecessary", "extraneous", "unneeded", "out-of-scope", "superfluous"];
    let forbids = ["no ", "not ", "avoids ", "without ", "never "]
        .iter()
        .any(|word| lower.starts_with(word) || lower.contains(&format!(" {word}")));
    forbids
        && kinds.iter().any(|kind| things.iter().any(|thing| lower.contains(&format!("{kind} {thing}"))))
        && lower.split_whitespace().count() <= 25
}

/// Whether a requirement, in lower case, is that something is absent.
pub(super) fn forbids(lower: &str) -> bool {
    [" not contain", " not use", " not include", " no longer", " avoids ", " without "]
        .iter()
        .any(|word| lower.contains(word))
}

/// Whether a requirement only praises.
pub(super) fn is_praise(lower: &str) -> bool {
    let praise = [
        "well structured",
        "well-structured",
        "well written",
        "well-written",
        "high quality",
        "high-quality",
        "well organized",
        "well-organized",
        "readable",
        "professional",
        "best practices",
        "clean code",
        "helpful",
        "comprehensive",
        "appropriate",
        "good quality",
    ];
    let is_one = praise.iter().any(|word| lower.contains(word));
    let is_concrete = lower.contains(['`', '(', ':', '"', '\'', '/', '_', ';'])
        || lower.chars().any(|c| c.is_ascii_digit());
    is_one && !is_concrete && lower.split_whitespace().count() <= 14
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric()).any(|own| own == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(Literals::of(text).iter().collect::<Vec<_>>(), expected, "{text}");
        };
        check("It calls `sum()` once", &["sum()"]);
        check("Titled 'The End', it's in report.md", &["The End", "report.md"]);
        check("At least 12 rows in src/main.rs", &["12", "src/main.rs"]);
        check("The author's notes aren't there", &[]);
        check("A heading “First Steps”", &["First Steps"]);
    }

    #[test]
    fn code_and_files_are_no_prose() {
        let text = "a\n```sh\nb\n```\nc\n===== FILE: x =====\nd\n===== END FILE =====\ne\n";
        assert_eq!(prose(text), ["a", "c", "e"]);
    }

    #[test]
    fn stems_match_forms_of_a_word() {
        let words = Words::of("Records the counting");
        assert!(words.share_in(&Words::of("it recorded counts")) > 0.999);
        assert!(Words::of("the of").share_in(&words) < 0.001);
    }
}
