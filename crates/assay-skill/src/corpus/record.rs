//! One record of a corpus: a skill as it was found.

use serde::{Deserialize, Serialize};

/// A skill of a corpus. Every field but `skill_md` may be missing; unknown ones are skipped.
///
/// What an earlier funnel may have written into a record (`filter_stage`, `dup_of`,
/// `license_basis`) is not among the fields, so no funnel can read it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// What names it in its corpus.
    #[serde(deserialize_with = "text")]
    pub id: String,
    /// The repository it is from, `owner/name`.
    #[serde(deserialize_with = "text")]
    pub repo: String,
    /// Its document in the repository.
    #[serde(deserialize_with = "text")]
    pub path: String,
    /// The collection that it was copied from, if it was not taken from `repo` itself.
    pub via: Option<String>,
    /// The revision of the repository.
    pub commit: Option<String>,
    /// Its name.
    #[serde(deserialize_with = "text")]
    pub name: String,
    /// Its description.
    #[serde(deserialize_with = "text")]
    pub description: String,
    /// Its licence, as found by the author of the record; `None` if none is declared.
    pub license: Option<String>,
    /// The complete `SKILL.md`.
    #[serde(deserialize_with = "text")]
    pub skill_md: String,
    /// How often the repository was starred; 0 where unknown.
    pub stars: u64,
    /// How often the skill was installed; 0 where unknown.
    pub installs: u64,
    /// The package's files, if the record was made from a package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<File>>,
    /// The canonical digest of the package, if the record was made from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// A file of a package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// Relative to the package.
    pub path: String,
    /// In bytes.
    pub size: u64,
}

/// Text; empty for `null`.
fn text<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.unwrap_or_default())
}

impl Record {
    /// The record's identifier: its `id`; else the first 16 hexadecimal digits of a digest of its
    /// origin.
    pub fn key(&self) -> String {
        if !self.id.is_empty() {
            return self.id.clone();
        }
        let mut hasher = crate::Hasher::new("assay.corpus.id/1");
        for part in [&self.repo, &self.path, &self.skill_md] {
            hasher.part(part.as_bytes());
        }
        let mut hex = hasher.finish().hex();
        hex.truncate(16);
        hex
    }
}
