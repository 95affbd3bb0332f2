//! `assay show`: the runs, a run's trials, or one trial.

pub(super) mod history;
mod runs;

use std::fs;
use std::path::Path;

use assay_diagnostic::group_digits;
use assay_report::{clean, counted, seconds};
use assay_store::{Evidence, Record, Store, StoreError, TrialId};
use assay_trace::{Source, Trajectory};
use serde_json::{Value, json};

use crate::args::show::ShowArgs;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

/// Most characters of one message or output on a terminal; the files hold all of it.
const SHOWN: usize = 4_000;

/// Most failed checks that are named.
const FAILED_CHECKS: usize = 10;

pub(crate) fn run(args: &ShowArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    if args.history {
        return history::run(&args.what, settings, ui);
    }
    let what = match &args.what[..] {
        [] => return runs::run(settings, ui),
        [what] => what,
        [_, more, ..] => {
            return Err(Failure::bad_input(format!(
                "unexpected argument {more:?}: only one run or trial can be shown at a time"
            ))
            .hint("`assay compare` compares two runs; `assay show --history` takes several"));
        }
    };
    let store = machine::read_store(&settings.store)?;
    match store.run(what) {
        Ok(_) => show_run(&store, what, ui)?,
        Err(StoreError::NotFound(no_run)) => match store.find_trial(what) {
            Ok(id) => show_trial(&store, &id, ui)?,
            Err(StoreError::NotFound(no_trial)) => {
                return Err(
                    Failure::bad_input(format!("{no_run}; {no_trial}")).hint("`assay show` lists the runs")
                );
            }
            Err(error) => return Err(error.into()),
        },
        Err(error) => return Err(error.into()),
    }
    Ok(Status::Done)
}

fn show_run(store: &Store, name: &str, ui: &Ui) -> Result<(), Failure> {
    let run = store.run(name)?;
    let mut rows = Vec::new();
    for cell in &run.cells {
        let record = store.record(&cell.trial)?;
        rows.push((cell, record));
    }
    if ui.json() {
        let cells: Vec<Value> =
            rows.iter().map(|(cell, record)| json!({ "cell": cell, "record": record })).collect();
        return ui.document(&json!({ "schema": "assay.cells/1", "run": run.run, "cells": cells }));
    }
    let width = run.tasks.iter().map(|task| task.name.chars().count()).max().unwrap_or_default();
    let condition = run.conditions.iter().map(|name| name.chars().count()).max().unwrap_or_default();
    let mut text = String::new();
    for (cell, record) in rows {
        let outcome = record.as_ref().map_or("unfinished", |record| record.outcome.word());
        let reward = record.as_ref().and_then(|record| record.reward);
        let reward = reward
            .filter(|reward| ![0.0, 1.0].contains(reward))
            .map_or(String::new(), |reward| format!("  reward {reward}"));
        let reason = record
            .and_then(|record| record.reason)
            .map_or(String::new(), |reason| format!("  {}", clean(&reason)));
        text.push_str(&format!(
            "{}  {:width$}  {:condition$}  {:>3}  {outcome}{reward}{reason}\n",
            cell.trial.short(),
            clean(&cell.task),
            cell.condition,
            cell.repetition,
        ));
    }
    ui.out(&text)
}

fn show_trial(store: &Store, id: &TrialId, ui: &Ui) -> Result<(), Failure> {
    let folder = store.trial_folder(id);
    // Work that judges decide on has a record of its own.
    let record = match store.record(id)? {
        Some(record) => Some(record),
        None => store.work_record(id)?,
    };
    let attempt = record.as_ref().map_or(1, |record| record.attempt);
    let attempt = folder.join("attempts").join(attempt.to_string());
    let trajectory: Option<Trajectory> =
        fs::read(attempt.join("trajectory.json")).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let diff = fs::read(attempt.join("workspace.diff"))
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .ok();
    let verifier = fs::read(attempt.join("verifier/test-stdout.txt"))
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .ok();
    if ui.json() {
        return ui.document(&json!({
            "schema": "assay.trial/1",
            "trial": id,
            "folder": folder,
            "record": record,
            "trajectory": trajectory,
            "workspace_diff": diff,
            "verifier_output": verifier,
        }));
    }
    let mut text = heading(id, record.as_ref(), &attempt);
    if let Some(trajectory) = &trajectory {
        for step in &trajectory.steps {
            text.push_str(&steps(step));
        }
    }
    if let Some(diff) = diff {
        text.push_str(&format!("\n── changes ──\n{}\n", shorten(&diff)));
    }
    if let Some(verifier) = verifier {
        text.push_str(&format!("\n── verifier ──\n{}\n", shorten(&verifier)));
    }
    ui.out(&text)
}

