//! Faults of a drafted task that can be found without running it, beside those of `assay task check`.

mod answers;
mod searches;

pub(crate) use answers::review_items;

use std::collections::BTreeSet;

use assay_diagnostic::Severity;
use assay_judge::{Context, Rubric};
use assay_retrieval::{shingle_similarity, words};
use assay_skill::Package;
use assay_task::Task;
use assay_task::check::Finding;
use serde::{Deserialize, Serialize};

use crate::proposal::{TaskFile, read_task};

/// Words of a line of the skill that must not be in an instruction. A shorter line can occur by chance.
const LINE_WORDS: usize = 6;

/// Similarity of word 3-grams from which two instructions, or an instruction and an example, are near-duplicates. Not
/// measured: instructions of one suite share phrases about paths and formats, which are less than half of a text.
const NEAR: f64 = 0.5;

/// Words of a passage of the skill that is compared.
const PASSAGE_WORDS: usize = 8;

/// Most text searches among the tests of a task.
const SEARCHES: usize = 1;

/// A fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Its kind: a code of `assay task check`, or one of this module.
    pub code: String,
    /// A sentence without its full stop.
    pub message: String,
}

impl Fault {
    /// A fault.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into() }
    }
}

/// What a task is compared with.
#[derive(Debug, Clone, Copy)]
pub struct Reference<'a> {
    /// The names of the skills, each with its `SKILL.md`.
    pub skills: &'a [(&'a str, &'a str)],
    /// Further texts of the skill's package, such as examples, by path.
    pub examples: &'a [(String, String)],
    /// The other tasks of the draft: their names and instructions.
    pub others: &'a [(String, String)],
}

/// The checks of drafts that apply to every task, as warnings of `assay task check`.
pub fn find_faults(task: &Task, skills: &[Package]) -> Vec<Finding> {
    let files = read_task(&task.root);
    let skills: Vec<(&str, &str)> =
        skills.iter().map(|skill| (skill.name.as_str(), skill.document.as_str())).collect();
    let mut faults = review(&files, &Reference { skills: &skills, examples: &[], others: &[] });
    let mut seen = BTreeSet::new();
    faults.retain(|fault| seen.insert((fault.code.clone(), fault.message.clone())));
    let finding = |fault: Fault| Finding::new(Severity::Warning, &fault.code, "", fault.message, "");
    faults.into_iter().map(finding).collect()
}

/// The faults of a task's files.
///
/// - `copied-line`: the instruction contains a line of the skill.
/// - `near-duplicate`: the instruction resembles an example of the skill, or another task.
/// - `text-searches`: more than one test is a text search.
/// - `rubric`, `rubric-…`: the rubric cannot be read, or an item of it has a defect ([`assay_judge::check`]).
pub fn review(files: &[TaskFile], reference: &Reference<'_>) -> Vec<Fault> {
    let text = |path: &str| files.iter().find(|file| file.path == path).map(|file| file.text.as_str());
    let instruction = text("instruction.md").unwrap_or_default();
    let mut faults = copied_lines(instruction, reference);
    faults.extend(near_duplicates(instruction, reference));
    let searches = searches::text_searches(files);
    if searches.len() > SEARCHES {
        faults.push(Fault::new(
            "text-searches",
            format!(
                "{} tests only look for a string or a pattern in a text and compare no value, at most one may: {}",
                searches.len(),
                searches.join("; ")
            ),
        ));
    }
    if let Some(text) = text("tests/rubric.json") {
        faults.extend(rubric(text, instruction, reference));
    }
    faults
}

fn copied_lines(instruction: &str, reference: &Reference<'_>) -> Vec<Fault> {
    let spaced = |text: &str| format!(" {} ", words(text).join(" "));
    let own = spaced(instruction);
    let lines =
        reference.skills.iter().flat_map(|(name, document)| document.lines().map(move |line| (name, line)));
    let copied = lines.filter(|(_, line)| {
        let line = words(line);
        line.len() >= LINE_WORDS && own.contains(&format!(" {} ", line.join(" ")))
    });
    copied
        .take(5)
        .map(|(name, line)| {
            Fault::new(
                "copied-line",
                format!("the instruction contains a line of the skill {name}: {:?}", line.trim()),
            )
        })
        .collect()
}

fn near_duplicates(instruction: &str, reference: &Reference<'_>) -> Vec<Fault> {
    let documents = reference.skills.iter();
    let passages = documents.flat_map(|(_, document)| document.split("\n\n").map(|text| ("SKILL.md", text)));
    let examples = reference.examples.iter().map(|(path, text)| (path.as_str(), text.as_str()));
    let near = passages
        .chain(examples)
        .filter(|(_, text)| words(text).len() >= PASSAGE_WORDS)
        .find(|(_, text)| shingle_similarity(instruction, text) >= NEAR);
    let example = near.map(|(path, _)| {
        Fault::new("near-duplicate", format!("the instruction resembles a passage of {path}"))
    });
    let same = reference.others.iter().find(|(_, other)| shingle_similarity(instruction, other) >= NEAR);
    let task = same.map(|(name, _)| {
        Fault::new("near-duplicate", format!("the instruction resembles that of the task {name}"))
    });
    example.into_iter().chain(task).collect()
}

fn rubric(text: &str, instruction: &str, reference: &Reference<'_>) -> Vec<Fault> {
    let rubric = match Rubric::parse(text) {
        Ok(rubric) => rubric,
        Err(error) => return vec![Fault::new("rubric", error.to_string())],
    };
    let skills = reference.skills.iter();
    let skills: Vec<_> =
        skills.map(|(name, document)| ((*name).to_owned(), (*document).to_owned())).collect();
    let findings = assay_judge::check(&rubric, &Context { instruction, skills: &skills });
    findings
        .into_iter()
        .map(|finding| {
            let code = format!("rubric-{}", finding.defect.name());
            Fault::new(code, format!("{}: {}", finding.item, finding.message))
        })
        .collect()
}
