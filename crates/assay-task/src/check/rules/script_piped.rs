//! Scripts that are fetched and run immediately.

use assay_diagnostic::Severity;

use crate::check::finding::Finding;
use crate::check::rule::TaskRule;
use crate::check::subject::Subject;

pub(super) const RULE: TaskRule = TaskRule {
    code: "script-piped",
    levels: "warn, info",
    summary: "a script that is downloaded and run directly; info if its URL contains a version",
    is_opt_in: false,
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    for (text, pipelines) in super::dependency_unpinned::scripts(subject) {
        for pipeline in &pipelines {
            let fetch =
                pipeline.commands.iter().position(|words| matches!(words[0].as_str(), "curl" | "wget"));
            let Some(fetch) = fetch else { continue };
            let runs = pipeline.commands[fetch + 1..].iter().any(|words| {
                matches!(words[0].rsplit('/').next(), Some("sh" | "bash" | "python" | "python3"))
            });
            if !runs {
                continue;
            }
            let address = pipeline.commands[fetch].iter().find(|word| word.contains("://"));
            let address = address.map_or("something", String::as_str);
            let level = if has_version(address) { Severity::Info } else { Severity::Warning };
            let message = format!("downloads and runs {address}");
            let hint = "install a pinned version in the image";
            found.push(Finding::new(level, RULE.code, &text.file, message, hint).at(pipeline.line));
        }
    }
}

/// Whether an address contains a version such as `0.7` as a separate part.
fn has_version(address: &str) -> bool {
    address.split(['/', '-', '_', '?', '=']).any(|part| {
        let part = part.trim_start_matches('v');
        part.contains('.') && part.len() >= 3 && part.chars().all(|c| c.is_ascii_digit() || c == '.')
    })
}
