//! Comma-separated values (RFC 4180), as spreadsheets write and read them.

use csv::{ReaderBuilder, Terminator, WriterBuilder};

/// Rows as a text, each ended by CR LF. A cell that a spreadsheet would take for a formula gets a leading apostrophe:
/// it comes from a trace.
pub(crate) fn write_rows(rows: &[Vec<&str>]) -> String {
    let mut writer = WriterBuilder::new().flexible(true).terminator(Terminator::CRLF).from_writer(Vec::new());
    for row in rows {
        let cells = row.iter().map(|cell| {
            let guard = if cell.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
            format!("{guard}{cell}")
        });
        // Memory takes every row, and rows may differ in length.
        if writer.write_record(cells).is_err() {
            break;
        }
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

/// The rows of a text. A quote that is never closed reaches to the end; blank lines are no rows.
pub(crate) fn read_rows(text: &str) -> Vec<Vec<String>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let rows = reader.records().map_while(Result::ok);
    rows.map(|row| row.iter().map(str::to_owned).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_as_they_went() {
        let cells = vec!["a", "", "b,c", "say \"x\"", "two\r\nlines", " é "];
        assert_eq!(read_rows(&write_rows(&[cells.clone(), vec!["1", "2"]])), [cells, vec!["1", "2"]]);
        assert_eq!(write_rows(&[vec!["=1+1", "a,b", "c"]]), "'=1+1,\"a,b\",c\r\n");
        assert_eq!(read_rows("\u{feff}a,b\n\n\"c"), [vec!["a", "b"], vec!["c"]]);
        assert_eq!(read_rows("a\rb \"c\" d\r\n"), [vec!["a"], vec!["b \"c\" d"]]);
        assert_eq!(read_rows(""), Vec::<Vec<String>>::new());
    }
}
