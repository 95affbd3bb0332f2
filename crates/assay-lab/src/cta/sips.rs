//! The five influence patterns (M4): sums of increments against thresholds, in the released order
//! of addition.
//!
//! Order matters: in binary, .3 + .15 is below .45 and .35 + .05 is below .4.

use super::align::Evidence;
use super::vocabulary::Vocabulary;

/// A skill influence pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sip {
    /// The skill's procedure is followed (constructive).
    ProceduralScaffolding,
    /// Edge cases are handled (constructive). Fires for every unilateral action, without looking at
    /// the skill.
    EdgeCasePrompting,
    /// The same is looked at more often (neutral). Does not look at the skill.
    RedundantExploration,
    /// The skill's literals are copied (destructive).
    SurfaceAnchoring,
    /// The skill's subject leads to other files (destructive).
    ConceptBleed,
}

impl Sip {
    /// All of them, in the released order.
    pub const ALL: [Self; 5] = [
        Self::ProceduralScaffolding,
        Self::EdgeCasePrompting,
        Self::RedundantExploration,
        Self::SurfaceAnchoring,
        Self::ConceptBleed,
    ];

    /// The name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::ProceduralScaffolding => "procedural_scaffolding",
            Self::EdgeCasePrompting => "edge_case_prompting",
            Self::RedundantExploration => "redundant_exploration",
            Self::SurfaceAnchoring => "surface_anchoring",
            Self::ConceptBleed => "concept_bleed",
        }
    }

    /// `constructive`, `neutral` or `destructive`.
    pub fn category(self) -> &'static str {
        match self {
            Self::ProceduralScaffolding | Self::EdgeCasePrompting => "constructive",
            Self::RedundantExploration => "neutral",
            Self::SurfaceAnchoring | Self::ConceptBleed => "destructive",
        }
    }

    /// Least score with which it fires. The paper names one threshold of .50; these are the code's.
    fn threshold(self) -> f64 {
        match self {
            Self::ProceduralScaffolding | Self::ConceptBleed => 0.55,
            Self::EdgeCasePrompting => 0.50,
            Self::RedundantExploration => 0.45,
            Self::SurfaceAnchoring => 0.40,
        }
    }
}

/// The largest score.
const MOST: f64 = 0.95;

/// What is compared of two windows.
struct Features {
    n_plus: usize,
    n_minus: usize,
    ratio: f64,
    more_writes: bool,
    jaccard: f64,
    new_targets: usize,
    skill_similarity: f64,
    intent_similarity: f64,
}

/// The patterns that fire, with their scores.
pub(super) fn sips(evidence: &Evidence<'_>, word_ids: &mut Vocabulary) -> Vec<(Sip, f64)> {
    let features = features(evidence);
    let score = |sip| match sip {
        Sip::ProceduralScaffolding if evidence.other.is_none() => 0.0,
        Sip::ProceduralScaffolding => scaffolding(&features),
        Sip::EdgeCasePrompting => edge_cases(&features, evidence),
        Sip::RedundantExploration => exploration(&features, evidence, word_ids),
        Sip::SurfaceAnchoring => anchoring(&features, evidence),
        Sip::ConceptBleed => bleed(&features),
    };
    let scored = Sip::ALL.map(score).map(|score: f64| score.min(MOST));
    Sip::ALL.into_iter().zip(scored).filter(|&(sip, score)| score > 0.0 && score >= sip.threshold()).collect()
}

fn features(evidence: &Evidence<'_>) -> Features {
    let window = evidence.window;
    let (n_minus, writes_minus, their_targets) = match evidence.other {
        Some(other) => (other.events.len(), other.writes, other.targets.as_slice()),
        None => (0, 0, &[][..]),
    };
    let n_plus = window.events.len();
    let common = window.targets.iter().filter(|target| their_targets.binary_search(target).is_ok()).count();
    let all = window.targets.len() + their_targets.len() - common;
    Features {
        n_plus,
        n_minus,
        ratio: (n_plus + 1) as f64 / (n_minus + 1) as f64,
        more_writes: window.writes > writes_minus,
        jaccard: if all == 0 { 0.0 } else { common as f64 / all as f64 },
        new_targets: window.targets.len() - common,
        skill_similarity: evidence.region.similarity,
        intent_similarity: evidence.intent_similarity,
    }
}

