//! The structure of a Markdown document, in one pass, with the span and the line of each part.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};

/// The extensions of CommonMark that a document is read with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// CommonMark without extensions.
    CommonMark,
    /// Tables, strikethrough and task lists: what every client's Markdown has.
    GitHub,
    /// Tables and footnotes, as used for the published figures of corpora.
    Footnotes,
}

impl Dialect {
    /// The parser's options.
    pub const fn options(self) -> Options {
        match self {
            Self::CommonMark => Options::empty(),
            Self::GitHub => {
                Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH).union(Options::ENABLE_TASKLISTS)
            }
            Self::Footnotes => Options::ENABLE_TABLES.union(Options::ENABLE_FOOTNOTES),
        }
    }
}

/// The parts of a Markdown document. Spans are in bytes of the complete text, lines are counted
/// from 1 within it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outline {
    /// Headings, in order.
    pub headings: Vec<Heading>,
    /// Paragraphs, and the texts of list items and table cells, in order; those without text
    /// omitted.
    pub paragraphs: Vec<Paragraph>,
    /// Code blocks, in order.
    pub code: Vec<CodeBlock>,
    /// Links and images, in order.
    pub links: Vec<Link>,
    /// Spans of code within text, with their backticks.
    pub inline_code: Vec<Range<usize>>,
    /// HTML, comments included.
    pub html: Vec<Range<usize>>,
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
    /// From 1 to 6.
    pub level: usize,
    /// Its text without marks.
    pub text: String,
    /// Its position.
    pub span: Range<usize>,
    /// The line it begins at.
    pub line: usize,
}

/// The block that contains a paragraph's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Block {
    /// A separate paragraph.
    Paragraph,
    /// An item of a tight list.
    Item,
    /// A cell of a table.
    Cell,
}

/// A paragraph, or the text of a list item or table cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paragraph {
    /// The block it is the text of.
    pub block: Block,
    /// Its text, inline code included, with a space for each line break.
    pub text: String,
    /// The line it begins at.
    pub line: usize,
    /// Whether it contains a link, an image or a footnote reference.
    pub linked: bool,
}

/// A code block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeBlock {
    /// The first word after the fence, in lower case; empty without one.
    pub language: String,
    /// Its content, without the marks of the blocks around it.
    pub text: String,
    /// The range of its content, without the fences; empty at the block's start if there is none.
    pub span: Range<usize>,
    /// The line of the fence, or of the first indented line.
    pub line: usize,
    /// Whether it is between fences.
    pub fenced: bool,
}

/// A link or an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its target, as resolved by Markdown. For `<someone@example.com>` this is the bare address;
    /// see [`Link::url`].
    pub target: String,
    /// Whether it is an e-mail address between angle brackets.
    pub email: bool,
    /// The position of the complete link.
    pub span: Range<usize>,
    /// The line it begins at.
    pub line: usize,
}

impl Link {
    /// The target as a browser follows it: an e-mail address has the scheme `mailto:`, and leads to
    /// no file.
    pub fn url(&self) -> String {
        if self.email { format!("mailto:{}", self.target) } else { self.target.clone() }
    }
}

impl Outline {
    /// Reads what begins at `start` in a text.
    pub fn read(text: &str, start: usize, dialect: Dialect) -> Self {
        let breaks: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
        let mut reader = Reader { breaks, ..Reader::default() };
        for (event, range) in Parser::new_ext(&text[start..], dialect.options()).into_offset_iter() {
            reader.event(event, range.start + start..range.end + start);
        }
        // An item ends after the lists within it: back into the order of the text.
        reader.outline.paragraphs.sort_by_key(|paragraph| paragraph.line);
        reader.outline
    }

    /// The first heading whose text, in lower case, contains one of some words.
    pub fn heading(&self, words: &[&str]) -> Option<&Heading> {
        self.headings.iter().find(|heading| {
            let text = heading.text.to_lowercase();
            words.iter().any(|word| text.contains(word))
        })
    }
}

/// The language that the text after a fence names, in lower case; empty without one.
pub fn language(info: &str) -> String {
    info.split([' ', ',', '{', '\t']).next().unwrap_or_default().to_lowercase()
}

