//! A table with a row for each trial, from any harness.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use assay_model::Usage;
use assay_store::{
    AgentLabel, Cell, ImportedFrom, KnownSkills, Outcome, OutcomeRule, PlannedAgent, PlannedTask, Record,
    RunFolder, Seconds, Store, StoreError, TrialId, pretty,
};
use assay_table::{ReadError, Row, TableReader, Value};
use serde::Serialize;
use serde_json::json;

use super::exported::{self, OUTCOME_RULE, PLAN_COLUMNS, PlanCells, STAGE_COLUMNS, TablePlan};
use super::facts::{
    FactCount, LABEL_COLUMNS, SKILL_COLUMNS, TaskFacts, count_facts, known_provisions, skill_number,
    skill_tokens, unknown_notes,
};
use super::{
    AnalysisOptions, ImportError, MARGIN, PROTOCOL, SEED, claimed, file_digest, file_name, is_known, times,
};

/// The agent of a table without a column for it.
const UNNAMED: &str = "unknown";

/// The columns with a meaning, and how the table calls them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableColumns {
    /// Instead of `task`.
    pub task: Option<String>,
    /// Instead of `condition`.
    pub condition: Option<String>,
    /// Instead of `score`.
    pub score: Option<String>,
    /// Instead of `repetition`.
    pub repetition: Option<String>,
    /// Instead of `cluster`.
    pub cluster: Option<String>,
    /// Instead of `agent`.
    pub agent: Option<String>,
    /// Instead of `model`.
    pub model: Option<String>,
    /// Instead of `started`.
    pub started: Option<String>,
}

/// Options of the import of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableOptions {
    /// The run's name.
    pub name: String,
    /// The names of its columns.
    pub columns: TableColumns,
    /// Columns and the value that a row must have in each to be imported.
    pub filters: Vec<(String, String)>,
    /// Columns that are treated as if they were not there.
    pub ignored: Vec<String>,
    /// What the conditions are, which are compared, and by what.
    pub analysis: AnalysisOptions,
    /// The lowest and the highest possible score.
    pub range: (f64, f64),
}

/// A row that was not imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedRow {
    /// The line, or the row of a Parquet file, from 1.
    pub line: u64,
    /// Why.
    pub reason: String,
}

/// The result of the import of a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ImportedTable {
    /// `assay.import-table/1`.
    pub schema: &'static str,
    /// The run.
    pub run: String,
    /// Rows that became trials.
    pub imported: usize,
    /// Rows that could not be used, in order.
    pub skipped: Vec<SkippedRow>,
    /// Rows that the filters left out.
    pub filtered: usize,
    /// Trials by condition.
    pub by_condition: BTreeMap<String, usize>,
    /// Trials by outcome.
    pub by_outcome: BTreeMap<String, usize>,
    /// Columns that became numbers of the trials.
    pub numbers: BTreeSet<String>,
    /// Of how many tasks each fact is known that reports divide tasks by.
    pub facts: BTreeMap<&'static str, FactCount>,
    /// Notes for the reader, in sentences.
    pub notes: Vec<String>,
}

/// Imports a table: CSV or JSON Lines, plain or compressed with Zstandard, or Parquet.
///
/// Each row becomes a trial. The columns of `assay export data` become the fields that they came
/// from, and all other columns whose values are numbers become numbers of the record. The same table
/// gives the same run.
///
/// # Errors
/// An unreadable table, a missing column, no usable row, an ambiguous baseline, or a store that
/// cannot be written.
pub fn table(store: &Store, path: &Path, options: &TableOptions) -> Result<ImportedTable, ImportError> {
    if !assay_store::is_run_name(&options.name) {
        return Err(ImportError::Name { what: "run", name: options.name.clone() });
    }
    let read = read(path, options)?;
    let source = ImportSource { path, format: "table", origin: "another program" };
    import_read(store, &source, read, &options.name, &options.analysis)
}

/// The file that trials were read from.
pub(super) struct ImportSource<'a> {
    pub(super) path: &'a Path,
    /// The word in records.
    pub(super) format: &'static str,
    /// The program that executed the trials, in reports.
    pub(super) origin: &'static str,
}

impl ImportSource<'_> {
    /// The mark of its records.
    fn mark(&self) -> Result<ImportedFrom, ImportError> {
        Ok(ImportedFrom {
            format: self.format.to_owned(),
            file: file_name(self.path),
            digest: file_digest(self.path)?,
            trial: None,
        })
    }
}

