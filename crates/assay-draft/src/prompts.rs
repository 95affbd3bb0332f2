//! What a model is asked.
//!
//! The texts are files in `prompts/`. The digest of each is its version, and part of everything that is made with it. The
//! skill and whatever else was written by others is data between two lines with a digest of the request, so that no text
//! can contain them.

use std::collections::BTreeMap;

use assay_fs::Digest;
use assay_judge::Request;
use assay_syntax::parts::{Part, begin_part, delimited, enclose, mark_parts};
use serde_json::{Value, json};

use crate::directives::DraftDirective;
use crate::ideas::Idea;
use crate::proposal::TaskFile;
pub use crate::sources::{InputFile, Intent};

/// Most characters of a skill in a request.
const SKILL_CHARS: usize = 60_000;

/// Most characters of a task's files in a request.
const FILES_CHARS: usize = 80_000;

/// A text with places to fill in, as `{{name}}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prompt {
    /// Its name: the file without its ending.
    pub name: &'static str,
    /// The text.
    pub text: &'static str,
}

/// The system message of requests to the author.
pub const SYSTEM: Prompt = Prompt { name: "system", text: include_str!("../prompts/system.md") };
/// Asks for ideas of tasks.
pub const IDEAS: Prompt = Prompt { name: "ideas", text: include_str!("../prompts/ideas.md") };
/// Asks for the files of a task.
pub const FILES: Prompt = Prompt { name: "files", text: include_str!("../prompts/files.md") };
/// Describes test doubles, in [`FILES`] and [`REPAIR`].
pub const DOUBLES: Prompt = Prompt { name: "doubles", text: include_str!("../prompts/doubles.md") };
/// Says in [`IDEAS`] that tasks need all of several skills.
pub const SEVERAL: Prompt = Prompt { name: "several", text: include_str!("../prompts/several.md") };
/// Shows intents, in [`IDEAS`] and [`FILES`].
pub const INTENTS: Prompt = Prompt { name: "intents", text: include_str!("../prompts/intents.md") };
/// Shows files that tasks may use, in [`IDEAS`] and [`FILES`].
pub const INPUTS: Prompt = Prompt { name: "inputs", text: include_str!("../prompts/inputs.md") };
/// Describes generators of files, in [`FILES`].
pub const GENERATOR: Prompt = Prompt { name: "generator", text: include_str!("../prompts/generator.md") };
/// Asks for corrections of a task.
pub const REPAIR: Prompt = Prompt { name: "repair", text: include_str!("../prompts/repair.md") };

/// Asks for ideas by somebody who knows only the name and the description of the skill.
pub const BLIND_IDEAS: Prompt =
    Prompt { name: "blind-ideas", text: include_str!("../prompts/blind-ideas.md") };
/// Asks which directives such ideas test.
pub const CHOOSE: Prompt = Prompt { name: "choose", text: include_str!("../prompts/choose.md") };
/// Shows tasks that are there or fell, in [`IDEAS`].
pub const REFUSED: Prompt = Prompt { name: "refused", text: include_str!("../prompts/refused.md") };
/// Shows directives, in [`IDEAS`], [`FILES`] and [`REPAIR`].
pub const DIRECTIVE_LIST: Prompt =
    Prompt { name: "directive-list", text: include_str!("../prompts/directive-list.md") };
/// The system message of those who do the work of a task.
pub const WORK_SYSTEM: Prompt =
    Prompt { name: "work-system", text: include_str!("../prompts/work-system.md") };
/// Asks for the work without the skill.
pub const WITHOUT: Prompt = Prompt { name: "without", text: include_str!("../prompts/without.md") };
/// Asks for the work with the skill.
pub const WITH: Prompt = Prompt { name: "with", text: include_str!("../prompts/with.md") };
/// The system message of those who read items for fairness.
pub const FAIRNESS_SYSTEM: Prompt =
    Prompt { name: "fairness-system", text: include_str!("../prompts/fairness-system.md") };
/// Asks which items are unfair.
pub const FAIRNESS: Prompt = Prompt { name: "fairness", text: include_str!("../prompts/fairness.md") };

/// The system message of requests for directives.
pub const DIRECTIVES_SYSTEM: Prompt =
    Prompt { name: "directives-system", text: include_str!("../prompts/directives-system.md") };
