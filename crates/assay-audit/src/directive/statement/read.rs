//! Reads the passages of a document.

use std::collections::HashMap;
use std::ops::Range;

use assay_syntax::blocks::{self, Block, Code, Mark, Role, Text};

use super::super::clause::{mask, sentences};
use super::super::code::form;
use super::super::extract::leads_aside;
use super::super::unit::Names;
use super::code::read_code;
use super::group::{Extent, Passage, PassageGroup, shorten};
use super::listing::TEXT_CAP;
use super::score::{ENOUGH, is_short, score_sentence};

/// Headings of parts that describe rather than tell, in lower case.
const DESCRIPTIONS: [&str; 22] = [
    "overview",
    "introduction",
    "prerequisite",
    "requirements",
    "background",
    "purpose",
    "what is",
    "what this",
    "what it",
    "why ",
    "features",
    "capabilities",
    "contents",
    "table of contents",
    "how it works",
    "benefits",
    "key concepts",
    "next steps",
    "support",
    "motivation",
    "philosophy",
    "files in this",
];

/// A heading, and what is below it.
struct Section {
    level: usize,
    order: usize,
    title: String,
    aside: bool,
    /// Whether it describes, so that only clear demands count.
    descriptive: bool,
    example: bool,
}

/// Reads the passages of one document.
pub(super) struct StatementReader<'r> {
    file: usize,
    lines: Vec<&'r str>,
    text: &'r str,
    names: &'r Names,
    found: &'r mut Vec<Passage>,
    extents: &'r mut Vec<Extent>,
    sections: Vec<Section>,
    headings: usize,
    /// Whether there are headings below those of the first level, whose own text then introduces.
    has_parts: bool,
    block: usize,
    /// For each list, its items and how many of them are short.
    lists: HashMap<usize, (usize, usize)>,
    /// The list that is read as one passage, and where that is.
    joined: Option<(usize, usize)>,
    /// The last text, where it announces what follows: its passage or its lines.
    lead: Option<Lead>,
    example: bool,
}

/// A text that ends with a colon.
struct Lead {
    passage: Option<usize>,
    first: usize,
    last: usize,
    text: String,
}

impl<'r> StatementReader<'r> {
    pub(super) fn new(
        file: usize,
        text: &'r str,
        names: &'r Names,
        found: &'r mut Vec<Passage>,
        extents: &'r mut Vec<Extent>,
    ) -> Self {
        Self {
            extents,
            file,
            lines: text.lines().collect(),
            text,
            names,
            found,
            sections: Vec::new(),
            headings: 0,
            has_parts: false,
            block: 0,
            lists: HashMap::new(),
            joined: None,
            lead: None,
            example: false,
        }
    }

    /// Reads what begins at `start`.
    pub(super) fn read_body(&mut self, start: usize) {
        let blocks = blocks::read(self.text, start);
        for block in &blocks {
            if let Block::Text(text @ Text { role: Role::Item { list, .. }, .. }) = block {
                let (items, short) = self.lists.entry(*list).or_default();
                *items += 1;
                *short += usize::from(is_name(text));
            }
            if let Block::Text(Text { role: Role::Heading(level), .. }) = block {
                self.has_parts |= *level > 1;
            }
        }
        let mut at = 0;
        while at < blocks.len() {
            self.block += 1;
            match &blocks[at] {
                Block::Code(code) => self.read_block(code),
                Block::Text(text) => match text.role {
                    Role::Heading(level) => self.read_heading(text, level),
                    Role::Cell { table, .. } => {
                        let is_cell = |block: &&Block| matches!(block, Block::Text(text) if matches!(text.role, Role::Cell { table: same, .. } if same == table));
                        let count = blocks[at..].iter().take_while(is_cell).count();
                        self.read_table(&blocks[at..at + count]);
                        at += count - 1;
                    }
                    Role::Item { list, .. } => self.read_item(text, list),
                    Role::Paragraph => self.read_paragraph(text),
                },
            }
            at += 1;
        }
        self.close_sections(0, self.lines.len() + 1);
    }

    /// Notes where sections end: at a heading of this level in this line.
    fn close_sections(&mut self, level: usize, line: usize) {
        let is_empty = |line: &&str| line.trim().is_empty() || line.trim() == "---";
        let before = &self.lines[..(line - 1).min(self.lines.len())];
        let last = before.len() - before.iter().rev().take_while(|line| is_empty(line)).count();
        let innermost = self.sections.last().map(|section| section.order);
        for extent in self.extents.iter_mut().filter(|extent| extent.file == self.file) {
            let is_open = |section: &Section| section.order == extent.order && section.level >= level;
            if Some(extent.order) == innermost && extent.own_last == 0 {
                extent.own_last = last;
            }
            if extent.last == 0 && self.sections.iter().any(is_open) {
                extent.last = last;
            }
        }
        self.sections.retain(|section| section.level < level);
    }

