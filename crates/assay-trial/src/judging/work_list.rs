//! The list of the files that are judged.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The files of a work folder, as an agent left it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct WorkList {
    pub(crate) files: Vec<WorkFile>,
    /// What was not kept, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) left_out: Vec<String>,
}

/// A file in a work folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct WorkFile {
    /// Relative to the work folder.
    pub(crate) path: String,
    pub(crate) size: u64,
    /// Whether the agent created or changed it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) changed: bool,
}

impl WorkList {
    /// The list of an attempt; empty if its work folder was not kept.
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        match fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }
}
