//! Defects of rubrics that can be found without a model.
//!
//! Each rule is meant to be right when it speaks: a rubric without findings may still be a poor one.

mod words;

use serde::Serialize;

use crate::rubric::{Aggregation, Item, Rubric};
use words::{Literals, Words};

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Defect {
    /// The points of a set do not add up to 100, though they are unequal.
    Sum,
    /// The item rewards using the skill, or its words, instead of a result.
    SkillWords,
    /// The instruction states what the item asks for.
    InTask,
    /// Any result meets the item.
    CannotDiscriminate,
    /// Another item asks for the same.
    Duplicate,
}

impl Defect {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::SkillWords => "skill-words",
            Self::InTask => "in-task",
            Self::CannotDiscriminate => "cannot-discriminate",
            Self::Duplicate => "duplicate",
        }
    }
}

/// A defect of a rubric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The defect.
    pub defect: Defect,
    /// The item; the name of the set for [`Defect::Sum`].
    pub item: String,
    /// What was found, in a sentence without its full stop.
    pub message: String,
    /// What the instruction or the skill says, or the other item's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
}

/// The texts that a rubric is compared with.
#[derive(Debug, Clone, Copy, Default)]
pub struct Context<'a> {
    /// What the agent is told.
    pub instruction: &'a str,
    /// The names and texts of the skills that it is about, as far as they are known.
    pub skills: &'a [(String, String)],
}

/// Words of an item's requirement that the instruction must have, as a share, for the item to be stated there.
const STATED: f64 = 0.66;
/// Fewest words of a requirement that is compared.
const FEWEST: usize = 4;
/// Words of the shorter of two requirements that the longer must have, as a share, for them to be one. A swapped word
/// makes another requirement of the same form.
const EQUAL: f64 = 0.9;

/// The defects of a rubric, in the order of its items.
pub fn check(rubric: &Rubric, material: &Context<'_>) -> Vec<Finding> {
    let mut findings = sums(rubric);
    let leaves: Vec<&Item> = rubric.leaves().collect();
    let instruction = Text::new(material.instruction);
    for (number, item) in leaves.iter().enumerate() {
        let found = skill_words(item, material)
            .or_else(|| cannot_discriminate(item))
            .or_else(|| duplicate(item, &leaves[..number]))
            .or_else(|| in_task(item, &instruction));
        findings.extend(found);
    }
    findings
}

fn sums(rubric: &Rubric) -> Vec<Finding> {
    let is_odd = |items: &[Item]| {
        let sum: f64 = items.iter().map(|item| item.points).sum();
        let is_equal = items.iter().all(|item| (item.points - items[0].points).abs() < 1e-9);
        let is_share = (sum - 1.0).abs() < 1e-6;
        (!is_equal && !is_share && (sum - 100.0).abs() > 1e-6).then_some(sum)
    };
    let sets = rubric.sets.iter().filter(|set| set.aggregation == Aggregation::Mean);
    sets.filter_map(|set| Some((set, is_odd(&set.items)?)))
        .map(|(set, sum)| Finding {
            defect: Defect::Sum,
            item: set.name.clone(),
            message: format!("the points add up to {sum}, not 100"),
            evidence: None,
        })
        .collect()
}

/// A text with the words of each of its passages.
struct Text<'a> {
    lower: String,
    passages: Vec<(&'a str, Words)>,
}

impl<'a> Text<'a> {
    fn new(text: &'a str) -> Self {
        let lines = words::prose(text).into_iter().map(str::trim).filter(|line| !line.is_empty());
        let passages = lines.flat_map(sentences).map(|passage| (passage, Words::of(passage))).collect();
        Self { lower: text.to_lowercase(), passages }
    }

