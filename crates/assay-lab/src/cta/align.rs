//! Which of the two runs' intents belong together, and where they part (M3).

use std::collections::BTreeSet;

use super::phases::PhaseKind;
use super::sips::{Sip, sips};
use super::skill::{Region, Skill};
use super::trace::{Part, Trace, Window};
use super::vectors::{Dense, Weights};
use super::vocabulary::Vocabulary;

/// Most terms that the vectors of a pair's sentences have.
const TERMS: usize = 2048;

/// Least cosine of two intents that belong together: the released configuration's.
const SIMILAR: f64 = 0.5;

/// What kind of difference it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DivergenceKind {
    /// Other files, commands or patterns.
    TargetMismatch,
    /// The same targets with other contents, or nothing different at all: the released program
    /// reports that so.
    ContentMismatch,
    /// The same targets and contents, with another outcome. It does not occur in the release.
    OutcomeMismatch,
    /// A file was written that the other run never writes.
    UnilateralAction,
}

impl DivergenceKind {
    /// The name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::TargetMismatch => "target_mismatch",
            Self::ContentMismatch => "content_mismatch",
            Self::OutcomeMismatch => "outcome_mismatch",
            Self::UnilateralAction => "unilateral_action",
        }
    }
}

/// One record: an intent of the run with the skill, what it is compared with, and what is made of
/// the two.
#[derive(Debug, Clone, PartialEq)]
pub struct Divergence<'a> {
    /// From 1, in order.
    pub id: usize,
    /// What kind.
    pub kind: DivergenceKind,
    /// The phase of the run with the skill.
    pub phase: PhaseKind,
    /// What that run meant to do.
    pub intent_plus: &'a str,
    /// The other run's nearest intent; empty for a unilateral action.
    pub intent_minus: &'a str,
    /// The event of the intent, from 0.
    pub anchor_plus: usize,
    /// The event of the other's intent.
    pub anchor_minus: Option<usize>,
    /// The events of the window, or those that are unilateral.
    pub events_plus: Vec<usize>,
    /// How many events the other's window has.
    pub n_minus: usize,
    /// The cosine of the intent and the nearest section of the skill.
    pub skill_similarity: f64,
    /// The cosine of the two intents.
    pub intent_similarity: f64,
    /// The nearest section; empty where no word is shared.
    pub region: &'a str,
    /// The influence patterns that fired, with their scores.
    pub sips: Vec<(Sip, f64)>,
}

/// Two windows and what is known of the pair, as the detectors take it.
pub(super) struct Evidence<'a> {
    pub(super) plus: &'a Trace,
    pub(super) minus: &'a Trace,
    pub(super) skill: &'a Skill,
    pub(super) window: &'a Window,
    /// `None` for a unilateral action.
    pub(super) other: Option<&'a Window>,
    pub(super) region: Region,
    pub(super) intent_similarity: f64,
}

