//! The sections of a body.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use assay_retrieval::Shingles;

use crate::diagnostic::Severities;
use crate::diagnostic::Severity::{Info, Warning};
use crate::rule::{Family, Findings, Rule, rule};
use crate::skill::Skill;

pub(super) struct Sections;

const RULES: &[Rule] = &[
    rule!(
        "section-duplicate",
        Severities::all(Warning),
        [147],
        "agnix, waza",
        "two sections with nearly the same text",
        "Say it once."
    ),
    rule!(
        "section-name",
        Severities::all(Info),
        [147],
        "agnix",
        "two neighbouring sections of one level have the same heading",
        "Give each section its own heading, or merge them."
    ),
    rule!(
        "section-empty",
        Severities::all(Info),
        [147],
        "assay",
        "a heading without content",
        "Fill in the section, or remove it."
    ),
];

/// Sections above this similarity (Jaccard, of word 3-grams) are duplicates.
const SAME: f64 = 0.8;
/// Shorter sections are alike by chance, in bytes.
const SHORT: usize = 200;
/// Sections of longer bodies are not compared: the cost is quadratic.
const MOST: usize = 200;

impl Family for Sections {
    fn rules(&self) -> &'static [Rule] {
        RULES
    }

    fn check(&self, skill: &Skill, findings: &mut Findings) {
        let headings = &skill.markdown().headings;
        if headings.is_empty() || headings.len() > MOST {
            return;
        }
        let text = skill.text();
        let contents: Vec<&str> = headings
            .iter()
            .enumerate()
            .map(|(at, heading)| {
                let end = headings.get(at + 1).map_or(text.len(), |next| next.span.start);
                text.get(heading.span.end..end).unwrap_or("").trim()
            })
            .collect();
        let mut last: BTreeMap<(usize, String), usize> = BTreeMap::new();
        for (at, heading) in headings.iter().enumerate() {
            let deeper = headings.get(at + 1).is_some_and(|next| next.level > heading.level);
            // A title without text may come before the first section.
            if contents[at].is_empty() && !deeper && heading.level > 1 {
                findings
                    .add(
                        "section-empty",
                        skill,
                        &heading.span,
                        format!("section `{}` is empty", heading.text.trim()),
                    )
                    .hint("fill it in, or remove it");
            }
            // A heading of a higher level resets the comparison.
            last.retain(|(level, _), _| *level <= heading.level);
            let key = (heading.level, heading.text.trim().to_lowercase());
            if !key.1.is_empty() && last.insert(key, at).is_some() {
                findings
                    .add(
                        "section-name",
                        skill,
                        &heading.span,
                        format!("`{}` is the heading of two sections", heading.text.trim()),
                    )
                    .hint("give each its own heading, or merge them");
            }
        }
        same(skill, &contents, findings);
    }
}

fn same(skill: &Skill, contents: &[&str], findings: &mut Findings) {
    let headings = &skill.markdown().headings;
    let long: Vec<usize> = (0..contents.len()).filter(|&at| contents[at].len() >= SHORT).collect();
    let grams: Vec<OnceCell<Shingles>> = long.iter().map(|_| OnceCell::new()).collect();
    let shingles = |place: usize| grams[place].get_or_init(|| Shingles::of(contents[long[place]]));
    for (place, &at) in long.iter().enumerate() {
        for (before, &earlier) in long[..place].iter().enumerate() {
            // Texts of very different length cannot be that alike: a cheap bound before the costly
            // measure.
            let (a, b) = (contents[at].len(), contents[earlier].len());
            if a.min(b) * 10 < a.max(b) * 7 || !share_line(contents[at], contents[earlier]) {
                continue;
            }
            let alike = shingles(place).similarity(shingles(before));
            if alike >= SAME {
                let message = format!(
                    "nearly the same text as `{}`: {:.0}% of their three-word sequences are the same",
                    headings[earlier].text.trim(),
                    100.0 * alike
                );
                findings
                    .add("section-duplicate", skill, &headings[at].span, message)
                    .hint("keep one of them");
                break;
            }
        }
    }
}

/// Whether two texts share the first or the last line, as slightly edited copies do.
fn share_line(one: &str, other: &str) -> bool {
    one.lines().next() == other.lines().next() || one.lines().last() == other.lines().last()
}
