//! Faults of the items of a task that can be found without running it.

use assay_skill::Package;

use super::Fault;
use crate::directives::DirectiveClass;
use crate::items::{
    FEWEST_ITEMS, ItemSet, MOST_CONTROLS, RUBRIC_FILE, TaskItem, TaskItems, TaskMutants, count_judged,
    describe_judged,
};
use crate::proposal::TaskFile;

/// Most bytes of a file of the skill that is searched.
const SKILL_BYTES: u64 = 1 << 20;

/// Fewest characters of a number that is looked for in the given files: a shorter one stands in any data.
const NUMBER_CHARS: usize = 3;

/// Fewest characters of an answer that is looked for as a whole.
const ANSWER_CHARS: usize = 12;

/// The faults of items.
///
/// - `no-goal`: no item of the set `gc`.
/// - `too-few-items`: fewer than four items of directives besides controls, or none of those that are tested knowledge. At most two may be judged.
/// - `too-many-controls`: more than two controls.
/// - `no-check`: an item without a function in `tests/check.py`.
/// - `no-mutant`: an item without a solution that ignores its directive, or with one that cannot be made.
/// - `quote`: the quoted words are not on the lines of the skill.
/// - `mark-unknown`: a word that the check looks for is not in the skill.
/// - `answer-given`: the instruction or a given file shows an answer.
pub(crate) fn review_items(
    items: &TaskItems,
    mutants: &TaskMutants,
    files: &[TaskFile],
    skills: &[Package],
) -> Vec<Fault> {
    let text = |path: &str| files.iter().find(|file| file.path == path).map_or("", |file| &file.text);
    let mut faults = review_counts(items, count_judged(text(RUBRIC_FILE), items));
    let (checks, solution) = (text("tests/check.py"), text("solution/solve.sh"));
    for item in &items.items {
        let is_checked = [format!("check(\"{}\")", item.id), format!("check('{}')", item.id)];
        if !is_checked.iter().any(|call| checks.contains(call)) {
            let message =
                format!("{}: no function of tests/check.py is under @check(\"{}\")", item.id, item.id);
            faults.push(Fault::new("no-check", message));
        }
        if item.set == ItemSet::If {
            faults.extend(review_mutant(item, mutants, solution));
            faults.extend(review_source(item, skills));
            faults.extend(review_answer(item, files));
        }
    }
    faults
}

fn review_counts(items: &TaskItems, judged: usize) -> Vec<Fault> {
    let mut faults = Vec::new();
    if items.list_set(ItemSet::Gc).next().is_none() {
        faults.push(Fault::new(
            "no-goal",
            "no item is of the set gc: what the instruction demands is not checked",
        ));
    }
    let measuring: Vec<&TaskItem> = items.items.iter().filter(|item| item.is_measuring()).collect();
    let has_knowledge = measuring.iter().any(|item| item.class == Some(DirectiveClass::Knowledge));
    if measuring.len() + judged < FEWEST_ITEMS || !has_knowledge {
        let count = measuring.len();
        let message = format!(
            "{count} items of directives besides controls{}: a task needs {FEWEST_ITEMS}, one that is tested of class knowledge",
            describe_judged(judged)
        );
        faults.push(Fault::new("too-few-items", message));
    }
    let controls = items.items.iter().filter(|item| item.is_control()).count();
    if controls > MOST_CONTROLS {
        let message =
            format!("{controls} items are reminders, and at most {MOST_CONTROLS} are useful as controls");
        faults.push(Fault::new("too-many-controls", message));
    }
    faults
}

fn review_mutant(item: &TaskItem, mutants: &TaskMutants, solution: &str) -> Option<Fault> {
    let own = mutants.mutants.iter().find(|mutant| mutant.item == item.id);
    let message = match own {
        None if item.is_control() => return None,
        None => format!("{}: `mutant` is missing: replacements that make the solution ignore it", item.id),
        Some(mutant) => format!("{}: `mutant`: {}", item.id, mutant.apply_to(solution).err()?),
    };
    Some(Fault::new("no-mutant", message))
}

