//! Finds and parses the front matter of a document.

use std::ops::Range;

use serde_json::{Map, Value};
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};

use assay_syntax::yaml::YAML_CAP;

use crate::repair::quote_values;

/// Where front matter and body are in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Split {
    /// The YAML between the fences, in bytes.
    pub(crate) yaml: Range<usize>,
    /// Where the body begins, in bytes.
    pub(crate) body: usize,
    /// The line of the opening fence, from 1.
    pub(crate) line: usize,
    /// Whether the opening fence has more than three dashes.
    pub(crate) long_fence: bool,
    /// Whether there is a closing fence.
    pub(crate) closed: bool,
}

/// Finds the front matter: a first line of dashes (blank lines before it are skipped), up to the
/// next line that is `---` or `...`. Dashes within a line do not close it. Without a closing line
/// it ends before the first blank line.
pub(crate) fn split(text: &str) -> Option<Split> {
    let mut lines = Lines { text, at: 0 };
    let mut number = 1;
    let (opening, _) = loop {
        let (line, start) = lines.next()?;
        if !line.trim().is_empty() {
            break (line, start);
        }
        number += 1;
    };
    let fence = opening.trim_end();
    if fence.len() < 3 || !fence.bytes().all(|byte| byte == b'-') {
        return None;
    }
    let yaml_start = lines.at;
    let found = |end, body, closed| {
        Some(Split { yaml: yaml_start..end, body, line: number, long_fence: fence.len() > 3, closed })
    };
    let mut blank = None;
    while let Some((line, start)) = lines.next() {
        if matches!(line.trim_end(), "---" | "...") {
            return found(start, lines.at, true);
        }
        if line.trim().is_empty() && blank.is_none() {
            blank = Some(start);
        }
    }
    let end = blank.unwrap_or(text.len());
    found(end, end, false)
}

struct Lines<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Lines<'a> {
    type Item = (&'a str, usize);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = &self.text[self.at..];
        if rest.is_empty() {
            return None;
        }
        let length = rest.find('\n').map_or(rest.len(), |at| at + 1);
        let start = self.at;
        self.at += length;
        Some((&rest[..length], start))
    }
}

/// How a block of YAML was parsed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Read {
    /// The parsed map.
    pub(crate) map: Map<String, Value>,
    /// The problem of the original text: the first error, and the leniency that was applied.
    pub(crate) trouble: Option<(Trouble, Leniency)>,
}

/// The first error in a block of YAML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// The parser's words, on one line.
    pub message: String,
    /// Line and column within the block, from 1, where known.
    pub at: Option<(usize, usize)>,
}

/// How an invalid block of YAML was parsed anyway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leniency {
    /// The last of several equal keys was taken.
    LastKey,
    /// Values were quoted, tabs replaced.
    Quoted,
    /// Nothing did: the map is empty.
    None,
}

/// Reads a block of YAML as a map: as written, else with the last of equal keys, else with values
/// quoted.
pub(crate) fn read(yaml: &str) -> Read {
    let trouble = match parse(yaml, DuplicateKeyPolicy::Error) {
        Ok(map) => return Read { map, trouble: None },
        Err(trouble) => trouble,
    };
    if yaml.len() > YAML_CAP {
        return Read { map: Map::new(), trouble: Some((trouble, Leniency::None)) };
    }
    if let Ok(map) = parse(yaml, DuplicateKeyPolicy::LastWins) {
        return Read { map, trouble: Some((trouble, Leniency::LastKey)) };
    }
    let repaired = quote_values(yaml).and_then(|yaml| parse(&yaml, DuplicateKeyPolicy::LastWins).ok());
    let leniency = if repaired.is_some() { Leniency::Quoted } else { Leniency::None };
    Read { map: repaired.unwrap_or_default(), trouble: Some((trouble, leniency)) }
}

