//! Severities.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The severity of a finding. Ordered: `max` is the most severe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; changes no verdict.
    Info,
    /// It works, but something is lost, ignored, or likely to go wrong.
    Warning,
    /// It is refused or dropped, or its results would be wrong.
    Error,
}

impl Severity {
    /// The word for it, in reports and in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two crates once had opposite orders; every comparison in the workspace relies on this one.
    #[test]
    fn the_worst_is_the_greatest() {
        assert!(Severity::Info < Severity::Warning && Severity::Warning < Severity::Error);
        let all = [Severity::Warning, Severity::Error, Severity::Info];
        assert_eq!(all.into_iter().max(), Some(Severity::Error));
        assert_eq!(all.into_iter().min(), Some(Severity::Info));
    }

    #[test]
    fn json_and_text_use_the_same_words() {
        for (severity, word) in
            [(Severity::Info, "info"), (Severity::Warning, "warning"), (Severity::Error, "error")]
        {
            let json = format!("\"{word}\"");
            assert_eq!(serde_json::to_string(&severity).expect("a word"), json);
            assert_eq!(serde_json::from_str::<Severity>(&json).expect("a severity"), severity);
            assert_eq!(severity.to_string(), word);
        }
    }
}
