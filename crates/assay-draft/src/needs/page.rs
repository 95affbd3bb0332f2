//! A `SKILL.md` as the finders read it.

use std::ops::Range;

use assay_skill::Document;
use assay_syntax::blocks::{self, Block, Mark, Role};

/// The part of the document that a block belongs to, by the headings above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    /// The description, or the introduction.
    Summary,
    /// What has to be there before the skill is used.
    Prerequisites,
    /// Instructions.
    Main,
    /// When the skill applies: requests, not instructions.
    Scope,
    /// What is not an instruction: limits, related skills, references, history.
    Aside,
}

/// A paragraph, item, cell or heading.
#[derive(Debug)]
pub(super) struct Prose {
    pub(super) text: String,
    pub(super) section: Section,
    /// Whether it is a cell of a table.
    pub(super) cell: bool,
    /// Inline code within the text, without its backticks.
    pub(super) code: Vec<Range<usize>>,
    /// The texts of links.
    pub(super) links: Vec<Range<usize>>,
    /// Where in the text a part of another line begins, with that line.
    lines: Vec<(usize, usize)>,
}

impl Prose {
    /// The document's line of a byte of the text.
    pub(super) fn line(&self, at: usize) -> usize {
        let after = self.lines.partition_point(|(start, _)| *start <= at);
        self.lines.get(after.saturating_sub(1)).map_or(1, |(_, line)| *line)
    }

    /// The pieces of inline code, with their lines.
    pub(super) fn inline(&self) -> impl Iterator<Item = (&str, usize)> {
        self.code.iter().filter_map(|range| Some((self.text.get(range.clone())?, self.line(range.start))))
    }

    /// Whether a byte of the text is within the text of a link.
    pub(super) fn is_linked(&self, at: usize) -> bool {
        self.links.iter().any(|range| range.contains(&at))
    }
}

/// A block of code.
#[derive(Debug)]
pub(super) struct Code {
    pub(super) language: String,
    pub(super) text: String,
    pub(super) section: Section,
    /// The line of its first line of content.
    pub(super) line: usize,
}

/// The parts of a document.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) prose: Vec<Prose>,
    pub(super) code: Vec<Code>,
}

impl Page {
    pub(super) fn read(document: &Document) -> Self {
        let mut page = Self::default();
        page.description(document);
        let mut headings: Vec<(usize, Section)> = Vec::new();
        let mut introduction = true;
        for block in blocks::read(&document.text, document.body_start) {
            let section = match headings.last() {
                Some((_, section)) => *section,
                None if introduction => Section::Summary,
                None => Section::Main,
            };
            match block {
                Block::Code(code) => {
                    introduction = false;
                    page.code.push(Code {
                        language: code.language,
                        text: code.text,
                        section,
                        line: code.line,
                    });
                }
                Block::Text(text) => {
                    let mut section = section;
                    if let Role::Heading(level) = text.role {
                        headings.retain(|(above, _)| *above < level);
                        let above = headings.last().map(|(_, section)| *section);
                        section = section_of(&text.text, above);
                        // The title is not a section.
                        if level > 1 || section != Section::Main {
                            headings.push((level, section));
                            introduction = false;
                        }
                    }
                    let cell = matches!(text.role, Role::Cell { .. });
                    let marked = |is: fn(&Mark) -> bool| {
                        text.marks
                            .iter()
                            .filter(|(_, mark)| is(mark))
                            .map(|(range, _)| range.clone())
                            .collect()
                    };
                    let code = marked(|mark| *mark == Mark::Code);
                    let links = marked(|mark| matches!(mark, Mark::Link(_)));
                    let lines = lines(&text);
                    page.prose.push(Prose { text: text.text, section, cell, code, links, lines });
                }
            }
        }
        page
    }

    /// The description and the compatibility note of the front matter.
    fn description(&mut self, document: &Document) {
        for key in ["description", "compatibility", "prerequisites", "requirements"] {
            let (Some(value), Some(line)) =
                (document.front_matter.get(key).and_then(|value| value.as_str()), document.line_of(key))
            else {
                continue;
            };
            let section = if key == "description" { Section::Summary } else { Section::Prerequisites };
            let text = value.split_whitespace().collect::<Vec<_>>().join(" ");
            let lines = description_lines(document, &text, line);
            let (code, links) = (Vec::new(), Vec::new());
            self.prose.push(Prose { text, section, cell: false, code, links, lines });
        }
    }
}

/// The lines of a text block, one entry for each change.
fn lines(text: &blocks::Text) -> Vec<(usize, usize)> {
    let mut lines = vec![(0, text.line(0))];
    for (at, _) in text.text.match_indices([' ', '\n']) {
        let line = text.line(at + 1);
        if lines.last().is_some_and(|(_, last)| *last != line) {
            lines.push((at + 1, line));
        }
    }
    lines
}

/// Where the words of a field of the front matter are: YAML may fold it over several lines.
fn description_lines(document: &Document, text: &str, line: usize) -> Vec<(usize, usize)> {
    let mut found = vec![(0, line)];
    let mut at = 0;
    let last = document.text[..document.body_start].lines().count();
    for (number, written) in document.text.lines().enumerate().take(last).skip(line) {
        let words = written.split_whitespace().collect::<Vec<_>>().join(" ");
        if words.is_empty() {
            continue;
        }
        let Some(next) = text[at..].find(words.as_str()) else { break };
        at += next;
        found.push((at, number + 1));
    }
    found
}

/// The section that a heading opens.
fn section_of(heading: &str, above: Option<Section>) -> Section {
    const ASIDE: [&str; 26] = [
        "not use",
        "not to use",
        "don't use",
        "do not use",
        "not activate",
        "anti-pattern",
        "antipattern",
        "anti pattern",
        "related",
        "see also",
        "further reading",
        "learn more",
        "changelog",
        "version history",
        "credits",
        "license",
        "acknowledg",
        "attribution",
        "limitation",
        "out of scope",
        "future",
        "alternatives",
        "sources",
        "glossary",
        "skill metadata",
        "additional information",
    ];
    const SCOPE: [&str; 10] = [
        "when to use",
        "when to apply",
        "when to activate",
        "use this skill",
        "when this skill",
        "trigger",
        "use cases",
        "activation",
        "use when",
        "when to invoke",
    ];
    const PREREQUISITES: [&str; 10] = [
        "prerequisite",
        "requirement",
        "dependencies",
        "installation",
        "setup",
        "before you start",
        "authentication",
        "environment",
        "before starting",
        "getting started",
    ];
    let heading = heading.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| heading.contains(word));
    // "Quick Reference" has instructions, "References" has links.
    let links = ["references", "reference files", "reference documents", "resources", "reference guides"];
    let is_links = links.iter().any(|words| heading == *words || heading.starts_with(&format!("{words} ")))
        || heading.ends_with(" resources");
    if above == Some(Section::Aside) || is_links || has(&ASIDE) {
        Section::Aside
    } else if has(&SCOPE) {
        Section::Scope
    } else if has(&PREREQUISITES) {
        Section::Prerequisites
    } else {
        match above {
            Some(above @ (Section::Prerequisites | Section::Scope)) => above,
            _ => Section::Main,
        }
    }
}