/// Adds up, in order, the increments whose condition holds.
fn sum(increments: &[(bool, f64)]) -> f64 {
    increments.iter().filter(|(holds, _)| *holds).fold(0.0, |sum, (_, increment)| sum + increment)
}

fn scaffolding(f: &Features) -> f64 {
    sum(&[
        (f.ratio > 1.3, 0.30),
        (f.skill_similarity >= 0.40, 0.25),
        (f.jaccard >= 0.40, 0.20),
        (f.more_writes, 0.15),
    ])
}

fn edge_cases(f: &Features, evidence: &Evidence<'_>) -> f64 {
    let hits = evidence.window.edge;
    let Some(other) = evidence.other else {
        return sum(&[
            (true, 0.55),
            (hits >= 1, 0.15),
            (hits >= 3, 0.15),
            (f.skill_similarity >= 0.30, 0.10),
        ]);
    };
    sum(&[
        (hits > other.edge, 0.40),
        (hits >= other.edge + 3, 0.20),
        (f.more_writes, 0.20),
        (f.jaccard >= 0.50, 0.10),
    ])
}

fn exploration(f: &Features, evidence: &Evidence<'_>, word_ids: &mut Vocabulary) -> f64 {
    let (alike, longer) = (f.intent_similarity >= 0.75, f.ratio >= 1.2);
    // Without either, the rest comes to .40 at most, and words need not be compared.
    let common = match evidence.other.filter(|_| alike || longer) {
        Some(other) => {
            let words = evidence.plus.words(evidence.window, word_ids);
            words.jaccard(evidence.minus.words(other, word_ids))
        }
        None => 0.0,
    };
    sum(&[(alike, 0.30), (common >= 0.70, 0.25), (longer, 0.20), (f.jaccard >= 0.60, 0.15)])
}

fn anchoring(f: &Features, evidence: &Evidence<'_>) -> f64 {
    let theirs = evidence.other.map_or(&[][..], |other| &other.literals);
    let (mut all, mut inside) = (0, 0);
    for literal in evidence.window.literals.iter().filter(|l| theirs.binary_search(l).is_err()) {
        let (counts, in_region) = evidence.skill.has_literal(*literal, evidence.region);
        all += usize::from(counts);
        inside += usize::from(in_region);
    }
    if all == 0 {
        // Words in a row alone come to .30 at most.
        return 0.0;
    }
    let grams = evidence.plus.grams(evidence.window, evidence.skill);
    let theirs = evidence.other.map(|other| &evidence.minus.grams(other, evidence.skill).known);
    let copied = grams
        .known
        .iter()
        .filter(|gram| theirs.is_none_or(|theirs| !theirs.contains(gram)))
        .filter(|&&gram| evidence.skill.has_gram(gram, evidence.region))
        .count();
    let share = if grams.distinct == 0 { 0.0 } else { copied as f64 / grams.distinct as f64 };
    sum(&[
        (all >= 1, 0.35),
        (all >= 3, 0.20),
        (all >= 6, 0.10),
        (inside >= 1, 0.15),
        (inside >= 3, 0.10),
        (copied >= 2, 0.10),
        (share >= 0.05, 0.10),
        (share >= 0.15, 0.10),
        (f.skill_similarity >= 0.40, 0.05),
    ])
}

fn bleed(f: &Features) -> f64 {
    if f.skill_similarity < 0.30 || f.new_targets == 0 {
        return 0.0;
    }
    sum(&[
        (f.new_targets >= 2, 0.30),
        (f.new_targets >= 4, 0.15),
        (f.jaccard < 0.30, 0.15),
        (f.n_plus >= f.n_minus + 4, 0.20),
        (f.skill_similarity >= 0.50, 0.15),
    ])
}
