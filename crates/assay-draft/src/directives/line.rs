//! The directives of skills, one line for each skill.

use assay_diagnostic::{clean, counted};
use serde::Serialize;

use super::worth::MeasurableDirectives;
use super::{
    DirectiveClass, DirectiveEvidence, DirectiveLines, DirectiveSource, DraftDirective, DraftDirectives,
};

/// Most characters of a directive in a line for people.
const TEXT_WIDTH: usize = 120;

/// The directives of a skill, as a line of JSON.
#[derive(Debug, Serialize)]
pub struct DirectivesLine {
    schema: &'static str,
    skill: String,
    path: String,
    /// The model that read the skill; absent where rules alone did.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    directives: Vec<ListedDirective>,
    /// Documents that were not read to their end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cut: Vec<CutDocument>,
    /// Lines that rules took for a directive and the model did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    dismissed: Option<usize>,
    /// What the model listed and cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    rejected: Option<usize>,
}

/// A directive, as it is listed.
#[derive(Debug, Serialize)]
struct ListedDirective {
    id: String,
    text: String,
    quote: String,
    file: String,
    lines: DirectiveLines,
    class: Option<DirectiveClass>,
    answer: Option<String>,
    default: Option<String>,
    known: Option<u8>,
    seen_in: Option<DirectiveEvidence>,
    relevant_when: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    readings: Vec<String>,
    by: DirectiveSource,
    #[serde(skip)]
    is_measurable: bool,
}

impl ListedDirective {
    fn new(directive: DraftDirective) -> Self {
        Self {
            is_measurable: directive.is_measurable(),
            id: directive.id,
            text: directive.text,
            quote: directive.quote,
            file: directive.file,
            lines: directive.lines,
            class: directive.class,
            answer: directive.answer,
            default: directive.default,
            known: directive.known,
            seen_in: directive.seen_in,
            relevant_when: directive.relevant_when,
            readings: directive.readings,
            by: directive.by,
        }
    }

    fn place(&self) -> String {
        format!("{}:{}", clean(&self.file), self.lines)
    }

    /// What it says, in one line, with its class.
    fn words(&self) -> String {
        let class = self.class.map_or_else(String::new, |class| format!("[{}] ", class.name()));
        let text: String = self.text.chars().take(TEXT_WIDTH).collect();
        let dots = if text.len() < self.text.len() { "…" } else { "" };
        format!("{class}{text}{dots}")
    }
}

/// A document that was not read to its end.
#[derive(Debug, Serialize)]
struct CutDocument {
    file: String,
    lines: usize,
    read_to: usize,
}

impl DirectivesLine {
    /// The line of a skill whose document is at `path`.
    pub fn new(skill: String, path: String, list: DraftDirectives) -> Self {
        let has_model = list.model.is_some();
        let cut = list.files.into_iter().filter(|file| file.read_to < file.lines);
        Self {
            schema: "assay.directives/1",
            skill,
            path,
            dismissed: has_model.then_some(list.dismissed.len()),
            rejected: has_model.then_some(list.rejected.len()),
            model: list.model,
            cut: cut
                .map(|file| CutDocument { file: file.file, lines: file.lines, read_to: file.read_to })
                .collect(),
            directives: list.directives.into_iter().map(ListedDirective::new).collect(),
        }
    }

    /// The line for people.
    pub fn to_text(&self) -> String {
        let count = counted(self.directives.len(), "directive", "directives");
        let mut text = format!("{} ({}): {count}", clean(&self.skill), clean(&self.path));
        if self.model.is_some() {
            let by_class = DirectiveClass::ALL.iter().filter_map(|class| {
                let count = self.directives.iter().filter(|one| one.class == Some(*class)).count();
                (count > 0).then(|| format!("{count} {}", class.name()))
            });
            text.push_str(&format!(" ({})", by_class.collect::<Vec<_>>().join(", ")));
        }
        text.push('\n');
        let width = self.directives.iter().map(|one| one.place().chars().count()).max().unwrap_or_default();
        for directive in &self.directives {
            let (id, place) = (clean(&directive.id), directive.place());
            text.push_str(&format!("  {id}  {place:<width$}  {}\n", clean(&directive.words())));
            if let (Some(answer), Some(default)) = (&directive.answer, &directive.default) {
                text.push_str(&format!("       with: {}; without: {}\n", clean(answer), clean(default)));
            }
        }
        for cut in &self.cut {
            let (file, lines) = (clean(&cut.file), counted(cut.lines, "line", "lines"));
            text.push_str(&format!("  not read: {file} after line {} of {lines}\n", cut.read_to));
        }
        text.push_str(&self.verdict());
        text.push('\n');
        text
    }

    /// What the classes say of the skill, if a model gave them.
    fn verdict(&self) -> String {
        if self.model.is_none() {
            return String::new();
        }
        let measurable = self.directives.iter().filter(|one| one.is_measurable);
        let knowledge = measurable.clone().filter(|one| one.class == Some(DirectiveClass::Knowledge)).count();
        let count = measurable.count();
        if let Some(reason) = (MeasurableDirectives { count, knowledge }).explain_shortfall() {
            return format!("  nothing to measure: {reason}\n");
        }
        format!("  {count} that an agent would not follow anyway and that a result shows\n")
    }
}
