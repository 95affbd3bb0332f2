//! Patterns of a skill's influence on a run, based on the skill's text.
//!
//! Patterns are found in a pair of runs, the audited one and the one it is compared with. Evidence
//! is text that the first has in common with the skill's body, and that is neither in the second
//! nor in the task's text nor in the skill's description; so every finding has a span of the skill
//! and a span of the trace. The rules do not know which of the two runs had the skill: pairs of one
//! condition use the same rules and give the null.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde::Serialize;

use super::guards::guards;
use crate::behaviour::{Action, Verb};
use crate::evidence::{Adoption, Background, Manner, SkillText, Span, TraceText, adoptions, words};

/// A pattern of influence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Parts of the skill are acted on in the skill's order: each part after the first.
    ProceduralScaffolding,
    /// A guard that is written with the skill's words.
    EdgeCasePrompting,
    /// A search for something that the skill names, which the run neither finds nor changes.
    RedundantExploration,
    /// A name, path or version of the skill's examples is written down, and neither the task nor
    /// the workspace knows it.
    SurfaceAnchoring,
    /// A file that the task does not name and the other run does not write, with the skill's words
    /// in it.
    ConceptBleed,
    /// The skill's words are acted on, and no check follows; the other run checks after its last
    /// write.
    PrematureClosure,
    /// More tokens than the other run, and almost no text of the skill.
    SkillInertia,
}

/// The effect of a pattern on the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It may help.
    Constructive,
    /// It costs.
    Neutral,
    /// It may harm.
    Destructive,
}

impl Pattern {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::ProceduralScaffolding,
        Self::EdgeCasePrompting,
        Self::RedundantExploration,
        Self::SurfaceAnchoring,
        Self::ConceptBleed,
        Self::PrematureClosure,
        Self::SkillInertia,
    ];

    /// The name it has in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::ProceduralScaffolding => "procedural_scaffolding",
            Self::EdgeCasePrompting => "edge_case_prompting",
            Self::RedundantExploration => "redundant_exploration",
            Self::SurfaceAnchoring => "surface_anchoring",
            Self::ConceptBleed => "concept_bleed",
            Self::PrematureClosure => "premature_closure",
            Self::SkillInertia => "skill_inertia",
        }
    }

    /// Its effect on the task.
    pub fn effect(self) -> Effect {
        match self {
            Self::ProceduralScaffolding | Self::EdgeCasePrompting => Effect::Constructive,
            Self::RedundantExploration | Self::SkillInertia => Effect::Neutral,
            Self::SurfaceAnchoring | Self::ConceptBleed | Self::PrematureClosure => Effect::Destructive,
        }
    }
}

/// One finding, with its two spans.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// What it is.
    pub pattern: Pattern,
    /// The line in the SKILL.md, from 1; 0 for the whole skill.
    pub skill_line: usize,
    /// Its text.
    pub skill_text: String,
    /// ATIF's `step_id`.
    pub step: usize,
    /// Its text.
    pub trace_text: String,
}

/// The facts of a run that the rules use.
pub(super) struct RunFacts {
    pub(super) text: TraceText,
    pub(super) actions: Vec<Action>,
    /// Lines that guards begin at, over all writes.
    guards: BTreeSet<String>,
    /// Lower-case words of tool results, except those with the skill's text.
    pub(super) workspace: HashSet<String>,
    pub(super) tokens: u64,
}

/// Longest line of a span, in characters.
const SPAN_CAP: usize = 300;

/// Matched words below which a skill counts as unused: they give half of the adoption threshold.
const INERT: f64 = 3.0;

/// The ratio of tokens above which a run counts as longer.
const DEARER: f64 = 1.1;

impl RunFacts {
    pub(super) fn new(
        text: TraceText,
        actions: Vec<Action>,
        workspace: HashSet<String>,
        tokens: u64,
    ) -> Self {
        let writes = actions.iter().filter(|action| action.verb == Verb::Write);
        let guards = writes.flat_map(|action| guards(&action.target, &action.content)).collect();
        Self { text, actions, guards, workspace, tokens }
    }
}

/// The findings in `one`, compared with `other`.
pub(super) fn patterns(
    one: &RunFacts,
    other: &RunFacts,
    skill: &SkillText,
    background: &Background,
    prompt: &str,
) -> Vec<Finding> {
    if one.text.same(&other.text) {
        // A copy is no background to its original, so everything in it would look like the skill's.
        return Vec::new();
    }
    let evidence = adoptions(&[&one.text, &other.text], skill, background).swap_remove(0);
    let mut found = Vec::new();
    scaffolding(&evidence, &mut found);
    edge_cases(&evidence, one, &mut found);
    exploration(one, other, skill, prompt, &mut found);
    anchoring(&evidence, one, other, prompt, &mut found);
    bleed(&evidence, one, other, prompt, &mut found);
    closure(&evidence, one, other, &mut found);
    inertia(&evidence, one, other, skill, &mut found);
    found
}

