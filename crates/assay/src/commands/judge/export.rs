//! `assay judge export`: the judged items of a run, or its pairs of results, as tables.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_report::counted;
use assay_store::{Record, RunFolder, Store, write_atomically};
use assay_trial::judging::{is_kept, judged_texts};
use serde_json::{Map, Value, json};

use crate::args::judge::{ExportArgs, ExportKind};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

/// A judged trial of a run.
struct Trial {
    record: Record,
    condition: String,
    instruction: String,
    material: Vec<(String, String)>,
}

pub(super) fn run(args: &ExportArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let store = machine::read_store(&settings.store)?;
    let run = store.run(&args.run)?;
    let trials = trials(&store, &run)?;
    if trials.is_empty() {
        return Err(Failure::bad_input(format!("no trial of {} was judged", run.run))
            .hint("tasks with tests/rubric.json are judged if the experiment has `[judge]`"));
    }
    let mut rows = match args.kind {
        ExportKind::Items => items(&trials),
        ExportKind::Pairs => pairs(&run, &trials),
    };
    if rows.is_empty() {
        return Err(Failure::bad_input(format!("{} has no such rows", run.run))
            .hint("pairs need a task with judged trials under the baseline and under another condition"));
    }
    if let Some(sample) = args.sample {
        rows = drawn(rows, sample, args.seed);
    }
    let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
    write_atomically(&args.out, text.as_bytes())?;
    let next = match args.kind {
        ExportKind::Items => "`assay judge sheet` takes it, for people to label",
        ExportKind::Pairs => "`assay judge pairs` reads it",
    };
    if ui.json() {
        ui.document(&json!({
            "schema": "assay.judge-export/1", "run": run.run, "rows": rows.len(), "out": args.out,
        }))?;
    }
    ui.note(&format!("wrote {} to {}; {next}", counted(rows.len(), "row", "rows"), args.out.display()));
    Ok(Status::Done)
}

fn trials(store: &Store, run: &RunFolder) -> Result<Vec<Trial>, Failure> {
    let kinds = run.judge.as_ref().map(|judge| judge.material.clone()).unwrap_or_default();
    let mut trials = Vec::new();
    for cell in &run.cells {
        let Some(record) = store.record(&cell.trial)? else { continue };
        if record.judgement.is_none() || !is_kept(store, &record) {
            continue;
        }
        let attempt: PathBuf =
            store.trial_folder(&cell.trial).join("attempts").join(record.attempt.to_string());
        let failed = |error: std::io::Error| {
            Failure::infrastructure(format!("cannot read what was judged of {}: {error}", cell.trial.short()))
        };
        let (instruction, material) = judged_texts(&attempt, &kinds).map_err(failed)?;
        trials.push(Trial { record, condition: cell.condition.clone(), instruction, material });
    }
    Ok(trials)
}

/// A row for each item of each trial, with the judge's verdict.
fn items(trials: &[Trial]) -> Vec<Value> {
    let mut rows = Vec::new();
    for trial in trials {
        let id = trial.record.trial.short();
        let materials: Map<String, Value> =
            trial.material.iter().map(|(name, text)| (name.clone(), json!(text))).collect();
        for item in trial.record.judgement.iter().flat_map(|judgement| &judgement.items) {
            // Nobody has to label what was decided without a judge, and scales have no two classes.
            if item.checked || item.verdict == "points" {
                continue;
            }
            let verdict = match item.verdict.as_str() {
                "met" => json!(true),
                "not-met" => json!(false),
                _ => Value::Null,
            };
            rows.push(json!({
                "item": format!("{id}/{}/{}", trial.condition, item.id), "task": trial.record.task,
                "cluster": trial.record.task, "condition": trial.condition, "model": trial.record.agent.model,
                "repetition": trial.record.repetition, "criterion": item.text, "instruction": trial.instruction,
                "materials": materials, "verdict": verdict, "quote": item.quote, "reason": item.reason,
                "undecided": item.undecided,
                "judge": trial.record.judgement.as_ref().map(|judgement| judgement.judges.join(", ")),
            }));
        }
    }
    rows
}

/// A row for each task, condition and repetition: `a` is the result under the baseline.
fn pairs(run: &RunFolder, trials: &[Trial]) -> Vec<Value> {
    let Some((baseline, others)) = run.conditions.split_first() else { return Vec::new() };
    let key = |trial: &Trial| {
        let agent = &trial.record.agent;
        (trial.record.task.clone(), agent.name.clone(), agent.model.clone(), trial.record.repetition)
    };
    let base: BTreeMap<_, &Trial> =
        trials.iter().filter(|trial| trial.condition == *baseline).map(|trial| (key(trial), trial)).collect();
    // People read them, too; `judge pairs` puts a mark around each.
    let text = |trial: &Trial| {
        let parts = trial.material.iter().map(|(name, text)| format!("--- {name}\n{text}\n"));
        parts.collect::<String>()
    };
    let mut rows = Vec::new();
    for trial in trials.iter().filter(|trial| others.contains(&trial.condition)) {
        let Some(base) = base.get(&key(trial)) else { continue };
        let model = &trial.record.agent.model;
        rows.push(json!({
            "task": trial.record.task, "repetition": trial.record.repetition, "instruction": trial.instruction,
            "a": text(base), "b": text(trial), "condition_a": baseline, "condition_b": trial.condition,
            "model_a": model, "model_b": model,
        }));
    }
    rows
}

/// A random sample of rows, in their order.
fn drawn(rows: Vec<Value>, sample: usize, seed: u64) -> Vec<Value> {
    let mut ranked: Vec<(blake3::Hash, usize)> = (0..rows.len())
        .map(|at| (blake3::hash(format!("{seed} {at} {}", rows[at]["item"]).as_bytes()), at))
        .collect();
    ranked.sort_by_key(|(hash, at)| (*hash.as_bytes(), *at));
    let mut kept: Vec<usize> = ranked.into_iter().take(sample).map(|(_, at)| at).collect();
    kept.sort_unstable();
    let mut rows: Vec<Option<Value>> = rows.into_iter().map(Some).collect();
    kept.into_iter().filter_map(|at| rows[at].take()).collect()
}
