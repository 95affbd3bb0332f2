//! The reference validator, as PyPI's `skills-ref` 0.1.1 works: the same splits, the same subset of
//! YAML, the same checks in the same order.
//!
//! It ends the front matter at the second `---` anywhere, also within a value; it reads StrictYAML,
//! where every scalar is a string; and it crashes on text that is not UTF-8, which counts as
//! rejected here.

use assay_diagnostic::group_digits;
use assay_syntax::yaml::{Breach, Kind, Node, Yaml};
use unicode_normalization::UnicodeNormalization;

use super::LoadResult;
use crate::skill::Skill;

/// The fields it accepts.
pub(crate) const FIELDS: [&str; 6] =
    ["name", "description", "license", "allowed-tools", "metadata", "compatibility"];
/// Longest name, in characters after NFKC.
pub(crate) const NAME: usize = 64;
/// Longest description, in characters.
pub(crate) const DESCRIPTION: usize = 1024;
/// Longest compatibility, in characters.
pub(crate) const COMPATIBILITY: usize = 500;

/// Its verdict.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Verdict {
    /// Its errors; empty if the skill is valid.
    pub errors: Vec<String>,
    /// Name and description as it would show them, if it can.
    pub shown: Option<(String, String)>,
}

impl Verdict {
    fn refused(error: impl Into<String>) -> Self {
        Self { errors: vec![error.into()], shown: None }
    }

    pub(super) fn load_result(self) -> LoadResult {
        let reason = self.errors.into_iter().next();
        let valid = reason.is_none();
        match self.shown {
            Some((name, description)) => {
                LoadResult { valid, reason, ..LoadResult::loaded(name, description) }
            }
            None => LoadResult::dropped(reason.unwrap_or_default()),
        }
    }
}

/// Its verdict on a skill.
pub(crate) fn check(skill: &Skill) -> Verdict {
    let Some(document) = &skill.document else { return Verdict::refused("no readable SKILL.md") };
    if !skill.is_utf8() {
        return Verdict::refused("it crashes on text that is not UTF-8");
    }
    // Python's `utf-8` codec keeps a byte-order mark as a character.
    let text = &document.text;
    if document.byte_order_mark || !text.starts_with("---") {
        return Verdict::refused("the file does not start with `---`");
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
        return Verdict::refused("the front matter is not a mapping");
    };
    fields(yaml, skill.directory())
}

/// Why StrictYAML rejects a block.
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
        Breach::Flow(_) => "invalid YAML: flow-style lists and mappings are not allowed".to_owned(),
        Breach::Duplicate(_) => "invalid YAML: duplicate key".to_owned(),
    })
}

/// Characters that Python's YAML parsers reject anywhere (YAML 1.1, section 5.1).
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
        None => errors.push("missing `name`".to_owned()),
        Some(_) => name_errors(text("name"), directory, &mut errors),
    }
    match (value("description"), value("description").and_then(Node::text)) {
        (None, _) => errors.push("missing `description`".to_owned()),
        (_, Some(text)) if !text.trim().is_empty() => {
            let length = text.chars().count();
            if length > DESCRIPTION {
                errors.push(format!(
                    "description has {} characters (limit {})",
                    group_digits(length),
                    group_digits(DESCRIPTION)
                ));
            }
        }
        _ => errors.push("`description` is empty or not a string".to_owned()),
    }
    if let Some(compatibility) = value("compatibility") {
        match compatibility.text().map(|text| text.chars().count()) {
            None => errors.push("`compatibility` is not a string".to_owned()),
            Some(length) if length > COMPATIBILITY => {
                errors.push(format!(
                    "compatibility has {} characters (limit {})",
                    group_digits(length),
                    group_digits(COMPATIBILITY)
                ));
            }
            Some(_) => {}
        }
    }
    let shown = text("name").zip(text("description")).map(|(name, text)| (name.to_owned(), text.to_owned()));
    Verdict { errors, shown }
}

fn name_errors(name: Option<&str>, directory: &str, errors: &mut Vec<String>) {
    let Some(name) = name else {
        errors.push("`name` is empty or not a string".to_owned());
        return;
    };
    let name: String = name.nfkc().collect();
    let length = name.chars().count();
    if length > NAME {
        errors.push(format!("name has {} characters (limit {})", group_digits(length), group_digits(NAME)));
    }
    if name.to_lowercase() != name {
        errors.push("name is not lowercase".to_owned());
    }
    if name.starts_with('-') || name.ends_with('-') {
        errors.push("name starts or ends with a hyphen".to_owned());
    }
    if name.contains("--") {
        errors.push("name contains two hyphens in a row".to_owned());
    }
    if !name.chars().all(|c| c == '-' || c.is_alphanumeric()) {
        errors.push("name contains characters other than letters, digits and hyphens".to_owned());
    }
    if directory.nfkc().collect::<String>() != name {
        errors.push(format!("the folder is named `{directory}`"));
    }
}