#[derive(Default)]
struct Reader {
    outline: Outline,
    /// Where lines end.
    breaks: Vec<usize>,
    heading: Option<Heading>,
    code: Option<CodeBlock>,
    /// Paragraphs, items and cells that are open, the innermost last.
    open: Vec<Paragraph>,
    /// For each list that is open, whether it is numbered.
    lists: Vec<bool>,
}

impl Reader {
    fn line(&self, at: usize) -> usize {
        self.breaks.partition_point(|&found| found < at) + 1
    }

    fn event(&mut self, event: Event<'_>, span: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, span),
            Event::End(TagEnd::Heading(_)) => self.outline.headings.extend(self.heading.take()),
            Event::End(TagEnd::CodeBlock) => self.outline.code.extend(self.code.take()),
            Event::End(TagEnd::Paragraph | TagEnd::Item | TagEnd::TableCell) => {
                let closed = self.open.pop();
                self.outline.paragraphs.extend(closed.filter(|closed| !closed.text.trim().is_empty()));
            }
            Event::End(TagEnd::List(_)) => drop(self.lists.pop()),
            Event::FootnoteReference(_) => self.mark_linked(),
            Event::Text(piece) => match &mut self.code {
                Some(code) => {
                    if code.span.is_empty() {
                        code.span.start = span.start;
                    }
                    code.span.end = span.end;
                    code.text.push_str(&piece);
                }
                None => self.text(&piece),
            },
            Event::Code(piece) => {
                self.outline.inline_code.push(span);
                self.text(&piece);
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some(paragraph) = self.open.last_mut() {
                    paragraph.text.push(' ');
                }
            }
            Event::Html(_) | Event::InlineHtml(_) => self.outline.html.push(span),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, span: Range<usize>) {
        let line = self.line(span.start);
        match tag {
            Tag::Heading { level, .. } => {
                self.heading = Some(Heading { level: level as usize, text: String::new(), span, line });
            }
            Tag::CodeBlock(kind) => {
                let (language, fenced) = match kind {
                    CodeBlockKind::Fenced(info) => (language(&info), true),
                    CodeBlockKind::Indented => (String::new(), false),
                };
                let span = span.start..span.start;
                self.code = Some(CodeBlock { language, text: String::new(), span, line, fenced });
            }
            Tag::Paragraph => self.begin(Block::Paragraph, line),
            Tag::Item => {
                if self.lists.last().copied().unwrap_or(false) {
                    self.outline.numbered += 1;
                } else {
                    self.outline.bullets += 1;
                }
                self.begin(Block::Item, line);
            }
            Tag::TableCell => self.begin(Block::Cell, line),
            Tag::List(first) => self.lists.push(first.is_some()),
            Tag::Table(_) => self.outline.tables += 1,
            Tag::Link { link_type, dest_url, .. } | Tag::Image { link_type, dest_url, .. } => {
                let email = link_type == LinkType::Email;
                self.outline.links.push(Link { target: dest_url.into_string(), email, span, line });
                self.mark_linked();
            }
            _ => {}
        }
    }

    fn begin(&mut self, block: Block, line: usize) {
        self.open.push(Paragraph { block, text: String::new(), line, linked: false });
    }

    fn mark_linked(&mut self) {
        if let Some(paragraph) = self.open.last_mut() {
            paragraph.linked = true;
        }
    }