/// What a record says, in a few lines.
pub(crate) fn heading(id: &TrialId, record: Option<&Record>, attempt: &Path) -> String {
    let Some(record) = record else {
        return format!("trial {id}\n  unfinished\n");
    };
    let model =
        record.agent.model.as_deref().map_or(String::new(), |model| format!(" with {}", clean(model)));
    let mut text = format!(
        "trial {id}\n  {} · {}{model} · {} · {} · repetition {}\n  {}",
        clean(&record.task),
        clean(&record.agent.name),
        record.condition,
        record.sandbox,
        record.repetition,
        record.outcome.word(),
    );
    if let Some(cause) = record.cause {
        text.push_str(&format!(" ({})", cause.word().replace('_', " ")));
    }
    if let Some(reason) = &record.reason {
        text.push_str(&format!(": {}", clean(reason)));
    }
    if let Some(reward) = record.reward {
        text.push_str(&format!(", reward {reward}"));
    }
    let time = record.seconds.total.map_or_else(|| "time unknown".to_owned(), seconds);
    let turns =
        record.turns.map_or_else(|| "turns unknown".to_owned(), |turns| counted(turns, "turn", "turns"));
    text.push_str(&format!(", {turns}, {time}\n"));
    if let Some(from) = &record.imported_from {
        text.push_str(&format!("  imported from {} ({})\n", clean(&from.file), clean(&from.format)));
    } else if let Some(signature) = &record.signature {
        text.push_str(&format!("  signed with the key {}\n", clean(&signature.key_id)));
    }
    if let Some(ended) = &record.ended {
        let ended = serde_json::to_value(ended).unwrap_or_default();
        let kind = ended.get("kind").and_then(Value::as_str).unwrap_or_default().replace('_', " ");
        text.push_str(&format!("  the agent ended: {kind}\n"));
    }
    if let Some(usage) = &record.usage {
        let assay_model::Usage { input, output, cache_read, cache_write } = usage;
        let read = [cache_read, cache_write].into_iter().fold(*input, |sum, more| sum.saturating_add(*more));
        let (read, output) = (counted(read, "token", "tokens"), group_digits(*output));
        text.push_str(&format!("  {read} read, {output} written"));
        if let Some(estimated) = &record.estimated {
            let assay_model::Usage { input, output, .. } = &estimated.usage;
            text.push_str(&format!("; estimated: {input} and {output} of them"));
        }
        text.push('\n');
    }
    for (model, replies) in &record.replied_models {
        text.push_str(&format!("  {} replied {}\n", clean(model), counted(*replies, "time", "times")));
    }
    if record.exposure.is_none() {
        text.push_str("  skills: unknown whether any was advertised or opened\n");
    }
    let checks = record.checks();
    if !checks.is_empty() {
        let passed = checks.iter().filter(|check| check.passed() == Some(true)).count();
        text.push_str(&format!("  checks: {passed} of {} passed", checks.len()));
        let failed: Vec<String> = checks
            .iter()
            .filter(|check| check.passed() == Some(false))
            .map(|check| clean(&check.name))
            .collect();
        if !failed.is_empty() {
            let more = failed.len().saturating_sub(FAILED_CHECKS);
            let named = failed.iter().take(FAILED_CHECKS).cloned().collect::<Vec<_>>().join(", ");
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            text.push_str(&format!("; failed: {named}{more}"));
        }
        text.push('\n');
    }
    for skill in record.skills() {
        let at = |step: Option<usize>| step.map_or_else(|| "never".to_owned(), |step| format!("step {step}"));
        let executed = skill
            .executed
            .as_ref()
            .map_or_else(|| "never".to_owned(), |run| format!("step {} ({})", run.step, clean(&run.file)));
        text.push_str(&format!(
            "  skill {}: advertised {}, mentioned {}, opened {} ({} of {}), executed {executed}\n",
            clean(&skill.skill),
            at(skill.advertised),
            at(skill.mentioned),
            at(skill.opened),
            skill.body_lines_delivered,
            counted(skill.body_lines, "line", "lines"),
        ));
    }
    for (what, list) in [
        ("tampered", &record.tampered),
        ("contaminated", &record.contaminated),
        ("outside the work folder", &record.outside),
    ] {
        for item in list {
            text.push_str(&format!("  {what}: {}\n", clean(item)));
        }
    }
    text.push_str(&lost_evidence(record.evidence.as_ref()));
    text.push_str(&format!("  {}\n", attempt.display()));
    text
}

/// What of the attempt's evidence was not kept; nothing if all of it was.
fn lost_evidence(evidence: Option<&Evidence>) -> String {
    let Some(evidence) = evidence else {
        return "  evidence: unknown whether all of it was kept\n".to_owned();
    };
    let lost = evidence.lost.iter();
    let mut text: String = lost
        .map(|lost| format!("  evidence lost: {}: {}\n", clean(&lost.path), clean(&lost.reason)))
        .collect();
    if evidence.more > 0 {
        text.push_str(&format!("  evidence lost: {} more files\n", evidence.more));
    }
    text
}

fn steps(step: &assay_trace::Step) -> String {
    let who = match step.source {
        Source::System => "system",
        Source::User => "user",
        Source::Agent => "agent",
    };
    let mut text = format!("\n── {} {who} ──\n", step.step_id);
    if !step.message.is_empty() {
        text.push_str(&shorten(&step.message));
        text.push('\n');
    }
    for call in &step.tool_calls {
        let command = call.arguments.get("command").and_then(Value::as_str);
        let command = command.map_or_else(|| call.arguments.to_string(), str::to_owned);
        text.push_str(&format!("$ {}\n", shorten(&command)));
    }
    for result in step.observation.iter().flat_map(|observation| &observation.results) {
        text.push_str(&shorten(result.content.as_deref().unwrap_or_default()));
        text.push('\n');
    }
    text
}

/// Untrusted text for a terminal: line breaks are kept, other control characters are escaped, and long text is cut.
fn shorten(text: &str) -> String {
    let cut: String = text.trim_end().chars().take(SHOWN).collect();
    let more = text.trim_end().chars().count().saturating_sub(SHOWN);
    let mut lines: Vec<String> = cut.split('\n').map(|line| clean(&line.replace('\t', "    "))).collect();
    if more > 0 {
        lines.push(format!("[… {more} characters more …]"));
    }
    lines.join("\n")
}
