//! Links and paths: their targets, and files without links.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use assay_fs::tree;
use assay_skill::FileKind;
use assay_syntax::markdown::{Dialect, Outline};

use crate::client::AGENTS;
use crate::diagnostic::Severities;
use crate::diagnostic::Severity::{Info, Warning};
use crate::rule::{Family, Findings, Rule, rule};
use crate::skill::{Resource, Skill};

pub(super) struct Links;

const RUN: Severities = Severities::none().with(Warning, &AGENTS);
const ADVICE: Severities = Severities::all(Info);

const RULES: &[Rule] = &[
    rule!(
        "link-broken",
        RUN,
        [132],
        "agnix, NVIDIA, dacharyc",
        "a relative link to a file that is not in the package",
        "Correct the path, or add the file."
    ),
    rule!(
        "link-outside",
        RUN,
        [52],
        "specification",
        "a link that leaves the package and breaks when the skill is installed",
        "Copy the file into the package: only the package's own folder is installed."
    ),
    rule!(
        "link-anchor",
        ADVICE,
        [132],
        "assay",
        "a link to a heading that does not exist",
        "Correct the anchor: it must be the slug of a heading in the file."
    ),
    rule!(
        "path-missing",
        ADVICE,
        [48, 132],
        "agnix, NVIDIA",
        "a path in scripts/, references/ or assets/ that does not exist",
        "Correct the path, or add the file."
    ),
    rule!(
        "path-windows",
        Severities::all(Warning),
        [83, 135],
        "Anthropic's authoring guidance; agnix",
        "a path with backslashes",
        "Use forward slashes: they work on every system."
    ),
    rule!(
        "path-personal",
        Severities::all(Warning),
        [151],
        "agnix, Cisco",
        "a path in a user's home folder",
        "Use a path relative to the package, or ask the user for it."
    ),
    rule!(
        "resource-orphan",
        ADVICE,
        [133],
        "agnix, NVIDIA, dacharyc",
        "a file that nothing in the package mentions",
        "Say in SKILL.md when to use the file, or remove it."
    ),
    rule!(
        "reference-chain",
        RUN,
        [53, 134],
        "specification; agnix",
        "a file that only another file mentions, not SKILL.md",
        "Mention the file in SKILL.md: agents often read only the beginning of files that a reference links to."
    ),
    rule!(
        "reference-deep",
        ADVICE,
        [53, 134],
        "specification; agnix",
        "a linked file more than one folder deep",
        "Keep files that SKILL.md links to at most one folder deep."
    ),
    rule!(
        "reference-cycle",
        ADVICE,
        [53],
        "specification",
        "two references that link to each other",
        "Link to both files from SKILL.md, and remove one of the links."
    ),
];

/// Folders that the specification names.
const FOLDERS: [&str; 3] = ["scripts/", "references/", "assets/"];

/// The target of a link.
enum Target {
    /// Another site, a mail address, or something that is not a file.
    Elsewhere,
    /// A heading of the same document.
    Anchor(String),
    /// A path in the package, `/` between parts.
    Inside(String),
    /// A path outside of the package.
    Outside,
}

impl Family for Links {
    fn rules(&self) -> &'static [Rule] {
        RULES
    }

    fn check(&self, skill: &Skill, findings: &mut Findings) {
        if skill.document.is_none() {
            return;
        }
        let mut reached = BTreeSet::new();
        for link in &skill.markdown().links {
            let url = link.url();
            let target = target(&url, "");
            if let Target::Inside(path) = &target {
                if kind(skill, path).is_some() {
                    reached.insert(path.clone());
                    if !skill.is_nested(path) {
                        deep(skill, path, &link.span, findings);
                    }
                } else {
                    findings
                        .add("link-broken", skill, &link.span, format!("`{path}` is not in the package"))
                        .hint("correct the path, or add the file");
                }
            }
            if matches!(target, Target::Outside) && !is_installed_with(skill, "", &url) {
                findings
                    .add("link-outside", skill, &link.span, format!("`{url}` is outside the package"))
                    .hint("copy the file into the package: only the package's own folder is installed");
            }
            if let Target::Anchor(anchor) = target
                && !anchors(skill.markdown()).contains(&anchor)
                && !explicit_anchor(skill.text(), &anchor)
            {
                findings
                    .add(
                        "link-anchor",
                        skill,
                        &link.span,
                        format!("no heading matches the anchor `{anchor}`"),
                    )
                    .hint("correct the anchor");
            }
        }
        named_paths(skill, &mut reached, findings);
        paths(skill, findings);
        if skill.entries().next().is_some() {
            beyond(skill, &reached, findings);
        }
    }
}

