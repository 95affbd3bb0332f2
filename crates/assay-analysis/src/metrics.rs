//! Metrics: costs and other numbers of trials, compared between each condition and the baseline.
//!
//! The comparisons of all metrics of a run are one family, apart from those of scores. They decide no
//! verdict on a skill.

use std::collections::BTreeMap;

use assay_stats::{Guard, Interval, MetricScale, MetricVerdict, PairedTask, Reliability, sample_quantile};
use assay_store::{LINES_CHANGED, MetricDirection, MetricSource, MetricSpec, RunFolder};
use serde::Serialize;

use crate::model::{AgentKey, FamilyInterval};
use crate::result::TrialResult;
use crate::table::{Slot, Table};

/// A metric under a condition, against the baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricComparison {
    /// The metric.
    #[serde(flatten)]
    pub metric: MetricSpec,
    /// The agent and the sandbox.
    #[serde(flatten)]
    pub who: AgentKey,
    /// The baseline.
    pub baseline: String,
    /// The condition.
    pub condition: String,
    /// Tasks with a usable value under both.
    pub tasks: usize,
    /// Valid trials with a value, under the baseline and under the condition. As in all pairs here.
    pub trials: [usize; 2],
    /// Valid trials without a value.
    pub missing: [usize; 2],
    /// Values that are not positive, which a log scale leaves out.
    pub not_positive: [usize; 2],
    /// Mean over tasks, of pass^k and pass@k; `null` for other metrics.
    pub mean: [Option<f64>; 2],
    /// Median over trials; `null` for pass^k and pass@k, which are values of tasks.
    pub median: [Option<f64>; 2],
    /// Median over tasks of the median over a task's trials.
    pub median_of_task_medians: [Option<f64>; 2],
    /// The mean over tasks of the difference, or the ratio of geometric means, of the condition to the
    /// baseline.
    pub effect: Option<f64>,
    /// Its unadjusted 95% CI; `null` below 5 tasks or effective clusters.
    pub ci95: Option<[f64; 2]>,
    /// The adjusted CI, which decides verdict and guard.
    pub family: Option<FamilyInterval>,
    /// `improves`, `worsens`, `negligible` or `inconclusive`; `null` while the run is not complete.
    pub verdict: Option<MetricWord>,
    /// Whether the guard is `held`, `violated` or `inconclusive`; `null` without one, and while the run is not complete.
    pub guard_verdict: Option<GuardWord>,
}

/// The verdict on a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MetricWord {
    /// The condition is better than the baseline.
    Improves,
    /// It is worse.
    Worsens,
    /// The change is within the margin.
    Negligible,
    /// None of these is shown.
    Inconclusive,
}

impl MetricWord {
    /// The word in reports and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Improves => "improves",
            Self::Worsens => "worsens",
            Self::Negligible => "negligible",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// The state of a guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GuardWord {
    /// The deterioration is smaller than the guard accepts.
    Held,
    /// It is larger.
    Violated,
    /// Neither is shown.
    Inconclusive,
}

