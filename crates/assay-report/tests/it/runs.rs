//! Runs in a few letters.
//!
//! A cell is a word with a letter for each repetition: `P` passed, `F` failed, `T` out of time, `i`
//! infrastructure error, `.` unfinished.

use std::collections::BTreeMap;

use assay_analysis::{Gathered, Report, analyze};
use assay_store::{Record, RunFolder, TrialId};
use serde_json::{Value, json};

/// The name of a hostile skill, task or model.
pub(crate) const HOSTILE: &str = "<script>alert('x')</script>|`a`\n\u{202e}\"&";

/// A run: its agents' models, its conditions, and tasks with a word for each agent and condition.
pub(crate) struct Run<'a> {
    pub(crate) name: &'a str,
    pub(crate) models: &'a [&'a str],
    pub(crate) conditions: &'a [&'a str],
    pub(crate) tasks: &'a [(&'a str, &'a [&'a str])],
    pub(crate) scripted: bool,
    /// How many of the last tasks are negative controls.
    pub(crate) controls: usize,
    /// USD of a trial of the first agent's baseline; `None` if no cost is known.
    pub(crate) cost: Option<f64>,
    pub(crate) excluded: Value,
}

impl Default for Run<'_> {
    fn default() -> Self {
        Self {
            name: "test",
            models: &["openai:one"],
            conditions: &["none", "curated"],
            tasks: &[],
            scripted: false,
            controls: 0,
            cost: None,
            excluded: json!([]),
        }
    }
}

impl Run<'_> {
    pub(crate) fn report(&self) -> Report {
        let mut records: BTreeMap<TrialId, Record> = BTreeMap::new();
        let mut cells = Vec::new();
        for (task, words) in self.tasks {
            let arms = self.models.iter().enumerate().flat_map(|(agent, model)| {
                self.conditions.iter().enumerate().map(move |(at, condition)| (agent, *model, at, *condition))
            });
            for ((agent, model, at, condition), word) in arms.zip(*words) {
                for (repetition, letter) in word.chars().enumerate() {
                    let trial = TrialId::of(&json!([task, agent, condition, repetition]));
                    cells.push(
                        json!({ "task": task, "agent": agent, "sandbox": "docker", "condition": condition,
                        "repetition": repetition + 1, "trial": trial }),
                    );
                    if letter == '.' {
                        continue;
                    }
                    let cost = self.cost.map(|cost| cost * (1 + 3 * agent + at) as f64);
                    let record = record(&trial, task, model, condition, letter, cost);
                    records.insert(trial, serde_json::from_value(record).unwrap());
                }
            }
        }
        let domains = ["ledgers", "logs"];
        let first_control = self.tasks.len() - self.controls;
        let tasks: Vec<Value> = self
            .tasks
            .iter()
            .enumerate()
            .map(|(number, (name, _))| {
                json!({ "name": name, "digest": "", "category": domains[number % 2], "difficulty": "hard",
                    "negative_control": number >= first_control })
            })
            .collect();
        let agents: Vec<Value> = self
            .models
            .iter()
            .map(|model| {
                json!({ "label": { "name": "loop", "version": "1", "model": model }, "measures_a_model": !self.scripted })
            })
            .collect();
        let run: RunFolder = serde_json::from_value(json!({
            "schema": "assay.plan/1", "run": self.name, "plan": "", "margin": 0.1, "seed": 1, "repetitions": 5,
            "conditions": self.conditions, "disclosure": "offered", "agents": agents, "tasks": tasks, "cells": cells,
            "excluded": self.excluded, "equal_conditions": [],
        }))
        .unwrap();
        analyze(&run, &Gathered::from_records(&run, &[], |trial| Ok(records.get(trial).cloned())).unwrap())
    }
}