/// Resolves a link target relative to a folder of the package.
fn target(target: &str, folder: &str) -> Target {
    let lower = target.to_lowercase();
    let scheme = lower.split_once(':').is_some_and(|(scheme, _)| {
        !scheme.is_empty()
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '.' | '-'))
    });
    // Placeholders are not paths.
    let placeholder =
        target.contains(['<', '>', '{', '}', '$', '*', '\n', '"', '\0']) || target.contains("...");
    if scheme || target.is_empty() || target.starts_with("//") || placeholder {
        return Target::Elsewhere;
    }
    if let Some(anchor) = target.strip_prefix('#') {
        return if folder.is_empty() { Target::Anchor(anchor.to_lowercase()) } else { Target::Elsewhere };
    }
    // `/plugin:skill` is a command.
    if target.starts_with('/') && target.contains(':') {
        return Target::Elsewhere;
    }
    if target.starts_with('/') || target.starts_with('~') {
        return Target::Outside;
    }
    let path = target.split(['#', '?']).next().unwrap_or("");
    // Without a dot or a slash it is not a file name, but a word in brackets and parentheses.
    if !path.contains(['.', '/']) || path.contains(' ') && !path.contains('/') {
        return Target::Elsewhere;
    }
    let path = unescape(path);
    match tree::normalize(&Path::new(folder).join(&path)) {
        Some(normal) => Target::Inside(normal.to_string_lossy().into_owned()),
        None => Target::Outside,
    }
}

/// Whether the target of a link out of the package is always installed with the skill: another
/// skill next to it, a file of the same plugin, or, for a project's skill, a file of the project.
fn is_installed_with(skill: &Skill, folder: &str, target: &str) -> bool {
    if target.starts_with(['/', '~']) {
        return false;
    }
    let path = unescape(target.split(['#', '?']).next().unwrap_or(""));
    let root = crate::plugin::real(&skill.root);
    let there = crate::plugin::real(&root.join(folder).join(path));
    if !there.exists() {
        return false;
    }
    let is_skill = |folder: &Path| folder.join("SKILL.md").is_file();
    let has_any = |folder: &Path, files: &[&str]| files.iter().any(|path| folder.join(path).is_file());
    // With its own manifest, or as an entry of a marketplace, whose plugins have their skills
    // in `skills/`.
    let is_plugin = |folder: &Path| {
        has_any(folder, &[".claude-plugin/plugin.json", ".codex-plugin/plugin.json"])
            || root.starts_with(folder.join("skills"))
                && folder
                    .ancestors()
                    .skip(1)
                    .take(PLUGIN_ABOVE)
                    .any(|above| has_any(above, &[".claude-plugin/marketplace.json"]))
    };
    // Other skills and plugins below the common folder are installed with the same layout.
    let common = root.ancestors().find(|above| there.starts_with(above)).unwrap_or(Path::new("/"));
    let beside = there.ancestors().take_while(|above| above.starts_with(common)).any(is_skill);
    let plugin = common.ancestors().take(PLUGIN_ABOVE).any(is_plugin);
    beside || plugin || crate::plugin::client_folder(&root).is_some()
}

/// How many folders above the common folder of a link are searched for a plugin's manifest.
const PLUGIN_ABOVE: usize = 3;

/// Whether a file is a template or a changelog: its links do not refer to the package.
fn is_template(path: &str) -> bool {
    let lower = path.to_lowercase();
    lower.contains("template") || lower.starts_with("assets/") || lower.ends_with("changelog.md")
}

/// Decodes percent escapes such as `%20`, which must result in UTF-8.
fn unescape(path: &str) -> String {
    let bytes = path.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let byte = (bytes[at] == b'%')
            .then(|| path.get(at + 1..at + 3))
            .flatten()
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        out.push(byte.unwrap_or(bytes[at]));
        at += if byte.is_some() { 3 } else { 1 };
    }
    String::from_utf8(out).unwrap_or_else(|_| path.to_owned())
}

/// The kind of entry at a path of the package. The list has only leaves: a folder is found through
/// its content.
fn kind(skill: &Skill, path: &str) -> Option<FileKind> {
    if path.is_empty() {
        return Some(FileKind::Directory);
    }
    let files = skill.package.as_ref().map_or(&[][..], |package| &package.files);
    if let Ok(at) = files.binary_search_by(|entry| entry.path.as_str().cmp(path)) {
        return Some(files[at].kind);
    }
    let beneath = format!("{path}/");
    files.iter().any(|entry| entry.path.starts_with(&beneath)).then_some(FileKind::Directory)
}

