//! What an audit prints: a line of JSON a pair.

use std::collections::BTreeMap;

use serde::Serialize;

use super::align::Divergence;
use super::log::Tokens;
use super::phases::Phase;
use super::python::head;
use super::trace::Trace;
use assay_audit::{Exposed, Method, Mode, SCHEMA};

/// Something of both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Both<T> {
    /// Of the run that plays the one with the skill.
    pub plus: T,
    /// Of the other.
    pub minus: T,
}

/// How many divergences, in all and by kind and phase; what does not occur has no key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DivergenceCounts {
    /// All of them.
    pub total: usize,
    /// By kind.
    pub by_type: BTreeMap<&'static str, usize>,
    /// By the phase of the run that plays the one with the skill.
    pub by_phase: BTreeMap<&'static str, usize>,
}

/// How many influence patterns; a divergence may show several.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SipCounts {
    /// All of them.
    pub total: usize,
    /// By pattern.
    pub by_type: BTreeMap<&'static str, usize>,
}

/// A divergence as the release's records have it: texts cut, similarities to six digits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Record {
    /// From 1.
    pub id: usize,
    /// The kind of divergence.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The phase of the plus run.
    pub phase: &'static str,
    /// The first 160 code points of the intent.
    pub intent_plus: String,
    /// The same of the other run's; empty for a unilateral action.
    pub intent_minus: String,
    /// The event of the intent, from 0.
    pub anchor_plus: usize,
    /// The other's.
    pub anchor_minus: Option<usize>,
    /// Events in the window.
    pub n_plus: usize,
    /// Events in the other's.
    pub n_minus: usize,
    /// Six digits.
    pub skill_similarity: f64,
    /// Six digits.
    pub intent_similarity: f64,
    /// The first 60 code points of the nearest section.
    pub region_head: String,
    /// Pattern and score, with two digits.
    pub sips: Vec<(&'static str, f64)>,
}

impl From<&Divergence<'_>> for Record {
    fn from(divergence: &Divergence<'_>) -> Self {
        let round = |value: f64, scale: f64| (value * scale).round() / scale;
        Self {
            id: divergence.id,
            kind: divergence.kind.name(),
            phase: divergence.phase.name(),
            intent_plus: head(divergence.intent_plus, 160).to_owned(),
            intent_minus: head(divergence.intent_minus, 160).to_owned(),
            anchor_plus: divergence.anchor_plus,
            anchor_minus: divergence.anchor_minus,
            n_plus: divergence.events_plus.len(),
            n_minus: divergence.n_minus,
            skill_similarity: round(divergence.skill_similarity, 1e6),
            intent_similarity: round(divergence.intent_similarity, 1e6),
            region_head: head(divergence.region, 60).to_owned(),
            sips: divergence.sips.iter().map(|&(sip, score)| (sip.name(), round(score, 100.0))).collect(),
        }
    }
}

/// One pair of a corpus.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairLine {
    /// `assay.audit/2`.
    pub schema: &'static str,
    /// `pair`.
    pub kind: &'static str,
    /// `cta-2026`.
    pub method: &'static str,
    /// The arm.
    pub arm: String,
    /// The task.
    pub task: String,
    /// How the two were put together.
    pub mode: Mode,
    /// The run that plays the one with the skill, below `traces/`.
    pub with_trace: String,
    /// The other.
    pub without_trace: String,
    /// Where the runs part.
    pub divergences: DivergenceCounts,
    /// What is made of it.
    pub sips: SipCounts,
    /// Kind, first and last event of each phase.
    pub phases: Both<Vec<(&'static str, usize, usize)>>,
    /// Tokens, counted in four ways.
    pub tokens: Both<Tokens>,
    /// How many events.
    pub events: Both<usize>,
    /// How far the skill reached each run, where somebody has looked; the released method does not
    /// ask.
    pub exposure: Both<Option<Exposed>>,
    /// The divergences, where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<Vec<Record>>,
}

impl PairLine {
    /// A pair without names: arm, task and traces are the caller's to fill in.
    pub fn of(mode: Mode, plus: &Trace, minus: &Trace, found: &[Divergence<'_>], records: bool) -> Self {
        let mut divergences = DivergenceCounts { total: found.len(), ..DivergenceCounts::default() };
        let mut sips = SipCounts::default();
        for divergence in found {
            *divergences.by_type.entry(divergence.kind.name()).or_default() += 1;
            *divergences.by_phase.entry(divergence.phase.name()).or_default() += 1;
            for (sip, _) in &divergence.sips {
                sips.total += 1;
                *sips.by_type.entry(sip.name()).or_default() += 1;
            }
        }
        let phases = |trace: &Trace| {
            let triple = |phase: &Phase| (phase.kind.name(), phase.first, phase.last);
            trace.phases().iter().map(triple).collect()
        };
        Self {
            schema: SCHEMA,
            kind: "pair",
            method: Method::Cta2026.name(),
            arm: String::new(),
            task: String::new(),
            mode,
            with_trace: String::new(),
            without_trace: String::new(),
            divergences,
            sips,
            phases: Both { plus: phases(plus), minus: phases(minus) },
            tokens: Both { plus: plus.tokens(), minus: minus.tokens() },
            events: Both { plus: plus.events_len(), minus: minus.events_len() },
            exposure: Both { plus: None, minus: None },
            records: records.then(|| found.iter().map(Record::from).collect()),
        }
    }
}
