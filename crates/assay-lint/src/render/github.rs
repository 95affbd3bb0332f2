//! GitHub Actions annotations: one workflow command per finding.

use std::path::Path;

use crate::diagnostic::{Diagnostic, Severity};
use crate::outcome::Outcome;

/// The outcome as workflow commands. Paths in `base` are relative to it, so that annotations match
/// the lines of a change.
pub fn github(outcome: &Outcome, base: &Path) -> String {
    let found = outcome.skills.iter().flat_map(|skill| &skill.diagnostics).chain(&outcome.diagnostics);
    found.map(|found| command(found, base)).collect()
}

fn command(found: &Diagnostic, base: &Path) -> String {
    let kind = match found.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "notice",
    };
    let file = found.file.strip_prefix(base).unwrap_or(&found.file);
    let mut place = format!("file={}", property(&file.to_string_lossy()));
    if let Some(span) = found.span.0 {
        place.push_str(&format!(",line={},col={},endLine={}", span.line, span.column, span.end_line));
        if span.end_line == span.line && span.end_column > span.column {
            place.push_str(&format!(",endColumn={}", span.end_column));
        }
    }
    let mut text = found.message.clone();
    if let Some(hint) = &found.hint {
        text = format!("{text}\n{hint}");
    }
    format!("::{kind} {place},title={}::{}\n", property(found.code), data(&text))
}

/// The text of a command: no line breaks, so that nothing in it can begin another one.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property: no separators either.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
