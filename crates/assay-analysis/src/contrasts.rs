//! Contrasts within a run that are no comparison with the baseline: between agents, whose lift is
//! larger, and whether one agent with a skill does as well as another without; and between
//! disclosures of one condition, whether an agent that has to notice a skill does as well as one
//! that is told of it.
//!
//! All contrasts of a run are one family, apart from the comparisons with the baseline.

use std::collections::BTreeMap;

use assay_stats::{PairedTask, Verdict, VerdictKind};
use assay_store::RunFolder;
use assay_trace::Disclosure;
use serde::Serialize;

use crate::comparisons::{judge_tasks, level};
use crate::model::{AgentKey, FamilyInterval};
use crate::table::{Slot, Table};

/// What a contrast compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContrastKind {
    /// The lift of the first agent minus the lift of the second.
    Lifts,
    /// The score of the first agent under the condition minus the score of the second under the
    /// baseline: whether a skill makes up for a smaller model.
    SkillForModel,
    /// The score under the condition minus the score under another that discloses the same skills
    /// more openly, in `baseline`: what an agent loses because it does not notice a skill. The
    /// utility of the skills is the other's lift.
    Activation,
}

/// What a contrast shows, about the first agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContrastVerdict {
    /// The difference is above 0.
    Higher,
    /// The difference is below 0.
    Lower,
    /// The difference is within the equivalence margin.
    Negligible,
    /// None of these is shown.
    Inconclusive,
}

impl ContrastVerdict {
    /// The word in reports and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Higher => "higher",
            Self::Lower => "lower",
            Self::Negligible => "negligible",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// A contrast between two arms in the same sandbox.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Contrast {
    /// What is compared.
    pub kind: ContrastKind,
    /// The condition with skills.
    pub condition: String,
    /// The baseline, or of an activation the condition that is subtracted.
    pub baseline: String,
    /// The first agent.
    pub first: AgentKey,
    /// The second agent.
    pub second: AgentKey,
    /// Tasks with a valid trial in every arm that the contrast uses.
    pub tasks: usize,
    /// Mean over tasks, from −2 to 2 for lifts and from −1 to 1 for scores.
    pub difference: Option<f64>,
    /// Its unadjusted 95% CI; `null` below 5 tasks or effective clusters.
    pub ci95: Option<[f64; 2]>,
    /// The adjusted CI, which decides the verdict.
    pub family: Option<FamilyInterval>,
    /// `higher`, `lower`, `negligible` or `inconclusive`; `null` while the run is not complete.
    pub verdict: Option<ContrastVerdict>,
}

/// The contrasts of a run. Those between agents are of the primary condition if there is one,
/// otherwise of every condition. Scripted and imported agents count like any other.
pub(crate) fn contrasts(run: &RunFolder, tables: &[Table], clusters: &BTreeMap<&str, u64>) -> Vec<Contrast> {
    let Some((first, others)) = run.conditions.split_first() else { return Vec::new() };
    let baseline = first.as_str();
    let conditions = others.iter().filter(|name| run.primary.as_ref().is_none_or(|primary| primary == *name));
    let mut drafts = Vec::new();
    for condition in conditions {
        for (number, first) in tables.iter().enumerate() {
            for (other, second) in tables.iter().enumerate() {
                let comparable = number != other && first.who.sandbox == second.who.sandbox;
                let has = |table: &Table, name: &str| table.is_usable(name);
                if comparable && has(first, condition) && has(second, baseline) {
                    let complete = has(first, baseline) && has(second, condition);
                    // The reverse is the same contrast with the other sign.
                    if number < other && complete {
                        drafts.push((ContrastKind::Lifts, condition.as_str(), baseline, first, second));
                    }
                    drafts.push((ContrastKind::SkillForModel, condition.as_str(), baseline, first, second));
                }
            }
        }
    }
    for (condition, other) in activations(run) {
        let complete = tables.iter().filter(|table| table.is_usable(condition) && table.is_usable(other));
        drafts.extend(complete.map(|table| (ContrastKind::Activation, condition, other, table, table)));
    }
    drafts.sort_by_key(|(kind, ..)| *kind);
    let family = drafts.len();
    let contrast =
        |(kind, condition, baseline, first, second): (ContrastKind, &str, &str, &Table, &Table)| {
            let tasks = tasks(kind, (baseline, condition), first, second, clusters);
            // A lift's difference is twice that of the averaged arms.
            let scale = if kind == ContrastKind::Lifts { 2.0 } else { 1.0 };
            let found = judge_tasks(&tasks, family, run.margin / scale, None, first.closing);
            let estimate = assay_stats::lift(&tasks, 0.95);
            Contrast {
                kind,
                condition: condition.to_owned(),
                baseline: baseline.to_owned(),
                first: first.who.clone(),
                second: second.who.clone(),
                tasks: tasks.len(),
                difference: estimate.map(|estimate| scale * estimate.mean),
                ci95: estimate
                    .and_then(|estimate| estimate.interval)
                    .filter(|_| first.closing.is_none())
                    .map(|interval| [scale * interval.low, scale * interval.high]),
                family: found.interval.map(|interval| FamilyInterval {
                    level: 1.0 - level(family, first.closing),
                    low: scale * interval.low,
                    high: scale * interval.high,
                }),
                verdict: Some(word(&found)),
            }
        };
    drafts.into_iter().map(contrast).collect()
}

