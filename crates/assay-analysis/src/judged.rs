//! Scores by rubrics: by set, by item, and corrected for the errors of the judge.

mod basis;
mod corrected;
mod diagnosis;
mod items;
mod own_labels;
mod pair;
mod sets;

use std::collections::{BTreeMap, BTreeSet};

use assay_stats::{Reason, VerdictKind};
use assay_store::{Judgement, RunFolder};
use serde::Serialize;

use crate::gather::Gathered;
use crate::model::Comparison;
use crate::table::{Slot, Table};

pub use crate::calibration::{CalibrationItem, CalibrationSet};
pub use basis::{BiasIfUnequal, CorrectionBasis, PREDICTION_POWERED, ROGAN_GLADEN};
pub use corrected::CorrectedLift;
pub use diagnosis::{Diagnosis, ItemDirective, diagnose};
pub use items::ItemGain;
pub use pair::Pair;
pub(crate) use pair::{pairs, undelivered_share};
pub use sets::{DomainScore, SetScoreRow};

/// Wrong answers to planted items from which no verdict counts. As for batches of items (docs/JUDGING.md).
pub const BLOCKED: usize = 2;

/// Everything that rubrics say about a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgedReport {
    /// The judges, as `provider:model`.
    pub judges: Vec<String>,
    /// `call` or `agent`.
    pub modes: Vec<String>,
    /// Trials with a judgement.
    pub trials: usize,
    /// Trials whose judge gave no answer.
    pub without_answer: usize,
    /// Requests to judges.
    pub requests: usize,
    /// In USD; `null` if a price is unknown.
    pub cost_usd: Option<f64>,
    /// Planted items that were asked, over all judges and repeats.
    pub planted: usize,
    /// Of these, those with a wrong answer.
    pub missed: usize,
    /// Whether so many were missed that no verdict counts.
    pub blocked: bool,
    /// Mean share of answers that agree with the verdict on an item; `null` with one answer to each item.
    pub agreement: Option<f64>,
    /// Share of items by condition on which the judge's answer does not count.
    pub undecided: BTreeMap<String, f64>,
    /// Mean scores by model and set, without and with skills, as in Tessl's Table 4.
    pub sets: Vec<SetScoreRow>,
    /// Mean scores by domain, as in Tessl's Table 5; empty if no task names one.
    pub domains: Vec<DomainScore>,
    /// Items, most gain first.
    pub items: Vec<ItemGain>,
    /// Lifts corrected for the errors of the judge; empty without a calibration set.
    pub corrected: Vec<CorrectedLift>,
}

/// The report on the rubrics of a run; `None` if no trial was judged.
pub(crate) fn judged(
    run: &RunFolder,
    gathered: &Gathered,
    comparisons: &[Comparison],
    clusters: &BTreeMap<&str, u64>,
) -> Option<JudgedReport> {
    let results = || gathered.slots().flat_map(|slot| &slot.results);
    // Conditions may share trials.
    let mut seen = BTreeSet::new();
    let judgements: Vec<&Judgement> = results()
        .filter(|result| seen.insert(&result.trial))
        .filter_map(|result| result.judgement.as_deref())
        .collect();
    let without_answer = results().filter(|result| result.cause == Some(assay_store::Cause::Judge)).count();
    if judgements.is_empty() && without_answer == 0 {
        return None;
    }
    let unique = |values: &mut dyn Iterator<Item = &String>| -> Vec<String> {
        values.collect::<BTreeSet<_>>().into_iter().cloned().collect()
    };
    let sum = |count: fn(&Judgement) -> u32| judgements.iter().map(|one| count(one) as usize).sum();
    let (planted, missed): (usize, usize) = (sum(|one| one.planted), sum(|one| one.missed));
    Some(JudgedReport {
        judges: unique(&mut judgements.iter().flat_map(|one| &one.judges)),
        modes: unique(&mut judgements.iter().map(|one| &one.mode)),
        trials: judgements.len(),
        without_answer,
        requests: sum(|one| one.requests),
        cost_usd: judgements.iter().map(|one| one.cost_usd).sum(),
        planted,
        missed,
        blocked: missed >= BLOCKED,
        agreement: agreement(&judgements),
        undecided: undecided(run, &gathered.tables),
        sets: sets::sets(run, &gathered.tables, comparisons, clusters, gathered.is_interim(run)),
        domains: sets::domains(run, &gathered.tables),
        items: items::items(run, &gathered.tables),
        corrected: gathered.calibration.as_ref().map_or_else(Vec::new, |calibration| {
            corrected::lifts(run, &gathered.tables, comparisons, calibration, clusters)
        }),
    })
}

/// Takes back the verdicts of a run whose judge missed planted items.
pub(crate) fn block(judged: Option<&JudgedReport>, comparisons: &mut [Comparison]) {
    if judged.is_some_and(|judged| judged.blocked) {
        for comparison in comparisons.iter_mut().filter(|comparison| comparison.verdict.is_some()) {
            comparison.verdict = Some(VerdictKind::Inconclusive);
            comparison.reason = Some(Reason::Judge);
            comparison.direction = None;
            comparison.tasks_needed = None;
            comparison.tasks_to_confirm = None;
        }
    }
}

/// `None` if each item has one answer.
fn agreement(judgements: &[&Judgement]) -> Option<f64> {
    let asked = judgements.iter().flat_map(|one| &one.items).filter(|item| !item.checked);
    let shares: Vec<f64> = asked.map(|item| item.agreement).collect();
    let several = judgements.iter().any(|one| one.judges.len() > 1 || one.requests as usize > 1);
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    (several && !shares.is_empty()).then_some(mean)
}

fn undecided(run: &RunFolder, tables: &[Table]) -> BTreeMap<String, f64> {
    let mut shares = BTreeMap::new();
    for condition in &run.conditions {
        let slots = tables.iter().filter_map(|table| table.cells.get(condition)).flat_map(BTreeMap::values);
        let items = slots.flat_map(Slot::valid).filter_map(|result| result.judgement.as_deref());
        let items: Vec<bool> = items
            .flat_map(|one| &one.items)
            .filter(|item| !item.checked)
            .map(|item| item.undecided.is_some())
            .collect();
        if !items.is_empty() {
            let count = items.iter().filter(|undecided| **undecided).count();
            shares.insert(condition.clone(), count as f64 / items.len() as f64);
        }
    }
    shares
}
