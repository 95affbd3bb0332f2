//! Results as tables for other tools: `assay export data`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use assay_store::{
    Cell, ConditionRole, Outcome, OutcomeRule, Record, RunFolder, RunOutcomes, Store, StoreError, TrialId,
};
use assay_table::{Column, Kind, TableWriter, Value, WriteError, WriteFormat};
use assay_trace::{Source, Trajectory};

use crate::import::{OUTCOME_RULE, PLAN_COLUMNS, STAGE_COLUMNS};

/// The tables, in the order in which they are written.
const TABLES: [&str; 6] = ["trials", "tasks", "steps", "task_steps", "checks", "exposure"];

/// Columns of `trials` before those of [`Record::numbers`].
const TRIALS: [(&str, Kind); 30] = [
    ("run", Kind::Text),
    ("trial", Kind::Text),
    ("task", Kind::Text),
    ("condition", Kind::Text),
    ("baseline", Kind::Bool),
    ("agent", Kind::Text),
    ("model", Kind::Text),
    ("sandbox", Kind::Text),
    ("repetition", Kind::Integer),
    ("outcome", Kind::Text),
    ("score", Kind::Float),
    ("input_tokens", Kind::Integer),
    ("output_tokens", Kind::Integer),
    ("cost_usd", Kind::Float),
    ("seconds", Kind::Float),
    ("turns", Kind::Integer),
    ("opened", Kind::Bool),
    ("skill_digests", Kind::Text),
    // Of the run's plan, for `assay import table`; those of the table `tasks` have other names here, for joins.
    ("role", Kind::Text),
    ("primary", Kind::Bool),
    ("task_cluster", Kind::Text),
    ("task_control", Kind::Bool),
    ("task_excluded", Kind::Bool),
    ("margin", Kind::Float),
    ("seed", Kind::Integer),
    ("rounds", Kind::Integer),
    ("first_tasks", Kind::Integer),
    ("more_tasks", Kind::Integer),
    ("second_stage", Kind::Bool),
    (OUTCOME_RULE, Kind::Text),
];

const TASKS: [(&str, Kind); 7] = [
    ("run", Kind::Text),
    ("task", Kind::Text),
    ("cluster", Kind::Text),
    ("difficulty", Kind::Text),
    ("category", Kind::Text),
    ("negative_control", Kind::Bool),
    ("excluded", Kind::Bool),
];

const CHECKS: [(&str, Kind); 4] =
    [("run", Kind::Text), ("trial", Kind::Text), ("name", Kind::Text), ("status", Kind::Text)];

const STEPS: [(&str, Kind); 11] = [
    ("run", Kind::Text),
    ("trial", Kind::Text),
    ("step", Kind::Integer),
    ("time", Kind::Text),
    ("source", Kind::Text),
    ("characters", Kind::Integer),
    ("tools", Kind::Text),
    ("errors", Kind::Integer),
    ("input_tokens", Kind::Integer),
    ("output_tokens", Kind::Integer),
    ("cost_usd", Kind::Float),
];

const TASK_STEPS: [(&str, Kind); 11] = [
    ("run", Kind::Text),
    ("trial", Kind::Text),
    ("number", Kind::Integer),
    ("name", Kind::Text),
    ("outcome", Kind::Text),
    ("score", Kind::Float),
    ("input_tokens", Kind::Integer),
    ("output_tokens", Kind::Integer),
    ("cost_usd", Kind::Float),
    ("seconds", Kind::Float),
    ("turns", Kind::Integer),
];

const EXPOSURE: [(&str, Kind); 8] = [
    ("run", Kind::Text),
    ("trial", Kind::Text),
    ("skill", Kind::Text),
    ("offered", Kind::Bool),
    ("advertised", Kind::Integer),
    ("mentioned", Kind::Integer),
    ("opened", Kind::Integer),
    ("executed", Kind::Integer),
];

/// Most bytes of a trajectory.
const TRAJECTORY_CAP: u64 = 1 << 30;

fn columns(fixed: &[(&str, Kind)]) -> Vec<Column> {
    fixed.iter().map(|(name, kind)| Column::new(*name, *kind)).collect()
}

/// Why tables cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A table cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The folder of the tables cannot be created.
    #[error("cannot create {}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
}

/// A table that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedTable {
    /// Its name: `trials`.
    pub table: &'static str,
    /// Its file.
    pub file: PathBuf,
    /// Its rows.
    pub rows: u64,
}

