//! Directives from the text of a skill, without a model.

use std::collections::HashMap;
use std::path::Path;

use assay_skill::Document;
use assay_syntax::blocks::{self, Block, Role, Text};

use super::code;
use super::order;
use super::prose::{Context, Demand, demands, follows};
use super::table::Headers;
use super::unit::{Names, Unit, is_document};
use super::{Directive, Kind, Modality, Probe, SkillFile, SkillPackage};

/// Most directives of a skill. Of more, the most specific are kept.
pub const DIRECTIVES: usize = 400;

/// Longest line that is kept with a directive, in characters.
pub(super) const LINE_CAP: usize = 400;

/// Most directives that are read before the most specific are chosen.
const READ_CAP: usize = 20_000;

/// Headings of parts that demand nothing, in lower case: when to use the skill, and where to read on.
const ASIDES: [&str; 22] = [
    "when to use",
    "when to activate",
    "when to apply",
    "when to invoke",
    "when not to use",
    "resources",
    "related",
    "see also",
    "further reading",
    "license",
    "credits",
    "references",
    "version history",
    "acknowledg",
    "trigger",
    "about",
    "additional resources",
    "author",
    "external links",
    "links",
    "reference files",
    "reference documentation",
];

/// Headings of what is not to be done, in lower case.
const DONTS: [&str; 10] = [
    "don't",
    "don’t",
    "donts",
    "do not",
    "avoid",
    "anti-pattern",
    "antipattern",
    "never",
    "forbidden",
    "prohibited",
];

/// Words in headings of procedures, in lower case.
const PROCEDURES: [&str; 14] = [
    "step",
    "workflow",
    "procedure",
    "process",
    "how to",
    "instruction",
    "setup",
    "set up",
    "quick start",
    "getting started",
    "pipeline",
    "sequence",
    "protocol",
    "checklist",
];

/// Words before a block of code that is wrong, in lower case.
const BAD: [&str; 8] = ["bad", "wrong", "incorrect", "don't", "don’t", "avoid", "do not", "anti-pattern"];

/// Most directives from examples.
const EXAMPLES: usize = 200;

/// The directives of a skill, in the order of its files and lines. The same subject of the same
/// kind counts once, at its first line, a demand before an example. Front matter is left out: every
/// agent that has the skill listed is shown it.
pub fn extract(skill: &SkillPackage) -> Vec<Directive> {
    let documents = documents(skill);
    let names = names(skill, &documents);
    let mut collector = Collector::default();
    for (at, file, blocks) in &documents {
        Reader::new(&file.path, &file.text, &names, &mut collector, *at).read(blocks);
    }
    collector.finish()
}

/// Whether a heading in lower case leads a part that demands nothing.
pub(super) fn leads_aside(lower: &str) -> bool {
    ASIDES.iter().any(|words| {
        lower == *words || lower.starts_with(&format!("{words} ")) || lower == format!("{words}s")
    })
}

/// A document of a package: its place among the files, and its blocks.
type ReadDocument<'a> = (usize, &'a SkillFile, Vec<Block>);

fn documents(skill: &SkillPackage) -> Vec<ReadDocument<'_>> {
    let files = skill.files.iter().enumerate().filter(|(at, file)| *at == 0 || is_document(&file.path));
    files.map(|(at, file)| (at, file, blocks::read(&file.text, body_start(skill, at)))).collect()
}