/// Imports what was read from a table.
///
/// # Errors
/// As [`table`].
pub(super) fn import_read(
    store: &Store,
    source: &ImportSource<'_>,
    read: Read,
    name: &str,
    analysis: &AnalysisOptions,
) -> Result<ImportedTable, ImportError> {
    if read.trials.is_empty() {
        return Err(ImportError::NoRow {
            path: source.path.to_owned(),
            first: read.skipped.first().map(|row| (row.line, row.reason.clone())),
            filtered: read.filtered,
        });
    }
    let Read { mut trials, mut skipped, filtered, mut notes, .. } = read;
    check_ids(source.path, &trials)?;
    let numbers = number_columns(&mut trials);
    number_repetitions(&mut trials, &mut skipped);
    let clusters = clusters(&mut trials, &mut skipped);
    let labels =
        TaskFacts::of_tasks(trials.iter().map(|trial| (trial.task.as_str(), &trial.facts)), &mut notes);
    let provisions = known_provisions(
        trials.iter().map(|trial| (trial.task.as_str(), trial.condition.as_str(), trial.skills)),
        &mut notes,
    );
    skipped.sort_by_key(|row| row.line);
    let rows = trials.iter().map(|trial| (trial.task.as_str(), trial.condition.as_str(), &trial.plan));
    let plan = TablePlan::of(rows, analysis, &mut notes);
    let conditions = conditions(&trials, &plan.analysis)?;
    let (primary, settings) = (plan.analysis.primary(&conditions)?, plan.analysis.settings(&conditions)?);
    notes.extend(plan.analysis.primary_hint(&conditions, primary.as_deref()));
    let agents: BTreeSet<&AgentLabel> = trials.iter().map(|trial| &trial.agent).collect();
    let agents: Vec<AgentLabel> = agents.into_iter().cloned().collect();
    alone(&trials, &conditions, &agents, &mut notes);
    let count = |key: fn(&TableTrial) -> String| {
        let mut counts = BTreeMap::<String, usize>::new();
        for trial in &trials {
            *counts.entry(key(trial)).or_default() += 1;
        }
        counts
    };
    let mut imported = ImportedTable {
        schema: "assay.import-table/1",
        run: String::new(),
        imported: trials.len(),
        skipped,
        filtered,
        by_condition: count(|trial| trial.condition.clone()),
        by_outcome: count(|trial| trial.outcome.word().to_owned()),
        numbers,
        facts: BTreeMap::new(),
        notes,
    };
    let placed: Vec<Placed<'_>> =
        trials.iter().map(|trial| (TrialId::of(&trial.specification()), trial)).collect();
    write_all(store, &placed, &source.mark()?)?;
    let mut cells: Vec<Cell> = placed
        .iter()
        .map(|(id, trial)| Cell {
            task: trial.task.clone(),
            agent: agents.iter().position(|label| *label == trial.agent).unwrap_or_default(),
            sandbox: UNNAMED.to_owned(),
            condition: trial.condition.clone(),
            repetition: trial.repetition,
            trial: id.clone(),
        })
        .collect();
    let place = |cell: &Cell| (cell.task.clone(), cell.agent, cell.condition.clone(), cell.repetition);
    cells.sort_by_cached_key(place);
    let mut run = run_folder(conditions, &agents, cells, &clusters, source.origin);
    for task in &mut run.tasks {
        task.negative_control = plan.controls.contains(&task.name);
        task.second_stage = plan.second_stage.contains(&task.name);
        let own = labels.get(task.name.as_str());
        task.difficulty = own.and_then(|own| own.difficulty.clone());
        task.category = own.and_then(|own| own.category.clone());
    }
    run.provisions = provisions;
    imported.facts = count_facts(&run.tasks, &run.provisions, &run.cells, run.conditions.first());
    imported.notes.extend(unknown_notes(&imported.facts));
    (run.primary, run.settings) = (primary, settings);
    (run.margin, run.seed, run.stopping) = (plan.margin, plan.seed, plan.stopping);
    run.outcome = Some(plan.outcome);
    run.set_looks(assay_stats::sequential::looks_of);
    run.seal();
    let summary = serde_json::to_value(&imported).unwrap_or_default();
    let summary = pretty(&summary, Path::new("import.json"))?;
    let begun = store.begin_run(run, name, ("import.json", &summary))?;
    imported.notes.extend(store.relabeling_note(&begun)?);
    imported.run = begun.run;
    Ok(imported)
}

