//! The content of a report, and its computation.

use std::path::PathBuf;

use assay_store::{Closing, Exclusion, Reuse, ReusedTrials, RunFolder, Selection, Store, StoreError};
use serde::Serialize;

use crate::asked_question::{self, AskedQuestion};
use crate::calibration::CalibrationSet;
use crate::contrasts::{self, Contrast};
use crate::controls::NegativeControls;
use crate::explore::Exploration;
use crate::gather::Gathered;
use crate::item_sets::{self, ItemSets};
use crate::judged::{self, JudgedReport};
use crate::metrics::MetricComparison;
use crate::model::{Arm, Comparison, TaskRow};
use crate::models::RepliedModel;
use crate::next_steps::{self, NextStep};
use crate::note::Note;
use crate::notes::{Findings, notes};
use crate::origins::RecordOrigins;
use crate::outcome::OutcomeSummary;
use crate::progress::Progress;
use crate::provenance::{self, Provenance};
use crate::standing::{self, Standing};
use crate::table::Slot;
use crate::{arms, causes, comparisons, controls, metrics, models, tasks, undelivered};

/// The format of [`Report`].
pub const SCHEMA: &str = "assay.report/2";

/// The report of a run. In the JSON of `assay-report` the notes are sentences.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own in the JSON document")]
pub struct Report {
    /// `assay.report/2`.
    pub schema: &'static str,
    /// The run.
    pub run: String,
    /// Agents, models, skills, dates, seed and versions.
    pub provenance: Provenance,
    /// What the scores of trials are, which arms, comparisons and tasks are computed from.
    pub outcome: OutcomeSummary,
    /// The equivalence margin of the plan.
    pub margin: f64,
    /// The models whose attempts without the skill selected the tasks, so that the lift is one on tasks that they failed; empty
    /// if nothing did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub selected_by: Vec<String>,
    /// The condition whose comparisons are primary, as the plan named it; `null` where all
    /// comparisons are one family.
    pub primary: Option<String>,
    /// Whether anything here was measured on a model. `false`: a demonstration.
    pub measures_a_model: bool,
    /// Whether the run is not complete. Its comparisons have no verdicts then, apart from those that a sequential rule
    /// stopped.
    pub interim: bool,
    /// How many of its trials are done.
    pub progress: Progress,
    /// When the run was closed with a part of its trials, and what its comparisons were judged to be; `null` if it was not.
    #[serde(rename = "final")]
    pub closing: Option<Closing>,
    /// The question of the run, and the earlier runs that asked the same; `null` if it compares nothing.
    pub question: Option<AskedQuestion>,
    /// Whether there was an earlier look at the question: an earlier run with other trials or with a part of these, or a
    /// closing of this run after which it went on.
    pub extended_after_look: bool,
    /// The tag with the digest of the plan; `null` without one, and if nobody looked for it.
    pub registration: Option<Registration>,
    /// An earlier run with the same trials and analysis, whose tasks had other labels; `null` if there is
    /// none.
    pub relabels: Option<String>,
    /// Trials that were executed under another identity, and why they count.
    pub reused: Vec<ReusedCount>,
    /// Whether the outcome value of a trial is between 0 and 1. If none is, scores are pass rates.
    pub fractional_scores: bool,
    /// The measurements, condition by condition.
    pub arms: Vec<Arm>,
    /// Each condition against its baseline. The primary ones are a family, and the others are one.
    pub comparisons: Vec<Comparison>,
    /// Contrasts between agents; empty with one agent.
    pub contrasts: Vec<Contrast>,
    /// The metrics of the plan, condition by condition against the baseline; empty without metrics.
    pub metrics: Vec<MetricComparison>,
    /// Task by task. Exploratory: no verdict rests on one row.
    pub tasks: Vec<TaskRow>,
    /// Scores by rubric; `null` if no trial was judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judged: Option<JudgedReport>,
    /// The two sets of checks, goal completion and instruction following; `null` if no verifier names them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_sets: Option<ItemSets>,
    /// Tasks on which no skill should help, reported separately; `null` without any.
    pub negative_controls: Option<NegativeControls>,
    /// Exploratory results.
    #[serde(flatten)]
    pub exploration: Exploration,
    /// The models that replied, by the providers' own word.
    pub replied_models: Vec<RepliedModel>,
    /// Whether one of them is not the requested model: a gate must not pass such a run.
    pub model_mismatch: bool,
    /// What the records prove about where they come from; `null` if only their content was given.
    #[serde(rename = "keys")]
    pub origins: Option<RecordOrigins>,
    /// Exclusions, with the reason.
    pub excluded: Vec<Exclusion>,
    /// The experiment's file, where it still is; a caller may shorten it for its reader.
    #[serde(skip)]
    pub experiment: Option<PathBuf>,
    /// What to do next, at most three; in the JSON of `assay-report` sentences.
    #[serde(skip)]
    pub next_steps: Vec<NextStep>,
    /// Notes for the reader.
    #[serde(skip)]
    pub notes: Vec<Note>,
}

/// A plan's digest in a Git tag, which `assay plan --register` writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Registration {
    /// The tag.
    pub tag: String,
    /// When it was written, by the clock of its writer; RFC 3339.
    pub at: String,
    /// Whether it is older than every trial; `null` if it is unknown when trials ran.
    pub before_trials: Option<bool>,
}

impl Registration {
    /// A tag that was written at a time, of a run whose trials ran in `measured` ([`Provenance::measured`]).
    pub fn of(tag: String, at: jiff::Timestamp, measured: Option<&[String; 2]>) -> Self {
        let first = measured.and_then(|[first, _]| first.parse::<jiff::Timestamp>().ok());
        Self { tag, at: at.to_string(), before_trials: first.map(|first| at <= first) }
    }
}

