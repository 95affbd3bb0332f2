//! The document as a file, and its front matter as YAML: what the loader of `assay-skill` found,
//! and what it is to each client.

use assay_diagnostic::group_digits;
use assay_skill::{Leniency, quote_values};
use assay_syntax::yaml::{Breach, Kind, Node, Style, Yaml};

use crate::client::Client::{ClaudeCode, Codex, GeminiCli, Lenient, OpenCode, SkillsRef, Spec, Upload};
use crate::client::{AGENTS, VALIDATORS};
use crate::diagnostic::Severity::{Error, Info, Warning};
use crate::diagnostic::{Edit, Fix, Severities, Span};
use crate::rule::{Family, Findings, Rule, rule};
use crate::skill::Skill;

pub(super) struct Document;

const ALL: Severities = Severities::all(Error);
/// Claude Code derives name and description if there is no front matter; every other client drops
/// the skill.
const BUT_CLAUDE: Severities = ALL.with(Warning, &[ClaudeCode]);
const MILD: Severities = Severities::all(Warning);

const RULES: &[Rule] = &[
    rule!(
        "folder-unreadable",
        ALL,
        [1, 2],
        "skills-ref",
        "the path is not a readable folder",
        "Pass a folder that exists and is readable."
    ),
    rule!(
        "document-missing",
        ALL,
        [3],
        "specification, skills-ref",
        "the folder has no SKILL.md",
        "Add a SKILL.md, or pass the folder that contains one."
    ),
    rule!(
        "document-case",
        ALL,
        [3],
        "skills-ref, quick_validate, the agents' sources",
        "the document is not named exactly SKILL.md",
        "Rename the file to SKILL.md."
    ),
    rule!(
        "document-twice",
        MILD,
        [3],
        "assay",
        "two documents whose names differ only in case",
        "Keep SKILL.md and remove the other file."
    ),
    rule!(
        "document-unreadable",
        ALL,
        [3],
        "assay",
        "SKILL.md is a folder, unreadable, or a link that is broken or leaves the package",
        "Make SKILL.md a readable regular file of the package."
    ),
    rule!(
        "document-too-large",
        MILD,
        [146],
        "assay",
        "SKILL.md exceeds the size limit",
        "Move detail into other files of the package."
    ),
    rule!(
        "encoding",
        MILD.with(Error, &VALIDATORS).with(Error, &[Codex]),
        [10],
        "specification, skills-ref",
        "the document is not UTF-8",
        "Save the file as UTF-8."
    ),
    rule!(
        "nul-character",
        MILD,
        [10],
        "assay",
        "the document contains a NUL character",
        "Remove the NUL character, or save the file as UTF-8."
    ),
    rule!(
        "line-ends",
        Severities::all(Info),
        [11],
        "assay",
        "the document has CRLF line endings",
        "Use LF line endings: a copy with other line endings has a different digest, and a script with CRLF does not start."
    ),
    rule!(
        "byte-order-mark",
        ALL.with(Warning, &[ClaudeCode, OpenCode, Lenient]),
        [4],
        "skills-ref",
        "a byte-order mark before the front matter",
        "Save the file as UTF-8 without a byte-order mark. `--fix` does this."
    ),
    rule!(
        "front-matter-missing",
        BUT_CLAUDE,
        [4],
        "specification, skills-ref",
        "the first line is not `---`",
        "Begin the file with `---`, lines `name:` and `description:`, and another `---`."
    ),
    rule!(
        "front-matter-late",
        BUT_CLAUDE.with(Warning, &[Lenient]),
        [4],
        "skills-ref",
        "blank lines before the front matter",
        "Begin the file with `---`. `--fix` removes the blank lines."
    ),
    rule!(
        "front-matter-fence",
        BUT_CLAUDE.with(Warning, &[Lenient]),
        [4],
        "skills-ref",
        "the front matter opens with more than three dashes",
        "Use exactly `---`. `--fix` does this."
    ),
    rule!(
        "front-matter-unclosed",
        BUT_CLAUDE.with(Warning, &[Lenient]),
        [5],
        "specification, skills-ref",
        "the front matter is not closed with a `---` line",
        "Close the front matter with a `---` line."
    ),
    rule!(
        "front-matter-dashes",
        Severities::none().with(Warning, &[SkillsRef]),
        [6],
        "skills-ref",
        "a value contains `---`, where skills-ref ends the front matter",
        "Rewrite the value without three dashes in a row."
    ),
    rule!(
        "yaml-invalid",
        BUT_CLAUDE,
        [7, 9, 59, 103, 109],
        "specification, skills-ref, the agents' sources",
        "the front matter is not a YAML mapping",
        "Correct the YAML at the reported position."
    ),
    rule!(
        "yaml-unquoted",
        ALL.with(Warning, &[ClaudeCode, GeminiCli, OpenCode, Lenient]),
        [8, 59, 103, 109],
        "skills-ref, the agents' sources",
        "an unquoted value that is not valid YAML, usually because it contains `: `",
        "Quote the value. `--fix` does this."
    ),
    rule!(
        "yaml-duplicate-key",
        Severities::none()
            .with(Error, &[Spec, SkillsRef, Codex, OpenCode])
            .with(Warning, &[Upload, ClaudeCode, GeminiCli, Lenient]),
        [7],
        "YAML, skills-ref",
        "a duplicate key",
        "Keep one of the keys."
    ),
    rule!(
        "yaml-anchor",
        Severities::none().with(Error, &[SkillsRef]).with(Info, &AGENTS),
        [7],
        "skills-ref",
        "an anchor, an alias or a tag, which StrictYAML forbids",
        "Write the value out instead of using an anchor, an alias or a tag."
    ),
    rule!(
        "yaml-flow",
        Severities::none().with(Error, &[SkillsRef]),
        [7],
        "skills-ref",
        "a flow-style list or mapping (in brackets), which StrictYAML forbids",
        "Write one item per line, each after `- `, or quote the whole value."
    ),
    rule!(
        "body-empty",
        Severities::none().with(Warning, &AGENTS),
        [13],
        "assay",
        "the body is empty",
        "Write the instructions below the front matter."
    ),
    rule!(
        "entry-unreadable",
        MILD,
        [146],
        "assay",
        "a file of the package cannot be read",
        "Make the file readable, or remove it from the package."
    ),
    rule!(
        "link-escapes",
        MILD,
        [],
        "assay",
        "a symbolic link that leaves the package",
        "Copy the file into the package."
    ),
    rule!(
        "special-file",
        MILD,
        [],
        "assay",
        "an entry that is not a file, folder or link",
        "Remove the entry from the package."
    ),
    rule!(
        "path-encoding",
        MILD,
        [],
        "assay",
        "a path that is not valid UTF-8",
        "Rename the file so that its path is valid UTF-8."
    ),
];

