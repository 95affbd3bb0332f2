//! The text of a Markdown document, block by block, in order: each with its place in lists and
//! tables, its inline code, and the line of every part.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use crate::markdown::{Dialect, language};

/// A block of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// A heading, paragraph, list item or table cell.
    Text(Text),
    /// A code block.
    Code(Code),
}

/// What a block of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A heading, with its level from 1.
    Heading(usize),
    /// A paragraph, also one that continues an item.
    Paragraph,
    /// The first text of a list item.
    Item {
        /// Its number; `None` in a list of bullets.
        number: Option<u64>,
        /// The list, counted from 1 through the document.
        list: usize,
    },
    /// A cell of a table.
    Cell {
        /// The table, counted from 1 through the document.
        table: usize,
        /// 0 for the header.
        row: usize,
        /// From 0.
        column: usize,
    },
}

/// A mark on a part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mark {
    /// Inline code, without its backticks.
    Code,
    /// Strong emphasis.
    Strong,
    /// A link or an image, with where it leads.
    Link(String),
}

/// A block of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// What it is.
    pub role: Role,
    /// How many lists it is within.
    pub depth: usize,
    /// Its text without marks, with a space for each line break within a paragraph and a line feed
    /// for each hard one.
    pub text: String,
    /// Marks by where they begin in the text, in bytes.
    pub marks: Vec<(Range<usize>, Mark)>,
    /// Where in the text a part of another line begins, with that line.
    lines: Vec<(usize, usize)>,
}

impl Text {
    /// The document's line, from 1, of a byte of the text.
    pub fn line(&self, at: usize) -> usize {
        let after = self.lines.partition_point(|(start, _)| *start <= at);
        self.lines.get(after.saturating_sub(1)).map_or(1, |(_, line)| *line)
    }
}

/// A code block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// The first word after the fence, in lower case; empty without one.
    pub language: String,
    /// Its content, without the marks of the blocks around it.
    pub text: String,
    /// The line of its first line of content, from 1.
    pub line: usize,
}

/// The blocks of what begins at `start` in a text. Lines are those of the whole text.
pub fn read(text: &str, start: usize) -> Vec<Block> {
    let breaks = text.match_indices('\n').map(|(at, _)| at).collect();
    let mut reader = Reader { breaks, ..Reader::default() };
    for (event, range) in Parser::new_ext(&text[start..], Dialect::GitHub.options()).into_offset_iter() {
        reader.event(event, range.start + start);
    }
    reader.flush();
    reader.blocks
}

#[derive(Default)]
struct Reader {
    blocks: Vec<Block>,
    /// Where lines end.
    breaks: Vec<usize>,
    current: Option<Text>,
    code: Option<Code>,
    role: Option<Role>,
    /// For each list that is open: its number, and the number of the next item.
    lists: Vec<(usize, Option<u64>)>,
    count: usize,
    /// Strong emphasis and links that are open: where they begin, and what they are.
    open: Vec<(usize, Mark)>,
    table: usize,
    row: usize,
    column: usize,
    comment: bool,
}

impl Reader {
    fn line(&self, at: usize) -> usize {
        self.breaks.partition_point(|&found| found < at) + 1
    }

    fn flush(&mut self) {
        self.open.clear();
        if let Some(mut text) = self.current.take()
            && !text.text.trim().is_empty()
        {
            text.marks.sort_by_key(|(range, _)| (range.start, range.end));
            self.blocks.push(Block::Text(text));
        }
    }

    fn event(&mut self, event: Event<'_>, at: usize) {
        match event {
            Event::Start(tag) => self.start(tag, at),
            Event::End(end) => self.end(end),
            Event::Text(piece) => match &mut self.code {
                Some(code) => code.text.push_str(&piece),
                None => self.push(&piece, at),
            },
            Event::Code(piece) => {
                let start = self.length();
                self.push(&piece, at);
                self.mark(start, Mark::Code);
            }
            // A placeholder such as `<name>` is a tag to Markdown.
            Event::InlineHtml(piece) if piece.starts_with("<!--") => {}
            Event::InlineHtml(piece) if piece.starts_with("<br") => self.push("\n", at),
            Event::InlineHtml(piece) => self.push(&piece, at),
            Event::Html(piece) => self.html(&piece, at),
            Event::SoftBreak => self.push(" ", at),
            Event::HardBreak => self.push("\n", at),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, at: usize) {
        match tag {
            Tag::Strong => self.open.push((self.length(), Mark::Strong)),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.open.push((self.length(), Mark::Link(dest_url.into_string())));
            }
            Tag::Emphasis | Tag::Strikethrough => {}
            Tag::CodeBlock(kind) => {
                self.flush();
                let line = self.line(at);
                self.code = Some(match kind {
                    CodeBlockKind::Fenced(info) => {
                        Code { language: language(&info), text: String::new(), line: line + 1 }
                    }
                    CodeBlockKind::Indented => Code { language: String::new(), text: String::new(), line },
                });
            }
            tag => {
                self.flush();
                self.block(&tag);
            }
        }
    }

