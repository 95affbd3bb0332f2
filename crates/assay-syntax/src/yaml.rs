//! YAML as a tree of nodes with their spans, and the constructs in it that StrictYAML forbids.
//!
//! `assay-skill` reads the values of front matter leniently. This module reads how YAML is written:
//! the position of each key and value, how a scalar is quoted, and what type other readers give it.
//! Aliases are not expanded, which bounds the size of the tree.

use std::borrow::Cow;
use std::ops::Range;

use granit_parser::{Event, Options, Parser, ScalarStyle, Span, StructureStyle};

/// The longest block that is parsed, in bytes.
pub const YAML_CAP: usize = 256 * 1024;

/// How a scalar is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Without quotes.
    Plain,
    /// Between single or double quotes.
    Quoted,
    /// As a block, `|` or `>`.
    Block,
}

/// The kind of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// One text.
    Scalar {
        /// Its text.
        text: String,
        /// How it is written.
        style: Style,
    },
    /// A sequence.
    List(Vec<Node>),
    /// A mapping, in the order of its keys, equal ones included.
    Map(Vec<(Node, Node)>),
    /// A reference to an anchor.
    Alias,
}

/// A node and its position, in bytes of the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its kind.
    pub kind: Kind,
    /// Its position.
    pub span: Range<usize>,
}

/// What an ordinary YAML reader takes a plain scalar for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalar {
    /// A text.
    Text,
    /// Nothing.
    Null,
    /// A boolean.
    Bool,
    /// A number.
    Number,
    /// A date, with or without a time.
    Date,
}

impl Scalar {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Null => "nothing",
            Self::Bool => "a boolean",
            Self::Number => "a number",
            Self::Date => "a date",
        }
    }
}

impl Node {
    /// The text of a scalar.
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Its type in YAML 1.1 (PyYAML); `None` if it is not a scalar.
    pub fn type_1_1(&self) -> Option<Scalar> {
        match &self.kind {
            Kind::Scalar { text, style: Style::Plain } => Some(resolve_1_1(text)),
            Kind::Scalar { .. } => Some(Scalar::Text),
            _ => None,
        }
    }

    /// Its type in YAML 1.2 (js-yaml, serde_yaml); `None` if it is not a scalar.
    pub fn type_1_2(&self) -> Option<Scalar> {
        match &self.kind {
            Kind::Scalar { text, style: Style::Plain } => Some(resolve_1_2(text)),
            Kind::Scalar { .. } => Some(Scalar::Text),
            _ => None,
        }
    }

    /// The value of a key, the last of equal ones.
    pub fn get(&self, key: &str) -> Option<&Node> {
        let Kind::Map(entries) = &self.kind else { return None };
        entries.iter().rev().find(|(name, _)| name.text() == Some(key)).map(|(_, value)| value)
    }

    /// The entries of a mapping.
    pub fn entries(&self) -> &[(Node, Node)] {
        match &self.kind {
            Kind::Map(entries) => entries,
            _ => &[],
        }
    }
}

/// Something that StrictYAML forbids and ordinary readers take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Breach {
    /// An anchor or an alias.
    Anchor(Range<usize>),
    /// A tag.
    Tag(Range<usize>),
    /// A list or a map in brackets.
    Flow(Range<usize>),
    /// A key that occurs again in its map, with its second position.
    Duplicate(Range<usize>),
}

/// Front matter as a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Yaml {
    /// The root; `None` if the block is empty or cannot be parsed.
    pub root: Option<Node>,
    /// What StrictYAML forbids, in order.
    pub breaches: Vec<Breach>,
    /// The parser's words and the place, when it cannot be parsed.
    pub error: Option<(String, usize)>,
    /// Whether there is a second document.
    pub several: bool,
}

impl Yaml {
    /// Parses a block that begins at `base` in its document.
    pub fn parse(block: &str, base: usize) -> Self {
        if block.len() > YAML_CAP {
            let message = format!("{} bytes, of which at most {YAML_CAP} are read", block.len());
            return Self { error: Some((message, base)), ..Self::default() };
        }
        // As long as the block, so that positions stay valid.
        let block: Cow<'_, str> =
            if block.contains('\0') { Cow::Owned(block.replace('\0', " ")) } else { Cow::Borrowed(block) };
        let mut options = Options::default();
        options.set_emit_comments(false);
        let mut builder = Builder { base, ..Builder::default() };
        for event in Parser::new_from_str_with_options(&block, options) {
            match event {
                Ok((event, span)) => builder.handle_event(event, span),
                Err(error) => {
                    let at = error.marker().byte_offset().unwrap_or(0).min(block.len());
                    return Self { error: Some((error.info(), base + at)), ..Self::default() };
                }
            }
        }
        Self { root: builder.root, breaches: builder.breaches, error: None, several: builder.documents > 1 }
    }

