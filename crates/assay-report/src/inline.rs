//! Names and words in a line of Markdown.

use crate::doc::{Span, spans};

/// A name as a code span, in as many backticks as it needs.
pub(crate) fn code(name: &str) -> String {
    if name.is_empty() {
        return String::new();
    }
    let longest = name.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // Markdown removes one space next to the fence.
    let space = if name.contains('`') || name.trim() != name { " " } else { "" };
    format!("{fence}{space}{name}{space}{fence}")
}

/// Plain words at the beginning of a block, where a sign would begin a list or a rule.
pub(crate) fn words(text: &str) -> String {
    let sign = if text.starts_with(['+', '-', '=']) { "\\" } else { "" };
    format!("{sign}{}", inline(text))
}

/// Plain words, with code as code and everything else as written.
pub(crate) fn inline(text: &str) -> String {
    spans(text)
        .into_iter()
        .map(|span| match span {
            Span::Plain(text) => escape(text),
            Span::Code(text) => code(text),
        })
        .collect()
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' | '~' | '!' | '$' => {
                escaped.push('\\');
                escaped.push(c);
            }
            // An invisible word joiner prevents mentions and links.
            '@' => escaped.push_str("@\u{2060}"),
            ':' if text[at..].starts_with("://") => escaped.push_str(":\u{2060}"),
            '.' if text[..at].to_ascii_lowercase().ends_with("www") => escaped.push_str("\u{2060}."),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn external_words_are_not_markup() {
        let check = |text: &str, expected: &str| assert_eq!(words(text), expected, "{text}");
        check("`placebo` helps", "`placebo` helps");
        check("<img src=x>", "&lt;img src=x&gt;");
        check("**a** _b_ [c](d) ![e](f)", "\\*\\*a\\*\\* \\_b\\_ \\[c\\](d) \\!\\[e\\](f)");
        check("| a |", "\\| a \\|");
        check("# a", "\\# a");
        check("- a - b", "\\- a - b");
        check("ask @someone", "ask @\u{2060}someone");
        check("see https://a.b and WWW.a.b", "see https:\u{2060}//a.b and WWW\u{2060}.a.b");
        check("a \\| b", "a \\\\\\| b");
    }
}