/// Whether the skill says what an item claims that it says.
fn review_source(item: &TaskItem, skills: &[Package]) -> Vec<Fault> {
    let name = item.file.as_deref().unwrap_or("SKILL.md");
    let documents: Vec<String> = skills.iter().filter_map(|skill| read_document(skill, name)).collect();
    let mut faults = Vec::new();
    if let (Some(quote), Some(lines)) = (&item.quote, &item.lines) {
        let is_there = documents.iter().any(|document| {
            let on_lines: Vec<&str> = (1..)
                .zip(document.lines())
                .filter(|(at, _)| lines.has_line(*at))
                .map(|(_, line)| line)
                .collect();
            join_words(&on_lines.join(" ")).contains(&join_words(quote))
        });
        if !is_there {
            let message = format!("{}: {name}:{lines} does not have the quoted words {quote:?}", item.id);
            faults.push(Fault::new("quote", message));
        }
    }
    for mark in &item.marks {
        if !documents.iter().any(|document| has_phrase(document, mark)) {
            let message = format!("{}: {name} does not contain {mark:?}", item.id);
            faults.push(Fault::new("mark-unknown", message));
        }
    }
    faults
}

fn read_document(skill: &Package, name: &str) -> Option<String> {
    let read = assay_fs::read_within(&skill.root, std::path::Path::new(name), SKILL_BYTES).ok()?;
    Some(String::from_utf8_lossy(&read.bytes).into_owned())
}

/// Whether a task shows the answer of an item.
fn review_answer(item: &TaskItem, files: &[TaskFile]) -> Option<Fault> {
    let answer = item.answer.iter().filter(|answer| answer.trim().chars().count() >= ANSWER_CHARS);
    let known: Vec<&String> = item.marks.iter().chain(answer).collect();
    for file in files {
        let is_instruction = file.path == "instruction.md";
        if !is_instruction && (item.readable || !file.path.starts_with("environment/files/")) {
            continue;
        }
        let shown = known
            .iter()
            .find(|phrase| (is_instruction || !is_short_number(phrase)) && has_phrase(&file.text, phrase));
        if let Some(phrase) = shown {
            let message =
                format!("{}: {} contains {phrase:?}, which only the skill should state", item.id, file.path);
            return Some(Fault::new("answer-given", message));
        }
    }
    None
}

fn is_short_number(text: &str) -> bool {
    text.trim().chars().count() <= NUMBER_CHARS
        && text.chars().all(|sign| sign.is_ascii_digit() || ".,%".contains(sign))
}

fn join_words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a text has a phrase, whatever its case, and not within a longer word or number.
fn has_phrase(text: &str, phrase: &str) -> bool {
    let (text, phrase) = (join_words(text).to_lowercase(), join_words(phrase).to_lowercase());
    if phrase.is_empty() {
        return false;
    }
    let is_word = |sign: Option<char>| sign.is_some_and(|sign| sign.is_alphanumeric() || sign == '_');
    text.match_indices(&phrase).any(|(at, found)| {
        let before = is_word(found.chars().next()) && is_word(text[..at].chars().next_back());
        let after = is_word(found.chars().next_back()) && is_word(text[at + found.len()..].chars().next());
        !before && !after
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_is_found_as_whole_words() {
        let check = |text: &str, phrase: &str, expected: bool| {
            assert_eq!(has_phrase(text, phrase), expected, "{phrase:?} in {text:?}");
        };
        check("Write ACTION: first", "action:", true);
        check("the limit is 40 orders", "40", true);
        check("the limit is 401 orders", "40", false);
        check("the limit is 0.40", "40", true);
        check("two\n  words", "two words", true);
        check("preaction", "action", false);
        check("anything", "", false);
        check("--- x ---", "--- x", true);
    }
}
