//! Reads texts as Harbor does: with Python's universal newlines, and an instruction without the
//! lines that are not for the agent.

/// The text with every line end as `\n`: `\r\n`, and a `\r` on its own, are one each, as in
/// Python's text mode.
pub(crate) fn universal_newlines(text: &str) -> String {
    if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n") } else { text.to_owned() }
}

/// An instruction as the agent sees it: without the canary lines at its top and the blank lines
/// after them.
///
/// A canary line marks a benchmark's files so that they can be filtered from training data. Only a
/// block of them that begins on the first line counts, as in Harbor 0.25.
pub(crate) fn prompt(text: &str) -> String {
    let text = universal_newlines(text);
    let mut rest = text.as_str();
    for is_dropped in [is_canary as fn(&str) -> bool, is_blank] {
        while let Some((_, after)) = split_line(rest).filter(|(line, _)| is_dropped(line)) {
            rest = after;
        }
    }
    rest.to_owned()
}

/// The first line and the rest; `None` at the end of the text.
fn split_line(text: &str) -> Option<(&str, &str)> {
    (!text.is_empty()).then(|| text.split_once('\n').unwrap_or((text, "")))
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

/// Whether a line is a comment, of HTML or of a script, that speaks of a canary.
fn is_canary(line: &str) -> bool {
    let line = line.trim();
    let inside = line
        .strip_prefix("<!--")
        .and_then(|inside| inside.strip_suffix("-->"))
        .or_else(|| line.strip_prefix('#'));
    inside.is_some_and(|inside| inside.to_ascii_lowercase().contains("canary"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_match_python_text_mode() {
        let check = |text: &str, expected: &str| assert_eq!(universal_newlines(text), expected, "{text:?}");
        check("a\nb", "a\nb");
        check("a\r\nb\r\n", "a\nb\n");
        check("a\r\r\nb", "a\n\nb");
        check("a\rb", "a\nb");
        check("", "");
    }

    #[test]
    fn canary_lines_are_removed_from_instructions() {
        let check = |text: &str, expected: &str| assert_eq!(prompt(text), expected, "{text:?}");
        check("Do it.\n", "Do it.\n");
        check("\n \n\tx\n", "\tx\n");
        check("\r\n\r\nDo it.\r\nNow.\r\n", "Do it.\nNow.\n");
        check("<!-- a CANARY: 1234 -->\n# Canary again\n\nDo it.\n", "Do it.\n");
        check("  # canary\nDo it.", "Do it.");
        // A heading is not a canary, and a canary further down is kept: nothing marks where its
        // block ends.
        check("# Sum\nDo it.\n", "# Sum\nDo it.\n");
        check("\n# canary\nDo it.\n", "# canary\nDo it.\n");
        check("Do it.\n# canary\n", "Do it.\n# canary\n");
        check("<!-- canary\n-->\nDo it.\n", "<!-- canary\n-->\nDo it.\n");
        check("# canary", "");
        check("", "");
    }
}
