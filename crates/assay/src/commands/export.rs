//! `assay export`: results as tables for other tools, and runs as files.

mod k8s;
mod rubric;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use assay_store::{
    ArchiveTask, Cell, ConditionRole, Outcome, OutcomeRule, Record, RunExport, RunFolder, RunOutcomes, Store,
    TrialId, export_run,
};
use assay_table::{Column, Kind, TableWriter, Value, WriteError, WriteFormat};
use assay_task::Suite;
use assay_trace::{Source, Trajectory};
use assay_trial::import::{OUTCOME_RULE, PLAN_COLUMNS, STAGE_COLUMNS};
use serde_json::json;

use crate::args::export::{ExportArgs, ExportDataArgs, ExportFormat, ExportRunArgs, ExportWhat};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

pub(crate) fn run(args: &ExportArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    match &args.what {
        ExportWhat::Data(args) => data(args, settings, ui),
        ExportWhat::Run(args) => whole_run(args, settings, ui),
        ExportWhat::Rubric(args) => rubric::run(args, ui),
        ExportWhat::K8s(args) => k8s::run(args, ui),
    }
}

fn whole_run(args: &ExportRunArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    refuse_overwriting(std::slice::from_ref(&args.out), args.force)?;
    let store = machine::read_store(&settings.store)?;
    let secrets = machine::secrets();
    let suite = Suite::load(&args.tasks, std::path::Path::new("."));
    let tasks: Vec<ArchiveTask<'_>> = suite
        .tasks
        .iter()
        .map(|task| ArchiveTask {
            name: &task.name,
            root: &task.root,
            has_digest: Box::new(|digest| task.has_digest(digest)),
        })
        .collect();
    let export = RunExport {
        run: &args.run,
        out: &args.out,
        trajectories: !args.no_trajectories,
        tasks: &tasks,
        clean: &|text| assay_report::redact(text, &secrets),
    };
    let mut exported = export_run(&store, &export)?;
    exported.skipped.extend(suite.problems.iter().map(ToString::to_string));
    exported.skipped.extend(suite.unreadable.iter().map(|task| task.error.to_string()));
    if ui.json() {
        ui.document(&json!({
            "schema": "assay.export-run/1", "run": args.run, "file": args.out, "trials": exported.trials,
            "tasks": exported.tasks, "files": exported.files, "bytes": exported.bytes, "skipped": exported.skipped,
        }))?;
    } else {
        let trials = assay_diagnostic::counted(exported.trials, "trial", "trials");
        let bytes = assay_diagnostic::group_digits(exported.bytes);
        ui.out(&format!("{}: {trials}, {bytes} bytes\n", args.out.display()))?;
    }
    for message in &exported.skipped {
        ui.note(&format!("skipped: {message}"));
    }
    Ok(if exported.skipped.is_empty() { Status::Done } else { Status::DidNotHold })
}

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

fn data(args: &ExportDataArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let format = match args.table_format {
        ExportFormat::Csv => WriteFormat::Csv,
        ExportFormat::Jsonl => WriteFormat::JsonLines,
        ExportFormat::Parquet => WriteFormat::Parquet,
    };
    format.require().map_err(failure)?;
    let store = machine::read_store(&settings.store)?;
    let mut skipped = Vec::new();
    let names = run_names(&store, &args.runs, &mut skipped)?;
    let path = |table: &str| args.out.join(format!("{table}.{}", format.extension()));
    let tables = ["trials", "tasks", "steps", "task_steps", "checks", "exposure"];
    refuse_overwriting(&tables.map(path), args.force)?;
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
    fs::create_dir_all(&args.out)
        .map_err(|error| Failure::infrastructure(format!("cannot create {}: {error}", args.out.display())))?;
    let create = |table: &str, columns| TableWriter::create(&path(table), format, columns).map_err(failure);
    let mut export = Export {
        trials: create("trials", trial_columns(&keys))?,
        tasks: create("tasks", columns(&TASKS))?,
        steps: create("steps", columns(&STEPS))?,
        task_steps: create("task_steps", columns(&TASK_STEPS))?,
        checks: create("checks", columns(&CHECKS))?,
        exposure: create("exposure", columns(&EXPOSURE))?,
        keys,
        skipped,
    };
    for name in &names {
        export.run(&store, &store.run(name)?)?;
    }
    let Export { trials, tasks: task_rows, steps, task_steps, checks, exposure, skipped, .. } = export;
    let mut written = Vec::new();
    for (table, writer) in tables.into_iter().zip([trials, task_rows, steps, task_steps, checks, exposure]) {
        written.push((path(table), table, writer.finish().map_err(failure)?));
    }
    if ui.json() {
        let tables: Vec<_> = written
            .iter()
            .map(|(file, table, rows)| json!({ "table": table, "file": file, "rows": rows }))
            .collect();
        ui.document(&json!({
            "schema": "assay.export/1", "runs": names, "tables": tables, "skipped": skipped,
        }))?;
    } else {
        for (file, _, rows) in &written {
            ui.out(&format!("{}: {}\n", file.display(), assay_report::counted(*rows, "row", "rows")))?;
        }
    }
    for message in &skipped {
        ui.note(&format!("skipped: {message}"));
    }
    Ok(if skipped.is_empty() { Status::Done } else { Status::DidNotHold })
}

/// The named runs, once each, or all runs whose plans can be read.
fn run_names(store: &Store, named: &[String], skipped: &mut Vec<String>) -> Result<Vec<String>, Failure> {
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

fn refuse_overwriting(paths: &[PathBuf], force: bool) -> Result<(), Failure> {
    match paths.iter().find(|path| path.exists()) {
        Some(path) if !force => Err(Failure::bad_input(format!("{} exists", path.display()))
            .hint("--force overwrites it; --out names another folder")),
        _ => Ok(()),
    }
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

fn failure(error: WriteError) -> Failure {
    match error {
        WriteError::NoParquet => Failure::bad_input(error.to_string())
            .hint("use --as csv or --as jsonl, or build assay with `--features parquet`"),
        error => Failure::infrastructure(assay_diagnostic::chain(&error)),
    }
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
    fn run(&mut self, store: &Store, run: &RunFolder) -> Result<(), Failure> {
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
            self.tasks.write(&row).map_err(failure)?;
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
                    self.trials.write(&row).map_err(failure)?;
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
    fn trajectory(&mut self, store: &Store, run: &RunFolder, record: &Record) -> Result<(), Failure> {
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
            self.steps.write(&row).map_err(failure)?;
        }
        Ok(())
    }

    /// The task's steps, the checks and the exposure of a trial.
    fn details(&mut self, run: &RunFolder, record: &Record) -> Result<(), Failure> {
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
            self.task_steps.write(&row).map_err(failure)?;
        }
        for check in record.checks() {
            let status = Some(check.status.as_str()).filter(|status| !status.is_empty());
            let row = [text(&run.run), text(trial), text(&check.name), optional_text(status)];
            self.checks.write(&row).map_err(failure)?;
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
            self.exposure.write(&row).map_err(failure)?;
        }
        Ok(())
    }
}

/// The digests of provided skills by task and condition, separated by spaces. Plans of imported runs
/// may have none.
fn digests(run: &RunFolder) -> BTreeMap<(&str, &str), String> {
    run.provisions
        .iter()
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