/// What was written.
#[derive(Debug)]
pub struct ExportedTables {
    /// The runs, once each.
    pub runs: Vec<String>,
    /// The tables.
    pub tables: Vec<ExportedTable>,
    /// Runs, records and trajectories that cannot be read, and why.
    pub skipped: Vec<String>,
}

/// The files that [`export_tables`] writes to a folder.
pub fn table_files(folder: &Path, format: WriteFormat) -> [PathBuf; TABLES.len()] {
    TABLES.map(|table| folder.join(format!("{table}.{}", format.extension())))
}

/// Writes the named runs, or all runs of a store, as tables to a folder. Files that are there are replaced.
///
/// # Errors
/// A named run cannot be read, or a table cannot be written. Records that cannot be read are among the skipped.
pub fn export_tables(
    store: &Store,
    runs: &[String],
    folder: &Path,
    format: WriteFormat,
) -> Result<ExportedTables, ExportError> {
    let mut skipped = Vec::new();
    let names = run_names(store, runs, &mut skipped)?;
    // The columns of a table come before its rows, so the keys of all records are read first.
    let mut keys = BTreeSet::new();
    for name in &names {
        for trial in store.run(name)?.trials() {
            if let Ok(Some(record)) = store.record(trial) {
                keys.extend(record.numbers.into_keys());
            }
        }
    }
    let keys: Vec<String> = keys.into_iter().collect();
    fs::create_dir_all(folder).map_err(|source| ExportError::Folder { folder: folder.to_owned(), source })?;
    let files = table_files(folder, format);
    let [trials, tasks, steps, task_steps, checks, exposure] = &files;
    let create = |file: &Path, columns| TableWriter::create(file, format, columns);
    let mut export = Export {
        trials: create(trials, trial_columns(&keys))?,
        tasks: create(tasks, columns(&TASKS))?,
        steps: create(steps, columns(&STEPS))?,
        task_steps: create(task_steps, columns(&TASK_STEPS))?,
        checks: create(checks, columns(&CHECKS))?,
        exposure: create(exposure, columns(&EXPOSURE))?,
        keys,
        skipped,
    };
    for name in &names {
        export.run(store, &store.run(name)?)?;
    }
    let Export { trials, tasks, steps, task_steps, checks, exposure, skipped, .. } = export;
    let mut tables = Vec::new();
    for ((table, file), writer) in
        TABLES.into_iter().zip(files).zip([trials, tasks, steps, task_steps, checks, exposure])
    {
        tables.push(ExportedTable { table, file, rows: writer.finish()? });
    }
    Ok(ExportedTables { runs: names, tables, skipped })
}

