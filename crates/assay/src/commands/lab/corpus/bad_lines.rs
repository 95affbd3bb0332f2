//! Lines of a corpus that hold no record.

use std::path::Path;

use assay_corpus::input::BadLine;

use crate::ui::Ui;

/// Reports lines that hold no record: the first hundred in full, the rest as a count.
pub(in crate::commands) struct BadLines<'a> {
    ui: &'a Ui,
    path: &'a Path,
    pub(in crate::commands) lines: usize,
}

impl<'a> BadLines<'a> {
    const MOST: usize = 100;

    pub(in crate::commands) fn new(ui: &'a Ui, path: &'a Path) -> Self {
        Self { ui, path, lines: 0 }
    }

    pub(in crate::commands) fn note(&mut self, bad: &BadLine) {
        self.lines += 1;
        if self.lines <= Self::MOST {
            self.ui.note(&format!("{}:{}: {}; skipped", self.path.display(), bad.line, bad.message));
        }
    }

    pub(in crate::commands) fn summarize(&self) {
        if self.lines > Self::MOST {
            self.ui.note(&format!("{} invalid lines in {}", self.lines, self.path.display()));
        }
    }
}
