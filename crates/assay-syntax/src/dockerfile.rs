//! Lines and words of a Dockerfile, as Docker's builder divides them.
//!
//! After Docker's Dockerfile reference: parser directives, continuation lines, here-documents,
//! `ARG` before `FROM`.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

pub use crate::heredoc::{UnclearHeredoc, heredocs};

/// One instruction with its continuation lines joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// The line it begins at, from 1.
    pub line: usize,
    /// All its lines, here-documents included, counted from 0.
    pub lines: Range<usize>,
    /// The name, in upper case.
    pub name: String,
    /// What follows the name, trimmed.
    pub rest: String,
    /// Whether here-documents follow it (their lines are not instructions).
    pub heredoc: bool,
    /// Whether here-documents may follow it, depending on the builder's version. `heredoc` is false
    /// then.
    pub is_unclear: bool,
    /// The lines of its here-documents, counted from 0, with the words that end them.
    pub body: Range<usize>,
}

impl Instruction {
    /// Its flags (`--from=…`), and what follows them.
    pub fn flags(&self) -> (Vec<&str>, &str) {
        flags(&self.rest)
    }
}

/// A comment at the top that changes how the file is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directive {
    /// Its line, from 1.
    pub line: usize,
    /// `escape`, `syntax` or `check`, in lower case.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl Directive {
    /// Whether it has no effect: the default escape, or Docker's own syntax.
    pub fn is_default(&self) -> bool {
        match self.name.as_str() {
            "escape" => self.value == "\\",
            "syntax" => {
                let name = self.value.strip_prefix("docker.io/").unwrap_or(&self.value);
                name.split([':', '@']).next() == Some("docker/dockerfile")
            }
            _ => true,
        }
    }
}

/// A Dockerfile, divided.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Source {
    /// The directives at the top, in order.
    pub directives: Vec<Directive>,
    /// The instructions, in order.
    pub instructions: Vec<Instruction>,
}

impl Source {
    /// Divides a text into directives and instructions. Never fails.
    pub fn read(text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines: Vec<&str> = text.lines().map(|line| line.trim_end_matches('\r')).collect();
        let directives = directives(&lines);
        let backtick = directives.iter().any(|found| found.name == "escape" && found.value == "`");
        let instructions = instructions(&lines, if backtick { '`' } else { '\\' });
        Self { directives, instructions }
    }
}

fn instructions(lines: &[&str], escape: char) -> Vec<Instruction> {
    let mut found = Vec::new();
    let mut ends_by_text: [Option<HashMap<&str, Vec<usize>>>; 2] = [None, None];
    let mut at = 0;
    while at < lines.len() {
        let start = at;
        let Some(mut logical) = content(lines[at]).map(str::to_owned) else {
            at += 1;
            continue;
        };
        at += 1;
        while let Some(body) = continued(&logical, escape) {
            logical.truncate(body);
            // Comments and empty lines within a continued instruction are skipped.
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
        let ends = if may_have_heredocs(&name, rest) { heredocs(rest) } else { Ok(Vec::new()) };
        let is_unclear = ends.is_err();
        let first = at;
        let mut heredoc = false;
        for (end, strip) in ends.unwrap_or_default() {
            let by_text = ends_by_text[usize::from(strip)].get_or_insert_with(|| lines_by_text(lines, strip));
            let ends = by_text.get(end.as_str()).map_or(&[][..], Vec::as_slice);
            // The builder refuses a file in which one is not ended.
            let Some(last) = ends.get(ends.partition_point(|line| *line < at)) else { break };
            at = last + 1;
            heredoc = true;
        }
        let rest = rest.trim().to_owned();
        let (line, lines, body) = (start + 1, start..at, first..at);
        found.push(Instruction { line, lines, name, rest, heredoc, is_unclear, body });
    }
    found
}

/// The indices of each distinct line, without leading tabs if `strip` is set. Searching the lines
/// for the end of each here-document would take quadratic time.
fn lines_by_text<'t>(lines: &[&'t str], strip: bool) -> HashMap<&'t str, Vec<usize>> {
    let mut found: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, line) in lines.iter().enumerate() {
        let line = if strip { line.trim_start_matches('\t') } else { line };
        found.entry(line).or_default().push(index);
    }
    found
}

/// Whether an instruction may have here-documents, also behind `ONBUILD`.
fn may_have_heredocs(name: &str, rest: &str) -> bool {
    let is_one = |name: &str| matches!(name, "RUN" | "COPY" | "ADD");
    match name {
        "ONBUILD" => flags(rest).1.split_whitespace().next().is_some_and(|name| is_one(&name.to_uppercase())),
        _ => is_one(name),
    }
}

