//! Each condition against its baseline, all of them one family.

use std::collections::{BTreeMap, BTreeSet};

use assay_stats::{Interval, Losses, LossyTask, PairedTask, Verdict, VerdictKind};
use assay_store::{ConditionRole, RunFolder};

use crate::cause::is_exhausted;
use crate::delivered;
use crate::model::{AgentKey, Comparison, End, FamilyInterval, Rounds};
use crate::overlap::Times;
use crate::round_plans::Plans;
use crate::table::{Slot, Table};

/// Differences of scores below this are rounding errors.
pub(crate) const EQUAL: f64 = 1e-9;

/// The comparisons of `primary`, one for each agent and sandbox, are a separate family; all others
/// are one. Without a primary condition all are one family.
pub(crate) fn comparisons(run: &RunFolder, tables: &[Table], primary: Option<&str>) -> Vec<Comparison> {
    let Some((baseline, others)) = run.conditions.split_first() else { return Vec::new() };
    let all = || tables.iter().flat_map(|table| others.iter().map(move |other| (table, other)));
    let is_primary = |condition: &str| primary == Some(condition);
    let families = Families::of_primary(run, tables, primary);
    let mut plans = run.stopping.map(|stopping| Plans::new(stopping, run.margin));
    let pairs = all().filter(|(table, other)| table.is_usable(baseline) && table.is_usable(other));
    let clusters = clusters(run);
    let mut comparisons: Vec<Comparison> = pairs
        .map(|(table, condition)| {
            let family = families.size_of(condition);
            let compared = compare(run, table, baseline, condition, family, &clusters, plans.as_mut());
            let slots = table.cells.get(condition).into_iter().flat_map(BTreeMap::values);
            let delivered = delivered::delivered_share(run, condition, slots.flat_map(Slot::valid));
            let mut compared = Comparison { primary: is_primary(condition), delivered, ..compared };
            delivered::block(&mut compared);
            compared
        })
        .collect();
    adjust_p_values(&mut comparisons);
    comparisons
}

/// The sizes of the families of comparisons: those of the plan, so that looking at a part of it, or before it is done,
/// does not make a verdict easier.
pub(crate) struct Families<'a> {
    primary: Option<&'a str>,
    of_primary: usize,
    of_others: usize,
}

impl<'a> Families<'a> {
    /// Those of a run.
    pub(crate) fn of(run: &'a RunFolder, tables: &[Table]) -> Self {
        Self::of_primary(run, tables, run.primary.as_deref())
    }

    fn of_primary(run: &RunFolder, tables: &[Table], primary: Option<&'a str>) -> Self {
        let count = |first: bool| {
            let Some((baseline, others)) = run.conditions.split_first() else { return 0 };
            let selected = tables.iter().map(|table| &table.planned_conditions);
            let planned = selected.chain(tables.iter().take(1).flat_map(|table| &table.unselected));
            planned
                .filter(|conditions| conditions.contains(baseline))
                .flat_map(|conditions| others.iter().filter(move |other| conditions.contains(*other)))
                .filter(|other| (primary == Some(other.as_str())) == first)
                .count()
        };
        Self { primary, of_primary: count(true), of_others: count(false) }
    }

    /// The size of a condition's family.
    pub(crate) fn size_of(&self, condition: &str) -> usize {
        if self.primary == Some(condition) { self.of_primary } else { self.of_others }
    }
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
    plans: Option<&mut Plans>,
) -> Comparison {
    let pairing = |table: &Table, plans: Option<&mut Plans>| {
        compare_arms(
            &Pairing {
                who: &table.who,
                baseline,
                condition,
                role: run.role_of(condition),
                slots: paired_slots(table, baseline, condition),
                shared: table.shared_tasks(),
                second_stage: &table.second_stage,
                clusters,
                family,
                margin: run.margin,
                seed: run.seed,
                closing: table.closing,
            },
            table.looks.get(condition).copied().zip(plans),
        )
    };
    match table.looks.get(condition) {
        Some(look) => pairing(&table.as_read_by(look), plans),
        None => pairing(table, None),
    }
}

/// The executed tasks of two conditions.
fn paired_slots<'a>(table: &'a Table, baseline: &str, condition: &str) -> Vec<(&'a str, &'a Slot, &'a Slot)> {
    let (Some(base), Some(arm)) = (table.cells.get(baseline), table.cells.get(condition)) else {
        return Vec::new();
    };
    let executed = table.executed_tasks();
    arm.iter()
        .filter(|(task, _)| executed.contains(task.as_str()))
        .filter_map(|(task, arm)| Some((task.as_str(), arm, base.get(task)?)))
        .collect()
}

/// The tasks of a comparison, and what it lost.
pub(crate) fn compared_tasks(
    table: &Table,
    baseline: &str,
    condition: &str,
    clusters: &BTreeMap<&str, u64>,
) -> (Vec<PairedTask>, Losses) {
    tasks_of(&paired_slots(table, baseline, condition), &table.shared_tasks(), clusters)
}