fn finding(pattern: Pattern, span: &Span, step: usize, text: &str) -> Finding {
    let cut = |text: &str| text.chars().take(SPAN_CAP).collect();
    Finding {
        pattern,
        skill_line: span.skill_line,
        skill_text: cut(&span.skill_text),
        step,
        trace_text: cut(text),
    }
}

/// Sections and numbered items that were acted on, in order: the longest run of them whose first
/// appearances do not go back.
fn scaffolding(evidence: &Adoption, found: &mut Vec<Finding>) {
    let mut units: Vec<(&Span, usize, &str)> = Vec::new();
    let mut last = None;
    for span in &evidence.spans {
        let Some(act) =
            span.places.iter().filter(|place| place.manner >= Manner::Wrote).min_by_key(|place| place.step)
        else {
            continue;
        };
        let unit = if span.step_of_skill { (span.section, span.skill_line) } else { (span.section, 0) };
        if last.replace(unit) != Some(unit) {
            units.push((span, act.step, &act.text));
        }
    }
    for &at in longest_in_order(&units.iter().map(|unit| unit.1).collect::<Vec<_>>()).iter().skip(1) {
        let (span, step, text) = units[at];
        found.push(finding(Pattern::ProceduralScaffolding, span, step, text));
    }
}

/// The places of a longest subsequence that never decreases; the earliest among equals.
fn longest_in_order(values: &[usize]) -> Vec<usize> {
    let mut best: Vec<(usize, Option<usize>)> = Vec::new();
    for (at, value) in values.iter().enumerate() {
        let before =
            (0..at).filter(|&other| values[other] <= *value).max_by_key(|&other| (best[other].0, at - other));
        best.push((before.map_or(1, |other| best[other].0 + 1), before));
    }
    let mut order = Vec::new();
    let mut at = (0..values.len()).max_by_key(|&at| (best[at].0, values.len() - at));
    while let Some(here) = at {
        order.push(here);
        at = best[here].1;
    }
    order.reverse();
    order
}

fn edge_cases(evidence: &Adoption, one: &RunFacts, found: &mut Vec<Finding>) {
    let mut seen = BTreeSet::new();
    for span in &evidence.spans {
        for place in span.places.iter().filter(|place| place.manner == Manner::Wrote) {
            if one.guards.contains(&place.text) && seen.insert(&place.text) {
                found.push(finding(Pattern::EdgeCasePrompting, span, place.step, &place.text));
            }
        }
    }
}

fn exploration(one: &RunFacts, other: &RunFacts, skill: &SkillText, prompt: &str, found: &mut Vec<Finding>) {
    let looks = |action: &&Action| matches!(action.verb, Verb::Read | Verb::Search);
    let elsewhere: BTreeSet<&str> = other.actions.iter().map(|action| action.target.as_str()).collect();
    let mut seen = BTreeSet::new();
    for action in one.actions.iter().filter(looks) {
        let fruitful = !action.failed || elsewhere.contains(action.target.as_str());
        let Some(name) = file_name(&action.target) else { continue };
        if fruitful || prompt.contains(name) || !seen.insert(&action.target) {
            continue;
        }
        // The target of the search is named in the skill, or is in its folder.
        let line = skill.lines.iter().find(|line| line.text.contains(name));
        let below = action.target.contains(&format!("/{}/", skill.slug()));
        let (skill_line, skill_text) = match line {
            Some(line) => (line.number, line.text.clone()),
            None if below => (0, skill.name.clone()),
            None => continue,
        };
        found.push(Finding {
            pattern: Pattern::RedundantExploration,
            skill_line,
            skill_text,
            step: action.step,
            trace_text: action.target.clone(),
        });
    }
}

/// The last part of a path; `None` where it says too little.
fn file_name(target: &str) -> Option<&str> {
    let name = target.rsplit(['/', ' ']).next()?;
    (name.len() >= 4 && name.contains(['.', '_', '-'])).then_some(name)
}