    /// Parses a block whose values were quoted, and maps its positions to the lines of the block as
    /// it was written.
    pub fn parse_repaired(repaired: &str, written: &str, base: usize) -> Self {
        let mut yaml = Self::parse(repaired, 0);
        if let Some(Node { kind: Kind::Map(entries), span }) = &mut yaml.root {
            *span = base..base + written.len();
            for (key, value) in entries {
                let place = key.text().and_then(|key| written_at(written, key)).unwrap_or(0..0);
                let place = base + place.start..base + place.end;
                let colon = place.start + key.text().map_or(0, str::len);
                place_all(key, &(place.start..colon.min(place.end)));
                place_all(value, &((colon + 1).min(place.end)..place.end));
            }
        }
        yaml
    }

    /// A field of the front matter, the last of equal keys.
    pub fn field(&self, key: &str) -> Option<&(Node, Node)> {
        self.fields().iter().rev().find(|(name, _)| name.text() == Some(key))
    }

    /// The fields of the front matter; empty if it is not a mapping.
    pub fn fields(&self) -> &[(Node, Node)] {
        self.root.as_ref().map_or(&[], Node::entries)
    }
}

/// The line that begins with a key, without its line break.
fn written_at(written: &str, key: &str) -> Option<Range<usize>> {
    let mut at = 0;
    for line in written.split_inclusive('\n') {
        if line.trim_start_matches(['"', '\'']).strip_prefix(key).is_some_and(|rest| {
            rest.trim_start_matches(['"', '\'']).trim_start_matches([' ', '\t']).starts_with(':')
        }) {
            return Some(at..at + line.trim_end().len());
        }
        at += line.len();
    }
    None
}

fn place_all(node: &mut Node, place: &Range<usize>) {
    node.span = place.clone();
    match &mut node.kind {
        Kind::List(items) => items.iter_mut().for_each(|item| place_all(item, place)),
        Kind::Map(entries) => entries.iter_mut().for_each(|(key, value)| {
            place_all(key, place);
            place_all(value, place);
        }),
        _ => {}
    }
}

#[derive(Default)]
struct Builder {
    base: usize,
    root: Option<Node>,
    breaches: Vec<Breach>,
    documents: usize,
    open: Vec<Open>,
}

struct Open {
    node: Node,
    key: Option<Node>,
}

impl Builder {
    fn handle_event(&mut self, event: Event<'_>, span: Span) {
        let at = |marker: granit_parser::Marker| self.base + marker.byte_offset().unwrap_or(0);
        let range = at(span.start)..at(span.end).max(at(span.start));
        match event {
            Event::DocumentStart(..) => self.documents += 1,
            Event::Scalar(text, style, anchor, tag) => {
                self.breach(anchor != 0, tag.is_some(), false, &range);
                let style = match style {
                    ScalarStyle::Plain => Style::Plain,
                    ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
                    _ => Style::Quoted,
                };
                // A missing value has no text.
                let text =
                    if style == Style::Plain && range.is_empty() { String::new() } else { text.into_owned() };
                self.add_node(Node { kind: Kind::Scalar { text, style }, span: range });
            }
            Event::Alias(_) => {
                self.breaches.push(Breach::Anchor(range.clone()));
                self.add_node(Node { kind: Kind::Alias, span: range });
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.breach(anchor != 0, tag.is_some(), style == StructureStyle::Flow, &range);
                self.open.push(Open { node: Node { kind: Kind::List(Vec::new()), span: range }, key: None });
            }
            Event::MappingStart(style, anchor, tag) => {
                self.breach(anchor != 0, tag.is_some(), style == StructureStyle::Flow, &range);
                self.open.push(Open { node: Node { kind: Kind::Map(Vec::new()), span: range }, key: None });
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(mut closed) = self.open.pop() {
                    let last = match &closed.node.kind {
                        Kind::List(items) => items.last().map(|item| item.span.end),
                        Kind::Map(entries) => entries.last().map(|(_, value)| value.span.end),
                        _ => None,
                    };
                    closed.node.span.end = last.unwrap_or(closed.node.span.end).max(closed.node.span.start);
                    self.add_node(closed.node);
                }
            }
            _ => {}
        }
    }

