//! The safety rules as `assay lint` has them.
//!
//! They say nothing about what a client makes of a skill: a dangerous skill loads as well as any other. So their findings weigh the same for
//! every client, and make a skill invalid for none.

use std::path::Path;
use std::sync::LazyLock;

use assay_safety::{Bundle, File, RULES, scan};
use assay_skill::Content;

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