/// Pairs of conditions with the same skills: the one that offers them, and one that discloses them
/// more openly.
fn activations(run: &RunFolder) -> Vec<(&str, &str)> {
    let is_same = |one: &str, other: &str| run.condition_of(one) == run.condition_of(other);
    let offered = Disclosure::Offered.word();
    let mut pairs = Vec::new();
    for condition in run.conditions.iter().filter(|name| run.disclosure_of(name) == offered) {
        let open = run.conditions.iter().filter(|name| run.disclosure_of(name) != offered);
        let same = open.filter(|other| is_same(condition, other));
        pairs.extend(same.map(|other| (condition.as_str(), other.as_str())));
    }
    pairs
}

fn word(verdict: &Verdict) -> ContrastVerdict {
    match verdict.kind {
        VerdictKind::Helps => ContrastVerdict::Higher,
        VerdictKind::Harms => ContrastVerdict::Lower,
        VerdictKind::Negligible => ContrastVerdict::Negligible,
        VerdictKind::Inconclusive => ContrastVerdict::Inconclusive,
    }
}

/// The tasks of a contrast as pairs.
///
/// With A and B the task's mean scores of the two agents, c under the condition and b under the
/// baseline, (Ac − Ab) − (Bc − Bb) = 2·((Ac + Bb)/2 − (Ab + Bc)/2): a difference of lifts is twice
/// the lift between averaged arms, and so is its interval, including the largest variance of the
/// trials, ¼·Σ1/r.
fn tasks(
    kind: ContrastKind,
    (baseline, condition): (&str, &str),
    first: &Table,
    second: &Table,
    clusters: &BTreeMap<&str, u64>,
) -> Vec<PairedTask> {
    let slot = |table: &'_ Table, condition: &str, task: &str| -> Option<Vec<f64>> {
        let scores = table.cells.get(condition)?.get(task).map(Slot::scores)?;
        (!scores.is_empty()).then_some(scores)
    };
    let names = first.cells.get(condition).into_iter().flat_map(BTreeMap::keys);
    let pair = |task: &String| {
        let (arm, base) = match kind {
            ContrastKind::SkillForModel | ContrastKind::Activation => {
                (slot(first, condition, task)?, slot(second, baseline, task)?)
            }
            ContrastKind::Lifts => (
                average(&slot(first, condition, task)?, &slot(second, baseline, task)?),
                average(&slot(first, baseline, task)?, &slot(second, condition, task)?),
            ),
        };
        Some(PairedTask { arm, base, cluster: clusters.get(task.as_str()).copied() })
    };
    names.filter_map(pair).collect()
}

/// Two cells as one: the mean of their means, as often as gives the largest variance of that mean,
/// ¼/r = ¼·(1/r₁ + 1/r₂)/4, with r rounded down.
fn average(one: &[f64], other: &[f64]) -> Vec<f64> {
    let mean = |scores: &[f64]| scores.iter().sum::<f64>() / scores.len() as f64;
    let inverse = 1.0 / one.len() as f64 + 1.0 / other.len() as f64;
    // Slightly above a whole number counts as that number.
    let trials = (4.0 / inverse + 1e-9).floor().max(1.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number of trials")]
    let trials = trials as usize;
    vec![f64::midpoint(mean(one), mean(other)); trials]
}