/// A row as a trial.
#[derive(Debug)]
struct TableTrial {
    line: u64,
    /// The id in the table's column `trial`.
    id: Option<String>,
    task: String,
    condition: String,
    agent: AgentLabel,
    /// As the table has it; [`number_repetitions`] sets `repetition`.
    given_repetition: Option<String>,
    repetition: u32,
    cluster: Option<String>,
    facts: TaskFacts,
    skills: KnownSkills,
    started: Option<jiff::Timestamp>,
    outcome: Outcome,
    score: Option<f64>,
    usage: Option<Usage>,
    cost_usd: Option<f64>,
    seconds: Option<f64>,
    turns: Option<usize>,
    /// What an exported table says of the run that it comes from.
    plan: PlanCells,
    /// Every other column: a number, or `None` for a value that is not one.
    others: BTreeMap<String, Option<f64>>,
}

impl TableTrial {
    fn specification(&self) -> serde_json::Value {
        json!({
            "protocol": PROTOCOL, "source": "table", "task": self.task, "agent": self.agent,
            "condition": self.condition, "repetition": self.repetition,
            // Two tables may differ in results only, and both be imported. An unknown figure is 0 here, as
            // in earlier versions, so that the same table gives the same trials.
            "result": [self.outcome.word(), self.score, self.usage, self.cost_usd, self.seconds.unwrap_or_default(), self.turns.unwrap_or_default(),
                self.others, self.started.map(|time| time.to_string())],
        })
    }

    fn record(&self, id: &TrialId) -> Record {
        let new = Record::new(id.clone(), self.task.clone(), self.agent.clone(), self.outcome);
        let started = self.started.map(|time| time.to_string());
        Record {
            sandbox: UNNAMED.to_owned(),
            condition: self.condition.clone(),
            repetition: self.repetition,
            reward: self.score,
            numbers: self.others.iter().filter_map(|(key, value)| Some((key.clone(), (*value)?))).collect(),
            turns: self.turns,
            usage: self.usage,
            // A table has no columns for it.
            cache_unknown: self.usage.is_some(),
            cost_usd: self.cost_usd,
            seconds: Seconds { agent: self.seconds, total: self.seconds, ..Seconds::default() },
            measures_a_model: true,
            finished_at: started.clone(),
            started_at: started,
            ..new
        }
    }
}

/// A trial with its id.
type Placed<'a> = (TrialId, &'a TableTrial);

#[derive(Debug, Default)]
pub(super) struct Read {
    trials: Vec<TableTrial>,
    skipped: Vec<SkippedRow>,
    filtered: usize,
    notes: Vec<String>,
    /// Bytes that the trials take, estimated.
    memory: usize,
}

/// Most bytes of memory that the trials of an import may take.
const MEMORY: usize = 256 << 20;

/// Bytes that a trial takes besides its texts and numbers: with its id, its cell and what they are sorted by. Measured
/// with tables of 100,000 rows.
const ROW: usize = 1024;

impl Read {
    /// Adds a trial, unless all of them would take too much memory.
    fn push(&mut self, trial: TableTrial) -> Result<(), ImportError> {
        let texts = [Some(&trial.task), Some(&trial.condition), Some(&trial.agent.name)];
        let more = [trial.id.as_ref(), trial.cluster.as_ref(), trial.given_repetition.as_ref()];
        let texts: usize = texts.into_iter().chain(more).flatten().map(String::len).sum();
        let numbers: usize = trial.others.keys().map(|column| column.len() + 96).sum();
        // Texts are in the trial, in its cell and in keys by which trials are sorted.
        self.memory += ROW + 4 * texts + numbers;
        if self.memory > MEMORY {
            let (line, cap) = (trial.line, MEMORY >> 20);
            return Err(ImportError::TooMany { line, trials: self.trials.len(), cap });
        }
        self.trials.push(trial);
        Ok(())
    }

    /// Adds a row under the names of columns that [`table`] gives a meaning to.
    ///
    /// # Errors
    /// [`ImportError::TooMany`].
    pub(super) fn add(&mut self, line: u64, cells: BTreeMap<&str, Value>) -> Result<(), ImportError> {
        let columns: Vec<String> = cells.keys().map(|&name| name.to_owned()).collect();
        let row = Row { line, values: cells.into_values().collect() };
        let cells = Cells { columns: &columns, row };
        let places = ColumnRoles::new(&TableColumns::default(), &[]);
        match trial(&cells, &places, &[], (0.0, 1.0), &mut false) {
            Ok(trial) => self.push(trial)?,
            Err(reason) => self.skip(line, reason),
        }
        Ok(())
    }

    /// Adds a row that cannot be used.
    pub(super) fn skip(&mut self, line: u64, reason: String) {
        self.skipped.push(SkippedRow { line, reason });
    }
}