/// The anchors that GitHub generates for headings.
fn anchors(markdown: &Outline) -> BTreeSet<String> {
    let mut made = BTreeSet::new();
    for heading in &markdown.headings {
        let slug: String = heading
            .text
            .to_lowercase()
            .chars()
            .filter_map(|c| match c {
                ' ' => Some('-'),
                c if c.is_alphanumeric() || matches!(c, '-' | '_') => Some(c),
                _ => None,
            })
            .collect();
        let mut own = slug.clone();
        let mut count = 0;
        while !made.insert(own.clone()) {
            count += 1;
            own = format!("{slug}-{count}");
        }
    }
    made
}

/// An anchor in HTML, or one that differs only in marks such as emoji.
fn explicit_anchor(text: &str, anchor: &str) -> bool {
    let lower = text.to_lowercase();
    lower.contains(&format!("id=\"{anchor}\""))
        || lower.contains(&format!("name=\"{anchor}\""))
        || !anchor.is_ascii()
}

fn deep(skill: &Skill, path: &str, at: &Range<usize>, findings: &mut Findings) {
    if path.matches('/').count() > 1 {
        findings
            .add(
                "reference-deep",
                skill,
                at,
                format!("`{path}` is {} folders deep", path.matches('/').count()),
            )
            .hint("keep files that SKILL.md links to at most one folder deep");
    }
}

/// Paths in code: `scripts/run.py` between back-ticks.
fn named_paths(skill: &Skill, reached: &mut BTreeSet<String>, findings: &mut Findings) {
    let mut reported = BTreeSet::new();
    for span in &skill.markdown().inline_code {
        let inner = skill.text()[span.clone()].trim_matches('`').trim();
        for word in inner.split_whitespace() {
            let word = word.trim_start_matches("./").trim_end_matches([',', ';', ':', ')']);
            let Target::Inside(path) = target(word, "") else { continue };
            if kind(skill, &path).is_some() {
                reached.insert(path);
            } else if FOLDERS.iter().any(|folder| path.starts_with(folder) && path.len() > folder.len())
                && path.rsplit('/').next().is_some_and(|name| name.contains('.'))
                && reported.insert(path.clone())
            {
                findings
                    .add("path-missing", skill, span, format!("`{path}` is not in the package"))
                    .hint("correct the path, or add the file");
            }
        }
    }
}

/// Backslashes and home folders, in code and in text.
fn paths(skill: &Skill, findings: &mut Findings) {
    let (text, start) = (skill.text(), skill.body_start());
    for span in &skill.markdown().inline_code {
        let inner = text[span.clone()].trim_matches('`').trim();
        let own = FOLDERS.iter().any(|folder| inner.starts_with(&folder.replace('/', "\\")));
        if own {
            findings
                .add("path-windows", skill, span, format!("`{inner}` contains backslashes"))
                .hint("use forward slashes: they work on every system");
        }
    }
    let mut reports = 0;
    for (prefix, needle) in [("/Users/", "/Users/"), ("/home/", "/home/"), ("C:\\Users\\", "C:\\Users\\")] {
        for (at, _) in text[start..].match_indices(needle) {
            let at = start + at;
            let rest = &text[at + needle.len()..];
            let end = rest
                .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')))
                .unwrap_or(rest.len());
            let who = &rest[..end];
            if who.bytes().all(|b| b == b'.') {
                continue;
            }
            let before = text[..at].chars().next_back();
            let joined = before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '}' | '/' | ':'));
            if who.is_empty() || joined || NOBODY.contains(&who.to_lowercase().as_str()) || reports == 3 {
                continue;
            }
            reports += 1;
            findings
                .add(
                    "path-personal",
                    skill,
                    &(at..at + needle.len() + end),
                    format!("`{prefix}{who}` is a user's home folder"),
                )
                .hint("use a path relative to the package, or ask the user for it");
        }
    }
}

/// Placeholder user names.
const NOBODY: [&str; 20] = [
    "user",
    "username",
    "you",
    "your-username",
    "yourname",
    "your-name",
    "your_username",
    "me",
    "name",
    "example",
    "runner",
    "ubuntu",
    "node",
    "vscode",
    "app",
    "linuxbrew",
    "user1",
    "alice",
    "bob",
    "shared",
];

