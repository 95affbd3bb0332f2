//! Runs: what was planned together, and what happened on the way.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Store, StoreError, append_line, pretty, read_json, write_atomically, write_new};
use crate::{AgentLabel, Cell, Exclusion, Placement, Plan, canonical};

/// The format of `plan.json`.
const SCHEMA: &str = "assay.plan/1";

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

/// A run, as `assay runs` lists it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunSummary {
    /// Its name.
    pub run: String,
    /// Cells planned.
    pub cells: usize,
    /// Distinct trials.
    pub trials: usize,
    /// Of them, finished.
    pub finished: usize,
    /// When its plan was written, RFC 3339.
    pub planned_at: Option<String>,
    /// Why its plan cannot be read, where that is so: then nothing else is known of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damaged: Option<String>,
}

impl Store {
    /// The folder of a run.
    pub fn run_folder(&self, run: &str) -> PathBuf {
        self.root.join("runs").join(run)
    }

    /// Writes a plan down, under the experiment's name if that name is free or holds the same plan, else under the name with
    /// the first free number behind it.
    pub fn begin_run(&self, plan: &Plan) -> Result<RunFolder, StoreError> {
        let provided = plan.trials.values().flat_map(|trial| &trial.provision.skills);
        let provided: BTreeMap<String, _> = provided.map(|skill| (skill.digest.hex(), skill)).collect();
        provided.values().try_for_each(|skill| self.keep_skill(skill))?;
        let source = ("experiment.toml", plan.experiment.source.as_bytes());
        self.begin_folder(RunFolder::of(plan), &plan.experiment.name, source)
    }

    /// The same for trials that were executed elsewhere; `origin` says in `import.json` where.
    pub(crate) fn begin_import(
        &self,
        mut folder: RunFolder,
        name: &str,
        origin: &Value,
    ) -> Result<RunFolder, StoreError> {
        SCHEMA.clone_into(&mut folder.schema);
        folder.seal();
        let origin = pretty(origin, Path::new("import.json"))?;
        self.begin_folder(folder, name, ("import.json", &origin))
    }

    fn begin_folder(
        &self,
        mut folder: RunFolder,
        base: &str,
        (source_name, source): (&str, &[u8]),
    ) -> Result<RunFolder, StoreError> {
        for number in 1_u32.. {
            folder.run = if number == 1 { base.to_owned() } else { format!("{base}-{number}") };
            let path = self.run_folder(&folder.run).join("plan.json");
            if !path.exists() {
                let io = |source| StoreError::Io { action: "create", path: path.clone(), source };
                fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).map_err(io)?;
                // Another process may take the name in this moment: then its plan is looked at like any other.
                if write_new(&path, &pretty(&folder, &path)?)? {
                    write_atomically(&path.with_file_name(source_name), source)?;
                    return Ok(folder);
                }
            }
            let known: RunFolder = match read_json(&path) {
                Ok(known) => known,
                Err(StoreError::Format { .. }) => {
                    // A plan of another assay version is kept; an unreadable one is moved aside.
                    if read_json::<Value>(&path).is_ok_and(|plan| plan["schema"].is_string()) {
                        continue;
                    }
                    let aside = path.with_file_name("plan.before.json");
                    let io = |source| StoreError::Io { action: "move", path: path.clone(), source };
                    fs::rename(&path, aside).map_err(io)?;
                    // They belong to the unreadable plan, and would exclude tasks from this one.
                    let checks = path.with_file_name("checks.json");
                    if checks.exists() {
                        fs::rename(&checks, path.with_file_name("checks.before.json")).map_err(io)?;
                    }
                    if write_new(&path, &pretty(&folder, &path)?)? {
                        write_atomically(&path.with_file_name(source_name), source)?;
                        return Ok(folder);
                    }
                    read_json(&path)?
                }
                Err(error) => return Err(error),
            };
            if known.schema == SCHEMA && known.plan == folder.plan {
                return Ok(known);
            }
            if folder.holds(&known) {
                folder.extends = Some(known.run);
            }
        }
        Err(StoreError::NotFound("more runs than there are numbers".to_owned()))
    }

    /// A run by its name.
    pub fn run(&self, name: &str) -> Result<RunFolder, StoreError> {
        let known = || {
            let names = self.run_names();
            if names.is_empty() {
                "it holds none yet".to_owned()
            } else {
                format!("it holds {}", names.join(", "))
            }
        };
        let path = self.run_folder(name).join("plan.json");
        if !crate::experiment::is_run_name(name) || !path.exists() {
            let message = format!("there is no run {name:?} in {}; {}", self.root.display(), known());
            return Err(StoreError::NotFound(message));
        }
        let folder: RunFolder = read_json(&path)?;
        if folder.schema != SCHEMA {
            let message = format!("it is {:?}, and this version reads {SCHEMA:?}", folder.schema);
            return Err(StoreError::Format { path, message });
        }
        Ok(folder)
    }

    /// The names of all runs, in order.
    pub fn run_names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.root.join("runs"))
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.path().join("plan.json").exists())
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    /// A line about each run. One whose plan cannot be read hides no other.
    pub fn summaries(&self) -> Vec<RunSummary> {
        self.run_names()
            .into_iter()
            .map(|name| {
                let folder = match self.run(&name) {
                    Ok(folder) => folder,
                    Err(error) => {
                        let damaged = Some(assay_diagnostic::chain(&error));
                        return RunSummary {
                            run: name,
                            cells: 0,
                            trials: 0,
                            finished: 0,
                            planned_at: None,
                            damaged,
                        };
                    }
                };
                let trials = folder.trials();
                let finished =
                    trials.iter().filter(|id| self.trial_folder(id).join("record.json").exists()).count();
                let planned_at = fs::metadata(self.run_folder(&name).join("plan.json"))
                    .and_then(|metadata| metadata.modified())
                    .ok()
                    .and_then(|time| jiff::Timestamp::try_from(time).ok())
                    .map(|time| time.to_string());
                let (cells, trials) = (folder.cells.len(), trials.len());
                RunSummary { run: name, cells, trials, finished, planned_at, damaged: None }
            })
            .collect()
    }

    /// Adds a line to a run's events.
    pub fn event(&self, run: &str, event: &Value) -> Result<(), StoreError> {
        append_line(&self.run_folder(run).join("events.jsonl"), event)
    }

    /// Writes down which tasks cannot be graded, and why.
    pub fn save_failed_checks(&self, run: &str, failed: &[Exclusion]) -> Result<(), StoreError> {
        crate::run::life::keep_json(&self.run_folder(run).join("checks.json"), &failed)
    }

    /// Which tasks cannot be graded, and why; none where nothing was checked.
    pub fn failed_checks(&self, run: &str) -> Result<Vec<Exclusion>, StoreError> {
        let path = self.run_folder(run).join("checks.json");
        if path.exists() { read_json(&path) } else { Ok(Vec::new()) }
    }
}