fn anchoring(evidence: &Adoption, one: &RunFacts, other: &RunFacts, prompt: &str, found: &mut Vec<Finding>) {
    let asked: BTreeSet<String> = words(prompt).iter().map(|word| word.to_lowercase()).collect();
    let mut seen = BTreeSet::new();
    for span in evidence.spans.iter().filter(|span| span.code) {
        for place in span.places.iter().filter(|place| place.manner == Manner::Wrote) {
            for literal in literals(&span.skill_text) {
                let lower = literal.to_lowercase();
                let parts = words(&lower);
                let known = |all: &dyn Fn(&str) -> bool| parts.iter().all(|part| all(part));
                let there = place.text.contains(literal);
                let explained = known(&|part| asked.contains(part))
                    || known(&|part| one.workspace.contains(part))
                    || known(&|part| other.workspace.contains(part));
                if there && !explained && seen.insert(lower.clone()) {
                    found.push(finding(Pattern::SurfaceAnchoring, span, place.step, &place.text));
                }
            }
        }
    }
}

/// What in a line is a name of something: `snake_case`, `camelCase`, a path, a version.
fn literals(line: &str) -> Vec<&str> {
    let parts = line.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '-')));
    let is_literal = |part: &&str| {
        let version = part.contains('.') && part.chars().all(|c| c.is_ascii_digit() || c == '.' || c == 'v');
        let hump =
            || part.chars().zip(part.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
        let letters = part.chars().filter(|c| c.is_alphabetic()).count();
        (version && part.chars().filter(char::is_ascii_digit).count() >= 2)
            || (letters >= 6 && (part.contains('_') || part.contains('/') || hump()))
    };
    parts.map(|part| part.trim_matches(['.', '/', '-'])).filter(is_literal).collect()
}

fn bleed(evidence: &Adoption, one: &RunFacts, other: &RunFacts, prompt: &str, found: &mut Vec<Finding>) {
    let written: BTreeSet<&str> =
        other.actions.iter().filter(|a| a.verb == Verb::Write).map(|a| a.target.as_str()).collect();
    let mut files: BTreeMap<&str, &Action> = BTreeMap::new();
    for action in one.actions.iter().filter(|action| action.verb == Verb::Write && !action.content.is_empty())
    {
        let named = file_name(&action.target).is_none_or(|name| prompt.contains(name));
        if !named && !written.contains(action.target.as_str()) {
            files.entry(&action.target).or_insert(action);
        }
    }
    for action in files.values() {
        let lines: HashSet<&str> = action.content.lines().map(str::trim).collect();
        let of = |span: &&Span| {
            span.places
                .iter()
                .any(|place| place.manner == Manner::Wrote && lines.contains(place.text.as_str()))
        };
        let spans: Vec<&Span> = evidence.spans.iter().filter(of).collect();
        // One shared phrase may be anybody's; a second one makes it the skill's.
        if let [first, _, ..] = spans.as_slice() {
            found.push(finding(Pattern::ConceptBleed, first, action.step, &action.target));
        }
    }
}

fn closure(evidence: &Adoption, one: &RunFacts, other: &RunFacts, found: &mut Vec<Finding>) {
    let checks_at_the_end = |actions: &[Action]| {
        let write = actions.iter().rposition(|action| action.verb == Verb::Write);
        write.is_some_and(|write| actions[write..].iter().any(|action| action.check))
    };
    if !one.actions.iter().any(|action| action.verb == Verb::Write) {
        return;
    }
    let acts = evidence.spans.iter().flat_map(|span| span.places.iter().map(move |place| (span, place)));
    let last = acts.filter(|(_, place)| place.manner >= Manner::Wrote).max_by_key(|(_, place)| place.step);
    if let Some((span, place)) = last
        && !checks_at_the_end(&one.actions)
        && checks_at_the_end(&other.actions)
    {
        found.push(finding(Pattern::PrematureClosure, span, place.step, &place.text));
    }
}

fn inertia(
    evidence: &Adoption,
    one: &RunFacts,
    other: &RunFacts,
    skill: &SkillText,
    found: &mut Vec<Finding>,
) {
    if evidence.evidence < INERT && one.tokens as f64 > DEARER * other.tokens as f64 {
        found.push(Finding {
            pattern: Pattern::SkillInertia,
            skill_line: 0,
            skill_text: skill.name.clone(),
            step: 0,
            trace_text: format!(
                "run {:.1}× longer ({} vs {} tokens), no textual use detected",
                one.tokens as f64 / other.tokens as f64,
                thousands(one.tokens),
                thousands(other.tokens)
            ),
        });
    }
}

/// A count with a comma between thousands.
fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests;
