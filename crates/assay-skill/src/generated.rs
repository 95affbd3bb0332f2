//! Skills that a model wrote, with what it wrote them from.
//!
//! `assay draft skill` writes them into a folder with a `generated.json`. The conditions `generated-from-…` provide them, on tasks
//! that they were not written from.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Digest;

/// The name of the file with the origin of the skills of a folder.
pub const FILE: &str = "generated.json";

/// The format of [`FILE`].
pub const SCHEMA: &str = "assay.generated-skills/1";

/// Most bytes of [`FILE`].
const FILE_BYTES: u64 = 16 << 20;

/// What skills were written from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SkillOrigin {
    /// Instructions and given files of tasks.
    Task,
    /// Documentation.
    Docs,
    /// Recorded runs of agents.
    Runs,
}

impl SkillOrigin {
    /// Its name, as in the file and in conditions.
    pub fn name(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Docs => "docs",
            Self::Runs => "runs",
        }
    }
}

/// The content of [`FILE`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratedSkills {
    /// [`SCHEMA`].
    pub schema: String,
    /// What the skills were written from.
    pub origin: SkillOrigin,
    /// The model, as `provider:model`.
    pub model: String,
    /// The version of the prompts.
    pub prompt: String,
    /// The skills.
    pub skills: Vec<GeneratedSkill>,
    /// Tasks that the model saw, or whose runs it saw.
    #[serde(default)]
    pub tasks: Vec<SourceTask>,
    /// Files that the model saw.
    #[serde(default)]
    pub files: Vec<SourceFile>,
    /// Trials that the model saw, by id.
    #[serde(default)]
    pub trials: Vec<String>,
}

/// A skill of the folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratedSkill {
    /// Its folder.
    pub directory: String,
    /// The digest of its package as it was written.
    pub digest: Digest,
}

/// A task that skills were written from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SourceTask {
    /// Its name.
    pub name: String,
    /// Its digest, as a plan has it.
    pub digest: String,
}

/// A file that skills were written from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SourceFile {
    /// Its path, as it was given.
    pub path: String,
    /// The digest of its bytes.
    pub digest: Digest,
}

/// Why the origin of skills cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum GeneratedError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The file has another form.
    #[error("{path} is not of the form {SCHEMA}: {reason}")]
    Form {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
}

impl GeneratedSkills {
    /// Reads the origin of the skills of a folder.
    ///
    /// # Errors
    /// The folder has no such file, or it has another form.
    pub fn read(folder: &Path) -> Result<Self, GeneratedError> {
        let path = folder.join(FILE).display().to_string();
        let read = assay_fs::read_within(folder, Path::new(FILE), FILE_BYTES);
        let content = read.map_err(|source| GeneratedError::Read { path: path.clone(), source })?;
        if content.truncated {
            let reason = format!("it has more than {FILE_BYTES} bytes");
            return Err(GeneratedError::Form { path, reason });
        }
        let read: Self = serde_json::from_slice(&content.bytes)
            .map_err(|error| GeneratedError::Form { path: path.clone(), reason: error.to_string() })?;
        if read.schema == SCHEMA {
            Ok(read)
        } else {
            Err(GeneratedError::Form { path, reason: format!("its `schema` is {:?}", read.schema) })
        }
    }
}
