//! A run, prepared for being paired: whatever hangs on one trace and its skill alone is worked out
//! once.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use super::literals::{edge_hits, literals};
use super::log::{Kind, Log, Tokens};
use super::phases::{Phase, PhaseKind, phases};
use super::python::head;
use super::sentences::sentences;
use super::skill::{Region, Skill};
use super::vectors::{Bag, bag};
use super::vocabulary::Vocabulary;
use super::words::{WordSet, Words};
use super::writings::{Grams, Writings};

/// How many events a window has, its anchor among them.
const WINDOW: usize = 12;

/// The longest text used in place of the sentences of a phase that has none, in code points.
const FALLBACK: usize = 300;

/// A run, prepared.
pub struct Trace {
    log: Log,
    phases: Vec<Phase>,
    pub(super) parts: Vec<Part>,
    /// Sentences in order, then the substitute if a phase has none.
    pub(super) sentences: Vec<Sentence>,
    /// How many of them are sentences.
    pub(super) fitted: usize,
    /// By event; `None` where it is empty.
    pub(super) targets: Vec<Option<u32>>,
    /// Those that were written.
    pub(super) written: BTreeSet<u32>,
    features: Vec<Features>,
    writings: Writings,
    windows: Vec<OnceCell<Window>>,
}

/// A phase with what the agent meant in it.
pub(super) struct Part {
    pub(super) kind: PhaseKind,
    /// Which sentences.
    pub(super) intents: std::ops::Range<usize>,
}

/// What the agent meant to do.
pub(super) struct Sentence {
    pub(super) text: String,
    pub(super) anchor: usize,
    pub(super) bag: Bag,
    pub(super) region: Region,
}

/// Of one event.
#[derive(Default)]
struct Features {
    edge: usize,
    /// Those that the skill has too.
    literals: Vec<u32>,
    words: Words,
}

/// What an agent did from an event on, or some of it.
pub(super) struct Window {
    pub(super) events: Vec<usize>,
    pub(super) writes: usize,
    pub(super) edge: usize,
    /// Ascending.
    pub(super) targets: Vec<u32>,
    /// Whether something succeeded, and whether something failed.
    pub(super) outcomes: (bool, bool),
    /// Ascending, those that the skill has too.
    pub(super) literals: Vec<u32>,
    words: OnceCell<WordSet>,
    grams: OnceCell<Grams>,
}

impl Trace {
    pub(super) fn new(log: Log, skill: &Skill, word_ids: &mut Vocabulary, term_ids: &mut Vocabulary) -> Self {
        let mut trace = Self {
            phases: phases(&log.events),
            parts: Vec::new(),
            sentences: Vec::new(),
            fitted: 0,
            targets: Vec::new(),
            written: BTreeSet::new(),
            features: Vec::new(),
            writings: Writings::default(),
            windows: (0..log.events.len()).map(|_| OnceCell::new()).collect(),
            log,
        };
        trace.events(skill, word_ids);
        trace.writings.index(skill);
        trace.intents(skill, term_ids);
        trace
    }

    /// Its phases; none where nothing was read.
    pub fn phases(&self) -> &[Phase] {
        &self.phases
    }

    /// Its tokens.
    pub fn tokens(&self) -> Tokens {
        self.log.tokens
    }

    /// How many events it has.
    pub fn events_len(&self) -> usize {
        self.log.events.len()
    }

    /// The events' targets, as they were given.
    pub fn target(&self, event: usize) -> &str {
        self.log.events.get(event).map_or("", |event| &event.target)
    }

    fn events(&mut self, skill: &Skill, ids: &mut Vocabulary) {
        for event in &self.log.events {
            let target = Some(event.target.as_str()).filter(|target| !target.is_empty());
            let target = target.map(|target| ids.id(target));
            self.targets.push(target);
            let (words, all) = Words::new(&event.content, ids);
            let mut features = Features { words, ..Features::default() };
            if event.kind == Kind::Write {
                self.written.extend(target);
                let characters: Vec<char> = event.content.chars().collect();
                features.edge = edge_hits(&characters);
                features.literals = literals(&characters).iter().filter_map(|l| skill.literal(l)).collect();
            }
            self.writings.push(if event.kind == Kind::Write { &all } else { &[] });
            self.features.push(features);
        }
    }

