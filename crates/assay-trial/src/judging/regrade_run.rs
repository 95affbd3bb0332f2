//! Judging the trials of a run again, without running them.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use assay_ask::{AskProgress, PreflightError, PreflightEvent};
use assay_diagnostic::counted;
use assay_gateway::Budget;
use assay_judge::{Rubric, RubricError, figure_cell, interval_ends};
use assay_model::{ModelError, Price};
use assay_stats::judge::{Figure, clustered_kappa, proportion};
use assay_store::{
    Cell, Claim, JudgeInput, JudgeMode, JudgeModel, JudgeSpec, Outcome, Record, RunFolder, Store, StoreError,
    TrialId, is_run_name,
};
use serde_json::{Value, json};

use super::panel::{Panel, rubric_digest};
use super::regrade::{Judging, is_kept, judge_again};
use crate::experiment::RetriesLeft;
use crate::plan::preflight::preflight_judges;

/// Why the trials of a run are not judged again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunRegradeError {
    /// The run has no judges.
    #[error("no trial of {run} is judged: its plan has no judge")]
    NotJudged {
        /// The run.
        run: String,
    },
    /// Nothing was kept.
    #[error("no trial of {run} has kept what a judge needs")]
    NothingKept {
        /// The run.
        run: String,
    },
    /// A name that no run can have.
    #[error("{name:?} is not a name of a run")]
    Name {
        /// The name.
        name: String,
    },
    /// A judge does not answer.
    #[error(transparent)]
    Preflight(PreflightError),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why rubrics of tasks cannot replace those that were kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TaskRubricsError {
    /// A folder or a file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Read {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file is no rubric.
    #[error("{}: {error}", path.display())]
    Rubric {
        /// The file.
        path: PathBuf,
        /// Why.
        error: RubricError,
    },
    /// Two tasks of one name have different rubrics.
    #[error("the tasks {} and {} have one name and different rubrics", first.display(), second.display())]
    SameName {
        /// One task.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// There is no rubric.
    #[error("no task with a tests/rubric.json in the folders of --tasks")]
    Nothing,
}

/// The judges of a run.
///
/// # Errors
/// It has none.
pub fn planned_judges(run: &RunFolder) -> Result<&JudgeSpec, RunRegradeError> {
    run.judge.as_ref().ok_or_else(|| RunRegradeError::NotJudged { run: run.run.clone() })
}

/// What is changed about the judges of a run.
#[derive(Debug, Clone, Default)]
pub struct JudgeChanges {
    /// Other judges; empty for those of the run.
    pub models: Vec<JudgeModel>,
    /// The price of all judges.
    pub price: Option<Price>,
    /// How often each is asked.
    pub repeats: Option<u32>,
    /// How they are asked.
    pub mode: Option<JudgeMode>,
    /// What they see; empty for the same as in the run.
    pub material: Vec<JudgeInput>,
}

impl JudgeChanges {
    /// The judges of a run with these changes.
    pub fn apply_to(self, planned: &JudgeSpec) -> JudgeSpec {
        let mut spec = planned.clone();
        if self.models.is_empty() {
            // The first judgement of its kind that the store does not have.
            spec.pass = planned.pass + 1;
        } else {
            spec.models = self.models;
            spec.pass = 0;
        }
        if let Some(price) = self.price {
            for model in &mut spec.models {
                model.price = Some(price);
            }
        }
        spec.repeats = self.repeats.unwrap_or(spec.repeats);
        spec.mode = self.mode.unwrap_or(spec.mode);
        if !self.material.is_empty() {
            spec.material = self.material;
        }
        spec
    }
}

/// Reads the rubrics of tasks, or of folders of tasks, by the names of the tasks.
///
/// # Errors
/// A rubric cannot be read, two tasks of one name differ, or there is none although there are folders.
pub fn read_task_rubrics(folders: &[PathBuf]) -> Result<BTreeMap<String, Rubric>, TaskRubricsError> {
    let mut found: BTreeMap<String, (PathBuf, Rubric)> = BTreeMap::new();
    for folder in folders {
        for task in tasks_of(folder)? {
            let rubric = read_rubric(&task.join(assay_judge::RUBRIC))?;
            let name = task.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if let Some((first, other)) = found.get(&name)
                && rubric_digest(other) != rubric_digest(&rubric)
            {
                return Err(TaskRubricsError::SameName { first: first.clone(), second: task });
            }
            found.insert(name, (task, rubric));
        }
    }
    if !folders.is_empty() && found.is_empty() {
        return Err(TaskRubricsError::Nothing);
    }
    Ok(found.into_iter().map(|(name, (_, rubric))| (name, rubric)).collect())
}

/// The tasks with a rubric: the folder itself, or those in it, in the order of their names.
fn tasks_of(folder: &Path) -> Result<Vec<PathBuf>, TaskRubricsError> {
    let has_rubric = |task: &PathBuf| task.join(assay_judge::RUBRIC).is_file();
    if has_rubric(&folder.to_owned()) {
        return Ok(vec![folder.to_owned()]);
    }
    let entries = std::fs::read_dir(folder)
        .map_err(|error| TaskRubricsError::Read { path: folder.to_owned(), error })?;
    let mut tasks: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(has_rubric).collect();
    tasks.sort();
    Ok(tasks)
}

fn read_rubric(path: &Path) -> Result<Rubric, TaskRubricsError> {
    let text = assay_fs::read_text(path, assay_fs::DOCUMENT_CAP)
        .map_err(|error| TaskRubricsError::Read { path: path.to_owned(), error })?;
    Rubric::parse(&text).map_err(|error| TaskRubricsError::Rubric { path: path.to_owned(), error })
}

/// How the trials of a run are judged again.
pub struct RunRegrade<'a> {
    /// Where they are.
    pub store: &'a Store,
    /// The run.
    pub run: &'a RunFolder,
    /// The judges.
    pub panel: &'a Panel,
    /// Rubrics that replace those that were kept, by task.
    pub rubrics: &'a BTreeMap<String, Rubric>,
    /// The name of the new run: the run's and `-regraded` by default.
    pub name: Option<&'a str>,
    /// What judges are charged to.
    pub budget: &'a Budget,
    /// Set from outside to stop soon.
    pub cancel: &'a AtomicBool,
    /// Trials judged at the same time.
    pub concurrency: usize,
    /// Hears how long judges are waited for.
    pub progress: &'a AskProgress,
    /// The first request to each judge, which is sent before anything is spent.
    pub preflight: JudgePreflight<'a>,
}

