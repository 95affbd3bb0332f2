//! Each condition against its baseline, all of them one family.

use std::collections::{BTreeMap, BTreeSet};

use assay_stats::{Interval, Losses, LossyTask, PairedTask, VerdictKind};
use assay_store::RunFolder;

use crate::gather::{Slot, Table};
use crate::model::{AgentKey, Comparison, FamilyInterval};
use crate::overlap::Times;

/// Differences of scores below this are rounding errors.
pub(crate) const EQUAL: f64 = 1e-9;

/// The comparisons of `primary`, one for each agent and sandbox, are a separate family; all others
/// are one. Without a primary condition all are one family.
pub(crate) fn comparisons(run: &RunFolder, tables: &[Table], primary: Option<&str>) -> Vec<Comparison> {
    let Some((baseline, others)) = run.conditions.split_first() else { return Vec::new() };
    let all = || tables.iter().flat_map(|table| others.iter().map(move |other| (table, other)));
    let is_primary = |condition: &str| primary == Some(condition);
    // The families are those of the plan: looking at a part of it, or before it is done, does not
    // make a verdict easier.
    let family = |first: bool| {
        let selected = tables.iter().map(|table| &table.planned_conditions);
        let planned = selected.chain(tables.iter().take(1).flat_map(|table| &table.unselected));
        planned
            .filter(|conditions| conditions.contains(baseline))
            .flat_map(|conditions| others.iter().filter(move |other| conditions.contains(*other)))
            .filter(|other| is_primary(other) == first)
            .count()
    };
    let families = [family(false), family(true)];
    let pairs = all().filter(|(table, other)| table.is_usable(baseline) && table.is_usable(other));
    let clusters = clusters(run);
    let mut comparisons: Vec<Comparison> = pairs
        .map(|(table, condition)| {
            let primary = is_primary(condition);
            let family = families[usize::from(primary)];
            Comparison { primary, ..compare(run, table, baseline, condition, family, &clusters) }
        })
        .collect();
    adjust_p_values(&mut comparisons);
    comparisons
}

/// Holm across the family. A comparison without a p-value takes no part.
pub(crate) fn adjust_p_values(comparisons: &mut [Comparison]) {
    let known: Vec<f64> = comparisons.iter().filter_map(|comparison| comparison.p).collect();
    let mut adjusted = assay_stats::holm(&known).into_iter();
    for comparison in comparisons.iter_mut().filter(|comparison| comparison.p.is_some()) {
        comparison.p_adjusted = adjusted.next();
    }
}

fn compare(
    run: &RunFolder,
    table: &Table,
    baseline: &str,
    condition: &str,
    family: usize,
    clusters: &BTreeMap<&str, u64>,
) -> Comparison {
    let executed = table.executed_tasks();
    let slots = table.cells[condition]
        .iter()
        .filter(|(task, _)| executed.contains(task.as_str()))
        .filter_map(|(task, arm)| Some((task.as_str(), arm, table.cells[baseline].get(task)?)))
        .collect();
    compare_arms(&Pairing {
        who: &table.who,
        baseline,
        condition,
        slots,
        shared: table.shared_tasks(),
        clusters,
        family,
        margin: run.margin,
        seed: run.seed,
    })
}

/// Two arms to compare.
pub(crate) struct Pairing<'a> {
    pub(crate) who: &'a AgentKey,
    pub(crate) baseline: &'a str,
    pub(crate) condition: &'a str,
    /// Task, arm, baseline.
    pub(crate) slots: Vec<(&'a str, &'a Slot, &'a Slot)>,
    /// Tasks that count: with a valid trial in every arm of the table.
    pub(crate) shared: BTreeSet<&'a str>,
    pub(crate) clusters: &'a BTreeMap<&'a str, u64>,
    /// The size of the family.
    pub(crate) family: usize,
    pub(crate) margin: f64,
    pub(crate) seed: u64,
}

