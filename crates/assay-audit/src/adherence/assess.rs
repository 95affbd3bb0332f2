//! The status of each directive in one run.

use super::matching::Matcher;
use super::run_evidence::RunEvidence;
use super::{Assessment, Status};
use crate::directive::{Directive, Modality, Probe, unless_asked};

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
        let others = directive
            .instead
            .iter()
            .filter_map(|probe| Matcher::new(probe, directive).best_outside_comments(material, ""));
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
        let is_certain = directive.modality == Modality::Required || is_situation(directive, at, material);
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

/// How a place begins of which every word counts: it is within something that the act has to show.
const WITHIN: [&str; 7] = ["against ", "during ", "from within ", "inside ", "into ", "outside ", "within "];

/// Words of a place or a time that say nothing about it.
const PLAIN: [&str; 31] = [
    "again",
    "anywhere",
    "code",
    "codebase",
    "current",
    "directly",
    "else",
    "ever",
    "every",
    "file",
    "files",
    "first",
    "from",
    "here",
    "into",
    "other",
    "project",
    "repo",
    "repository",
    "same",
    "session",
    "skill",
    "some",
    "such",
    "task",
    "that",
    "their",
    "them",
    "this",
    "turn",
    "your",
];

/// Whether a run shows that the situation arose in which an act is forbidden. Whether a branch is
/// shared, a machine in production or a function a callback cannot be told from an act that does not name it.
fn is_situation(directive: &Directive, at: usize, material: &RunEvidence) -> bool {
    let Some(condition) = &directive.condition else { return true };
    let lower = condition.to_lowercase();
    if lower.starts_with("unless ") && unless_asked(&format!(" {lower}")) {
        return !material.asks_for(&directive.subject);
    }
    let is_clause = ["if ", "when ", "unless ", "while ", "whenever ", "once ", "only "];
    if is_clause.iter().any(|word| lower.starts_with(word)) {
        let applies = directive.applies.as_ref();
        return applies.is_some_and(|probe| Matcher::new(probe, directive).is_near(material, at));
    }
    let is_within = WITHIN.iter().any(|word| lower.starts_with(word));
    let words = lower.split(|c: char| !c.is_alphanumeric()).skip(1);
    let mut telling = words
        .filter(|word| {
            let is_one = SITUATIONS.iter().any(|stem| word.starts_with(stem));
            is_one || (is_within && word.len() >= 4 && PLAIN.binary_search(word).is_err())
        })
        .peekable();
    let act = material.around(at).to_lowercase();
    // An end such as "-es" or "-ing" may differ.
    let stem = |word: &str| word[..word.floor_char_boundary((word.len() * 3 / 4).max(4))].to_owned();
    telling.peek().is_none()
        || telling.any(|word| {
            let stem = stem(word);
            act.split(|c: char| !c.is_alphanumeric()).any(|part| part.starts_with(&stem))
        })
}

fn find(probe: &Probe, directive: &Directive, material: &RunEvidence) -> Option<usize> {
    Matcher::new(probe, directive).best(material)
}
