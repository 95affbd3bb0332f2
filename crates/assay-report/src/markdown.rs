//! Markdown as GitHub renders it.
//!
//! Untrusted names are code spans, in which markup, mentions and links have no effect; other
//! untrusted text is escaped.

use assay_analysis::Report;

use crate::doc::{Block, Cell, Document, Grid, Plain};
use crate::inline::{code, inline, words};
use crate::sections::document;
use crate::short::comment;
use crate::{Renderer, Style};

/// Headings, sentences and tables, for a pull request or a README.
pub(crate) struct Markdown;

impl Renderer for Markdown {
    fn name(&self) -> &'static str {
        "markdown"
    }

    fn render(&self, report: &Report, style: Style<'_>) -> String {
        if style.short { comment(report) } else { page(&document(report)) }
    }
}

fn page(document: &Document) -> String {
    page_of("Run", document)
}

/// A document as a page whose title begins with these words.
pub(crate) fn page_of(kind: &str, document: &Document) -> String {
    let mut text = match document.outcome.as_str() {
        "" => format!("# {kind} {}\n\n", code(&document.run)),
        outcome => format!("# {kind} {} · {}\n\n", code(&document.run), words(outcome)),
    };
    if let Some(warning) = document.demonstration {
        text.push_str(&format!("> **{}**\n\n", words(warning)));
    }
    for line in [&document.answer, &document.provenance, &document.facts] {
        if !line.is_empty() {
            text.push_str(&format!("{}\n\n", words(line)));
        }
    }
    list(&mut text, &document.notes);
    for section in &document.sections {
        text.push_str(&format!("## {}\n\n", words(section.title)));
        for block in &section.blocks {
            write_block(&mut text, block);
        }
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn write_block(text: &mut String, block: &Block) {
    match block {
        Block::Who(who) => text.push_str(&format!("### {}\n\n", code(who))),
        Block::Text(line) => text.push_str(&format!("{}\n\n", words(line))),
        Block::List(lines) => list(text, lines),
        Block::Verdict(verdict) => text.push_str(&format!(
            "{} against {}: **{}**. {}\n\n",
            code(&verdict.condition),
            code(&verdict.baseline),
            verdict.word(),
            inline(&verdict.sentence)
        )),
        Block::Grid(grid) => table(text, grid),
        // Every plot has its table.
        Block::Plot(_) => {}
    }
}

fn list(text: &mut String, lines: &[String]) {
    for line in lines {
        text.push_str(&format!("- {}\n", words(line)));
    }
    if !lines.is_empty() {
        text.push('\n');
    }
}

fn table(text: &mut String, grid: &Grid) {
    if !grid.caption.is_empty() {
        text.push_str(&format!("{}:\n\n", words(&grid.caption)));
    }
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    text.push_str(&row(grid.columns.iter().map(|column| cell(&column.title)).collect()));
    text.push_str(&row(grid
        .columns
        .iter()
        .map(|column| if column.numbers { "---:" } else { "---" }.to_owned())
        .collect()));
    for cells in &grid.rows {
        text.push_str(&row(cells.iter().map(cell).collect()));
    }
    text.push('\n');
}

fn cell(cell: &Cell) -> String {
    match cell.plain() {
        Plain::Name(name) => code(name).replace('|', "\\|"),
        Plain::Text(text) => inline(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_names_are_escaped() {
        let check = |name: &str, expected: &str| assert_eq!(cell(&Cell::Name(name.to_owned())), expected);
        check("curated", "`curated`");
        check("a|b", "`a\\|b`");
        check("a`b", "`` a`b ``");
        check("``", "``` `` ```");
        check("<script>", "`<script>`");
        check("@someone #1", "`@someone #1`");
        check("", "");
        check(" ", "`   `");
    }
}