/// The text of a line, unless it is empty or a comment.
fn content(line: &str) -> Option<&str> {
    let text = line.trim_start();
    (!text.is_empty() && !text.starts_with('#')).then_some(text)
}

/// The length of a line without the sign that continues it: one with no other before it, and only
/// blanks and tabs after it.
fn continued(line: &str, escape: char) -> Option<usize> {
    let body = line.trim_end_matches([' ', '\t']).strip_suffix(escape)?;
    (!body.ends_with(escape)).then_some(body.len())
}

/// The directives among the comments at the top.
fn directives(lines: &[&str]) -> Vec<Directive> {
    let directive = |(index, line): (usize, &&str)| {
        let (name, value) = line.trim().strip_prefix('#')?.split_once('=')?;
        let name = name.trim().to_ascii_lowercase();
        let known = matches!(name.as_str(), "escape" | "syntax" | "check");
        known.then(|| Directive { line: index + 1, name, value: value.trim().to_owned() })
    };
    lines.iter().enumerate().map_while(directive).collect()
}

/// The flags at the start of an instruction's arguments, and what follows them.
pub fn flags(rest: &str) -> (Vec<&str>, &str) {
    let mut flags = Vec::new();
    let mut rest = rest.trim_start();
    while rest.starts_with("--") {
        let (flag, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        flags.push(flag);
        rest = after.trim_start();
    }
    (flags, rest)
}

/// The arguments after the flags: those of a JSON list, or words; and whether they were in a list.
pub fn arguments(rest: &str) -> (Vec<String>, bool) {
    let list = if rest.starts_with('[') { serde_json::from_str(rest).ok() } else { None };
    match list {
        Some(list) => (list, true),
        None => (rest.split_whitespace().map(str::to_owned).collect(), false),
    }
}

/// How an unknown variable is expanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// The word has no value: the base image may set it, and `${name:-word}` depends on that.
    Refuse,
    /// It is empty, as the builder has it before the first `FROM`; `${name:-word}` and
    /// `${name:+word}` are followed.
    Empty,
}

/// A variable whose value is not known without the base image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("${0}")]
pub struct UnknownVariable(pub String);

/// A word with its variables put in and its quotes taken off, as the builder does it.
pub fn expand(
    word: &str,
    known: &BTreeMap<String, String>,
    unknown: Unknown,
) -> Result<String, UnknownVariable> {
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
                let value = known.get(&name);
                let modifier = if braces && chars.next_if_eq(&'}').is_none() {
                    if unknown == Unknown::Refuse {
                        return Err(UnknownVariable(name));
                    }
                    Some(chars.by_ref().take_while(|&c| c != '}').collect::<String>())
                } else {
                    None
                };
                match (modifier, value) {
                    (Some(modifier), value) => out.push_str(&modified(&modifier, value)),
                    (None, Some(value)) => out.push_str(value),
                    (None, None) if name.is_empty() && !braces => out.push('$'),
                    (None, None) if unknown == Unknown::Empty => {}
                    (None, None) => return Err(UnknownVariable(name)),
                }
            }
            c => out.push(c),
        }
    }
    Ok(out)
}

/// The value of `${name:-word}`, `${name:+word}` and the same without colons.
fn modified(modifier: &str, value: Option<&String>) -> String {
    let value = value.map(String::as_str).filter(|value| !value.is_empty());
    let modifier = modifier.strip_prefix(':').unwrap_or(modifier);
    match (modifier.strip_prefix('-'), modifier.strip_prefix('+')) {
        (Some(word), _) => value.unwrap_or(word),
        (_, Some(word)) if value.is_some() => word,
        (_, Some(_)) => "",
        _ => value.unwrap_or_default(),
    }
    .to_owned()
}

