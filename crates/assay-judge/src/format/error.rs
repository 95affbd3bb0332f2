//! Why a file is not used as one of a format.

use crate::rubric::RubricError;

/// Why a text, or a file with it, cannot be used as one of a format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The text does not have the syntax or the keys of the format; with the place.
    #[error("{0}")]
    Syntax(String),
    /// What it says makes no rubric.
    #[error("{0}")]
    Rubric(String),
    /// A template in a text that its tool fills in and assay does not.
    #[error("the template {0:?} is not filled in: write the text in its place")]
    Template(String),
    /// It says something that is not supported, or a file that belongs to it cannot be used.
    #[error("{0}")]
    Unusable(String),
}

impl FormatError {
    /// A template with the line of the text that has it.
    pub(crate) fn with_line(self, text: &str) -> Self {
        match &self {
            Self::Template(template) => {
                let line = super::source::line_of(text, template);
                Self::Unusable(super::source::at_line(line, &self.to_string()))
            }
            _ => self,
        }
    }

    pub(crate) fn unusable(reason: impl Into<String>) -> Self {
        Self::Unusable(reason.into())
    }
}

impl From<RubricError> for FormatError {
    fn from(error: RubricError) -> Self {
        Self::Rubric(error.to_string())
    }
}