impl GuardWord {
    /// The word in reports and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Violated => "violated",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// The metrics of a run, for each agent and condition with a usable trial.
pub(crate) fn metrics(
    run: &RunFolder,
    tables: &[Table],
    clusters: &BTreeMap<&str, u64>,
) -> Vec<MetricComparison> {
    let Some((baseline, others)) = run.conditions.split_first() else { return Vec::new() };
    let mut pairs = Vec::new();
    for metric in &run.metrics {
        for table in tables.iter().filter(|table| table.is_usable(baseline)) {
            let usable = others.iter().filter(|condition| table.is_usable(condition));
            pairs.extend(usable.map(|condition| (metric, table, condition)));
        }
    }
    let family = pairs.len();
    pairs
        .into_iter()
        .map(|(metric, table, condition)| compare(metric, table, [baseline, condition], clusters, family))
        .collect()
}

fn compare(
    metric: &MetricSpec,
    table: &Table,
    [baseline, condition]: [&str; 2],
    clusters: &BTreeMap<&str, u64>,
    family: usize,
) -> MetricComparison {
    if let Some(what) = reliability_of(&metric.source) {
        return compare_reliability(metric, what, table, [baseline, condition], clusters, family);
    }
    let scale = match metric.scale {
        assay_store::MetricScale::Linear => MetricScale::Linear,
        assay_store::MetricScale::Log => MetricScale::Log,
    };
    let arms = [baseline, condition].map(|name| Arm::of(metric, table, name));
    let [base, arm] = &arms;
    let pair = |(task, values): (&&str, &Vec<f64>)| {
        let base = base.values.get(task)?.clone();
        Some(PairedTask { arm: values.clone(), base, cluster: clusters.get(task).copied() })
    };
    let tasks: Vec<PairedTask> = arm.values.iter().filter_map(pair).collect();
    let level = 1.0 - crate::comparisons::level(family, table.closing);
    let found = assay_stats::metric_effect(&tasks, scale, 0.95);
    let adjusted = assay_stats::metric_effect(&tasks, scale, level).and_then(|found| found.interval);
    let (verdict, guard_verdict) = decide(metric, scale, adjusted);
    let both = |figure: fn(&Arm) -> usize| [figure(base), figure(arm)];
    MetricComparison {
        metric: metric.clone(),
        who: table.who.clone(),
        baseline: baseline.to_owned(),
        condition: condition.to_owned(),
        tasks: found.map_or(0, |found| found.tasks),
        trials: both(|arm| arm.values.values().map(Vec::len).sum()),
        missing: both(|arm| arm.missing),
        not_positive: both(|arm| arm.values.values().flatten().filter(|value| **value <= 0.0).count())
            .map(|count| if scale == MetricScale::Log { count } else { 0 }),
        mean: [None, None],
        median: [base.median(), arm.median()],
        median_of_task_medians: [base.median_of_medians(), arm.median_of_medians()],
        effect: found.map(|found| found.effect),
        ci95: found
            .and_then(|found| found.interval)
            .filter(|_| table.closing.is_none())
            .map(|interval| [interval.low, interval.high]),
        family: adjusted.map(|interval| FamilyInterval { level, low: interval.low, high: interval.high }),
        verdict: Some(verdict),
        guard_verdict,
    }
}

/// What of k trials a metric counts, if it is one of a task.
fn reliability_of(source: &MetricSource) -> Option<Reliability> {
    match source {
        MetricSource::PassAll(k) => Some(Reliability::All(*k)),
        MetricSource::PassAny(k) => Some(Reliability::Any(*k)),
        _ => None,
    }
}

/// pass^k or pass@k of two arms. Trials of a task that has fewer than k in its arm count as missing.
fn compare_reliability(
    metric: &MetricSpec,
    what: Reliability,
    table: &Table,
    names: [&str; 2],
    clusters: &BTreeMap<&str, u64>,
    family: usize,
) -> MetricComparison {
    let cells = names.map(|name| table.cells.get(name));
    let passes = |at: usize, task: &str| cells[at].and_then(|arm| arm.get(task)).map(Slot::passes);
    let pair = |task: &String| {
        Some(PairedTask {
            arm: passes(1, task)?,
            base: passes(0, task)?,
            cluster: clusters.get(task.as_str()).copied(),
        })
    };
    let tasks: Vec<PairedTask> = cells[1].into_iter().flat_map(BTreeMap::keys).filter_map(pair).collect();
    let level = 1.0 - crate::comparisons::level(family, table.closing);
    let found = assay_stats::reliability_lift(&tasks, what, 0.95);
    let adjusted = assay_stats::reliability_lift(&tasks, what, level).and_then(|found| found.interval);
    let (verdict, guard_verdict) = decide(metric, MetricScale::Linear, adjusted);
    let count = |enough: bool| {
        cells.map(|arm| {
            let trials = arm.into_iter().flat_map(BTreeMap::values).map(|slot| slot.passes().len());
            trials.filter(|trials| (*trials >= what.trials() as usize) == enough).sum::<usize>()
        })
    };
    MetricComparison {
        metric: metric.clone(),
        who: table.who.clone(),
        baseline: names[0].to_owned(),
        condition: names[1].to_owned(),
        tasks: found.map_or(0, |found| found.tasks),
        trials: count(true),
        missing: count(false),
        not_positive: [0, 0],
        mean: [found.map(|found| found.base), found.map(|found| found.arm)],
        median: [None, None],
        median_of_task_medians: [None, None],
        effect: found.map(|found| found.lift),
        ci95: found
            .and_then(|found| found.interval)
            .filter(|_| table.closing.is_none())
            .map(|interval| [interval.low, interval.high]),
        family: adjusted.map(|interval| FamilyInterval { level, low: interval.low, high: interval.high }),
        verdict: Some(verdict),
        guard_verdict,
    }
}

/// The verdict of an adjusted interval, and that of the guard.
fn decide(
    metric: &MetricSpec,
    scale: MetricScale,
    adjusted: Option<Interval>,
) -> (MetricWord, Option<GuardWord>) {
    let lower_is_better = metric.direction == MetricDirection::Lower;
    let verdict = adjusted.map_or(MetricVerdict::Inconclusive, |interval| {
        assay_stats::metric_verdict(interval, scale, metric.margin)
    });
    let guard = metric.guard.map(|largest| {
        adjusted.map_or(GuardWord::Inconclusive, |interval| {
            match assay_stats::guard(interval, scale, lower_is_better, largest) {
                Guard::Held => GuardWord::Held,
                Guard::Violated => GuardWord::Violated,
                Guard::Inconclusive => GuardWord::Inconclusive,
            }
        })
    });
    let verdict = match (verdict, lower_is_better) {
        (MetricVerdict::Higher, false) | (MetricVerdict::Lower, true) => MetricWord::Improves,
        (MetricVerdict::Higher, true) | (MetricVerdict::Lower, false) => MetricWord::Worsens,
        (MetricVerdict::Negligible, _) => MetricWord::Negligible,
        (MetricVerdict::Inconclusive, _) => MetricWord::Inconclusive,
    };
    (verdict, guard)
}

/// The values of a metric in one arm.
struct Arm<'a> {
    /// By task; only tasks with a value.
    values: BTreeMap<&'a str, Vec<f64>>,
    missing: usize,
}