/// How the first requests to judges are sent.
#[derive(Clone, Copy)]
pub struct JudgePreflight<'a> {
    /// Where relative paths start.
    pub directory: &'a Path,
    /// The variables of the environment, with the keys of models.
    pub env: &'a (dyn Fn(&str) -> Option<String> + Sync),
    /// Hears what is sent and answered.
    pub on_event: &'a (dyn Fn(&PreflightEvent) + Sync),
}

/// A run whose trials were judged again.
#[derive(Debug)]
pub struct RegradedRun {
    /// The new run.
    pub run: RunFolder,
    /// Trials that were judged now.
    pub judged: usize,
    /// Trials whose judgement was in the store.
    pub cached: usize,
    /// Trials without a judgement, with the reason.
    pub failed: Vec<String>,
    /// Items that both judgements decide.
    items: usize,
    /// The share with the same verdict.
    same: Option<Figure>,
    kappa: Option<Figure>,
}

/// Judges the trials of a run again, and begins a run of the new judgements. `None` if it was interrupted.
///
/// # Errors
/// Nothing was kept that can be judged, a judge does not answer, or the store cannot be used. A trial without a judgement is no error.
pub fn regrade_run(regrade: &RunRegrade<'_>) -> Result<Option<RegradedRun>, RunRegradeError> {
    let RunRegrade { store, run, .. } = *regrade;
    let name = regrade.name.map_or_else(|| format!("{}-regraded", run.run), str::to_owned);
    if !is_run_name(&name) {
        return Err(RunRegradeError::Name { name });
    }
    let (trials, cells) = plan(regrade)?;
    if !check_judges(regrade, &trials)? {
        return Ok(None);
    }
    let outcomes = judge_all(regrade, &trials)?;
    store.clear_scratch();
    if regrade.cancel.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let new = begin_run(regrade, &name, cells)?;
    let pairs = verdict_pairs(store, &trials)?;
    let same: Vec<(bool, Option<usize>)> = pairs.iter().map(|((a, b), cluster)| (a == b, *cluster)).collect();
    Ok(Some(RegradedRun {
        run: new,
        judged: outcomes.judged,
        cached: outcomes.cached,
        failed: outcomes.failed,
        items: pairs.len(),
        same: proportion(&same),
        kappa: clustered_kappa(&pairs),
    }))
}

