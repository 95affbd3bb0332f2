//! What an action does.

/// What an action does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verb {
    /// Looks into a file.
    Read,
    /// Looks for something.
    Search,
    /// Makes or changes a file; an edit is a write.
    Write,
    /// Runs a program.
    Run,
}

impl Verb {
    /// In lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Search => "search",
            Self::Write => "write",
            Self::Run => "run",
        }
    }
}
