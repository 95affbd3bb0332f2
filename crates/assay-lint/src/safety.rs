//! The safety rules of `assay lint`.
//!
//! Clients load a dangerous skill like any other. So these findings have the same severity for
//! every client, and make a skill invalid for none.

use std::path::Path;
use std::sync::LazyLock;

use assay_fs::Content;
use assay_safety::{Bundle, Family, File, RULES, scan};

use crate::diagnostic::{Severities, Span};
use crate::rule::{Findings, Rule};
use crate::skill::Skill;

static LIST: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    RULES
        .iter()
        .map(|rule| Rule {
            code: rule.code,
            severities: Severities::all(rule.severity),
            about: rule.summary,
            fix: fix(rule.family),
            source: "assay's safety rules (docs/SAFETY.md)",
            numbers: match rule.code {
                "capability-load" => &[100],
                "secret-key" | "secret-assigned" => &[152],
                "hidden-bidi" | "hidden-zero-width" | "hidden-tags" | "hidden-selectors" => &[153],
                "unpinned-source" | "unpinned-package" => &[156],
                _ => &[],
            },
        })
        .collect()
});

/// The rules, as the registry has them.
pub(crate) fn rules() -> &'static [Rule] {
    &LIST
}

/// Whether a code is one of the safety rules.
pub(crate) fn owns(code: &str) -> bool {
    RULES.iter().any(|rule| rule.code == code)
}

/// Scans one file of a plugin that belongs to none of its skills. `loaded`: its commands run when
/// it is loaded. If `place` is given, the text is only a part of the file, and findings are
/// reported there.
pub(crate) fn check_file(
    file: &Path,
    content: Content,
    loaded: bool,
    place: Option<Span>,
    findings: &mut Findings,
) {
    // Only the file name, which determines the kind of file.
    let name = match place {
        Some(_) => "hooks.json".to_owned(),
        None => file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
    };
    let text = assay_skill::decode(&content.bytes).text;
    let inner = File { path: name.clone(), bytes: content.bytes, truncated: content.truncated };
    let bundle = Bundle { document: loaded.then_some(name), files: vec![inner], ..Bundle::default() };
    findings.begin(rules());
    for found in scan(&bundle) {
        let span = place.or_else(|| found.span.map(|range| Span::of(&text, &range)));
        findings
            .add_at(found.rule.code, file, span, found.message)
            .severities(Severities::all(found.severity));
    }
}

/// Checks one skill.
pub(crate) fn check(skill: &Skill, findings: &mut Findings) {
    let Some(package) = &skill.package else { return };
    let bundle = Bundle::read(package);
    let mut last: Option<(String, String)> = None;
    findings.begin(rules());
    for found in scan(&bundle) {
        // An archive member has no position that an editor could open.
        let (file, member) = match found.path.split_once('!') {
            Some((file, member)) => (file, Some(member)),
            None => (found.path.as_str(), None),
        };
        let span = found.span.filter(|_| member.is_none()).map(|range| {
            if last.as_ref().is_none_or(|(path, _)| path != file) {
                let bytes = bundle
                    .files
                    .iter()
                    .find(|there| there.path == file)
                    .map_or(&[][..], |there| &there.bytes);
                last = Some((file.to_owned(), assay_skill::decode(bytes).text));
            }
            Span::of(last.as_ref().map_or("", |(_, text)| text), &range)
        });
        let message = match member {
            Some(member) => format!("in archive member `{member}`: {}", found.message),
            None => found.message,
        };
        findings
            .add_at(found.rule.code, skill.root.join(file), span, message)
            .severities(Severities::all(found.severity));
    }
}

/// How to fix what a family's rules find.
fn fix(family: Family) -> &'static str {
    FAMILIES
        .iter()
        .find(|(name, _)| *name == family.name())
        .map_or("Follow the advice printed with the finding.", |(_, fix)| fix)
}

/// For the safety rules, by family. Each asks only to make the passage harmless or to leave the
/// decision to a person.
const FAMILIES: [(&str, &str); 18] = [
    (
        "override",
        "Remove text that overrides the agent's other instructions or safeguards. State what the skill does, and leave precedence to the agent.",
    ),
    (
        "concealment",
        "Remove text that hides something from the user. State openly what the skill does and changes.",
    ),
    (
        "hidden-text",
        "Remove the invisible or look-alike characters, and review what they hid before you use the skill.",
    ),
    ("encoded", "Write the command or text unencoded. If you did not write it, decode and review it first."),
    (
        "remote-code",
        "Do not run downloaded code directly. Put the script into the package, or pin a version and verify its checksum.",
    ),
    ("unpinned", "Pin the exact version or the full commit, so that later downloads are identical."),
    (
        "credentials",
        "Do not read credential files. Use one named environment variable, and say which and why.",
    ),
    (
        "exfiltration",
        "Do not send credentials, the environment or the conversation. Send only named data, to a host that the user knows.",
    ),
    (
        "persistence",
        "Do not leave anything that outlives the task. If persistence is the purpose, let the user install it.",
    ),
    (
        "privilege",
        "Request only the permissions that the work needs; let the user run commands that need an administrator.",
    ),
    (
        "agent-config",
        "Do not modify the agent's own instructions, settings or skills. Show the change and let the user apply it.",
    ),
    (
        "trigger",
        "Describe the requests that the skill is for. Do not claim every request, or precedence over other skills.",
    ),
    (
        "capability",
        "Declare the tools that the skill uses, and let the agent run commands that ask for permission.",
    ),
    ("secret", "Remove the secret from the package, revoke it, and read it from the environment."),
    ("escape", "Keep paths and links inside the package: only its own folder is installed."),
    ("archive", "Ship the files unpacked and as source, so that they can be reviewed."),
    (
        "destruction",
        "Delete only what the skill itself created, by its full path, after the user confirms. Remove miners and code that encrypts the user's files.",
    ),
    (
        "sabotage",
        "Remove the instruction. A skill may set criteria, but must report results as they are and leave other skills alone.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_has_a_fix() {
        assert_eq!(FAMILIES.map(|(name, _)| name), Family::ALL.map(Family::name));
    }
}
