//! Lines of a corpus that hold no record.

use std::path::Path;

use assay_skill::corpus::input::BadLine;

use assay_cli::ui::Ui;

/// Reports lines that hold no record: the first hundred in full, the rest as a count.
pub(crate) struct BadLines<'a> {
    ui: &'a Ui,
    path: &'a Path,
    /// How many there are.
    pub(crate) lines: usize,
}

impl<'a> BadLines<'a> {
    const MOST: usize = 100;

    /// Lines of a file, none so far.
    pub(crate) fn new(ui: &'a Ui, path: &'a Path) -> Self {
        Self { ui, path, lines: 0 }
    }

    /// Reports a line.
    pub(crate) fn note(&mut self, bad: &BadLine) {
        self.lines += 1;
        if self.lines <= Self::MOST {
            self.ui.note(&format!("{}:{}: {}; skipped", self.path.display(), bad.line, bad.message));
        }
    }

    /// Reports how many there are, unless each was reported.
    pub(crate) fn summarize(&self) {
        if self.lines > Self::MOST {
            self.ui.note(&format!("{} invalid lines in {}", self.lines, self.path.display()));
        }
    }
}