/// Checks links between files: chains, cycles, orphans.
fn beyond(skill: &Skill, reached: &BTreeSet<String>, findings: &mut Findings) {
    let markdown = |file: &&Resource| file.path.to_lowercase().ends_with(".md");
    let mut edges: BTreeSet<(String, String)> = BTreeSet::new();
    let text = skill.text();
    let known = |path: &str| {
        reached.contains(path) || text.contains(path) || name_of(path).is_some_and(|name| text.contains(name))
    };
    for file in skill.resources().iter().filter(markdown).filter(|file| !is_template(&file.path)) {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for link in Outline::read(&file.text, 0, Dialect::GitHub).links {
            let url = link.url();
            let leads = target(&url, if folder.is_empty() { "." } else { folder });
            match leads {
                Target::Inside(path) if path == file.path => {}
                Target::Inside(path) => match kind(skill, &path) {
                    Some(_) => {
                        let other = path == "SKILL.md" || skill.is_nested(&path);
                        if known(&file.path) && !known(&path) && !other {
                            findings
                                .add_in("reference-chain", skill, file, &link.span, format!("`{path}` is mentioned only in `{}`, not in SKILL.md", file.path))
                                .hint("mention it in SKILL.md: agents often read only the beginning of files that a reference links to");
                        }
                        edges.insert((file.path.clone(), path));
                    }
                    None => {
                        findings
                            .add_in(
                                "link-broken",
                                skill,
                                file,
                                &link.span,
                                format!("`{path}` is not in the package"),
                            )
                            .hint("correct the path, or add the file");
                    }
                },
                Target::Outside if is_installed_with(skill, folder, &url) => {}
                Target::Outside => {
                    findings
                        .add_in(
                            "link-outside",
                            skill,
                            file,
                            &link.span,
                            format!("`{url}` is outside the package"),
                        )
                        .hint("copy the file into the package: only the package's own folder is installed");
                }
                _ => {}
            }
        }
    }
    for (from, to) in &edges {
        if from < to && edges.contains(&(to.clone(), from.clone())) {
            findings
                .add_at(
                    "reference-cycle",
                    skill.root.join(from),
                    None,
                    format!("`{from}` and `{to}` link to each other"),
                )
                .hint("link to both from SKILL.md");
        }
    }
    orphans(skill, findings);
}

fn name_of(path: &str) -> Option<&str> {
    path.rsplit('/').next().filter(|name| name.len() > 3)
}

/// Files that no text of the package mentions by path, file name or folder.
fn orphans(skill: &Skill, findings: &mut Findings) {
    let files: Vec<_> = skill.entries().filter(|entry| entry.kind == FileKind::File).collect();
    if files.len() > 500 {
        return;
    }
    // Nested skills may use files next to them.
    let inner: Vec<String> = skill
        .nested
        .iter()
        .filter_map(|folder| {
            let path = format!("{folder}SKILL.md");
            assay_fs::read_within(&skill.root, Path::new(&path), crate::skill::RESOURCE_CAP).ok()
        })
        .map(|content| assay_skill::decode(&content.bytes).text)
        .collect();
    for entry in files {
        let lower = entry.path.to_lowercase();
        let usual = [
            "license",
            "readme",
            "notice",
            "changelog",
            "__init__.py",
            "requirements",
            "package.json",
            "agents/",
            "evals/",
            ".",
        ]
        .iter()
        .any(|start| {
            lower.starts_with(start) || lower.rsplit('/').next().is_some_and(|name| name.starts_with(start))
        });
        if usual {
            continue;
        }
        let name = entry.path.rsplit('/').next().unwrap_or("");
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let folder = entry.path.rsplit_once('/').map(|(folder, _)| format!("{folder}/"));
        let names = |text: &str| {
            text.contains(name)
                || (stem.len() > 3 && text.contains(stem))
                || folder.as_ref().is_some_and(|folder| {
                    // A whole folder: `templates/`, not `templates/one.html`.
                    text.match_indices(folder.as_str()).any(|(at, _)| {
                        text[at + folder.len()..].chars().next().is_none_or(|c| !c.is_alphanumeric())
                    })
                })
        };
        let named = names(skill.text())
            || skill.resources().iter().any(|other| other.path != entry.path && names(&other.text))
            || inner.iter().any(|text| names(text));
        if !named {
            findings
                .add_at(
                    "resource-orphan",
                    skill.root.join(&entry.path),
                    None,
                    format!("nothing in the package mentions `{}`", entry.path),
                )
                .hint("say in SKILL.md when to use it, or remove it");
        }
    }
}