/// Where the columns with a meaning are.
struct ColumnRoles {
    task: ColumnRole,
    condition: ColumnRole,
    score: ColumnRole,
    repetition: ColumnRole,
    cluster: ColumnRole,
    agent: ColumnRole,
    model: ColumnRole,
    started: ColumnRole,
}

/// The name of a column, and whether the user gave it.
struct ColumnRole {
    name: String,
    given: bool,
}

impl ColumnRoles {
    fn new(columns: &TableColumns, ignored: &[String]) -> Self {
        let place = |given: &Option<String>, default: &str| ColumnRole {
            name: given.clone().unwrap_or_else(|| default.to_owned()),
            given: given.is_some(),
        };
        let mut all = Self {
            task: place(&columns.task, "task"),
            condition: place(&columns.condition, "condition"),
            score: place(&columns.score, "score"),
            repetition: place(&columns.repetition, "repetition"),
            cluster: place(&columns.cluster, "cluster"),
            agent: place(&columns.agent, "agent"),
            model: place(&columns.model, "model"),
            started: place(&columns.started, "started"),
        };
        // A column that has been given another meaning does not have its usual one as well, and an
        // ignored one has none.
        let given: BTreeSet<String> =
            all.all().iter().filter(|place| place.given).map(|place| place.name.clone()).collect();
        for place in all.all_mut() {
            if !place.given && (given.contains(&place.name) || ignored.contains(&place.name)) {
                place.name.clear();
            }
        }
        all
    }

    fn all(&self) -> [&ColumnRole; 8] {
        let Self { task, condition, score, repetition, cluster, agent, model, started } = self;
        [task, condition, score, repetition, cluster, agent, model, started]
    }

    fn all_mut(&mut self) -> [&mut ColumnRole; 8] {
        let Self { task, condition, score, repetition, cluster, agent, model, started } = self;
        [task, condition, score, repetition, cluster, agent, model, started]
    }
}

