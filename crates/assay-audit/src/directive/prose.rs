//! Directives from the text of a document.

use std::ops::Range;
use std::path::Path;

use assay_syntax::blocks::{Mark, Role, Text};

use super::clause::{Sentence, Stance, sentences, takes_back};
use super::layout::{like, listed, mark, spaced};
use super::number::{self, numbers};
use super::order;
use super::unit::{Names, Unit, shape, units, value};
use super::whole_call::{prohibited, prohibited_call};
use super::word::{is_choice, is_named, is_program_word};
use super::{Kind, Modality, Probe};

/// What the place of a text says about it.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "a place may say any of these")]
pub(super) struct Context {
    /// Whether units stand for what is not to be done, as below "Don't".
    pub(super) forbidden: bool,
    /// Whether it is an example.
    pub(super) example: bool,
    /// Whether it lists faults, whose denials demand and whose demands deny.
    pub(super) faults: bool,
    /// Whether names are those of columns or keys.
    pub(super) column: bool,
    /// The condition of the heading, the list or the row.
    pub(super) condition: Option<String>,
    /// Words that belong to every number of the text: the first cell of a row and its header.
    pub(super) words: String,
}

/// A unit that a text demands or forbids.
#[derive(Debug, Clone)]
pub(super) struct Demand {
    pub(super) unit: Unit,
    pub(super) modality: Modality,
    pub(super) example: bool,
    pub(super) condition: Option<String>,
    pub(super) applies: Option<Probe>,
    pub(super) instead: Vec<Probe>,
    /// Its range in the text of the block.
    pub(super) range: Range<usize>,
}

/// How far around a unit words are looked at, in bytes.
const NEAR: usize = 80;

/// How far from a forbidding verb its object stands at most, in bytes.
const OBJECT: usize = 48;

/// Most words near a number.
const NEAR_WORDS: usize = 12;

/// Words before a unit that make it an example.
const EXAMPLES: [&str; 9] =
    ["e.g.", "for example", "for instance", "such as", "as in", "example:", "examples:", "i.e.", "say,"];

/// Words of a sentence that chooses between tools.
const CHOICES: [&str; 11] = [
    " over ",
    "instead of ",
    "rather than ",
    ", not ",
    "never use ",
    "do not use ",
    "don't use ",
    "avoid ",
    "must not use ",
    "always use ",
    "must use ",
];

/// Verbs and nouns that make quoted text something to write.
const WRITING: [&str; 41] = [
    "write",
    "print",
    "output",
    "text",
    "label",
    "title",
    "message",
    "exactly",
    "heading",
    "named",
    "prefix",
    "suffix",
    "begin",
    "start with",
    "starts with",
    "end with",
    "ends with",
    "value",
    "mark",
    "header",
    "footer",
    "reply",
    "respond",
    "append",
    "literal",
    "set to",
    "status",
    "reason",
    "name ",
    "call it",
    "tag",
    "branch",
    "commit",
    "subject line",
    "use ",
    "add ",
    "include",
    "put ",
    "set ",
    "contain",
    "replace",
];

/// Words that attribute quoted text to another speaker.
const SPOKEN: [&str; 9] =
    ["user", "asks", "says", "trigger", "request", "mention", "phrase", "prompt", "question"];

/// Words after which names are those of columns or keys.
const COLUMNS: [&str; 10] = [
    "column",
    "columns",
    "field",
    "fields",
    "key",
    "keys",
    "header row",
    "attributes",
    "properties",
    "headers",
];

/// The sentences and demands of a text.
pub(super) fn demands(text: &Text, context: &Context, names: &Names) -> (Vec<Sentence>, Vec<Demand>) {
    let code: Vec<Range<usize>> =
        text.marks.iter().filter(|(_, mark)| *mark == Mark::Code).map(|(range, _)| range.clone()).collect();
    let sentences = sentences(&text.text, &code);
    let mut demands = Vec::new();
    let mut first = 0;
    let mut previous: Option<Unit> = None;
    for (at, sentence) in sentences.iter().enumerate() {
        let last = first + code[first..].iter().take_while(|range| range.start < sentence.range.end).count();
        let start = demands.len();
        let taken_back = sentences.get(at + 1).is_some_and(|next| takes_back(next.masked()));
        let demands_here = &mut demands;
        let mut reader = Reader {
            text,
            context,
            names,
            sentence,
            leads: at == 0,
            taken_back,
            demands: demands_here,
            placed: Vec::new(),
        };
        reader.read(&code[first..last]);
        first = last;
        let acts = |demand: &&Demand| demand.modality == Modality::Required && order::runs(&demand.unit);
        let act = demands[start..].iter().find(acts).cloned();
        if let Some((demand, earlier)) = act.as_ref().zip(previous.as_ref())
            && follows(sentence.masked())
            && let Some(unit) = order::sequence(earlier, &demand.unit)
        {
            let order = Demand { unit, applies: None, instead: Vec::new(), ..demand.clone() };
            demands.push(order);
        }
        previous = act.map(|demand| demand.unit);
    }
    (sentences, demands)
}

