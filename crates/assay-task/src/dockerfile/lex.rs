//! Lines and words of a Dockerfile.

use std::collections::BTreeMap;

/// One instruction with its continuation lines joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Instruction {
    /// The line it begins at, from 1.
    pub(crate) line: usize,
    /// The name, in upper case.
    pub(crate) name: String,
    /// What follows the name, trimmed.
    pub(crate) rest: String,
    /// Whether here-documents follow it (they are no instructions).
    pub(super) heredoc: bool,
    /// The lines of its here-documents, counted from 0, with the words that end them.
    pub(crate) body: std::ops::Range<usize>,
}

/// Splits a Dockerfile into instructions. The second value is the line of a parser directive that changes how it is to be read.
pub(crate) fn instructions(text: &str) -> (Vec<Instruction>, Option<usize>) {
    let lines: Vec<&str> = text.lines().collect();
    let directive = directive(&lines);
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let start = at;
        let Some(mut logical) = content(lines[at]).map(str::to_owned) else {
            at += 1;
            continue;
        };
        at += 1;
        while let Some(body) = continued(&logical) {
            logical.truncate(body);
            // Comments and empty lines within a continued instruction are passed over.
            while at < lines.len() && content(lines[at]).is_none() {
                at += 1;
            }
            let Some(next) = lines.get(at) else { break };
            logical.push_str(next);
            at += 1;
        }
        let logical = logical.trim();
        let (name, rest) = logical.split_once(char::is_whitespace).unwrap_or((logical, ""));
        let name = name.to_uppercase();
        let ends = if matches!(name.as_str(), "RUN" | "COPY" | "ADD") { heredocs(rest) } else { Vec::new() };
        let first = at;
        let mut heredoc = false;
        for (end, strip) in ends {
            let is_end = |line: &&str| (if strip { line.trim_start_matches('\t') } else { line }) == end;
            if let Some(length) = lines[at..].iter().position(is_end) {
                at += length + 1;
                heredoc = true;
            }
        }
        let rest = rest.trim().to_owned();
        found.push(Instruction { line: start + 1, name, rest, heredoc, body: first..at });
    }
    (found, directive)
}

/// The text of a line, unless it is empty or a comment.
fn content(line: &str) -> Option<&str> {
    let text = line.trim_start();
    (!text.is_empty() && !text.starts_with('#')).then_some(text)
}

/// The length of a line without the backslash that continues it.
fn continued(line: &str) -> Option<usize> {
    line.trim_end().strip_suffix('\\').map(str::len)
}

/// The line of an `escape` other than the backslash, or of a `syntax` other than Docker's own, among the comments at the top.
fn directive(lines: &[&str]) -> Option<usize> {
    for (index, line) in lines.iter().enumerate() {
        let (key, value) = line.trim().strip_prefix('#')?.split_once('=')?;
        let value = value.trim();
        match key.trim().to_ascii_lowercase().as_str() {
            "escape" if value != "\\" => return Some(index + 1),
            "syntax" if !value.starts_with("docker/dockerfile:") && value != "docker/dockerfile" => {
                return Some(index + 1);
            }
            "escape" | "syntax" | "check" => {}
            _ => return None,
        }
    }
    None
}

/// The ends of here-documents that a line asks for (`<<EOF`, `<<-"EOF"`), and whether tabs before them are stripped.
fn heredocs(rest: &str) -> Vec<(String, bool)> {
    rest.split_whitespace()
        .filter_map(|word| {
            let word = word.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix("<<")?;
            let (word, strip) = word.strip_prefix('-').map_or((word, false), |word| (word, true));
            let name = word.trim_matches(['"', '\'']);
            let plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
            plain.then(|| (name.to_owned(), strip))
        })
        .collect()
}

/// Why a word has no value that is known without the base image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UnknownValue(pub(super) String);

