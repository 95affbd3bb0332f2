//! Long lines, broken between words.

use unicode_width::UnicodeWidthStr;

/// Lines that are wider than so many columns, broken between words. What follows begins where the first did, and two columns further.
pub fn wrap_lines(text: &str, columns: usize) -> String {
    let columns = columns.max(20);
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        if width(line) <= columns {
            out.push_str(line);
            out.push_str(end);
            continue;
        }
        let indent = line.len() - line.trim_start_matches(' ').len();
        let further = (indent + 2).min(columns / 2);
        let mut used = indent;
        out.push_str(&line[..indent]);
        let mut gap = String::new();
        for word in line[indent..].trim_end().split(' ') {
            let wide = width(word);
            if used > further && !word.is_empty() && used + gap.len() + wide > columns {
                out.push('\n');
                out.push_str(&" ".repeat(further));
                used = further;
            } else {
                out.push_str(&gap);
                used += gap.len();
            }
            gap.clear();
            out.push_str(word);
            used += wide;
            gap.push(' ');
        }
        out.push_str(end);
    }
    out
}

/// Columns that a text takes, without its colours.
fn width(text: &str) -> usize {
    let mut parts = text.split('\u{1b}');
    let plain = parts.next().unwrap_or_default().width();
    plain + parts.map(|part| part.split_once('m').map_or(0, |(_, rest)| rest.width())).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_between_words() {
        let check =
            |text: &str, columns: usize, expected: &str| assert_eq!(wrap_lines(text, columns), expected);
        check("short\n", 20, "short\n");
        check("one two three four five six\n", 20, "one two three four\n  five six\n");
        check("  one two three four five six", 20, "  one two three four\n    five six");
        check("a  b    in columns that go on", 20, "a  b    in columns\n  that go on");
        check("one \u{1b}[1mtwo\u{1b}[0m three four", 20, "one \u{1b}[1mtwo\u{1b}[0m three four");
        check(
            "a-word-that-is-longer-than-the-line and more",
            20,
            "a-word-that-is-longer-than-the-line\n  and more",
        );
        for columns in [80, 120, 200] {
            let text = "some words of which there are many ".repeat(20);
            let broken = wrap_lines(&text, columns);
            assert!(broken.lines().all(|line| line.len() <= columns), "{broken}");
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&broken), words(&text), "{columns}");
        }
    }
}