/// Whether a sentence says what comes after the one before it.
pub(super) fn follows(masked: &str) -> bool {
    let start = masked.trim_start_matches(|c: char| !c.is_alphabetic());
    ["then ", "then,", "next ", "next,", "after that", "afterwards", "only then", "finally", "lastly"]
        .iter()
        .any(|word| start.starts_with(word))
}

struct Reader<'r> {
    text: &'r Text,
    context: &'r Context,
    names: &'r Names,
    sentence: &'r Sentence,
    /// Whether the sentence is the first of its text.
    leads: bool,
    /// Whether the next sentence forbids what this one names.
    taken_back: bool,
    demands: &'r mut Vec<Demand>,
    /// All units of the sentence, whatever the words around them make of them.
    placed: Vec<(Range<usize>, Unit)>,
}

impl Reader<'_> {
    fn read(&mut self, code: &[Range<usize>]) {
        let condition = self.sentence.condition.clone();
        let within = |range: &Range<usize>| {
            condition.as_ref().is_some_and(|condition| condition.contains(&range.start))
        };
        let (inside, outside): (Vec<Range<usize>>, Vec<Range<usize>>) =
            code.iter().cloned().partition(within);
        let mut applies = None;
        for range in &inside {
            for unit in units(&self.text.text[range.clone()], false, self.names) {
                applies.get_or_insert_with(|| unit.probe.clone());
                self.placed.push((range.clone(), unit));
            }
        }
        let start = self.demands.len();
        let mut at = 0;
        while at < outside.len() {
            let run = self.list(&outside[at..]);
            if run >= 3 && self.names_columns(&outside[at]) {
                let list: Vec<&str> =
                    outside[at..at + run].iter().map(|range| &self.text.text[range.clone()]).collect();
                let range = outside[at].start..outside[at + run - 1].end;
                self.push(Unit::layout(Kind::Column, &list.join(", "), listed(&list)), &range, false);
            }
            for range in &outside[at..at + run.max(1)] {
                self.code(range);
            }
            at += run.max(1);
        }
        self.bare(code);
        self.quoted(code);
        self.cell(code);
        self.thresholds();
        self.orders();
        if let Some(sorted) = order::sort_keys(self.sentence.masked(), self.sentence_text()) {
            let range =
                sorted.range.start + self.sentence.range.start..sorted.range.end + self.sentence.range.start;
            self.push(sorted.unit, &range, false);
        }
        self.alternatives(start);
        if let Some(range) = condition {
            let clause = self.text.text[range.clone()].trim().to_owned();
            for demand in &mut self.demands[start..] {
                // What stands in parentheses, or after a semicolon, is said of every case.
                let between = self.text.text.get(range.end..demand.range.start).unwrap_or_default();
                if demand.modality == Modality::Forbidden && between.contains(['(', ';']) {
                    continue;
                }
                demand.condition = Some(clause.clone());
                demand.applies.clone_from(&applies);
            }
        }
    }

    fn sentence_text(&self) -> &str {
        &self.text.text[self.sentence.range.clone()]
    }

    fn thresholds(&mut self) {
        if let Some(value) = number::cell(&self.text.text).filter(|_| !self.context.words.is_empty()) {
            let subject = self.text.text.trim().to_owned();
            let at = self.text.text.find(&subject).unwrap_or_default();
            let near = number::near("", &self.context.words);
            let range = at..at + subject.len();
            if self.demands.iter().all(|demand| demand.range != range) {
                self.push(
                    Unit { kind: Kind::Threshold, subject, probe: Probe::Number { value, near } },
                    &range,
                    false,
                );
            }
            return;
        }
        for found in numbers(self.sentence.masked(), self.states()) {
            let start = self.sentence.range.start;
            let range = found.range.start + start..found.range.end + start;
            // Names that are set as code are near too.
            let text = &self.text.text;
            let lower = |range: Range<usize>| text[range].to_lowercase();
            let from = text.ceil_char_boundary(range.start.saturating_sub(NEAR).max(start));
            let to = text.floor_char_boundary((range.end + NEAR).min(self.sentence.range.end)).max(range.end);
            let mut near = found.near;
            for word in number::near(&lower(from..range.start), &lower(range.end..to)) {
                if !near.contains(&word) && near.len() < NEAR_WORDS {
                    near.push(word);
                }
            }
            if self.converts(&range)
                || (self.context.words.is_empty() && near.is_empty() && found.value.len() < 5)
            {
                continue;
            }
            near.extend(number::near("", &self.context.words));
            let subject = self.text.text[range.clone()].to_owned();
            let value = number::scaled(&found.value, &self.text.text[range.start..]);
            let code = found.value.starts_with('0') && !found.value.contains('.') && found.value.len() > 1;
            if code {
                self.push(Unit::text(Kind::Literal, &subject), &range, false);
                continue;
            }
            let probe = Probe::Number { value, near };
            self.push(Unit { kind: Kind::Threshold, subject, probe }, &range, false);
        }
    }

    /// Whether the sentence may only describe: it is in running text and nothing in it demands.
    fn states(&self) -> bool {
        let masked = self.sentence.masked();
        let demands = [
            "must", "should", "shall", "need", "require", "use ", "set ", "keep ", "limit", "wait",
            "at least", "at most", "within", "never", "always", "cut", "round", "if ", "when ", "ensure",
            "only",
        ];
        self.text.role == Role::Paragraph && !demands.iter().any(|word| masked.contains(word))
    }

    fn orders(&mut self) {
        let offset = self.sentence.range.start;
        self.placed.sort_by_key(|(range, _)| range.start);
        let places: Vec<(Range<usize>, &Unit)> = self
            .placed
            .iter()
            .map(|(range, unit)| (range.start - offset..range.end - offset, unit))
            .collect();
        let found = order::sequences(self.sentence.masked(), &places);
        for (at, unit) in found {
            let (condition, example) = (self.context.condition.clone(), self.context.example);
            let range = at.start + offset..at.end + offset;
            self.demands.push(Demand {
                unit,
                modality: Modality::Required,
                example,
                condition,
                applies: None,
                range,
                instead: Vec::new(),
            });
        }
    }

    /// Gives what is demanded in place of something else the probe of the latter.
    fn alternatives(&mut self, start: usize) {
        let found = &self.demands[start..];
        let instead: Vec<Probe> = found
            .iter()
            .filter(|demand| demand.modality == Modality::Forbidden)
            .map(|demand| demand.unit.probe.clone())
            .collect();
        let required = found.iter().filter(|demand| demand.modality == Modality::Required).count();
        if instead.is_empty() || !(1..=2).contains(&required) {
            return;
        }
        for demand in &mut self.demands[start..] {
            if demand.modality == Modality::Required && demand.unit.kind != Kind::Threshold {
                demand.instead.clone_from(&instead);
            }
        }
    }

    /// Whether a range is part of an example such as "`64KiB` is 65536".
    fn converts(&self, range: &Range<usize>) -> bool {
        let has_digit = |text: &str| text.contains(|c: char| c.is_ascii_digit());
        let (start, end) = (self.sentence.range.start, self.sentence.range.end);
        let signs = |c: char| c.is_whitespace() || "`\"'()".contains(c);
        let text = &self.text.text;
        let start = text.ceil_char_boundary(start.max(range.start.saturating_sub(NEAR)));
        let end = text.floor_char_boundary(end.min(range.end + NEAR));
        let before = text[start..range.start].trim_end_matches(signs);
        let after = text[range.end..end.max(range.end)].trim_start_matches(signs);
        let verbs = ["is", "are", "becomes", "become", "→", "->", "=>", "="];
        let result = verbs.iter().filter_map(|verb| before.strip_suffix(verb)).any(|source| {
            source.ends_with(char::is_whitespace)
                && (has_digit(source.split_whitespace().next_back().unwrap_or_default())
                    || (source.split_whitespace().count() >= 2
                        && has_digit(source.split_whitespace().rev().nth(1).unwrap_or_default())))
        });
        let mut words = after.split_whitespace();
        let source = has_digit(&text[range.clone()])
            && (0..2).any(|_| words.next().is_some_and(|word| verbs.contains(&word)))
            && words.next().is_some_and(has_digit);
        result || source
    }

    /// How many pieces of inline code form a list: names with nothing but commas between them.
    fn list(&self, code: &[Range<usize>]) -> usize {
        let is_name = |range: &Range<usize>| {
            let name = &self.text.text[range.clone()];
            name.len() <= 40 && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
        };
        let joined = |pair: &&[Range<usize>]| {
            let between = self.text.text[pair[0].end..pair[1].start].trim();
            matches!(between, "," | "and" | ", and" | "/" | "|" | "·") && is_name(&pair[1])
        };
        if code.first().is_none_or(|first| !is_name(first)) {
            0
        } else {
            1 + code.windows(2).take_while(joined).count()
        }
    }

    /// Whether the words before a piece of code make it the name of a column or key.
    fn names_columns(&self, range: &Range<usize>) -> bool {
        let (before, after) = self.sentence.around(range);
        let before = &before[before.floor_char_boundary(before.len().saturating_sub(60))..];
        let near =
            |text: &str, word: &str| text.split(|c: char| !c.is_alphanumeric()).any(|found| found == word);
        self.context.column
            || COLUMNS.iter().any(|word| near(before, word))
            || after.trim_start_matches(['`', ' ']).starts_with("column")
    }

    fn code(&mut self, range: &Range<usize>) {
        let code = self.text.text[range.clone()].trim();
        let (before, after) = self.sentence.around(range);
        let column = self.names_columns(range);
        let lead = before.trim_end_matches(['`', ' ']);
        let example = EXAMPLES.iter().any(|words| lead.trim_end_matches([',', '(']).ends_with(words));
        let result = lead.ends_with(" becomes") || lead.ends_with(" become");
        let source = after.trim_start_matches(['`', ' ']).starts_with("become");
        if source || (self.converts(range) && !result) || self.illustrates(before) || reads(before, code) {
            return;
        }
        if example && let Some(pattern) = mark(code) {
            self.push(Unit::layout(Kind::Format, code, pattern), range, false);
            return;
        }
        let bare = number::bare(code);
        let shown = bare.is_none() && shows(code, before, after);
        if (example || result || shown || is_stamp(code))
            && let Some(pattern) = like(code)
        {
            self.push(Unit::layout(Kind::Format, code, pattern), range, false);
            return;
        }
        if let Some(number) = bare {
            let whole = number.split('.').next().map_or(0, str::len);
            if code == number && (whole >= 4 || (whole >= 2 && number.starts_with('0'))) {
                self.push(Unit::text(Kind::Literal, code), range, false);
                return;
            }
            let mut near = number::near(before, after);
            near.extend(number::near("", &self.context.words));
            let telling = number.starts_with("0.")
                || number.len() >= 3
                || code.ends_with(|c: char| c.is_alphabetic() || c == '%');
            if telling && !near.is_empty() {
                let unit = Unit {
                    kind: Kind::Threshold,
                    subject: code.to_owned(),
                    probe: Probe::Number { value: number, near },
                };
                self.push(unit, range, false);
            }
            return;
        }
        let parts: Vec<&str> = code.split(',').map(str::trim).collect();
        let is_name = |part: &&str| {
            part.starts_with(char::is_alphabetic) && part.chars().all(|c| c.is_alphanumeric() || c == '_')
        };
        if (parts.len() >= 3 || (parts.len() == 2 && code.contains('_'))) && parts.iter().all(is_name) {
            self.push(Unit::layout(Kind::Column, code, listed(&parts)), range, false);
            return;
        }
        let holder = lead.rsplit(' ').next().unwrap_or_default();
        let heading = matches!(self.text.role, Role::Heading(_));
        let is_forbidden = self.modality(range, Kind::Command) == Some(Modality::Forbidden);
        if let Some(unit) = self.another_option(range, code).filter(|_| is_forbidden) {
            self.push(unit, range, false);
            return;
        }
        let whole = || prohibited(code, self.names).filter(|_| is_forbidden);
        let of_code = || whole().unwrap_or_else(|| units(code, column, self.names));
        for unit in value(holder, code).map_or_else(of_code, |unit| vec![unit]) {
            let plain = unit.kind == Kind::Literal && code.chars().all(|c| c.is_ascii_alphabetic());
            if !(plain && (heading || example)) {
                self.push(unit, range, example);
            }
        }
    }

    /// "never `git add -A`, `-u`": an option of the command before it in the list.
    fn another_option(&self, range: &Range<usize>, code: &str) -> Option<Unit> {
        if !code.starts_with('-') || code.contains(char::is_whitespace) || !self.joins(range) {
            return None;
        }
        let (_, last) = self
            .placed
            .iter()
            .filter(|(placed, _)| placed.end <= range.start)
            .max_by_key(|(placed, _)| placed.end)?;
        let Probe::Command { program, words } = &last.probe else { return None };
        let mut call = vec![program.clone()];
        call.extend(words.iter().take_while(|word| !word.starts_with('-')).cloned());
        call.push(code.to_owned());
        prohibited_call(&call)
    }

    /// Whether a piece of code is an instance of the layout before it: "`<pot>-<nn>`: `bowl-07`".
    fn illustrates(&self, before: &str) -> bool {
        let before = before.trim_end_matches(['`', ' ']);
        let example = before.ends_with([':', '(']) || EXAMPLES.iter().any(|words| before.ends_with(words));
        example && self.placed.iter().any(|(_, unit)| unit.kind == Kind::Format)
    }

    /// Words that are distinctive without being set as code: options, files, constants.
    fn bare(&mut self, code: &[Range<usize>]) {
        let start = self.sentence.range.start;
        let text = &self.text.text[self.sentence.range.clone()];
        let mut at = 0;
        let mut found = Vec::new();
        let mut previous = "";
        let masked = self.sentence.masked();
        let chooses = CHOICES.iter().any(|words| masked.contains(words));
        for word in text.split_inclusive(|c: char| c.is_whitespace() || "()[]".contains(c)) {
            let from = start + at;
            at += word.len();
            let name = word
                .trim_matches(|c: char| c.is_whitespace() || ",;:!?()[]\"'“”*".contains(c))
                .trim_end_matches('.');
            let Some(offset) = word.find(name).filter(|_| !name.is_empty()) else { continue };
            let range = from + offset..from + offset + name.len();
            let after = code.partition_point(|code| code.start < range.end);
            let inside = after > 0 && range.start < code[after - 1].end;
            if !inside && (is_named(name, previous) || (chooses && is_choice(name, previous))) {
                found.push((range, name.to_owned()));
            }
            previous = name;
        }
        for (range, name) in found {
            let (before, _) = self.sentence.around(&range);
            if reads(before, &name) || self.links_to_document(&range) {
                continue;
            }
            let column = self.names_columns(&range) && !name.contains('.');
            if name.chars().all(|c| c.is_ascii_lowercase()) {
                let unit = if is_program_word(&name) {
                    let probe = Probe::Command { program: name.clone(), words: Vec::new() };
                    Unit { kind: Kind::Command, subject: name, probe }
                } else {
                    Unit::text(Kind::Literal, &name)
                };
                self.push(unit, &range, false);
                continue;
            }
            for unit in units(&name, column, self.names) {
                self.push(unit, &range, false);
            }
        }
    }

    fn links_to_document(&self, range: &Range<usize>) -> bool {
        let is_document = |target: &str| target.split('#').next().is_some_and(is_markdown);
        self.text.marks.iter().any(|(link, mark)| {
            matches!(mark, Mark::Link(target) if is_document(target) || target.contains("://"))
                && link.start <= range.start
                && range.end <= link.end
        })
    }

    /// A cell that is a code and nothing else.
    fn cell(&mut self, code: &[Range<usize>]) {
        let word = self.text.text.trim();
        let is_cell = matches!(self.text.role, Role::Cell { .. }) && code.is_empty();
        let at = self.text.text.find(word).unwrap_or_default();
        if is_cell && word.len() == 2 && shape(word) && word.starts_with(|c: char| c.is_ascii_uppercase()) {
            self.push(Unit::text(Kind::Literal, word), &(at..at + word.len()), false);
        }
    }

    /// Text between quotation marks that is to be written.
    fn quoted(&mut self, code: &[Range<usize>]) {
        let masked = self.sentence.masked();
        if matches!(self.text.role, Role::Heading(_)) {
            return;
        }
        if SPOKEN.iter().any(|word| masked.contains(word))
            || !WRITING.iter().any(|word| masked.contains(word))
        {
            return;
        }
        let start = self.sentence.range.start;
        let text = self.text.text[self.sentence.range.clone()].to_owned();
        for (open, close) in [('"', '"'), ('“', '”'), ('\'', '\''), ('‘', '’')] {
            let mut rest = 0;
            while let Some(from) = text[rest..].find(open).map(|at| rest + at + open.len_utf8()) {
                let Some(to) = text[from..].find(close).map(|at| from + at) else { break };
                rest = to + close.len_utf8();
                // An apostrophe stands within a word.
                let lead = text[..from - open.len_utf8()].chars().next_back();
                if open == '\'' && lead.is_some_and(char::is_alphanumeric) {
                    rest = from;
                    continue;
                }
                let quote = text[from..to].trim();
                let range = start + from..start + to;
                let words = quote.split_whitespace().count();
                let telling = (2..=8).contains(&words) || shape(quote);
                if telling
                    && (4..=80).contains(&quote.len())
                    && !code.iter().any(|code| code.contains(&range.start))
                {
                    self.push(Unit::layout(Kind::Literal, quote, spaced(quote)), &range, false);
                }
            }
        }
    }

    /// Whether a range continues a list: nothing but a separator stands between it and the unit
    /// before it.
    fn joins(&self, range: &Range<usize>) -> bool {
        let before = self.placed.iter().map(|(placed, _)| placed.end).filter(|end| *end <= range.start).max();
        let between = before.and_then(|end| self.text.text.get(end..range.start));
        between.is_some_and(|between| {
            let between = between.trim_matches([' ', '"', '(', ')', '“', '”']);
            matches!(between, "," | "or" | "and" | ", or" | ", and" | "nor" | "/" | "|")
        })
    }

    /// What the words around a unit make of it; `None` if they only mention it.
    fn modality(&self, range: &Range<usize>, kind: Kind) -> Option<Modality> {
        Some(match self.sentence.stance(range) {
            // "Never more than 5" is a limit too.
            Stance::Forbidden | Stance::Qualified if kind == Kind::Threshold => Modality::Required,
            Stance::Mentioned | Stance::Qualified => return None,
            Stance::Forbidden if self.context.faults => return None,
            // Far from its verb a name is a detail of what is forbidden.
            Stance::Forbidden if self.sentence.distance(range) > OBJECT && !self.joins(range) => return None,
            // "Do not mix `a` and `b`": each alone may be done.
            Stance::Forbidden if self.is_combined(range) || self.is_no_act() || self.is_narrowed(range) => {
                return None;
            }
            Stance::Forbidden => Modality::Forbidden,
            // A preference is no prohibition.
            Stance::Demanded if self.is_second_choice(range) => return None,
            Stance::Demanded if self.taken_back || self.is_taken_back(range) => Modality::Forbidden,
            // Below "Don't", what follows the first sentence explains it.
            Stance::Demanded if self.context.forbidden && !self.leads && !self.turned(range) => return None,
            Stance::Demanded if self.context.forbidden && self.is_excepted(range) => return None,
            // Below "Don't", what is said to be better comes after "use" or an arrow.
            Stance::Demanded if self.context.forbidden && !self.turned(range) => Modality::Forbidden,
            Stance::Demanded => Modality::Required,
        })
    }

    fn push(&mut self, unit: Unit, range: &Range<usize>, example: bool) {
        let modality = self.modality(range, unit.kind);
        self.placed.push((range.clone(), unit.clone()));
        let Some(modality) = modality else { return };
        if modality == Modality::Forbidden && unit.kind == Kind::Threshold {
            return;
        }
        let place = self.place(range).filter(|_| modality == Modality::Forbidden);
        let unit = if modality == Modality::Forbidden {
            let (before, after) = self.sentence.around(range);
            forbidden(unit, before, after)
        } else {
            Some(unit)
        };
        let Some(unit) = unit else { return };
        self.demands.push(Demand {
            unit,
            modality,
            example: example || self.context.example,
            condition: place.or_else(|| self.context.condition.clone()),
            applies: None,
            instead: Vec::new(),
            range: range.clone(),
        });
    }

    /// Where something is forbidden: "on shared branches", "in production".
    fn place(&self, range: &Range<usize>) -> Option<String> {
        let end = self.sentence.range.end;
        let rest = self.text.text.get(range.end..end)?;
        let start = rest.len() - rest.trim_start_matches(['"', '”', '\'', ' ']).len();
        let clause = &rest[start..];
        let opens =
            ["on ", "in ", "into ", "during ", "inside ", "within ", "from ", "against ", "outside ", "for "];
        let stop = clause.find([',', '.', ';', ':', '(', ')', '—', '\n']).unwrap_or(clause.len());
        let clause = &clause[..stop];
        // Words may stand between: "`a` values into tables".
        let inner =
            || opens[2..6].iter().filter_map(|word| clause.find(&format!(" {word}"))).min().map(|at| at + 1);
        let start = if opens.iter().any(|word| clause.starts_with(word)) { Some(0) } else { inner() };
        start.filter(|start| stop > start + 4).map(|start| clause[start..].trim().to_owned())
    }

    /// Whether the clause makes an exception: "`x` without `y`".
    fn is_excepted(&self, range: &Range<usize>) -> bool {
        let (_, after) = self.sentence.around(range);
        [" without ", " unless ", " except ", " outside "].iter().any(|word| clause_of(after).contains(word))
    }

    /// Whether what is forbidden is a thought, or waiting: naming something is no breach of it.
    fn is_no_act(&self) -> bool {
        const THOUGHTS: [&str; 17] = [
            "assume",
            "believe",
            "claim",
            "confuse",
            "depend on",
            "expect",
            "guess",
            "imply",
            "infer",
            "poll",
            "rely on",
            "stop at",
            "suggest that",
            "think",
            "treat",
            "trust",
            "wait",
        ];
        let masked = self.sentence.masked();
        ["never ", "do not ", "don't ", "don’t ", "must not ", "should not ", "avoid "].iter().any(|word| {
            masked.split(word).skip(1).any(|rest| THOUGHTS.iter().any(|verb| rest.starts_with(verb)))
        })
    }

    /// Whether what is forbidden is a part of what is named: "`x` edits that insert", "the output of `x`".
    fn is_narrowed(&self, range: &Range<usize>) -> bool {
        let (before, after) = self.sentence.around(range);
        let lead = before.trim_end_matches(['`', ' ']);
        let of = ["output of", "outputs of", "result of", "results of", "content of", "contents of"];
        let after = clause_of(after).trim_start_matches(['`', ' ', '/']);
        let that =
            after.split([' ', '`', '_']).filter(|word| !word.is_empty()).take(3).any(|word| word == "that");
        that || of.iter().any(|words| lead.ends_with(words))
    }

    /// Whether only several things together are forbidden.
    fn is_combined(&self, range: &Range<usize>) -> bool {
        let (before, after) = self.sentence.around(range);
        let near = &before[before.floor_char_boundary(before.len().saturating_sub(OBJECT + NEAR))..];
        let verb = ["mix ", "mixing ", "combine ", "combining ", "both ", "confuse ", "conflate "];
        let after = after.trim_start_matches('`');
        let together = [" together", " alongside", " in the same", " at the same time"];
        verb.iter().any(|word| near.contains(word))
            || (together.iter().any(|words| clause_of(after).contains(words))
                && clause_of(after).contains('`'))
    }

    /// "Prefer X over Y": the second.
    fn is_second_choice(&self, range: &Range<usize>) -> bool {
        let (before, _) = self.sentence.around(range);
        before.trim_end_matches(['`', ' ']).ends_with(" over") && before.contains("prefer ")
    }

    /// "`a` and `b` are reserved; do not use them."
    fn is_taken_back(&self, range: &Range<usize>) -> bool {
        let (_, after) = self.sentence.around(range);
        ["do not use ", "don't use ", "never use ", "avoid "].iter().any(|words| {
            after.find(words).is_some_and(|at| {
                let rest = &after[at + words.len()..];
                ["them", "it.", "it ", "these", "those"].iter().any(|pronoun| rest.starts_with(pronoun))
                    || rest == "it"
            })
        })
    }

    fn turned(&self, range: &Range<usize>) -> bool {
        let (before, _) = self.sentence.around(range);
        ["use ", "instead", "prefer", "→", "->", "=>", " run ", "should be"]
            .iter()
            .any(|word| before.contains(word))
    }
}

