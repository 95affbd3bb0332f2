//! A report as paragraphs, tables and plots, before any markup.
//!
//! assay's own text may have `code` between backticks. Names from skills, tasks and models are
//! [`Cell::Name`].

use assay_analysis::{INTERIM, VerdictKind};

use crate::links::Target;
use crate::plot::Plot;

/// A complete report.
pub(crate) struct Document {
    /// The run's name.
    pub(crate) run: String,
    /// What the scores are, in a few words; empty for other pages.
    pub(crate) outcome: String,
    /// The banner of a run that measures no model.
    pub(crate) demonstration: Option<&'static str>,
    /// The answer in one sentence; empty for other pages.
    pub(crate) answer: String,
    /// Model, agent, date and skills in one line; empty for other pages.
    pub(crate) provenance: String,
    /// The run in one line.
    pub(crate) facts: String,
    /// Notes.
    pub(crate) notes: Vec<String>,
    pub(crate) sections: Vec<Section>,
}

/// When a terminal shows a section. Pages show all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// Always.
    Summary,
    /// With `--tests`.
    Tests,
    /// With `--details`.
    Details,
}

/// A section.
pub(crate) struct Section {
    pub(crate) title: &'static str,
    pub(crate) level: Level,
    pub(crate) blocks: Vec<Block>,
}

/// An element of a section.
pub(crate) enum Block {
    /// Agent, model and sandbox of the following results.
    Who(String),
    /// A paragraph.
    Text(String),
    /// Lines.
    List(Vec<String>),
    /// A verdict.
    Verdict(Verdict),
    /// A table.
    Grid(Grid),
    /// A plot. Its figures are in a table as well.
    Plot(Plot),
}

/// One verdict.
pub(crate) struct Verdict {
    pub(crate) condition: String,
    pub(crate) baseline: String,
    /// `None` while the run is not complete.
    pub(crate) kind: Option<VerdictKind>,
    pub(crate) sentence: String,
    /// What the verdict rests on.
    pub(crate) target: Option<Target>,
}

impl Verdict {
    /// The word for the verdict, or for its absence.
    pub(crate) fn word(&self) -> &'static str {
        self.kind.map_or(INTERIM, VerdictKind::word)
    }
}

/// A table.
#[derive(Default)]
pub(crate) struct Grid {
    /// The caption, unless the title of the section is enough.
    pub(crate) caption: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Cell>>,
    /// Whether rows with the same first cell belong together.
    pub(crate) grouped: bool,
    /// Whether a terminal shows it with the details only.
    pub(crate) detail: bool,
    /// Whether a page folds it, because a plot or another table has the same figures.
    pub(crate) folded: bool,
}

/// A column's heading, and whether it has numbers.
pub(crate) struct Column {
    pub(crate) title: Cell,
    pub(crate) numbers: bool,
    /// Whether a terminal shows it with the details only.
    pub(crate) detail: bool,
}

impl Column {
    pub(crate) fn new(title: impl Into<Cell>, numbers: bool) -> Self {
        Self { title: title.into(), numbers, detail: false }
    }
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell {
    /// A name from outside.
    Name(String),
    /// Text of assay, or a number.
    Text(String),
    /// A cell that a page links to what its figure rests on.
    Link(Box<Cell>, Target),
    /// A cell of a heat map, with a rate between 0 and 1.
    Shaded(Box<Cell>, f64),
}

/// The text of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Plain<'a> {
    /// A name from outside.
    Name(&'a str),
    /// Text of assay, or a number.
    Text(&'a str),
}

impl Cell {
    /// The cell with a link.
    pub(crate) fn link(self, target: Target) -> Self {
        Self::Link(Box::new(self), target)
    }

    /// The cell without its link and its shade, for renderers that have neither.
    pub(crate) fn plain(&self) -> Plain<'_> {
        match self {
            Self::Link(cell, _) | Self::Shaded(cell, _) => cell.plain(),
            Self::Name(name) => Plain::Name(name),
            Self::Text(text) => Plain::Text(text),
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<usize> for Cell {
    fn from(number: usize) -> Self {
        Self::Text(number.to_string())
    }
}

impl Grid {
    /// A table with columns of words, then columns of numbers.
    pub(crate) fn new(caption: &str, words: &[&str], numbers: &[&str]) -> Self {
        let column = |numbers: bool| move |title: &&str| Column::new(*title, numbers);
        let columns = words.iter().map(column(false)).chain(numbers.iter().map(column(true))).collect();
        Self { caption: caption.to_owned(), columns, ..Self::default() }
    }

    /// The table as one that a terminal shows with the details only.
    pub(crate) fn into_detail(self) -> Self {
        Self { detail: true, ..self }
    }

    /// The table as one that a page folds.
    pub(crate) fn into_folded(self) -> Self {
        Self { folded: true, ..self }
    }

    /// Removes a column.
    pub(crate) fn remove_column(&mut self, title: &str) {
        let is_it = |column: &Column| matches!(&column.title, Cell::Text(found) if found == title);
        if let Some(at) = self.columns.iter().position(is_it) {
            self.columns.remove(at);
            for row in &mut self.rows {
                row.remove(at);
            }
        }
    }

    /// Adds columns that a terminal shows with the details only.
    pub(crate) fn detail_columns(&mut self, titles: &[&str]) {
        for column in &mut self.columns {
            column.detail |= matches!(&column.title, Cell::Text(title) if titles.contains(&title.as_str()));
        }
    }
}

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Span<'a> {
    Plain(&'a str),
    Code(&'a str),
}

/// Splits a text at backticks. Only plain names become code; other backticks are kept.
pub(crate) fn spans(text: &str) -> Vec<Span<'_>> {
    let mut spans = Vec::new();
    let mut rest = text;
    let mut from = 0;
    while let Some(open) = rest[from..].find('`').map(|at| from + at) {
        let inside = &rest[open + 1..];
        let harmless = |c: char| c.is_ascii_alphanumeric() || "-_./: =+".contains(c);
        let is_name = |text: &str| !text.is_empty() && text.trim() == text && text.chars().all(harmless);
        match inside.find('`').filter(|&close| is_name(&inside[..close])) {
            Some(close) => {
                spans.push(Span::Plain(&rest[..open]));
                spans.push(Span::Code(&inside[..close]));
                rest = &inside[close + 1..];
                from = 0;
            }
            None => from = open + 1,
        }
    }
    spans.push(Span::Plain(rest));
    spans.retain(|span| !matches!(span, Span::Plain("")));
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_between_backticks_are_code() {
        use Span::{Code, Plain};
        let check = |text: &str, expected: &[Span<'_>]| assert_eq!(spans(text), expected, "{text}");
        check("", &[]);
        check("a `b-c` d", &[Plain("a "), Code("b-c"), Plain(" d")]);
        check("`a``b`", &[Code("a"), Code("b")]);
        check("a ` b", &[Plain("a ` b")]);
        check("`<b>` `c`", &[Plain("`<b>` "), Code("c")]);
        check("``", &[Plain("``")]);
        check("a ` b `c` d", &[Plain("a ` b "), Code("c"), Plain(" d")]);
        check("é`ü`ö", &[Plain("é`ü`ö")]);
    }
}
