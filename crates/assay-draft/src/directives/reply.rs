//! The directives of a model's reply. Nothing of it is used that its lines do not show.

use assay_audit::directive::SkillPackage;
use assay_syntax::reply::read_document;
use serde::Deserialize;
use serde_json::Value;

use super::request::MOST_LISTED;
use super::{
    DirectiveClass, DirectiveEvidence, DirectiveLines, DirectiveSource, DismissedDirective, DraftDirective,
    DraftDirectives, RejectedDirective,
};
use crate::complaint::Complaint;

/// Longest part of an item, in characters.
const PART_CAP: usize = 600;

/// Fewest characters by which a quote is found on other lines than those that are named.
const DISTINCT: usize = 12;

/// A reply.
#[derive(Debug, Deserialize)]
struct DirectivesReply {
    directives: Vec<Value>,
    #[serde(default)]
    dismissed: Vec<DismissedItem>,
}

/// An item of it.
#[derive(Debug, Deserialize)]
struct DirectiveItem {
    file: String,
    lines: DirectiveLines,
    quote: String,
    text: String,
    #[serde(default)]
    relevant_when: Option<String>,
    #[serde(default)]
    question: Option<String>,
    #[serde(default)]
    answer: Option<String>,
    #[serde(default)]
    default: Option<String>,
    class: DirectiveClass,
    known: u8,
    seen_in: DirectiveEvidence,
    #[serde(default)]
    readings: Option<Vec<String>>,
    #[serde(default)]
    requires: Option<String>,
    #[serde(default)]
    doubt: Option<String>,
}

#[derive(Debug, Deserialize)]
struct DismissedItem {
    file: String,
    lines: DirectiveLines,
    #[serde(default)]
    reason: String,
}

/// Joins what a model lists with what rules find: `found` is for `skill`, without a model. Directives of the model come in
/// place of passages on the same lines; passages that it neither lists nor dismisses stay, without a class.
///
/// # Errors
/// The reply contains no JSON of the form, or nothing of it can be used. The message is a complaint to the model.
pub(crate) fn read_directives(
    reply: &str,
    skill: &str,
    package: &SkillPackage,
    found: &DraftDirectives,
) -> Result<DraftDirectives, Complaint> {
    let DirectivesReply { directives: items, dismissed } = read_document(reply)?;
    let mut reader = ItemReader { skill, package, found, listed: Vec::new(), rejected: Vec::new() };
    for item in &items {
        reader.read_item(item);
    }
    let ItemReader { listed, rejected, .. } = reader;
    if let (true, Some(first)) = (listed.is_empty(), rejected.first()) {
        let count = items.len();
        return Err(Complaint::new(format!(
            "none of the {count} directives can be used; the first: {}",
            first.reason
        )));
    }
    let mut list = DraftDirectives::new(found.files.clone(), listed);
    list.rejected = rejected;
    for passage in &found.directives {
        let is_at =
            |file: &str, lines: &DirectiveLines| file == passage.file && lines.overlap_with(&passage.lines);
        if list.directives.iter().any(|one| one.by == DirectiveSource::Model && is_at(&one.file, &one.lines))
        {
            continue;
        }
        match dismissed.iter().find(|one| is_at(&one.file, &one.lines)) {
            Some(one) => list.dismissed.push(DismissedDirective {
                skill: skill.to_owned(),
                file: passage.file.clone(),
                lines: passage.lines.clone(),
                quote: passage.quote.clone(),
                reason: shorten(&one.reason),
            }),
            None => list.directives.push(passage.clone()),
        }
    }
    let place = |file: &str| found.files.iter().position(|document| document.file == file);
    list.directives.sort_by_key(|one| (place(&one.file), one.lines.first_line(), one.lines.last_line()));
    list.number_directives();
    Ok(list)
}

struct ItemReader<'a> {
    skill: &'a str,
    package: &'a SkillPackage,
    found: &'a DraftDirectives,
    listed: Vec<DraftDirective>,
    rejected: Vec<RejectedDirective>,
}

