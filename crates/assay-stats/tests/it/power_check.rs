//! The predicted power of plans against real suites.

use std::collections::BTreeMap;

use assay_stats::plan::{Impossible, MOVING, Plan, SPREAD};
use assay_stats::random::{Purpose, index, stream};
use assay_stats::simulate::Baseline;
use assay_stats::{PairedTask, VerdictKind, lift, verdict};

/// Every n-th pair of models is planned: `ASSAY_EVERY_PAIR=1` plans all.
const EVERY: usize = 6;

/// The predicted and the observed power for a pair of models.
#[derive(Clone, Copy, Debug, PartialEq)]
struct PowerCheck {
    /// The lift of the pair, which the plan is to detect.
    lift: f64,
    /// The tasks needed according to the plan.
    tasks: usize,
    /// The power predicted with them.
    predicted: f64,
    /// The share of resampled suites of that size with the right verdict.
    observed: f64,
}

/// Plans the comparison of two arms with known trials, and resamples suites from their tasks.
///
/// The plan has 80% power for the lift of the pair, at its own baseline and repetitions; a
/// resampled suite has all trials of its tasks. `None` if no number of tasks is enough.
fn check_power(
    plan: &Plan,
    tasks: &[PairedTask],
    suites: u64,
    seed: u64,
) -> Result<Option<PowerCheck>, Impossible> {
    let lift = lift(tasks, 0.95).map_or(0.0, |estimate| estimate.mean);
    let Some(needed) = plan.tasks_for_lift(lift, seed)? else { return Ok(None) };
    let predicted = Plan { tasks: needed, ..*plan }.chances(lift, seed)?;
    let kind = if lift > 0.0 { VerdictKind::Helps } else { VerdictKind::Harms };
    let right = (0..suites)
        .filter(|&suite| {
            let mut random = stream(seed, Purpose::PowerCheck, suite);
            let drawn: Vec<PairedTask> =
                (0..needed).map(|_| tasks[index(&mut random, tasks.len())].clone()).collect();
            verdict(&drawn, plan.family, plan.margin, None).kind == kind
        })
        .count();
    Ok(Some(PowerCheck {
        lift,
        tasks: needed,
        predicted: if lift > 0.0 { predicted.helps } else { predicted.harms },
        observed: right as f64 / suites.max(1) as f64,
    }))
}

/// Each model's trials of each task.
type Models = BTreeMap<String, BTreeMap<String, Vec<f64>>>;

fn models() -> Models {
    let file = assay_test::shared("trials/mcpmark.jsonl.zst");
    let text = zstd::decode_all(std::fs::File::open(file).unwrap()).unwrap();
    let mut models = Models::new();
    for line in std::str::from_utf8(&text).unwrap().lines() {
        let trial: serde_json::Value = serde_json::from_str(line).unwrap();
        let name = |key: &str| trial[key].as_str().unwrap().to_owned();
        let task = models.entry(name("model")).or_default().entry(name("task")).or_default();
        task.push(trial["score"].as_f64().unwrap());
    }
    // Models that ran each task four times.
    models.retain(|_, tasks| tasks.values().all(|trials| trials.len() == 4));
    models
}

/// On average over pairs of models with a lift of at least 12 pp, predicted and observed power
/// differ by at most 7 pp, with the default baseline and with a pilot of the worse model: of ten tasks, and of all.
#[test]
#[ignore = "needs shared data"]
fn predicted_power_is_observed_on_real_suites() {
    let models = models();
    let every = if std::env::var_os("ASSAY_EVERY_PAIR").is_some() { 1 } else { EVERY };
    let mut pairs = Vec::new();
    for (worse, base) in &models {
        for (better, arm) in &models {
            let tasks: Vec<PairedTask> = base
                .iter()
                .filter_map(|(task, base)| {
                    Some(PairedTask { arm: arm.get(task)?.clone(), base: base.clone(), cluster: None })
                })
                .collect();
            if worse != better && lift(&tasks, 0.95).unwrap().mean >= 0.12 {
                pairs.push(tasks);
            }
        }
    }
    assert!(pairs.len() > 50, "{} pairs", pairs.len());
    for piloted in [None, Some(10), Some(usize::MAX)] {
        let checks: Vec<PowerCheck> = pairs
            .iter()
            .step_by(every)
            .enumerate()
            .filter_map(|(number, tasks)| {
                let mut records: Vec<Vec<f64>> = tasks.iter().map(|task| task.base.clone()).collect();
                let mut random = stream(7, Purpose::PowerCheck, number as u64);
                for last in (1..records.len()).rev() {
                    records.swap(last, index(&mut random, last + 1));
                }
                let pilot = piloted.and_then(|n: usize| Baseline::pilot(&records[..n.min(records.len())]));
                let baseline = pilot.unwrap_or_default();
                let plan = Plan {
                    tasks: 5,
                    repetitions: 4,
                    base_repetitions: 4,
                    family: 1,
                    margin: 0.1,
                    baseline,
                    spread: SPREAD,
                    moving: MOVING,
                };
                check_power(&plan, tasks, 500, 1).unwrap_or_default()
            })
            .collect();
        let planned = pairs.len().div_ceil(every);
        assert!(
            10 * checks.len() >= 9 * planned,
            "only {} of {planned} pairs could be planned",
            checks.len()
        );
        let mean =
            |figure: fn(&PowerCheck) -> f64| checks.iter().map(figure).sum::<f64>() / checks.len() as f64;
        let (predicted, observed) = (mean(|checks| checks.predicted), mean(|checks| checks.observed));
        let mut tasks: Vec<usize> = checks.iter().map(|checks| checks.tasks).collect();
        tasks.sort_unstable();
        eprintln!(
            "{} of {} pairs, {}: predicted {predicted:.3}, observed {observed:.3}, median of {} tasks",
            checks.len(),
            pairs.len(),
            match piloted {
                None => "assumed baseline",
                Some(10) => "pilot of ten tasks",
                Some(_) => "pilot of all tasks",
            },
            tasks[tasks.len() / 2],
        );
        assert!((predicted - observed).abs() <= 0.07, "predicted {predicted}, observed {observed}");
    }
}