/// Asks for the directives of a skill.
pub const DIRECTIVES: Prompt = Prompt { name: "directives", text: include_str!("../prompts/directives.md") };
/// The system message of a probe.
pub const PROBE_SYSTEM: Prompt =
    Prompt { name: "probe-system", text: include_str!("../prompts/probe-system.md") };
/// Asks for other questions than those that give their answers away.
pub const QUESTIONS: Prompt = Prompt { name: "questions", text: include_str!("../prompts/questions.md") };
/// Asks what a model would do without the skill.
pub const PROBE: Prompt = Prompt { name: "probe", text: include_str!("../prompts/probe.md") };
/// The system message of comparisons.
pub const PROBE_COMPARE_SYSTEM: Prompt =
    Prompt { name: "probe-compare-system", text: include_str!("../prompts/probe-compare-system.md") };
/// Asks whether replies to [`PROBE`] meet answers.
pub const PROBE_COMPARE: Prompt =
    Prompt { name: "probe-compare", text: include_str!("../prompts/probe-compare.md") };

impl Prompt {
    /// The first 12 digits of the text's digest.
    pub fn version(&self) -> String {
        Digest::of(self.text.as_bytes()).short()
    }

    /// The text with values filled in. Values are not searched for places.
    pub(crate) fn fill(&self, values: &[(&str, &str)]) -> String {
        let mut filled = String::new();
        let mut rest = self.text;
        while let Some((before, after)) = rest.split_once("{{") {
            filled.push_str(before);
            let (name, after) = after.split_once("}}").unwrap_or((after, ""));
            filled.push_str(values.iter().find(|(own, _)| *own == name).map_or("", |(_, value)| value));
            rest = after;
        }
        filled.push_str(rest);
        filled
    }
}

/// The versions of all prompts, by name.
pub fn versions() -> BTreeMap<String, String> {
    let all = [
        DIRECTIVES_SYSTEM,
        DIRECTIVES,
        QUESTIONS,
        PROBE_SYSTEM,
        PROBE,
        PROBE_COMPARE_SYSTEM,
        PROBE_COMPARE,
        SYSTEM,
        IDEAS,
        BLIND_IDEAS,
        CHOOSE,
        FILES,
        DOUBLES,
        SEVERAL,
        INTENTS,
        INPUTS,
        GENERATOR,
        REPAIR,
        REFUSED,
        DIRECTIVE_LIST,
        WORK_SYSTEM,
        WITHOUT,
        WITH,
        FAIRNESS_SYSTEM,
        FAIRNESS,
    ];
    all.iter().map(|prompt| (prompt.name.to_owned(), prompt.version())).collect()
}

/// The skill that an evaluation is drafted for, as a model sees it, or several skills.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillText {
    /// Its name; several are joined by commas.
    pub name: String,
    /// The name and the description of each, as agents see them before they open it.
    pub descriptions: Vec<Part>,
    /// The `SKILL.md` of each, after its name.
    pub documents: Vec<Part>,
    /// The paths of its other files.
    pub files: Vec<String>,
    /// Whether there are several skills, which each task has to need.
    pub several: bool,
    /// What tasks are made from, besides the skill.
    pub intents: Vec<Intent>,
    /// Files that tasks may use.
    pub inputs: Vec<InputFile>,
    /// What it requires, in words ([`describe_needs`]).
    pub needs: String,
    /// Whether tasks may need test doubles.
    pub doubles: bool,
    /// The directives that tasks may test.
    pub directives: Vec<DraftDirective>,
}

/// Asks for `count` ideas.
pub fn request_ideas(skill: &SkillText, count: usize) -> Request {
    request_more_ideas(skill, count, &[])
}

/// Asks for `count` more ideas. `others` are the names of tasks, with the end of each.
pub fn request_more_ideas(skill: &SkillText, count: usize, others: &[Part]) -> Request {
    let count = count.to_string();
    let first = skill.directives.iter().find(|directive| directive.is_measurable());
    let text = IDEAS.fill(&[
        ("count", &count),
        ("range", &describe_range(&skill.directives)),
        ("id", sample_id(first)),
        ("needs", &skill.needs),
        ("refused", &refused_part(others)),
        ("several", if skill.several { SEVERAL.text } else { "" }),
        ("intents", &intents_part(&skill.intents)),
        ("inputs", &inputs_part(&skill.inputs)),
        ("directives", &directives_part(&skill.directives)),
        ("skill", &skill_data(skill, &[&count])),
    ]);
    Request { system: SYSTEM.text.to_owned(), text }
}