impl PlannedTask {
    /// The tasks of a plan, in order of name.
    pub fn of(plan: &Plan) -> Vec<Self> {
        let text = |task: &assay_task::Task, key: &str| {
            task.config.metadata.get(key).and_then(|value| value.as_str()).map(str::to_owned)
        };
        plan.tasks
            .iter()
            .map(|task| Self {
                name: task.name.clone(),
                digest: task.digest.to_string(),
                cluster: task.cluster.clone(),
                difficulty: text(task, "difficulty"),
                category: text(task, "category"),
                negative_control: task.negative_control,
                curated: plan.curated.get(&task.name).cloned().unwrap_or_default(),
            })
            .collect()
    }
}

impl RunFolder {
    fn of(plan: &Plan) -> Self {
        let mut folder = Self {
            schema: SCHEMA.to_owned(),
            run: String::new(),
            plan: String::new(),
            extends: None,
            margin: plan.experiment.margin,
            primary: plan.experiment.primary.clone(),
            seed: plan.experiment.seed,
            repetitions: plan.experiment.repetitions,
            conditions: plan.experiment.conditions.clone(),
            disclosure: plan.experiment.disclosure.word().to_owned(),
            agents: plan
                .roster
                .iter()
                .map(|entry| PlannedAgent {
                    label: entry.label.clone(),
                    arm: (entry.arm != entry.label.name).then(|| entry.arm.clone()),
                    placement: entry.placement,
                    measures_a_model: entry.agent.measures_a_model(),
                })
                .collect(),
            tasks: PlannedTask::of(plan),
            cells: plan.cells.clone(),
            excluded: plan.excluded.clone(),
            skills: plan
                .library
                .packages
                .iter()
                .chain(plan.tasks.iter().flat_map(|task| &task.skills))
                .map(|skill| (skill.name.clone(), skill.digest.to_string()))
                .collect(),
            equal_conditions: plan.equal_conditions(),
            provisions: provisions(plan),
            warnings: plan.warnings().map(str::to_owned).collect(),
            imported: None,
        };
        folder.seal();
        folder
    }

    /// Sets the digest by which the run is recognised.
    fn seal(&mut self) {
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
    pub fn trials(&self) -> std::collections::BTreeSet<&crate::TrialId> {
        self.cells.iter().map(|cell| &cell.trial).collect()
    }

    /// Whether every trial of another run is one of this one's, and there are more.
    fn holds(&self, other: &Self) -> bool {
        let (mine, theirs) = (self.trials(), other.trials());
        mine.len() > theirs.len() && !theirs.is_empty() && theirs.is_subset(&mine)
    }
}

fn provisions(plan: &Plan) -> Vec<PlannedProvision> {
    let mut first = BTreeMap::new();
    for cell in &plan.cells {
        first.entry((&cell.task, &cell.condition)).or_insert(&cell.trial);
    }
    let mut tokens: BTreeMap<String, usize> = BTreeMap::new();
    let mut planned = |skill: &assay_skill::Package| {
        let digest = skill.digest.to_string();
        let body_tokens = *tokens.entry(digest.clone()).or_insert_with(|| assay_skill::tokens(&skill.body));
        PlannedSkill { name: skill.name.clone(), digest, body_tokens }
    };
    first
        .into_iter()
        .filter_map(|((task, condition), trial)| {
            let skills = &plan.trials.get(trial)?.provision.skills;
            let skills = skills.iter().map(&mut planned).collect();
            Some(PlannedProvision { task: task.clone(), condition: condition.clone(), skills })
        })
        .collect()
}

#[cfg(test)]
mod tests;
