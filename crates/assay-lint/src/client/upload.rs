//! The check before an upload, as `quick_validate` of Anthropic's skill-creator works.
//!
//! It reads YAML 1.1 with PyYAML, expects `---` as the first line and ends at the next line that
//! starts with it, and accepts an empty name or description.

use assay_diagnostic::group_digits;
use assay_syntax::yaml::{Breach, Kind, Node, Scalar, Yaml};

use super::skills_ref::{COMPATIBILITY, DESCRIPTION, FIELDS, NAME, unprintable};
use super::{FieldError, LoadResult};
use crate::skill::Skill;

/// Its verdict.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Verdict {
    /// Its first error, where it stops.
    pub error: Option<String>,
    /// Name and description as parsed, if it can.
    pub shown: Option<(String, String)>,
}

impl Verdict {
    fn refused(error: impl Into<String>) -> Self {
        Self { error: Some(error.into()), shown: None }
    }

    pub(super) fn load_result(self) -> LoadResult {
        match (self.error, self.shown) {
            (None, Some((name, description))) => LoadResult::loaded(name, description),
            (error, _) => LoadResult::dropped(error.unwrap_or_default()),
        }
    }
}

/// Its verdict on a skill.
pub(crate) fn check(skill: &Skill) -> Verdict {
    let Some(document) = skill.document.as_ref().filter(|_| skill.exact_name()) else {
        return Verdict::refused("no readable SKILL.md");
    };
    if !skill.is_utf8() {
        return Verdict::refused("it crashes on text that is not UTF-8");
    }
    let unix;
    let text = if document.text.contains('\r') {
        unix = document.text.replace("\r\n", "\n").replace('\r', "\n");
        &unix
    } else {
        &document.text
    };
    if document.byte_order_mark || !text.starts_with("---") {
        return Verdict::refused("the file does not start with `---`");
    }
    let Some(length) = text.strip_prefix("---\n").and_then(|rest| rest.find("\n---")) else {
        return Verdict::refused("no front matter between `---` lines");
    };
    let block = &text[4..4 + length];
    let fresh;
    // The lenient parser's block includes its last line break.
    let yaml = if document.trouble.is_none() && document.yaml == (4..4 + length + 1) {
        &skill.yaml
    } else {
        fresh = Yaml::parse(block, 4);
        &fresh
    };
    if let Some(error) = yaml_error(yaml, block) {
        return Verdict::refused(error);
    }
    let Some(Node { kind: Kind::Map(_), .. }) = &yaml.root else {
        return Verdict::refused("the front matter is not a mapping");
    };
    fields(yaml)
}

fn yaml_error(yaml: &Yaml, block: &str) -> Option<String> {
    if let Some((message, _)) = &yaml.error {
        return Some(format!("invalid YAML: {message}"));
    }
    if block.chars().any(unprintable) {
        return Some("invalid YAML: a character that YAML does not allow".to_owned());
    }
    if yaml.several {
        return Some("invalid YAML: a second document".to_owned());
    }
    yaml.breaches
        .iter()
        .any(|breach| matches!(breach, Breach::Tag(_)))
        .then(|| "invalid YAML: a tag it has no constructor for".to_owned())
}

fn fields(yaml: &Yaml) -> Verdict {
    for (key, _) in yaml.fields() {
        let known =
            key.type_1_1() == Some(Scalar::Text) && key.text().is_some_and(|key| FIELDS.contains(&key));
        if !known {
            return Verdict::refused(format!("unknown field: {}", key.text().unwrap_or("not a string")));
        }
    }
    let text = |key: &str| -> Result<&str, FieldError> {
        let (_, value) = yaml.field(key).ok_or_else(|| FieldError::Missing(key.to_owned()))?;
        // Aliases are not resolved; most point to a string.
        match value.type_1_1() {
            Some(Scalar::Text) => Ok(value.text().unwrap_or("").trim()),
            Some(other) => Err(FieldError::Scalar(key.to_owned(), other)),
            None if value.kind == Kind::Alias => Ok(""),
            None => Err(FieldError::Nested(key.to_owned())),
        }
    };
    let name = match text("name").and_then(|name| text("description").map(|_| name)) {
        Ok(name) => name,
        Err(error) => return Verdict::refused(error.to_string()),
    };
    if let Some(error) = name_error(name) {
        return Verdict::refused(error);
    }
    let description = text("description").unwrap_or("");
    if description.contains(['<', '>']) {
        return Verdict::refused("description contains angle brackets");
    }
    let length = description.chars().count();
    if length > DESCRIPTION {
        return Verdict::refused(format!(
            "description has {} characters (limit {})",
            group_digits(length),
            group_digits(DESCRIPTION)
        ));
    }
    if let Some((_, compatibility)) = yaml.field("compatibility") {
        // Values that are false in Python are ignored.
        let empty = match &compatibility.kind {
            Kind::List(items) => items.is_empty(),
            Kind::Map(entries) => entries.is_empty(),
            Kind::Alias => true,
            Kind::Scalar { text, .. } => {
                text.is_empty()
                    || compatibility.type_1_1() == Some(Scalar::Null)
                    || (compatibility.type_1_1() != Some(Scalar::Text)
                        && matches!(text.to_lowercase().as_str(), "false" | "no" | "off" | "0" | "0.0"))
            }
        };
        let length = compatibility.text().map_or(0, |text| text.chars().count());
        if !empty && compatibility.type_1_1() != Some(Scalar::Text) {
            return Verdict::refused("`compatibility` is not a string");
        }
        if !empty && length > COMPATIBILITY {
            return Verdict::refused(format!(
                "compatibility has {} characters (limit {})",
                group_digits(length),
                group_digits(COMPATIBILITY)
            ));
        }
    }
    Verdict { error: None, shown: Some((name.to_owned(), description.to_owned())) }
}

fn name_error(name: &str) -> Option<String> {
    if name.is_empty() {
        return None;
    }
    if !name.bytes().all(|b| b == b'-' || b.is_ascii_lowercase() || b.is_ascii_digit()) {
        return Some("name contains characters other than a to z, 0 to 9 and hyphens".to_owned());
    }
    if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
        return Some("name starts or ends with a hyphen, or contains two in a row".to_owned());
    }
    let length = name.chars().count();
    (length > NAME)
        .then(|| format!("name has {} characters (limit {})", group_digits(length), group_digits(NAME)))
}
