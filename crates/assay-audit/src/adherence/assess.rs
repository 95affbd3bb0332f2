//! The status of each directive in one run.

use super::matching::Matcher;
use super::run_evidence::RunEvidence;
use super::{Assessment, Status};
use crate::directive::{Directive, Modality, Probe};

/// What a run shows of each directive, in their order. Weights are 0: they depend on other runs.
///
/// A prohibition counts as followed only where the line's alternative was done: that something was
/// not done shows nothing.
pub fn assess(directives: &[Directive], material: &RunEvidence) -> Vec<Assessment> {
    directives.iter().map(|directive| assess_one(directive, material)).collect()
}

fn assess_one(directive: &Directive, material: &RunEvidence) -> Assessment {
    let matcher = Matcher::new(&directive.probe, directive);
    let probe = match directive.modality {
        Modality::Required => matcher.best(material),
        // What a comment says of it is not done.
        Modality::Forbidden => matcher.best_outside_comments(material, &directive.subject),
    };
    let instead = || {
        let others = directive.instead.iter().filter_map(|probe| find(probe, directive, material));
        others.min().or_else(|| matcher.reversed(material))
    };
    let applies =
        || directive.applies.as_ref().is_none_or(|probe| find(probe, directive, material).is_some());
    let shown = |status, at: usize| Assessment { status, place: Some(material.place(at)), weight: 0.0 };
    let (at_probe, at_instead) = match directive.modality {
        Modality::Required => (Status::Followed, Status::Violated),
        Modality::Forbidden => (Status::Violated, Status::Followed),
    };
    if let Some(at) = probe {
        let text = &material.place(at).text;
        let is_certain = directive.modality == Modality::Required || is_situation(directive, text, material);
        return if is_certain {
            shown(at_probe, at)
        } else {
            Assessment { status: Status::Unknown, place: None, weight: 0.0 }
        };
    }
    if !applies() {
        return Assessment { status: Status::NotApplicable, place: None, weight: 0.0 };
    }
    // That an example was not used is no fault.
    let counts = directive.modality == Modality::Forbidden || !directive.example;
    match instead().filter(|_| counts) {
        Some(at) => shown(at_instead, at),
        None => Assessment { status: Status::Unknown, place: None, weight: 0.0 },
    }
}

/// Words of a place or a time in which something is forbidden that is allowed elsewhere.
const SITUATIONS: [&str; 14] = [
    "branch",
    "deploy",
    "host",
    "live",
    "main",
    "master",
    "prod",
    "protected",
    "public",
    "release",
    "remote",
    "server",
    "shared",
    "trunk",
];

/// Whether a run shows that the situation arose in which an act is forbidden. Whether a branch is
/// shared or a machine in production cannot be told from a command that does not name it.
fn is_situation(directive: &Directive, act: &str, material: &RunEvidence) -> bool {
    let Some(condition) = &directive.condition else { return true };
    let lower = condition.to_lowercase();
    let is_clause = ["if ", "when ", "unless ", "while ", "whenever ", "once "];
    if is_clause.iter().any(|word| lower.starts_with(word)) {
        let applies = directive.applies.as_ref();
        return applies.is_some_and(|probe| find(probe, directive, material).is_some());
    }
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).collect();
    let is_one = |word: &&&str| SITUATIONS.iter().any(|stem| word.starts_with(stem));
    let mut situations = words.iter().filter(is_one).peekable();
    let act = act.to_lowercase();
    situations.peek().is_none()
        || situations.any(|word| act.split(|c: char| !c.is_alphanumeric()).any(|part| part == *word))
}

fn find(probe: &Probe, directive: &Directive, material: &RunEvidence) -> Option<usize> {
    Matcher::new(probe, directive).best(material)
}
