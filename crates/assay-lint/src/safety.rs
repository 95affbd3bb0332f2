//! The safety rules as `assay lint` has them.
//!
//! They say nothing about what a client makes of a skill: a dangerous skill loads as well as any other. So their findings weigh the same for
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

/// Looks at one file that belongs to a plugin and to none of its skills. `loaded` says that the commands in it run when it is loaded.
/// Findings stand at `place`, where that is given: the text that was looked at is then only a part of the file.
pub(crate) fn check_file(
    file: &Path,
    content: Content,
    loaded: bool,
    place: Option<Span>,
    findings: &mut Findings,
) {
    // By its name alone, which tells what kind of file it is.
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

/// Looks at one skill.
pub(crate) fn check(skill: &Skill, findings: &mut Findings) {
    let Some(package) = &skill.package else { return };
    let bundle = Bundle::read(package);
    let mut last: Option<(String, String)> = None;
    findings.begin(rules());
    for found in scan(&bundle) {
        // What lies in an archive has no place in a file that an editor could open.
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
            Some(member) => format!("in its member `{member}`: {}", found.message),
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

/// For the safety rules, by family. None of them asks for more than to make the passage harmless or to let a person decide.
const FAMILIES: [(&str, &str); 18] = [
    (
        "override",
        "Remove text that sets aside the agent's other instructions or safeguards. State what this skill does, and leave precedence to the agent.",
    ),
    (
        "concealment",
        "Remove text that keeps something from the user. Say openly what the skill does and changes.",
    ),
    (
        "hidden-text",
        "Remove the invisible or look-alike characters, and read what they hid before you use the skill.",
    ),
    (
        "encoded",
        "Write the command or text in the clear. If it comes from somebody else, decode and read it first.",
    ),
    (
        "remote-code",
        "Do not run what has just been downloaded. Put the script into the package, or pin a version and verify its checksum.",
    ),
    ("unpinned", "Pin the exact version, or the full commit, so that tomorrow's download is today's."),
    ("credentials", "Read no credential files. Ask for one named variable, and say which and why."),
    (
        "exfiltration",
        "Send out no credentials, environment or conversation. Send only named data, to a host that the user knows.",
    ),
    (
        "persistence",
        "Leave nothing behind that outlives the task. Where that is the purpose, let the user install it.",
    ),
    (
        "privilege",
        "Ask for the rights that the work needs and no more; let the user run what needs an administrator.",
    ),
    (
        "agent-config",
        "Do not write the agent's own instructions, settings or skills. Show the change and let the user make it.",
    ),
    (
        "trigger",
        "Describe the requests that this skill is for, and claim neither every request nor precedence.",
    ),
    (
        "capability",
        "Declare the tools that the skill uses, and let the agent run commands where permission is asked.",
    ),
    ("secret", "Take the secret out of the package, revoke it, and read it from the environment."),
    ("escape", "Keep paths and links inside the package: only its own folder is installed."),
    ("archive", "Ship the files unpacked and as source, so that they can be read."),
    (
        "destruction",
        "Delete only what the skill itself made, by its full path, and have the user confirm it. Remove miners and whatever encrypts files of the user.",
    ),
    (
        "sabotage",
        "Remove the order. A skill may set criteria, but results have to be reported as they are, and other skills left alone.",
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
