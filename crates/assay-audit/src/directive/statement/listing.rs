//! What is found in a package.

/// Longest text and quote of a statement, in characters.
pub(super) const TEXT_CAP: usize = 400;

/// A passage that tells an agent what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The file of the package that has it.
    pub file: String,
    /// Its lines: ranges of first and last line, from 1, in ascending order.
    pub lines: Vec<(usize, usize)>,
    /// Words of its first line, unchanged.
    pub quote: String,
    /// What it says, without marks.
    pub text: String,
}

/// A document of a package, as far as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentExtent {
    /// Its path in the package.
    pub file: String,
    /// Its lines.
    pub lines: usize,
    /// The last line that was read; 0 where the limit left out the whole file.
    pub read_to: usize,
}

/// The statements of a package, and what was read of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statements {
    /// In the order of their files and lines.
    pub statements: Vec<Statement>,
    /// The documents in the order in which they were read.
    pub documents: Vec<DocumentExtent>,
}
