//! One `SKILL.md`, read leniently.

use assay_diagnostic::group_digits;
use std::path::Path;

use assay_syntax::markdown::{Block, Dialect, Outline};
use serde_json::{Map, Value};

use crate::front_matter::{self, Leniency, Split, Trouble, spelled};
use crate::text::{Encoding, decode};
use crate::{Diagnostic, Severity, position};

/// The longest description that the format allows, in characters; a first paragraph used instead is
/// truncated to it.
pub const DESCRIPTION_LIMIT: usize = 1024;
/// Longest name the format allows, in characters.
pub const NAME_LIMIT: usize = 64;

/// A parsed `SKILL.md`. The source file is no longer needed: everything a rule may need is here.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The complete text, decoded leniently, without a byte-order mark.
    pub text: String,
    /// The front matter; empty if it is missing or unreadable.
    pub front_matter: Map<String, Value>,
    /// Where the YAML is in the text, in bytes; empty if there is none.
    pub yaml: std::ops::Range<usize>,
    /// The line the YAML begins at, from 1.
    pub yaml_line: usize,
    /// Where the body begins in the text, in bytes.
    pub body_start: usize,
    /// How the bytes were decoded.
    pub encoding: Encoding,
    /// Whether a byte-order mark was removed.
    pub byte_order_mark: bool,
    /// The lines that fence the front matter, even if it could not be read; `None` if there is no
    /// opening fence.
    pub fence: Option<Fence>,
    /// The error in the YAML as written, and how it was parsed anyway.
    pub trouble: Option<(Trouble, Leniency)>,
    /// `name`, trimmed, when there is one.
    pub name: Option<String>,
    /// `description`, trimmed, when there is one.
    pub description: Option<String>,
}

/// The lines that fence front matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    /// The line of the opening one, from 1.
    pub line: usize,
    /// Whether it has more than three dashes.
    pub long: bool,
    /// Whether there is a closing one.
    pub closed: bool,
    /// The text between them, in bytes.
    pub inside: std::ops::Range<usize>,
}

impl Document {
    /// Reads the bytes of a `SKILL.md`. `file` is only named in the diagnostics.
    pub fn parse(bytes: &[u8], file: &Path) -> (Self, Vec<Diagnostic>) {
        let mut findings = Findings { file, list: Vec::new() };
        let decoded = decode(bytes);
        findings.encoding(decoded.encoding, decoded.byte_order_mark);
        let (text, encoding, byte_order_mark) = (decoded.text, decoded.encoding, decoded.byte_order_mark);
        if let Some(at) = text.find('\0') {
            findings
                .add(Severity::Error, "nul-character", "a NUL character")
                .at(position(&text, at))
                .hint("save it as plain UTF-8 text");
        }
        let Some(split) = front_matter::split(&text) else {
            findings
                .add(Severity::Error, "front-matter-missing", "no front matter: the first line is not `---`")
                .at_line(1)
                .hint("start the file with `---`, `name:` and `description:` lines, and another `---`");
            let document = Self {
                text,
                front_matter: Map::new(),
                yaml: 0..0,
                yaml_line: 1,
                body_start: 0,
                encoding,
                byte_order_mark,
                fence: None,
                trouble: None,
                name: None,
                description: None,
            };
            return (document, findings.list);
        };
        findings.fences(&text, &split);
        let yaml = text[split.yaml.clone()].replace('\0', " ");
        let yaml_line = split.line + 1;
        let read = front_matter::read(&yaml);
        if let Some((trouble, leniency)) = &read.trouble {
            findings.yaml(trouble, *leniency, yaml_line);
        }
        let fence = Fence {
            line: split.line,
            long: split.long_fence,
            closed: split.closed,
            inside: split.yaml.clone(),
        };
        // A block that was never closed and cannot be read is body, not front matter.
        let unreadable = !split.closed && read.map.is_empty();
        let (range, body_start) = if unreadable { (0..0, 0) } else { (split.yaml, split.body) };
        let name = findings.scalar(&read.map, &yaml, "name", yaml_line);
        let description = findings.scalar(&read.map, &yaml, "description", yaml_line);
        if let Some(name) = &name {
            findings.name(name, line_of(&yaml, "name", yaml_line));
        }
        if let Some(length) =
            description.as_ref().map(|text| text.chars().count()).filter(|&n| n > DESCRIPTION_LIMIT)
        {
            let message = format!(
                "description has {} characters (limit {})",
                group_digits(length),
                group_digits(DESCRIPTION_LIMIT)
            );
            findings
                .add(Severity::Warning, "description-length", message)
                .at_line(line_of(&yaml, "description", yaml_line))
                .hint("some clients truncate it, others reject the skill: move detail into the body");
        }
        let document = Self {
            text,
            front_matter: read.map,
            yaml: range,
            yaml_line,
            body_start,
            encoding,
            byte_order_mark,
            fence: Some(fence),
            trouble: read.trouble,
            name,
            description,
        };
        (document, findings.list)
    }