fn read(path: &Path, options: &TableOptions) -> Result<Read, ImportError> {
    let mut reader = TableReader::open(path)?;
    let places = ColumnRoles::new(&options.columns, &options.ignored);
    let mut read = Read::default();
    let (mut naive, mut excluded) = (false, 0_usize);
    while let Some(row) = reader.next() {
        let row = match row {
            Ok(row) => row,
            Err(ReadError::Row { line, message, .. }) => {
                read.skipped.push(SkippedRow { line, reason: message });
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let line = row.line;
        let cells = Cells { columns: reader.columns(), row };
        let differs = |(column, value): &(String, String)| cells.text(column).as_ref() != Some(value);
        if options.filters.iter().any(differs) {
            read.filtered += 1;
            continue;
        }
        let of_report = !options.ignored.iter().any(|name| name == EXCLUDED);
        if of_report && cells.is_exported() && exported::truth(cells.get(EXCLUDED)) == Some(true) {
            (read.filtered, excluded) = (read.filtered + 1, excluded + 1);
            continue;
        }
        match trial(&cells, &places, &options.ignored, options.range, &mut naive) {
            Ok(trial) => read.push(trial)?,
            Err(reason) => read.skipped.push(SkippedRow { line, reason }),
        }
    }
    let columns = reader.columns();
    let optional = |place: &&&ColumnRole| place.given;
    let required = [&places.task, &places.condition, &places.score];
    let missing = required
        .into_iter()
        .chain(places.all().iter().filter(optional).copied())
        .map(|place| place.name.as_str())
        .chain(options.filters.iter().map(|(column, _)| column.as_str()))
        .chain(options.ignored.iter().map(String::as_str))
        .find(|name| !columns.iter().any(|column| column == name));
    if let Some(column) = missing {
        let hint = other_column(column, columns, &places);
        let (column, columns) = (column.to_owned(), columns.to_vec());
        return Err(ImportError::Column { path: path.to_owned(), column, columns, hint });
    }
    if excluded > 0 {
        let rows = if excluded == 1 { "row is" } else { "rows are" };
        read.notes.push(format!(
            "{excluded} {rows} of tasks that failed their checks, which reports leave out. `--ignore {EXCLUDED}` imports them."
        ));
    }
    if naive {
        read.notes.push("Times without a zone are taken for UTC.".to_owned());
    }
    Ok(read)
}

/// Names under which tables have the required columns.
const OTHER_NAMES: [(&str, &str, &[&str]); 3] = [
    (
        "task",
        "--task",
        &["task_id", "task_name", "instance_id", "instance", "problem", "question", "example", "id"],
    ),
    (
        "condition",
        "--condition",
        &["arm", "variant", "treatment", "config", "configuration", "group", "setting"],
    ),
    (
        "score",
        "--score",
        &[
            "passed",
            "pass",
            "reward",
            "success",
            "solved",
            "resolved",
            "correct",
            "is_correct",
            "accuracy",
            "result",
        ],
    ),
];

/// The option that names another column in place of a missing one, with the column that is most likely.
fn other_column(missing: &str, columns: &[String], places: &ColumnRoles) -> Option<(&'static str, String)> {
    let used = |column: &String| places.all().iter().any(|place| place.name == *column);
    let (_, option, names) = OTHER_NAMES.iter().find(|(role, ..)| *role == missing)?;
    let like =
        |name: &&&str| columns.iter().find(|column| column.eq_ignore_ascii_case(name) && !used(column));
    let column = names.iter().find_map(|name| like(&name))?;
    Some((*option, column.clone()))
}

/// A row with the names of its columns.
struct Cells<'a> {
    columns: &'a [String],
    row: Row,
}

impl Cells<'_> {
    /// The value of a column; [`Value::Null`] without such a column.
    fn get(&self, column: &str) -> &Value {
        let at = self.columns.iter().position(|name| name == column);
        at.and_then(|at| self.row.values.get(at)).unwrap_or(&Value::Null)
    }

    /// Whether `assay export data` wrote the table.
    fn is_exported(&self) -> bool {
        self.has_all(&PLAN_COLUMNS)
    }

    fn has_all(&self, names: &[&str]) -> bool {
        names.iter().all(|name| self.columns.iter().any(|column| column == name))
    }

    /// The value of a column as text; `None` for null and blank text.
    fn text(&self, column: &str) -> Option<String> {
        match self.get(column) {
            Value::Null => None,
            Value::Bool(value) => Some(value.to_string()),
            Value::Integer(value) => Some(value.to_string()),
            Value::Float(value) => Some(value.to_string()),
            Value::Text(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        }
    }

    /// The value of a column that must be a number of at least 0; `None` for null.
    fn amount(&self, column: &str) -> Result<Option<f64>, String> {
        match self.get(column) {
            Value::Null => Ok(None),
            value @ (Value::Integer(_) | Value::Float(_)) => value
                .as_f64()
                .filter(|amount| amount.is_finite() && *amount >= 0.0)
                .map(Some)
                .ok_or_else(|| format!("`{column}` is negative")),
            _ => Err(format!("`{column}` is not a number: {:?}", self.text(column).unwrap_or_default())),
        }
    }

    /// The value of a column that must be a whole number of at least 0; `None` for null.
    fn count(&self, column: &str) -> Result<Option<u64>, String> {
        let Some(amount) = self.amount(column)? else { return Ok(None) };
        let whole = format!("{amount:.0}").parse().ok().filter(|_| amount.fract() == 0.0);
        whole.map(Some).ok_or_else(|| format!("`{column}` is not a whole number: {amount}"))
    }
}

/// The column of the rows whose tasks reports leave out.
const EXCLUDED: &str = "task_excluded";

/// The columns of `assay export data` that are neither a number of a trial nor imported.
const OTHERS: [&str; 6] = ["run", "trial", "baseline", "sandbox", "opened", "skill_digests"];

fn trial(
    cells: &Cells<'_>,
    places: &ColumnRoles,
    ignored: &[String],
    range: (f64, f64),
    naive: &mut bool,
) -> Result<TableTrial, String> {
    let required = |place: &ColumnRole| cells.text(&place.name).ok_or_else(|| format!("no `{}`", place.name));
    let task = required(&places.task)?;
    let condition = required(&places.condition)?;
    let used: BTreeSet<&str> = places.all().iter().map(|place| place.name.as_str()).collect();
    let free = |column: &str| !used.contains(column) && !ignored.iter().any(|name| name == column);
    let stated = if free("outcome") { cells.text("outcome") } else { None };
    let (outcome, score) = outcome(cells, &places.score.name, stated.as_deref(), range)?;
    let started = match cells.text(&places.started.name) {
        None => None,
        Some(text) => {
            let time = times::parse(&text)
                .ok_or_else(|| format!("`{}` is not a time: {text:?}", places.started.name))?;
            *naive |= time.naive;
            Some(time.at)
        }
    };
    let amount = |column: &str| if free(column) { cells.amount(column) } else { Ok(None) };
    let count = |column: &str| if free(column) { cells.count(column) } else { Ok(None) };
    let (input, output) = (count("input_tokens")?, count("output_tokens")?);
    let usage = input.zip(output).map(|(input, output)| Usage { input, output, ..Usage::default() });
    let is_exported = cells.is_exported();
    let mut taken = vec!["outcome", "cost_usd", "seconds", "turns"];
    if usage.is_some() {
        taken.extend(["input_tokens", "output_tokens"]);
    }
    if is_exported {
        taken.extend(PLAN_COLUMNS);
        taken.push(OUTCOME_RULE);
    }
    let has_stages = is_exported && cells.has_all(&STAGE_COLUMNS);
    if has_stages {
        taken.extend(STAGE_COLUMNS);
    }
    let others = cells
        .columns
        .iter()
        .filter(|column| {
            free(column)
                && !taken.contains(&column.as_str())
                && !OTHERS.contains(&column.as_str())
                && !LABEL_COLUMNS.contains(&column.as_str())
                && !SKILL_COLUMNS.contains(&column.as_str())
        })
        .filter_map(|column| match cells.get(column) {
            Value::Null => None,
            value @ (Value::Integer(_) | Value::Float(_)) => Some((column.clone(), value.as_f64())),
            Value::Bool(_) | Value::Text(_) => Some((column.clone(), None)),
        })
        .collect();
    let label = |at: usize| cells.text(LABEL_COLUMNS[at]).filter(|_| free(LABEL_COLUMNS[at]));
    let skill_cell = |at: usize| {
        if free(SKILL_COLUMNS[at]) { cells.get(SKILL_COLUMNS[at]) } else { &Value::Null }
    };
    Ok(TableTrial {
        line: cells.row.line,
        id: if free("trial") { cells.text("trial") } else { None },
        task,
        condition,
        agent: agent(cells.text(&places.agent.name), cells.text(&places.model.name)),
        given_repetition: cells.text(&places.repetition.name),
        repetition: 0,
        cluster: cells.text(&places.cluster.name).or_else(|| {
            let exported = is_exported && !places.cluster.given && free("task_cluster");
            cells.text("task_cluster").filter(|_| exported)
        }),
        facts: TaskFacts { difficulty: label(0), category: label(1), cluster: None },
        skills: KnownSkills { number: skill_number(skill_cell(0)), body_tokens: skill_tokens(skill_cell(1)) },
        started,
        outcome,
        score,
        usage,
        cost_usd: amount("cost_usd")?,
        seconds: amount("seconds")?,
        turns: count("turns")?.and_then(|turns| usize::try_from(turns).ok()),
        others,
        plan: if is_exported && !places.condition.given {
            let is_read = |column: &str| free(column) && (has_stages || !STAGE_COLUMNS.contains(&column));
            PlanCells::read(|column| if is_read(column) { cells.get(column) } else { &Value::Null })
        } else {
            PlanCells::default()
        },
    })
}

/// The outcome and the score of a row. The column `outcome` of an export says what a score cannot: an
/// infrastructure error, which has none, or that the time was over.
fn outcome(
    cells: &Cells<'_>,
    column: &str,
    stated: Option<&str>,
    (low, high): (f64, f64),
) -> Result<(Outcome, Option<f64>), String> {
    let all =
        [Outcome::Passed, Outcome::Failed, Outcome::TimedOut, Outcome::Tampered, Outcome::Infrastructure];
    let stated = stated.and_then(|word| all.into_iter().find(|outcome| outcome.word() == word));
    if stated == Some(Outcome::Infrastructure) {
        return Ok((Outcome::Infrastructure, None));
    }
    let given = match cells.get(column) {
        Value::Null => return Err(format!("no `{column}`")),
        value => value.as_f64().ok_or_else(|| {
            format!("`{column}` is not a number: {:?}", cells.text(column).unwrap_or_default())
        })?,
    };
    if !(low..=high).contains(&given) {
        let hint = if (low, high) == (0.0, 1.0) { "; `--range LOW..HIGH` sets another range" } else { "" };
        return Err(format!("`{column}` is {given}, not between {low} and {high}{hint}"));
    }
    let score = (given - low) / (high - low);
    let by_score = if score >= 1.0 { Outcome::Passed } else { Outcome::Failed };
    let outcome = match stated {
        Some(outcome @ (Outcome::TimedOut | Outcome::Tampered)) if score <= 0.0 => outcome,
        _ => by_score,
    };
    Ok((outcome, Some(score)))
}

/// An agent by the table's words: `NAME VERSION`, and `PROVIDER/MODEL` or `PROVIDER:MODEL`.
fn agent(name: Option<String>, model: Option<String>) -> AgentLabel {
    let name = name.unwrap_or_else(|| UNNAMED.to_owned());
    let begins_with_digit =
        |version: &str| version.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit());
    let (name, version) = match name.rsplit_once(' ') {
        Some((name, version)) if begins_with_digit(version) => (name.to_owned(), version.to_owned()),
        _ => (name, "unknown".to_owned()),
    };
    AgentLabel { name, version, model: model.map(|model| model.replacen('/', ":", 1)) }
}

