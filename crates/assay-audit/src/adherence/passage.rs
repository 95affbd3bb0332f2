//! Lines of a skill that a run wrote out again, in code or in documents, or repeated in messages.
//!
//! A feature is three words in a row, or one identifier, as in [`crate::evidence`]. What is found of
//! a line counts in words.

use std::collections::{HashMap, HashSet};

use super::Location;
use super::run_evidence::{Channel, Line, RunEvidence};
use crate::evidence::{Feature, Manner, SkillLine, SkillText, keys, words};
use crate::rarity::rarity;

/// A line of a skill that a run wrote in part.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    /// Its line in the `SKILL.md`, from 1.
    pub line: usize,
    /// Its text, trimmed.
    pub text: String,
    /// How many of its words are found, weighted by rarity and background.
    pub words: f64,
    /// The first line of the run that has a part of it.
    pub place: Location,
}

/// What a word weighs that the agent only said: it may say what it does not do.
const SAID: f64 = 0.25;

/// What a run wrote and said: the first line that has a feature.
pub(super) struct Written {
    written: HashMap<u64, usize>,
    said: HashMap<u64, usize>,
}

impl Written {
    pub(super) fn new(run: &RunEvidence) -> Self {
        let (mut written, mut said) = (HashMap::new(), HashMap::new());
        for (at, line) in run.lines.iter().enumerate().filter(|(_, line)| is_written(line)) {
            for key in keys(&line.text) {
                written.entry(key).or_insert(at);
            }
        }
        for (at, (_, line)) in run.said.iter().enumerate() {
            for key in keys(line) {
                said.entry(key).or_insert(at);
            }
        }
        Self { written, said }
    }

    fn has(&self, key: u64) -> bool {
        self.written.contains_key(&key) || self.said.contains_key(&key)
    }
}

/// The passages of a skill in each run. `background` weighs a feature by the number of other runs
/// that have it; features that are `known` weigh nothing.
pub(super) fn passages(
    runs: &[(&RunEvidence, &Written)],
    skill: &SkillText,
    known: &HashSet<u64>,
    background: impl Fn(usize) -> f64,
) -> Vec<Vec<Passage>> {
    let mut found: Vec<Vec<Passage>> = vec![Vec::new(); runs.len()];
    for line in &skill.lines {
        let text = words(&line.text);
        let weight = |feature: &Feature| {
            let holders = runs.iter().filter(|(_, written)| written.has(feature.key)).count();
            if holders == 0 || skill.advertised.contains(&feature.key) || known.contains(&feature.key) {
                return 0.0;
            }
            let background = background(holders - 1);
            if background <= 0.0 {
                return 0.0;
            }
            background * rarity(&text[feature.words.clone()].join(" "))
        };
        let weights: Vec<f64> = line.features.iter().map(weight).collect();
        for ((run, written), found) in runs.iter().zip(&mut found) {
            found.extend(passage(run, written, line, &weights));
        }
    }
    found
}

fn passage(run: &RunEvidence, written: &Written, line: &SkillLine, weights: &[f64]) -> Option<Passage> {
    let mut words = vec![0.0_f64; line.words];
    let (mut first, mut said): (Option<usize>, Option<usize>) = (None, None);
    let earliest = |first: Option<usize>, at: usize| Some(first.map_or(at, |first| first.min(at)));
    for (feature, weight) in line.features.iter().zip(weights).filter(|(_, weight)| **weight > 0.0) {
        let weight = if let Some(&at) = written.written.get(&feature.key) {
            first = earliest(first, at);
            *weight
        } else if let Some(&at) = written.said.get(&feature.key) {
            said = earliest(said, at);
            SAID * weight
        } else {
            continue;
        };
        words[feature.words.clone()].iter_mut().for_each(|word| *word = word.max(weight));
    }
    let place = match (first, said) {
        (Some(at), _) => run.place(at),
        (None, at) => {
            let (step, text) = &run.said[at?];
            Location { step: *step, manner: Manner::Said, file: None, text: text.clone() }
        }
    };
    Some(Passage { line: line.number, text: line.text.clone(), words: words.iter().sum(), place })
}

fn is_written(line: &Line) -> bool {
    matches!(line.channel, Channel::Ran | Channel::Code | Channel::Wrote | Channel::Left)
}