/// Parses with budgets that no honest front matter comes near: nested 32 deep, 20,000 nodes, 64
/// aliases that give 2,000 events.
fn parse(yaml: &str, duplicate_keys: DuplicateKeyPolicy) -> Result<Map<String, Value>, Trouble> {
    let trouble = |message: &str| Trouble { message: message.to_owned(), at: None };
    if yaml.len() > YAML_CAP {
        return Err(trouble(&format!(
            "{} bytes of front matter, of which at most {YAML_CAP} are read",
            yaml.len()
        )));
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: 32,
            flow_nesting_limit: 32,
            max_nodes: 20_000,
            max_events: 60_000,
            max_aliases: 64,
            max_anchors: 64,
            max_documents: 1,
            max_total_scalar_bytes: 4 * YAML_CAP,
            max_recorded_anchor_bytes: 4 * YAML_CAP,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 2_000,
            max_replay_stack_depth: 8,
        },
        duplicate_keys: duplicate_keys,
        strict_booleans: true,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        emit_comments: false,
        with_snippet: false,
    };
    match serde_saphyr::from_str_with_options::<Value>(yaml, options) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(Value::Null) => Err(trouble("empty front matter")),
        Ok(Value::Array(_)) => Err(trouble("a list, where `key: value` lines belong")),
        Ok(_) => Err(trouble("a single value, where `key: value` lines belong")),
        Err(error) => {
            let place = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
            let at = error.location().map(|at| (place(at.line()), place(at.column()))).filter(|at| at.0 > 0);
            let at = at.map(|at| place_in_lines(yaml, at));
            let text = error.without_snippet().to_string();
            // The location is separate; the parser appends it in its own form.
            let first = text.split(" at line ").next().unwrap_or(&text).lines().next().unwrap_or("");
            // The parser's advice to its callers does not help the author of the file.
            let message = first.split(", set ").next().unwrap_or(first).to_owned();
            Err(Trouble { message, at })
        }
    }
}

/// A place (line and column, from 1) counted as everything else here counts: a lone carriage return
/// ends a line in YAML (specification 1.2.2, 5.4), but in no editor.
fn place_in_lines(yaml: &str, (line, column): (usize, usize)) -> (usize, usize) {
    let bytes = yaml.as_bytes();
    let breaks = (0..bytes.len())
        .filter(|&at| bytes[at] == b'\n' || (bytes[at] == b'\r' && bytes.get(at + 1) != Some(&b'\n')));
    let start = line.checked_sub(2).map_or(Some(0), |earlier| breaks.clone().nth(earlier).map(|at| at + 1));
    let before = &yaml[..start.unwrap_or(yaml.len())];
    let own = before.rsplit('\n').next().unwrap_or(before);
    (before.matches('\n').count() + 1, own.chars().count() + column)
}

