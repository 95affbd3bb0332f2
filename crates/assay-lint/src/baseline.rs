//! Baselines: known findings, which are not reported again.
//!
//! Findings of safety rules are never known: a baseline may have come with the linted content,
//! whose author must not be able to accept them. `[[lint.allow]]` in the caller's configuration
//! accepts them, each with a reason.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::diagnostic::Diagnostic;
use crate::outcome::Outcome;
use crate::paths::{relative, replace_file};

/// How often each finding occurred, by code, file and the digest of its line. Line numbers are
/// omitted because lines move, and messages are for people only: releases reword them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    schema: String,
    findings: Vec<Entry>,
    /// The folder that files are relative to: the baseline's own. `None` in version 1, whose files
    /// are relative to the working folder.
    #[serde(skip)]
    root: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    code: String,
    file: String,
    /// Absent if the finding has no line, and before version 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line_digest: Option<String>,
    /// The message of the first of these findings.
    message: String,
    count: usize,
}

/// Why a baseline cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// It cannot be read or written.
    #[error("cannot open the baseline {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It is not a baseline.
    #[error("{} is not a lint baseline", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: Option<serde_json::Error>,
    },
}

const SCHEMA: &str = "assay.lint-baseline/3";
/// Most bytes of a baseline.
const BASELINE_CAP: u64 = 64 << 20;
/// Its findings are known by code and file.
const SECOND: &str = "assay.lint-baseline/2";
/// As the second, and its files are relative to the folder in which it was written.
const FIRST: &str = "assay.lint-baseline/1";

/// Code, file and line digest. No digest in versions 1 and 2: their findings were known by
/// messages, which have been reworded since.
pub(crate) type Key = (String, String, Option<String>);
/// The folders of packages as found, each with its canonical path.
pub(crate) type Folders = BTreeMap<String, PathBuf>;
/// How many of each finding are known.
pub(crate) type Known = BTreeMap<Key, usize>;

impl Baseline {
    /// The baseline of an outcome, for a file: paths are relative to its folder, so it applies from
    /// any working folder. Findings of safety rules are left out.
    pub fn of(outcome: &Outcome, file: &Path) -> Result<Self, BaselineError> {
        let root = folder(file)?;
        let baseline = Self { schema: SCHEMA.to_owned(), findings: Vec::new(), root: Some(root) };
        let mut entries: BTreeMap<Key, Entry> = BTreeMap::new();
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let folders: Folders = outcome
            .skills
            .iter()
            .map(|skill| (skill.path.to_string_lossy().into_owned(), real(&skill.path)))
            .collect();
        let mut add = |found: &Diagnostic, path: &Path| {
            if crate::safety::owns(found.code) {
                return;
            }
            let key = baseline.key(found, path, Path::new(""));
            let (code, file, line_digest) = key.clone();
            let message = || baseline.message(found, &folders);
            let entry = entries.entry(key);
            entry.or_insert_with(|| Entry { code, file, line_digest, message: message(), count: 0 }).count +=
                1;
        };
        for skill in &outcome.skills {
            let real = real(&skill.path);
            for found in &skill.diagnostics {
                add(found, &real.join(found.file.strip_prefix(&skill.path).unwrap_or(&found.file)));
            }
        }
        for found in outcome.diagnostics.iter().filter(|found| crate::library::is_whole(found.code)) {
            add(found, &real(&found.file));
        }
        Ok(Self { findings: entries.into_values().collect(), ..baseline })
    }

    /// Reads one.
    pub fn read(path: &Path) -> Result<Self, BaselineError> {
        let bytes = assay_fs::read_file(path, BASELINE_CAP)
            .map_err(|source| BaselineError::Io { path: path.to_path_buf(), source })?;
        let mut read: Self = serde_json::from_slice(&bytes)
            .map_err(|source| BaselineError::Format { path: path.to_path_buf(), source: Some(source) })?;
        read.root = match read.schema.as_str() {
            SCHEMA | SECOND => Some(folder(path)?),
            FIRST => None,
            _ => return Err(BaselineError::Format { path: path.to_path_buf(), source: None }),
        };
        Ok(read)
    }