fn names(skill: &SkillPackage, documents: &[ReadDocument<'_>]) -> Names {
    let mut names = Names::new(skill);
    for block in documents.iter().flat_map(|(_, _, blocks)| blocks) {
        if let Block::Code(code) = block {
            code::add_programs(code, &mut names);
        }
    }
    names
}

/// The names that the text of a package can refer to.
pub(super) fn names_of(skill: &SkillPackage) -> Names {
    names(skill, &documents(skill))
}

/// Adds directives to others, up to [`DIRECTIVES`] in all, and returns how many were added. Left out
/// is what has the subject of another directive of its kind.
pub fn merge(directives: &mut Vec<Directive>, more: Vec<Directive>) -> usize {
    let before = directives.len();
    for directive in more {
        let same = |other: &Directive| {
            other.subject == directive.subject
                && (family(other.kind) == family(directive.kind)
                    || (&other.file, other.line) == (&directive.file, directive.line))
        };
        if directives.len() >= DIRECTIVES || directives.iter().any(same) {
            continue;
        }
        let precedes = |other: &Directive| other.file == directive.file && other.line <= directive.line;
        let at = directives.iter().rposition(precedes).map(|at| at + 1);
        let first = || directives.iter().position(|other| other.file == directive.file);
        let at = at.or_else(first).unwrap_or(directives.len());
        directives.insert(at, directive);
    }
    directives.len() - before
}

/// Where the text below the front matter of a file starts; only the first file has front matter.
pub(super) fn body_start(skill: &SkillPackage, at: usize) -> usize {
    let Some(file) = skill.files.first().filter(|_| at == 0) else { return 0 };
    let text = file.text.as_str();
    // The text is already decoded: it is a suffix of itself, without a byte-order mark.
    let (document, _) = Document::parse(text.as_bytes(), Path::new("SKILL.md"));
    if document.text.len() == text.len() { document.body_start } else { 0 }
}

/// Directives without repetitions.
#[derive(Default)]
struct Collector {
    found: Vec<(usize, Directive)>,
    places: HashMap<(u8, Modality, String), usize>,
}

impl Collector {
    fn push(&mut self, file: usize, directive: Directive) {
        let key = (family(directive.kind), directive.modality, directive.subject.clone());
        match self.places.get(&key) {
            Some(&at) if self.found[at].1.example && !directive.example => self.found[at] = (file, directive),
            None if self.found.len() < READ_CAP => {
                self.places.insert(key, self.found.len());
                self.found.push((file, directive));
            }
            _ => {}
        }
    }

    fn finish(self) -> Vec<Directive> {
        let Self { mut found, places } = self;
        // What is demanded in one place and forbidden in another depends on more than can be seen. An example demands nothing.
        let demanded = |directive: &Directive| {
            let key = (family(directive.kind), Modality::Required, directive.subject.clone());
            places.get(&key).is_some_and(|at| !found[*at].1.example)
        };
        let contested: Vec<bool> = found
            .iter()
            .map(|(_, directive)| directive.modality == Modality::Forbidden && demanded(directive))
            .collect();
        let mut contested = contested.into_iter();
        found.retain(|_| !contested.next().unwrap_or_default());
        if found.len() > DIRECTIVES
            || found.iter().filter(|(_, directive)| directive.example).count() > EXAMPLES
        {
            found.sort_by_key(|(_, directive)| std::cmp::Reverse(specificity(directive)));
            let demands = found.iter().filter(|(_, directive)| !directive.example).count();
            found.truncate(DIRECTIVES.min(demands + EXAMPLES));
        }
        found.sort_by_key(|(file, directive)| (*file, directive.line));
        found.into_iter().map(|(_, directive)| directive).collect()
    }
}

/// Kinds whose subjects are compared with each other: one name counts once, whatever it is taken
/// for.
fn family(kind: Kind) -> u8 {
    match kind {
        Kind::Command => 0,
        Kind::Flag => 1,
        Kind::File | Kind::Column | Kind::Literal | Kind::Format | Kind::Script => 2,
        Kind::Threshold => 3,
        Kind::Order => 4,
    }
}

/// How much a directive shows where it is followed.
fn specificity(directive: &Directive) -> usize {
    let kind = match directive.kind {
        Kind::Script => 60,
        Kind::Format | Kind::Order => 40,
        Kind::Command | Kind::Column => 30,
        Kind::Flag | Kind::Literal | Kind::File => 20,
        Kind::Threshold => 10,
    };
    kind + directive.subject.chars().count().min(40) + if directive.example { 0 } else { 1000 }
}

/// A heading with what it says about what is below it.
#[expect(clippy::struct_excessive_bools, reason = "a heading may say any of these")]
struct Section {
    level: usize,
    aside: bool,
    forbidden: bool,
    example: bool,
    /// Whether its numbered lists are steps.
    procedure: bool,
    condition: Option<String>,
}

struct Reader<'r> {
    file: &'r str,
    lines: Vec<&'r str>,
    names: &'r Names,
    collector: &'r mut Collector,
    index: usize,
    sections: Vec<Section>,
    /// Conditions of the items that the current one is within, with their depth.
    leads: Vec<(usize, String)>,
    /// The text before a code block.
    before: String,
    /// Whether the text before a list says that its items are steps.
    ordered: bool,
    /// The last steps of the lists that are open: the list, its depth, and the act of the step.
    steps: Vec<Step>,
}

