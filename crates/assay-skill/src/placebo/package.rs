//! A package as a placebo needs it.

use serde_json::{Map, Value};

/// A file of a package, as input (already read) or as output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeFile {
    /// Relative to the package, `/` between parts.
    pub path: String,
    /// The content.
    pub bytes: Vec<u8>,
    /// Whether its owner may execute it.
    pub executable: bool,
}

/// A package as [`placebo`](super::placebo) needs it.
#[derive(Debug, Clone, Copy)]
pub struct Original<'a> {
    /// The skill's name, which is kept.
    pub name: &'a str,
    /// The folder's name. Its words name the domain if the name has none.
    pub directory: &'a str,
    /// The description, which sets the length of the new one.
    pub description: &'a str,
    /// The complete front matter.
    pub front_matter: &'a Map<String, Value>,
    /// What follows the front matter.
    pub body: &'a str,
    /// All regular files, `SKILL.md` included.
    pub files: &'a [MadeFile],
    /// The package's digest. With the seed it decides every draw.
    pub digest_hex: &'a str,
}
