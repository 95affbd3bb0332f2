//! `rubric.json`: requirements on a text that the agent writes.

use std::path::Path;

use assay_skill::{Diagnostic, Severity};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::config::object;

/// Requirements on a text that the agent writes. Nothing is judged here: `verify.sh` does that.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Rubric {
    /// The file that the agent writes, relative to the work folder.
    pub output_file: Option<String>,
    /// The source file of the text, relative to the work folder. It must not change.
    pub source_file: Option<String>,
    /// SHA-256 of the source file, 64 lower-case hexadecimal digits.
    pub source_sha256: Option<String>,
    /// Most bytes of the output.
    pub max_bytes: Option<u64>,
    /// Fewest Markdown headings of the output.
    pub min_headings: Option<u64>,
    /// Required words of the output, verbatim.
    pub anchors: Vec<Anchor>,
    /// What must not be in it.
    pub forbidden: Vec<Anchor>,
}

/// A piece of text that a rubric names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Anchor {
    /// The text.
    pub value: String,
    /// Its kind: `intent`, `error`, `decisions`, …
    pub category: Option<String>,
}

impl Rubric {
    /// Reads the text of a `rubric.json`. A missing value is left empty, as is one of the wrong
    /// type, which is reported; a text that is not a JSON object is not a rubric. `file` is used in
    /// messages only.
    pub fn parse(text: &str, file: &Path) -> (Option<Self>, Vec<Diagnostic>) {
        let mut reader = Reader { file, diagnostics: Vec::new() };
        let rubric = match object(text, file) {
            Ok(map) => Some(reader.rubric(&map)),
            Err(error) => {
                reader.note(format!("cannot read it: {error}"), error.hint());
                None
            }
        };
        (rubric, reader.diagnostics)
    }
}

struct Reader<'a> {
    file: &'a Path,
    diagnostics: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn note(&mut self, message: String, hint: &str) {
        self.diagnostics.push(Diagnostic::new(Severity::Warning, "rubric", self.file, message).hint(hint));
    }

    fn report_wrong_type(&mut self, key: &str, wanted: &str) {
        self.note(format!("`{key}` is not {wanted} and is ignored"), &format!("write {wanted}"));
    }

    fn rubric(&mut self, map: &Map<String, Value>) -> Rubric {
        let source_sha256 = self.text(map, "source_sha256").map(|text| text.to_ascii_lowercase());
        let is_digest = |text: &String| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if source_sha256.as_ref().is_some_and(|text| !is_digest(text)) {
            self.report_wrong_type("source_sha256", "64 hexadecimal digits");
        }
        let rubric = Rubric {
            output_file: self.text(map, "output_file"),
            source_file: self.text(map, "source_file"),
            source_sha256: source_sha256.filter(is_digest),
            max_bytes: self.count(map, "max_bytes"),
            min_headings: self.count(map, "min_headings"),
            anchors: self.anchors(map, "anchors"),
            forbidden: self.anchors(map, "forbidden"),
        };
        if rubric.anchors.is_empty() && rubric.forbidden.is_empty() {
            self.note("it lists nothing to check".to_owned(), "write `anchors`, or remove the file");
        }
        rubric
    }

    fn text(&mut self, map: &Map<String, Value>, key: &str) -> Option<String> {
        match map.get(key) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
            Some(_) => {
                self.report_wrong_type(key, "a string");
                None
            }
        }
    }

    fn count(&mut self, map: &Map<String, Value>, key: &str) -> Option<u64> {
        let value = map.get(key).filter(|value| !value.is_null())?;
        let count = value.as_u64();
        if count.is_none() {
            self.report_wrong_type(key, "an integer of at least 0");
        }
        count
    }

    /// A list of `{"value": …, "category": …}`, or of texts. However many of them are wrong, that
    /// is one diagnostic.
    fn anchors(&mut self, map: &Map<String, Value>, key: &str) -> Vec<Anchor> {
        let Some(value) = map.get(key).filter(|value| !value.is_null()) else { return Vec::new() };
        let Some(items) = value.as_array() else {
            self.report_wrong_type(key, "a list");
            return Vec::new();
        };
        let anchors: Vec<Anchor> = items.iter().filter_map(anchor).collect();
        if anchors.len() < items.len() {
            let message =
                format!("{} of the {} `{key}` have no text", items.len() - anchors.len(), items.len());
            self.note(message, "give each a nonempty `value`");
        }
        anchors
    }
}

fn anchor(item: &Value) -> Option<Anchor> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let (value, category) = match item {
        Value::Object(map) => (map.get("value").and_then(text), map.get("category").and_then(text)),
        other => (text(other), None),
    };
    // Every text contains the empty one.
    let value = value.filter(|value| !value.trim().is_empty())?;
    Some(Anchor { value, category })
}