/// The line of a key at the top of a block (from 1 within it), and its value as spelled, without
/// quotes and comment.
pub(crate) fn spelled<'a>(yaml: &'a str, key: &str) -> Option<(usize, &'a str)> {
    yaml.lines().enumerate().find_map(|(index, line)| {
        let rest = line.strip_prefix(key).or_else(|| {
            let unquoted = line.strip_prefix(['"', '\''])?.strip_prefix(key)?;
            unquoted.strip_prefix(['"', '\''])
        })?;
        let value = rest.trim_start().strip_prefix(':')?;
        if !value.is_empty() && !value.starts_with([' ', '\t', '\r']) {
            return None;
        }
        let value = value.split(" #").next().unwrap_or("").trim();
        Some((index + 1, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_is_found() {
        // (document, (yaml, body, line of the fence, closed)).
        let check = |text: &str, expected: Option<(&str, &str, usize, bool)>| {
            let found = split(text);
            let found = found.as_ref().map(|s| (&text[s.yaml.clone()], &text[s.body..], s.line, s.closed));
            assert_eq!(found, expected, "{text:?}");
        };
        check("", None);
        check("# Title\n---\na: b\n---\n", None);
        check("--\na: b\n", None);
        check("---\na: b\n---\nbody\n", Some(("a: b\n", "body\n", 1, true)));
        check("---\r\na: b\r\n---\r\nbody", Some(("a: b\r\n", "body", 1, true)));
        check("\n\n---\na: b\n---\nbody", Some(("a: b\n", "body", 3, true)));
        check("----\na: b\n---\nbody", Some(("a: b\n", "body", 1, true)));
        check("---\n---\nbody", Some(("", "body", 1, true)));
        check("---\na: b --- c\n---\n", Some(("a: b --- c\n", "", 1, true)));
        check("---\na: |\n  ---\n  x\n---\n", Some(("a: |\n  ---\n  x\n", "", 1, true)));
        check("---\na: b\n\n# Title\n", Some(("a: b\n", "\n# Title\n", 1, false)));
        check("---\na: b", Some(("a: b", "", 1, false)));
        check("---", Some(("", "", 1, false)));
        check("---\na: b\n...\nbody", Some(("a: b\n", "body", 1, true)));
    }

    #[test]
    fn places_are_counted_in_lines() {
        let check =
            |yaml: &str, place, expected| assert_eq!(place_in_lines(yaml, place), expected, "{yaml:?}");
        check("a: b\nc: d\n", (2, 3), (2, 3));
        check("a: b\r\nc: d\r\n", (2, 3), (2, 3));
        check("a: b\rc: d\n", (2, 3), (1, 8));
        check("é: b\n\rc: d\re", (4, 1), (2, 7));
        // Beyond the end.
        check("a: b\rc", (9, 1), (1, 7));
        check("", (1, 1), (1, 1));
    }

    #[test]
    fn yaml_is_read_leniently() {
        let check = |yaml: &str, expected: &str, leniency: Option<Leniency>| {
            let read = read(yaml);
            let found = read.trouble.as_ref().map(|(_, leniency)| *leniency);
            assert_eq!(
                (Value::Object(read.map).to_string().as_str(), found),
                (expected, leniency),
                "{yaml}: {:?}",
                read.trouble
            );
        };
        check("a: b\nc: [d, 1, true, 1.5]\n", r#"{"a":"b","c":["d",1,true,1.5]}"#, None);
        check("a: no\n", r#"{"a":"no"}"#, None);
        check("a: .nan\n", r#"{"a":".nan"}"#, None);
        check("a: 1\na: 2\n", r#"{"a":2}"#, Some(Leniency::LastKey));
        check("a: b: c\n", r#"{"a":"b: c"}"#, Some(Leniency::Quoted));
        check("a:\n\tb: c\n", r#"{"a":{"b":"c"}}"#, Some(Leniency::Quoted));
        check("- a\n- b\n", "{}", Some(Leniency::None));
        check("", "{}", Some(Leniency::None));
        check("just words\n", "{}", Some(Leniency::None));
        check("a: &x b\nc: *x\n", r#"{"a":"b","c":"b"}"#, None);
    }

    #[test]
    fn bombs_are_cut_short() {
        let mut laughs = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..12 {
            let parts = vec![format!("*a{}", level - 1); 10].join(", ");
            laughs.push_str(&format!("a{level}: &a{level} [{parts}]\n"));
        }
        for bomb in [
            laughs,
            "[".repeat(100_000),
            "a: ".repeat(50_000),
            "- ".repeat(100_000),
            format!("a: {}", "{".repeat(99_999)),
        ] {
            // Quoted as text it may be kept; it must not grow.
            assert!(Value::Object(read(&bomb).map).to_string().len() <= 2 * bomb.len());
        }
        assert_eq!(read(&format!("a: {}\n", "x".repeat(YAML_CAP))).map, Map::new());
    }

    #[test]
    fn parse_errors_have_a_position() {
        let trouble = read("name: a\ndescription: b: c\n").trouble.unwrap().0;
        assert_eq!(trouble.at.map(|at| at.0), Some(2), "{trouble:?}");
        assert!(!trouble.message.contains(" line "), "{trouble:?}");
    }

    #[test]
    fn keys_are_found_as_spelled() {
        let check = |yaml, expected| assert_eq!(spelled(yaml, "name"), expected, "{yaml}");
        check("a: b\nname: 1.10 # why\n", Some((2, "1.10")));
        check("\"name\": x\n", Some((1, "x")));
        check("names: x\n  name: y\n", None);
        check("name:x\n", None);
    }
}