fn tasks_of(
    slots: &[(&str, &Slot, &Slot)],
    shared: &BTreeSet<&str>,
    clusters: &BTreeMap<&str, u64>,
) -> (Vec<PairedTask>, Losses) {
    let pair = |task: &str, arm: Vec<f64>, base: Vec<f64>| PairedTask {
        arm,
        base,
        cluster: clusters.get(task).copied(),
    };
    let counted = slots
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
    (counted, Losses::of(&lossy))
}

/// Two arms to compare.
pub(crate) struct Pairing<'a> {
    pub(crate) who: &'a AgentKey,
    pub(crate) baseline: &'a str,
    pub(crate) condition: &'a str,
    /// What the condition is.
    pub(crate) role: ConditionRole,
    /// Task, arm, baseline.
    pub(crate) slots: Vec<(&'a str, &'a Slot, &'a Slot)>,
    /// Tasks that count: with a valid trial in every arm of the table.
    pub(crate) shared: BTreeSet<&'a str>,
    /// Tasks that take part in no round.
    pub(crate) second_stage: &'a BTreeSet<String>,
    pub(crate) clusters: &'a BTreeMap<&'a str, u64>,
    /// The size of the family.
    pub(crate) family: usize,
    pub(crate) margin: f64,
    pub(crate) seed: u64,
    /// The share of the planned trials by which it is judged, if the run was closed with a part of them.
    pub(crate) closing: Option<f64>,
}

/// What is decided of a comparison.
struct Decided {
    verdict: Verdict,
    /// The interval of a comparison that is decided after rounds, if it were alone in its family.
    alone: Option<Interval>,
    /// The median-unbiased lift of one that ended after rounds.
    unbiased: Option<f64>,
    /// The least shift of lost trials that changes the verdict of the others.
    tipping: Option<f64>,
}

impl Pairing<'_> {
    /// Decides on `counted` tasks: at a round if one is given.
    fn decide(
        &self,
        rounds: Option<(Rounds, &mut Plans)>,
        counted: &[PairedTask],
        losses: &Losses,
    ) -> Decided {
        let Self { family, margin, closing, .. } = *self;
        let judge = |losses: Option<&Losses>, tasks: &[PairedTask]| {
            judge_tasks(tasks, family, margin, losses, closing)
        };
        let Some((stage, plans)) = rounds else {
            let tipping = losses.tipping_shift(|losses| Some(judge(losses, counted).kind));
            return Decided { verdict: judge(Some(losses), counted), alone: None, unbiased: None, tipping };
        };
        let round = stage.round;
        let (verdicts, unbiased, tipping);
        if stage.ended == Some(End::SecondStage) {
            let stages = [false, true].map(|second| self.tasks_of_stage(second));
            let stages = stages.each_ref().map(|(tasks, losses)| (tasks.as_slice(), losses));
            unbiased = plans.unbiased_lift_of_stages(family, round, stages.map(|(tasks, _)| tasks));
            tipping = plans.tipping_shift_of_stages(family, round, stages);
            verdicts = [family, 1].map(|family| plans.decide_more(family, round, stages));
        } else {
            unbiased = stage.ended.and_then(|_| plans.unbiased_lift(family, round, counted));
            tipping = plans.tipping_shift(family, round, counted, losses);
            verdicts = [family, 1]
                .map(|family| plans.decide_round(family, round, counted, losses).map(|look| look.verdict));
        }
        let [verdict, alone] = verdicts;
        Decided {
            verdict: verdict.unwrap_or_else(|| judge(Some(losses), counted)),
            alone: alone.and_then(|verdict| verdict.interval),
            unbiased,
            tipping,
        }
    }

    /// The tasks of the rounds, or those after them, and what was lost of them.
    fn tasks_of_stage(&self, second: bool) -> (Vec<PairedTask>, Losses) {
        let is_of = |(task, _, _): &&(&str, &Slot, &Slot)| self.second_stage.contains(*task) == second;
        let slots: Vec<_> = self.slots.iter().filter(is_of).copied().collect();
        tasks_of(&slots, &self.shared, self.clusters)
    }
}

