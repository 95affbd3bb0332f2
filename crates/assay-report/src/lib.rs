//! Findings to terminal, Markdown, HTML and JSON.
//!
//! A renderer lays findings out and computes none. It is one file here and one line in [`find`]. Names that come from skills,
//! tasks and models are hostile: each renderer escapes them for its medium.

mod columns;
mod details;
mod doc;
mod exhibit;
mod grids;
mod html;
mod json;
mod labels;
mod markdown;
mod plot;
mod redact;
mod sections;
mod sentences;
mod terminal;
mod text;
mod view;

use assay_analysis::{Comparison, Report};

pub use details::{changed_tests, details};
pub use exhibit::{Bar, Exhibit, Piece};
pub use redact::redact;
pub use text::{clean, seconds};
pub use view::{view_html, view_text};

/// Lays a report out.
pub trait Renderer {
    /// The name it has on the command line.
    fn name(&self) -> &'static str;

    /// The report, whole, with a line break at its end.
    fn render(&self, report: &Report, style: Style) -> String;
}

/// What the reader's screen is like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Style {
    /// Whether to colour. Nothing needs colour to be understood.
    pub color: bool,
    /// Columns of the terminal; `None` where the text goes elsewhere.
    pub width: Option<usize>,
}

impl Style {
    /// Longest line of a sentence, in columns: longer ones are hard to follow.
    pub(crate) fn sentence(self) -> usize {
        self.width.map_or(100, |width| width.clamp(40, 120))
    }

    /// Longest line of a table, in columns.
    pub(crate) fn table(self) -> usize {
        self.width.map_or(160, |width| width.max(40))
    }
}

/// A comparison's verdict and what it means, in one line without colour.
pub fn verdict_line(comparison: &Comparison, margin: f64) -> String {
    let sentence = sentences::sentence(comparison, margin);
    let (condition, baseline) = (clean(&comparison.condition), clean(&comparison.baseline));
    format!("{condition} against {baseline}: {}. {sentence}", comparison.verdict)
}

/// A renderer by its name.
pub fn find(name: &str) -> Option<&'static dyn Renderer> {
    let all: [&dyn Renderer; 4] = [&terminal::Terminal, &markdown::Markdown, &html::Html, &json::Json];
    all.into_iter().find(|renderer| renderer.name() == name)
}
