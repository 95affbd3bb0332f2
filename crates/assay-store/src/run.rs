//! A run as it was planned: all that a report needs beside the records.

use std::collections::{BTreeMap, BTreeSet};

use assay_trace::Placement;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::identity::{TrialId, canonical};
use crate::record::AgentLabel;

/// `plan.json`: all that a report needs beside the records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunFolder {
    /// `assay.plan/1`.
    pub schema: String,
    /// The run's name.
    pub run: String,
    /// The digest of what follows, by which a run is recognised.
    pub plan: String,
    /// An earlier run that this one holds all of, with more repetitions: its report may have been looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extends: Option<String>,
    /// d in "no effect within ±d".
    pub margin: f64,
    /// The condition whose comparison is judged at the full level; unset, all comparisons are one family.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary: Option<String>,
    /// For whatever is drawn.
    pub seed: u64,
    /// Trials of each cell.
    pub repetitions: u32,
    /// In order; the first is the baseline.
    pub conditions: Vec<String>,
    /// `offered`, `told` or `eager`.
    pub disclosure: String,
    /// In the experiment's order.
    pub agents: Vec<PlannedAgent>,
    /// In order of name.
    pub tasks: Vec<PlannedTask>,
    /// Every cell.
    pub cells: Vec<Cell>,
    /// What could not be planned.
    pub excluded: Vec<Exclusion>,
    /// The library's skills, and those that tasks carry, by name, with their digests.
    #[serde(default)]
    pub skills: BTreeMap<String, String>,
    /// Pairs of conditions that came out equal, with the number of tasks on which they did.
    pub equal_conditions: Vec<(String, String, usize)>,
    /// What each condition gives on each task, in order of task. No part of `plan`: the trials' ids hold it.
    #[serde(default)]
    pub provisions: Vec<PlannedProvision>,
    /// What this machine cannot give of what the tasks ask for, in sentences. No part of `plan`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Who executed the trials, where it was not assay: `harbor`, `benchflow`, or both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<String>,
}

/// An agent of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedAgent {
    /// Who it is.
    #[serde(rename = "label")]
    pub label: AgentLabel,
    /// Its name in reports, where that is not its harness's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// Where it finds skills, where there is a choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// Whether its results say anything about a model.
    pub measures_a_model: bool,
}

impl PlannedAgent {
    /// Its name in reports.
    pub fn name(&self) -> &str {
        self.arm.as_deref().unwrap_or(&self.label.name)
    }
}

/// A task of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedTask {
    /// The folder's name.
    pub name: String,
    /// Its digest.
    pub digest: String,
    /// Tasks that share something, so that they are not independent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// `[metadata] difficulty`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difficulty: Option<String>,
    /// `[metadata] category`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// `[metadata.assay] negative_control`: no skill should help here, and the task counts apart.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub negative_control: bool,
    /// The digests of the skills that belong to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curated: Vec<String>,
}

/// What a condition gives to the trials on a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedProvision {
    /// The task's name.
    pub task: String,
    /// The condition.
    pub condition: String,
    /// In order.
    pub skills: Vec<PlannedSkill>,
}

/// A skill as it is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedSkill {
    /// Its name.
    pub name: String,
    /// Its digest.
    pub digest: String,
    /// Tokens of its body, cl100k.
    pub body_tokens: usize,
}

/// One cell of a plan: a place in the tables, and the trial that fills it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// The task's name.
    pub task: String,
    /// Which agent, counted from 0 in the experiment's order.
    pub agent: usize,
    /// Which sandbox.
    pub sandbox: String,
    /// Which condition.
    pub condition: String,
    /// From 1.
    pub repetition: u32,
    /// Which trial.
    pub trial: TrialId,
}

/// What cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Exclusion {
    /// The task's name.
    pub task: String,
    /// The condition, where it is that one only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Why.
    pub reason: String,
}

impl RunFolder {
    /// The format of `plan.json`.
    pub const SCHEMA: &str = "assay.plan/1";

    /// Sets the digest by which the run is recognised.
    pub fn seal(&mut self) {
        let mut what = json!({
            "margin": self.margin, "seed": self.seed, "conditions": self.conditions, "cells": self.cells,
            "excluded": self.excluded,
        });
        // Choosing the primary comparison after seeing results must yield a different plan. Omitted when unset, so that older digests
        // stay valid.
        if let Some(primary) = &self.primary {
            what["primary"] = json!(primary);
        }
        self.plan = format!("blake3:{}", blake3::hash(canonical(&what).as_bytes()).to_hex());
    }

    /// The distinct trials, in order of id.
    pub fn trials(&self) -> BTreeSet<&TrialId> {
        self.cells.iter().map(|cell| &cell.trial).collect()
    }

    /// Whether every trial of another run is one of this one's, and there are more.
    pub(crate) fn is_extension_of(&self, other: &Self) -> bool {
        let (mine, theirs) = (self.trials(), other.trials());
        mine.len() > theirs.len() && !theirs.is_empty() && theirs.is_subset(&mine)
    }
}

/// Whether a name can be a folder of its own everywhere.
pub fn is_run_name(name: &str) -> bool {
    name.len() <= 80
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}
