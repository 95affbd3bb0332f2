//! Findings that were there before: only what is new is told.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::diagnostic::Diagnostic;

/// How often each finding occurred, by code, file and message. Lines are left out: they move.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    schema: String,
    findings: Vec<Entry>,
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
    #[error("{} is no baseline of findings", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: Option<serde_json::Error>,
    },
}

const SCHEMA: &str = "assay.lint-baseline/1";

type Key = (String, String, String);

impl Baseline {
    /// The baseline of some findings. Paths are written relative to a folder, where they lie beneath it.
    pub fn of<'a>(findings: impl IntoIterator<Item = &'a Diagnostic>, base: &Path) -> Self {
        let mut counts: BTreeMap<Key, usize> = BTreeMap::new();
        for finding in findings {
            *counts.entry(key(finding, base)).or_default() += 1;
        }
        let findings = counts
            .into_iter()
            .map(|((code, file, message), count)| Entry { code, file, message, count })
            .collect();
        Self { schema: SCHEMA.to_owned(), findings }
    }

    /// Reads one.
    pub fn read(path: &Path) -> Result<Self, BaselineError> {
        let bytes =
            std::fs::read(path).map_err(|source| BaselineError::Io { path: path.to_path_buf(), source })?;
        let read: Self = serde_json::from_slice(&bytes)
            .map_err(|source| BaselineError::Format { path: path.to_path_buf(), source: Some(source) })?;
        if read.schema != SCHEMA {
            return Err(BaselineError::Format { path: path.to_path_buf(), source: None });
        }
        Ok(read)
    }

    /// Writes it, whole or not at all.
    pub fn write(&self, path: &Path) -> Result<(), BaselineError> {
        let error = |source| BaselineError::Io { path: path.to_path_buf(), source };
        let text = serde_json::to_string_pretty(self).map_err(|cause| error(cause.into()))? + "\n";
        crate::fix::replace_file(path, text.as_bytes()).map_err(error)
    }

    /// How many of each finding are known.
    pub(crate) fn counts(&self) -> BTreeMap<Key, usize> {
        self.findings
            .iter()
            .map(|entry| ((entry.code.clone(), entry.file.clone(), entry.message.clone()), entry.count))
            .collect()
    }
}

pub(crate) fn key(finding: &Diagnostic, base: &Path) -> Key {
    let file = finding.file.strip_prefix(base).unwrap_or(&finding.file);
    let file = file.strip_prefix("./").unwrap_or(file);
    (finding.code.to_owned(), file.to_string_lossy().into_owned(), finding.message.clone())
}