    /// What follows the front matter.
    pub fn body(&self) -> &str {
        &self.text[self.body_start..]
    }

    /// The line of a key of the front matter in the file, from 1.
    pub fn line_of(&self, key: &str) -> Option<usize> {
        spelled(&self.text[self.yaml.clone()], key).map(|(line, _)| self.yaml_line + line - 1)
    }

    /// The text of the body's first paragraph on one line, at most [`DESCRIPTION_LIMIT`]
    /// characters; empty if there is none.
    pub fn first_paragraph(&self) -> String {
        let outline = Outline::read(&self.text, self.body_start, Dialect::CommonMark);
        let first = outline.paragraphs.iter().find(|paragraph| paragraph.block == Block::Paragraph);
        let paragraph = first.map_or("", |paragraph| paragraph.text.as_str());
        let one_line = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        one_line.chars().take(DESCRIPTION_LIMIT).collect()
    }
}

fn line_of(yaml: &str, key: &str, yaml_line: usize) -> usize {
    spelled(yaml, key).map_or(yaml_line, |(line, _)| yaml_line + line - 1)
}

struct Findings<'a> {
    file: &'a Path,
    list: Vec<Diagnostic>,
}

/// The last finding, to be placed and explained.
struct Last<'a>(&'a mut Diagnostic);

impl Last<'_> {
    fn at(self, place: (usize, usize)) -> Self {
        (self.0.line, self.0.column) = (Some(place.0), Some(place.1));
        self
    }

    fn at_line(self, line: usize) -> Self {
        self.0.line = Some(line);
        self
    }

    fn hint(self, hint: &str) {
        self.0.hint = Some(hint.to_owned());
    }
}