/// Refuses two results of one trial: which of them holds is unknown. Conditions with equal provision share trials.
fn check_ids(path: &Path, trials: &[TableTrial]) -> Result<(), ImportError> {
    let mut seen = BTreeMap::new();
    for trial in trials {
        let Some(id) = &trial.id else { continue };
        let of = (id, &trial.task, &trial.condition, &trial.agent, &trial.given_repetition);
        if let Some(first) = seen.insert(of, trial.line) {
            return Err(ImportError::SameTrial {
                path: path.to_owned(),
                trial: id.clone(),
                lines: [first, trial.line],
            });
        }
    }
    Ok(())
}

/// Removes the columns that are not numbers in every row, and returns the others.
fn number_columns(trials: &mut [TableTrial]) -> BTreeSet<String> {
    let mut is_number = BTreeMap::<String, bool>::new();
    for (column, value) in trials.iter().flat_map(|trial| &trial.others) {
        match is_number.get_mut(column) {
            Some(all) => *all &= value.is_some(),
            None => {
                is_number.insert(column.clone(), value.is_some());
            }
        }
    }
    for trial in trials {
        trial.others.retain(|column, _| is_number[column]);
    }
    is_number.into_iter().filter_map(|(column, all)| all.then_some(column)).collect()
}

/// The largest repetition of a table that is kept as a number: above it, digits are part of a time or an
/// identifier.
const MOST_REPETITIONS: u32 = 10_000;

