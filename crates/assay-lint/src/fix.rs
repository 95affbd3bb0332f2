//! Applies safe fixes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use assay_skill::Document;
use assay_syntax::yaml::{Kind, Node, Scalar, Yaml};

use crate::diagnostic::{Diagnostic, Edit};
use crate::engine::{Options, lint};
use crate::outcome::Outcome;
use crate::paths::replace_file;

/// Most rounds of linting and fixing. A fix can reveal another finding, two or three levels deep.
const ROUNDS: usize = 10;

/// Lints and fixes until nothing fixable is left. Returns the remaining findings, and the result
/// for each file that had a fix.
pub fn run(paths: &[PathBuf], options: &Options) -> (Outcome, Vec<Fixed>) {
    let mut files: BTreeMap<PathBuf, Fixed> = BTreeMap::new();
    let mut failed: BTreeSet<PathBuf> = BTreeSet::new();
    let mut outcome = lint(paths, options);
    for _ in 0..ROUNDS {
        let found = outcome.skills.iter().flat_map(|skill| &skill.diagnostics);
        let fixed = apply(found.filter(|found| !failed.contains(&found.file)));
        let mut changed = false;
        for fixed in fixed {
            if fixed.error.is_some() || fixed.findings == 0 {
                failed.insert(fixed.file.clone());
            } else {
                changed = true;
            }
            match files.get_mut(&fixed.file) {
                Some(before) => {
                    before.findings += fixed.findings;
                    before.error = fixed.error;
                }
                None => {
                    files.insert(fixed.file.clone(), fixed);
                }
            }
        }
        if !changed {
            break;
        }
        outcome = lint(paths, options);
    }
    (outcome, files.into_values().collect())
}

/// The result for one file.
#[derive(Debug)]
pub struct Fixed {
    /// The file.
    pub file: PathBuf,
    /// How many findings were fixed.
    pub findings: usize,
    /// Why it was not changed.
    pub error: Option<io::Error>,
}

/// Applies the fixes of some findings, each file atomically. If two overlap, the first wins and the
/// other is left for the next round.
pub fn apply<'a>(findings: impl IntoIterator<Item = &'a Diagnostic>) -> Vec<Fixed> {
    let mut files: BTreeMap<&Path, Vec<&Diagnostic>> = BTreeMap::new();
    for finding in findings {
        if finding.fix.is_some() {
            files.entry(&finding.file).or_default().push(finding);
        }
    }
    files
        .into_iter()
        .map(|(file, findings)| {
            let (count, result) = match apply_fixes(file, &findings) {
                Ok(count) => (count, None),
                Err(error) => (0, Some(error)),
            };
            Fixed { file: file.to_path_buf(), findings: count, error: result }
        })
        .collect()
}

fn apply_fixes(file: &Path, findings: &[&Diagnostic]) -> io::Result<usize> {
    let metadata = fs::symlink_metadata(file)?;
    if !metadata.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let bytes = fs::read(file)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| io::Error::other("not UTF-8"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut edits: Vec<&Edit> = Vec::new();
    let mut count = 0;
    for fix in findings.iter().filter_map(|finding| finding.fix.as_ref()) {
        let fits = fix.edits.iter().all(|edit| {
            text.get(edit.range.clone()).is_some() && edits.iter().all(|other| apart(edit, other))
        });
        if fits {
            edits.extend(&fix.edits);
            count += 1;
        }
    }
    edits.sort_by_key(|edit| edit.range.start);
    let mut fixed = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        fixed.push_str(&text[at..edit.range.start]);
        fixed.push_str(&edit.text);
        at = edit.range.end;
    }
    fixed.push_str(&text[at..]);
    if fixed.as_bytes() == bytes {
        return Ok(0);
    }
    if !keeps_types(file, &bytes, fixed.as_bytes()) {
        return Err(io::Error::other("the fix would change the type of a value"));
    }
    replace_file(file, fixed.as_bytes())?;
    Ok(count)
}

