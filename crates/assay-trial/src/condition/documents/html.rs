//! The text of an HTML page.

/// Elements whose content is not text of the page.
const SKIPPED: [&str; 6] = ["script", "style", "head", "nav", "svg", "template"];
/// Elements that end a paragraph.
const BLOCKS: [&str; 22] = [
    "p",
    "div",
    "section",
    "article",
    "main",
    "header",
    "footer",
    "aside",
    "ul",
    "ol",
    "dl",
    "table",
    "pre",
    "blockquote",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "figure",
    "body",
];
/// Elements that end a line.
const LINES: [&str; 5] = ["br", "li", "tr", "dt", "dd"];

/// Removes markup: headings become those of Markdown, other block elements paragraphs. Broken HTML
/// is text as far as it can be read.
pub(super) fn text(page: &str) -> String {
    let mut found = String::new();
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        push_text(&mut found, &rest[..start]);
        let tag = &rest[start..];
        if let Some(comment) = tag.strip_prefix("<!--") {
            rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
            continue;
        }
        let inner = tag[1..].trim_start_matches('/');
        if !inner.starts_with(|char: char| char.is_ascii_alphabetic() || char == '!' || char == '?') {
            found.push('<');
            rest = &tag[1..];
            continue;
        }
        let Some(end) = tag.find('>') else {
            rest = "";
            break;
        };
        let name_end = inner.find(|char: char| !char.is_ascii_alphanumeric()).unwrap_or(inner.len());
        let name = inner[..name_end].to_ascii_lowercase();
        let name = name.as_str();
        let is_closing = tag.starts_with("</");
        rest = &tag[end + 1..];
        if !is_closing && SKIPPED.contains(&name) {
            rest = after_element(rest, name);
        } else if BLOCKS.contains(&name) {
            found.push_str("\n\n");
            if let Some(level) = name.strip_prefix('h').and_then(|level| level.parse().ok())
                && !is_closing
            {
                found.extend(std::iter::repeat_n('#', level));
                found.push(' ');
            }
        } else if LINES.contains(&name) {
            found.push('\n');
        } else if matches!(name, "td" | "th") {
            found.push(' ');
        }
    }
    push_text(&mut found, rest);
    found
}

/// The text after an element's end tag; nothing if it is not closed.
fn after_element<'a>(rest: &'a str, name: &str) -> &'a str {
    let mut from = 0;
    while let Some(at) = rest[from..].find("</") {
        let tag = from + at + 2;
        let is_name = rest.as_bytes().get(tag..tag + name.len());
        if is_name.is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes())) {
            return rest[tag..].find('>').map_or("", |end| &rest[tag + end + 1..]);
        }
        from = tag;
    }
    ""
}

/// Adds a text with its commonest character references resolved.
fn push_text(found: &mut String, text: &str) {
    const REFERENCES: [(&str, &str); 6] =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&nbsp;", " "), ("&amp;", "&")];
    if !text.contains('&') {
        return found.push_str(text);
    }
    // `&amp;` last, so that `&amp;lt;` is `&lt;`.
    let text = REFERENCES.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
    found.push_str(&text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_removed() {
        let check = |page: &str, expected: &[&str]| {
            let text = text(page);
            let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            assert_eq!(lines, expected, "{page:?}");
        };
        check("", &[]);
        check(
            "<!DOCTYPE html><head><title>T</title></head><body><h2>A</h2><p>One <b>two</b>",
            &["## A", "One two"],
        );
        check("<p>a &lt; b &amp;lt; c &amp; d", &["a < b &lt; c & d"]);
        check("a<SCRIPT>if (a < b) { '</p>' }</Script >b", &["ab"]);
        check("<ul><li>one<li>two</ul>", &["one", "two"]);
        check("a <!-- <p>no</p> --> b", &["a  b"]);
        check("1 < 2 and <", &["1 < 2 and <"]);
        check("<tr><td>a<td>b", &["a b"]);
        check("open <p", &["open"]);
        check("<script>never closed", &[]);
    }

    proptest::proptest! {
        #[test]
        fn any_page_has_a_text(page in "(<|>|/|!|-|p|h1|script|é|&lt;| |\n){0,60}") {
            text(&page);
        }
    }
}
