//! The reference validator, as PyPI's `skills-ref` 0.1.1 works: the same splits, the same subset of YAML, the same checks in the
//! same order.
//!
//! It ends the front matter at the second `---` anywhere, also within a value; it reads StrictYAML, where every scalar is text;
//! and it crashes on what is not UTF-8, which counts as refused here.

use assay_syntax::yaml::{Breach, Kind, Node, Yaml};
use unicode_normalization::UnicodeNormalization;

use super::Fate;
use crate::skill::Skill;

/// The fields it knows.
pub(crate) const FIELDS: [&str; 6] =
    ["name", "description", "license", "allowed-tools", "metadata", "compatibility"];
/// Longest name, in characters after NFKC.
pub(crate) const NAME: usize = 64;
/// Longest description, in characters.
pub(crate) const DESCRIPTION: usize = 1024;
/// Longest compatibility, in characters.
pub(crate) const COMPATIBILITY: usize = 500;

/// What it says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Verdict {
    /// Its errors; none when the skill is valid.
    pub errors: Vec<String>,
    /// Name and description as it would show them; `None` when it cannot.
    pub shown: Option<(String, String)>,
}

impl Verdict {
    fn refused(error: impl Into<String>) -> Self {
        Self { errors: vec![error.into()], shown: None }
    }

    pub(super) fn fate(self) -> Fate {
        let reason = self.errors.into_iter().next();
        let valid = reason.is_none();
        match self.shown {
            Some((name, description)) => Fate { valid, reason, ..Fate::loaded(name, description) },
            None => Fate::dropped(reason.unwrap_or_default()),
        }
    }
}

/// Its verdict on a skill.
pub(crate) fn check(skill: &Skill) -> Verdict {
    let Some(document) = &skill.document else { return Verdict::refused("no SKILL.md that can be read") };
    if !skill.is_utf8() {
        return Verdict::refused("it crashes on text that is not UTF-8");
    }
    // Python's mark-less decoder keeps a byte-order mark as a character.
    let text = &document.text;
    if document.byte_order_mark || !text.starts_with("---") {
        return Verdict::refused("the file does not begin with `---`");
    }
    let Some(length) = text[3..].find("---") else {
        return Verdict::refused("the front matter is not closed");
    };
    let block = &text[3..3 + length];
    let fresh;
    let yaml =
        if document.trouble.is_none() && 3 + length == document.yaml.end && block.starts_with(['\n', '\r']) {
            &skill.yaml
        } else {
            fresh = Yaml::parse(block, 3);
            &fresh
        };
    if let Some(error) = strict_error(yaml, block) {
        return Verdict::refused(error);
    }
    let Some(Node { kind: Kind::Map(_), .. }) = &yaml.root else {
        return Verdict::refused("the front matter is no mapping");
    };
    fields(yaml, skill.directory())
}

/// What makes StrictYAML refuse a block.
fn strict_error(yaml: &Yaml, block: &str) -> Option<String> {
    if let Some((message, _)) = &yaml.error {
        return Some(format!("invalid YAML: {message}"));
    }
    if block.contains('\0') || block.chars().any(unprintable) {
        return Some("invalid YAML: a character that YAML does not allow".to_owned());
    }
    if yaml.several {
        return Some("invalid YAML: a second document".to_owned());
    }
    let breach = yaml.breaches.first()?;
    Some(match breach {
        Breach::Anchor(_) => "invalid YAML: anchors are not allowed".to_owned(),
        Breach::Tag(_) => "invalid YAML: tags are not allowed".to_owned(),
        Breach::Flow(_) => "invalid YAML: lists and maps in brackets are not allowed".to_owned(),
        Breach::Duplicate(_) => "invalid YAML: a key occurs twice".to_owned(),
    })
}

/// What Python's YAML readers refuse anywhere (YAML 1.1, section 5.1).
pub(super) fn unprintable(c: char) -> bool {
    !matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

fn fields(yaml: &Yaml, directory: &str) -> Verdict {
    let mut errors = Vec::new();
    let mut extra: Vec<&str> =
        yaml.fields().iter().filter_map(|(key, _)| key.text()).filter(|key| !FIELDS.contains(key)).collect();
    extra.sort_unstable();
    if !extra.is_empty() {
        errors.push(format!("unknown fields: {}", extra.join(", ")));
    }
    let value = |key: &str| yaml.field(key).map(|(_, value)| value);
    let text = |key: &str| value(key).and_then(Node::text).map(str::trim).filter(|text| !text.is_empty());
    match value("name") {
        None => errors.push("no `name`".to_owned()),
        Some(_) => name_errors(text("name"), directory, &mut errors),
    }
    match (value("description"), value("description").and_then(Node::text)) {
        (None, _) => errors.push("no `description`".to_owned()),
        (_, Some(text)) if !text.trim().is_empty() => {
            let length = text.chars().count();
            if length > DESCRIPTION {
                errors.push(format!("description of {length} characters, at most {DESCRIPTION}"));
            }
        }
        _ => errors.push("`description` is not a text, or empty".to_owned()),
    }
    if let Some(compatibility) = value("compatibility") {
        match compatibility.text().map(|text| text.chars().count()) {
            None => errors.push("`compatibility` is not a text".to_owned()),
            Some(length) if length > COMPATIBILITY => {
                errors.push(format!("compatibility of {length} characters, at most {COMPATIBILITY}"));
            }
            Some(_) => {}
        }
    }
    let shown = text("name").zip(text("description")).map(|(name, text)| (name.to_owned(), text.to_owned()));
    Verdict { errors, shown }
}

fn name_errors(name: Option<&str>, directory: &str, errors: &mut Vec<String>) {
    let Some(name) = name else {
        errors.push("`name` is not a text, or empty".to_owned());
        return;
    };
    let name: String = name.nfkc().collect();
    let length = name.chars().count();
    if length > NAME {
        errors.push(format!("name of {length} characters, at most {NAME}"));
    }
    if name.to_lowercase() != name {
        errors.push("name not in lower case".to_owned());
    }
    if name.starts_with('-') || name.ends_with('-') {
        errors.push("name begins or ends with a hyphen".to_owned());
    }
    if name.contains("--") {
        errors.push("name with two hyphens in a row".to_owned());
    }
    if !name.chars().all(|c| c == '-' || c.is_alphanumeric()) {
        errors.push("name with characters other than letters, digits and hyphens".to_owned());
    }
    if directory.nfkc().collect::<String>() != name {
        errors.push(format!("the folder is called `{directory}`"));
    }
}