    fn text(&mut self, piece: &str) {
        if let Some(heading) = &mut self.heading {
            heading.text.push_str(piece);
        } else if let Some(paragraph) = self.open.last_mut() {
            paragraph.text.push_str(piece);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_parts() {
        let text = "# Title `x`\n\nWords with a [link](a.md) and `code`.\n\n1. one\n2. two\n   - sub\n\n## Part\n\n```json {a}\n# no heading\n```\n\n| a | b |\n|---|---|\n| c | d |\n\nNote[^1].\n\n[^1]: Source.\n";
        let outline = Outline::read(text, 0, Dialect::Footnotes);
        let headings: Vec<_> = outline.headings.iter().map(|h| (h.level, h.text.as_str(), h.line)).collect();
        assert_eq!(headings, [(1, "Title x", 1), (2, "Part", 9)]);
        assert_eq!((outline.numbered, outline.bullets, outline.tables), (2, 1, 1));
        assert_eq!(outline.inline_code.len(), 2);
        assert_eq!(outline.code.len(), 1);
        let code = &outline.code[0];
        assert_eq!(
            (code.language.as_str(), code.text.as_str(), code.line, code.fenced),
            ("json", "# no heading\n", 11, true)
        );
        let links: Vec<_> = outline.links.iter().map(|link| (link.target.as_str(), link.line)).collect();
        assert_eq!(links, [("a.md", 3)]);
        let first = &outline.paragraphs[0];
        assert_eq!((first.text.as_str(), first.line, first.linked), ("Words with a link and code.", 3, true));
        let texts: Vec<_> = outline.paragraphs.iter().map(|p| p.text.as_str()).collect();
        assert_eq!(
            texts,
            ["Words with a link and code.", "one", "two", "sub", "a", "b", "c", "d", "Note.", "Source."]
        );
        let blocks: Vec<_> = outline.paragraphs.iter().map(|p| p.block).collect();
        let (text, item, cell) = (Block::Paragraph, Block::Item, Block::Cell);
        assert_eq!(blocks, [text, item, item, item, cell, cell, cell, cell, text, text]);
        assert!(outline.paragraphs[8].linked);
        assert_eq!(outline.heading(&["part"]).map(|heading| heading.line), Some(9));
    }

    #[test]
    fn spans_and_lines_refer_to_the_complete_text() {
        let text = "---\nx: y\n---\n# T `a`\n\n[l](b.md \"t\") and `c`\n\n```Bash x\nls\n```\n<!-- n -->\n<a@b.org>\n";
        let read = Outline::read(text, 13, Dialect::GitHub);
        let shown = |span: &Range<usize>| text[span.clone()].trim();
        assert_eq!(read.headings.iter().map(|h| h.text.as_str()).collect::<Vec<_>>(), ["T a"]);
        assert_eq!(
            read.headings.iter().map(|h| (shown(&h.span), h.line)).collect::<Vec<_>>(),
            [("# T `a`", 4)]
        );
        assert_eq!(shown(&read.links[0].span), "[l](b.md \"t\")");
        assert_eq!((read.links[0].target.as_str(), read.links[0].url().as_str()), ("b.md", "b.md"));
        assert_eq!((read.code[0].language.as_str(), &text[read.code[0].span.clone()]), ("bash", "ls\n"));
        assert_eq!(read.code[0].line, 8);
        assert_eq!(read.inline_code.iter().map(shown).collect::<Vec<_>>(), ["`a`", "`c`"]);
        assert_eq!(shown(&read.html[0]), "<!-- n -->");
    }

    #[test]
    fn an_address_is_a_link_with_a_scheme() {
        let links = Outline::read("<a@b.org> [c](d@e.org)", 0, Dialect::GitHub).links;
        let urls: Vec<_> = links.iter().map(|link| (link.target.as_str(), link.url())).collect();
        assert_eq!(urls, [("a@b.org", "mailto:a@b.org".to_owned()), ("d@e.org", "d@e.org".to_owned())]);
    }

    #[test]
    fn dialects_differ_in_their_extensions() {
        let text = "| a |\n|---|\n\n- [ ] b\n\n~~c~~\n\nd[^1]\n\n[^1]: e\n";
        let read = |dialect| {
            let outline = Outline::read(text, 0, dialect);
            let texts: Vec<_> = outline.paragraphs.into_iter().map(|paragraph| paragraph.text).collect();
            (outline.tables, texts.join(","))
        };
        assert_eq!(read(Dialect::CommonMark), (0, "| a | |---|,[ ] b,~~c~~,d^1".to_owned()));
        assert_eq!(read(Dialect::GitHub), (1, "a,b,c,d^1".to_owned()));
        assert_eq!(read(Dialect::Footnotes), (1, "a,[ ] b,~~c~~,d,e".to_owned()));
    }

    #[test]
    fn empty_text_has_no_parts() {
        assert_eq!(Outline::read("", 0, Dialect::GitHub), Outline::default());
    }
}