impl Family for Document {
    fn rules(&self) -> &'static [Rule] {
        RULES
    }

    fn check(&self, skill: &Skill, findings: &mut Findings) {
        for loaded in &skill.loader {
            // Diagnostics on single fields are reported by their families, per client.
            if RULES.iter().all(|rule| rule.code != loaded.code) {
                continue;
            }
            let span = loaded.line.map(|line| rest_of_line(skill, line, loaded.column.unwrap_or(1)));
            let last = findings.add_at(loaded.code, &loaded.file, span, &loaded.message);
            let last = match &loaded.hint {
                Some(hint) => last.hint(hint),
                None => last,
            };
            let last = last.fix(fix_for(loaded.code, skill));
            if loaded.code == "document-case" && loaded.severity == Warning {
                last.severities(ALL.without(&[SkillsRef]).with(Warning, &[Spec]));
            }
        }
        check_strict_yaml(skill, findings);
        check_line_endings(skill, findings);
        let closed = skill.document.as_ref().is_some_and(|document| !document.yaml.is_empty());
        if closed && skill.body().trim().is_empty() {
            findings
                .add("body-empty", skill, &skill.fence(), "the body is empty")
                .hint("write the instructions below the front matter");
        }
    }
}

/// The span from a column to the end of the line.
fn rest_of_line(skill: &Skill, line: usize, column: usize) -> Span {
    let length = skill.text().lines().nth(line - 1).map_or(0, |text| text.trim_end().chars().count());
    Span { line, column, end_line: line, end_column: (length + 1).max(column) }
}

/// Every client accepts CRLF, but it changes the digest.
fn check_line_endings(skill: &Skill, findings: &mut Findings) {
    let text = skill.text();
    let Some(at) = text.find("\r\n") else { return };
    let (returns, lines) = (text.matches("\r\n").count(), text.matches('\n').count());
    let message = format!("{} of {} lines end with CRLF", group_digits(returns), group_digits(lines));
    findings
        .add("line-ends", skill, &(at..at + 1), message)
        .hint("use LF line endings: a copy with other line endings has a different digest, and a script with CRLF does not start");
}