/// A step of a numbered list.
struct Step {
    list: usize,
    number: u64,
    act: Option<Unit>,
    previous: Option<Unit>,
}

impl<'r> Reader<'r> {
    fn new(
        file: &'r str,
        text: &'r str,
        names: &'r Names,
        collector: &'r mut Collector,
        index: usize,
    ) -> Self {
        let lines = text.lines().collect();
        let (sections, leads) = (Vec::new(), Vec::new());
        let (before, steps) = (String::new(), Vec::new());
        Self { file, lines, names, collector, index, sections, leads, before, steps, ordered: false }
    }

    fn read(&mut self, blocks: &[Block]) {
        let mut at = 0;
        while at < blocks.len() {
            match &blocks[at] {
                Block::Text(text) => match text.role {
                    Role::Heading(level) => self.heading(text, level),
                    Role::Cell { table, .. } => {
                        let cells: Vec<&Text> = blocks[at..]
                            .iter()
                            .map_while(|block| match block {
                                Block::Text(text) if matches!(text.role, Role::Cell { table: same, .. } if same == table) => Some(text),
                                _ => None,
                            })
                            .collect();
                        at += cells.len().saturating_sub(1);
                        self.table(&cells);
                    }
                    Role::Paragraph | Role::Item { .. } => self.text(text),
                },
                Block::Code(code) => self.code(code),
            }
            at += 1;
        }
    }

    fn heading(&mut self, text: &Text, level: usize) {
        self.sections.retain(|section| section.level < level);
        self.leads.clear();
        self.steps.clear();
        self.ordered = false;
        let plain = text.text.trim().trim_start_matches(|c: char| !c.is_alphabetic());
        let lower = plain.to_lowercase();
        let opens = ["for ", "if ", "when ", "on "].iter().any(|word| lower.starts_with(word));
        self.sections.push(Section {
            level,
            aside: leads_aside(&lower),
            forbidden: DONTS.iter().any(|words| lower.starts_with(words)),
            example: lower.starts_with("example")
                || lower.ends_with("example")
                || lower.ends_with("examples"),
            procedure: PROCEDURES.iter().any(|word| lower.contains(word)),
            condition: (opens || lower.ends_with(" only")).then(|| plain.to_owned()),
        });
        self.before.clear();
        if !self.context().1 {
            let (context, _) = self.context();
            self.demand(text, &context);
        }
    }

    /// What the headings above say, and whether they lead a part that demands nothing.
    fn context(&self) -> (Context, bool) {
        let condition = self.sections.iter().rev().find_map(|section| section.condition.clone());
        let lead = self.leads.last().map(|(_, condition)| condition.clone());
        let context = Context {
            forbidden: self.sections.iter().any(|section| section.forbidden),
            example: self.sections.iter().any(|section| section.example),
            condition: lead.or(condition),
            ..Context::default()
        };
        (context, self.sections.iter().any(|section| section.aside))
    }

    fn text(&mut self, text: &Text) {
        let depth = text.depth;
        self.leads.retain(|(lead, _)| {
            *lead < depth || (*lead == depth && !matches!(text.role, Role::Item { .. }) && depth > 0)
        });
        self.before.clone_from(&text.text);
        match text.role {
            Role::Item { number: Some(number), list } => {
                self.step(list, number);
                self.ordered |= number > 1 && follows(&text.text.to_lowercase());
            }
            Role::Paragraph if depth == 0 => {
                let lower = text.text.to_lowercase();
                self.ordered =
                    ["in this order", "in order", "steps", "following order", "one after the other"]
                        .iter()
                        .any(|words| lower.contains(words));
            }
            _ => {}
        }
        let (context, aside) = self.context();
        if aside {
            return;
        }
        let condition = self.demand(text, &context).filter(|_| text.text.trim_end().ends_with(':'));
        if let Some(condition) = condition {
            let depth = if matches!(text.role, Role::Item { .. }) { depth } else { depth.saturating_sub(1) };
            self.leads.push((depth, condition));
        }
    }

