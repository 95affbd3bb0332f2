//! Layouts with variable parts as regular expressions.

/// Longest template that is read, in bytes.
const TEMPLATE_CAP: usize = 200;

/// Longest text that stands for one variable part, in characters.
const VARIABLE: usize = 60;

/// Names of HTML elements, which stand between angle brackets without being placeholders.
const ELEMENTS: [&str; 44] = [
    "a", "article", "aside", "audio", "b", "body", "br", "button", "code", "details", "div", "em", "footer",
    "form", "h1", "h2", "h3", "head", "header", "html", "i", "iframe", "img", "input", "label", "li", "link",
    "main", "meta", "nav", "ol", "option", "p", "pre", "script", "section", "select", "span", "strong",
    "style", "table", "td", "tr", "ul",
];

/// Words in capitals that stand for others in a template.
const PLACES: [&str; 38] = [
    "AMOUNT",
    "AUTHOR",
    "BRANCH",
    "COMPONENT",
    "COUNT",
    "DATE",
    "DAY",
    "DESCRIPTION",
    "FEATURE",
    "FILE",
    "HOST",
    "ID",
    "ISSUE",
    "KEY",
    "MESSAGE",
    "MODULE",
    "MONTH",
    "NAME",
    "NUMBER",
    "PACKAGE",
    "PATH",
    "PORT",
    "PROJECT",
    "REASON",
    "REPO",
    "SCOPE",
    "SUBJECT",
    "SUMMARY",
    "TEXT",
    "TICKET",
    "TIME",
    "TITLE",
    "TYPE",
    "URL",
    "USER",
    "VALUE",
    "VERSION",
    "YEAR",
];

enum Part {
    /// As it stands.
    Fixed(String),
    /// Digits: a regular expression for them.
    Digits(String),
    /// Anything within a word.
    Word,
    /// Anything on the line.
    Gap,
}

/// The regular expression of a template. `None` if it has no variable part, or too little beside
/// them to be recognized.
pub(super) fn layout(template: &str) -> Option<String> {
    let template = template.trim();
    if template.len() > TEMPLATE_CAP || template.contains('\n') {
        return None;
    }
    if let Some(stamp) = stamp(template) {
        return Some(stamp);
    }
    let parts = if is_digits(template) { digit_parts(template) } else { parts(template) };
    let fixed: usize = parts
        .iter()
        .map(|part| match part {
            Part::Fixed(text) => text.chars().filter(|c| !c.is_whitespace()).count(),
            Part::Digits(_) => 1,
            Part::Word | Part::Gap => 0,
        })
        .sum();
    let letters = parts.iter().any(|part| match part {
        Part::Fixed(text) => text.chars().filter(|c| c.is_alphanumeric()).count() >= 2,
        Part::Digits(_) => true,
        Part::Word | Part::Gap => false,
    });
    let variable = parts.iter().any(|part| !matches!(part, Part::Fixed(_)));
    // `With*` is the beginning of too many words.
    if template.contains('*') && fixed < 6 && !template.contains(['_', '-', '/', '.']) {
        return None;
    }
    (variable && fixed >= 2 && (letters || fixed >= 3)).then(|| compose(&parts))
}

/// The regular expression of texts like an example: its digits may be others.
pub(super) fn like(example: &str) -> Option<String> {
    let digits = example.chars().filter(char::is_ascii_digit).count();
    let other = example.chars().filter(|c| !c.is_ascii_digit() && !c.is_whitespace()).count();
    let letters = example.chars().filter(|c| c.is_alphabetic()).count();
    if digits < 3 || other < 1 || letters > 16 || example.len() > VARIABLE {
        return None;
    }
    let mut parts = Vec::new();
    let mut rest = example;
    while !rest.is_empty() {
        let run = rest.chars().take_while(char::is_ascii_digit).count();
        if run > 0 {
            let padded = rest.starts_with('0') || run >= 3;
            let length = match example.chars().next() {
                _ if example.matches('.').count() >= 3 => "{1,3}".to_owned(),
                Some('(') => "+".to_owned(),
                _ if example.contains(' ') && !padded => "+".to_owned(),
                _ => format!("{{{run}}}"),
            };
            parts.push(Part::Digits(format!("\\d{length}")));
            rest = &rest[run..];
        } else {
            let end = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
            parts.push(Part::Fixed(rest[..end].to_owned()));
            rest = &rest[end..];
        }
    }
    Some(compose(&parts))
}

