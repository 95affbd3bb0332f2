//! Assigns the records of a run to its plan.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread;

use assay_store::{
    Closing, Exclusion, Record, RecordOrigin, RunFolder, RunOutcomes, Selection, Store, StoreError,
    Treatment, TrialId,
};

use crate::asked_question::AskedQuestion;
use crate::calibration::CalibrationSet;
use crate::delivery::written_skills_kept;
use crate::looks;
use crate::model::AgentKey;
use crate::origins::{RecordOrigins, RecordState};
use crate::progress::Progress;
use crate::result::TrialResult;
use crate::table::{Slot, Table};

/// More threads than this do not read small files faster.
const MOST_THREADS: usize = 8;

/// A run's records, cell by cell.
#[derive(Debug, Default)]
pub struct Gathered {
    /// Tables: one per agent and sandbox, for arms in different sandboxes are not compared.
    pub(crate) tables: Vec<Table>,
    /// The same for the tasks where no skill should help, which count separately.
    pub(crate) controls: Vec<Table>,
    /// Exclusions by the plan and by the checks.
    pub(crate) excluded: Vec<Exclusion>,
    /// Records that are there and cannot be read.
    pub(crate) unreadable: usize,
    /// What the records prove about where they come from; `None` if only their content is known.
    pub(crate) origins: Option<RecordOrigins>,
    /// What the outcome value of each task's trials is.
    pub(crate) outcomes: RunOutcomes,
    /// Labels by which the scores of judges are corrected.
    pub(crate) calibration: Option<CalibrationSet>,
    /// How many of the run's trials are done, selected or not.
    pub(crate) progress: Progress,
    /// Valid trials of the run, selected or not.
    pub(crate) valid: usize,
    /// The closing of the run, if it was closed.
    pub(crate) closing: Option<Closing>,
    /// The look of a gate that has not decided on the run.
    pub(crate) open_look: Option<String>,
    /// The question of the run.
    pub(crate) question: Option<AskedQuestion>,
}

impl Gathered {
    /// Assigns records to the cells of a plan.
    ///
    /// `failed` are the tasks excluded by their checks; `record` returns a trial's record, or
    /// `None` if it is unfinished. An unreadable record counts as none.
    ///
    /// # Errors
    /// The errors of `record` except [`StoreError::Format`]; a record of another schema version.
    pub fn from_records(
        run: &RunFolder,
        failed: &[Exclusion],
        record: impl FnMut(&TrialId) -> Result<Option<Record>, StoreError>,
    ) -> Result<Self, StoreError> {
        Self::from_selected_records(run, failed, &Selection::default(), record)
    }

    /// Assigns the records of the selected cells to a plan; other cells are ignored as if they were
    /// not planned.
    ///
    /// # Errors
    /// As [`Gathered::from_records`].
    pub fn from_selected_records(
        run: &RunFolder,
        failed: &[Exclusion],
        only: &Selection,
        mut record: impl FnMut(&TrialId) -> Result<Option<Record>, StoreError>,
    ) -> Result<Self, StoreError> {
        Self::from_states(run, failed, only, |trial| {
            // Content alone proves no origin.
            classify_record(record(trial).map(|found| found.map(|record| (record, RecordOrigin::Unsigned))))
        })
    }

    /// Has the report correct the scores of judges by labels.
    #[must_use]
    pub fn calibrated(self, calibration: Option<CalibrationSet>) -> Self {
        Self { calibration, ..self }
    }

    /// All cells, those of negative controls last.
    pub(crate) fn slots(&self) -> impl Iterator<Item = &Slot> {
        let tables = self.tables.iter().chain(&self.controls);
        tables.flat_map(|table| table.cells.values()).flat_map(BTreeMap::values)
    }

