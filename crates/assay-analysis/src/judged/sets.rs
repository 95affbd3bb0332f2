//! Scores by model and set, and by domain.

use std::collections::{BTreeMap, BTreeSet};

use assay_stats::{PairedTask, Reason, VerdictKind};
use assay_store::{Outcome, RunFolder, SET_SCORE};
use serde::Serialize;

use super::pair::{Pair, means, paired, pairs, undelivered_share};
use crate::comparisons::{judge_tasks, level};
use crate::model::{Comparison, FamilyInterval};
use crate::table::{Slot, Table};

/// The name of the score over all sets.
const OVERALL: &str = "overall";

/// A set of items under a condition, against the baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SetScoreRow {
    /// Who, and what is compared.
    #[serde(flatten)]
    pub pair: Pair,
    /// The set; `overall` for the weighted score of all.
    pub set: String,
    /// Tasks with a score under both.
    pub tasks: usize,
    /// Mean over tasks without, in [0, 1].
    pub without: f64,
    /// Mean over tasks with.
    pub with: f64,
    /// The mean over tasks of the difference.
    pub difference: f64,
    /// Its unadjusted 95% CI; `null` below 5 tasks or effective clusters.
    pub ci95: Option<[f64; 2]>,
    /// The adjusted CI, which decides.
    pub family: Option<FamilyInterval>,
    /// `improves`, `worsens`, `negligible` or `inconclusive`; for the overall score the verdict of the comparison. `null`
    /// while the run is not complete.
    pub verdict: Option<String>,
    /// Why it is inconclusive; `null` otherwise.
    pub reason: Option<Reason>,
}

/// The overall score of a domain under a condition, against the baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DomainScore {
    /// Who, and what is compared.
    #[serde(flatten)]
    pub pair: Pair,
    /// `[metadata] category`.
    pub domain: String,
    /// Tasks with a score under both.
    pub tasks: usize,
    /// Mean over tasks without, in [0, 1].
    pub without: f64,
    /// Mean over tasks with.
    pub with: f64,
}

/// Rows by model, condition and set. The comparisons of sets are one family, apart from those of scores.
pub(super) fn sets(
    run: &RunFolder,
    tables: &[Table],
    comparisons: &[Comparison],
    clusters: &BTreeMap<&str, u64>,
    is_interim: bool,
) -> Vec<SetScoreRow> {
    let pairs = pairs(run, tables);
    let names: Vec<BTreeSet<String>> = pairs.iter().map(|(table, pair)| set_names(table, pair)).collect();
    let family = names.iter().map(BTreeSet::len).sum::<usize>().max(1);
    let mut rows = Vec::new();
    for ((table, pair), sets) in pairs.into_iter().zip(names) {
        for set in sets {
            rows.extend(row(run, table, &pair, &set, clusters, family, is_interim));
        }
        if undelivered_share(comparisons, &pair).is_some() {
            for row in rows.iter_mut().filter(|row| row.pair == pair && row.verdict.is_some()) {
                row.verdict = Some(VerdictKind::Inconclusive.word().to_owned());
                row.reason = Some(Reason::NotDelivered);
            }
        }
        let own = comparisons.iter().find(|one| one.who == pair.who && one.condition == pair.condition);
        let overall = paired(table, &pair.baseline, &pair.condition, |result| {
            result.score.filter(|_| result.judgement.is_some())
        });
        if let Some((comparison, [without, with])) = own.zip(means(&overall)) {
            rows.push(SetScoreRow {
                set: OVERALL.to_owned(),
                tasks: overall.len(),
                without,
                with,
                difference: with - without,
                ci95: comparison.ci95,
                family: comparison.family,
                verdict: comparison.verdict.map(|verdict| verdict.word().to_owned()),
                reason: comparison.reason.filter(|_| comparison.verdict.is_some()),
                pair,
            });
        }
    }
    rows
}

/// The sets that were scored under both conditions of a pair.
fn set_names(table: &Table, pair: &Pair) -> BTreeSet<String> {
    let of = |condition: &str| -> BTreeSet<String> {
        let slots = table.cells.get(condition).into_iter().flat_map(BTreeMap::values);
        let results = slots.flat_map(Slot::valid).filter_map(|result| result.judgement.as_deref());
        results.flat_map(|one| &one.sets).map(|set| set.name.clone()).collect()
    };
    of(&pair.baseline).intersection(&of(&pair.condition)).cloned().collect()
}

fn row(
    run: &RunFolder,
    table: &Table,
    pair: &Pair,
    set: &str,
    clusters: &BTreeMap<&str, u64>,
    family: usize,
    is_interim: bool,
) -> Option<SetScoreRow> {
    let key = format!("{SET_SCORE}{set}");
    let tasks = paired(table, &pair.baseline, &pair.condition, |result| {
        // A trial without a result in time scores 0 in everything.
        let is_void = matches!(result.outcome, Outcome::TimedOut | Outcome::Tampered);
        result.numbers.get(&key).map(|own| if is_void { 0.0 } else { *own })
    });
    let [without, with] = means(&tasks)?;
    let paired: Vec<PairedTask> = tasks
        .iter()
        .map(|(task, [base, arm])| PairedTask {
            arm: arm.clone(),
            base: base.clone(),
            cluster: clusters.get(task).copied(),
        })
        .collect();
    // Scores of sets are decided like the overall score.
    let found = judge_tasks(&paired, family, run.margin, None, table.closing);
    let unadjusted = assay_stats::lift(&paired, 0.95).and_then(|lift| lift.interval);
    let unadjusted = unadjusted.filter(|_| table.closing.is_none());
    let word = match found.kind {
        VerdictKind::Helps => "improves",
        VerdictKind::Harms => "worsens",
        VerdictKind::Negligible => "negligible",
        VerdictKind::Inconclusive => "inconclusive",
    };
    Some(SetScoreRow {
        pair: pair.clone(),
        set: set.to_owned(),
        tasks: tasks.len(),
        without,
        with,
        difference: with - without,
        ci95: unadjusted.map(|interval| [interval.low, interval.high]),
        family: found.interval.map(|interval| FamilyInterval {
            level: 1.0 - level(family, table.closing),
            low: interval.low,
            high: interval.high,
        }),
        verdict: (!is_interim).then(|| word.to_owned()),
        reason: found.reason.filter(|_| !is_interim),
    })
}

/// Rows by model, condition and domain; empty if no task names one.
pub(super) fn domains(run: &RunFolder, tables: &[Table]) -> Vec<DomainScore> {
    let domain: BTreeMap<&str, &str> =
        run.tasks.iter().filter_map(|task| Some((task.name.as_str(), task.category.as_deref()?))).collect();
    let mut rows = Vec::new();
    for (table, pair) in pairs(run, tables) {
        let all = paired(table, &pair.baseline, &pair.condition, |result| {
            result.score.filter(|_| result.judgement.is_some())
        });
        let mut by_domain: BTreeMap<&str, BTreeMap<&str, [Vec<f64>; 2]>> = BTreeMap::new();
        for (task, values) in all {
            if let Some(domain) = domain.get(task) {
                by_domain.entry(domain).or_default().insert(task, values);
            }
        }
        for (domain, tasks) in by_domain {
            let Some([without, with]) = means(&tasks) else { continue };
            let (domain, tasks) = (domain.to_owned(), tasks.len());
            rows.push(DomainScore { pair: pair.clone(), domain, tasks, without, with });
        }
    }
    rows
}