    fn intents(&mut self, skill: &Skill, ids: &mut Vocabulary) {
        let last = self.log.events.len().saturating_sub(1);
        let whole = [Phase { kind: PhaseKind::Implementation, first: 0, last }];
        let phases = if self.phases.is_empty() { &whole[..] } else { &self.phases };
        let mut dense = skill.dense();
        let mut sentence = |text: &str, anchor| {
            let bag = bag(text, ids);
            let region = skill.region(&bag, &mut dense);
            Sentence { text: text.to_owned(), anchor, bag, region }
        };
        for (at, event) in self.log.events.iter().enumerate() {
            self.sentences.extend(sentences(&event.reasoning).into_iter().map(|text| sentence(text, at)));
        }
        self.fitted = self.sentences.len();
        for phase in phases {
            let from = self.sentences[..self.fitted].partition_point(|s| s.anchor < phase.first);
            let to = self.sentences[..self.fitted].partition_point(|s| s.anchor <= phase.last);
            let mut intents = from..to;
            if intents.is_empty() && !self.log.events.is_empty() {
                let reasons = self.log.events[phase.first..=phase.last].iter().map(|e| e.reasoning.as_str());
                let reasons: Vec<&str> = reasons.filter(|text| !text.is_empty()).collect();
                let joined = reasons.join(" ");
                let text = head(&joined, FALLBACK);
                if text.chars().nth(11).is_some() {
                    self.sentences.push(sentence(text, phase.first));
                    intents = self.sentences.len() - 1..self.sentences.len();
                }
            }
            self.parts.push(Part { kind: phase.kind, intents });
        }
    }

    /// The window of an anchor: its event and those that follow, up to the end of the trace.
    pub(super) fn window(&self, anchor: usize) -> &Window {
        self.windows[anchor]
            .get_or_init(|| self.window_of((anchor..self.log.events.len().min(anchor + WINDOW)).collect()))
    }

    /// What was done in some events.
    pub(super) fn window_of(&self, events: Vec<usize>) -> Window {
        let kept = |kind| events.iter().filter(move |&&at| self.log.events[at].kind == kind).count();
        let mut targets: Vec<u32> = events.iter().filter_map(|&at| self.targets[at]).collect();
        targets.sort_unstable();
        targets.dedup();
        let mut literals: Vec<u32> =
            events.iter().flat_map(|&at| self.features[at].literals.iter().copied()).collect();
        literals.sort_unstable();
        literals.dedup();
        Window {
            writes: kept(Kind::Write),
            edge: events.iter().map(|&at| self.features[at].edge).sum(),
            targets,
            outcomes: (
                events.iter().any(|&at| !self.log.events[at].failed),
                events.iter().any(|&at| self.log.events[at].failed),
            ),
            literals,
            words: OnceCell::new(),
            grams: OnceCell::new(),
            events,
        }
    }

    /// Of the window's events, those that write to a target for which `is_new`.
    pub(super) fn new_writes(&self, window: &Window, is_new: impl Fn(u32) -> bool) -> Vec<usize> {
        let writes = window.events.iter().copied();
        let writes = writes.filter(|&at| self.log.events[at].kind == Kind::Write);
        writes.filter(|&at| self.targets[at].is_some_and(&is_new)).collect()
    }

    /// Whether two windows have the same contents in the same order.
    pub(super) fn same_contents(&self, window: &Window, other: &Self, its: &Window) -> bool {
        let mine = window.events.iter().map(|&at| &self.log.events[at].content);
        mine.eq(its.events.iter().map(|&at| &other.log.events[at].content))
    }

    /// The words of a window's contents.
    pub(super) fn words<'a>(&self, window: &'a Window, ids: &mut Vocabulary) -> &'a WordSet {
        window.words.get_or_init(|| {
            let parts = window.events.iter().map(|&at| &self.features[at].words);
            let texts = window.events.iter().map(|&at| self.log.events[at].content.as_str());
            Words::joined(parts, texts, ids)
        })
    }

    /// Four words in a row of what was written in a window.
    pub(super) fn grams<'a>(&self, window: &'a Window, skill: &Skill) -> &'a Grams {
        window.grams.get_or_init(|| self.writings.grams_of(&window.events, skill))
    }
}