impl RegradedRun {
    /// As the beginning of `assay.judge-regrade/1`.
    pub fn to_json(&self) -> Value {
        let figure = |figure: Option<Figure>| {
            json!({
                "value": figure.map(|figure| figure.value),
                "ci95": interval_ends(figure.and_then(|figure| figure.interval)),
            })
        };
        json!({
            "schema": "assay.judge-regrade/1", "run": self.run.run, "judged": self.judged, "cached": self.cached,
            "failed": self.failed, "items": self.items, "same_verdict": figure(self.same),
            "kappa": figure(self.kappa),
        })
    }

    /// Lines with the numbers of trials and the agreement with the judgements before.
    pub fn to_text(&self) -> String {
        format!(
            "{}: {} judged, {} cached, {} without an answer\nItems with the same verdict as before: {} (kappa {}), {}\n",
            self.run.run,
            counted(self.judged, "trial", "trials"),
            self.cached,
            self.failed.len(),
            figure_cell(self.same),
            figure_cell(self.kappa),
            counted(self.items, "item", "items"),
        )
    }
}

/// A trial that is judged again.
struct TrialRegrade {
    earlier: Record,
    id: TrialId,
    specification: Value,
}

/// What happened to the trials.
#[derive(Default)]
struct RegradeOutcomes {
    judged: usize,
    cached: usize,
    failed: Vec<String>,
}

/// The trials to judge, and the cells of the run with their new ids. Trials without a judgement keep theirs.
fn plan(regrade: &RunRegrade<'_>) -> Result<(Vec<TrialRegrade>, Vec<Cell>), RunRegradeError> {
    let RunRegrade { store, run, panel, rubrics, .. } = *regrade;
    let mut trials: BTreeMap<TrialId, TrialRegrade> = BTreeMap::new();
    let mut cells = run.cells.clone();
    for cell in &mut cells {
        let Some(record) = store.record(&cell.trial)? else { continue };
        if !is_kept(store, &record) {
            continue;
        }
        let Some(mut specification) = store.specification(&cell.trial)? else { continue };
        // Trials of earlier versions name a rubric only where it replaces that of their task.
        let rubric = rubrics.get(&cell.task).map(|rubric| json!(rubric_digest(rubric)));
        let rubric = rubric.or_else(|| specification["judge"].get("rubric").cloned());
        specification["judge"] = panel.identity();
        if let Some(rubric) = rubric {
            specification["judge"]["rubric"] = rubric;
        }
        let id = TrialId::of(&specification);
        cell.trial = id.clone();
        trials.entry(id.clone()).or_insert(TrialRegrade { earlier: record, id, specification });
    }
    if trials.is_empty() {
        return Err(RunRegradeError::NothingKept { run: run.run.clone() });
    }
    Ok((trials.into_values().collect(), cells))
}

/// Sends a first request to each judge, if a trial is left to judge. False if interrupted.
fn check_judges(regrade: &RunRegrade<'_>, trials: &[TrialRegrade]) -> Result<bool, RunRegradeError> {
    let JudgePreflight { directory, env, on_event } = regrade.preflight;
    let is_left = |trial: &TrialRegrade| {
        Ok(regrade.store.record(&trial.id)?.is_none_or(|record| !record.outcome.counts()))
    };
    if !trials.iter().map(is_left).collect::<Result<Vec<bool>, StoreError>>()?.contains(&true) {
        return Ok(true);
    }
    let spec = &regrade.panel.spec;
    match preflight_judges(spec, directory, env, regrade.cancel, &mut |event| on_event(event)) {
        Ok(()) => Ok(true),
        Err(PreflightError { source: ModelError::Cancelled, .. }) => Ok(false),
        Err(error) => Err(RunRegradeError::Preflight(error)),
    }
}

