//! What every renderer is.

use assay_analysis::Report;

/// Lays a report out.
pub trait Renderer {
    /// The name it has on the command line.
    fn name(&self) -> &'static str;

    /// The complete report, with a line break at its end.
    fn render(&self, report: &Report, style: Style<'_>) -> String;
}

/// The reader's screen, and how much a terminal shows. Pages show everything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "four independent choices")]
pub struct Style<'a> {
    /// Whether to colour. Nothing needs colour to be understood.
    pub color: bool,
    /// Columns of the terminal; `None` for other outputs.
    pub width: Option<usize>,
    /// Whether Markdown is a comment of a few lines.
    pub short: bool,
    /// Whether to show the checks that changed against the baseline.
    pub tests: bool,
    /// Whether to show the details: cost against pass rate, variance, parts of the suite, and how
    /// to read the figures.
    pub details: bool,
    /// The store that commands in sentences name, as a word of a shell; `None` for the default one.
    pub store: Option<&'a str>,
}

impl Style<'_> {
    /// Longest line of a sentence, in columns: longer ones are hard to follow.
    pub(crate) fn sentence(self) -> usize {
        self.width.map_or(100, |width| width.clamp(40, 120))
    }

    /// Longest line of a table, in columns.
    pub(crate) fn table(self) -> usize {
        self.width.map_or(160, |width| width.max(40))
    }
}
