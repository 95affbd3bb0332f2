//! The Markdown skeleton of a text: its blocks, their nesting, and the length of each of them,
//! without its words.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use super::facts::OPTIONS;
use super::leaf::{Leaf, Shape};
use crate::tokens;

/// Lists and quotes nested deeper than this are read as if they were at this depth.
const DEPTH: usize = 96;

/// A block; texts are numbers of leaves.
#[derive(Debug)]
pub(super) enum Block {
    /// A paragraph, or the text of an item of a tight list.
    Text(usize),
    /// A heading of a level, 1 to 6.
    Heading(usize, usize),
    /// A code block, and whether it is an indented one.
    Code(usize, bool),
    /// HTML.
    Html(usize),
    /// A thematic break.
    Rule,
    /// A block quote.
    Quote(Vec<Block>),
    /// A list.
    List(List),
    /// Rows of cells, the header among them.
    Table(Vec<Vec<usize>>),
}

/// A list and its items.
#[derive(Debug, Default)]
pub(super) struct List {
    /// Whether the items are numbered.
    pub(super) ordered: bool,
    /// Whether there are blank lines between its blocks.
    pub(super) loose: bool,
    /// The items.
    pub(super) items: Vec<Item>,
}

/// An item of a list.
#[derive(Debug, Default)]
pub(super) struct Item {
    /// Whether it begins with a box to tick.
    pub(super) task: bool,
    /// Its content.
    pub(super) blocks: Vec<Block>,
}

/// The blocks of a text, and the leaves they name, in the order of the text.
#[derive(Debug, Default)]
pub(super) struct Skeleton {
    /// The blocks.
    pub(super) blocks: Vec<Block>,
    /// The leaves, still empty.
    pub(super) leaves: Vec<Leaf>,
}

/// A container that is still open.
enum Frame {
    Root(Vec<Block>),
    Quote(Vec<Block>),
    List(List),
    Item(Item),
}

/// A block of text that is still open.
#[derive(Default)]
struct Open {
    range: Option<Range<usize>>,
    lines: usize,
}

struct Builder<'t> {
    text: &'t str,
    frames: Vec<Frame>,
    /// Containers opened below [`DEPTH`], which are not kept.
    ignored: usize,
    leaves: Vec<Leaf>,
    run: Option<Open>,
    table: Option<Vec<Vec<usize>>>,
    code: Option<(String, bool)>,
    html: Option<String>,
}

impl Skeleton {
    /// Reads the skeleton of a text.
    pub(super) fn read(text: &str) -> Self {
        let mut builder = Builder {
            text,
            frames: vec![Frame::Root(Vec::new())],
            ignored: 0,
            leaves: Vec::new(),
            run: None,
            table: None,
            code: None,
            html: None,
        };
        for (event, range) in Parser::new_ext(text, OPTIONS).into_offset_iter() {
            builder.event(event, range);
        }
        builder.end_run();
        while builder.frames.len() > 1 {
            builder.close();
        }
        let blocks = match builder.frames.pop() {
            Some(Frame::Root(blocks)) => blocks,
            _ => Vec::new(),
        };
        Self { blocks, leaves: builder.leaves }
    }
}