    fn read_heading(&mut self, text: &Text, level: usize) {
        self.close_sections(level, text.line(0));
        self.headings += 1;
        self.extents.push(Extent {
            file: self.file,
            order: self.headings,
            first: text.line(0),
            own_last: 0,
            last: 0,
        });
        let title = shorten(text.text.trim());
        let lower = title.trim_start_matches(|sign: char| !sign.is_alphabetic()).to_lowercase();
        self.sections.push(Section {
            level,
            order: self.headings,
            aside: leads_aside(&lower),
            descriptive: DESCRIPTIONS.iter().any(|word| lower.starts_with(word)),
            example: lower.starts_with("example") || lower.ends_with("example"),
            title,
        });
        (self.joined, self.lead, self.example) = (None, None, false);
    }

    fn is_aside(&self) -> bool {
        self.sections.iter().any(|section| section.aside)
    }

    /// Points from which a passage counts here: more where the text describes.
    fn threshold(&self) -> i32 {
        let introduces = match self.sections.last() {
            None => self.has_parts,
            Some(section) => section.descriptive || section.level == 1 && self.has_parts,
        };
        ENOUGH + i32::from(introduces)
    }

    /// The points that a list item has for its place.
    fn item_points(&self) -> i32 {
        match self.sections.last() {
            None if self.has_parts => 0,
            Some(section) if section.descriptive => 0,
            _ => 2,
        }
    }

    /// Adds a passage, and gives its place.
    fn push(&mut self, group: PassageGroup, lines: (usize, usize), text: &str, points: i32) -> usize {
        let passage = Passage {
            file: self.file,
            sections: self.sections.iter().map(|section| section.order).collect(),
            heading: self.sections.last().map_or_else(String::new, |section| section.title.clone()),
            group,
            block: self.block,
            quote: self.quote(lines, text),
            lines: vec![lines],
            text: text.trim().to_owned(),
            points,
        };
        self.found.push(passage);
        self.found.len() - 1
    }

    /// Words of the first line: from where the passage begins, if they are found there.
    fn quote(&self, (first, _): (usize, usize), text: &str) -> String {
        let line = self.lines.get(first - 1).copied().unwrap_or_default();
        let start: String = text.trim().chars().take(12).collect();
        let at = line.find(&start).filter(|_| !start.is_empty());
        let words = &line[at.unwrap_or_default()..];
        let words = if at.is_some() {
            words
        } else {
            words.trim_start_matches(|sign: char| " \t-*+>#|".contains(sign))
        };
        words.trim_end().chars().take(TEXT_CAP).collect()
    }

    fn read_paragraph(&mut self, text: &Text) {
        if text.depth == 0 {
            self.joined = None;
        }
        self.lead = None;
        self.example = text.text.to_lowercase().contains("example");
        if self.is_aside() {
            return;
        }
        let base = i32::from(text.depth > 0);
        let group = PassageGroup::Block(self.block);
        let last = self.read_sentences(text, base, group);
        if text.text.trim_end().ends_with(':') {
            self.lead = Some(lead_of(text, last));
        }
    }

    fn read_item(&mut self, text: &Text, list: usize) {
        self.example = false;
        if self.is_aside() {
            return;
        }
        let (items, short) = self.lists.get(&list).copied().unwrap_or_default();
        if items >= 2 && short * 5 >= items * 3 {
            self.read_short(text, list);
            return;
        }
        let base = self.item_points();
        let ranges = code_ranges(text);
        let parts = sentences(&text.text, &ranges);
        let last = if parts.len() <= 2 {
            let masked = mask(&text.text, &ranges);
            let points = base + score_sentence(&masked, &text.text);
            let lines = (text.line(0), text.line(text.text.trim_end().len()));
            (points >= self.threshold())
                .then(|| self.push(PassageGroup::List(list), lines, &text.text, points))
        } else {
            self.read_sentences(text, base.min(1), PassageGroup::List(list))
        };
        self.lead = text.text.trim_end().ends_with(':').then(|| lead_of(text, last));
    }

    /// Reads an item of a list of names: such a list says one thing, together with what announces it.
    fn read_short(&mut self, text: &Text, list: usize) {
        let (first, last) = (text.line(0), text.line(text.text.trim_end().len()));
        if let Some((joined, at)) = self.joined
            && joined == list
        {
            if let Some(passage) = self.found.get_mut(at) {
                passage.add_lines(first, last);
                passage.text = format!("{}; {}", passage.text, text.text.trim());
            }
            return;
        }
        let lead = self.lead.take();
        let at = match lead {
            Some(Lead { passage: Some(at), .. }) => {
                self.found[at].add_lines(first, last);
                self.found[at].text = format!("{} {}", self.found[at].text, text.text.trim());
                Some(at)
            }
            Some(lead) => {
                let points = self.item_points() + 1;
                let words = format!("{} {}", lead.text, text.text.trim());
                (points >= self.threshold()).then(|| {
                    let at = self.push(PassageGroup::List(list), (lead.first, lead.last), &words, points);
                    self.found[at].add_lines(first, last);
                    at
                })
            }
            None => {
                let points = self.item_points();
                (points >= self.threshold())
                    .then(|| self.push(PassageGroup::List(list), (first, last), &text.text, points))
            }
        };
        self.joined = Some((list, at.unwrap_or(usize::MAX)));
    }