/// Numbers the repetitions of each cell from 1. Numbers after the same text, such as `run-1` and `run-2`,
/// are kept, with 1 added where the table counts from 0; other labels are numbered in the order of the
/// table, as are rows without one. A repetition that a cell already has is skipped.
fn number_repetitions(trials: &mut Vec<TableTrial>, skipped: &mut Vec<SkippedRow>) {
    fn split(trial: &TableTrial) -> Option<(&str, &str)> {
        let text = trial.given_repetition.as_deref()?;
        let prefix = text.trim_end_matches(|c: char| c.is_ascii_digit());
        Some((prefix, &text[prefix.len()..]))
    }
    let first = trials.first().and_then(split).map(|(prefix, _)| prefix.to_owned());
    let number = |trial: &TableTrial| -> Option<u32> {
        let (prefix, digits) = split(trial)?;
        let number = digits.parse().ok().filter(|number| *number <= MOST_REPETITIONS)?;
        (Some(prefix) == first.as_deref()).then_some(number)
    };
    let numbers: Option<Vec<u32>> = trials.iter().map(number).collect();
    let shift = numbers.as_ref().is_some_and(|numbers| numbers.contains(&0));
    let mut seen = HashMap::new();
    let mut next = HashMap::<_, u32>::new();
    let mut at = 0;
    trials.retain_mut(|trial| {
        let cell = (trial.task.clone(), trial.agent.clone(), trial.condition.clone());
        trial.repetition = match &numbers {
            Some(numbers) => numbers[at] + u32::from(shift),
            None => next.get(&cell).copied().unwrap_or_default() + 1,
        };
        at += 1;
        if let Some(label) = &trial.given_repetition {
            match seen.entry((cell.clone(), label.clone())) {
                std::collections::hash_map::Entry::Occupied(first) => {
                    let reason = format!(
                        "duplicate of line {}: same task, condition, agent, model and repetition",
                        first.get()
                    );
                    skipped.push(SkippedRow { line: trial.line, reason });
                    return false;
                }
                std::collections::hash_map::Entry::Vacant(free) => {
                    free.insert(trial.line);
                }
            }
        }
        next.insert(cell, trial.repetition);
        true
    });
}

/// The cluster of each task. A row with another one than the first row of its task is skipped.
fn clusters(trials: &mut Vec<TableTrial>, skipped: &mut Vec<SkippedRow>) -> BTreeMap<String, Option<String>> {
    let mut clusters = BTreeMap::<String, (u64, Option<String>)>::new();
    trials.retain(|trial| {
        let (line, cluster) =
            clusters.entry(trial.task.clone()).or_insert_with(|| (trial.line, trial.cluster.clone()));
        let same = *cluster == trial.cluster;
        if !same {
            let named = |cluster: &Option<String>| {
                cluster.as_ref().map_or("no cluster".to_owned(), |cluster| format!("the cluster {cluster:?}"))
            };
            let reason = format!(
                "{} for the task {:?}, which has {} in line {line}",
                named(&trial.cluster),
                trial.task,
                named(cluster)
            );
            skipped.push(SkippedRow { line: trial.line, reason });
        }
        same
    });
    clusters.into_iter().map(|(task, (_, cluster))| (task, cluster)).collect()
}