    /// The number of findings.
    pub fn len(&self) -> usize {
        self.findings.iter().map(|entry| entry.count).sum()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    /// Writes it atomically.
    pub fn write(&self, path: &Path) -> Result<(), BaselineError> {
        let error = |source| BaselineError::Io { path: path.to_path_buf(), source };
        let text = serde_json::to_string_pretty(self).map_err(|cause| error(cause.into()))? + "\n";
        replace_file(path, text.as_bytes()).map_err(error)
    }

    /// How many of each finding are known.
    pub(crate) fn counts(&self) -> Known {
        let mut counts = Known::new();
        for Entry { code, file, line_digest, count, .. } in &self.findings {
            *counts.entry((code.clone(), file.clone(), line_digest.clone())).or_default() += count;
        }
        counts
    }

    /// The key of a finding. `path` is the canonical path of its file.
    pub(crate) fn key(&self, finding: &Diagnostic, path: &Path, base: &Path) -> Key {
        let file = if let Some(root) = &self.root {
            relative(path, root)
        } else {
            let file = finding.file.strip_prefix(base).unwrap_or(&finding.file);
            file.strip_prefix("./").unwrap_or(file).to_path_buf()
        };
        let digest = finding.line_digest.clone().filter(|_| self.schema == SCHEMA);
        (finding.code.to_owned(), file.to_string_lossy().into_owned(), digest)
    }

    /// The message of a finding, with packages' folders relative to the baseline.
    fn message(&self, finding: &Diagnostic, folders: &Folders) -> String {
        let Some(root) = &self.root else { return finding.message.clone() };
        let word = |word: &str| {
            let folder = folders.get(word).map(|folder| relative(folder, root));
            folder.map_or_else(|| word.to_owned(), |folder| folder.to_string_lossy().into_owned())
        };
        let words: Vec<String> = finding.message.split(' ').map(word).collect();
        words.join(" ")
    }
}

/// The canonical path of a file's folder. The file may not exist yet.
fn folder(file: &Path) -> Result<PathBuf, BaselineError> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::canonicalize(folder).map_err(|source| BaselineError::Io { path: file.to_path_buf(), source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, lint};

    const HEAD: &str =
        "---\nname: known\ndescription: Sorts long lists by date. Use when one is unsorted.\n---\n# T\n\n";

    fn write(root: &Path, body: &str) {
        let folder = root.join("known");
        std::fs::create_dir_all(&folder).expect("created");
        std::fs::write(folder.join("SKILL.md"), format!("{HEAD}{body}")).expect("written");
    }

    /// The broken links that a baseline does not contain, by their lines.
    fn new_links(root: &Path, baseline: &Baseline) -> Vec<usize> {
        let options =
            Options { base: root.to_path_buf(), baseline: Some(baseline.clone()), ..Options::default() };
        let outcome = lint(&[root.to_path_buf()], &options);
        let found = outcome.skills.iter().flat_map(|skill| &skill.diagnostics);
        let links = found.filter(|found| found.code == "link-broken");
        links.map(|found| found.span.0.expect("a span").line).collect()
    }

    /// The baseline of a folder, read back after an edit of its text.
    fn baseline(root: &Path, edit: impl Fn(&str) -> String) -> Baseline {
        let file = root.join("baseline.json");
        let outcome = lint(&[root.to_path_buf()], &Options::default());
        Baseline::of(&outcome, &file).expect("made").write(&file).expect("written");
        let text = std::fs::read_to_string(&file).expect("read");
        std::fs::write(&file, edit(&text)).expect("written");
        Baseline::read(&file).expect("a baseline")
    }

    /// The text of a version 2 baseline: without digests, and with messages of its time.
    fn second_form(text: &str) -> String {
        let mut value: serde_json::Value = serde_json::from_str(text).expect("JSON");
        value["schema"] = SECOND.into();
        for entry in value["findings"].as_array_mut().expect("a list") {
            entry.as_object_mut().expect("an object").remove("line_digest");
            entry["message"] = "in other words".into();
        }
        value.to_string()
    }

    #[test]
    fn baseline_ignores_messages() {
        let temp = tempfile::tempdir().expect("a folder");
        write(temp.path(), "See [one](one.md).\n");
        let reworded = |text: &str| {
            assert!(text.contains("lint-baseline/3") && text.contains("line_digest"), "{text}");
            text.replace("is not in the package", "is missing")
        };
        let known = baseline(temp.path(), reworded);
        assert!(known.findings.iter().any(|entry| entry.message.ends_with("is missing")));
        assert_eq!(new_links(temp.path(), &known), [0; 0]);
        assert_eq!(new_links(temp.path(), &baseline(temp.path(), second_form)), [0; 0]);
    }

    #[test]
    fn baseline_reports_new_findings_of_a_known_rule() {
        let temp = tempfile::tempdir().expect("a folder");
        write(temp.path(), "See [one](one.md).\n");
        let (known, old) = (baseline(temp.path(), str::to_owned), baseline(temp.path(), second_form));
        // It moved, and another one was added before it.
        write(temp.path(), "See [two](two.md).\n\n  See [one](one.md).\n");
        assert_eq!(new_links(temp.path(), &known), [7]);
        assert_eq!(new_links(temp.path(), &old).len(), 1);
        // In place of the known one: earlier versions cannot tell them apart.
        write(temp.path(), "See [two](two.md).\n");
        assert_eq!(new_links(temp.path(), &known), [7]);
        assert_eq!(new_links(temp.path(), &old), [0; 0]);
    }

    #[test]
    fn baseline_counts_duplicates() {
        let temp = tempfile::tempdir().expect("a folder");
        let line = "See [one](one.md).\n\n";
        write(temp.path(), &line.repeat(2));
        let (known, old) = (baseline(temp.path(), str::to_owned), baseline(temp.path(), second_form));
        let entry = known.findings.iter().find(|entry| entry.code == "link-broken").expect("an entry");
        assert_eq!(entry.count, 2);
        for known in [known, old] {
            write(temp.path(), &line.repeat(2));
            assert_eq!(new_links(temp.path(), &known), [0; 0]);
            write(temp.path(), &line.repeat(3));
            assert_eq!(new_links(temp.path(), &known).len(), 1);
        }
    }
}
