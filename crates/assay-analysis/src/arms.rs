//! The measurements of each arm.

use std::collections::BTreeMap;

use assay_store::{Outcome, RunFolder};

use crate::delivered;
use crate::model::{Arm, EstimatedShare, ExposureShares, TokenCounts};
use crate::result::TrialResult;
use crate::table::{Slot, Table};

pub(crate) fn arms(run: &RunFolder, tables: &[Table]) -> Vec<Arm> {
    let mut arms = Vec::new();
    for table in tables {
        for condition in &run.conditions {
            if let Some(tasks) = table.cells.get(condition) {
                arms.push(arm(run, table, condition, tasks));
            }
        }
    }
    arms
}

fn arm(run: &RunFolder, table: &Table, condition: &str, tasks: &BTreeMap<String, Slot>) -> Arm {
    let shared = table.shared_tasks();
    let usable = table.is_usable(condition);
    let counted: Vec<&Slot> = tasks
        .iter()
        .filter(|(task, _)| usable && shared.contains(task.as_str()))
        .map(|(_, slot)| slot)
        .collect();
    let valid: Vec<&TrialResult> = counted.iter().flat_map(|slot| slot.valid()).collect();
    let all: Vec<&TrialResult> = tasks.values().flat_map(|slot| &slot.results).collect();
    let rate = |values: fn(&Slot) -> Vec<f64>| {
        let values: Vec<Vec<f64>> = counted.iter().map(|slot| values(slot)).collect();
        assay_stats::rate(&values, 0.95)
    };
    let (passes, scores) = (rate(Slot::passes), rate(Slot::scores));
    let ends = |estimate: Option<assay_stats::Estimate>| {
        estimate.and_then(|estimate| estimate.interval).map(|interval| [interval.low, interval.high])
    };
    let executed_tasks = table.executed_tasks();
    let bound = |lost: f64| {
        let all = tasks.iter().filter(|(task, _)| executed_tasks.contains(task.as_str()));
        let scores: Vec<Vec<f64>> = all.map(|(_, slot)| slot.scores_with(lost)).collect();
        assay_stats::rate(&scores, 0.95).map(|estimate| estimate.mean)
    };
    let mut causes = BTreeMap::new();
    for cause in all.iter().filter_map(|record| record.cause) {
        *causes.entry(cause.word().to_owned()).or_default() += 1;
    }
    let count = |outcome: Outcome| all.iter().filter(|record| record.outcome == outcome).count();
    let planned: usize = tasks.values().map(|slot| slot.planned).sum();
    let counts = tokens(&valid);
    Arm {
        who: table.who.clone(),
        condition: condition.to_owned(),
        role: run.role_of(condition),
        disclosure: run.disclosure_of(condition).to_owned(),
        placement: run.agents[table.agent].placement,
        tasks: counted.len(),
        trials: valid.len(),
        planned,
        pass_rate: passes.map(|estimate| estimate.mean),
        ci95: ends(passes),
        score: scores.map(|estimate| estimate.mean),
        score_ci95: ends(scores),
        bounds: bound(0.0).zip(bound(1.0)).map(|(low, high)| [low, high]).filter(|_| usable),
        tokens: counts.map(|(total, _)| total),
        token_counts: counts.map(|(_, counts)| counts),
        cost_usd: mean_if_all(&valid, |record| record.cost_usd),
        estimated: estimated(&valid),
        seconds: mean_if_all(&valid, |record| record.seconds),
        turns: mean_if_all(&valid, |record| Some(record.turns? as f64)),
        exposure: exposure(&valid),
        generated: delivered::generated_shares(tasks.values().flat_map(Slot::valid)),
        infrastructure: count(Outcome::Infrastructure),
        infrastructure_causes: causes,
        unfinished: planned - all.len(),
        contaminated: all.iter().filter(|record| record.outcome.counts() && record.contaminated).count(),
        evidence_lost: all.iter().filter(|record| record.evidence_lost).count(),
        tampered: count(Outcome::Tampered),
        timed_out: count(Outcome::TimedOut),
    }
}

/// The mean of a figure that every record has; an unknown one makes the mean unknown.
fn mean_if_all(records: &[&TrialResult], figure: impl Fn(&TrialResult) -> Option<f64>) -> Option<f64> {
    let figures: Option<Vec<f64>> = records.iter().map(|record| figure(record)).collect();
    figures
        .filter(|figures| !figures.is_empty())
        .map(|figures| figures.iter().sum::<f64>() / figures.len() as f64)
}

/// Mean tokens of a trial, and the same by kind.
fn tokens(records: &[&TrialResult]) -> Option<(f64, TokenCounts)> {
    let counted: Vec<assay_usage::Usage> = records.iter().filter_map(|record| record.usage).collect();
    if counted.is_empty() {
        return None;
    }
    let n = counted.len() as f64;
    let mean = |field: fn(&assay_usage::Usage) -> u64| {
        counted.iter().map(|usage| field(usage) as f64).sum::<f64>() / n
    };
    let is_split = !records.iter().any(|record| record.usage.is_some() && record.cache_unknown);
    let total = counted.iter().map(|usage| usage.total() as f64).sum::<f64>() / n;
    let counts = TokenCounts {
        input: mean(|usage| usage.input),
        output: mean(|usage| usage.output),
        cache_read: is_split.then(|| mean(|usage| usage.cache_read)),
        cache_write: is_split.then(|| mean(|usage| usage.cache_write)),
    };
    Some((total, counts))
}

fn estimated(records: &[&TrialResult]) -> Option<EstimatedShare> {
    let trials = records.iter().filter(|record| record.estimated.is_some()).count();
    let sum = |usages: &mut dyn Iterator<Item = assay_usage::Usage>| {
        usages.map(|usage| usage.total() as f64).sum::<f64>()
    };
    let all = sum(&mut records.iter().filter_map(|record| record.usage));
    let guessed = sum(&mut records.iter().filter_map(|record| Some(record.estimated?.usage)));
    (trials > 0).then(|| EstimatedShare { trials, share: if all > 0.0 { guessed / all } else { 0.0 } })
}

/// The shares of trials that reached each stage; `None` if that of a trial is unknown, or there is none.
fn exposure(records: &[&TrialResult]) -> Option<ExposureShares> {
    let reached: Vec<[bool; 5]> = records.iter().map(|record| record.exposure).collect::<Option<_>>()?;
    if reached.is_empty() {
        return None;
    }
    let share =
        |stage: usize| reached.iter().filter(|stages| stages[stage]).count() as f64 / reached.len() as f64;
    let [offered, advertised, mentioned, opened, executed] = [0, 1, 2, 3, 4].map(share);
    Some(ExposureShares { offered, advertised, mentioned, opened, executed })
}
