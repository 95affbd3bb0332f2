//! Records on disk.

use std::fs;
use std::time::{Duration, Instant};

use assay_analysis::Note;
use assay_store::{Cell, Record, RunFolder, Store, TrialId};
use serde_json::{Value, json};

use crate::suite::Suite;

/// A store with a suite's records.
fn stored(suite: &Suite) -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    for (trial, record) in suite.records() {
        let text = record.map_or("{\"schema\":".to_owned(), |record| serde_json::to_string(record).unwrap());
        write_record(&store, trial, &text);
    }
    (folder, store)
}

fn write_record(store: &Store, trial: &TrialId, text: &str) {
    let folder = store.trial_folder(trial);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("record.json"), text).unwrap();
}

#[test]
fn stored_records_give_the_same_report() {
    let suite = Suite::new(
        &["none", "curated"],
        &[("a", &["PFT", "PPX"]), ("b", &["Pi.", "P5?"]), ("c", &["F3F", "iii"])],
    )
    .each(|record| {
        record.cost_usd = Some(0.5);
        if record.outcome == assay_store::Outcome::Failed && record.reward.is_none() {
            record.rewards = [("a".to_owned(), -1.0), ("b".to_owned(), 0.5)].into();
        }
        record.ctrf = Some(json!({ "results": { "tests": [{ "name": "one" }] } }));
        record.contaminated = vec!["one".into()];
        record.exposure = Some(vec![assay_trace::Exposure {
            skill: "one".into(),
            offered: true,
            advertised: Some(1),
            mentioned: None,
            opened: Some(2),
            executed: Some(assay_trace::Execution {
                step: 2,
                file: "a.py".into(),
                evidence: "command-text".into(),
            }),
            body_lines: 3,
            body_lines_delivered: 3,
        }]);
    });
    let (_folder, store) = stored(&suite);
    // A store knows the question, too.
    let mut found = assay_analysis::report(&store, &suite.run).unwrap();
    assert!(found.question.take().is_some_and(|question| question.earlier.is_empty()));
    // And where its records come from: these have no signature.
    let origins = found.origins.take().unwrap();
    assert_eq!((origins.signed, origins.unsigned), (0, 16));
    let stated = found.notes.iter().position(|note| matches!(note, Note::Origins(_))).unwrap();
    assert_eq!(found.notes.remove(stated), Note::Origins(origins));
    assert_eq!(found, suite.report());
}

#[test]
fn records_of_another_version_are_an_error() {
    let suite = Suite::new(&["none", "curated"], &[("a", &["PF", "PP"])]);
    let (_folder, store) = stored(&suite);
    let (trial, record) = suite.records().next().unwrap();
    let check = |text: &str| {
        write_record(&store, trial, text);
        let error = assay_analysis::report(&store, &suite.run).unwrap_err().to_string();
        let expected =
            "unsupported schema \"assay.record/9\": this version of assay reads \"assay.record/3\"";
        assert!(error.contains(expected) && error.contains("record.json"), "{error}");
    };
    let mut other: Value = serde_json::to_value(record.unwrap()).unwrap();
    other["schema"] = "assay.record/9".into();
    check(&other.to_string());
    // Also where all else is different.
    check("{\"schema\":\"assay.record/9\",\"outcome\":7}");
    // The same from memory.
    let other = suite.each(|record| record.schema = "assay.record/9".into());
    assert!(other.gather().unwrap_err().to_string().contains("assay.record/9"));
}

/// The text of a record as large as real ones are.
fn text(cell: &Cell, passed: bool) -> String {
    let tests: Vec<Value> = (0..8)
        .map(|n| json!({ "name": format!("test_{n}_of_the_verifier"), "status": "passed", "duration": 12, "message": "x".repeat(80) }))
        .collect();
    let exposure: Vec<Value> = (0..2)
        .map(|n| json!({ "skill": format!("skill-{n}"), "offered": true, "advertised": 1, "mentioned": 2, "opened": null,
            "executed": null, "body_lines": 40, "body_lines_delivered": 3 }))
        .collect();
    json!({
        "schema": Record::SCHEMA, "trial": cell.trial, "task": cell.task,
        "agent": { "name": "loop", "version": "1", "model": "openai:one" }, "sandbox": cell.sandbox,
        "condition": cell.condition, "repetition": cell.repetition,
        "outcome": if passed { "passed" } else { "failed" }, "reward": 1.0, "ctrf": { "results": { "tests": tests } },
        "turns": 9, "usage": { "input": 1, "output": 2, "cache_read": 3, "cache_write": 4 }, "cost_usd": 0.01,
        "seconds": { "prepare": 0.1, "agent": 9.0, "throttled": 0.0, "verify": 1.0, "total": 10.1 },
        "exposure": exposure, "measures_a_model": true, "attempt": 1,
        "started_at": "2026-01-01T00:00:00Z", "finished_at": "2026-01-01T00:00:10Z",
    })
    .to_string()
}

