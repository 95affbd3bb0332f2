//! A report for a terminal: the document of the other renderers, with its details only on request.

use assay_analysis::{Report, VerdictKind};

use crate::columns::Columns;
use crate::doc::{Block, Cell, Document, Grid, Level, Plain, Section, Verdict};
use crate::sections::document;
use crate::text::{clean, shell_word, with_store};
use crate::{Renderer, Style};

/// The longest name in a table that is wider than the terminal; the JSON has complete names.
const NAME: usize = 32;

/// Lengths of names that are tried until a table fits, in characters.
const NAMES: [usize; 4] = [200, 96, 48, NAME];

/// Tables and sentences for a terminal.
pub(crate) struct Terminal;

impl Renderer for Terminal {
    fn name(&self) -> &'static str {
        "terminal"
    }

    fn render(&self, report: &Report, style: Style<'_>) -> String {
        let mut page = Page { text: String::new(), style };
        page.document(&document(report));
        if !style.details && !report.comparisons.is_empty() {
            page.line("");
            let run = shell_word(&clean(&report.run));
            let more = format!(
                "Definitions of all terms and columns: `assay report {run} --details` and docs/guide/reports.md"
            );
            page.sentences("", 0, &more);
        }
        if style.tests && report.exploration.tests.is_empty() {
            page.line("\nNo verifier of this run reported its checks (as CTRF, or as named rewards).");
        }
        page.text
    }
}

struct Page<'a> {
    text: String,
    style: Style<'a>,
}

impl Page<'_> {
    /// Writes the document. Its notes already mention a demonstration.
    fn document(&mut self, document: &Document) {
        self.title(&match document.outcome.as_str() {
            "" => format!("Run: {}", document.run),
            outcome => format!("Run: {} · {outcome}", document.run),
        });
        self.sentences("", 0, &document.facts);
        for note in &document.notes {
            self.sentences("! ", 2, note);
        }
        for section in &document.sections {
            let shown = match section.level {
                Level::Summary => true,
                Level::Tests => self.style.tests,
                Level::Details => self.style.details,
            };
            if shown {
                self.section(section);
            }
        }
    }

    fn section(&mut self, section: &Section) {
        let blocks: Vec<&Block> = section.blocks.iter().filter(|block| self.shows(block)).collect();
        if blocks.is_empty() {
            return;
        }
        self.line("");
        self.title(section.title);
        let verdicts = blocks.iter().filter_map(|block| match block {
            Block::Verdict(verdict) => Some(verdict.word().len()),
            _ => None,
        });
        let width = verdicts.max().unwrap_or(0);
        let mut previous: Option<&Block> = None;
        for block in blocks {
            let apart = match block {
                Block::Who(_) | Block::Grid(_) => previous.is_some(),
                Block::Text(_) => matches!(previous, Some(Block::Grid(_))),
                _ => false,
            };
            if apart {
                self.line("");
            }
            previous = Some(block);
            match block {
                Block::Who(who) => self.title(&format!(" {who}")),
                Block::Text(text) => self.sentences(" ", 1, text),
                Block::List(lines) => lines.iter().for_each(|line| self.sentences(" ", 3, line)),
                Block::Verdict(verdict) => self.verdict(verdict, width),
                Block::Grid(grid) => self.table(grid),
                Block::Plot(_) => {}
            }
        }
    }

    fn shows(&self, block: &Block) -> bool {
        match block {
            Block::Grid(grid) => self.style.details || !grid.detail,
            // Every plot has its table.
            Block::Plot(_) => false,
            Block::Who(_) | Block::Text(_) | Block::List(_) | Block::Verdict(_) => true,
        }
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// A line that begins a part of the page.
    fn title(&mut self, title: &str) {
        let title = self.painted(title, "1");
        self.line(&title);
    }

    fn painted(&self, text: &str, code: &str) -> String {
        if self.style.color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// Sentences, the first line after `mark` and the others indented.
    fn sentences(&mut self, mark: &str, indent: usize, text: &str) {
        // Before lines are broken: a command is longer with its store.
        let text = with_store(text, self.style.store);
        for (number, line) in wrapped(&text, self.style.sentence() - indent).iter().enumerate() {
            let begin = if number == 0 { mark.to_owned() } else { " ".repeat(indent) };
            self.line(&format!("{begin}{line}"));
        }
    }

    fn verdict(&mut self, verdict: &Verdict, width: usize) {
        let code = match verdict.kind {
            Some(VerdictKind::Helps) => "1;32",
            Some(VerdictKind::Harms) => "1;31",
            Some(VerdictKind::Negligible) => "1;36",
            Some(VerdictKind::Inconclusive) | None => "1;33",
        };
        let word = verdict.word();
        let mark = format!(" {}{}  ", self.painted(word, code), " ".repeat(width - word.len()));
        let Verdict { condition, baseline, sentence, .. } = verdict;
        self.sentences(&mark, width + 3, &format!("{condition} against {baseline}: {sentence}"));
    }

    fn table(&mut self, grid: &Grid) {
        if !grid.caption.is_empty() {
            self.sentences(" ", 1, &format!("{}:", grid.caption));
        }
        let shown: Vec<usize> =
            (0..grid.columns.len()).filter(|&at| self.style.details || !grid.columns[at].detail).collect();
        // Names are shortened only if the table would not fit otherwise.
        let build = |most: usize| {
            let cell = |cell: &Cell| match cell.plain() {
                Plain::Name(name) => short(name, most),
                Plain::Text(words) => words.to_owned(),
            };
            let header = shown.iter().map(|&at| &grid.columns[at]);
            let keys = 1 + usize::from(grid.grouped);
            let mut table = Columns::new(header.map(|column| (cell(&column.title), column.numbers)), keys);
            for row in &grid.rows {
                table.add_row(shown.iter().filter_map(|&at| row.get(at)).map(cell));
            }
            table
        };
        let width = self.style.table();
        let table = NAMES.into_iter().map(build).find(|table| table.fits(width));
        let table = table.unwrap_or_else(|| build(NAME));
        for line in table.lines(width) {
            self.line(&line);
        }
    }
}

/// Words in lines of at most `width` characters; a word that is longer is broken.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut room = width;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let mut rest: Vec<char> = word.chars().collect();
        if rest.len() + usize::from(room < width) > room && room < width {
            lines.push(String::new());
            room = width;
        }
        loop {
            let line = lines.last_mut().expect("there is a line from the beginning");
            if room < width {
                line.push(' ');
                room -= 1;
            }
            let left = rest.split_off(rest.len().min(room));
            room -= rest.len();
            line.extend(rest);
            if left.is_empty() {
                break;
            }
            rest = left;
            lines.push(String::new());
            room = width;
        }
    }
    lines
}

/// A name of at most `most` characters. What is left out is in the middle: names differ at their ends.
fn short(name: &str, most: usize) -> String {
    let name = clean(name);
    let characters: Vec<char> = name.chars().collect();
    if characters.len() <= most {
        return name;
    }
    let end = (most - 1) / 2;
    let start = &characters[..most - 1 - end];
    start.iter().chain(&['…']).chain(&characters[characters.len() - end..]).collect()
}

#[cfg(test)]
pub(crate) mod tests;