impl ItemReader<'_> {
    fn read_item(&mut self, item: &Value) {
        let read = serde_json::from_value::<DirectiveItem>(item.clone()).map_err(|error| error.to_string());
        match read.and_then(|item| self.check_item(item)) {
            Ok(directive) => self.listed.push(directive),
            Err(reason) => {
                let text = item["text"].as_str().map_or_else(|| item.to_string(), str::to_owned);
                self.rejected.push(RejectedDirective { text: shorten(&text), reason: shorten(&reason) });
            }
        }
    }

    /// A directive whose quote is on its lines.
    fn check_item(&self, item: DirectiveItem) -> Result<DraftDirective, String> {
        if self.listed.len() >= MOST_LISTED {
            return Err(format!("more than {MOST_LISTED} directives"));
        }
        let is_shown =
            self.found.files.iter().any(|document| document.file == item.file && document.read_to > 0);
        let Some(file) = self.package.files.iter().find(|file| is_shown && file.path == item.file) else {
            return Err(format!("the skill has no document {}", item.file));
        };
        let text = shorten(&item.text);
        if text.is_empty() {
            return Err("no `text`".to_owned());
        }
        if item.known > 10 {
            return Err(format!("`known` is {}, and at most 10", item.known));
        }
        let lines = place_quote(&file.text, &item.lines, &item.quote)?;
        let is_main = self.package.files.first().is_some_and(|main| main.path == file.path);
        if is_main && lines.first_line() < body_line(&file.text) {
            return Err("it is in the front matter, which every agent sees".to_owned());
        }
        let quote = item.quote.trim();
        let is_same =
            |one: &DraftDirective| one.file == item.file && one.lines == lines && one.quote == quote;
        if self.listed.iter().any(is_same) {
            return Err("another directive has this quote".to_owned());
        }
        let (answer, default) = (filled(item.answer), filled(item.default));
        let directive = DraftDirective {
            relevant_when: filled(item.relevant_when),
            question: filled(item.question),
            class: Some(class_of(item.class, answer.as_deref(), default.as_deref())),
            answer,
            default,
            known: Some(item.known),
            seen_in: Some(item.seen_in),
            readings: item
                .readings
                .unwrap_or_default()
                .iter()
                .map(|reading| shorten(reading))
                .take(5)
                .collect(),
            requires: filled(item.requires),
            doubt: filled(item.doubt),
            by: DirectiveSource::Model,
            ..DraftDirective::of_words(self.skill, &item.file, lines, quote.to_owned(), text)
        };
        Ok(directive)
    }
}

/// The class, unless answer and default do not differ: then a competent agent does it anyway.
fn class_of(class: DirectiveClass, answer: Option<&str>, default: Option<&str>) -> DirectiveClass {
    let shows = matches!(class, DirectiveClass::Knowledge | DirectiveClass::Convention);
    let plain = |text: &str| text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    match (answer.map(plain), default.map(plain)) {
        (Some(answer), Some(default)) if answer != default => class,
        _ if shows => DirectiveClass::Reminder,
        _ => class,
    }
}

/// The lines of a quote: those that are named if they have it, or the only others that do.
fn place_quote(text: &str, lines: &DirectiveLines, quote: &str) -> Result<DirectiveLines, String> {
    let all: Vec<&str> = text.lines().collect();
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let quote = plain(quote);
    if quote.is_empty() || quote.chars().count() > PART_CAP {
        return Err(format!("the quote has no words, or more than {PART_CAP} characters"));
    }
    let exists = lines.last_line() <= all.len();
    let named: Vec<&str> =
        lines.each_line().take(all.len()).filter_map(|line| all.get(line - 1).copied()).collect();
    if exists && plain(&named.join(" ")).contains(&quote) {
        return Ok(lines.clone());
    }
    let length = lines.last_line() - lines.first_line();
    let mut places = all.iter().enumerate().filter(|(_, line)| plain(line).contains(&quote));
    match (places.next(), places.next()) {
        (Some((at, _)), None) if quote.chars().count() >= DISTINCT => {
            // Lines that were counted and not read: as many of them, from where the quote is.
            let last = (at + 1 + length).min(all.len());
            Ok(if exists && length < 20 {
                DirectiveLines::between(at + 1, last)
            } else {
                DirectiveLines::single(at + 1)
            })
        }
        _ => Err(format!("the quote is not on the lines {lines}")),
    }
}

/// The first line below the front matter, from 1.
fn body_line(text: &str) -> usize {
    let mut lines = text.lines();
    if lines.next().map(str::trim_end) != Some("---") {
        return 1;
    }
    lines.position(|line| line.trim_end() == "---").map_or(1, |at| at + 3)
}

fn filled(text: Option<String>) -> Option<String> {
    text.map(|text| shorten(&text)).filter(|text| !text.is_empty())
}

pub(super) fn shorten(text: &str) -> String {
    text.trim().chars().take(PART_CAP).collect()
}

#[cfg(test)]
mod tests;