fn record(
    trial: &TrialId,
    task: &str,
    model: &str,
    condition: &str,
    letter: char,
    cost: Option<f64>,
) -> Value {
    let outcome = match letter {
        'P' => "passed",
        'F' => "failed",
        'T' => "timed_out",
        _ => "infrastructure",
    };
    let exposure = json!([{ "skill": "one", "offered": true, "advertised": 1, "mentioned": 2, "opened": null,
        "executed": null, "body_lines": 9, "body_lines_delivered": 1 }]);
    let mut record = json!({
        "schema": "assay.record/3", "trial": trial, "task": task,
        "agent": { "name": "loop", "version": "1", "model": model }, "sandbox": "docker", "condition": condition,
        "repetition": 1, "outcome": outcome, "reward": null, "turns": 4,
        "usage": { "input": 900, "output": 100, "cache_read": 0, "cache_write": 0 }, "cost_usd": cost,
        "seconds": { "prepare": 0.0, "agent": 30.0, "throttled": 0.0, "verify": 1.0, "total": 31.0 },
        "exposure": if condition == "none" { json!([]) } else { exposure }, "measures_a_model": true, "attempt": 1,
        "started_at": "2026-01-01T00:00:00Z", "finished_at": "2026-01-01T00:00:31Z",
    });
    if letter == 'i' {
        record["cause"] = "model_provider".into();
    }
    record
}

/// Six tasks on which a skill helps.
pub(crate) fn small() -> Run<'static> {
    Run {
        tasks: &[
            ("a", &["FFFFF", "PPPPP"]),
            ("b", &["FFFFF", "PPPPF"]),
            ("c", &["PFFFF", "PPPPP"]),
            ("d", &["FFFFF", "PPPPP"]),
            ("e", &["PPFFF", "PPPPP"]),
            ("f", &["PFFFF", "PPPFP"]),
        ],
        ..Run::default()
    }
}

/// A run with every feature, and with hostile names.
pub(crate) fn whole() -> Run<'static> {
    const ROWS: &[(&str, &[&str])] = &[
        ("a", &["FFF", "PPP", "FFP", "PFF", "PPP", "PFF"]),
        (HOSTILE, &["FFF", "PPi", "FFF", "PPF", "PPP", "FPF"]),
        ("b", &["PFF", "PPP", "PFP", "PFF", "PPP", "PFF"]),
        ("c", &["FFF", "PPP", "TFP", "PFF", "FFF", "PFF"]),
        ("d", &["PPP", "FFF", "PPP", "PFF", "PPP", "PFF"]),
        ("e", &["FFF", "PP.", "FFF", "FFF", "PPP", "PFF"]),
        ("control", &["PPP", "PPP", "PPP", "PPP", "PPP", "PPP"]),
    ];
    Run {
        name: "whole-<b>",
        models: &["openai:one", HOSTILE],
        conditions: &["none", "curated", "placebo"],
        tasks: ROWS,
        scripted: true,
        controls: 1,
        cost: Some(0.01),
        excluded: json!([
            { "task": HOSTILE, "condition": "curated", "reason": "<img src=x onerror=alert(1)> | `b`\nhttps://example.org" },
            { "task": "gpu", "reason": "it needs a GPU" },
        ]),
    }
}

/// Runs with little to report.
pub(crate) fn poor() -> Vec<(&'static str, Run<'static>)> {
    let run = |tasks| Run { tasks, ..Run::default() };
    vec![
        ("no task", run(&[])),
        ("one task", run(&[("a", &["PPF", "PPP"])])),
        ("one repetition", run(&[("a", &["P", "F"]), ("b", &["F", "P"])])),
        ("all equal", run(&[("a", &["PP", "PP"]), ("b", &["PP", "PP"])])),
        ("all lost in one arm", run(&[("a", &["PP", "ii"]), ("b", &["PF", "ii"])])),
        ("nothing yet", run(&[("a", &["..", ".."])])),
        ("unequal suites", run(&[("a", &["PP", "PF"]), ("b", &["PP", ""]), ("c", &["", "FF"])])),
        ("a baseline only", Run { conditions: &["none"], tasks: &[("a", &["PF"])], ..Run::default() }),
        ("controls only", Run { controls: 1, tasks: &[("a", &["PF", "PP"])], ..Run::default() }),
        ("free of charge", Run { cost: Some(0.0), tasks: &[("a", &["PF", "PP"])], ..Run::default() }),
        (
            "far apart",
            Run {
                cost: Some(1e-9),
                models: &["a", "b"],
                tasks: &[("a", &["P", "F", "P", "F"])],
                ..Run::default()
            },
        ),
    ]
}