/// Trials that were executed under another identity than their plan would give them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReusedCount {
    /// `earlier-schema`: before servers and labels were part of the id schema. `same-server`: with another server.
    pub why: Reuse,
    /// Their server, if it is another than that of their agent.
    pub server: Option<String>,
    /// How many.
    pub trials: usize,
}

impl ReusedCount {
    fn of(reused: &ReusedTrials) -> Self {
        Self { why: reused.why, server: reused.server.clone(), trials: reused.trials.len() }
    }
}

/// Finds everything about a run.
///
/// # Errors
/// Records that cannot be read, or are of another version.
pub fn report(store: &Store, run: &RunFolder) -> Result<Report, StoreError> {
    report_selected(store, run, &Selection::default())
}

/// Computes everything about the selected cells of a run, as if the others were not planned. Only
/// the family of comparisons stays that of the complete run.
///
/// # Errors
/// As [`report`].
pub fn report_selected(store: &Store, run: &RunFolder, only: &Selection) -> Result<Report, StoreError> {
    let calibration = store.calibration(&run.run)?;
    // One of another version is none.
    let calibration = calibration.and_then(|value| serde_json::from_value(value).ok());
    let gathered = Gathered::read(store, run, only)?.asking(asked_question::question(store, run)?);
    let found = analyze(run, &gathered.calibrated(calibration));
    Ok(Report { experiment: store.experiment_path(&run.run), ..found })
}

/// The report of a run for the gate that is about to decide on it.
///
/// # Errors
/// As [`report`].
pub fn report_for_gate(store: &Store, run: &RunFolder) -> Result<Report, StoreError> {
    let gathered = Gathered::read(store, run, &Selection::default())?.gated(None);
    let found = analyze(run, &gathered.asking(asked_question::question(store, run)?));
    Ok(Report { experiment: store.experiment_path(&run.run), ..found })
}

/// As [`report_selected`], with labels by which the scores of judges are corrected.
///
/// # Errors
/// As [`report`].
pub fn report_calibrated(
    store: &Store,
    run: &RunFolder,
    only: &Selection,
    calibration: CalibrationSet,
) -> Result<Report, StoreError> {
    let gathered = Gathered::read(store, run, only)?.asking(asked_question::question(store, run)?);
    let found = analyze(run, &gathered.calibrated(Some(calibration)));
    Ok(Report { experiment: store.experiment_path(&run.run), ..found })
}

/// The report, from records alone.
pub fn analyze(run: &RunFolder, gathered: &Gathered) -> Report {
    let tables = &gathered.tables;
    let arms = arms::arms(run, tables);
    let mut comparisons = comparisons::comparisons(run, tables, run.primary.as_deref());
    let mut negative_controls = controls::controls(run, gathered);
    let on_controls = negative_controls.iter_mut().flat_map(|controls| &mut controls.comparisons);
    for comparison in comparisons.iter_mut().chain(on_controls) {
        comparison.imported = run.imported.is_some();
    }
    let (standing, progress) = (gathered.standing(run), gathered.progress());
    standing::withhold(standing, progress, &mut comparisons);
    if let Some(controls) = &mut negative_controls {
        standing::withhold(standing, progress, &mut controls.comparisons);
    }
    let mut contrasts = contrasts::contrasts(run, tables, &comparisons::clusters(run));
    let mut metrics = metrics::metrics(run, tables, &comparisons::clusters(run));
    undelivered::block_others(&comparisons, &mut contrasts, &mut metrics);
    standing::withhold_others(standing, &mut contrasts, &mut metrics);
    let judged = judged::judged(run, gathered, &comparisons, &comparisons::clusters(run));
    judged::block(judged.as_ref(), &mut comparisons);
    for comparison in &mut comparisons {
        comparison.causes = causes::causes(run, gathered, &arms, comparison);
    }
    let replied_models = models::replied(run, gathered);
    let item_sets = item_sets::item_sets(run, gathered, &comparisons);
    let findings = Findings {
        arms: &arms,
        comparisons: &comparisons,
        controls: negative_controls.as_ref(),
        replied_models: &replied_models,
    };
    let notes = notes(run, gathered, &findings);
    let exploration = Exploration::of(run, tables, &arms);
    let is_interim = standing == Standing::Interim;
    let next_steps = next_steps::next_steps(
        run,
        &next_steps::Findings {
            gathered,
            arms: &arms,
            comparisons: &comparisons,
            exploration: &exploration,
            is_interim,
        },
    );
    Report {
        schema: SCHEMA,
        run: run.run.clone(),
        provenance: provenance::provenance(run, gathered, &replied_models),
        outcome: OutcomeSummary::of(&gathered.outcomes),
        margin: run.margin,
        selected_by: run.selected_by.clone(),
        primary: run.primary.clone(),
        measures_a_model: run.agents.iter().any(|agent| agent.measures_a_model),
        question: gathered.question.clone(),
        interim: is_interim,
        progress,
        closing: gathered.closing.clone(),
        extended_after_look: gathered.is_extension(run)
            || gathered.question.as_ref().is_some_and(|question| !question.earlier.is_empty()),
        registration: None,
        relabels: run.relabels.clone(),
        reused: run.reused.iter().map(ReusedCount::of).collect(),
        fractional_scores: gathered.slots().any(Slot::is_fractional),
        tasks: tasks::rows(run, tables),
        exploration,
        arms,
        comparisons,
        contrasts,
        metrics,
        judged,
        item_sets,
        negative_controls,
        model_mismatch: replied_models.iter().any(|model| !model.matches),
        replied_models,
        origins: gathered.origins,
        excluded: gathered.excluded.clone(),
        experiment: None,
        next_steps,
        notes,
    }
}
