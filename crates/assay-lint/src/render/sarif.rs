//! SARIF 2.1.0 (OASIS), for code scanning.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::client::CLIENTS;
use crate::diagnostic::{Diagnostic, Severity};
use crate::explain::Explanation;
use crate::outcome::Outcome;
use crate::rule::Rule;
use crate::rules::rules;

/// The outcome as a SARIF log with one run. Paths in `base` are written relative to it.
pub fn sarif(outcome: &Outcome, base: &Path) -> Value {
    let all = rules();
    let places: BTreeMap<&str, usize> = all.iter().enumerate().map(|(at, rule)| (rule.code, at)).collect();
    let found = outcome.skills.iter().flat_map(|skill| &skill.diagnostics).chain(&outcome.diagnostics);
    let results: Vec<Value> = found.map(|found| result(found, &places, base)).collect();
    let described: Vec<Value> = all
        .iter()
        .filter_map(|rule| Explanation::of(rule.code).map(|explained| describe(rule, &explained)))
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "assay lint",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": described,
            }},
            // A column counts characters, not the units of UTF-16.
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

/// A rule as code scanning shows it.
fn describe(rule: &Rule, explained: &Explanation) -> Value {
    let severity = rule.severities.max_severity(&CLIENTS).unwrap_or(Severity::Info);
    let sources: Vec<String> = explained
        .sources
        .iter()
        .map(|source| match source.url {
            Some(url) => format!("{} ({url})", source.name),
            None => source.name.clone(),
        })
        .collect();
    let linked: Vec<String> = explained
        .sources
        .iter()
        .map(|source| match source.url {
            Some(url) => format!("[{}]({url})", source.name),
            None => source.name.clone(),
        })
        .collect();
    let mut properties = json!({"clients": rule.severities});
    if explained.safety {
        properties["tags"] = json!(["security"]);
        properties["security-severity"] = json!(security_severity(severity));
    }
    json!({
        "id": rule.code,
        "shortDescription": {"text": explained.about},
        "fullDescription": {"text": explained.summary()},
        "helpUri": explained.url,
        "help": {
            "text": format!("How to fix: {} Sources: {}.", explained.fix, sources.join(", ")),
            "markdown": format!("{}\n\n**How to fix:** {}\n\n**Sources:** {}", explained.summary(), explained.fix, linked.join(", ")),
        },
        "defaultConfiguration": {"level": level(severity), "enabled": explained.off.is_none()},
        "properties": properties,
    })
}

/// The number from 0 to 10 by which code scanning ranks a safety rule: high, medium or low.
fn security_severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "8.0",
        Severity::Warning => "5.5",
        Severity::Info => "2.0",
    }
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

fn result(found: &Diagnostic, places: &BTreeMap<&str, usize>, base: &Path) -> Value {
    let mut text = found.message.clone();
    if let Some(hint) = &found.hint {
        text = format!("{text} (hint: {hint})");
    }
    let mut location = json!({"artifactLocation": {"uri": uri(&found.file, base)}});
    if let Some(span) = found.span.0 {
        location["region"] = json!({
            "startLine": span.line,
            "startColumn": span.column,
            "endLine": span.end_line,
            "endColumn": span.end_column,
        });
    }
    let mut result = json!({
        "ruleId": found.code,
        "level": level(found.severity),
        "message": {"text": text},
        "locations": [{"physicalLocation": location}],
        "properties": {"clients": found.clients},
    });
    if !found.fingerprint.is_empty() {
        // The first is the one that GitHub knows alerts by.
        result["partialFingerprints"] =
            json!({"primaryLocationLineHash": found.fingerprint, "assay/v1": found.fingerprint});
    }
    if let Some(at) = places.get(found.code) {
        result["ruleIndex"] = json!(at);
    }
    result
}

/// A path as a URI reference: relative if it is in the base, else with its scheme.
fn uri(file: &Path, base: &Path) -> String {
    let relative = file.strip_prefix(base).unwrap_or(file);
    let relative = relative.strip_prefix("./").unwrap_or(relative);
    let mut uri = if relative.is_absolute() { "file://".to_owned() } else { String::new() };
    for byte in assay_fs::tree::bytes(relative).iter() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    if uri.is_empty() { ".".to_owned() } else { uri }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris() {
        let check = |file: &str, expected: &str| {
            assert_eq!(uri(Path::new(file), Path::new("/a")), expected, "{file}");
        };
        check("/a/b c/SKILL.md", "b%20c/SKILL.md");
        check("./b/é", "b/%C3%A9");
        check("/x/y", "file:///x/y");
        check("/a", ".");
    }
}
