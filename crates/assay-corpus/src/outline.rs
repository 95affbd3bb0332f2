//! The structure of a Markdown document, in one pass.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// What a Markdown text is made of. Lines are counted from 1 within the text that was given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outline {
    /// Headings, in order.
    pub headings: Vec<Heading>,
    /// Paragraphs, list items' text among them, in order.
    pub paragraphs: Vec<Paragraph>,
    /// Fenced code blocks, in order.
    pub code: Vec<Code>,
    /// Links and images, in order.
    pub links: Vec<Link>,
    /// Code within lines.
    pub inline_code: usize,
    /// Items of numbered lists.
    pub numbered: usize,
    /// Items of other lists.
    pub bullets: usize,
    /// Tables.
    pub tables: usize,
}

/// A heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// From 1.
    pub level: usize,
    /// Its words.
    pub text: String,
    /// Where.
    pub line: usize,
}

/// A paragraph or the text of a list item or table cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paragraph {
    /// Its words, code within lines included.
    pub text: String,
    /// Where it begins.
    pub line: usize,
    /// Whether it holds a link or a footnote.
    pub linked: bool,
}

/// A code block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// The first word after the fence, in lower case; empty where there is none.
    pub language: String,
    /// What stands in it.
    pub text: String,
    /// Where it begins.
    pub line: usize,
    /// Whether it stands between fences.
    pub fenced: bool,
}

/// A link or an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Where it leads.
    pub target: String,
    /// Where it stands.
    pub line: usize,
}

/// The longest text that is taken apart, in bytes; no honest document comes near.
pub const OUTLINE_CAP: usize = 4 << 20;

impl Outline {
    /// Reads a Markdown text (CommonMark, with tables and footnotes), of which at most [`OUTLINE_CAP`] bytes count.
    pub fn of(text: &str) -> Self {
        let mut end = text.len().min(OUTLINE_CAP);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let text = &text[..end];
        let breaks: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
        let line = |at: usize| breaks.partition_point(|&found| found < at) + 1;
        let mut outline = Self::default();
        let mut open: Vec<(usize, String, bool)> = Vec::new();
        let (mut heading, mut code, mut numbered): (Option<Heading>, Option<Code>, Vec<bool>) =
            (None, None, Vec::new());
        let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
        for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
            match event {
                Event::Start(Tag::Heading { level, .. }) => {
                    heading =
                        Some(Heading { level: depth(level), text: String::new(), line: line(range.start) });
                }
                Event::End(TagEnd::Heading(_)) => outline.headings.extend(heading.take()),
                Event::Start(Tag::CodeBlock(kind)) => {
                    let (language, fenced) = match kind {
                        CodeBlockKind::Fenced(info) => {
                            let word = info.split([' ', ',', '{', '\t']).next().unwrap_or_default();
                            (word.to_lowercase(), true)
                        }
                        CodeBlockKind::Indented => (String::new(), false),
                    };
                    code = Some(Code { language, text: String::new(), line: line(range.start), fenced });
                }
                Event::End(TagEnd::CodeBlock) => outline.code.extend(code.take()),
                Event::Start(Tag::Paragraph | Tag::Item | Tag::TableCell) => {
                    if let Event::Start(Tag::Item) = event {
                        if numbered.last().copied().unwrap_or(false) {
                            outline.numbered += 1;
                        } else {
                            outline.bullets += 1;
                        }
                    }
                    open.push((line(range.start), String::new(), false));
                }
                Event::End(TagEnd::Paragraph | TagEnd::Item | TagEnd::TableCell) => {
                    if let Some((line, text, linked)) = open.pop()
                        && !text.trim().is_empty()
                    {
                        outline.paragraphs.push(Paragraph { text, line, linked });
                    }
                }
                Event::Start(Tag::List(first)) => numbered.push(first.is_some()),
                Event::End(TagEnd::List(_)) => drop(numbered.pop()),
                Event::Start(Tag::Table(_)) => outline.tables += 1,
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    outline.links.push(Link { target: dest_url.into_string(), line: line(range.start) });
                    if let Some(paragraph) = open.last_mut() {
                        paragraph.2 = true;
                    }
                }
                Event::FootnoteReference(_) => {
                    if let Some(paragraph) = open.last_mut() {
                        paragraph.2 = true;
                    }
                }
                Event::Text(piece) => {
                    if let Some(code) = &mut code {
                        code.text.push_str(&piece);
                    } else if let Some(heading) = &mut heading {
                        heading.text.push_str(&piece);
                    } else if let Some(paragraph) = open.last_mut() {
                        paragraph.1.push_str(&piece);
                    }
                }
                Event::Code(piece) => {
                    outline.inline_code += 1;
                    if let Some(heading) = &mut heading {
                        heading.text.push_str(&piece);
                    } else if let Some(paragraph) = open.last_mut() {
                        paragraph.1.push_str(&piece);
                    }
                }
                Event::SoftBreak | Event::HardBreak => {
                    if let Some(paragraph) = open.last_mut() {
                        paragraph.1.push(' ');
                    }
                }
                _ => {}
            }
        }
        // An item ends after the lists within it: back into the order of the text.
        outline.paragraphs.sort_by_key(|paragraph| paragraph.line);
        outline
    }

    /// The first heading whose words, in lower case, hold one of some words.
    pub fn heading(&self, words: &[&str]) -> Option<&Heading> {
        self.headings.iter().find(|heading| {
            let text = heading.text.to_lowercase();
            words.iter().any(|word| text.contains(word))
        })
    }
}

fn depth(level: HeadingLevel) -> usize {
    level as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_taken_apart() {
        let text = "# Title `x`\n\nWords with a [link](a.md) and `code`.\n\n1. one\n2. two\n   - sub\n\n## Part\n\n```json {a}\n# no heading\n```\n\n| a | b |\n|---|---|\n| c | d |\n\nNote[^1].\n\n[^1]: Source.\n";
        let outline = Outline::of(text);
        let headings: Vec<_> = outline.headings.iter().map(|h| (h.level, h.text.as_str(), h.line)).collect();
        assert_eq!(headings, [(1, "Title x", 1), (2, "Part", 9)]);
        assert_eq!((outline.numbered, outline.bullets, outline.tables), (2, 1, 1));
        assert_eq!(outline.inline_code, 2);
        assert_eq!(outline.code.len(), 1);
        let code = &outline.code[0];
        assert_eq!(
            (code.language.as_str(), code.text.as_str(), code.line, code.fenced),
            ("json", "# no heading\n", 11, true)
        );
        assert_eq!(outline.links, [Link { target: "a.md".to_owned(), line: 3 }]);
        let first = &outline.paragraphs[0];
        assert_eq!((first.text.as_str(), first.line, first.linked), ("Words with a link and code.", 3, true));
        let texts: Vec<_> = outline.paragraphs.iter().map(|p| p.text.as_str()).collect();
        assert_eq!(
            texts,
            ["Words with a link and code.", "one", "two", "sub", "a", "b", "c", "d", "Note.", "Source."]
        );
        assert!(outline.paragraphs[8].linked);
        assert_eq!(outline.heading(&["part"]).map(|heading| heading.line), Some(9));
    }

    #[test]
    fn nothing_is_in_nothing() {
        assert_eq!(Outline::of(""), Outline::default());
    }
}