    fn breach(&mut self, anchor: bool, tag: bool, flow: bool, range: &Range<usize>) {
        if anchor {
            self.breaches.push(Breach::Anchor(range.clone()));
        }
        if tag {
            self.breaches.push(Breach::Tag(range.clone()));
        }
        if flow {
            self.breaches.push(Breach::Flow(range.clone()));
        }
    }

    fn add_node(&mut self, node: Node) {
        let Some(parent) = self.open.last_mut() else {
            if self.documents <= 1 {
                self.root = Some(node);
            }
            return;
        };
        match (&mut parent.node.kind, parent.key.take()) {
            (Kind::List(items), _) => items.push(node),
            (Kind::Map(entries), Some(key)) => entries.push((key, node)),
            (Kind::Map(entries), None) => {
                let again = node.text().is_some()
                    && entries.len() < 1000
                    && entries.iter().any(|(key, _)| key.text() == node.text());
                if again {
                    self.breaches.push(Breach::Duplicate(node.span.clone()));
                }
                parent.key = Some(node);
            }
            _ => {}
        }
    }
}

/// The implicit types of YAML 1.1 in PyYAML's resolver (yaml.org/type).
fn resolve_1_1(text: &str) -> Scalar {
    if matches!(text, "" | "~" | "null" | "Null" | "NULL") {
        return Scalar::Null;
    }
    let bools = ["yes", "no", "true", "false", "on", "off"];
    let title = |word: &str| word[..1].to_uppercase() + &word[1..];
    if bools.iter().any(|word| text == *word || text == title(word) || text == word.to_uppercase()) {
        return Scalar::Bool;
    }
    if is_number_1_1(text) {
        return Scalar::Number;
    }
    if is_date(text) { Scalar::Date } else { Scalar::Text }
}

fn is_number_1_1(text: &str) -> bool {
    let plain = text.strip_prefix(['-', '+']).unwrap_or(text);
    let digits = |s: &str, ok: fn(&u8) -> bool| !s.is_empty() && s.bytes().all(|b| b == b'_' || ok(&b));
    if matches!(plain, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    if let Some(rest) = plain.strip_prefix("0b") {
        return digits(rest, |b| matches!(b, b'0' | b'1'));
    }
    if let Some(rest) = plain.strip_prefix("0x") {
        return digits(rest, u8::is_ascii_hexdigit);
    }
    if !plain.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return false;
    }
    let whole = |s: &str| {
        s == "0"
            || (s.starts_with('0') && digits(&s[1..], |b| matches!(b, b'0'..=b'7')))
            || (s.starts_with(|c: char| matches!(c, '1'..='9')) && digits(s, u8::is_ascii_digit))
    };
    if whole(plain) {
        return true;
    }
    // 1:30 and 1:30:15, counted by sixties.
    if let Some((first, rest)) = plain.split_once(':') {
        let sixties = |s: &str| matches!(s.len(), 1 | 2) && s.parse::<u8>().is_ok_and(|value| value < 60);
        let rest = rest.split_once('.').map_or(rest, |(rest, _)| rest);
        return first.starts_with(|c: char| c.is_ascii_digit())
            && digits(first, u8::is_ascii_digit)
            && rest.split(':').all(sixties);
    }
    let Some((whole, fraction)) = plain.split_once('.') else { return false };
    let (fraction, exponent) =
        fraction.split_once(['e', 'E']).map_or((fraction, None), |(f, e)| (f, Some(e)));
    let exponent_ok = exponent.is_none_or(|e| {
        e.strip_prefix(['-', '+']).is_some_and(|e| !e.is_empty() && e.bytes().all(|b| b.is_ascii_digit()))
    });
    let whole_ok = whole.is_empty()
        || (whole.starts_with(|c: char| c.is_ascii_digit()) && digits(whole, u8::is_ascii_digit));
    let fraction_ok = fraction.bytes().all(|b| b == b'_' || b.is_ascii_digit());
    exponent_ok && whole_ok && fraction_ok && !(whole.is_empty() && fraction.is_empty())
}

