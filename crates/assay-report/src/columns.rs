use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use unicode_width::UnicodeWidthStr;

/// Columns for a terminal. Tables wider than it are printed in several parts that repeat the first
/// columns.
pub(crate) struct Columns {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    /// Whether a column is aligned to the right.
    right: Vec<bool>,
    /// The number of columns that each part repeats.
    keys: usize,
}

/// The width to which columns of words are wrapped if necessary.
const WORDS: usize = 30;

/// Padding of a column.
const PADDING: usize = 2;

impl Columns {
    /// Columns with titles, each with whether it is aligned to the right; every part begins with
    /// the first `keys` of them.
    pub(crate) fn new(header: impl IntoIterator<Item = (String, bool)>, keys: usize) -> Self {
        let (header, right) = header.into_iter().unzip();
        Self { header, rows: Vec::new(), right, keys }
    }

    pub(crate) fn add_row(&mut self, row: impl IntoIterator<Item = String>) {
        self.rows.push(row.into_iter().collect());
    }

    /// Whether the table is one part.
    pub(crate) fn fits(&self, width: usize) -> bool {
        self.parts(width).len() == 1 && self.least() <= width
    }

    /// The width of the columns that are repeated.
    fn least(&self) -> usize {
        let widest = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at)).chain(self.header.get(at));
            PADDING + cells.map(|cell| cell.width()).max().unwrap_or(0)
        };
        (0..self.keys.min(self.header.len())).map(widest).sum()
    }

    /// The lines, each at most `width` wide unless a single word is wider.
    pub(crate) fn lines(&self, width: usize) -> Vec<String> {
        let mut lines = Vec::new();
        for part in self.parts(width) {
            if !lines.is_empty() {
                lines.push(String::new());
            }
            let cells = |row: &[String]| -> Vec<String> {
                part.iter().map(|&at| row.get(at).cloned().unwrap_or_default()).collect()
            };
            let mut table = Table::new();
            table.load_style(presets::NOTHING).set_header(cells(&self.header));
            let width = u16::try_from(width).unwrap_or(u16::MAX);
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
            for (number, column) in table.column_iter_mut().enumerate() {
                if self.right[part[number]] {
                    column.set_cell_alignment(CellAlignment::Right);
                }
            }
            for row in &self.rows {
                table.add_row(cells(row));
            }
            lines.extend(table.lines().map(|line| line.trim_end().to_owned()));
        }
        lines
    }

    /// The columns of each part.
    fn parts(&self, width: usize) -> Vec<Vec<usize>> {
        let wide = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at)).chain(self.header.get(at));
            let wide = cells.map(|cell| cell.width()).max().unwrap_or(0);
            PADDING + if at < self.keys || self.right[at] { wide } else { wide.min(WORDS) }
        };
        let keys: Vec<usize> = (0..self.keys.min(self.header.len())).collect();
        let least: usize = keys.iter().map(|&at| wide(at)).sum();
        let mut parts = vec![keys.clone()];
        let mut used = least;
        for at in keys.len()..self.header.len() {
            let part = parts.last_mut().expect("there is a part from the beginning");
            // A part has at least one column besides the repeated ones.
            if used + wide(at) > width && part.len() > keys.len() {
                parts.push([&keys[..], &[at]].concat());
                used = least + wide(at);
            } else {
                part.push(at);
                used += wide(at);
            }
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overflowing_columns_repeat_the_first_one_below() {
        let header = ["name", "first", "second", "third"].map(|title| (title.to_owned(), title != "name"));
        let mut columns = Columns::new(header, 1);
        columns.add_row(["a", "1", "22", "333"].map(str::to_owned));
        let check = |width: usize, expected: &[&str]| assert_eq!(columns.lines(width), expected, "{width}");
        check(80, &[" name  first  second  third", " a         1      22    333"]);
        check(28, &[" name  first  second  third", " a         1      22    333"]);
        check(27, &[" name  first  second", " a         1      22", "", " name  third", " a       333"]);
        let narrow = [
            [" name  first", " a         1"],
            [" name  second", " a         22"],
            [" name  third", " a       333"],
        ];
        assert_eq!(columns.lines(15).join("\n"), narrow.map(|part| part.join("\n")).join("\n\n"));
    }
}