/// The comparison of two arms.
pub(crate) fn compare_arms(pairing: &Pairing<'_>) -> Comparison {
    let Pairing { slots, shared, clusters, family, .. } = pairing;
    let family = *family;
    let pair = |task: &str, arm: Vec<f64>, base: Vec<f64>| PairedTask {
        arm,
        base,
        cluster: clusters.get(task).copied(),
    };
    let counted: Vec<PairedTask> = slots
        .iter()
        .filter(|(task, _, _)| shared.contains(task))
        .map(|(task, arm, base)| pair(task, arm.scores(), base.scores()))
        .collect();
    let lossy: Vec<LossyTask> = slots
        .iter()
        .map(|(task, arm, base)| LossyTask {
            kept: pair(task, arm.scores(), base.scores()),
            arm_lost: arm.lost(),
            base_lost: base.lost(),
        })
        .collect();
    let losses = Losses::of(&lossy);
    let verdict = assay_stats::verdict(&counted, family, pairing.margin, Some(&losses));
    let p = assay_stats::interval_p(&counted);
    let estimate = assay_stats::lift(&counted, 0.95);
    let differences: Vec<f64> = counted.iter().map(|task| mean(&task.arm) - mean(&task.base)).collect();
    let units = assay_stats::differences(&counted);
    let gain = assay_stats::normalized_gain(&counted, 0.95);
    let bases: Vec<Vec<f64>> = counted.iter().map(|task| task.base.clone()).collect();
    let repetitions: Vec<usize> = counted.iter().map(|task| task.arm.len()).collect();
    let compared = || slots.iter().filter(|(task, _, _)| shared.contains(task));
    let base_periods: Vec<[f64; 2]> = compared().flat_map(|(_, _, base)| periods(base)).collect();
    let arm_periods: Vec<[f64; 2]> = compared().flat_map(|(_, arm, _)| periods(arm)).collect();
    let planned = [
        compared().map(|(_, _, base)| base.planned).max().unwrap_or_default(),
        compared().map(|(_, arm, _)| arm.planned).max().unwrap_or_default(),
    ];
    let times = Times::of(&base_periods, &arm_periods, planned);
    let count = |holds: fn(f64) -> bool| differences.iter().filter(|difference| holds(**difference)).count();
    Comparison {
        who: pairing.who.clone(),
        baseline: pairing.baseline.to_owned(),
        condition: pairing.condition.to_owned(),
        tasks: counted.len(),
        clusters: estimate.and_then(|estimate| estimate.clusters),
        effective_clusters: estimate
            .filter(|estimate| estimate.clusters.is_some())
            .map(|estimate| estimate.effective),
        lift: estimate.map(|estimate| estimate.mean),
        pass_rate_lift: pass_rate_lift(slots, shared),
        ci95: ends(estimate.and_then(|estimate| estimate.interval)),
        fixed_tasks_ci95: ends(assay_stats::within_tasks_interval(&counted, 0.95)),
        family: verdict.interval.map(|interval| FamilyInterval {
            level: 1.0 - 0.05 / family as f64,
            low: interval.low,
            high: interval.high,
        }),
        primary: false,
        p_interval: p,
        p_interval_adjusted: p.map(|p| (p * family.max(1) as f64).min(1.0)),
        loss_bounds: losses.lifts(),
        normalized_gain: gain.map(|gain| gain.value),
        normalized_gain_ci95: ends(gain.and_then(|gain| gain.interval)),
        p: assay_stats::sign_flip(&units, pairing.seed),
        p_adjusted: None,
        p_wilcoxon: assay_stats::wilcoxon(&units),
        run_to_run_noise: assay_stats::run_to_run_noise(&bases, &repetitions, pairing.seed),
        mde: assay_stats::mde(&counted, family),
        skillsbench_ci95: ends(assay_stats::skillsbench_interval(&counted, pairing.seed)),
        verdict: verdict.kind,
        reason: verdict.reason,
        direction: verdict.direction.filter(|_| verdict.kind == VerdictKind::Negligible),
        tasks_needed: verdict.tasks_needed,
        tasks_to_confirm: verdict
            .tasks_needed
            .and(estimate)
            .and_then(|estimate| assay_stats::tasks_needed(&counted, family, estimate.mean.abs())),
        time_overlap: times.as_ref().map(|times| times.overlap),
        measured: times.map(|times| times.measured),
        better_equal_worse: [
            count(|difference| difference > EQUAL),
            count(|difference| difference.abs() <= EQUAL),
            count(|difference| difference < -EQUAL),
        ],
        imported: false,
    }
}

/// The mean over tasks of the difference of pass rates.
fn pass_rate_lift(slots: &[(&str, &Slot, &Slot)], shared: &BTreeSet<&str>) -> Option<f64> {
    let differences: Vec<f64> = slots
        .iter()
        .filter(|(task, _, _)| shared.contains(task))
        .filter_map(|(_, arm, base)| Some(arm.pass_rate()? - base.pass_rate()?))
        .collect();
    (!differences.is_empty()).then(|| mean(&differences))
}

/// When a cell's valid trials ran.
fn periods(slot: &Slot) -> Vec<[f64; 2]> {
    slot.valid().filter_map(|result| result.period).collect()
}

fn ends(interval: Option<Interval>) -> Option<[f64; 2]> {
    interval.map(|interval| [interval.low, interval.high])
}

fn mean(scores: &[f64]) -> f64 {
    scores.iter().sum::<f64>() / scores.len() as f64
}

/// The number of each task's cluster. If only some tasks name a cluster, each other task is its
/// own; if none does, there are none.
pub(crate) fn clusters(run: &RunFolder) -> BTreeMap<&str, u64> {
    if run.tasks.iter().all(|task| task.cluster.is_none()) {
        return BTreeMap::new();
    }
    let mut numbers = BTreeMap::new();
    run.tasks
        .iter()
        .map(|task| {
            let key = task.cluster.as_deref().map_or((false, task.name.as_str()), |cluster| (true, cluster));
            let next = numbers.len() as u64;
            (task.name.as_str(), *numbers.entry(key).or_insert(next))
        })
        .collect()
}