/// `2024-01-31`, with or without a time after it.
fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digits = |range: Range<usize>| bytes.get(range).is_some_and(|d| d.iter().all(u8::is_ascii_digit));
    if bytes.len() < 8 || !digits(0..4) || bytes[4] != b'-' {
        return false;
    }
    if bytes.len() == 10 {
        return digits(5..7) && bytes[7] == b'-' && digits(8..10);
    }
    let Some((date, time)) = text.split_once(['T', 't', ' ', '\t']) else { return false };
    let mut parts = date.split('-');
    let date_ok = parts.clone().count() == 3
        && parts.all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
    let time = time.trim_start();
    date_ok && time.contains(':') && time.starts_with(|c: char| c.is_ascii_digit())
}

/// The core schema of YAML 1.2, and dates as in js-yaml.
fn resolve_1_2(text: &str) -> Scalar {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Scalar::Null,
        "true" | "True" | "TRUE" | "false" | "False" | "FALSE" => return Scalar::Bool,
        ".nan" | ".NaN" | ".NAN" => return Scalar::Number,
        _ => {}
    }
    let plain = text.strip_prefix(['-', '+']).unwrap_or(text);
    let radix = |prefix: &str, ok: fn(char) -> bool| {
        plain.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty() && rest.chars().all(ok))
    };
    let number = matches!(plain, ".inf" | ".Inf" | ".INF")
        || radix("0x", |c| c.is_ascii_hexdigit())
        || radix("0o", |c| matches!(c, '0'..='7'))
        || radix("0b", |c| matches!(c, '0' | '1'))
        || (plain.starts_with(|c: char| c.is_ascii_digit() || c == '.')
            && plain.parse::<f64>().is_ok_and(|_| plain.bytes().any(|b| b.is_ascii_digit())));
    if number {
        Scalar::Number
    } else if is_date(text) {
        Scalar::Date
    } else {
        Scalar::Text
    }
}

#[cfg(test)]
mod tests {
    use super::Scalar::{Bool, Date, Null, Number, Text};
    use super::*;

    #[test]
    fn plain_scalars_have_each_readers_type() {
        let check = |text: &str, one: Scalar, two: Scalar| {
            assert_eq!((resolve_1_1(text), resolve_1_2(text)), (one, two), "{text}");
        };
        check("pdf", Text, Text);
        check("yes", Bool, Text);
        check("On", Bool, Text);
        check("TRUE", Bool, Bool);
        check("null", Null, Null);
        check("", Null, Null);
        check("123", Number, Number);
        check("1_000", Number, Text);
        check("0x1F", Number, Number);
        check("0o17", Text, Number);
        check("1:30", Number, Text);
        check("1.0", Number, Number);
        check("1e3", Text, Number);
        check("1.0.0", Text, Text);
        check(".", Text, Text);
        check("-", Text, Text);
        check(".inf", Number, Number);
        check("2024-01-31", Date, Date);
        check("2024-01-31T10:00:00Z", Date, Date);
        check("3d-print", Text, Text);
    }

    #[test]
    fn spans_match_the_source() {
        let text = "---\nname: pdf\ndescription: \"a b\"\nmetadata:\n  x: 1\n---\n";
        let yaml = Yaml::parse(&text[4..text.len() - 4], 4);
        let shown = |key: &str| {
            let (key, value) = yaml.field(key).unwrap();
            (&text[key.span.clone()], &text[value.span.clone()])
        };
        assert_eq!(shown("name"), ("name", "pdf"));
        assert_eq!(shown("description"), ("description", "\"a b\""));
        assert_eq!(shown("metadata"), ("metadata", "x: 1"));
        assert_eq!(yaml.breaches, []);
    }

    #[test]
    fn breaches_are_named() {
        let check = |block: &str, expected: &[&str]| {
            let yaml = Yaml::parse(block, 0);
            let found: Vec<String> = yaml
                .breaches
                .iter()
                .map(|breach| match breach {
                    Breach::Anchor(at) => format!("anchor {}", &block[at.clone()]),
                    Breach::Tag(at) => format!("tag {}", &block[at.clone()]),
                    Breach::Flow(at) => format!("flow {}", &block[at.start..=at.start]),
                    Breach::Duplicate(at) => format!("again {}", &block[at.clone()]),
                })
                .collect();
            assert_eq!(found, expected, "{block}");
        };
        check("a: b\n", &[]);
        check("a: &x b\nc: *x\n", &["anchor b", "anchor *x"]);
        check("a: [b]\n", &["flow ["]);
        check("a: b\na: c\n", &["again a"]);
        check("a: !!str b\n", &["tag b"]);
    }
}