/// Asks for `count` ideas by somebody who knows the name and the description of the skill only. `others` are the titles of
/// ideas that are there.
pub fn request_blind_ideas(skill: &SkillText, count: usize, others: &[&str]) -> Request {
    let count = count.to_string();
    let titles: String = others.iter().map(|title| format!("- {title}\n")).collect();
    let others = if titles.is_empty() {
        String::new()
    } else {
        format!("These are there already; propose others:\n\n{}\n\n", data("TITLES", &titles, &[]))
    };
    let text = BLIND_IDEAS.fill(&[
        ("count", &count),
        ("others", &others),
        ("skill", &delimited("SKILL", &skill.descriptions, &[&others])),
    ]);
    Request { system: SYSTEM.text.to_owned(), text }
}

/// Asks which directives ideas test whose author knew none of them.
pub fn request_choice(skill: &SkillText, ideas: &[Idea]) -> Request {
    let shown: Vec<String> = ideas.iter().map(idea_data).collect();
    let ideas_text = data("IDEAS", &shown.join("\n"), &[]);
    let first = skill.directives.iter().find(|directive| directive.is_measurable());
    let text = CHOOSE.fill(&[
        ("ideas", &ideas_text),
        ("directives", &directives_part(&skill.directives)),
        ("skill", &skill_data(skill, &[&ideas_text])),
        ("name", ideas.first().map_or("name", |idea| &idea.name)),
        ("id", sample_id(first)),
    ]);
    Request { system: SYSTEM.text.to_owned(), text }
}

/// Asks for the files of an idea. `others` are the titles of the other tasks.
pub fn request_files(skill: &SkillText, idea: &Idea, others: &[&str]) -> Request {
    let idea_text = idea_data(idea);
    let titles: String = others.iter().map(|title| format!("- {title}\n")).collect();
    let others = if titles.is_empty() {
        String::new()
    } else {
        format!("Other tasks of the evaluation, which this one must not repeat:\n\n{titles}\n")
    };
    let doubles = if skill.doubles { DOUBLES.text } else { "" };
    let chosen = chosen_of(skill, idea);
    let text = FILES.fill(&[
        ("id", sample_id(chosen.first())),
        ("doubles", doubles),
        ("generator", GENERATOR.text),
        ("idea", &idea_text),
        ("others", &others),
        ("intents", &intents_of(skill, idea)),
        ("inputs", &inputs_part(&skill.inputs)),
        ("directives", &directives_part(&chosen)),
        ("skill", &skill_data(skill, &[&idea_text, &others])),
    ]);
    Request { system: SYSTEM.text.to_owned(), text }
}

/// Asks for corrections of a task's files and items. `faults` is what checks found, with the end of what solution and tests
/// printed.
pub fn request_repair(
    skill: &SkillText,
    idea: &Idea,
    files: &[TaskFile],
    items: &str,
    faults: &str,
) -> Request {
    let idea = idea_data(idea);
    let parts: Vec<Part> = files.iter().map(|file| (file.path.clone(), file.text.clone())).collect();
    let mark = mark_parts(&parts, &[faults]);
    let listed: String = parts.iter().map(|part| begin_part(part, &mark)).collect();
    let listed = beginning(&listed, FILES_CHARS);
    let text = REPAIR.fill(&[
        ("idea", &idea),
        ("directives", &directives_part(&skill.directives)),
        ("items", items.trim_end()),
        ("faults", &data("FAULTS", faults, &[&listed])),
        ("files", &enclose("FILES", &listed, &mark)),
        ("skill", &skill_data(skill, &[faults, &listed])),
    ]);
    Request { system: SYSTEM.text.to_owned(), text }
}