fn check_strict_yaml(skill: &Skill, findings: &mut Findings) {
    let Some(document) = &skill.document else { return };
    let raw;
    let yaml = match document.trouble {
        Some((_, Leniency::Quoted | Leniency::None)) => {
            raw = Yaml::default();
            &raw
        }
        _ => &skill.yaml,
    };
    for breach in &yaml.breaches {
        match breach {
            Breach::Anchor(at) => findings
                .add("yaml-anchor", skill, at, "an anchor or an alias, which StrictYAML forbids")
                .hint("write the value out"),
            Breach::Tag(at) => findings
                .add("yaml-anchor", skill, at, "a tag, which StrictYAML forbids")
                .hint("remove it, and quote the value if it is meant as text"),
            Breach::Flow(at) => findings
                .add("yaml-flow", skill, at, "flow style (brackets), which StrictYAML forbids")
                .hint("write one item per line, each after `- `, or quote the whole value"),
            // The loader reports it.
            Breach::Duplicate(_) => continue,
        };
    }
}

fn fix_for(code: &str, skill: &Skill) -> Option<Fix> {
    let document = skill.document.as_ref()?;
    let fence = document.fence.as_ref();
    let replace = |title: &str, range, text: &str| {
        Some(Fix { title: title.to_owned(), edits: vec![Edit { range, text: text.to_owned() }] })
    };
    match code {
        // Files are written without a byte-order mark.
        "byte-order-mark" if skill.is_utf8() => {
            Some(Fix { title: "remove the byte-order mark".to_owned(), edits: Vec::new() })
        }
        "front-matter-late" => replace("remove the blank lines", 0..skill.fence().start, ""),
        "front-matter-fence" if fence?.closed => replace("write three dashes", skill.fence(), "---"),
        "yaml-unquoted" => {
            let block = &document.text[document.yaml.clone()];
            // If the YAML can be parsed but was rejected, for example as a bomb, quoting does not
            // help.
            Yaml::parse(block, 0).error?;
            let repaired = quote_values(block)?;
            if !quotes_only_what_fails(block, &repaired) {
                return None;
            }
            // Quoting would make a comment part of the value. Only the author knows whether ` #`
            // starts one.
            let is_new = |line: &&str| !block.lines().any(|old| old.trim_end() == line.trim_end());
            if repaired.lines().filter(is_new).any(|line| line.contains(" #") || line.contains("\t#")) {
                return None;
            }
            Some(Fix {
                title: "quote these values".to_owned(),
                edits: vec![changed_lines(block, &repaired, document.yaml.start)],
            })
        }
        _ => None,
    }
}

/// Whether each value that was quoted is invalid without quotes. Quoting a valid one, such as a
/// tagged number, would change its type.
fn quotes_only_what_fails(written: &str, repaired: &str) -> bool {
    fn check(node: &Node, written: &str, repaired: &str) -> bool {
        match &node.kind {
            Kind::Scalar { text, style: Style::Quoted } if text.starts_with(['&', '!', '*']) => {
                let quoted = format!("\"{text}\"");
                let is_new = repaired.matches(&quoted).count() > written.matches(&quoted).count();
                let is_alias =
                    text.strip_prefix('*').is_some_and(|name| written.contains(&format!("&{name}")));
                !is_new || !is_alias && Yaml::parse(&format!("v: {text}"), 0).error.is_some()
            }
            Kind::List(items) => items.iter().all(|item| check(item, written, repaired)),
            Kind::Map(entries) => entries.iter().all(|(_, value)| check(value, written, repaired)),
            _ => true,
        }
    }
    Yaml::parse(repaired, 0).root.is_none_or(|root| check(&root, written, repaired))
}

/// One edit from the first line that differs to the last.
fn changed_lines(old: &str, new: &str, base: usize) -> Edit {
    let (a, b): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let same = |(x, y): &(&&str, &&str)| x.trim_end() == y.trim_end();
    let head = a.iter().zip(&b).take_while(same).count();
    let left = (a.len() - head).min(b.len() - head);
    let tail = a.iter().rev().zip(b.iter().rev()).take(left).take_while(same).count();
    let length = |lines: &[&str]| lines.iter().map(|line| line.len()).sum::<usize>();
    let start = base + length(&a[..head]);
    let end = base + old.len() - length(&a[a.len() - tail..]);
    let ending = if old.contains("\r\n") { "\r\n" } else { "\n" };
    let text = b[head..b.len() - tail].iter().map(|line| format!("{}{ending}", line.trim_end())).collect();
    Edit { range: start..end, text }
}