/// The comparison of two arms; decided at a round if one is given.
pub(crate) fn compare_arms(pairing: &Pairing<'_>, rounds: Option<(Rounds, &mut Plans)>) -> Comparison {
    let Pairing { slots, shared, clusters, family, .. } = pairing;
    let family = *family;
    let (counted, losses) = tasks_of(slots, shared, clusters);
    let is_sequential = rounds.is_some();
    let stage = rounds.as_ref().map(|(stage, _)| *stage);
    let Decided { verdict, alone, unbiased, tipping } = pairing.decide(rounds, &counted, &losses);
    // These tests are for one look at all trials.
    let is_fixed = !is_sequential && pairing.closing.is_none();
    let fixed = |p: Option<f64>| p.filter(|_| is_fixed);
    let level = level(family, pairing.closing.filter(|_| !is_sequential));
    let p = fixed(assay_stats::interval_p(&counted));
    let estimate = assay_stats::lift(&counted, 0.95);
    let differences: Vec<f64> = counted.iter().map(|task| mean(&task.arm) - mean(&task.base)).collect();
    let units = assay_stats::differences(&counted);
    let gain = assay_stats::normalized_gain(&counted, 0.95);
    let spread = assay_stats::heterogeneity(&counted);
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
    // A number of tasks for a lift that the baseline leaves no room for would be wrong at any size.
    let tasks_needed = verdict.tasks_needed.filter(|_| !is_exhausted(&counted, pairing.margin));
    let count = |holds: fn(f64) -> bool| differences.iter().filter(|difference| holds(**difference)).count();
    Comparison {
        who: pairing.who.clone(),
        baseline: pairing.baseline.to_owned(),
        condition: pairing.condition.to_owned(),
        role: pairing.role,
        tasks: counted.len(),
        clusters: estimate.and_then(|estimate| estimate.clusters),
        effective_clusters: estimate
            .filter(|estimate| estimate.clusters.is_some())
            .map(|estimate| estimate.effective),
        lift: estimate.map(|estimate| estimate.mean),
        lift_unbiased: unbiased,
        pass_rate_lift: pass_rate_lift(slots, shared),
        ci95: ends(if is_sequential {
            alone
        } else {
            estimate.and_then(|estimate| estimate.interval).filter(|_| is_fixed)
        }),
        // Of one look, as the tests.
        fixed_tasks_ci95: ends(assay_stats::within_tasks_interval(&counted, 0.95).filter(|_| !is_sequential)),
        family: verdict.interval.map(|interval| FamilyInterval {
            level: 1.0 - level,
            low: interval.low,
            high: interval.high,
        }),
        primary: false,
        p_interval: p,
        p_interval_adjusted: p.map(|p| (p * family.max(1) as f64).min(1.0)),
        loss_bounds: losses.lifts().map(|[low, high]| {
            // Tasks without a result in an arm are in the bounds alone, and could take them past the lift.
            let lift = estimate.map_or(low, |estimate| estimate.mean);
            [low.min(lift), high.max(lift)]
        }),
        delta_star: tipping,
        tau: spread.map(|spread| spread.tau),
        // An interval of 0 alone comes from differences that vary much less than their trials: it shows nothing of τ.
        tau_ci95: ends(
            spread.and_then(|spread| spread.tau_interval).filter(|found| is_fixed && found.high > 0.0),
        )
        .map(within_spread),
        prediction95: ends(spread.and_then(|spread| spread.prediction).filter(|_| is_fixed)),
        moved: assay_stats::moved_share(&counted),
        tasks_lost: slots
            .iter()
            .filter(|(task, arm, base)| !shared.contains(task) && arm.lost() + base.lost() > 0)
            .count(),
        normalized_change: gain.map(|gain| gain.value),
        normalized_change_ci95: ends(gain.and_then(|gain| gain.interval).filter(|_| is_fixed)),
        hake_gain: gain.map(|gain| gain.hake),
        p: fixed(assay_stats::sign_flip(&units, pairing.seed)),
        p_adjusted: None,
        p_wilcoxon: fixed(assay_stats::wilcoxon(&units)),
        run_to_run_noise: assay_stats::run_to_run_noise(&bases, &repetitions, pairing.seed),
        mde: assay_stats::mde(&counted, family),
        skillsbench_ci95: ends(assay_stats::skillsbench_interval(&counted, pairing.seed)),
        delivered: None,
        verdict: Some(verdict.kind),
        interim: None,
        reason: verdict.reason,
        direction: verdict.direction.filter(|_| verdict.kind == VerdictKind::Negligible),
        causes: Vec::new(),
        tasks_needed,
        tasks_to_confirm: tasks_needed
            .and(estimate)
            .and_then(|estimate| assay_stats::tasks_needed(&counted, family, estimate.mean.abs())),
        time_overlap: times.as_ref().map(|times| times.overlap),
        measured: times.map(|times| times.measured),
        better_equal_worse: [
            count(|difference| difference > EQUAL),
            count(|difference| difference.abs() <= EQUAL),
            count(|difference| difference < -EQUAL),
        ],
        sequential: stage,
        imported: false,
    }
}

/// The verdict on tasks: on all planned trials, or on the share with which a run was closed.
pub(crate) fn judge_tasks(
    tasks: &[PairedTask],
    family: usize,
    margin: f64,
    losses: Option<&Losses>,
    closing: Option<f64>,
) -> Verdict {
    match closing {
        None => assay_stats::verdict(tasks, family, margin, losses),
        Some(share) => assay_stats::closing_verdict(tasks, family, margin, losses, share),
    }
}

/// The error rate of a comparison in a family, of a run with all its trials or closed with a share of them.
pub(crate) fn level(family: usize, closing: Option<f64>) -> f64 {
    closing.map_or(0.05 / family.max(1) as f64, |share| assay_stats::closing_level(family, share))
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

/// The ends of an interval of the standard deviation of lifts, which is at most 1.
pub(crate) fn within_spread([low, high]: [f64; 2]) -> [f64; 2] {
    [low.min(1.0), high.min(1.0)]
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
