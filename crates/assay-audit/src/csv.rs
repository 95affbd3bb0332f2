//! Comma-separated values (RFC 4180), as spreadsheets write and read them.

/// A row as a line. A cell that a spreadsheet would take for a formula gets a leading apostrophe:
/// it comes from a trace.
pub(crate) fn row(cells: &[&str]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| quoted(cell)).collect();
    cells.join(",") + "\r\n"
}

fn quoted(cell: &str) -> String {
    let guard = if cell.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    if guard.is_empty() && !cell.contains(['"', ',', '\n', '\r']) {
        return cell.to_owned();
    }
    format!("\"{guard}{}\"", cell.replace('"', "\"\""))
}

/// The rows of a text. A quote that is never closed reaches to the end; blank lines are no rows.
pub(crate) fn rows(text: &str) -> Vec<Vec<String>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut rows = Vec::new();
    let mut row: Vec<String> = Vec::new();
    let mut cell = String::new();
    let mut quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                cell.push('"');
            }
            '"' if quoted => quoted = false,
            '"' if cell.is_empty() => quoted = true,
            ',' if !quoted => row.push(std::mem::take(&mut cell)),
            '\n' | '\r' if !quoted => end(&mut rows, &mut row, &mut cell),
            c => cell.push(c),
        }
    }
    end(&mut rows, &mut row, &mut cell);
    rows
}

fn end(rows: &mut Vec<Vec<String>>, row: &mut Vec<String>, cell: &mut String) {
    if !row.is_empty() || !cell.is_empty() {
        row.push(std::mem::take(cell));
        rows.push(std::mem::take(row));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_as_they_went() {
        let cells = ["a", "", "b,c", "say \"x\"", "two\r\nlines", " é "];
        assert_eq!(rows(&(row(&cells) + &row(&["1", "2"]))), [cells.to_vec(), vec!["1", "2"]]);
        assert_eq!(row(&["=1+1"]), "\"'=1+1\"\r\n");
        assert_eq!(rows("\u{feff}a,b\n\n\"c"), [vec!["a", "b"], vec!["c"]]);
        assert_eq!(rows(""), Vec::<Vec<String>>::new());
    }
}
