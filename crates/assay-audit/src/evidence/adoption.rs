//! How much of a skill turns up in what an agent authored, beyond what others authored on the same
//! task.
//!
//! For a trace and a skill, a feature (three words in a row, or one identifier) of the skill's body
//! counts where the trace holds it and neither the skill's name and description nor the task's text
//! do. It weighs
//!
//! ```text
//! max(0, 1 − 2·d/n) · max(0, 1 − 2·e/m)
//! ```
//!
//! where d of the n other traces of the task contain it, and e of the m other skills: 1 where no
//! other else has it, 0 where half of them do. A word of the skill counts with the heaviest feature
//! it belongs to. Their sum over the skill is the trace's *evidence*, in words of the skill. The
//! *floor* is the median evidence of the task's other traces. The score is
//!
//! ```text
//! max(0, evidence − floor) / (evidence + 20)
//! ```
//!
//! All traces of a task are treated alike: the score does not use which had the skill, opened it,
//! or what their files are called. The cost is described in docs/AUDIT.md: what most runs of a task
//! adopt counts as the task's own.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::ops::Range;

use super::authored::{Manner, TraceText};
use super::skill::{SkillText, keys};

/// From this score on a run counts as one that adopted something of the skill. Fixed on the nine
/// tasks of docs/AUDIT.md.
pub const ADOPTED: f64 = 0.25;

/// Words of evidence, above a floor of none, that are worth a score of one half.
const HALF: f64 = 20.0;

/// What a task and a library say without the skill.
#[derive(Debug, Clone, Default)]
pub struct Background {
    prompt: HashSet<u64>,
    skills: Vec<HashSet<u64>>,
}

impl Background {
    /// From the task's text, and from other skills; those with the body of `skill` are left out.
    pub fn new<'a>(prompt: &str, skill: &SkillText, others: impl IntoIterator<Item = &'a SkillText>) -> Self {
        let mut bodies = HashSet::from([skill.body.as_str()]);
        let skills =
            others.into_iter().filter(|other| bodies.insert(&other.body)).map(SkillText::keys).collect();
        Self { prompt: keys(prompt).collect(), skills }
    }
}

/// What one trace shows of one skill.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Adoption {
    /// In [0, 1].
    pub score: f64,
    /// Words of the skill, weighed.
    pub evidence: f64,
    /// The median evidence of the task's other traces; 0 without any.
    pub floor: f64,
    /// The skill's lines that were found, in their order.
    pub spans: Vec<Span>,
}

/// A line of the skill and the line of the trace that shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// The line in the SKILL.md, from 1.
    pub skill_line: usize,
    /// Its text, trimmed.
    pub skill_text: String,
    /// The section it belongs to, counted by headings.
    pub section: usize,
    /// Whether it is in a fenced block.
    pub code: bool,
    /// Whether it is a heading or an item of a numbered list.
    pub step_of_skill: bool,
    /// Words found, weighed.
    pub weight: f64,
    /// The places its parts turn up at first, and those at which they are first written or run, in
    /// the order of the trace.
    pub places: Vec<Occurrence>,
}

/// Where a part of a line turns up first.
#[derive(Debug, Clone, PartialEq)]
pub struct Occurrence {
    /// ATIF's `step_id`.
    pub step: usize,
    /// Whether it was said, thought, written or run.
    pub manner: Manner,
    /// The line of the trace.
    pub text: String,
}

/// The adoption of a skill by each of a task's traces, in their order.
///
/// Traces that hold the same words are one observation: a copy is no background to its original.
pub fn adoptions<T: Borrow<TraceText>>(
    traces: &[T],
    skill: &SkillText,
    background: &Background,
) -> Vec<Adoption> {
    let mut distinct: Vec<&TraceText> = Vec::new();
    let mut of: Vec<usize> = Vec::new();
    for trace in traces.iter().map(Borrow::borrow) {
        let at = distinct.iter().position(|known| known.same(trace)).unwrap_or_else(|| {
            distinct.push(trace);
            distinct.len() - 1
        });
        of.push(at);
    }
    let weights = Weights::new(&distinct, skill, background);
    let mut found: Vec<Adoption> = distinct.iter().map(|trace| weights.evidence(trace)).collect();
    let evidence: Vec<f64> = found.iter().map(|adoption| adoption.evidence).collect();
    for (at, adoption) in found.iter_mut().enumerate() {
        adoption.floor =
            median(evidence.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, e)| *e));
        adoption.score = score(adoption.evidence, adoption.floor);
    }
    of.into_iter().map(|at| found[at].clone()).collect()
}

fn score(evidence: f64, floor: f64) -> f64 {
    (evidence - floor).max(0.0) / (evidence + HALF)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => f64::midpoint(values[n / 2 - 1], values[n / 2]),
    }
}

/// What the features of a skill weigh, but for the share that depends on the trace.
struct Weights<'a> {
    skill: &'a SkillText,
    /// One for each feature of each line: the weight from other skills, and how many traces hold
    /// it.
    features: Vec<Vec<(f64, usize)>>,
    traces: usize,
}

impl<'a> Weights<'a> {
    fn new(distinct: &[&TraceText], skill: &'a SkillText, background: &Background) -> Self {
        let weigh = |key: u64| {
            if skill.advertised.contains(&key) || background.prompt.contains(&key) {
                return (0.0, 0);
            }
            let skills = background.skills.iter().filter(|other| other.contains(&key)).count();
            let traces = distinct.iter().filter(|trace| trace.first.contains_key(&key)).count();
            (rarity(skills, background.skills.len()), traces)
        };
        let features =
            skill.lines.iter().map(|line| line.features.iter().map(|f| weigh(f.key)).collect()).collect();
        Self { skill, features, traces: distinct.len() }
    }

    fn evidence(&self, trace: &TraceText) -> Adoption {
        let mut adoption = Adoption::default();
        for (line, weights) in self.skill.lines.iter().zip(&self.features) {
            let mut words: Vec<f64> = vec![0.0; line.words];
            let mut at: Vec<usize> = Vec::new();
            for (feature, (weight, holders)) in line.features.iter().zip(weights) {
                let Some(&place) = trace.first.get(&feature.key) else { continue };
                let weight = weight * rarity(holders.saturating_sub(1), self.traces.saturating_sub(1));
                if weight > 0.0 {
                    raise_weights(&mut words, feature.words.clone(), weight);
                    at.push(place);
                    at.extend(trace.acted.get(&feature.key));
                }
            }
            let weight: f64 = words.iter().sum();
            if weight > 0.0 {
                at.sort_unstable();
                at.dedup();
                let place = |&at: &usize| {
                    let line = &trace.lines[at];
                    Occurrence { step: line.step, manner: line.manner, text: line.text.clone() }
                };
                adoption.evidence += weight;
                adoption.spans.push(Span {
                    skill_line: line.number,
                    skill_text: line.text.clone(),
                    section: line.section,
                    code: line.code,
                    step_of_skill: line.step,
                    weight,
                    places: at.iter().map(place).collect(),
                });
            }
        }
        adoption
    }
}

/// 1 where none of `of` has it, 0 where half have.
fn rarity(holders: usize, of: usize) -> f64 {
    if of == 0 { 1.0 } else { (1.0 - 2.0 * holders as f64 / of as f64).max(0.0) }
}

fn raise_weights(words: &mut [f64], range: Range<usize>, weight: f64) {
    for word in &mut words[range] {
        *word = word.max(weight);
    }
}