/// Writes a run of 40,000 trials: 400 tasks, 4 conditions, 5 agents, 5 repetitions.
fn large(store: &Store) -> RunFolder {
    let small = Suite::new(&["none", "curated", "placebo", "full"], &[]);
    let mut run = small.run.clone();
    run.agents = (0..5)
        .map(|n| {
            let mut agent = run.agents[0].clone();
            agent.label.model = Some(format!("openai:model-{n}"));
            agent
        })
        .collect();
    let template = Suite::new(&["none"], &[("task", &["P"])]).run.tasks[0].clone();
    for task in 0..400 {
        let mut planned = template.clone();
        planned.name = format!("a-task-of-some-length-{task:03}");
        planned.category = Some(format!("domain-{}", task % 7));
        planned.difficulty = Some(["easy", "medium", "hard"][task % 3].into());
        for (number, condition) in run.conditions.iter().enumerate() {
            for agent in 0..5 {
                for repetition in 1..=5_u32 {
                    let key = json!([task, condition, agent, repetition]);
                    let cell = Cell {
                        task: planned.name.clone(),
                        agent,
                        sandbox: "bubblewrap".into(),
                        condition: condition.clone(),
                        repetition,
                        trial: TrialId::of(&key),
                    };
                    let draw = (task * 31 + agent * 7 + repetition as usize * 13) % 10;
                    write_record(store, &cell.trial, &text(&cell, draw < 4 + number));
                    run.cells.push(cell);
                }
            }
        }
        run.tasks.push(planned);
    }
    run
}

#[test]
#[ignore = "writes 40,000 files and wants an optimised build: cargo test --release -p assay-analysis -- --ignored"]
fn forty_thousand_records_take_under_two_seconds_and_300_megabytes() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let name = {
        let mut run = large(&store);
        run.seal();
        let path = store.run_folder(&run.run).join("plan.json");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, serde_json::to_vec_pretty(&run).unwrap()).unwrap();
        run.run
    };
    let start = Instant::now();
    let run = store.run(&name).unwrap();
    let planned = start.elapsed();
    let report = assay_analysis::report(&store, &run).unwrap();
    let whole = start.elapsed();
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    let kilobytes: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert_eq!((report.arms.len(), report.arms[0].trials), (20, 2000));
    let said = format!("plan {planned:?}, all {whole:?}, {kilobytes} kB");
    assert!(whole < Duration::from_secs(2) && kilobytes < 300_000, "{said}");
    // Shown with --nocapture.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{said}\n").as_bytes());
}

/// A record under another trial's id is not a result.
#[test]
fn a_record_of_another_trial_counts_as_unreadable() {
    let suite = Suite::new(&["none", "curated"], &[("a", &["PP", "PF"])]);
    let (_folder, store) = stored(&suite);
    let trials = || {
        let report = assay_analysis::report(&store, &suite.run).unwrap();
        let unreadable = report.notes.iter().filter(|note| matches!(note, Note::Unreadable { .. })).count();
        (report.arms.iter().map(|arm| arm.trials).sum::<usize>(), unreadable)
    };
    assert_eq!(trials(), (4, 0));
    let mut records = suite.records();
    let ((first, _), (_, other)) = (records.next().unwrap(), records.next().unwrap());
    write_record(&store, first, &serde_json::to_string(other.unwrap()).unwrap());
    assert_eq!(trials(), (3, 1));
}

#[test]
fn a_plan_says_what_its_recorded_baseline_knows_and_its_estimand() {
    let rows: crate::suite::Rows<'_> = &[("a", &["FF", ".."]), ("b", &["FF", ".."])];
    let suite = Suite::new(&["none", "curated"], rows)
        .each(|record| {
            let test = |item: &str, status: &str| {
                json!({ "name": item, "status": status, "extra": { "set": "if", "item": item, "canary": true } })
            };
            let gives = if record.repetition == 2 { "passed" } else { "failed" };
            record.ctrf = Some(json!({ "tests": [test("d1", gives), test("d2", "failed")] }));
        })
        .plan(|run| run.selected_by = vec!["openai:one".to_owned()]);
    let (_folder, store) = stored(&suite);
    let execution = assay_analysis::Execution {
        concurrency: 1,
        limits: Vec::new(),
        several_rewards: std::collections::BTreeSet::new(),
        trial_caps: vec![None],
    };
    let request = assay_analysis::PlanRequest::default();
    let found = assay_analysis::forecast(&suite.run, &execution, &store, request).unwrap();
    let known: Vec<_> =
        found.canaries.iter().map(|one| (one.baseline.as_str(), one.known, one.total)).collect();
    assert_eq!(known, [("none", 1, 2)]);
    assert_eq!(found.selected_by, ["openai:one"]);
}
