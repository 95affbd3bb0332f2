//! The structure of a document's body, with places.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};

/// A link or an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Where it leads, as resolved by Markdown.
    pub target: String,
    /// Where the whole link stands, in bytes of the document.
    pub span: Range<usize>,
}

/// A heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// From 1 to 6.
    pub level: u8,
    /// Its text without marks.
    pub text: String,
    /// Where it stands.
    pub span: Range<usize>,
}

/// A block of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeBlock {
    /// The word after the fence, lower-cased; empty when there is none.
    pub language: String,
    /// Where its content stands, without the fences.
    pub span: Range<usize>,
}

/// The structure of a body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Markdown {
    /// Links and images, in order.
    pub links: Vec<Link>,
    /// Headings, in order.
    pub headings: Vec<Heading>,
    /// Blocks of code, in order.
    pub code: Vec<CodeBlock>,
    /// Spans of code within text: where their content and marks stand.
    pub inline_code: Vec<Range<usize>>,
    /// HTML, comments included.
    pub html: Vec<Range<usize>>,
}

impl Markdown {
    /// Reads what begins at `start` in a text. Places are those of the whole text.
    pub fn parse(text: &str, start: usize) -> Self {
        let mut found = Self::default();
        let mut heading: Option<Heading> = None;
        let mut block: Option<CodeBlock> = None;
        let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
        for (event, range) in Parser::new_ext(&text[start..], options).into_offset_iter() {
            let span = range.start + start..range.end + start;
            match event {
                Event::Start(Tag::Heading { level, .. }) => {
                    heading = Some(Heading { level: level as u8, text: String::new(), span });
                }
                Event::End(TagEnd::Heading(_)) => found.headings.extend(heading.take()),
                Event::Start(Tag::CodeBlock(kind)) => {
                    let language = match kind {
                        CodeBlockKind::Fenced(info) => {
                            info.split([' ', ',', '{']).next().unwrap_or("").to_lowercase()
                        }
                        CodeBlockKind::Indented => String::new(),
                    };
                    block = Some(CodeBlock { language, span: span.start..span.start });
                }
                Event::End(TagEnd::CodeBlock) => found.code.extend(block.take()),
                // `<someone@example.com>` has no scheme of its own, and leads to no file.
                Event::Start(Tag::Link { link_type: LinkType::Email, dest_url, .. }) => {
                    found.links.push(Link { target: format!("mailto:{dest_url}"), span });
                }
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    found.links.push(Link { target: dest_url.into_string(), span });
                }
                Event::Text(piece) => match (&mut block, &mut heading) {
                    (Some(block), _) => {
                        if block.span.is_empty() {
                            block.span.start = span.start;
                        }
                        block.span.end = span.end;
                    }
                    (None, Some(heading)) => heading.text.push_str(&piece),
                    _ => {}
                },
                Event::Code(piece) => {
                    if let Some(heading) = &mut heading {
                        heading.text.push_str(&piece);
                    }
                    found.inline_code.push(span);
                }
                Event::Html(_) | Event::InlineHtml(_) => found.html.push(span),
                _ => {}
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structure_has_places() {
        let text = "---\nx: y\n---\n# T `a`\n\n[l](b.md \"t\") and `c`\n\n```Bash x\nls\n```\n<!-- n -->\n";
        let read = Markdown::parse(text, 13);
        assert_eq!(read.headings.iter().map(|h| h.text.as_str()).collect::<Vec<_>>(), ["T a"]);
        assert_eq!(read.links.iter().map(|l| &text[l.span.clone()]).collect::<Vec<_>>(), ["[l](b.md \"t\")"]);
        assert_eq!(read.links[0].target, "b.md");
        assert_eq!((read.code[0].language.as_str(), &text[read.code[0].span.clone()]), ("bash", "ls\n"));
        assert_eq!(read.inline_code.iter().map(|s| &text[s.clone()]).collect::<Vec<_>>(), ["`a`", "`c`"]);
        assert_eq!(read.html.iter().map(|s| text[s.clone()].trim()).collect::<Vec<_>>(), ["<!-- n -->"]);
    }
}