    /// Takes the demands of a text, and gives the condition of its last sentence.
    fn demand(&mut self, text: &Text, context: &Context) -> Option<String> {
        let (sentences, demands) = demands(text, context, self.names);
        for demand in demands {
            let line = text.line(demand.range.start);
            self.push(demand, line);
        }
        sentences.last()?.condition.clone().map(|range| text.text[range].trim().to_owned())
    }

    /// Begins a step of a numbered list.
    fn step(&mut self, list: usize, number: u64) {
        match self.steps.iter().position(|step| step.list == list) {
            Some(at) => {
                self.steps.truncate(at + 1);
                let step = &mut self.steps[at];
                step.previous = step.act.take().or_else(|| step.previous.take());
                step.number = number;
            }
            None => self.steps.push(Step { list, number, act: None, previous: None }),
        }
    }

    /// Takes the first act of a step, and orders it after that of the step before.
    fn act(&mut self, demand: &Demand, line: usize) {
        let kind = demand.unit.kind;
        let procedure = self.sections.last().is_some_and(|section| section.procedure);
        let is_act = match kind {
            Kind::Script => true,
            Kind::Command => procedure || self.ordered,
            Kind::File => self.ordered,
            _ => false,
        } && demand.modality == Modality::Required;
        let Some(step) = self.steps.last_mut().filter(|step| is_act && step.act.is_none()) else { return };
        step.act = Some(demand.unit.clone());
        let order = step.previous.as_ref().and_then(|previous| order::sequence(previous, &demand.unit));
        if let Some(unit) = order {
            let order = Demand { unit, applies: None, instead: Vec::new(), ..demand.clone() };
            self.collect(order, line);
        }
    }

    fn push(&mut self, demand: Demand, line: usize) {
        self.act(&demand, line);
        self.collect(demand, line);
    }

    fn collect(&mut self, demand: Demand, line: usize) {
        let Demand { unit, modality, example, condition, applies, instead, .. } = demand;
        self.collector.push(
            self.index,
            Directive {
                kind: unit.kind,
                modality,
                file: self.file.to_owned(),
                line,
                text: self
                    .lines
                    .get(line.saturating_sub(1))
                    .map_or_else(String::new, |text| text.trim().chars().take(LINE_CAP).collect()),
                subject: unit.subject,
                example,
                condition,
                applies,
                probe: unit.probe,
                instead,
            },
        );
    }

    fn table(&mut self, cells: &[&Text]) {
        self.before.clear();
        let (outer, aside) = self.context();
        if aside {
            return;
        }
        let mut headers = Headers::default();
        let mut first = "";
        let mut row_demands: Vec<(usize, Demand)> = Vec::new();
        let mut current = 0;
        for cell in cells {
            let Role::Cell { row, column, .. } = cell.role else { continue };
            if row == 0 {
                headers.set(column, &cell.text);
                continue;
            }
            if row != current {
                self.row(std::mem::take(&mut row_demands));
                (current, first) = (row, "");
            }
            if column == 0 {
                first = cell.text.trim();
            }
            let context = headers.context(column, first, &outer);
            let (_, demands) = demands(cell, &context, self.names);
            row_demands.extend(demands.into_iter().map(|demand| (cell.line(demand.range.start), demand)));
        }
        self.row(row_demands);
    }

    /// Takes the demands of a row: what one cell forbids is done in place of what another demands.
    fn row(&mut self, demands: Vec<(usize, Demand)>) {
        let instead: Vec<Probe> = demands
            .iter()
            .filter(|(_, demand)| demand.modality == Modality::Forbidden)
            .map(|(_, demand)| demand.unit.probe.clone())
            .collect();
        for (line, mut demand) in demands {
            if demand.modality == Modality::Required && demand.instead.is_empty() {
                demand.instead.clone_from(&instead);
            }
            self.push(demand, line);
        }
    }

    fn code(&mut self, block: &blocks::Code) {
        let (mut context, aside) = self.context();
        if aside {
            return;
        }
        let before = self.before.trim().to_lowercase();
        let before = before.trim_start_matches(|c: char| !c.is_alphabetic());
        context.forbidden |= BAD.iter().any(|word| before.starts_with(word)) && before.len() < 80;
        context.example |= before.contains("example") || !(before.ends_with(':') || before.is_empty());
        let found = code::demands(block, &context, self.names);
        for (line, demand) in found {
            self.push(demand, line);
        }
    }
}
