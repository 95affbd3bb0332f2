//! What plans promise, against real suites.

use std::collections::BTreeMap;

use assay_stats::plan::{MOVING, Plan, Promise, SPREAD, promise};
use assay_stats::simulate::Baseline;
use assay_stats::{PairedTask, lift};

/// Every n-th pair of models is planned: `ASSAY_EVERY_PAIR=1` plans all.
const EVERY: usize = 6;

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

/// On average over pairs of models with a lift of 12 points or more, the power that a plan promises is had within 7 points,
/// with the default baseline and with a pilot of the worse model.
#[test]
#[ignore = "needs shared data"]
fn what_a_plan_promises_holds_on_real_suites() {
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
    for piloted in [false, true] {
        let kept: Vec<Promise> = pairs
            .iter()
            .step_by(every)
            .filter_map(|tasks| {
                let records: Vec<Vec<f64>> = tasks.iter().map(|task| task.base.clone()).collect();
                let baseline = Baseline::pilot(&records).filter(|_| piloted).unwrap_or_default();
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
                promise(&plan, tasks, 500, 1).unwrap_or_default()
            })
            .collect();
        let asked = pairs.len().div_ceil(every);
        assert!(10 * kept.len() >= 9 * asked, "only {} of {asked} pairs could be planned", kept.len());
        let mean = |figure: fn(&Promise) -> f64| kept.iter().map(figure).sum::<f64>() / kept.len() as f64;
        let (promised, had) = (mean(|kept| kept.promised), mean(|kept| kept.had));
        let mut tasks: Vec<usize> = kept.iter().map(|kept| kept.tasks).collect();
        tasks.sort_unstable();
        eprintln!(
            "{} of {} pairs, {}: promised {promised:.3}, had {had:.3}, median of {} tasks",
            kept.len(),
            pairs.len(),
            if piloted { "piloted" } else { "assumed baseline" },
            tasks[tasks.len() / 2],
        );
        assert!((promised - had).abs() <= 0.07, "promised {promised}, had {had}");
    }
}
