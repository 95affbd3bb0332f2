//! Items of one class under a condition, against the baseline: estimate, interval and verdict over items clustered by task.

use assay_stats::{Guard, Losses, LossyTask, MetricScale, PairedTask, Reason, VerdictKind};
use assay_store::{CheckClass, CheckSet, RunFolder};
use serde::Serialize;

use super::seen::{Met, PairView, ViewedTask, is_met};
use crate::comparisons::{EQUAL, Families, judge_tasks, level};
use crate::judged::{Pair, undelivered_share};
use crate::metrics::{GuardWord, MetricWord};
use crate::model::{Comparison, FamilyInterval};
use crate::table::{Slot, Table};

/// The items of a class, or goal completion, under a condition and under the baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ItemScore {
    /// Who, and what is compared.
    #[serde(flatten)]
    pub pair: Pair,
    /// `if` or `gc`.
    pub set: CheckSet,
    /// The class of the items; `null` for goal completion, and for items whose verifier names none.
    pub class: Option<CheckClass>,
    /// Tasks with such an item that was decided under both.
    pub tasks: usize,
    /// The items: of IF, the units, which weigh the same. Of GC the units are tasks.
    pub items: usize,
    /// Valid trials in which an item is unknown (skipped, or not reported by a trial that passed), without and with.
    pub missing: [usize; 2],
    /// The mean over units of the share of trials that meet them, without the condition.
    pub without: f64,
    /// The same with.
    pub with: f64,
    /// The difference.
    pub difference: f64,
    /// Its unadjusted 95% CI, clustered by task; `null` below 5 effective tasks.
    pub ci95: Option<[f64; 2]>,
    /// The adjusted CI, which decides.
    pub family: Option<FamilyInterval>,
    /// `improves`, `worsens`, `negligible` or `inconclusive`; `null` while the run is not complete, and if the comparison of
    /// scores is decided after rounds.
    pub verdict: Option<MetricWord>,
    /// Why it is inconclusive; `null` otherwise.
    pub reason: Option<Reason>,
    /// For goal completion, whether a loss of the equivalence margin or more is excluded; `null` like `verdict`.
    pub guard: Option<GuardWord>,
    /// The tasks whose mean is lower with the condition than without.
    pub lower_on: Vec<String>,
}

/// The groups of checks, in the order of reports.
pub(super) const GROUPS: [(CheckSet, Option<CheckClass>); 5] = [
    (CheckSet::If, Some(CheckClass::Knowledge)),
    (CheckSet::If, Some(CheckClass::Convention)),
    (CheckSet::If, Some(CheckClass::Reminder)),
    (CheckSet::If, None),
    (CheckSet::Gc, None),
];

/// A unit of a comparison: an item of a task, or the goal of one.
struct ScoredUnit<'a> {
    task: &'a ViewedTask<'a>,
    /// The scores of valid trials, without and with.
    scores: [Vec<f64>; 2],
}

/// The comparisons of a pair, one for each group that has a check.
pub(super) fn compare_items(
    run: &RunFolder,
    tables: &[Table],
    view: &PairView<'_>,
    comparisons: &[Comparison],
    is_interim: bool,
) -> Vec<ItemScore> {
    let family = Families::of(run, tables).size_of(&view.pair.condition);
    let tasks = view.tasks();
    let is_undelivered = undelivered_share(comparisons, &view.pair).is_some();
    let rows = GROUPS.into_iter().filter_map(|group| row(view, &tasks, group, family, run.margin));
    rows.map(|mut row| {
        if is_undelivered {
            row.verdict = row.verdict.map(|_| MetricWord::Inconclusive);
            row.guard = row.guard.map(|_| GuardWord::Inconclusive);
            row.reason = Some(Reason::NotDelivered);
        }
        if is_interim || view.is_sequential {
            (row.verdict, row.reason, row.guard) = (None, None, None);
        }
        row
    })
    .collect()
}

