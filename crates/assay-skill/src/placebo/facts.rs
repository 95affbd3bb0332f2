//! The parts of a text that its placebo must not repeat: runs of three words, identifiers,
//! commands, paths and numbers.

use std::collections::{BTreeSet, HashSet};

use assay_syntax::markdown::Dialect;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::words::{Mark, gram, grams, is_stop, words};

/// The Markdown extensions texts are read with: what every client's Markdown has.
pub(super) const OPTIONS: Options = Dialect::GitHub.options();

/// The parts that a placebo must not repeat. The sets are only queried, never iterated.
#[derive(Debug, Default)]
pub(super) struct Facts {
    grams: HashSet<u64>,
    identifiers: HashSet<String>,
    commands: HashSet<String>,
    paths: HashSet<String>,
    numbers: HashSet<String>,
}

impl Facts {
    /// Adds a Markdown text. Every word of a code block, a code span or a tag is an identifier.
    pub(super) fn markdown(&mut self, text: &str) {
        self.prose(text);
        let mut block = None::<String>;
        for event in Parser::new_ext(text, OPTIONS) {
            match event {
                Event::Start(Tag::CodeBlock(_)) => block = Some(String::new()),
                Event::End(TagEnd::CodeBlock) => {
                    if let Some(code) = block.take() {
                        self.code_words(&code);
                    }
                }
                Event::Text(text) => {
                    if let Some(code) = &mut block {
                        code.push_str(&text);
                    }
                }
                Event::Code(code) => self.code_words(&code),
                Event::Html(html) | Event::InlineHtml(html) => self.tags(&html),
                _ => {}
            }
        }
    }

    /// Adds source code: every word of it is an identifier.
    pub(super) fn code(&mut self, text: &str) {
        self.prose(text);
        self.code_words(text);
    }

    /// Adds structured data: a quoted word, and a word before a colon or an equals sign, is an
    /// identifier.
    pub(super) fn data(&mut self, text: &str) {
        self.prose(text);
        self.tags(text);
        for (open, close) in [('"', '"'), ('\'', '\'')] {
            let mut pieces = text.split(open);
            pieces.next();
            for piece in pieces {
                let word = piece.split(close).next().unwrap_or_default();
                if !word.contains(char::is_whitespace) {
                    self.code_words(word);
                }
            }
        }
        for piece in text.split_inclusive([':', '=']) {
            let word = piece.trim_end_matches([':', '=']).trim_end();
            if piece.ends_with([':', '='])
                && let Some(word) = word.rsplit(|c: char| c.is_whitespace()).next()
            {
                self.identify(word);
            }
        }
    }

    fn prose(&mut self, text: &str) {
        let marks: Vec<_> = words(text).map(|word| Mark::of(&word)).collect();
        self.grams.extend(grams(&marks));
        self.paths.extend(paths(text));
        self.numbers.extend(numbers(text));
        for word in text.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
            if is_identifier(word) {
                self.identifiers.insert(word.to_lowercase());
            }
        }
    }

    fn tags(&mut self, html: &str) {
        for piece in html.split('<').skip(1) {
            if let Some((tag, _)) = piece.split_once('>') {
                self.identify(tag);
            }
        }
    }

    fn code_words(&mut self, code: &str) {
        self.identify(code);
        for part in code.split(['\n', '|', ';', '&', '(', '`']) {
            let first =
                part.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '$' | '>' | '#' | '%'));
            if let Some(word) = words(first).next()
                && counts(&word)
            {
                self.commands.insert(word);
            }
        }
    }

    fn identify(&mut self, code: &str) {
        self.identifiers.extend(words(code).filter(|word| counts(word)));
    }

    /// Whether the word is neither an identifier nor a command nor a number of the original.
    pub(super) fn admits_word(&self, word: &str) -> bool {
        !self.identifiers.contains(word) && !self.commands.contains(word) && !self.numbers.contains(word)
    }

    /// Whether no three words in a row are in the original.
    pub(super) fn admits_run(&self, marks: &[Mark]) -> bool {
        !grams(marks).any(|gram| self.grams.contains(&gram))
    }

    /// What another text repeats, each once, as `kind: item`, sorted.
    pub(super) fn repeated_by(&self, text: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let text = without_numbering(text);
        let all: Vec<_> = words(&text).collect();
        let marks: Vec<_> = all.iter().map(|word| Mark::of(word)).collect();
        for (run, names) in marks.windows(3).zip(all.windows(3)) {
            if gram([run[0], run[1], run[2]]).is_some_and(|gram| self.grams.contains(&gram)) {
                found.insert(format!("3-gram: {}", names.join(" ")));
            }
        }
        for word in all {
            if self.commands.contains(&word) {
                found.insert(format!("command: {word}"));
            } else if self.identifiers.contains(&word) {
                found.insert(format!("identifier: {word}"));
            }
        }
        for path in paths(&text).filter(|path| self.paths.contains(path)) {
            found.insert(format!("path: {path}"));
        }
        for number in numbers(&text).filter(|number| self.numbers.contains(number)) {
            found.insert(format!("number: {number}"));
        }
        found
    }
}