    /// Reads a run's records from a store, with several threads.
    pub(crate) fn read(store: &Store, run: &RunFolder, only: &Selection) -> Result<Self, StoreError> {
        let failed = store.failed_checks(&run.run)?;
        let trials: Vec<&TrialId> = run.trials().into_iter().collect();
        let writing: BTreeSet<&TrialId> = run
            .cells
            .iter()
            .filter(|cell| run.role_of(&cell.condition).treatment() == Treatment::WrittenSkills)
            .map(|cell| &cell.trial)
            .collect();
        let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        let share = trials.len().div_ceil(threads).max(1);
        let found: Vec<Result<RecordState, StoreError>> = thread::scope(|scope| {
            let shares: Vec<_> = trials
                .chunks(share)
                .map(|share| {
                    scope.spawn(|| {
                        let read = |trial: &&TrialId| {
                            let record = store.record_with_origin(trial);
                            let kept = record
                                .as_ref()
                                .ok()
                                .and_then(Option::as_ref)
                                .map(|(record, _)| record)
                                .filter(|record| record.generated.is_none() && writing.contains(*trial));
                            let written = kept.and_then(|record| written_skills_kept(store, record));
                            let mut state = classify_record(record)?;
                            if let (RecordState::Result(result, _), Some(written)) = (&mut state, written) {
                                result.delivery.written = Some(written);
                            }
                            Ok(state)
                        };
                        share.iter().map(read).collect::<Vec<_>>()
                    })
                })
                .collect();
            shares
                .into_iter()
                .flat_map(|share| share.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        let found: Vec<RecordState> = found.into_iter().collect::<Result<_, _>>()?;
        let states: BTreeMap<&TrialId, &RecordState> = trials.iter().copied().zip(&found).collect();
        let name = |agent: usize| run.agents.get(agent).map_or("", |agent| &agent.label.name);
        let selected = run.cells.iter().filter(|cell| only.matches(cell, name(cell.agent)));
        let selected: BTreeSet<&TrialId> = selected.map(|cell| &cell.trial).collect();
        let origins = RecordOrigins::count(&states, &selected, run.imported.is_some());
        let gathered = Self::from_states(run, &failed, only, |trial| {
            Ok(states.get(trial).map_or(RecordState::Missing, |state| (*state).clone()))
        })?;
        let gathered = Self { origins: Some(origins), ..gathered };
        Ok(gathered.closed(run, store.closing(&run.run)?).gated(store.open_look(&run.run)))
    }

    fn from_states(
        run: &RunFolder,
        failed: &[Exclusion],
        only: &Selection,
        mut find: impl FnMut(&TrialId) -> Result<RecordState, StoreError>,
    ) -> Result<Self, StoreError> {
        let mut gathered = Self::assign(run, failed, only, &mut find)?;
        gathered.count_progress();
        if *only != Selection::default() {
            // A part has verdicts only if the run as a whole is complete.
            let mut whole = Self::assign(run, failed, &Selection::default(), &mut find)?;
            whole.count_progress();
            (gathered.progress, gathered.valid) = (whole.progress, whole.valid);
        }
        Ok(gathered)
    }

    fn assign(
        run: &RunFolder,
        failed: &[Exclusion],
        only: &Selection,
        find: &mut dyn FnMut(&TrialId) -> Result<RecordState, StoreError>,
    ) -> Result<Self, StoreError> {
        let mut gathered = Self { outcomes: RunOutcomes::new(run.outcome), ..Self::default() };
        let excluded = run.excluded.iter().chain(failed).filter(|excluded| only.covers(excluded));
        gathered.excluded.extend(excluded.cloned());
        let left_out: BTreeSet<&str> = failed.iter().map(|excluded| excluded.task.as_str()).collect();
        let controls: BTreeSet<&str> =
            run.tasks.iter().filter(|task| task.negative_control).map(|task| task.name.as_str()).collect();
        let second_stage: BTreeSet<String> = run.second_stage().into_iter().map(str::to_owned).collect();
        let second_stage = Arc::new(second_stage);
        let mut tables: [BTreeMap<(usize, &str), Table>; 2] = [BTreeMap::new(), BTreeMap::new()];
        for cell in run.cells.iter().filter(|cell| !left_out.contains(cell.task.as_str())) {
            let tables = &mut tables[usize::from(controls.contains(cell.task.as_str()))];
            let table = tables.entry((cell.agent, &cell.sandbox)).or_insert_with(|| Table {
                agent: cell.agent,
                who: AgentKey::new(&run.agents[cell.agent], &cell.sandbox),
                needs_replies: run.imported.is_none() && run.agents[cell.agent].label.model.is_some(),
                planned_conditions: BTreeSet::new(),
                unselected: Vec::new(),
                cells: BTreeMap::new(),
                looks: BTreeMap::new(),
                second_stage: second_stage.clone(),
                closing: None,
            });
            if !table.planned_conditions.contains(&cell.condition) {
                table.planned_conditions.insert(cell.condition.clone());
            }
            if !only.matches(cell, &run.agents[cell.agent].label.name) {
                continue;
            }
            let result = match find(&cell.trial)? {
                RecordState::Missing | RecordState::Changed => None,
                RecordState::Unreadable => {
                    gathered.unreadable += 1;
                    None
                }
                RecordState::Result(result, _) => Some(*result),
            };
            if let Some(result) = &result {
                gathered.outcomes.observe_values(&cell.task, &result.values);
            }
            let slot = table.slot(&cell.condition, &cell.task);
            slot.planned += 1;
            slot.results.extend(result);
        }
        for (task, slot) in tables.iter_mut().flat_map(BTreeMap::values_mut).flat_map(Table::slots_mut) {
            slot.apply_outcome(gathered.outcomes.kind(task));
        }
        let [measured, controls] = tables;
        let selected = |tables: BTreeMap<(usize, &str), Table>| {
            let (mut tables, dropped): (Vec<Table>, Vec<Table>) =
                tables.into_values().partition(|table| !table.cells.is_empty());
            let unselected: Vec<_> = dropped.into_iter().map(|table| table.planned_conditions).collect();
            for table in &mut tables {
                table.unselected.clone_from(&unselected);
                table.void_unusable();
            }
            tables
        };
        gathered.tables = selected(measured);
        gathered.controls = selected(controls);
        looks::decide(run, &mut gathered.tables, &mut gathered.controls);
        Ok(gathered)
    }
}

/// The state of a trial's record.
fn classify_record(
    record: Result<Option<(Record, RecordOrigin)>, StoreError>,
) -> Result<RecordState, StoreError> {
    match record {
        Ok(None) => Ok(RecordState::Missing),
        Ok(Some((Record { schema, trial, .. }, _))) if schema != Record::SCHEMA => {
            Err(StoreError::Version { path: trial.as_str().into(), found: schema, reads: Record::SCHEMA })
        }
        Ok(Some((record, origin))) => Ok(RecordState::Result(Box::new(TrialResult::from(&record)), origin)),
        Err(StoreError::Format { .. }) => Ok(RecordState::Unreadable),
        Err(StoreError::Changed { .. }) => Ok(RecordState::Changed),
        Err(error) => Err(error),
    }
}