/// Whether every value of the front matter keeps its type. A client may compare with `true` and not
/// with `"true"`, so this is checked before a file is written. A block that cannot be parsed is
/// compared as lenient clients read it: with quotes around the values that need them.
fn keeps_types(file: &Path, before: &[u8], after: &[u8]) -> bool {
    let types = |bytes: &[u8]| {
        let (document, _) = Document::parse(bytes, file);
        let block = &document.text[document.yaml.clone()];
        let mut yaml = Yaml::parse(block, 0);
        if yaml.error.is_some()
            && let Some(repaired) = assay_skill::quote_values(block)
        {
            yaml = Yaml::parse(&repaired, 0);
        }
        let mut types = BTreeMap::new();
        if let Some(root) = yaml.root.filter(|_| yaml.error.is_none()) {
            collect_types(&root, String::new(), &mut types);
        }
        types
    };
    let after = types(after);
    types(before).iter().all(|(key, kind)| after.get(key).is_none_or(|new| new == kind))
}

/// The types of a value in YAML 1.1 and 1.2; `None` twice if it is not a scalar.
type Types = (Option<Scalar>, Option<Scalar>);

fn collect_types(node: &Node, path: String, types: &mut BTreeMap<String, Types>) {
    match &node.kind {
        Kind::Map(entries) => {
            // Duplicate keys are numbered: clients do not agree on which one counts.
            let mut seen = BTreeMap::<&str, usize>::new();
            for (key, value) in entries {
                let key = key.text().unwrap_or("?");
                let nth = seen.entry(key).or_default();
                collect_types(value, format!("{path}/{nth}:{key}"), types);
                *nth += 1;
            }
        }
        Kind::List(items) => {
            for (at, item) in items.iter().enumerate() {
                collect_types(item, format!("{path}/{at}"), types);
            }
        }
        _ => {}
    }
    types.insert(path, (node.type_1_1(), node.type_1_2()));
}

/// Whether two edits touch different ranges. Two insertions at one position do not.
fn apart(one: &Edit, other: &Edit) -> bool {
    one.range.end < other.range.start
        || other.range.end < one.range.start
        || (one.range.end == other.range.start && !one.range.is_empty() && !other.range.is_empty())
        || (other.range.end == one.range.start && !one.range.is_empty() && !other.range.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Fix;
    use crate::rule::Findings;

    #[test]
    fn type_changing_fix_is_not_applied() {
        let temp = tempfile::tempdir().expect("a folder");
        let file = temp.path().join("SKILL.md");
        let check_in = |front: &str, value: &str, text: &str, carried_out: bool| {
            let before = format!("---\nname: pdf\n{front}---\n# T\n");
            fs::write(&file, &before).expect("written");
            let start = before.find(value).expect("it is there");
            let edits = vec![Edit { range: start..start + value.len(), text: text.to_owned() }];
            let mut findings = Findings::new();
            findings.begin(crate::rules::engine::RULES);
            findings.add_at("refused", &file, None, "").fix(Some(Fix { title: String::new(), edits }));
            let fixed = apply(&findings.into_list());
            let after = fs::read_to_string(&file).expect("read");
            assert_eq!(fixed[0].error.is_none(), carried_out, "{value} to {text}: {fixed:?}");
            assert_eq!(after == before, !carried_out, "{value} to {text}");
        };
        let check = |value: &str, text: &str, carried_out: bool| {
            check_in(&format!("metadata:\n  internal: {value}\n"), value, text, carried_out);
        };
        check("true", "\"true\"", false);
        check("1.10", "\"1.10\"", false);
        check("1.10", "1.1", true);
        check("on", "True", false);
        check("text", "\"text\"", true);
        // A block that cannot be parsed before the fix, and one with equal keys.
        let broken = "description: Use when: it is empty\nmetadata:\n  internal: true\n  version: 1.10\n";
        check_in(broken, "true", "\"true\"", false);
        check_in(broken, "1.10", "\"1.10\"", false);
        check_in(broken, "Use when: it is empty", "\"Use when: it is empty\"", true);
        let twice = "metadata:\n  internal: true\n  internal: text\n";
        check_in(twice, "true", "\"true\"", false);
        check_in(twice, "text", "\"text\"", true);
    }
}
