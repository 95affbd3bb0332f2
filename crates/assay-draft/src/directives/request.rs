//! What a model is asked about the directives of a skill.

use assay_audit::directive::SkillPackage;
use assay_audit::directive::statement::read_documents;
use assay_judge::Request;
use assay_syntax::parts::{Part, delimited};

use super::DraftDirectives;
use crate::prompts::{DIRECTIVES, DIRECTIVES_SYSTEM};

/// Most directives that a model lists.
pub(crate) const MOST_LISTED: usize = 80;

/// Asks for the directives of a skill. `found` is what rules find in it.
pub(crate) fn request_directives(package: &SkillPackage, found: &DraftDirectives) -> Request {
    let documents: Vec<Part> = read_documents(package)
        .into_iter()
        .filter(|(extent, _)| extent.read_to > 0)
        .map(|(extent, text)| {
            let more = if extent.read_to < extent.lines { ", the rest is left out" } else { "" };
            (format!("document {}{more}", extent.file), number_lines(text))
        })
        .collect();
    let passages: String = found
        .directives
        .iter()
        .map(|directive| format!("{} {}\n", directive.file, directive.lines))
        .collect();
    let most = MOST_LISTED.to_string();
    let text = DIRECTIVES.fill(&[
        ("most", &most),
        ("skill", &delimited("SKILL", &documents, &[&passages])),
        ("passages", &delimited("PASSAGES", &[("lines".to_owned(), passages.clone())], &[])),
    ]);
    Request { system: DIRECTIVES_SYSTEM.text.to_owned(), text }
}

/// The lines of a text with their numbers. Signs that some readers take for the end of a line are blanks.
fn number_lines(text: &str) -> String {
    let ends = |sign: char| sign != '\t' && sign.is_control() || matches!(sign, '\u{2028}' | '\u{2029}');
    let lines = text.lines().enumerate();
    lines.map(|(at, line)| format!("{}| {}\n", at + 1, line.replace(ends, " "))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directives::find_directives;

    #[test]
    fn lines_have_their_numbers_and_passages_their_places() {
        let text = b"---\nname: kiln\ndescription: d\n---\n# Kiln\n\n## Rules\n\nNever open the `lid`.\n";
        let package = SkillPackage::from_document(text);
        let request = request_directives(&package, &find_directives("kiln", &package));
        for part in
            ["5| # Kiln\n", "9| Never open the `lid`.\n", "SKILL.md 9\n", "document SKILL.md", "at most 80"]
        {
            assert!(request.text.contains(part), "{part}: {}", request.text);
        }
        assert!(!request.text.contains("{{"), "{}", request.text);
    }
}
