//! Answers that a task declares: what its checks take from a skill on purpose.
//!
//! A task that tests whether an agent follows a skill has the skill's own words in its tests and its solution. It lists
//! them in `tests/items.json`, as drafts do: items of the set `if`, each with the lines of the skill that it follows. Rules
//! against leaks leave these lines out in tests and solution. In the instruction, and for all other lines, they hold.

use serde::Deserialize;

use super::finding::{Finding, Span};
use super::subject::{Subject, Text};

/// The file with the items, within a task.
const ITEMS: &str = "tests/items.json";

/// Files that repeat the items.
const OWN: [&str; 3] = [ITEMS, "solution/mutants.json", "tests/counterfactual/items.json"];

#[derive(Deserialize)]
struct Items {
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    set: String,
    #[serde(default)]
    file: String,
    #[serde(default)]
    lines: String,
    #[serde(default)]
    marks: Vec<String>,
}

/// The answers that a task declares.
#[derive(Debug, Default)]
pub(super) struct DeclaredAnswers {
    /// Files of a skill with ranges of their lines.
    lines: Vec<(String, Vec<(usize, usize)>)>,
    /// Words and numbers that checks look for.
    marks: Vec<String>,
}

impl DeclaredAnswers {
    /// Those of a task; none if it has no items, or if they cannot be read.
    pub(super) fn read_from(subject: &Subject<'_>) -> Self {
        let is_items = |text: &&Text| text.file.ends_with(ITEMS);
        let parsed =
            subject.tests.iter().find(is_items).map(|text| serde_json::from_str::<Items>(&text.text));
        let Some(Ok(Items { items })) = parsed else { return Self::default() };
        let mut declared = Self::default();
        for item in items.into_iter().filter(|item| item.set == "if" && !item.file.is_empty()) {
            declared.lines.push((item.file, read_ranges(&item.lines)));
            declared.marks.extend(item.marks.into_iter().filter(|mark| !mark.trim().is_empty()));
        }
        declared
    }

    /// Whether a finding is about an answer that the task declares, in its tests or its solution.
    pub(super) fn exempts(&self, subject: &Subject<'_>, finding: &Finding) -> bool {
        let (Some(skill), Some(task)) = (&finding.skill_span, &finding.task_span) else { return false };
        if self.lines.is_empty() || !finding.code.starts_with("leak-") {
            return false;
        }
        if subject.instructions.iter().any(|text| text.file == task.file) {
            return false;
        }
        OWN.iter().any(|own| task.file.ends_with(own))
            || self.lines.iter().any(|(file, lines)| is_within(skill, file, lines))
            || self.marks.iter().any(|mark| finding.message.contains(&format!("`{mark}`")))
    }
}

/// Whether a span of a skill has a line of the ranges.
fn is_within(span: &Span, file: &str, ranges: &[(usize, usize)]) -> bool {
    span.file.ends_with(file)
        && ranges.iter().any(|(first, last)| span.line <= *last && *first <= span.end_line)
}

/// Ranges of lines, such as `74-77` or `32,69`.
fn read_ranges(text: &str) -> Vec<(usize, usize)> {
    let number = |text: &str| text.trim().parse::<usize>().ok();
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        number(first).zip(number(last))
    };
    text.split(',').filter_map(range).collect()
}