/// A text up to the end of its clause.
fn clause_of(text: &str) -> &str {
    &text[..text.find(['.', ';', ':', '—']).unwrap_or(text.len())]
}

/// A unit as what is not to be done. An everyday word is in many texts: only a call or an import
/// of it is the act. `before` and `after` are the words around it in lower case.
pub(super) fn forbidden(unit: Unit, before: &str, after: &str) -> Option<Unit> {
    if unit.kind == Kind::File {
        return Some(unchanged(unit, before));
    }
    // "Never edit `.sty` files": whatever the file's name.
    let is_extension = unit
        .subject
        .strip_prefix('.')
        .is_some_and(|rest| (1..=5).contains(&rest.len()) && rest.chars().all(|c| c.is_ascii_lowercase()));
    let changes = ["write ", "edit", "modif", "change", "create ", "touch", "add "];
    if is_extension && changes.iter().any(|verb| before.contains(verb)) {
        let name = regex_syntax::escape(&unit.subject);
        let pattern = format!(
            r#"(?:>>?\s*["']?|\b(?:sed\s+-i|tee|mv|cp|patch)\b[^\n>]*)\S*{name}(?:["'\s;&|)]|$)|^\S*{name}$"#
        );
        return Some(Unit::layout(Kind::File, &unit.subject, pattern));
    }
    let everyday = unit.kind == Kind::Literal && unit.subject.chars().all(|c| c.is_ascii_alphabetic());
    let everyday = everyday && !shape(&unit.subject) && matches!(unit.probe, Probe::Layout(_));
    let call = matches!(&unit.probe, Probe::Layout(pattern) if pattern.ends_with(r"\("));
    if !everyday || call {
        return Some(unit);
    }
    let after = after.trim_start_matches(['`', ' ']);
    let condemned = ["is ", "are ", "must ", "should ", "may "].iter().any(|word| after.starts_with(word));
    let lead = before.trim_end_matches(['`', ' ']);
    let lead = [" the", " a", " an", " any"].iter().find_map(|word| lead.strip_suffix(word)).unwrap_or(lead);
    let verb = lead.rsplit(' ').next().unwrap_or_default();
    let name = regex_syntax::escape(&unit.subject);
    let pattern = format!(r"\b{name}\(|\b(?:import|from|require\(.)\s*{name}\b");
    [
        "use", "using", "call", "calling", "import", "invoke", "avoid", "not", "of", "than", "over", "for",
        "to", "on",
    ]
    .contains(&verb)
    .max(condemned)
    .then(|| Unit::layout(Kind::Literal, &unit.subject, pattern))
}