impl Findings<'_> {
    fn add(&mut self, severity: Severity, code: &'static str, message: impl Into<String>) -> Last<'_> {
        Last(self.list.push_mut(Diagnostic::new(severity, code, self.file, message)))
    }

    fn encoding(&mut self, encoding: Encoding, mark: bool) {
        match encoding {
            Encoding::Utf16 => {
                self.add(Severity::Error, "encoding", "UTF-16 text").at_line(1).hint("save it as UTF-8");
            }
            Encoding::Invalid { line } => {
                self.add(Severity::Error, "encoding", "not UTF-8").at_line(line).hint("save it as UTF-8");
            }
            Encoding::Utf8 if mark => self
                .add(Severity::Warning, "byte-order-mark", "a byte-order mark before the front matter")
                .at_line(1)
                .hint("save it as UTF-8 without a byte-order mark: strict parsers find no front matter otherwise"),
            Encoding::Utf8 => {}
        }
    }

    fn fences(&mut self, text: &str, split: &Split) {
        if split.line > 1 {
            self.add(Severity::Warning, "front-matter-late", "blank lines before the front matter")
                .at_line(1)
                .hint("start the file with `---`: strict parsers find no front matter otherwise");
        }
        if split.long_fence {
            self.add(Severity::Error, "front-matter-fence", "more than three dashes before the front matter")
                .at_line(split.line)
                .hint("use exactly `---`");
        }
        if !split.closed {
            self.add(Severity::Error, "front-matter-unclosed", "front matter without a closing `---` line")
                .at_line(split.line)
                .hint("close it with a `---` line; only the text before the first blank line was read");
        }
        if let Some(at) = text[split.yaml.clone()].find("---").filter(|_| split.closed) {
            self.add(Severity::Warning, "front-matter-dashes", "`---` within the front matter")
                .at(position(text, split.yaml.start + at))
                .hint("the reference validator ends the front matter here: rewrite the value");
        }
    }

    fn yaml(&mut self, trouble: &front_matter::Trouble, leniency: Leniency, yaml_line: usize) {
        let (severity, code, hint) = match leniency {
            Leniency::LastKey => {
                (Severity::Warning, "yaml-duplicate-key", "the last one is used: remove the others")
            }
            Leniency::Quoted => (
                Severity::Error,
                "yaml-unquoted",
                "it was parsed with these values quoted: write `key: \"value\"`",
            ),
            Leniency::None => {
                (Severity::Error, "yaml-invalid", "write `name: …` and `description: …`, one per line")
            }
        };
        let message = format!("the front matter is not valid: {}", trouble.message);
        let (line, column) = trouble.at.unwrap_or((1, 1));
        self.add(severity, code, message).at((line.saturating_add(yaml_line - 1), column)).hint(hint);
    }

    /// The text of a scalar field, trimmed. Empty and not scalar both give `None` with a finding;
    /// missing gives `None` alone: the caller reports the replacement.
    fn scalar(
        &mut self,
        map: &Map<String, Value>,
        yaml: &str,
        key: &str,
        yaml_line: usize,
    ) -> Option<String> {
        let line = line_of(yaml, key, yaml_line);
        let (empty, wrong_type, severity) = match key {
            "name" => ("name-empty", "name-type", Severity::Warning),
            _ => ("description-empty", "description-type", Severity::Error),
        };
        match map.get(key)? {
            Value::String(text) if text.trim().is_empty() => {
                self.add(severity, empty, format!("`{key}` is empty")).at_line(line).hint("fill it in");
                None
            }
            Value::String(text) => Some(text.trim().to_owned()),
            Value::Null => {
                self.add(severity, empty, format!("`{key}` has no value"))
                    .at_line(line)
                    .hint("fill it in, quoted if the word itself is meant");
                None
            }
            value @ (Value::Bool(_) | Value::Number(_)) => {
                self.add(
                    Severity::Warning,
                    wrong_type,
                    format!("a standard YAML parser does not read `{key}` as a string"),
                )
                .at_line(line)
                .hint("quote it");
                // As spelled: `1.10` is not `1.1`.
                let spelled =
                    spelled(yaml, key).map(|(_, text)| text.to_owned()).filter(|text| !text.is_empty());
                Some(spelled.unwrap_or_else(|| value.to_string()))
            }
            Value::Array(_) | Value::Object(_) => {
                self.add(
                    Severity::Error,
                    wrong_type,
                    format!("`{key}` is a list or a mapping, not a string"),
                )
                .at_line(line)
                .hint("write it as a single string");
                None
            }
        }
    }

    fn name(&mut self, name: &str, line: usize) {
        let length = name.chars().count();
        if length > NAME_LIMIT {
            self.add(
                Severity::Warning,
                "name-length",
                format!("name has {} characters (limit {})", group_digits(length), group_digits(NAME_LIMIT)),
            )
            .at_line(line)
            .hint("shorten it");
        }
        let allowed = |c: char| c == '-' || (c.is_alphanumeric() && !c.is_uppercase());
        if !name.chars().all(allowed) || name.starts_with('-') || name.ends_with('-') || name.contains("--") {
            self.add(
                Severity::Warning,
                "name-characters",
                "a name may only contain lowercase letters, digits and single hyphens between them",
            )
            .at_line(line)
            .hint("write it like `my-skill`");
        }
    }
}

#[cfg(test)]
mod tests;
