use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use unicode_width::UnicodeWidthStr;

/// Columns for a terminal. Where they are wider than it, they are told in several parts, and each part begins with the first column.
pub(crate) struct Columns {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    /// Whether a column is aligned to the right.
    right: Vec<bool>,
}

/// Space that a column takes beside its cells.
const PADDING: usize = 2;

impl Columns {
    /// Columns with titles, those from `numbers_from` on aligned to the right.
    pub(crate) fn new(header: impl IntoIterator<Item = impl Into<String>>, numbers_from: usize) -> Self {
        let header: Vec<String> = header.into_iter().map(Into::into).collect();
        let right = (0..header.len()).map(|at| at >= numbers_from).collect();
        Self { header, rows: Vec::new(), right }
    }

    /// Columns with titles, each with whether it is aligned to the right.
    pub(crate) fn aligned(header: impl IntoIterator<Item = (String, bool)>) -> Self {
        let (header, right) = header.into_iter().unzip();
        Self { header, rows: Vec::new(), right }
    }

    pub(crate) fn add_row(&mut self, row: impl IntoIterator<Item = String>) {
        self.rows.push(row.into_iter().collect());
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

    /// Which columns stand beside each other.
    fn parts(&self, width: usize) -> Vec<Vec<usize>> {
        let wide = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at)).chain(self.header.get(at));
            PADDING + cells.map(|cell| cell.width()).max().unwrap_or(0)
        };
        let mut parts = vec![vec![0]];
        let mut used = wide(0);
        for at in 1..self.header.len() {
            let part = parts.last_mut().expect("there is a part from the beginning");
            // A part holds at least one column beside the first, whatever it takes.
            if used + wide(at) > width && part.len() > 1 {
                parts.push(vec![0, at]);
                used = wide(0) + wide(at);
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
    fn columns_that_do_not_fit_stand_below_with_the_first_one_again() {
        let mut columns = Columns::new(["name", "first", "second", "third"], 1);
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