    fn block(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => self.role = Some(Role::Heading(*level as usize)),
            Tag::List(first) => {
                self.count += 1;
                self.lists.push((self.count, *first));
            }
            Tag::Item => {
                if let Some((list, next)) = self.lists.last_mut() {
                    self.role = Some(Role::Item { number: *next, list: *list });
                    *next = next.map(|number| number.saturating_add(1));
                }
            }
            Tag::Table(_) => {
                self.table += 1;
                self.row = 0;
            }
            Tag::TableHead => self.column = 0,
            Tag::TableRow => {
                self.row += 1;
                self.column = 0;
            }
            Tag::TableCell => {
                self.role = Some(Role::Cell { table: self.table, row: self.row, column: self.column });
                self.column += 1;
            }
            _ => {}
        }
    }

    fn end(&mut self, end: TagEnd) {
        match end {
            TagEnd::Strong | TagEnd::Link | TagEnd::Image => {
                if let Some((start, mark)) = self.open.pop() {
                    self.mark(start, mark);
                }
            }
            TagEnd::Emphasis | TagEnd::Strikethrough => {}
            TagEnd::CodeBlock => {
                let code = self.code.take().filter(|code| !code.text.trim().is_empty());
                self.blocks.extend(code.map(Block::Code));
            }
            end => {
                self.flush();
                self.role = None;
                if matches!(end, TagEnd::List(_)) {
                    self.lists.pop();
                }
            }
        }
    }

    fn length(&self) -> usize {
        self.current.as_ref().map_or(0, |current| current.text.len())
    }

    fn mark(&mut self, start: usize, mark: Mark) {
        if let Some(current) = &mut self.current
            && start < current.text.len()
        {
            let range = start..current.text.len();
            current.marks.push((range, mark));
        }
    }

    fn push(&mut self, piece: &str, at: usize) {
        let line = self.line(at);
        let (role, depth) = (&mut self.role, self.lists.len());
        let current = self.current.get_or_insert_with(|| Text {
            role: role.take().unwrap_or(Role::Paragraph),
            depth,
            text: String::new(),
            marks: Vec::new(),
            lines: Vec::new(),
        });
        if current.lines.last().is_none_or(|(_, last)| *last != line) {
            current.lines.push((current.text.len(), line));
        }
        current.text.push_str(piece);
    }

    /// A line of a block that begins with a tag: its text without tags and comments.
    fn html(&mut self, piece: &str, at: usize) {
        let mut rest = piece.trim_end();
        let mut text = String::new();
        while !rest.is_empty() {
            if self.comment {
                let Some(end) = rest.find("-->") else { break };
                self.comment = false;
                rest = &rest[end + 3..];
            } else if let Some(start) = rest.find('<') {
                text.push_str(&rest[..start]);
                rest = &rest[start..];
                if rest.starts_with("<!--") {
                    self.comment = true;
                } else {
                    rest = rest.find('>').map_or("", |end| &rest[end + 1..]);
                }
            } else {
                text.push_str(rest);
                break;
            }
        }
        if !text.trim().is_empty() {
            self.push(text.trim(), at);
            self.push("\n", at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let show = |block: &Block| match block {
            Block::Code(code) => format!("{} {} {:?}", code.line, code.language, code.text),
            Block::Text(text) => {
                let marks: String = text
                    .marks
                    .iter()
                    .map(|(range, mark)| format!(" {mark:?}={}", &text.text[range.clone()]))
                    .collect();
                format!("{} {} {:?} {:?}{marks}", text.line(0), text.depth, text.role, text.text)
            }
        };
        read(text, 0).iter().map(show).collect()
    }

    #[test]
    fn blocks_are_in_order_with_their_position() {
        let text = "# T `a`\n\nOne\ntwo **`b`** <user> [c](d.md).\n\n1. first\n   - sub\n\n   more\n2. second\n\n```sh\nls\n```\n\n| h | i |\n|---|---|\n| `x\\|y` | |\n| | z |\n";
        let expected = [
            "1 0 Heading(1) \"T a\" Code=a",
            "3 0 Paragraph \"One two b <user> c.\" Code=b Strong=b Link(\"d.md\")=c",
            "6 1 Item { number: Some(1), list: 1 } \"first\"",
            "7 2 Item { number: None, list: 2 } \"sub\"",
            "9 1 Paragraph \"more\"",
            "10 1 Item { number: Some(2), list: 1 } \"second\"",
            "13 sh \"ls\\n\"",
            "16 0 Cell { table: 1, row: 0, column: 0 } \"h\"",
            "16 0 Cell { table: 1, row: 0, column: 1 } \"i\"",
            "18 0 Cell { table: 1, row: 1, column: 0 } \"x|y\" Code=x|y",
            "19 0 Cell { table: 1, row: 2, column: 1 } \"z\"",
        ];
        assert_eq!(shown(text), expected);
    }

    #[test]
    fn lines_are_those_of_the_whole_text() {
        let text = "---\nx\n---\none\ntwo `c`\n";
        let Block::Text(found) = &read(text, 10)[0] else { panic!() };
        let lines: Vec<usize> = [0, 4, 8, 99].map(|at| found.line(at)).to_vec();
        assert_eq!((found.text.as_str(), lines), ("one two c", vec![4, 5, 5, 5]));
    }

    #[test]
    fn tags_and_comments_are_not_text() {
        let text = "<rule>\nUse it <b>now</b>. <!-- not\nthis --> Do.\n</rule>\n\nx<!-- y -->z<br>w\n";
        assert_eq!(shown(text), ["2 0 Paragraph \"Use it now.\\nDo.\\n\"", "6 0 Paragraph \"xz\\nw\""]);
    }
}