fn judge_all(regrade: &RunRegrade<'_>, trials: &[TrialRegrade]) -> Result<RegradeOutcomes, StoreError> {
    let next = AtomicUsize::new(0);
    let judged = Mutex::new(RegradeOutcomes::default());
    let failure = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..regrade.concurrency.min(trials.len()) {
            scope.spawn(|| {
                while !regrade.cancel.load(Ordering::Relaxed) {
                    let Some(one) = trials.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
                    match judge_one(regrade, one) {
                        Ok(outcome) => {
                            let mut judged = judged.lock().unwrap_or_else(PoisonError::into_inner);
                            match outcome {
                                TrialOutcome::Cached => judged.cached += 1,
                                TrialOutcome::Judged => judged.judged += 1,
                                TrialOutcome::Failed(reason) => judged.failed.push(reason),
                                TrialOutcome::Interrupted => return,
                            }
                        }
                        Err(error) => {
                            failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                            return;
                        }
                    }
                }
            });
        }
    });
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(failure) => Err(failure),
        None => Ok(judged.into_inner().unwrap_or_else(PoisonError::into_inner)),
    }
}

/// What happened to a trial.
enum TrialOutcome {
    Cached,
    Judged,
    Failed(String),
    Interrupted,
}

fn judge_one(regrade: &RunRegrade<'_>, one: &TrialRegrade) -> Result<TrialOutcome, StoreError> {
    let RunRegrade { store, panel, rubrics, budget, cancel, progress, .. } = *regrade;
    if store.record(&one.id)?.is_some_and(|record| record.outcome.counts()) {
        return Ok(TrialOutcome::Cached);
    }
    let trial = one.earlier.trial.short();
    let lease = match store.claim(&one.id)? {
        Claim::Mine(lease) => lease,
        Claim::Held(_) => return Ok(TrialOutcome::Failed(format!("{trial}: another process judges it"))),
    };
    let rubric = rubrics.get(&one.earlier.task);
    let retries = RetriesLeft::default();
    let judging = Judging { store, panel, rubric, budget, cancel, retries, progress };
    let judged = judge_again(&judging, &one.earlier, &one.id, &one.specification, &lease);
    Ok(match judged {
        Ok(None) => TrialOutcome::Interrupted,
        Ok(Some(record)) if record.outcome.counts() => TrialOutcome::Judged,
        Ok(Some(record)) => TrialOutcome::Failed(format!("{trial}: {}", record.reason.unwrap_or_default())),
        Err(error) => TrialOutcome::Failed(format!("{trial}: {error}")),
    })
}

/// The run of the new judgements.
fn begin_run(regrade: &RunRegrade<'_>, name: &str, cells: Vec<Cell>) -> Result<RunFolder, StoreError> {
    let RunRegrade { store, run, panel, .. } = *regrade;
    let mut folder = RunFolder {
        cells,
        judge: Some(panel.spec.clone()),
        extends: None,
        relabels: None,
        reused: Vec::new(),
        ..run.clone()
    };
    folder.seal();
    let source = std::fs::read(store.run_folder(&run.run).join("experiment.toml")).unwrap_or_default();
    let folder = store.begin_run(folder, name, ("experiment.toml", &source))?;
    store.save_failed_checks(&folder.run, &store.failed_checks(&run.run)?)?;
    if let Some(calibration) = store.calibration(&run.run)? {
        store.save_calibration(&folder.run, &calibration)?;
    }
    Ok(folder)
}

/// Two verdicts of an item, and the number of its trial.
type VerdictPair = ((usize, usize), Option<usize>);

/// The verdicts before and after, of items that judges decided.
fn verdict_pairs(store: &Store, trials: &[TrialRegrade]) -> Result<Vec<VerdictPair>, StoreError> {
    let mut pairs = Vec::new();
    for (cluster, one) in trials.iter().enumerate() {
        let Some(new) = store.record(&one.id)?.filter(|record| record.outcome != Outcome::Infrastructure)
        else {
            continue;
        };
        let Some((before, after)) = one.earlier.judgement.as_ref().zip(new.judgement.as_ref()) else {
            continue;
        };
        for item in after.items.iter().filter(|item| !item.checked) {
            let Some(other) = before.items.iter().find(|other| other.id == item.id) else { continue };
            pairs.push(((category(&other.verdict), category(&item.verdict)), Some(cluster)));
        }
    }
    Ok(pairs)
}

fn category(verdict: &str) -> usize {
    ["met", "not-met", "cannot-tell"].iter().position(|known| *known == verdict).unwrap_or(3)
}

#[cfg(test)]
mod tests;
