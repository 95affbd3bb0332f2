//! What was imported, for people.

use std::collections::BTreeMap;

use assay_diagnostic::{clean, counted};

use super::{Imported, ImportedTable};

/// How often each reason was met, one a line.
pub fn count_lines(counts: &BTreeMap<String, usize>) -> impl Iterator<Item = String> {
    counts.iter().map(|(what, n)| format!("{n:6}  {}", clean(what)))
}

impl ImportedTable {
    /// What was imported, for people.
    pub fn render_text(&self) -> String {
        let imported = self;
        let trials = counted(imported.imported, "trial", "trials");
        let mut text = format!("{}: {trials}\n", imported.run);
        for (heading, counts) in [("condition", &imported.by_condition), ("outcome", &imported.by_outcome)] {
            for line in count_lines(counts) {
                text.push_str(&format!("  {heading:9}  {line}\n"));
            }
        }
        if !imported.numbers.is_empty() {
            let numbers: Vec<&str> = imported.numbers.iter().map(String::as_str).collect();
            text.push_str(&format!("  numbers    {}\n", numbers.join(", ")));
        }
        for (heading, count) in [("filtered", imported.filtered), ("skipped", imported.skipped.len())] {
            if count > 0 {
                text.push_str(&format!("  {heading:9}  {}\n", counted(count, "row", "rows")));
            }
        }
        text
    }
}

impl Imported {
    /// What was imported, for people.
    pub fn render_text(&self) -> String {
        let imported = self;
        let trials = counted(imported.imported, "trial", "trials");
        let mut text = format!("{}: {trials}\n", imported.run);
        for (heading, counts) in [
            ("condition", &imported.by_condition),
            ("outcome", &imported.by_outcome),
            ("unusable", &imported.unusable),
        ] {
            for line in count_lines(counts) {
                text.push_str(&format!("  {heading:9}  {line}\n"));
            }
        }
        text
    }
}
