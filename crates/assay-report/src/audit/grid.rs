//! Tables in plain text.

/// Columns as wide as they need to be; words to the left, numbers to the right.
pub fn align_columns(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let cell = |row: &Vec<String>, at: usize| row.get(at).cloned().unwrap_or_default();
    let number = |text: &str| text == "–" || text.starts_with(|c: char| c.is_ascii_digit() || c == '−');
    let mut layout = Vec::new();
    for at in 0..columns {
        let width = rows.iter().map(|row| cell(row, at).chars().count()).max().unwrap_or(0);
        layout.push((width, rows.len() > 1 && rows[1..].iter().all(|row| number(&cell(row, at)))));
    }
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> = layout
            .iter()
            .enumerate()
            .map(|(at, &(width, right))| {
                let cell = cell(row, at);
                if right { format!("{cell:>width$}") } else { format!("{cell:width$}") }
            })
            .collect();
        text.push_str(&format!("  {}\n", cells.join("  ").trim_end()));
    }
    text
}