/// A word of code that can be distinctive: longer than a letter, no stop word, no number.
fn counts(word: &str) -> bool {
    word.chars().nth(1).is_some() && !is_stop(word) && !word.chars().all(char::is_numeric)
}

/// Whether a word of prose is visibly a name from code: `snake_case`, `camelCase`, `utf8`.
fn is_identifier(word: &str) -> bool {
    let letters = word.chars().any(char::is_alphabetic);
    let inner = word.chars().zip(word.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    letters && (inner || word.contains('_') || word.chars().any(char::is_numeric))
}

/// Words with a slash, a backslash or an inner full stop, lower-cased, without the punctuation
/// around them.
fn paths(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| {
        c.is_whitespace()
            || matches!(c, '`' | '"' | '\'' | '(' | ')' | '<' | '>' | '[' | ']' | '|' | ',' | ';')
    })
    .map(|word| word.trim_matches(|c: char| !(c.is_alphanumeric() || matches!(c, '/' | '~' | '_'))))
    .filter(|word| word.contains(['/', '\\', '.']) && word.contains(char::is_alphanumeric))
    .map(str::to_lowercase)
}

fn numbers(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty()).map(str::to_owned)
}

/// The text without the numbers that count its list items: they are layout.
fn without_numbering(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let mut rest = line;
        loop {
            let inner = rest.trim_start_matches([' ', '>', '-', '*', '+']);
            let after = inner.trim_start_matches(|c: char| c.is_ascii_digit());
            if inner.len() - after.len() > 9 || inner.len() == after.len() || !after.starts_with(['.', ')']) {
                break;
            }
            // A marker is followed by a space or ends its line; "1.5" is not a marker.
            if !after[1..].is_empty() && !after[1..].starts_with(char::is_whitespace) {
                break;
            }
            rest = &after[1..];
        }
        out.push_str(rest);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(original: &str, placebo: &str, expected: &[&str]) {
        let mut facts = Facts::default();
        facts.markdown(original);
        assert_eq!(
            facts.repeated_by(placebo).into_iter().collect::<Vec<_>>(),
            expected,
            "{original:?} {placebo:?}"
        );
    }

    #[test]
    fn disjoint_texts_share_nothing() {
        check("Export the ledger by month.", "A calm morning.", &[]);
        check("", "", &[]);
        check("it is what it is", "it is what it is", &[]);
    }

    #[test]
    fn runs_of_three_words_are_found_across_lines_and_case() {
        check("Export the\nledger now", "we EXPORT, the ledger", &["3-gram: export the ledger"]);
        check("export the ledger", "the export ledger", &[]);
    }

    #[test]
    fn identifiers_and_commands_of_code_are_found() {
        check("Use `total` here", "in total", &["command: total"]);
        check("```\nsum = add(total)\n```", "the total", &["command: total"]);
        check("```\nsum = add x total\n```", "the total", &["identifier: total"]);
        check("```sh\n$ git push\n```", "git", &["command: git"]);
        check("the RowCount of it", "rowcount", &["identifier: rowcount"]);
        check("the row count of it", "row", &[]);
        check("<details open>", "details", &["identifier: details"]);
    }

    #[test]
    fn paths_and_numbers_are_found() {
        check("see a/b.md.", "in a/b.md, yes", &["3-gram: a b md", "path: a/b.md"]);
        check("see C:\\logs.", "in c:\\logs", &["path: c:\\logs"]);
        check("see notes.md", "(notes.md)", &["path: notes.md"]);
        check("at most 1024", "1024", &["number: 1024"]);
    }

    #[test]
    fn the_numbering_of_a_list_is_layout() {
        check("7 things", "7. calm\n> 7) calm\n   - 7. calm\n", &[]);
        check("7 things", "calm 7\n", &["number: 7"]);
        check("7 things", "7.5 calm", &["number: 7"]);
    }
}