    /// The passage that has the largest share of some words, with that share.
    fn nearest(&self, words: &Words) -> Option<(&'a str, f64)> {
        let shares = self.passages.iter().map(|(passage, own)| (*passage, words.share_in(own)));
        shares.max_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// The sentences of a line.
fn sentences(line: &str) -> impl Iterator<Item = &str> {
    line.split_inclusive(". ").map(str::trim).filter(|part| !part.is_empty())
}

/// The item's requirement: its text without examples in parentheses.
fn requirement(item: &Item) -> String {
    words::without_parentheses(&item.text)
}

fn in_task(item: &Item, instruction: &Text<'_>) -> Option<Finding> {
    if item.negated {
        return None;
    }
    let requirement = requirement(item);
    let words = Words::of(&requirement);
    let literals = Literals::of(&item.text);
    let is_file = literals.iter().any(words::is_path)
        && words.share_in(&Words::of(&literals.iter().collect::<Vec<_>>().join(" "))) >= 1.0;
    if words.len() < FEWEST && !is_file {
        return None;
    }
    if !literals.iter().all(|literal| instruction.lower.contains(&literal.to_lowercase())) {
        return None;
    }
    let (passage, share) = instruction.nearest(&words)?;
    (share >= STATED).then(|| Finding {
        defect: Defect::InTask,
        item: item.id.clone(),
        message: "the instruction states what is required".to_owned(),
        evidence: Some(passage.to_owned()),
    })
}

fn skill_words(item: &Item, material: &Context<'_>) -> Option<Finding> {
    let lower = item.text.to_lowercase();
    let finding = |message: &str, evidence: Option<String>| Finding {
        defect: Defect::SkillWords,
        item: item.id.clone(),
        message: message.to_owned(),
        evidence,
    };
    if words::asks_for_a_skill(&lower) && !material.instruction.to_lowercase().contains("skill") {
        return Some(finding("it rewards that a skill was used, whatever the result", None));
    }
    let instruction = material.instruction.to_lowercase();
    let is_new = |phrase: &str| !instruction.contains(&phrase.to_lowercase());
    let literals = Literals::of(&item.text);
    // A text that must not be used is no word to be rewarded.
    if item.negated || words::forbids(&lower) {
        return None;
    }
    for (name, text) in material.skills {
        let lower_text = words::prose(text).join("\n").to_lowercase();
        let quoted = words::phrases(&requirement(item)).into_iter();
        let named = literals.iter().filter(|literal| words::has_part(literal, name)).map(str::to_owned);
        let in_skill = |phrase: &String| is_new(phrase) && lower_text.contains(&phrase.to_lowercase());
        let title = || {
            words::titles(text).into_iter().find(|title| is_new(title) && item.text.contains(title.as_str()))
        };
        if let Some(own) = quoted.chain(named).find(in_skill).or_else(title) {
            return Some(finding(&format!("it rewards the words of the skill {name:?}"), Some(own)));
        }
    }
    None
}

fn cannot_discriminate(item: &Item) -> Option<Finding> {
    let finding = |message: &str| Finding {
        defect: Defect::CannotDiscriminate,
        item: item.id.clone(),
        message: message.to_owned(),
        evidence: None,
    };
    let lower = item.text.to_lowercase();
    if words::forbids_the_unrelated(&lower) {
        return Some(finding("it forbids what hardly any result does"));
    }
    if words::is_praise(&lower) {
        return Some(finding("it praises without saying what would fail it"));
    }
    None
}

fn duplicate(item: &Item, earlier: &[&Item]) -> Option<Finding> {
    let own = Words::of(&requirement(item));
    let literals = Literals::of(&item.text);
    let same = earlier.iter().find(|other| {
        let others = Words::of(&requirement(other));
        let other_literals = Literals::of(&other.text);
        let (short, long, needed, given) = if own.len() <= others.len() {
            (&own, &others, &literals, &other_literals)
        } else {
            (&others, &own, &other_literals, &literals)
        };
        other.negated == item.negated
            && words::first(&item.text) == words::first(&other.text)
            && short.len() >= FEWEST
            && 2 * short.len() >= long.len()
            && short.share_in(long) >= EQUAL
            && needed.are_in(given)
    })?;
    Some(Finding {
        defect: Defect::Duplicate,
        item: item.id.clone(),
        message: format!("it asks for what {:?} asks for", same.id),
        evidence: Some(same.id.clone()),
    })
}

#[cfg(test)]
mod tests;