/// Pairs two traces of one task.
pub(super) fn align<'a>(
    plus: &'a Trace,
    minus: &'a Trace,
    skill: &'a Skill,
    word_ids: &mut Vocabulary,
    term_ids: &Vocabulary,
) -> Vec<Divergence<'a>> {
    let fitted = |trace: &'a Trace| trace.sentences[..trace.fitted].iter().map(|sentence| &sentence.bag);
    let weights = Weights::from_bags(fitted(plus).chain(fitted(minus)), TERMS, term_ids);
    let vectors = |trace: &Trace| trace.sentences.iter().map(|s| weights.vector(&s.bag)).collect::<Vec<_>>();
    let (plus_vectors, minus_vectors) = (vectors(plus), vectors(minus));
    let mut dense = Dense::new(weights.len());
    let mut found: Vec<Divergence<'a>> = Vec::new();

    for (part, other) in warp(&plus.parts, &minus.parts) {
        let (part, other) = (&plus.parts[part], &minus.parts[other]);
        let mut alone = Vec::new();
        for at in part.intents.clone() {
            let candidates = minus_vectors[other.intents.clone()].iter().map(Vec::as_slice);
            let nearest = dense.nearest(&plus_vectors[at], candidates);
            let Some((best, cosine)) = nearest.filter(|&(_, cosine)| cosine >= SIMILAR) else {
                alone.push(at);
                continue;
            };
            let (intent, its) = (&plus.sentences[at], &minus.sentences[other.intents.start + best]);
            let (window, its_window) = (plus.window(intent.anchor), minus.window(its.anchor));
            let evidence = Evidence {
                plus,
                minus,
                skill,
                window,
                other: Some(its_window),
                region: intent.region,
                intent_similarity: cosine,
            };
            found.push(Divergence {
                id: found.len() + 1,
                kind: kind(plus, window, minus, its_window),
                phase: part.kind,
                intent_plus: &intent.text,
                intent_minus: &its.text,
                anchor_plus: intent.anchor,
                anchor_minus: Some(its.anchor),
                events_plus: window.events.clone(),
                n_minus: its_window.events.len(),
                skill_similarity: intent.region.similarity,
                intent_similarity: cosine,
                region: skill.text(intent.region),
                sips: sips(&evidence, word_ids),
            });
        }
        // Cleared for each pair of phases: a divergence that several windows reach is reported
        // several times.
        let mut seen = BTreeSet::new();
        for at in alone {
            let intent = &plus.sentences[at];
            let is_new = |target| !minus.written.contains(&target) && !seen.contains(&target);
            let events = plus.new_writes(plus.window(intent.anchor), is_new);
            if events.is_empty() {
                continue;
            }
            let window = plus.window_of(events);
            seen.extend(window.targets.iter().copied());
            let evidence = Evidence {
                plus,
                minus,
                skill,
                window: &window,
                other: None,
                region: intent.region,
                intent_similarity: 0.0,
            };
            found.push(Divergence {
                id: found.len() + 1,
                kind: DivergenceKind::UnilateralAction,
                phase: part.kind,
                intent_plus: &intent.text,
                intent_minus: "",
                anchor_plus: intent.anchor,
                anchor_minus: None,
                n_minus: 0,
                skill_similarity: intent.region.similarity,
                intent_similarity: 0.0,
                region: skill.text(intent.region),
                sips: sips(&evidence, word_ids),
                events_plus: window.events,
            });
        }
    }
    found
}

fn kind(plus: &Trace, window: &Window, minus: &Trace, other: &Window) -> DivergenceKind {
    if window.targets != other.targets {
        DivergenceKind::TargetMismatch
    } else if !plus.same_contents(window, minus, other) || window.outcomes == other.outcomes {
        // Also where nothing differs.
        DivergenceKind::ContentMismatch
    } else {
        DivergenceKind::OutcomeMismatch
    }
}

/// Pairs of phases by dynamic time warping, from the first to the last: cost 1 where the kinds
/// differ. A tie on the way back goes to the diagonal, then to the step in the first run.
fn warp(plus: &[Part], minus: &[Part]) -> Vec<(usize, usize)> {
    let (n, m) = (plus.len(), minus.len());
    let mut cost = vec![vec![u32::MAX; m + 1]; n + 1];
    cost[0][0] = 0;
    for i in 1..=n {
        for j in 1..=m {
            let here = u32::from(plus[i - 1].kind != minus[j - 1].kind);
            let before = cost[i - 1][j].min(cost[i][j - 1]).min(cost[i - 1][j - 1]);
            cost[i][j] = before.saturating_add(here);
        }
    }
    let (mut i, mut j) = (n, m);
    let mut path = Vec::new();
    while i > 0 && j > 0 {
        path.push((i - 1, j - 1));
        // Only cells of the table proper are candidates.
        let candidates = [(i - 1, j - 1), (i - 1, j), (i, j - 1)];
        let inside = candidates.into_iter().filter(|&(i, j)| i > 0 && j > 0);
        // `min_by_key` gives the first of equals.
        let Some(next) = inside.min_by_key(|&(i, j)| cost[i][j]) else { break };
        (i, j) = next;
    }
    path.reverse();
    path
}