/// The conditions in the table's order, the baseline first.
fn conditions(trials: &[TableTrial], roles: &AnalysisOptions) -> Result<Vec<String>, ImportError> {
    let mut seen = BTreeSet::new();
    let mut conditions: Vec<String> = trials
        .iter()
        .filter(|trial| seen.insert(trial.condition.as_str()))
        .map(|trial| trial.condition.clone())
        .collect();
    if !roles.place_baseline(&mut conditions)? && conditions.len() > 1 {
        return Err(ImportError::NoBaseline { conditions });
    }
    Ok(conditions)
}

/// Notes conditions that no agent has beside the baseline: a version of an agent is another agent.
fn alone(trials: &[TableTrial], conditions: &[String], agents: &[AgentLabel], notes: &mut Vec<String>) {
    let Some((baseline, others)) = conditions.split_first() else { return };
    let mut ran = BTreeSet::new();
    ran.extend(trials.iter().map(|trial| (trial.condition.as_str(), &trial.agent)));
    for condition in others {
        let paired = |agent: &AgentLabel| {
            ran.contains(&(condition.as_str(), agent)) && ran.contains(&(baseline.as_str(), agent))
        };
        if !agents.iter().any(paired) {
            notes.push(format!(
                "`{condition}` is not compared: no agent has trials under it and under the baseline `{baseline}`. Agents of \
                 different versions or models are different agents; `--ignore COLUMN` merges them."
            ));
        }
    }
}

/// Writes all records. Each waits for the disk, so several threads do.
fn write_all(store: &Store, placed: &[Placed<'_>], mark: &ImportedFrom) -> Result<(), StoreError> {
    const THREADS: usize = 16;
    let each = placed.len().div_ceil(THREADS).max(1);
    let written = std::thread::scope(|scope| {
        let write_part =
            |part: &[Placed<'_>]| part.iter().try_for_each(|(id, trial)| write(store, id, trial, mark));
        let threads: Vec<_> = placed.chunks(each).map(|part| scope.spawn(move || write_part(part))).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    store.clear_scratch();
    written
}

fn write(store: &Store, id: &TrialId, trial: &TableTrial, mark: &ImportedFrom) -> Result<(), StoreError> {
    let mut record = Record { imported_from: Some(mark.clone()), ..trial.record(id) };
    // An unreadable record is replaced.
    if is_known(store.record(id).unwrap_or_default(), &record) {
        return Ok(());
    }
    let Some(lease) = claimed(store, id)? else { return Ok(()) };
    record.attempt = store.begin(id, &trial.specification(), &lease)?.0;
    store.finish(&record, &lease)
}

fn run_folder(
    conditions: Vec<String>,
    agents: &[AgentLabel],
    cells: Vec<Cell>,
    clusters: &BTreeMap<String, Option<String>>,
    origin: &str,
) -> RunFolder {
    RunFolder {
        schema: RunFolder::SCHEMA.to_owned(),
        run: String::new(),
        plan: String::new(),
        extends: None,
        relabels: None,
        margin: MARGIN,
        primary: None,
        seed: SEED,
        repetitions: cells.iter().map(|cell| cell.repetition).max().unwrap_or_default(),
        conditions,
        disclosure: "unknown".to_owned(),
        agents: agents.iter().map(|label| PlannedAgent::new(AgentLabel::clone(label), true)).collect(),
        tasks: clusters
            .iter()
            .map(|(name, cluster)| PlannedTask {
                name: name.clone(),
                digest: String::new(),
                cluster: cluster.clone(),
                difficulty: None,
                category: None,
                negative_control: false,
                second_stage: false,
                curated: Vec::new(),
            })
            .collect(),
        cells,
        excluded: Vec::new(),
        skills: BTreeMap::new(),
        equal_conditions: Vec::new(),
        provisions: Vec::new(),
        warnings: Vec::new(),
        outcome: Some(OutcomeRule::Auto),
        metrics: Vec::new(),
        settings: BTreeMap::new(),
        stopping: None,
        judge: None,
        reused: Vec::new(),
        imported: Some(origin.to_owned()),
        imported_from: None,
        reused_imports: None,
        selected_by: Vec::new(),
    }
}
