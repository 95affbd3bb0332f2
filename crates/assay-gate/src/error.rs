//! Errors of policies.

use std::path::{Path, PathBuf};

use assay_diagnostic::ConfigErrors;

/// Why a policy cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Its content is invalid.
    #[error(transparent)]
    Invalid(#[from] ConfigErrors),
}

impl PolicyError {
    /// The same error of a file that was read in another place.
    #[must_use]
    pub(crate) fn at(self, given: &Path) -> Self {
        let given = given.to_owned();
        match self {
            Self::Read { source, .. } => Self::Read { path: given, source },
            Self::Invalid(errors) => Self::Invalid(errors.of_file(&given)),
        }
    }
}