/// The mark in an example that stands for others like it: `(#17)` for any number of an issue.
pub(super) fn mark(example: &str) -> Option<String> {
    let word = example.split_whitespace().find(|word| {
        word.split_once('#').is_some_and(|(_, rest)| rest.starts_with(|c: char| c.is_ascii_digit()))
    })?;
    let (before, rest) = word.split_once('#')?;
    let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_sign = |text: &str| text.chars().all(|c| !c.is_alphanumeric());
    (is_sign(before) && is_sign(after) && word != example.trim())
        .then(|| format!(r"{}\#\d+{}", regex_syntax::escape(before), regex_syntax::escape(after)))
}

/// A text whose words may be separated by any blanks.
pub(super) fn spaced(text: &str) -> String {
    let words: Vec<String> = text.split_whitespace().map(regex_syntax::escape).collect();
    bounded(&words.join(r"\s+"), text)
}

/// Words in a row, with at most a few signs between them: a header row, a tuple, a list of columns.
pub(super) fn listed<S: AsRef<str>>(names: &[S]) -> String {
    let names: Vec<String> = names.iter().map(|name| regex_syntax::escape(name.as_ref())).collect();
    format!(r"\b{}\b", names.join(r"\b[^\w\n]{1,6}\b"))
}

/// Words in a row on one line, others between them.
pub(super) fn chained<S: AsRef<str>>(names: &[S]) -> String {
    let names: Vec<String> = names.iter().map(|name| regex_syntax::escape(name.as_ref())).collect();
    format!(r"\b{}\b", names.join(r"\b[^\n]{1,40}?\b"))
}