/// A word with its variables put in and its quotes taken off, as the builder does it. Only variables that the Dockerfile itself sets are known.
pub(super) fn expand(word: &str, env: &BTreeMap<String, String>) -> Result<String, UnknownValue> {
    let mut out = String::new();
    let mut chars = word.chars().peekable();
    let mut double = false;
    while let Some(c) = chars.next() {
        match c {
            '\'' if !double => out.extend(chars.by_ref().take_while(|&c| c != '\'')),
            '"' => double = !double,
            '\\' => match chars.next() {
                Some(next) if !double || matches!(next, '"' | '$' | '\\') => out.push(next),
                Some(next) => out.extend(['\\', next]),
                None => out.push('\\'),
            },
            '$' => {
                let braces = chars.next_if_eq(&'{').is_some();
                let mut name = String::new();
                while let Some(c) = chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
                    name.push(c);
                }
                let unknown = || UnknownValue(format!("${name}"));
                // `${name:-word}` and the like depend on what the base image sets.
                if braces && chars.next_if_eq(&'}').is_none() {
                    return Err(unknown());
                }
                if name.is_empty() && !braces {
                    out.push('$');
                } else {
                    out.push_str(env.get(&name).ok_or_else(unknown)?);
                }
            }
            c => out.push(c),
        }
    }
    Ok(out)
}

/// Words divided by white space, where quotes and backslashes keep white space within a word. They are kept for [`expand`].
pub(super) fn quoted_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, c) if c.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                continue;
            }
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None | Some('"'), '\\') => {
                word.push(c);
                if let Some(next) = chars.next() {
                    word.push(next);
                }
                continue;
            }
            _ => {}
        }
        word.push(c);
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_joined() {
        let check = |text: &str, expected: &[(usize, &str, &str)]| {
            let (found, _) = instructions(text);
            let found: Vec<_> = found.iter().map(|i| (i.line, i.name.as_str(), i.rest.as_str())).collect();
            assert_eq!(found, expected, "{text:?}");
        };
        check("", &[]);
        check("# note\n\nFROM x\n", &[(3, "FROM", "x")]);
        check("from x\r\nWorkdir /a\r\n", &[(1, "FROM", "x"), (2, "WORKDIR", "/a")]);
        check("ENV A=1 \\\n  # why\n\n  B=2\nUSER u", &[(1, "ENV", "A=1   B=2"), (5, "USER", "u")]);
        check("RUN a \\  \n b", &[(1, "RUN", "a  b")]);
        check("RUN a \\", &[(1, "RUN", "a")]);
        check("RUN <<EOF\nFROM y\nEOF\nUSER u", &[(1, "RUN", "<<EOF"), (4, "USER", "u")]);
        check("RUN cat <<-'E' > /x\nFROM y\n\tE\nUSER u", &[(1, "RUN", "cat <<-'E' > /x"), (4, "USER", "u")]);
        check("RUN echo $((1 <<2))\nUSER u", &[(1, "RUN", "echo $((1 <<2))"), (2, "USER", "u")]);
        check("RUN <<EOF\nUSER u", &[(1, "RUN", "<<EOF"), (2, "USER", "u")]);
    }

    #[test]
    fn directives_at_the_top_count() {
        let check = |text: &str, expected| assert_eq!(instructions(text).1, expected, "{text:?}");
        check("# syntax=docker/dockerfile:1\nFROM x", None);
        check("# syntax=somebody/else\nFROM x", Some(1));
        check("# syntax=docker/dockerfile:1\n# escape=`\nFROM x", Some(2));
        check("# a note\n# escape=`\nFROM x", None);
        check("FROM x\n# escape=`", None);
    }

    #[test]
    fn words_are_expanded() {
        let env = BTreeMap::from([("A".to_owned(), "1".to_owned())]);
        let check = |word: &str, expected: Result<&str, &str>| {
            let expected = expected.map(str::to_owned).map_err(|name| UnknownValue(name.to_owned()));
            assert_eq!(expand(word, &env), expected, "{word}");
        };
        check("plain", Ok("plain"));
        check("$A/${A}x", Ok("1/1x"));
        check("'$A' \"$A\"", Ok("$A 1"));
        check("\\$A a\\ b", Ok("$A a b"));
        check("\"a\\\"b\\n\"", Ok("a\"b\\n"));
        check("$PATH", Err("$PATH"));
        check("${A:-x}", Err("$A"));
        check("${A", Err("$A"));
        check("${}", Err("$"));
        check("5$", Ok("5$"));
        check("a\\", Ok("a\\"));
        check("'open", Ok("open"));
    }

    #[test]
    fn words_are_divided() {
        let check = |text, expected: &[&str]| assert_eq!(quoted_words(text), expected, "{text}");
        check("  a  b=c ", &["a", "b=c"]);
        check("a=\"x y\" b='p q' c=r\\ s", &["a=\"x y\"", "b='p q'", "c=r\\ s"]);
        check("a=\"it's\" b", &["a=\"it's\"", "b"]);
        check("'open a", &["'open a"]);
    }
}