/// What a `needs.json` says, in words for a request: each category with the names that it has, and what is unmet.
pub fn describe_needs(needs: &Value) -> String {
    let mut text = String::new();
    let categories = needs["needs"].as_object().into_iter().flatten();
    for (category, found) in categories {
        let found = found.as_array().map_or(&[][..], Vec::as_slice);
        if found.is_empty() {
            continue;
        }
        let mut names: Vec<&str> = found.iter().filter_map(|need| need["name"].as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let names = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
        text.push_str(&format!("- {}{names}\n", category.replace('_', " ")));
    }
    for unmet in needs["unmet"].as_array().into_iter().flatten() {
        let category = unmet["category"].as_str().unwrap_or_default().replace('_', " ");
        let name = unmet["name"].as_str().map_or(String::new(), |name| format!(" ({name})"));
        let remedy = match unmet["double"].as_str() {
            Some(double) => format!("a test double can replace it: {}", double.replace('_', " ")),
            None => "nothing replaces it: tasks must not need it".to_owned(),
        };
        text.push_str(&format!("- missing: {category}{name}; {remedy}\n"));
    }
    if text.is_empty() { "- nothing beyond the sandbox\n".to_owned() } else { text }
}

fn intents_part(intents: &[Intent]) -> String {
    if intents.is_empty() {
        return String::new();
    }
    let parts: Vec<Part> = intents.iter().map(intent_part).collect();
    INTENTS.fill(&[("intents", &delimited("INTENTS", &parts, &[]))])
}

fn intent_part(intent: &Intent) -> Part {
    (intent.id.clone(), intent.text.trim().to_owned())
}

/// The intents that an idea serves, as data.
fn intents_of(skill: &SkillText, idea: &Idea) -> String {
    let served = skill.intents.iter().filter(|intent| idea.intents.contains(&intent.id));
    let parts: Vec<Part> = served.map(intent_part).collect();
    if parts.is_empty() {
        return String::new();
    }
    format!(
        "What the person asked for, from which the task is made:\n\n{}\n\n",
        delimited("INTENT", &parts, &[])
    )
}

fn inputs_part(inputs: &[InputFile]) -> String {
    if inputs.is_empty() {
        return String::new();
    }
    let part = |input: &InputFile| {
        let (what, text) = match &input.beginning {
            Some(text) => ("begins with:", text.clone()),
            None => ("a binary file", String::new()),
        };
        (format!("{}, {} bytes, {what}", input.path, input.bytes), text)
    };
    let parts: Vec<Part> = inputs.iter().map(part).collect();
    INPUTS.fill(&[("inputs", &delimited("INPUTS", &parts, &[]))])
}

fn refused_part(others: &[Part]) -> String {
    if others.is_empty() {
        return String::new();
    }
    REFUSED.fill(&[("refused", &delimited("TASKS", others, &[]))])
}

/// Directives as data: what their items need.
fn directives_part(directives: &[DraftDirective]) -> String {
    if directives.is_empty() {
        return String::new();
    }
    let shown: Vec<Value> = directives
        .iter()
        .map(|directive| {
            json!({
                "id": directive.id, "file": directive.file, "lines": directive.lines, "quote": directive.quote,
                "text": directive.text, "relevant_when": directive.relevant_when, "answer": directive.answer,
                "default": directive.default, "class": directive.class,
            })
        })
        .collect();
    let lines: Vec<String> = shown.iter().map(Value::to_string).collect();
    DIRECTIVE_LIST.fill(&[("directives", &data("DIRECTIVES", &lines.join("\n"), &[]))])
}

/// The id in the sample of a reply: one of the request itself, so that nobody takes it for another.
fn sample_id(directive: Option<&DraftDirective>) -> &str {
    directive.map_or("id", |directive| &directive.id)
}

/// Most directives that a task tests, besides controls. Chosen: with more, a task reads like the skill.
const MOST_CHOSEN: usize = 12;

/// Fewest directives that a task tests, where there are as many. Some fall in validation, and four have to stay.
const FEWEST_CHOSEN: usize = 6;

/// How many directives a task tests, as an object: it follows from how many can show what the skill adds.
fn describe_range(directives: &[DraftDirective]) -> String {
    let count = directives.iter().filter(|directive| directive.is_measurable()).count();
    let what = "that are knowledge or convention";
    match (count.min(FEWEST_CHOSEN), count.min(MOST_CHOSEN)) {
        (least, most) if least == most => format!("all {count} directives {what}"),
        (least, most) => format!("{least} to {most} of the {count} directives {what}"),
    }
}

/// The directives of an idea.
fn chosen_of(skill: &SkillText, idea: &Idea) -> Vec<DraftDirective> {
    let is_chosen = |directive: &&DraftDirective| idea.directives.iter().any(|one| one.id == directive.id);
    skill.directives.iter().filter(is_chosen).cloned().collect()
}

/// The skills as data, with the names of their other files.
pub(crate) fn skill_data(skill: &SkillText, others: &[&str]) -> String {
    let share = SKILL_CHARS / skill.documents.len().max(1);
    let cut = |(name, text): &Part| (format!("skill {name}"), beginning(text, share));
    let mut parts: Vec<Part> = skill.documents.iter().map(cut).collect();
    if !skill.files.is_empty() {
        parts.push(("other files of the skill, which are not shown".to_owned(), skill.files.join(", ")));
    }
    delimited("SKILL", &parts, others)
}

fn idea_data(idea: &Idea) -> String {
    serde_json::to_string_pretty(idea).unwrap_or_default()
}

/// A text between two lines with a digest of it and of what else the request contains.
pub(crate) fn data(label: &str, text: &str, others: &[&str]) -> String {
    let mark = Digest::of(format!("{text}\n{}", others.join("\n")).as_bytes()).short();
    format!("{label} {mark}\n{}\nEND OF {label} {mark}", text.trim_end())
}

/// The first characters of a text, with a mark if it is longer.
fn beginning(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}\n[{} more bytes are not shown]", &text[..end], text.len() - end),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directives::{DirectiveClass, DirectiveEvidence, DirectiveLines};

    fn directives(measurable: usize, controls: usize) -> Vec<DraftDirective> {
        let directive = |at: usize| DraftDirective {
            id: format!("rule-{at}"),
            class: Some(if at < measurable { DirectiveClass::Convention } else { DirectiveClass::Reminder }),
            known: Some(0),
            seen_in: Some(DirectiveEvidence::Result),
            ..DraftDirective::of_words(
                "kiln",
                "SKILL.md",
                DirectiveLines::single(at + 1),
                "q".to_owned(),
                "t".to_owned(),
            )
        };
        (0..measurable + controls).rev().map(directive).collect()
    }

    #[test]
    fn the_number_of_directives_follows_from_what_is_there() {
        let check = |measurable: usize, expected: &str| {
            let directives = directives(measurable, 3);
            let skill = SkillText { directives, ..SkillText::default() };
            let text = request_ideas(&skill, 2).text;
            let range = format!("tests {expected} directives that are knowledge or convention");
            assert!(text.contains(&range), "{range}: {text}");
            // The sample of the reply has a directive of the request.
            let sample = format!("\"directives\": [{{\"id\":\n\"rule-{}\"", measurable - 1);
            assert!(text.contains(&sample), "{sample}: {text}");
        };
        check(4, "all 4");
        check(6, "all 6");
        check(7, "6 to 7 of the 7");
        check(30, "6 to 12 of the 30");
    }

    #[test]
    fn blind_ideas_see_name_and_description_only() {
        let skill = SkillText {
            name: "kiln".to_owned(),
            descriptions: vec![("kiln".to_owned(), "Fires pots.".to_owned())],
            documents: vec![("kiln".to_owned(), "Fire to cone 6.".to_owned())],
            files: vec!["references/cones.md".to_owned()],
            directives: directives(5, 1),
            ..SkillText::default()
        };
        let Request { text, .. } = request_blind_ideas(&skill, 3, &["A shelf of bowls"]);
        for part in ["Propose 3 pieces of work", "Fires pots.", "- A shelf of bowls"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        for part in ["cone 6", "cones.md", "rule-", "{{"] {
            assert!(!text.contains(part), "{part}: {text}");
        }
        let ideas = [Idea { name: "bowls".to_owned(), ..Idea::default() }];
        let Request { text, .. } = request_choice(&skill, &ideas);
        for part in ["cone 6", "{\"ideas\": [{\"name\": \"bowls\", \"directives\": [{\"id\": \"rule-4\""] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("{{"), "{text}");
    }
}