/// A file that is not to be changed, or not to be removed: reading it is no violation.
fn unchanged(unit: Unit, before: &str) -> Unit {
    let has = |verbs: &[&str]| verbs.iter().any(|verb| before.contains(verb));
    let name = match &unit.probe {
        Probe::Text(name) => regex_syntax::escape(name.trim_end_matches('/')),
        _ => return unit,
    };
    // What is in a folder belongs to it.
    let end = if unit.subject.ends_with('/') { r"(?:/|\s|$)" } else { r#"(?:["'\s;&|)]|$)"# };
    if has(&["commit ", "git add ", "stage ", "check in "]) {
        let pattern = format!(r"\bgit\s+(?:add|commit|stage)\b[^\n]*[\s/]{name}{end}");
        Unit::layout(Kind::File, &unit.subject, pattern)
    } else if has(&["delete ", "remove ", "rename ", "move "]) {
        let pattern = format!(r"\b(?:rm|mv|unlink)\b[^\n]*{name}{end}");
        Unit::layout(Kind::File, &unit.subject, pattern)
    } else if has(&[
        "read ", "open ", "load ", "import ", "use ", "list ", "call ", "run ", "execute ", "invoke ",
        "display ", "print ",
    ]) {
        unit
    } else {
        // A redirection or a command that changes it, or the path of a file that was written.
        let changes = r#"(?:>>?\s*["']?\S*|\b(?:sed\s+-i|tee|rm|mv|cp|truncate|patch)\b[^\n>]*)"#;
        let pattern = format!(r"{changes}\b?{name}{end}|(?:^|/){name}(?:/\S*)?$");
        Unit::layout(Kind::File, &unit.subject, pattern)
    }
}

/// Whether a piece of code with digits stands for others like it.
fn shows(code: &str, before: &str, after: &str) -> bool {
    let before = before.trim_end_matches(['`', ' ']);
    let after = after.trim_start_matches(['`', ' ']);
    code.chars().filter(char::is_ascii_digit).count() >= 3
        && !code.starts_with('0')
        && !after.starts_with("is what")
        && (before.ends_with(':') || after.starts_with("is ") || before.ends_with(" like"))
}

fn is_markdown(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "md" || extension == "mdx")
}

/// Whether a document is named as something to read on in.
fn reads(before: &str, name: &str) -> bool {
    let before = &before[before.floor_char_boundary(before.len().saturating_sub(40))..];
    let document = is_markdown(name);
    let verbs = ["see ", "read ", "refer", "consult", "follow", "load ", "check ", "details"];
    document && verbs.iter().any(|word| before.contains(word))
}

/// A time as text: digits in groups, joined as in dates and times.
fn is_stamp(code: &str) -> bool {
    let digits = code.chars().filter(char::is_ascii_digit).count();
    digits >= 8
        && code.contains(['-', ':', 'T'])
        && code.chars().all(|c| c.is_ascii_digit() || "-:.TZ+/ _".contains(c))
}