fn row(
    view: &PairView<'_>,
    tasks: &[ViewedTask<'_>],
    (set, class): (CheckSet, Option<CheckClass>),
    family: usize,
    margin: f64,
) -> Option<ItemScore> {
    let units = units(tasks, set, class);
    let counted: Vec<PairedTask> =
        units.iter().filter(|unit| unit.task.counts && unit.is_paired()).map(ScoredUnit::paired).collect();
    let estimate = assay_stats::lift(&counted, 0.95)?;
    let lossy: Vec<LossyTask> = units.iter().map(ScoredUnit::lossy).collect();
    let closing = view.table.closing;
    let found = judge_tasks(&counted, family, margin, Some(&Losses::of(&lossy)), closing);
    let [without, with] = means(&counted);
    let guard = found.interval.map_or(GuardWord::Inconclusive, |interval| {
        match assay_stats::guard(interval, MetricScale::Linear, false, margin) {
            Guard::Held => GuardWord::Held,
            Guard::Violated => GuardWord::Violated,
            Guard::Inconclusive => GuardWord::Inconclusive,
        }
    });
    let of_group = |task: &ViewedTask<'_>| items_of(task, set, class).count();
    Some(ItemScore {
        pair: view.pair.clone(),
        set,
        class,
        tasks: tasks.iter().filter(|task| is_compared(&units, task)).count(),
        items: tasks.iter().filter(|task| is_compared(&units, task)).map(of_group).sum(),
        missing: [0, 1].map(|side| tasks.iter().map(|task| missing(task, side, set, class)).sum()),
        without,
        with,
        difference: estimate.mean,
        ci95: estimate.interval.filter(|_| closing.is_none()).map(|interval| [interval.low, interval.high]),
        family: found.interval.map(|interval| FamilyInterval {
            level: 1.0 - level(family, closing),
            low: interval.low,
            high: interval.high,
        }),
        verdict: Some(word_of(found.kind)),
        reason: found.reason,
        guard: (set == CheckSet::Gc).then_some(guard),
        lower_on: tasks
            .iter()
            .filter(|task| is_lower(&units, task))
            .map(|task| task.name.to_owned())
            .collect(),
    })
}

fn word_of(kind: VerdictKind) -> MetricWord {
    match kind {
        VerdictKind::Helps => MetricWord::Improves,
        VerdictKind::Harms => MetricWord::Worsens,
        VerdictKind::Negligible => MetricWord::Negligible,
        VerdictKind::Inconclusive => MetricWord::Inconclusive,
    }
}

/// The items of a task that belong to a group.
pub(super) fn items_of<'a>(
    task: &'a ViewedTask<'_>,
    set: CheckSet,
    class: Option<CheckClass>,
) -> impl Iterator<Item = &'a crate::checks::SetCheck> {
    let is_of = move |item: &&crate::checks::SetCheck| item.label.set == set && item.label.class == class;
    task.items.iter().copied().filter(is_of)
}

/// The units of a group: each item of IF, and of GC each task.
fn units<'a>(tasks: &'a [ViewedTask<'a>], set: CheckSet, class: Option<CheckClass>) -> Vec<ScoredUnit<'a>> {
    let mut units = Vec::new();
    for task in tasks {
        match set {
            CheckSet::If => units.extend(items_of(task, set, class).map(|item| {
                ScoredUnit {
                    task,
                    scores: task
                        .slots
                        .map(|slot| slot.valid().filter_map(|result| is_met(result, item).score()).collect()),
                }
            })),
            CheckSet::Gc => {
                units.extend(items_of(task, set, class).next().map(|_| ScoredUnit {
                    task,
                    scores: task.slots.map(|slot| shares(task, slot, set, class)),
                }));
            }
        }
    }
    units
}

/// The share of a group's checks that each valid trial of a task meets, in the order of the trials; without those in which all
/// are unknown.
pub(super) fn shares(
    task: &ViewedTask<'_>,
    slot: &Slot,
    set: CheckSet,
    class: Option<CheckClass>,
) -> Vec<f64> {
    let share = |result| {
        let scores: Vec<f64> =
            items_of(task, set, class).filter_map(|item| is_met(result, item).score()).collect();
        (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64)
    };
    slot.valid().filter_map(share).collect()
}

impl ScoredUnit<'_> {
    fn is_paired(&self) -> bool {
        self.scores.iter().all(|scores| !scores.is_empty())
    }

    fn paired(&self) -> PairedTask {
        let [base, arm] = self.scores.clone();
        PairedTask { arm, base, cluster: Some(self.task.cluster) }
    }

    fn lossy(&self) -> LossyTask {
        let [base, arm] = self.task.slots;
        LossyTask { kept: self.paired(), arm_lost: arm.lost(), base_lost: base.lost() }
    }
}

/// Whether a task has a unit that is compared.
fn is_compared(units: &[ScoredUnit<'_>], task: &ViewedTask<'_>) -> bool {
    task.counts && units.iter().any(|unit| unit.task.name == task.name && unit.is_paired())
}

/// Whether a task's mean is lower with the condition.
fn is_lower(units: &[ScoredUnit<'_>], task: &ViewedTask<'_>) -> bool {
    let own = units.iter().filter(|unit| unit.task.name == task.name && unit.is_paired());
    let own: Vec<PairedTask> = own.map(ScoredUnit::paired).collect();
    let [without, with] = means(&own);
    is_compared(units, task) && with < without - EQUAL
}

/// The mean over units of the mean over trials, without and with.
fn means(units: &[PairedTask]) -> [f64; 2] {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let all =
        |of: fn(&PairedTask) -> &Vec<f64>| mean(&units.iter().map(|unit| mean(of(unit))).collect::<Vec<_>>());
    [all(|unit| &unit.base), all(|unit| &unit.arm)]
}

/// Valid trials of one side of a task, once for each item that is unknown in them.
fn missing(task: &ViewedTask<'_>, side: usize, set: CheckSet, class: Option<CheckClass>) -> usize {
    let count = |item| task.slots[side].valid().filter(|result| is_met(result, item) == Met::Unknown).count();
    items_of(task, set, class).map(count).sum()
}
