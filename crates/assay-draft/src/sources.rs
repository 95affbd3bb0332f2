//! What tasks are made from, besides the skill.

use serde::{Deserialize, Serialize};

/// What somebody asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// Its id in the draft.
    pub id: String,
    /// Where it comes from: a path or an address.
    pub source: String,
    /// What was asked for.
    pub text: String,
}

/// A file that tasks may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputFile {
    /// Its path in the folder of inputs, `/` between parts.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// The beginning of a text; `None` for a binary file.
    pub beginning: Option<String>,
}