impl<'a> Arm<'a> {
    fn of(metric: &MetricSpec, table: &'a Table, condition: &str) -> Self {
        let mut arm = Self { values: BTreeMap::new(), missing: 0 };
        for (task, slot) in table.cells.get(condition).into_iter().flatten() {
            let (values, missing) = values(metric, slot);
            arm.missing += missing;
            if !values.is_empty() {
                arm.values.insert(task, values);
            }
        }
        arm
    }

    fn median(&self) -> Option<f64> {
        median(self.values.values().flatten().copied().collect())
    }

    fn median_of_medians(&self) -> Option<f64> {
        median(self.values.values().filter_map(|values| median(values.clone())).collect())
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    sample_quantile(&values, 0.5)
}

/// The values of a cell's valid trials, and how many have none.
fn values(metric: &MetricSpec, slot: &Slot) -> (Vec<f64>, usize) {
    let mut valid = 0;
    let values: Vec<f64> = slot
        .valid()
        .inspect(|_| valid += 1)
        .filter_map(|result| value(&metric.source, result))
        .filter(|value| value.is_finite())
        .collect();
    let missing = valid - values.len();
    (values, missing)
}

/// The value of a trial; `None` if it is unknown.
fn value(source: &MetricSource, result: &TrialResult) -> Option<f64> {
    match source {
        MetricSource::Score => result.score,
        MetricSource::Tokens => result.usage.map(|usage| usage.total() as f64),
        MetricSource::InputTokens => result.usage.map(|usage| usage.prompt() as f64),
        MetricSource::OutputTokens => result.usage.map(|usage| usage.output as f64),
        MetricSource::CostUsd => result.cost_usd,
        MetricSource::Turns => result.turns.map(|turns| turns as f64),
        MetricSource::Seconds => result.seconds,
        MetricSource::LinesChanged => result.numbers.get(LINES_CHANGED).copied(),
        // Values of a task.
        MetricSource::PassAll(_) | MetricSource::PassAny(_) => None,
        MetricSource::Number(key) => result.numbers.get(key).copied(),
    }
}