impl Builder<'_> {
    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(&tag, range),
            Event::End(tag) => self.end(tag, range),
            Event::Text(text) => {
                if let Some((code, _)) = &mut self.code {
                    code.push_str(&text);
                } else {
                    self.inline(range, 0);
                }
            }
            Event::Html(html) => match &mut self.html {
                Some(block) => block.push_str(&html),
                None => self.inline(range, 0),
            },
            Event::SoftBreak | Event::HardBreak => self.inline(range, 1),
            Event::Rule => {
                self.end_run();
                self.block(Block::Rule);
            }
            Event::TaskListMarker(_) => {
                if let (0, Some(Frame::Item(item))) = (self.ignored, self.frames.last_mut()) {
                    item.task = true;
                }
            }
            Event::Code(_)
            | Event::InlineHtml(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_) => {
                self.inline(range, 0);
            }
        }
    }

    fn start(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Paragraph | Tag::Heading { .. } => {
                self.end_run();
                if let (Tag::Paragraph, 0, Some(Frame::Item(_))) = (tag, self.ignored, self.frames.last()) {
                    let above = self.frames.len() - 2;
                    if let Some(Frame::List(list)) = self.frames.get_mut(above) {
                        list.loose = true;
                    }
                }
                self.run = Some(Open::default());
            }
            Tag::BlockQuote(_) => self.open(Frame::Quote(Vec::new())),
            Tag::List(start) => self.open(Frame::List(List { ordered: start.is_some(), ..List::default() })),
            Tag::Item => self.open(Frame::Item(Item::default())),
            Tag::CodeBlock(kind) => {
                self.end_run();
                self.code = Some((String::new(), matches!(kind, CodeBlockKind::Indented)));
            }
            Tag::HtmlBlock => {
                self.end_run();
                self.html = Some(String::new());
            }
            Tag::Table(_) => {
                self.end_run();
                self.table = Some(Vec::new());
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.push(Vec::new());
                }
            }
            Tag::TableCell => self.run = Some(Open::default()),
            Tag::Emphasis
            | Tag::Strong
            | Tag::Strikethrough
            | Tag::Superscript
            | Tag::Subscript
            | Tag::Link { .. }
            | Tag::Image { .. } => self.inline(range, 0),
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd, range: Range<usize>) {
        match tag {
            TagEnd::Paragraph => self.end_run(),
            TagEnd::Heading(level) => {
                let leaf = self.take_run(Shape::Heading);
                self.block(Block::Heading(level as usize, leaf));
            }
            TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item => {
                self.end_run();
                if tag == TagEnd::Item {
                    self.fill_blank_item(&range);
                }
                if self.ignored > 0 {
                    self.ignored -= 1;
                } else {
                    self.close();
                }
            }
            TagEnd::CodeBlock => {
                if let Some((code, indented)) = self.code.take() {
                    let leaf = self.leaf(Leaf::code(&code));
                    self.block(Block::Code(leaf, indented));
                }
            }
            TagEnd::HtmlBlock => {
                if let Some(html) = self.html.take() {
                    // A comment has five tokens or so around its words.
                    let target = tokens(html.trim()).saturating_sub(5).max(1);
                    let leaf = self.leaf(Leaf::new(Shape::Text, target, 1));
                    self.block(Block::Html(leaf));
                }
            }
            TagEnd::TableCell => {
                let leaf = self.take_run(Shape::Cell);
                if let Some(row) = self.table.as_mut().and_then(|table| table.last_mut()) {
                    row.push(leaf);
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.block(Block::Table(table));
                }
            }
            _ => {}
        }
    }

    /// Takes note of something inside a paragraph, a heading, a cell, or of a tight item, where
    /// nothing announces it.
    fn inline(&mut self, range: Range<usize>, breaks: usize) {
        let run = self.run.get_or_insert_default();
        run.lines += breaks;
        let range = match &run.range {
            Some(known) => known.start.min(range.start)..known.end.max(range.end),
            None => range,
        };
        run.range = Some(range);
    }

    /// Ends an open paragraph or the text of a tight item.
    fn end_run(&mut self) {
        if self.run.as_ref().is_some_and(|run| run.range.is_some()) {
            let leaf = self.take_run(Shape::Text);
            self.block(Block::Text(leaf));
        }
        self.run = None;
    }

    fn take_run(&mut self, shape: Shape) -> usize {
        let run = self.run.take().unwrap_or_default();
        let text = run.range.and_then(|range| self.text.get(range)).unwrap_or_default().trim();
        self.leaf(Leaf::new(shape, tokens(text), run.lines + 1))
    }

    /// Adds a text to a list item whose only content is a link definition, for which the parser
    /// emits no event. An empty item cannot interrupt a paragraph.
    fn fill_blank_item(&mut self, range: &Range<usize>) {
        let blank = matches!(self.frames.last(), Some(Frame::Item(item)) if item.blocks.is_empty());
        let text = self.text.get(range.clone()).unwrap_or_default();
        if blank && self.ignored == 0 && text.contains('[') {
            let leaf = self.leaf(Leaf::new(Shape::Text, tokens(text).saturating_sub(2).max(1), 1));
            self.block(Block::Text(leaf));
        }
    }

    fn leaf(&mut self, leaf: Leaf) -> usize {
        self.leaves.push(leaf);
        self.leaves.len() - 1
    }

    fn open(&mut self, frame: Frame) {
        self.end_run();
        // A list and its item are opened together, so that an item is always in a list.
        if self.ignored > 0 || (self.frames.len() > DEPTH && !matches!(frame, Frame::Item(_))) {
            self.ignored += 1;
        } else {
            self.frames.push(frame);
        }
    }

    fn close(&mut self) {
        match self.frames.pop() {
            Some(Frame::Quote(blocks)) => self.block(Block::Quote(blocks)),
            Some(Frame::List(list)) => self.block(Block::List(list)),
            Some(Frame::Item(item)) => {
                if let Some(Frame::List(list)) = self.frames.last_mut() {
                    list.items.push(item);
                }
            }
            Some(root @ Frame::Root(_)) => self.frames.push(root),
            None => {}
        }
    }

    fn block(&mut self, block: Block) {
        match self.frames.last_mut() {
            Some(Frame::Root(blocks) | Frame::Quote(blocks) | Frame::Item(Item { blocks, .. })) => {
                blocks.push(block);
            }
            Some(Frame::List(_)) | None => {}
        }
    }
}
