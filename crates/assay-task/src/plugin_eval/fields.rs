//! Values of front matter and of `case.yaml`, with the place of each mistake.

use std::ops::Range;
use std::path::{Path, PathBuf};

use assay_diagnostic::{Diagnostic, Severity, escape, nearest, position};
use assay_syntax::yaml::{Kind, Node, Scalar, Yaml};

/// The code of what makes a case unreadable.
pub(super) const ERROR: &str = "plugin-eval";

/// A file that is read, and the mistakes in it.
pub(super) struct EvalFile<'a> {
    pub(super) path: PathBuf,
    text: &'a str,
    pub(super) found: Vec<Diagnostic>,
}

/// Front matter and what follows it.
pub(super) struct FileParts<'a> {
    /// The block between the lines `---`, and where it begins. `None` if there is none.
    pub(super) block: Option<(&'a str, usize)>,
    /// The rest.
    pub(super) body: &'a str,
}

/// Takes a file of Markdown apart.
pub(super) fn parts(text: &str) -> FileParts<'_> {
    let none = FileParts { block: None, body: text };
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else { return none };
    let begin = first.len();
    let mut at = begin;
    for line in lines {
        if line.trim_end() == "---" {
            return FileParts {
                block: text.get(begin..at).map(|block| (block, begin)),
                body: &text[at + line.len()..],
            };
        }
        at += line.len();
    }
    none
}

impl<'a> EvalFile<'a> {
    pub(super) fn new(path: &Path, text: &'a str) -> Self {
        Self { path: path.to_owned(), text, found: Vec::new() }
    }

    /// The mapping of a block that begins at an offset of the file; an empty one if there is nothing in it.
    pub(super) fn mapping(&mut self, block: &str, base: usize) -> Option<Node> {
        let yaml = Yaml::parse(block, base);
        if let Some((message, at)) = yaml.error {
            self.error(at, format!("invalid YAML: {message}"), "correct the syntax");
            return None;
        }
        let empty = Node { kind: Kind::Map(Vec::new()), span: base..base };
        let root = match yaml.root {
            None => return Some(empty),
            Some(root) if root.type_1_2() == Some(Scalar::Null) => return Some(empty),
            Some(root) => root,
        };
        if !matches!(root.kind, Kind::Map(_)) {
            self.error(root.span.start, "not a mapping", "write `key: value` lines");
            return None;
        }
        let mut seen: Vec<&str> = Vec::new();
        for (key, _) in root.entries() {
            let name = key.text().unwrap_or_default();
            if seen.contains(&name) {
                self.error(key.span.start, format!("`{}` occurs twice", escape(name)), "keep one of them");
            }
            seen.push(name);
        }
        Some(root)
    }

    pub(super) fn error(&mut self, at: usize, message: impl Into<String>, hint: impl Into<String>) {
        self.add(Severity::Error, at, message, hint);
    }

    pub(super) fn warn(&mut self, at: usize, message: impl Into<String>, hint: impl Into<String>) {
        self.add(Severity::Warning, at, message, hint);
    }

    fn add(&mut self, severity: Severity, at: usize, message: impl Into<String>, hint: impl Into<String>) {
        let place = position(self.text, at.min(self.text.len()));
        let found = Diagnostic::new(severity, ERROR, self.path.clone(), message).at(place).hint(hint);
        self.found.push(found);
    }

    pub(super) fn line(&self, at: usize) -> usize {
        position(self.text, at.min(self.text.len())).0
    }

    /// Refuses keys that are not among some.
    pub(super) fn check_keys(&mut self, map: &Node, known: &[&str], what: &str) {
        for (key, _) in map.entries() {
            let Some(name) = key.text().filter(|name| known.contains(name)) else {
                let name = key.text().unwrap_or_default().to_owned();
                let near = nearest(&name, known.iter().copied());
                let hint = match near.first() {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("known are {}", known.join(", ")),
                };
                self.error(key.span.start, format!("unknown key `{}` of {what}", escape(&name)), hint);
                continue;
            };
            let _ = name;
        }
    }

    pub(super) fn wrong(&mut self, key: &str, node: &Node, wanted: &str) {
        let hint = match node.type_1_2() {
            Some(Scalar::Text) | None => format!("write {wanted}"),
            Some(_) if wanted == "a text" => "put it in quotes".to_owned(),
            Some(_) => format!("write {wanted}"),
        };
        self.error(node.span.start, format!("`{key}` is {}, and must be {wanted}", kind(node)), hint);
    }

    /// A text, which is not empty.
    pub(super) fn text(&mut self, map: &Node, key: &str) -> Option<String> {
        let node = map.get(key)?;
        match (node.type_1_2(), node.text()) {
            (Some(Scalar::Text | Scalar::Date), Some(text)) if !text.is_empty() => Some(text.to_owned()),
            (Some(Scalar::Text), Some(_)) => {
                self.error(node.span.start, format!("`{key}` is empty"), "write a text");
                None
            }
            _ => {
                self.wrong(key, node, "a text");
                None
            }
        }
    }

    /// A whole number within a range.
    pub(super) fn number(&mut self, map: &Node, key: &str, range: Range<u32>) -> Option<u32> {
        let node = map.get(key)?;
        let number = node.text().filter(|_| node.type_1_2() == Some(Scalar::Number));
        let number = number.and_then(|text| text.parse().ok()).filter(|number| range.contains(number));
        if number.is_none() {
            let most = range.end.saturating_sub(1);
            let wanted = if range.end == u32::MAX {
                format!("a whole number of at least {}", range.start)
            } else {
                format!("a whole number from {} to {most}", range.start)
            };
            self.wrong(key, node, &wanted);
        }
        number
    }

    /// `true` or `false`.
    pub(super) fn boolean(&mut self, map: &Node, key: &str) -> Option<bool> {
        let node = map.get(key)?;
        let value = node.text().filter(|_| node.type_1_2() == Some(Scalar::Bool));
        let value = value.map(|text| text.eq_ignore_ascii_case("true"));
        if value.is_none() {
            self.wrong(key, node, "true or false");
        }
        value
    }

    /// A list of texts.
    pub(super) fn texts(&mut self, map: &Node, key: &str) -> Option<Vec<String>> {
        let node = map.get(key)?;
        let Kind::List(items) = &node.kind else {
            self.wrong(key, node, "a list of texts");
            return None;
        };
        let mut texts = Vec::new();
        for item in items {
            match item.text().filter(|_| item.type_1_2() == Some(Scalar::Text)) {
                Some(text) => texts.push(text.to_owned()),
                None => self.wrong(key, item, "a list of texts"),
            }
        }
        Some(texts)
    }

    /// A mapping in the mapping.
    pub(super) fn map<'n>(&mut self, map: &'n Node, key: &str) -> Option<&'n Node> {
        let node = map.get(key)?;
        if !matches!(node.kind, Kind::Map(_)) {
            self.wrong(key, node, "a mapping");
            return None;
        }
        Some(node)
    }
}

/// What a node is, in words.
fn kind(node: &Node) -> &'static str {
    match &node.kind {
        Kind::List(_) => "a list",
        Kind::Map(_) => "a mapping",
        Kind::Alias => "an alias",
        Kind::Scalar { .. } => match node.type_1_2() {
            Some(scalar) => scalar.word(),
            None => "a value",
        },
    }
}