/// Words separated by white space, where quotes and backslashes keep white space within a word.
/// They are kept for [`expand`].
pub fn quoted_words(text: &str) -> Vec<String> {
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
    fn unended_here_documents_take_linear_time() {
        let text: String = (0..60_000).map(|at| format!("RUN a <<E{at} <<-F{at}\n")).collect();
        let started = std::time::Instant::now();
        assert_eq!(Source::read(&text).instructions.len(), 60_000);
        assert!(started.elapsed().as_secs() < 30);
    }

    #[test]
    fn lines_are_joined() {
        let check = |text: &str, expected: &[(usize, &str, &str)]| {
            let found = Source::read(text).instructions;
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
        check("RUN a \\\t \r\r\n b", &[(1, "RUN", "a  b")]);
        check("RUN a\\\n\\\nb", &[(1, "RUN", "ab")]);
        // Docker continues on the next line after neither of these.
        for end in ["\\\\", "\\\\\\", "\\\u{c}", "\\\u{a0}"] {
            let found = Source::read(&format!("RUN echo {end}\nUSER u")).instructions;
            assert_eq!(found.iter().map(|i| i.name.as_str()).collect::<Vec<_>>(), ["RUN", "USER"], "{end:?}");
        }
    }

    #[test]
    fn here_document_lines_are_not_instructions() {
        let check = |text: &str, expected: &[&str]| {
            let found = Source::read(text).instructions;
            let names: Vec<_> = found.iter().map(|one| one.name.as_str()).collect();
            assert_eq!(names, expected, "{text:?}");
        };
        check("COPY <<X <<Y /dest\nY\nX\nX\nY\nUSER u", &["COPY", "USER"]);
        check("RUN 3<<E\nENV\nE\nUSER u", &["RUN", "USER"]);
        check("RUN <<-E\n\tENV\n\tE\nUSER u", &["RUN", "USER"]);
        check("RUN <<E\n\tE\nE\nUSER u", &["RUN", "USER"]);
        check("RUN <<E\r\nENV\r\nE\r\nUSER u", &["RUN", "USER"]);
        check("onbuild run <<E\nENV\nE\nUSER u", &["ONBUILD", "USER"]);
        check("USER <<E\nE", &["USER", "E"]);
        // A line that ends a here-document neither continues nor is skipped.
        check("RUN <<'E\\'\nE\\\nUSER u", &["RUN", "USER"]);
        check("RUN <<'# E'\nx \\\n# E\nUSER u", &["RUN", "USER"]);
        check("RUN <<' '\nx \\\n \nUSER u", &["RUN", "USER"]);
        // An open quote, so no here-document.
        check("RUN true <<E # it's\nUSER u\nE", &["RUN", "USER", "E"]);
        let found = Source::read("RUN echo \"a <<E b\"\nRUN --network=host curl \\\nE").instructions;
        assert_eq!(found[1].rest, "--network=host curl E");
        let found = Source::read("RUN true <<E ${x#y}\nUSER u\nE").instructions;
        assert!(found[0].is_unclear && !found[0].heredoc && found[1].name == "USER");
    }

    #[test]
    fn directives_are_read_only_at_the_top() {
        let check = |text: &str, expected| {
            let odd = Source::read(text).directives.into_iter().find(|directive| !directive.is_default());
            assert_eq!(odd.map(|directive| directive.line), expected, "{text:?}");
        };
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
            let found = expand(word, &env, Unknown::Refuse).map_err(|error| error.to_string());
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{word}");
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

    #[test]
    fn a_continued_line_is_joined_without_a_space() {
        let check =
            |text: &str, expected: &str| assert_eq!(Source::read(text).instructions[0].rest, expected);
        check("RUN --secu\\\nrity=insecure mount", "--security=insecure mount");
        check("# escape=`\nFROM deb`\nian", "debian");
    }

    #[test]
    fn byte_order_mark_is_not_part_of_the_first_instruction() {
        assert_eq!(Source::read("\u{feff}FROM a").instructions[0].name, "FROM");
    }

    #[test]
    fn unknown_variables_before_the_first_stage_are_empty() {
        let known = BTreeMap::from([("A".to_owned(), "1".to_owned()), ("E".to_owned(), String::new())]);
        let check = |word: &str, expected: &str| {
            assert_eq!(expand(word, &known, Unknown::Empty).as_deref(), Ok(expected), "{word}");
        };
        check("${X:-deb}${Y:+no}-$Z.x", "deb-.x");
        check("${A:-2}${A:+3}${A-2}${E:-4}", "1314");
        check("\"a:$A\"", "a:1");
        check("'$A'", "$A");
        check("5$", "5$");
    }

    #[test]
    fn flags_come_before_arguments() {
        assert_eq!(flags("--from=a  --link x y"), (vec!["--from=a", "--link"], "x y"));
        assert_eq!(arguments("[\"a b\", \"c\"]"), (vec!["a b".to_owned(), "c".to_owned()], true));
        assert_eq!(arguments("[a b]"), (vec!["[a".to_owned(), "b]".to_owned()], false));
    }
}
