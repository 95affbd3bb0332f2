//! Where records come from: signatures and imports as data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::identity::TrialId;

/// The signature of the process that accepted a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    /// `blake3-keyed/1`.
    pub scheme: String,
    /// The key's name: 16 hexadecimal digits of a digest.
    pub key_id: String,
    /// The digests of the files of the attempt that the result rests on, by path.
    pub evidence: BTreeMap<String, String>,
    /// The message authentication code, 64 hexadecimal digits.
    #[serde(default)]
    pub mac: String,
}

/// Where a result was before, if this store did not accept it from a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedFrom {
    /// `run` for an archive of `assay export run`; else `harbor`, `benchflow`, `table`, or a benchmark's name.
    pub format: String,
    /// The name of the file or folder, without the folders above it.
    pub file: String,
    /// The digest of the file; of the trial's own `result.json` in a folder.
    pub digest: String,
    /// The trial's id in the archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<TrialId>,
}

impl ImportedFrom {
    /// What an archive's trial is called here, so that it is not taken for a trial of this store: the id of the
    /// document, and the document.
    pub fn namespaced(digest: &str, trial: &TrialId) -> (TrialId, Value) {
        let document = json!({ "imported_from": digest, "trial": trial });
        (TrialId::of(&document), document)
    }

    /// Whether two results are of the same place, though perhaps of another version of the file.
    pub fn is_same_place(&self, other: &Self) -> bool {
        (&self.format, &self.file) == (&other.format, &other.file)
    }
}

/// Where a record comes from, as far as that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecordOrigin {
    /// Its signature is that of a key that this process knows.
    Signed,
    /// It has a signature of a key that this process does not know.
    UnknownKey,
    /// It has no signature: it is of an earlier version, or was written by something else.
    Unsigned,
    /// It was imported.
    Imported,
}

/// What of a record does not match its signature.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignatureMismatch {
    /// The record itself.
    #[error("the record was changed after it was signed")]
    Record,
    /// A file that it rests on.
    #[error("{path} was changed after the record was signed")]
    Evidence {
        /// Which, relative to the folder of the attempt.
        path: String,
    },
}