    /// Reads the sentences of a text. A title such as "**Name.**" belongs to the sentence after it. Returns the last passage.
    fn read_sentences(&mut self, text: &Text, base: i32, group: PassageGroup) -> Option<usize> {
        let ranges = code_ranges(text);
        let mut last = None;
        let mut title: Option<usize> = None;
        for sentence in sentences(&text.text, &ranges) {
            let start = title.take().unwrap_or(sentence.range.start);
            let words = &text.text[start..sentence.range.end];
            if is_title(text, &sentence.range) {
                title = Some(sentence.range.start);
                continue;
            }
            let points = base
                + score_sentence(sentence.masked(), &text.text[sentence.range.clone()])
                + i32::from(start < sentence.range.start);
            if points < self.threshold() {
                continue;
            }
            let lead = words.len() - words.trim_start().len();
            let lines =
                (text.line(start + lead), text.line(start + words.trim_end().len().saturating_sub(1)));
            last = Some(self.push(group, lines, words, points));
        }
        last
    }

    fn read_table(&mut self, cells: &[Block]) {
        self.lead = None;
        if self.is_aside() {
            return;
        }
        let group = PassageGroup::Block(self.block);
        let mut rows: Vec<(usize, Vec<&Text>)> = Vec::new();
        let mut conditional = false;
        for cell in cells {
            let Block::Text(text) = cell else { continue };
            let Role::Cell { row, column, .. } = text.role else { continue };
            if row == 0 {
                let header = text.text.trim().to_lowercase();
                conditional |= column == 0
                    && ["when", "if", "case", "condition", "situation", "scenario"]
                        .iter()
                        .any(|word| header.starts_with(word));
                continue;
            }
            match rows.last_mut() {
                Some((last, cells)) if *last == row => cells.push(text),
                _ => rows.push((row, vec![text])),
            }
        }
        for (_, cells) in rows {
            self.block += 1;
            let words: Vec<&str> = cells.iter().map(|cell| cell.text.trim()).collect();
            let strongest = cells
                .iter()
                .map(|cell| score_sentence(&mask(&cell.text, &code_ranges(cell)), &cell.text))
                .max();
            let points = 1 + i32::from(conditional) + strongest.unwrap_or_default();
            if points >= self.threshold() {
                let line = cells.first().map_or(1, |cell| cell.line(0));
                self.push(group, (line, line), &words.join(" | "), points);
            }
        }
    }

    fn read_block(&mut self, code: &Code) {
        let lead = self.lead.take();
        if self.is_aside() {
            return;
        }
        let form = form(code, &code.text, self.names);
        let parts = read_code(code, form);
        let example = self.example || self.sections.iter().any(|section| section.example);
        // A short block completes the sentence before it.
        if let (Some(Lead { passage: Some(at), .. }), [part]) = (&lead, &parts[..]) {
            self.found[*at].add_lines(part.first, part.last);
            return;
        }
        let group = PassageGroup::Block(self.block);
        for part in parts {
            self.block += 1;
            if part.points - i32::from(example) >= ENOUGH {
                self.push(group, (part.first, part.last), &part.text, part.points);
            }
        }
    }
}

/// Whether an item is a mere name or noun phrase, which says nothing without its list.
fn is_name(text: &Text) -> bool {
    is_short(&text.text) && score_sentence(&mask(&text.text, &code_ranges(text)), &text.text) < ENOUGH
}

/// Whether a sentence is only a title in bold letters.
fn is_title(text: &Text, range: &Range<usize>) -> bool {
    let words = &text.text[range.clone()];
    let lead = words.len() - words.trim_start().len();
    let (start, end) = (range.start + lead, range.start + words.trim_end().len());
    text.marks
        .iter()
        .any(|(marked, mark)| *mark == Mark::Strong && marked.start <= start && marked.end + 1 >= end)
        && range.end < text.text.len()
}

fn code_ranges(text: &Text) -> Vec<Range<usize>> {
    let code = text.marks.iter().filter(|(_, mark)| *mark == Mark::Code);
    code.map(|(range, _)| range.clone()).collect()
}

/// What announces the passages that follow it.
fn lead_of(text: &Text, passage: Option<usize>) -> Lead {
    let end = text.text.trim_end().len();
    // The last sentence announces; what stands before it is said for itself.
    let ranges = code_ranges(text);
    let first = sentences(&text.text, &ranges).last().map_or(0, |sentence| sentence.range.start);
    Lead { passage, first: text.line(first), last: text.line(end), text: text.text.trim().to_owned() }
}
