//! What a plan has to say before anything runs.

use std::collections::BTreeMap;

use assay_diagnostic::{clean, counted, group_digits};
use assay_store::{Selection, Store};
use serde_json::{Value, json};

use crate::plan::Plan;

/// What a run would execute.
pub struct PlanPreview<'a> {
    plan: &'a Plan,
    /// Cells of each agent and condition, and how many of them are in the store.
    arms: BTreeMap<(usize, &'a str), [usize; 2]>,
    planned: usize,
    cached: usize,
}

impl Plan {
    /// Counts the trials of a selection, and those that the store has.
    pub fn preview_run<'a>(&'a self, only: &Selection, store: &Store) -> PlanPreview<'a> {
        let mut arms: BTreeMap<(usize, &str), [usize; 2]> = BTreeMap::new();
        let mut trials = BTreeMap::new();
        for cell in &self.cells {
            if !only.matches(cell, &self.agents[cell.agent].label.name) {
                continue;
            }
            let there = *trials.entry(&cell.trial).or_insert_with(|| {
                store
                    .record(&cell.trial)
                    .is_ok_and(|record| record.is_some_and(|record| record.outcome.counts()))
            });
            let counts = arms.entry((cell.agent, &cell.condition)).or_default();
            counts[0] += 1;
            counts[1] += usize::from(there);
        }
        let cached = trials.values().filter(|there| **there).count();
        PlanPreview { plan: self, arms, planned: trials.len(), cached }
    }

    /// Results that are not used because they are of another server, in sentences.
    pub fn describe_other_servers(&self) -> impl Iterator<Item = String> {
        self.left.iter().map(|(server, trials)| {
            let (results, are) = if *trials == 1 { ("result", "is") } else { ("results", "are") };
            let (results, server) = (counted(*trials, results, results), clean(server));
            format!(
                "{results} of the server {server} {are} not used: this experiment declares another one (`--same-server {server}` uses them)"
            )
        })
    }

    /// What tells that the suite was not run as a whole, in a line of its own; empty if it was.
    pub fn describe_unreadable(&self) -> String {
        if self.unreadable.is_empty() {
            return String::new();
        }
        let (was, them) = if self.unreadable.len() == 1 { ("was", "it") } else { ("were", "them") };
        format!(
            "{} could not be read and {was} not run: {} (hint: fix {them} or exclude {them} with `\"!tasks/NAME\"` in `suite`)\n",
            counted(self.unreadable.len(), "task", "tasks"),
            clean(&self.unreadable.join(", "))
        )
    }

    /// Why nothing of the plan can run here.
    pub fn describe_nothing(&self) -> String {
        let mut reasons: Vec<&str> = self.excluded.iter().map(|excluded| excluded.reason.as_str()).collect();
        reasons.sort_unstable();
        reasons.dedup();
        let none = match self.tasks.len() {
            1 => "the task cannot".to_owned(),
            tasks => format!("none of the {tasks} tasks can"),
        };
        let all = format!("{none} run on this machine: {}", reasons.join("; "));
        all
    }
}

impl PlanPreview<'_> {
    /// As JSON.
    pub fn json_document(&self) -> Value {
        let plan = self.plan;
        let arms: Vec<Value> = self
            .arms
            .iter()
            .map(|((agent, condition), [cells, there])| {
                let label = &plan.agents[*agent].label;
                json!({ "agent": label.name, "model": label.model, "condition": condition, "cells": cells, "cached": there })
            })
            .collect();
        json!({
            "schema": "assay.dry-run/2",
            "run": plan.experiment.name,
            "planned": self.planned,
            "cached": self.cached,
            "checks": plan.checks.iter().map(|check| 1 + usize::from(check.oracle.is_some())).sum::<usize>(),
            "arms": arms,
            "excluded": plan.excluded,
            "unreadable": plan.unreadable,
        })
    }

    /// For people.
    pub fn render_text(&self) -> String {
        let plan = self.plan;
        let planned = counted(self.planned, "trial", "trials");
        let mut text = format!("{}: {planned}, {} cached\n", plan.experiment.name, group_digits(self.cached));
        for ((agent, condition), [cells, there]) in &self.arms {
            let label = &plan.agents[*agent].label;
            let model = label.model.as_deref().map_or(String::new(), |model| format!(" with {model}"));
            let cells = counted(*cells, "trial", "trials");
            text.push_str(&format!("  {}{model}, {condition}: {cells}, {there} cached\n", label.name));
        }
        text.push_str(&plan.describe_unreadable());
        text
    }
}
