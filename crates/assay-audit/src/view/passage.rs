use serde::Serialize;
use serde_json::Value;

/// Longest argument, result or message, in characters.
pub(super) const TEXT_CAP: usize = 20_000;

/// Longest target, in characters.
pub(super) const TARGET_CAP: usize = 300;

/// A text, cut where it is too long.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Passage {
    /// Its beginning.
    pub text: String,
    /// How many characters were left out.
    #[serde(skip_serializing_if = "is_none")]
    pub more: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_none(more: &usize) -> bool {
    *more == 0
}

impl Passage {
    pub(super) fn of(text: &str) -> Self {
        let text = text.trim_end();
        match text.char_indices().nth(TEXT_CAP) {
            None => Self { text: text.to_owned(), more: 0 },
            Some((end, _)) => Self { text: text[..end].to_owned(), more: text[end..].chars().count() },
        }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

/// A text in one line that is not long.
pub(super) fn line(text: &str) -> String {
    let cut = text.char_indices().nth(TARGET_CAP).map_or(text.len(), |(end, _)| end);
    text[..cut].trim_end().to_owned() + if cut < text.len() { "…" } else { "" }
}

/// The arguments of a call by name, in their order; `null` and what is empty left out.
pub(super) fn arguments(arguments: &Value) -> Vec<(String, Passage)> {
    let Value::Object(map) = arguments else { return Vec::new() };
    let shown = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let all = map.iter().map(|(name, value)| (line(name), Passage::of(&shown(value))));
    all.filter(|(_, passage)| !passage.is_empty()).collect()
}
