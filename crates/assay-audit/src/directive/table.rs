//! What the header and the first cell of a row say about the cells of a table.

use super::prose::Context;

/// Headers of columns that hold names of columns or keys.
const NAMES: [&str; 6] = ["column", "field", "key", "attribute", "property", "parameter"];

/// Headers of columns with what is not to be done.
const WRONG: [&str; 14] = [
    "avoid",
    "don't",
    "don’t",
    "do not",
    "bad",
    "wrong",
    "not ",
    "instead of",
    "incorrect",
    "❌",
    "never",
    "anti",
    "mistake",
    "common mistake",
];

/// Headers of columns with faults, whose denials demand.
const FAULTS: [&str; 7] = ["fault", "error", "problem", "issue", "violation", "defect", "symptom"];

/// Headers of columns with cases, in which the other cells of the row apply.
const CASES: [&str; 22] = [
    "when",
    "if",
    "case",
    "condition",
    "situation",
    "scenario",
    "input",
    "old",
    "level",
    "what",
    "platform",
    "os",
    "error",
    "symptom",
    "task",
    "need",
    "goal",
    "problem",
    "want",
    "trigger",
    "signal",
    "question",
];

/// Headers of columns with numbers that name and do not measure.
const MARKS: [&str; 14] = [
    "#", "no.", "id", "section", "ref", "version", "control", "cis", "rank", "step", "phase", "page", "year",
    "date",
];

/// The headers of a table, in lower case.
#[derive(Debug, Default)]
pub(super) struct Headers(Vec<String>);

impl Headers {
    /// Takes the header of a column.
    pub(super) fn set(&mut self, column: usize, text: &str) {
        self.0.resize(self.0.len().max(column + 1), String::new());
        self.0[column] = text.trim().to_lowercase();
    }

    fn get(&self, column: usize) -> &str {
        self.0.get(column).map_or("", String::as_str)
    }

    /// What a cell's place says, within what the text around the table says.
    pub(super) fn context(&self, column: usize, first: &str, outer: &Context) -> Context {
        let header = self.get(column);
        let starts = |words: &[&str]| words.iter().any(|word| header.starts_with(word));
        let mut context = outer.clone();
        context.column = starts(&NAMES);
        context.example |= starts(&["example", "sample"]);
        context.forbidden |= starts(&WRONG);
        context.faults = starts(&FAULTS);
        if column > 0 {
            if !starts(&MARKS) {
                context.words = format!("{first} {header}").to_lowercase();
            }
            let conditional = CASES.iter().any(|word| self.get(0).starts_with(word));
            if conditional && !first.is_empty() && context.condition.is_none() {
                context.condition = Some(first.chars().take(200).collect());
            }
        }
        context
    }
}
