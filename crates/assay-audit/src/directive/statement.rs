//! The passages of a skill that tell an agent what to do: sentences, list items, rows of tables, lines of code and
//! templates, each with its lines.
//!
//! A [`super::Directive`] is something that a run can be checked against, by a pattern. A statement is what a reader
//! would list as an instruction, such as a policy without any name or number in it. Rules find statements by their form:
//! imperatives, modal words, limits, names, and the place in lists and tables.

use super::SkillPackage;
use super::extract::body_start;
use super::unit::is_document;

mod code;
mod group;
mod listing;
mod read;
mod score;
mod verbs;

use group::fit_budget;
pub use listing::{DocumentExtent, Statement, Statements};
use read::StatementReader;

/// Most bytes of a package's documents that are read, `SKILL.md` first. What exceeds it is left out, by whole lines.
pub const DOCUMENT_BYTES: usize = super::ask::PROMPT_CAP;

/// Statements of a package of up to [`SHORT`] bytes, at most. Readers list 15 to 23 for a `SKILL.md` of 3 to 15 KB.
const STATEMENTS: usize = 30;

/// A package of so many bytes has at most [`STATEMENTS`] statements, and a longer one a further one for each [`EACH`].
const SHORT: usize = 12 << 10;

/// Bytes of a long package for each further statement: a published list of a package of 85 KB has 65.
const EACH: usize = 2 << 10;

/// The documents of a package up to [`DOCUMENT_BYTES`]: each file, with the part of its text that is read.
pub fn read_documents(skill: &SkillPackage) -> Vec<(DocumentExtent, &str)> {
    let documents = skill.files.iter().enumerate().filter(|(at, file)| *at == 0 || is_document(&file.path));
    let mut left = DOCUMENT_BYTES;
    let read = documents.map(|(_, file)| {
        let text = whole_lines(&file.text, left);
        // A document that does not fit ends the reading: a later, shorter one would be read out of order.
        left = if text.len() < file.text.len() { 0 } else { left - text.len() };
        let extent = DocumentExtent {
            file: file.path.clone(),
            lines: file.text.lines().count(),
            read_to: text.lines().count(),
        };
        (extent, text)
    });
    read.collect()
}

/// The statements of a package, without a model. Of a package with more than a reader would list, neighbours are joined:
/// first those of one paragraph, then those of one list, table or block of code, then those of one section.
pub fn read_statements(skill: &SkillPackage) -> Statements {
    let documents = read_documents(skill);
    let names = super::extract::names_of(skill);
    let (mut found, mut extents, mut bytes) = (Vec::new(), Vec::new(), 0);
    for (at, (_, text)) in documents.iter().enumerate() {
        let start = body_start(skill, at).min(text.len());
        bytes += text.len() - start;
        StatementReader::new(at, text, &names, &mut found, &mut extents).read_body(start);
    }
    let budget = STATEMENTS + bytes.saturating_sub(SHORT) / EACH;
    let statements = fit_budget(found, &extents, budget.min(super::DIRECTIVES));
    let files: Vec<&str> = documents.iter().map(|(extent, _)| extent.file.as_str()).collect();
    Statements {
        statements: statements.into_iter().map(|passage| passage.into_statement(&files)).collect(),
        documents: documents.into_iter().map(|(extent, _)| extent).collect(),
    }
}

/// The longest beginning of a text that ends with a line and has at most so many bytes.
fn whole_lines(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let end = text.as_bytes()[..bytes].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    &text[..end]
}

#[cfg(test)]
mod tests;
