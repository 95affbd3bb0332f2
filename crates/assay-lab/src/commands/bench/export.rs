//! `assay lab bench export`.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use assay_store::{Cell, ConditionRole, Outcome, Record, RunFolder, Store, TrialId, write_json};
use clap::ValueEnum;
use serde::Serialize;
use serde_json::{Value, json};

use super::process::{assay_program, io, peak_memory_of};
use crate::args::bench::ExportBenchArgs;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

/// Trials of a task under each of the two conditions.
const REPETITIONS: u32 = 5;

/// How often the memory of the export is read. Its peak only grows.
const INTERVAL: Duration = Duration::from_millis(20);

#[derive(Serialize)]
struct Figures {
    schema: &'static str,
    records: usize,
    /// Size of the store's plan, in MB.
    plan_mb: f64,
    seconds: f64,
    records_per_second: f64,
    /// Peak memory of the export, in MB.
    peak_memory_mb: f64,
}

pub(super) fn run(args: &ExportBenchArgs, ui: &Ui) -> Result<Status, Failure> {
    let folder = tempfile::tempdir().map_err(|error| io("create a temporary folder", &error))?;
    let root = folder.path().join("store");
    let plan = write_store(&root, args.records)?;
    let program = assay_program()?;
    let format = args.table_format.to_possible_value().map(|value| value.get_name().to_owned());
    let clock = Instant::now();
    let mut export = Command::new(program)
        .args(["export", "data", "--as", &format.unwrap_or_default(), "--store"])
        .arg(&root)
        .arg("--out")
        .arg(folder.path().join("tables"))
        .stdout(Stdio::null())
        .spawn()
        .map_err(|error| io("start the export", &error))?;
    let process = export.id().to_string();
    let mut peak = 0.0_f64;
    let status = loop {
        peak = peak.max(peak_memory_of(&process).unwrap_or_default());
        if let Some(status) = export.try_wait().map_err(|error| io("wait for the export", &error))? {
            break status;
        }
        std::thread::sleep(INTERVAL);
    };
    let seconds = clock.elapsed().as_secs_f64();
    if !status.success() {
        return Err(Failure::infrastructure(format!("the export failed: {status}")));
    }
    let records = plan.cells.len();
    let size = fs::metadata(root.join("runs/bench/plan.json")).map_or(0, |file| file.len());
    let figures = Figures {
        schema: "assay.bench-export/1",
        records,
        plan_mb: size as f64 / 1e6,
        seconds,
        records_per_second: records as f64 / seconds,
        peak_memory_mb: peak,
    };
    if ui.json() {
        ui.document(&figures)?;
    } else {
        ui.out(&format!(
            "{records} records in {seconds:.1} s, {:.0} records/s; peak memory {peak:.0} MB; plan of {:.0} MB\n",
            figures.records_per_second, figures.plan_mb
        ))?;
    }
    Ok(Status::Done)
}

/// A store with one finished run, without specifications and trajectories.
pub(super) fn write_store(root: &Path, records: u32) -> Result<RunFolder, Failure> {
    let store = Store::open(root)?;
    let conditions = [ConditionRole::None.name(), ConditionRole::Curated.name()];
    let tasks = records.div_ceil(2 * REPETITIONS);
    let task_name = |task: u32| format!("task-{task:06}");
    let label = json!({ "name": "loop", "version": "1", "model": "provider:model" });
    let mut cells = Vec::new();
    'all: for task in 0..tasks {
        for condition in conditions {
            for repetition in 1..=REPETITIONS {
                if cells.len() == records as usize {
                    break 'all;
                }
                let trial = TrialId::of(&json!([task, condition, repetition]));
                let random = trial.seed();
                let outcome = if random.is_multiple_of(2) { Outcome::Passed } else { Outcome::Failed };
                let reward = f64::from(u8::from(outcome == Outcome::Passed));
                let agent = serde_json::from_value(label.clone());
                let agent = agent.map_err(|error| Failure::infrastructure(error.to_string()))?;
                let record = Record {
                    sandbox: "bubblewrap".to_owned(),
                    condition: condition.to_owned(),
                    repetition,
                    reward: Some(reward),
                    cost_usd: Some((random >> 8 & 1023) as f64 / 1024.0),
                    numbers: [("lines_changed".to_owned(), (random >> 20 & 127) as f64)].into(),
                    ..Record::new(trial.clone(), task_name(task), agent, outcome)
                };
                let folder = store.trial_folder(&trial);
                fs::create_dir_all(&folder).map_err(|error| io("create a folder", &error))?;
                let bytes = serde_json::to_vec(&record).unwrap_or_default();
                fs::write(folder.join("record.json"), bytes).map_err(|error| io("write a record", &error))?;
                cells.push(Cell {
                    task: task_name(task),
                    agent: 0,
                    sandbox: "bubblewrap".to_owned(),
                    condition: condition.to_owned(),
                    repetition,
                    trial,
                });
            }
        }
    }
    let tasks: Vec<Value> =
        (0..tasks).map(|task| json!({ "name": task_name(task), "digest": "", "curated": [] })).collect();
    let plan = json!({
        "schema": RunFolder::SCHEMA, "run": "bench", "plan": "", "margin": 0.1, "seed": 1,
        "repetitions": REPETITIONS, "conditions": conditions, "disclosure": "offered",
        "agents": [{ "label": label, "measures_a_model": true }], "tasks": tasks, "cells": [],
        "excluded": [], "equal_conditions": [],
    });
    let mut plan: RunFolder =
        serde_json::from_value(plan).map_err(|error| Failure::infrastructure(error.to_string()))?;
    plan.cells = cells;
    plan.seal();
    let folder = store.run_folder(&plan.run);
    fs::create_dir_all(&folder).map_err(|error| io("create a folder", &error))?;
    write_json(&folder.join("plan.json"), &plan)?;
    Ok(plan)
}
