//! Suppressions: accepted findings, each with a reason.
//!
//! In a document: `<!-- assay: allow CODE, CODE: the reason -->`, anywhere in the body, for the
//! whole package. In `assay.toml`:
//!
//! ```toml
//! [[lint.allow]]
//! code = "name-directory"
//! path = "skills/legacy-*"
//! reason = "renaming would break published links"
//! ```
//!
//! Without a reason nothing is suppressed, and the missing reason is a finding. A comment does not
//! suppress a safety rule unless the user's configuration allows it: the author of a skill must not
//! decide what is reported.

use std::ops::Range;

use assay_syntax::markdown::Outline;

/// The comments of one document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Suppressions {
    /// Codes, each with the reason and the position of the comment.
    pub allowed: Vec<(String, String, Range<usize>)>,
    /// Comments without a reason.
    pub unreasoned: Vec<Range<usize>>,
}

impl Suppressions {
    /// Finds the comments in a text.
    pub(crate) fn find(text: &str, markdown: &Outline) -> Self {
        let mut found = Self::default();
        for range in &markdown.html {
            let Some(inner) = text[range.clone()].trim().strip_prefix("<!--") else { continue };
            let inner = inner.trim_end().strip_suffix("-->").unwrap_or(inner).trim();
            let Some(rest) = inner.strip_prefix("assay:").map(str::trim_start) else { continue };
            let Some(rest) = rest.strip_prefix("allow ") else { continue };
            let (codes, reason) = rest.split_once(':').unwrap_or((rest, ""));
            if reason.trim().is_empty() {
                found.unreasoned.push(range.clone());
                continue;
            }
            for code in codes.split(',').map(str::trim).filter(|code| !code.is_empty()) {
                found.allowed.push((code.to_owned(), reason.trim().to_owned(), range.clone()));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use assay_syntax::markdown::Dialect;

    use super::*;

    #[test]
    fn comments_need_a_reason() {
        let text = "<!-- assay: allow a, b: known -->\n\n<!-- assay: allow c -->\n\n<!-- other -->\n";
        let found = Suppressions::find(text, &Outline::read(text, 0, Dialect::GitHub));
        let codes: Vec<_> =
            found.allowed.iter().map(|(code, reason, _)| (code.as_str(), reason.as_str())).collect();
        assert_eq!(codes, [("a", "known"), ("b", "known")]);
        assert_eq!(found.unreasoned.len(), 1);
    }
}