/// The named runs, once each, or all runs whose plans can be read.
fn run_names(store: &Store, named: &[String], skipped: &mut Vec<String>) -> Result<Vec<String>, StoreError> {
    let mut names: Vec<String> = Vec::new();
    for name in named {
        store.run(name)?;
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    if named.is_empty() {
        for name in store.run_names() {
            match store.run(&name) {
                Ok(_) => names.push(name),
                Err(error) => skipped.push(assay_diagnostic::chain(&error)),
            }
        }
    }
    Ok(names)
}

/// The fixed columns and one for each key of [`Record::numbers`]. A key that equals the name of
/// another column gets a prefix: programs that read tables do not tell upper from lower case.
fn trial_columns(keys: &[String]) -> Vec<Column> {
    let mut columns = columns(&TRIALS);
    let mut taken: BTreeSet<String> = columns.iter().map(|column| column.name.clone()).collect();
    for key in keys {
        let mut name = key.clone();
        while !taken.insert(name.to_lowercase()) {
            name = format!("numbers.{name}");
        }
        columns.push(Column::new(name, Kind::Float));
    }
    columns
}

/// What the plan says of a cell, for a table that is imported again.
fn plan_cells(
    run: &RunFolder,
    cell: &Cell,
    is_excluded: bool,
) -> [Value; PLAN_COLUMNS.len() + STAGE_COLUMNS.len() + 1] {
    let role = run.role_of(&cell.condition);
    let task = run.tasks.iter().find(|task| task.name == cell.task);
    let count = |count: Option<u32>| count.map_or(Value::Null, |count| integer(u64::from(count)));
    let stages = run.stopping.filter(|stopping| stopping.stages().is_some());
    [
        optional_text((role != ConditionRole::Other).then(|| role.name())),
        Value::Bool(run.primary.as_ref() == Some(&cell.condition)),
        optional_text(task.and_then(|task| task.cluster.as_deref())),
        Value::Bool(task.is_some_and(|task| task.negative_control)),
        Value::Bool(is_excluded),
        float(Some(run.margin)),
        integer(run.seed),
        count(run.stopping.map(|stopping| stopping.rounds)),
        count(stages.and_then(|stopping| stopping.first_tasks)),
        count(stages.and_then(|stopping| stopping.more_tasks)),
        Value::Bool(task.is_some_and(|task| task.second_stage)),
        optional_text(run.outcome.map(OutcomeRule::word)),
    ]
}

/// The tables as they are written.
struct Export {
    trials: TableWriter,
    tasks: TableWriter,
    steps: TableWriter,
    task_steps: TableWriter,
    checks: TableWriter,
    exposure: TableWriter,
    /// The keys of [`Record::numbers`] in all records.
    keys: Vec<String>,
    /// What could not be read.
    skipped: Vec<String>,
}

impl Export {
    fn run(&mut self, store: &Store, run: &RunFolder) -> Result<(), ExportError> {
        let failed = store.failed_checks(&run.run)?;
        for task in &run.tasks {
            let row = [
                text(&run.run),
                text(&task.name),
                optional_text(task.cluster.as_deref()),
                optional_text(task.difficulty.as_deref()),
                optional_text(task.category.as_deref()),
                Value::Bool(task.negative_control),
                Value::Bool(failed.iter().any(|failed| failed.task == task.name)),
            ];
            self.tasks.write(&row)?;
        }
        let digests = digests(run);
        let excluded: BTreeSet<&str> = failed.iter().map(|failed| failed.task.as_str()).collect();
        let outcomes = RunOutcomes::read(store, run)?;
        // Conditions with equal provisions share trials, which have their checks once.
        let mut seen: BTreeSet<&TrialId> = BTreeSet::new();
        for cell in &run.cells {
            let first = seen.insert(&cell.trial);
            match store.record(&cell.trial) {
                Ok(Some(record)) => {
                    let digests = digests.get(&(cell.task.as_str(), cell.condition.as_str()));
                    let mut row = Self::trial(run, cell, &record, &outcomes, digests.map(String::as_str));
                    row.extend(plan_cells(run, cell, excluded.contains(cell.task.as_str())));
                    row.extend(self.keys.iter().map(|key| float(record.numbers.get(key).copied())));
                    self.trials.write(&row)?;
                    if first {
                        self.details(run, &record)?;
                        self.trajectory(store, run, &record)?;
                    }
                }
                Err(error) if first => self.skipped.push(assay_diagnostic::chain(&error)),
                // Not finished, or listed before.
                Ok(None) | Err(_) => {}
            }
        }
        Ok(())
    }

    fn trial(
        run: &RunFolder,
        cell: &Cell,
        record: &Record,
        outcomes: &RunOutcomes,
        digests: Option<&str>,
    ) -> Vec<Value> {
        let planned = run.agents.get(cell.agent);
        let label = planned.map_or(&record.agent, |planned| &planned.label);
        let tokens = |count: fn(&assay_trace::Usage) -> u64| {
            record.usage.as_ref().map_or(Value::Null, |usage| integer(count(usage)))
        };
        vec![
            text(&run.run),
            text(cell.trial.as_str()),
            text(&cell.task),
            text(&cell.condition),
            Value::Bool(run.conditions.first() == Some(&cell.condition)),
            text(planned.map_or(record.agent.name.as_str(), |planned| planned.name())),
            optional_text(label.model.as_deref()),
            text(&cell.sandbox),
            integer(u64::from(cell.repetition)),
            text(record.outcome.word()),
            float(outcomes.value(record)),
            tokens(assay_trace::Usage::prompt),
            tokens(|usage| usage.output),
            float(record.cost_usd),
            float(record.seconds.agent),
            record.turns.map_or(Value::Null, |turns| integer(turns as u64)),
            // Without a skill, there is none to open.
            record.has_opened().filter(|_| !record.skills().is_empty()).map_or(Value::Null, Value::Bool),
            optional_text(digests),
        ]
    }

    /// The steps of a trial's trajectory, if it has one.
    fn trajectory(&mut self, store: &Store, run: &RunFolder, record: &Record) -> Result<(), ExportError> {
        let folder = store.trial_folder(&record.trial);
        let file = PathBuf::from(format!("attempts/{}/trajectory.json", record.attempt));
        let read = match assay_fs::read_beneath(&folder, &file, TRAJECTORY_CAP) {
            Ok(None) => return Ok(()),
            Ok(Some(bytes)) => serde_json::from_slice(&bytes).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let trajectory: Trajectory = match read {
            Ok(trajectory) => trajectory,
            Err(message) => {
                self.skipped.push(format!("{}: {message}", folder.join(&file).display()));
                return Ok(());
            }
        };
        for step in &trajectory.steps {
            let tools: Vec<&str> = step.tool_calls.iter().map(|call| call.function_name.as_str()).collect();
            let metrics = step.metrics.clone().unwrap_or_default();
            let results = step.observation.iter().flat_map(|observation| &observation.results);
            let row = [
                text(&run.run),
                text(record.trial.as_str()),
                integer(step.step_id as u64),
                optional_text(step.timestamp.as_deref()),
                text(match step.source {
                    Source::System => "system",
                    Source::User => "user",
                    Source::Agent => "agent",
                }),
                integer(step.message.chars().count() as u64),
                optional_text((!tools.is_empty()).then(|| tools.join(" ")).as_deref()),
                integer(results.filter(|result| result.failed() == Some(true)).count() as u64),
                metrics.prompt_tokens.map_or(Value::Null, integer),
                metrics.completion_tokens.map_or(Value::Null, integer),
                float(metrics.cost_usd),
            ];
            self.steps.write(&row)?;
        }
        Ok(())
    }

    /// The task's steps, the checks and the exposure of a trial.
    fn details(&mut self, run: &RunFolder, record: &Record) -> Result<(), ExportError> {
        let trial = record.trial.as_str();
        for (number, step) in (1..).zip(&record.steps) {
            let tokens = |count: fn(&assay_trace::Usage) -> u64| {
                step.usage.as_ref().map_or(Value::Null, |usage| integer(count(usage)))
            };
            let row = [
                text(&run.run),
                text(trial),
                integer(number),
                text(&step.name),
                optional_text(step.outcome.map(Outcome::word)),
                float(step.score),
                tokens(assay_trace::Usage::prompt),
                tokens(|usage| usage.output),
                float(step.cost_usd),
                // A step that was not run took no time and has no turn.
                float(step.outcome.and(step.seconds.agent)),
                step.outcome.and(step.turns).map_or(Value::Null, |turns| integer(turns as u64)),
            ];
            self.task_steps.write(&row)?;
        }
        for check in record.checks() {
            let status = Some(check.status.as_str()).filter(|status| !status.is_empty());
            let row = [text(&run.run), text(trial), text(&check.name), optional_text(status)];
            self.checks.write(&row)?;
        }
        for skill in record.skills() {
            let step = |step: Option<usize>| step.map_or(Value::Null, |step| integer(step as u64));
            let row = [
                text(&run.run),
                text(trial),
                text(&skill.skill),
                Value::Bool(skill.offered),
                step(skill.advertised),
                step(skill.mentioned),
                step(skill.opened),
                step(skill.executed.as_ref().map(|executed| executed.step)),
            ];
            self.exposure.write(&row)?;
        }
        Ok(())
    }
}

/// The digests of provided skills by task and condition, separated by spaces. Plans of imported runs
/// do not have them.
fn digests(run: &RunFolder) -> BTreeMap<(&str, &str), String> {
    run.provisions
        .iter()
        .filter(|provided| provided.known.is_none())
        .map(|provided| {
            let digests: Vec<&str> = provided.skills.iter().map(|skill| skill.digest.as_str()).collect();
            ((provided.task.as_str(), provided.condition.as_str()), digests.join(" "))
        })
        .collect()
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn optional_text(found: Option<&str>) -> Value {
    found.map_or(Value::Null, text)
}

fn float(number: Option<f64>) -> Value {
    number.map_or(Value::Null, Value::Float)
}

/// A count; one too large for the column is unknown.
fn integer(count: u64) -> Value {
    i64::try_from(count).map_or(Value::Null, Value::Integer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_is_in_the_columns_that_imports_read() {
        let read = [&PLAN_COLUMNS[..], &STAGE_COLUMNS[..], &[OUTCOME_RULE]].concat();
        let last: Vec<&str> = TRIALS.iter().rev().take(read.len()).rev().map(|(name, _)| *name).collect();
        assert_eq!(last, read);
    }

    #[test]
    fn a_number_with_the_name_of_a_column_gets_a_prefix() {
        let keys = ["Score", "lines", "score"].map(str::to_owned);
        let columns = trial_columns(&keys);
        let added: Vec<&str> = columns[TRIALS.len()..].iter().map(|column| column.name.as_str()).collect();
        assert_eq!(added, ["numbers.Score", "lines", "numbers.numbers.score"]);
    }
}