/// The name of a column or key where data or code has it: quoted, after a full stop, or between
/// separators. A name that is an everyday word shows nothing elsewhere.
pub(super) fn field(name: &str) -> String {
    let name = regex_syntax::escape(name);
    format!(r#"["'`,|.\[(\t]{name}["'`,|:)\]=\t]|^{name}[,|\t:]|[,|\t]{name}$"#)
}

/// `key: value`, with any of the usual separators and quotes.
pub(super) fn setting(key: &str, value: &str) -> String {
    let value = value.trim_matches(['"', '\'']);
    let tail = if value.ends_with(|c: char| c.is_alphanumeric() || c == '_') { r"\b" } else { "" };
    let head = if key.starts_with(|c: char| c.is_alphanumeric() || c == '_') { r"\b" } else { "" };
    format!(r#"{head}{}["']?\s*[:=]\s*["']?{}{tail}"#, regex_syntax::escape(key), regex_syntax::escape(value))
}

fn bounded(pattern: &str, text: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let head = if text.starts_with(is_word) { r"\b" } else { "" };
    let tail = if text.ends_with(is_word) { r"\b" } else { "" };
    format!("{head}{pattern}{tail}")
}

/// A template that is a date or a time and nothing else, as digits or as the directives of
/// `strftime`.
fn stamp(template: &str) -> Option<String> {
    let run = date_run(template).filter(|(length, _)| *length == template.len())?;
    let mut directives = String::new();
    let mut rest = template;
    while let Some(first) = rest.chars().next() {
        let same = rest.chars().take_while(|c| *c == first).count();
        let last_is_hour = directives.ends_with("%H") || directives.ends_with("%H:");
        let directive = match (first, same) {
            ('y' | 'Y', 4) => Some("%Y"),
            ('y' | 'Y', 2) => Some("%y"),
            ('m' | 'M', 2) if last_is_hour => Some("%M"),
            ('m' | 'M', 2) => Some("%m"),
            ('d' | 'D', 2) => Some("%d"),
            ('h' | 'H', 2) => Some("%H"),
            ('s' | 'S', 2) => Some("%S"),
            _ => None,
        };
        match directive {
            Some(directive) => directives.push_str(directive),
            None => directives.extend(std::iter::repeat_n(first, same)),
        }
        rest = &rest[same * first.len_utf8()..];
    }
    Some(format!(r"(?:\b{}\b|{})", run.1, regex_syntax::escape(&directives)))
}

/// The date or time that a text begins with: its length in bytes, and a regular expression.
fn date_run(text: &str) -> Option<(usize, String)> {
    let bytes = text.as_bytes();
    let (mut at, mut pattern, mut letters, mut year, mut units) = (0, String::new(), 0, false, 0);
    let mut end = 0;
    let mut kept = String::new();
    while at < bytes.len() {
        let first = bytes[at];
        let same = bytes[at..].iter().take_while(|byte| **byte == first).count();
        match (first.to_ascii_lowercase(), same) {
            (b'y', 4) => {
                year = true;
                pattern.push_str(r"(?:19|20)\d\d");
            }
            (b'y' | b'm' | b'd' | b'h' | b's', 2) => pattern.push_str(r"\d\d"),
            (b'-' | b'_' | b'/' | b'.' | b':' | b'T' | b't', 1) if at > 0 => {
                pattern.push_str(&regex_syntax::escape(&text[at..=at]));
                at += 1;
                continue;
            }
            _ => break,
        }
        at += same;
        letters += same;
        units += 1;
        end = at;
        kept.clone_from(&pattern);
    }
    let after = text[end..].chars().next();
    let whole = !after.is_some_and(char::is_alphabetic);
    (whole && units >= 2 && (year || letters >= 6)).then_some((end, kept))
}

/// Whether a template is only digits: `dddd.dd`.
fn is_digits(template: &str) -> bool {
    template.contains("ddd") && template.chars().all(|c| matches!(c, 'd' | '.' | ',' | '-' | '/'))
}

fn digit_parts(template: &str) -> Vec<Part> {
    let fixed = |text: &str| (!text.is_empty()).then(|| Part::Fixed(text.to_owned()));
    let mut parts = Vec::new();
    let mut rest = template;
    while !rest.is_empty() {
        let run = rest.bytes().take_while(|byte| *byte == b'd').count();
        if run > 0 {
            parts.push(Part::Digits(format!("\\d{{{run}}}")));
        }
        rest = &rest[run..];
        let end = rest.find('d').unwrap_or(rest.len());
        parts.extend(fixed(&rest[..end]));
        rest = &rest[end..];
    }
    parts
}

fn parts(template: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut rest = template;
    let mut before = ' ';
    // Among words a star is a sign like others.
    let spaced = template.contains(' ');
    while let Some(first) = rest.chars().next() {
        let (length, part) = variable(rest, before, spaced)
            .unwrap_or_else(|| (first.len_utf8(), Part::Fixed(first.to_string())));
        match (parts.last_mut(), part) {
            (Some(Part::Fixed(text)), Part::Fixed(more)) => text.push_str(&more),
            (_, part) => parts.push(part),
        }
        before = rest[..length].chars().next_back().unwrap_or(' ');
        rest = &rest[length..];
    }
    parts
}

/// The variable part that a text begins with, and its length in bytes.
fn variable(text: &str, before: char, spaced: bool) -> Option<(usize, Part)> {
    let first = text.chars().next()?;
    match first {
        '<' => bracketed(text, '>', before).map(|length| (length, named(&text[1..length - 1]))),
        '{' if before != '$' && before != '{' && !text.starts_with("{{") => {
            bracketed(text, '}', ' ').map(|length| (length, named(&text[1..length - 1])))
        }
        '[' => {
            let length = bracketed(text, ']', ' ')?;
            let name = &text[1..length - 1];
            let loud = name.chars().all(|c| !c.is_lowercase()) && name.len() > 2;
            loud.then_some((length, Part::Word))
        }
        '…' => Some((first.len_utf8(), Part::Gap)),
        // `v1...v2` is a range.
        '.' if text.starts_with("...")
            && !(before.is_alphanumeric() && text[3..].starts_with(char::is_alphanumeric)) =>
        {
            Some((3, Part::Gap))
        }
        '*' if before != '*' && !spaced && !text[1..].starts_with(['*', ' ']) || text.len() == 1 => {
            (!before.is_whitespace() || text.len() > 2).then_some((1, Part::Word))
        }
        '0'..='9' if spaced && before == '#' => {
            // The number of an issue: any.
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            Some((digits, Part::Digits(r"\d+".to_owned())))
        }
        'A'..='Z' if spaced && !before.is_alphanumeric() && place(text).is_some() => {
            place(text).map(|length| (length, Part::Word))
        }
        _ if before.is_alphabetic() && before.is_lowercase() == first.is_lowercase() => None,
        _ => {
            if let Some((length, pattern)) = date_run(text) {
                return Some((length, Part::Digits(pattern)));
            }
            let same = text.chars().take_while(|c| *c == first).count();
            let length = same * first.len_utf8();
            let whole = !text[length..].chars().next().is_some_and(char::is_alphanumeric);
            let part = match first {
                'N' | 'n' if same >= 2 => Part::Digits(format!("\\d{{{same}}}")),
                'd' if same >= 3 => Part::Digits(format!("\\d{{{same}}}")),
                'X' if same >= 2 => Part::Digits(format!("[0-9A-Za-z]{{{same}}}")),
                '#' if same >= 3 && !before.is_whitespace() => Part::Digits(format!("\\d{{{same}}}")),
                _ => return None,
            };
            whole.then_some((length, part))
        }
    }
}

/// The length of a word in capitals that stands for others.
fn place(text: &str) -> Option<usize> {
    let length = text.bytes().take_while(|byte| byte.is_ascii_uppercase() || *byte == b'_').count();
    let last = text[..length].rsplit('_').next()?;
    let ends = !text[length..].starts_with(|c: char| c.is_alphanumeric());
    (ends && PLACES.binary_search(&last).is_ok()).then_some(length)
}

/// What the name of a placeholder says about it: `<nn>` and `<yyyymmdd>` are digits.
fn named(name: &str) -> Part {
    let counts = name.len() >= 2
        && (name.chars().all(|c| matches!(c, 'n' | 'N'))
            || (name.contains("yy") && name.chars().all(|c| matches!(c, 'y' | 'd'))));
    if counts {
        return Part::Digits(format!("\\d{{{}}}", name.len()));
    }
    match date_run(name) {
        Some((length, pattern)) if length == name.len() => Part::Digits(pattern),
        _ => Part::Word,
    }
}

/// The length of a placeholder between brackets.
fn bracketed(text: &str, close: char, before: char) -> Option<usize> {
    let end = text.find(close)?;
    let name = &text[1..end];
    let element = name.trim_start_matches('/').split([' ', '/']).next().unwrap_or(name).to_lowercase();
    let plain = name.chars().all(|c| c.is_alphanumeric() || " _-|./".contains(c));
    let starts = name.starts_with(char::is_alphabetic);
    let is_type = close == '>' && before.is_alphanumeric() && name.starts_with(char::is_uppercase);
    let joins = |c: char| c.is_alphanumeric() || "_-|./:,;=#@".contains(c);
    let joined = joins(before) || text[end + close.len_utf8()..].starts_with(joins);
    let is_element =
        close == '>' && (name.starts_with('/') || (!joined && ELEMENTS.contains(&element.as_str())));
    (plain && starts && name.len() <= 40 && !is_type && !is_element).then_some(end + close.len_utf8())
}

fn compose(parts: &[Part]) -> String {
    let mut pattern = String::new();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let last = parts.len().saturating_sub(1);
    for (at, part) in parts.iter().enumerate() {
        match part {
            Part::Fixed(text) => {
                if at == 0 && text.starts_with(is_word) {
                    pattern.push_str(r"\b");
                }
                let text = match at {
                    0 => text.trim_start(),
                    _ if at == last => text.trim_end(),
                    _ => text,
                };
                for (index, piece) in text.split(' ').enumerate() {
                    if index > 0 {
                        pattern.push_str(r"\s+");
                    }
                    pattern.push_str(&regex_syntax::escape(piece));
                }
                if at == last && text.ends_with(is_word) {
                    pattern.push_str(r"\b");
                }
            }
            Part::Digits(digits) => {
                if at == 0 {
                    pattern.push_str(r"\b");
                }
                pattern.push_str(digits);
                if at == last {
                    pattern.push_str(r"\b");
                }
            }
            // What stands at an end may be anything.
            Part::Gap if at == 0 || at == last => {}
            Part::Gap => pattern.push_str(r"[^\n]{0,80}?"),
            Part::Word if at == last => pattern.push_str(r"\w"),
            Part::Word => {
                let next = match &parts[at + 1] {
                    Part::Fixed(text) => text.chars().next().filter(|c| !is_word(*c) && !c.is_whitespace()),
                    _ => None,
                };
                let next = next.map(|c| regex_syntax::escape(&c.to_string())).unwrap_or_default();
                pattern.push_str(&format!(r"[^\s{next}]{{1,{VARIABLE}}}?"));
            }
        }
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_become_regular_expressions() {
        let check = |template: &str, expected: Option<&str>| {
            let found = layout(template);
            assert_eq!(found.as_deref(), expected, "{template}");
            if let Some(pattern) = found {
                regex_syntax::parse(&pattern).unwrap();
            }
        };
        check("<pot>-<yyyymmdd>-<nn>", Some(r"[^\s\-]{1,60}?\-(?:19|20)\d\d\d\d\d\d\-\d{2}\b"));
        check("NNN_<kiln>.csv", Some(r"\b\d{3}_[^\s\.]{1,60}?\.csv\b"));
        check("batch-yyyymmdd.log", Some(r"\bbatch\-(?:19|20)\d\d\d\d\d\d\.log\b"));
        check("yyyymmdd", Some(r"(?:\b(?:19|20)\d\d\d\d\d\d\b|%Y%m%d)"));
        check("YYYY-MM-DD", Some(r"(?:\b(?:19|20)\d\d\-\d\d\-\d\d\b|%Y\-%m\-%d)"));
        check("HH:MM:SS", Some(r"(?:\b\d\d:\d\d:\d\d\b|%H:%M:%S)"));
        check("FIRE … DONE", Some(r"\bFIRE\s+[^\n]{0,80}?\s+DONE\b"));
        check("ddd.dd", Some(r"\b\d{3}\.\d{2}\b"));
        check("kiln_<table>_x", Some(r"\bkiln_[^\s]{1,60}?_x\b"));
        check("# Release VERSION (DATE)", Some(r"\#\s+Release\s+[^\s]{1,60}?\s+\([^\s\)]{1,60}?\)"));
        check("Closes #17", Some(r"\bCloses\s+\#\d+\b"));
        check("BREAKING CHANGE: why", None);
        check("#112233", None);
        check("\"***\"", None);
        check("glaze_*", Some(r"\bglaze_\w"));
        check("Map<String>", None);
        check("<div>", None);
        check("${HOME}/x", None);
        check("{{ value }}", None);
        check("mm", None);
        check("connection", None);
        check("address", None);
        check("plain", None);
    }

    #[test]
    fn an_example_stands_for_texts_like_it() {
        assert_eq!(like("KL24-07").as_deref(), Some(r"\bKL\d{2}\-\d{2}\b"));
        assert_eq!(like("4001.00").as_deref(), Some(r"\b\d{4}\.\d{2}\b"));
        assert_eq!(like("(120)").as_deref(), Some(r"\(\d+\)"));
        let network = r"\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}/\d{1,3}\b";
        assert_eq!(like("10.2.0.0/16").as_deref(), Some(network));
        assert_eq!(like("1234"), None);
        assert_eq!(like("word"), None);
        assert_eq!(mark("Kilns are faster. (#17)").as_deref(), Some(r"\(\#\d+\)"));
        assert_eq!(mark("(#17)"), None);
        assert_eq!(mark("kiln a#17"), None);
    }
}
