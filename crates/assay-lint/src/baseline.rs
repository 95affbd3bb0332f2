//! Baselines: known findings, which are not reported again.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::diagnostic::Diagnostic;
use crate::outcome::Outcome;
use crate::paths::{relative, replace_file};

/// How often each finding occurred, by code, file and message. Lines are omitted: they move.
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

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    code: String,
    file: String,
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

const SCHEMA: &str = "assay.lint-baseline/2";
/// Its files are relative to the folder in which it was written.
const FIRST: &str = "assay.lint-baseline/1";

/// Code, file and message.
pub(crate) type Key = (String, String, String);
/// The folders of packages as found, each with its canonical path.
pub(crate) type Folders = BTreeMap<String, PathBuf>;
/// How many of each finding are known.
pub(crate) type Known = BTreeMap<Key, usize>;

impl Baseline {
    /// The baseline of an outcome, for a file: paths are relative to its folder, so it applies from
    /// any working folder.
    pub fn of(outcome: &Outcome, file: &Path) -> Result<Self, BaselineError> {
        let root = folder(file)?;
        let baseline = Self { schema: SCHEMA.to_owned(), findings: Vec::new(), root: Some(root) };
        let mut counts = Known::new();
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let folders: Folders = outcome
            .skills
            .iter()
            .map(|skill| (skill.path.to_string_lossy().into_owned(), real(&skill.path)))
            .collect();
        for skill in &outcome.skills {
            let real = real(&skill.path);
            for found in &skill.diagnostics {
                let path = real.join(found.file.strip_prefix(&skill.path).unwrap_or(&found.file));
                *counts.entry(baseline.key(found, &path, Path::new(""), &folders)).or_default() += 1;
            }
        }
        for found in outcome.diagnostics.iter().filter(|found| crate::library::is_whole(found.code)) {
            let path = real(&found.file);
            *counts.entry(baseline.key(found, &path, Path::new(""), &folders)).or_default() += 1;
        }
        let findings = counts
            .into_iter()
            .map(|((code, file, message), count)| Entry { code, file, message, count })
            .collect();
        Ok(Self { findings, ..baseline })
    }

    /// Reads one.
    pub fn read(path: &Path) -> Result<Self, BaselineError> {
        let bytes =
            std::fs::read(path).map_err(|source| BaselineError::Io { path: path.to_path_buf(), source })?;
        let mut read: Self = serde_json::from_slice(&bytes)
            .map_err(|source| BaselineError::Format { path: path.to_path_buf(), source: Some(source) })?;
        read.root = match read.schema.as_str() {
            SCHEMA => Some(folder(path)?),
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
        self.findings
            .iter()
            .map(|entry| ((entry.code.clone(), entry.file.clone(), entry.message.clone()), entry.count))
            .collect()
    }

    /// The key of a finding. `path` is the canonical path of its file. If the message names another
    /// package's folder, that path is made relative to the baseline too.
    pub(crate) fn key(&self, finding: &Diagnostic, path: &Path, base: &Path, folders: &Folders) -> Key {
        let Some(root) = &self.root else {
            let file = finding.file.strip_prefix(base).unwrap_or(&finding.file);
            let file = file.strip_prefix("./").unwrap_or(file);
            return (finding.code.to_owned(), file.to_string_lossy().into_owned(), finding.message.clone());
        };
        let shown = |path: &Path| relative(path, root).to_string_lossy().into_owned();
        let word = |word: &str| folders.get(word).map_or_else(|| word.to_owned(), |folder| shown(folder));
        let words: Vec<String> = finding.message.split(' ').map(word).collect();
        (finding.code.to_owned(), shown(path), words.join(" "))
    }
}

/// The canonical path of a file's folder. The file may not exist yet.
fn folder(file: &Path) -> Result<PathBuf, BaselineError> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::canonicalize(folder).map_err(|source| BaselineError::Io { path: file.to_path_buf(), source })
}
