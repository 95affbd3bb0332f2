//! Pages other than reports of runs, with the same style and content policy.

use crate::doc::{Block, Cell, Column, Document, Grid, Level, Section};
use crate::html;
use crate::plot::Plot;
use crate::plot::bars::{Bar, bars, histogram};
use crate::text::clean;

/// A page.
#[derive(Debug, Clone, Default)]
pub struct Exhibit {
    /// The title.
    pub title: String,
    /// Facts in one line.
    pub facts: String,
    /// Notes.
    pub notes: Vec<String>,
    /// Sections.
    pub parts: Vec<(&'static str, Vec<Piece>)>,
}

/// An element of a section.
#[derive(Debug, Clone)]
pub enum Piece {
    /// A paragraph.
    Text(String),
    /// A table: caption, columns and whether each has numbers, rows.
    Table(String, Vec<(&'static str, bool)>, Vec<Vec<String>>),
    /// Horizontal bars: caption, and names with values in [0, 1] and labels.
    Bars(String, Vec<(String, f64, String)>),
    /// A histogram with an optional curve: caption, label of the horizontal axis, and columns.
    Histogram(String, String, Vec<Bar>),
}

impl Exhibit {
    /// The page as self-contained HTML.
    pub fn html(&self) -> String {
        let sections = self.parts.iter().map(|(title, pieces)| Section {
            title,
            level: Level::Summary,
            blocks: pieces.iter().filter_map(block).collect(),
        });
        html::page(&Document {
            outcome: String::new(),
            run: clean(&self.title),
            demonstration: None,
            answer: String::new(),
            provenance: String::new(),
            facts: clean(&self.facts),
            notes: self.notes.iter().map(|note| clean(note)).collect(),
            sections: sections.collect(),
        })
    }
}

fn block(piece: &Piece) -> Option<Block> {
    let plotted = |plot: Option<Plot>| plot.map(Block::Plot);
    match piece {
        Piece::Text(text) => Some(Block::Text(clean(text))),
        Piece::Bars(caption, rows) => plotted(bars(clean(caption), rows)),
        Piece::Histogram(caption, axis, columns) => plotted(histogram(clean(caption), axis, columns)),
        Piece::Table(caption, columns, rows) => Some(Block::Grid(Grid {
            caption: clean(caption),
            columns: columns.iter().map(|&(title, numbers)| Column::new(title, numbers)).collect(),
            rows: rows.iter().map(|row| row.iter().map(|cell| Cell::Name(clean(cell))).collect()).collect(),
            ..Grid::default()
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_contains_its_parts_escaped() {
        let column = |label: &str, count| Bar { label: label.to_owned(), count, expected: Some(count) };
        let page = Exhibit {
            title: "<script>x</script>".to_owned(),
            facts: "2 records".to_owned(),
            notes: Vec::new(),
            parts: vec![(
                "Sizes",
                vec![
                    Piece::Text("Words.".to_owned()),
                    Piece::Table(
                        "T".to_owned(),
                        vec![("name", false), ("n", true)],
                        vec![vec!["<b>".to_owned(), "1".to_owned()]],
                    ),
                    Piece::Bars("B".to_owned(), vec![("<i>md</i>".to_owned(), 0.5, "50 %".to_owned())]),
                    Piece::Histogram(
                        "H".to_owned(),
                        "bytes".to_owned(),
                        vec![column("1", 2.0), column("2", 4.0)],
                    ),
                ],
            )],
        };
        let html = page.html();
        assert_eq!(html.matches("<svg").count(), 2, "{html}");
        assert!(!html.contains("<script") && !html.contains("<b>&") && !html.contains("<i>"), "{html}");
        assert!(html.contains("&lt;i&gt;md") && html.contains("<p>Words.</p>"), "{html}");
        let nothing = Exhibit {
            parts: vec![("Empty", vec![Piece::Histogram(String::new(), String::new(), Vec::new())])],
            ..Exhibit::default()
        };
        assert_eq!(nothing.html().matches("<svg").count(), 0);
    }
}
