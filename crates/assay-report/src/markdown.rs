//! Markdown as GitHub renders it.
//!
//! Untrusted names are code spans, in which markup, mentions and links have no effect; other
//! untrusted text is escaped.

use assay_analysis::Report;

use crate::doc::{Block, Cell, Document, Grid, Plain, Span, spans};
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
    let mut text = match document.outcome.as_str() {
        "" => format!("# Run {}\n\n", code(&document.run)),
        outcome => format!("# Run {} · {}\n\n", code(&document.run), words(outcome)),
    };
    if let Some(warning) = document.demonstration {
        text.push_str(&format!("> **{}**\n\n", words(warning)));
    }
    for line in [&document.answer, &document.provenance, &document.facts] {
        text.push_str(&format!("{}\n\n", words(line)));
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

/// A name as a code span, in as many backticks as it needs.
pub(crate) fn code(name: &str) -> String {
    if name.is_empty() {
        return String::new();
    }
    let longest = name.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // Markdown removes one space next to the fence.
    let space = if name.contains('`') || name.trim() != name { " " } else { "" };
    format!("{fence}{space}{name}{space}{fence}")
}

/// Plain words at the beginning of a block, where a sign would begin a list or a rule.
pub(crate) fn words(text: &str) -> String {
    let sign = if text.starts_with(['+', '-', '=']) { "\\" } else { "" };
    format!("{sign}{}", inline(text))
}

/// Plain words, with code as code and everything else as written.
fn inline(text: &str) -> String {
    spans(text)
        .into_iter()
        .map(|span| match span {
            Span::Plain(text) => escape(text),
            Span::Code(text) => code(text),
        })
        .collect()
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' | '~' | '!' | '$' => {
                escaped.push('\\');
                escaped.push(c);
            }
            // An invisible word joiner prevents mentions and links.
            '@' => escaped.push_str("@\u{2060}"),
            ':' if text[at..].starts_with("://") => escaped.push_str(":\u{2060}"),
            '.' if text[..at].to_ascii_lowercase().ends_with("www") => escaped.push_str("\u{2060}."),
            c => escaped.push(c),
        }
    }
    escaped
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

    #[test]
    fn external_words_are_not_markup() {
        let check = |text: &str, expected: &str| assert_eq!(words(text), expected, "{text}");
        check("`placebo` helps", "`placebo` helps");
        check("<img src=x>", "&lt;img src=x&gt;");
        check("**a** _b_ [c](d) ![e](f)", "\\*\\*a\\*\\* \\_b\\_ \\[c\\](d) \\!\\[e\\](f)");
        check("| a |", "\\| a \\|");
        check("# a", "\\# a");
        check("- a - b", "\\- a - b");
        check("ask @someone", "ask @\u{2060}someone");
        check("see https://a.b and WWW.a.b", "see https:\u{2060}//a.b and WWW\u{2060}.a.b");
        check("a \\| b", "a \\\\\\| b");
    }
}
