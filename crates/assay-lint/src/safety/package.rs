//! Rules over a package as a whole, and the forms of file in which commands stand.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::bundle::Bundle;
use super::markdown::lines;
use super::paths::{credential, regex};
use super::rules::{CAPABILITY_LOAD, CAPABILITY_UNDECLARED, ESCAPE_LINK, ESCAPE_LINK_SECRET};
use super::site::{Scan, Site};
use super::{prose, shell};

/// Looks at links, the description, and declared tools.
pub(crate) fn scan(scan: &mut Scan, bundle: &Bundle) {
    for link in &bundle.links {
        if credential(&link.target).is_some() {
            scan.whole(&link.path, &ESCAPE_LINK_SECRET, format!("a link to `{}`", link.target));
        } else if link.escapes {
            scan.whole(
                &link.path,
                &ESCAPE_LINK,
                format!("a link to `{}`, which lies outside the package", link.target),
            );
        }
    }
    let Some(path) = &bundle.document else { return };
    let Some(file) = bundle.files.iter().find(|file| file.path == *path) else { return };
    let text = String::from_utf8_lossy(&file.bytes);
    let site = Site::of(path);
    let at = text.find("description:").map_or(0..0, |at| at..at + "description".len());
    for (rule, message) in prose::triggers(&bundle.description) {
        scan.report(&site, rule, at.clone(), message);
    }
    load(scan, &site, &text);
    if let Some(tools) = &bundle.tools {
        let at = text.find("allowed-tools").map_or(0..0, |at| at..at + "allowed-tools".len());
        let declared = |tool: &str| {
            tools.iter().any(|there| there == "*" || there.to_ascii_lowercase().starts_with(tool))
        };
        if scan.used.contains("Bash")
            && !declared("bash")
            && !declared("shell")
            && !declared("run")
            && !declared("execute")
        {
            scan.report(
                &site,
                &CAPABILITY_UNDECLARED,
                at,
                "commands are to be run, and `allowed-tools` has no `Bash`",
            );
        }
    }
}

/// Commands that run when the skill is loaded: an exclamation mark before code, as Claude Code has it.
fn load(scan: &mut Scan, site: &Site<'_>, text: &str) {
    static PATTERN: LazyLock<Regex> = LazyLock::new(|| regex(r"(?m)(?:^|[\s(])!`([^`\n]+)`"));
    if !text.contains("!`") {
        return;
    }
    for found in PATTERN.captures_iter(text).take(100) {
        if let Some(command) = found.get(1) {
            scan.report(
                site,
                &CAPABILITY_LOAD,
                command.range(),
                format!("`{}` runs when the skill is loaded", super::unicode::excerpt(command.as_str())),
            );
            let inner = site.inner(command.range(), Some("running it at load"));
            shell::scan(scan, &inner, command.as_str());
        }
    }
}

/// Where the front matter of a page lies, and where its body begins.
pub(crate) fn front_matter(text: &str) -> (Range<usize>, usize) {
    let Some(rest) = text.strip_prefix("---") else { return (0..0, 0) };
    let Some(start) = rest.find('\n').map(|at| at + 4) else { return (0..0, 0) };
    for (at, line) in lines(&text[start..]) {
        if line.trim_end() == "---" {
            let body = (start + at + line.len() + 1).min(text.len());
            return (start..start + at, super::unicode::floor(text, body));
        }
    }
    (0..0, 0)
}

/// The commands of files that hold some: recipes of a Makefile, `RUN` of a Dockerfile, scripts of a package.json, `run:` and `command:` of YAML and
/// the like. Each with where it begins.
pub(crate) fn recipes(name: &str, text: &str) -> Vec<(usize, String)> {
    static KEYED: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r#"^\s*(?:-\s+)?"?(?:run|command|script|cmd|exec|entrypoint|pre\w+|post\w+|install|build|test|start|prepare|hook|args|before_script)"?\s*[:=]\s*(.+?)\s*,?$"#,
        )
    });
    let mut found = Vec::new();
    let makefile = name == "makefile" || name.rsplit('.').next() == Some("mk") || name == "make";
    let dockerfile = name.contains("dockerfile");
    let mut block: Option<(usize, usize, String)> = None;
    for (at, line) in lines(text) {
        let indent = line.len() - line.trim_start().len();
        if let Some((from, depth, mut lines)) = block.take() {
            if line.trim().is_empty() || indent > depth {
                lines.push_str(line.trim_start());
                lines.push('\n');
                block = Some((from, depth, lines));
                continue;
            }
            found.push((from, lines));
        }
        if makefile {
            if let Some(recipe) = line.strip_prefix('\t') {
                found.push((at + 1, recipe.trim_start_matches(['@', '-', '+']).to_owned()));
            }
        } else if dockerfile {
            if let Some(rest) = line.strip_prefix("RUN ") {
                found.push((at + 4, rest.trim_end_matches('\\').to_owned()));
            }
        } else if let Some(value) = KEYED.captures(line).and_then(|found| found.get(1)) {
            match value.as_str() {
                "|" | ">" | "|-" | ">-" | "|+" => block = Some((at + value.start(), indent, String::new())),
                text => {
                    let bare = text
                        .strip_prefix('"')
                        .and_then(|text| text.strip_suffix('"'))
                        .map(|text| text.replace("\\\"", "\"").replace("\\\\", "\\"));
                    found.push((
                        at + value.start(),
                        bare.unwrap_or_else(|| text.trim_matches('\'').to_owned()),
                    ));
                }
            }
        }
        if found.len() > 500 {
            break;
        }
    }
    if let Some((from, _, lines)) = block {
        found.push((from, lines));
    }
    found
}
