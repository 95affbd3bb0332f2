//! A run as its pages need it: the plan, its report, and a short line about each trial.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use assay_analysis::{AgentKey, Gathered, Report, analyze};
use assay_report::{Links, Target, run_html};
use assay_store::{Cause, Outcome, Record, RunFolder, RunOutcomes, Store, StoreError, TrialId};

use crate::urls;

/// Threads that read records.
const THREADS: usize = 4;

/// Why the beginning of an id names no trial.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PrefixError {
    /// It is too short, or cannot begin an id.
    #[error("a trial is named by at least the first 4 characters of its id")]
    Malformed,
    /// No trial has it.
    #[error("no trial of this run begins with {0}")]
    Unknown(String),
    /// More than one trial has it.
    #[error("several trials of this run begin with {0}")]
    Ambiguous(String),
}

/// A run, loaded.
pub(crate) struct RunData {
    pub(crate) plan: RunFolder,
    pub(crate) report: Report,
    /// The report as the content of a page.
    pub(crate) html: String,
    /// The cells of the plan: a task under a condition by an agent in a sandbox.
    pub(crate) cells: Vec<CellGroup>,
    /// One for each repetition of each cell, in the plan's order.
    pub(crate) rows: Vec<TrialRow>,
    /// The first row of each trial.
    by_trial: HashMap<TrialId, usize>,
}

/// All repetitions of a cell.
#[derive(Debug, Clone)]
pub(crate) struct CellGroup {
    pub(crate) task: String,
    pub(crate) who: AgentKey,
    pub(crate) condition: String,
    /// Indices into [`RunData::rows`].
    pub(crate) rows: Vec<usize>,
}

/// What lists show of a trial.
#[derive(Debug, Clone)]
pub(crate) struct TrialRow {
    pub(crate) trial: TrialId,
    /// Index into [`RunData::cells`].
    pub(crate) cell: usize,
    pub(crate) repetition: u32,
    /// `None` for a trial without a record.
    pub(crate) result: Option<RowResult>,
}

/// The result of a trial, for lists.
#[derive(Debug, Clone)]
pub(crate) struct RowResult {
    pub(crate) outcome: Outcome,
    pub(crate) cause: Option<Cause>,
    pub(crate) score: Option<f64>,
    pub(crate) tokens: Option<u64>,
    pub(crate) cost_usd: Option<f64>,
    pub(crate) seconds: Option<f64>,
    /// Whether the model read a skill; `None` if unknown.
    pub(crate) opened: Option<bool>,
    pub(crate) failed_checks: Vec<FailedCheck>,
}

/// A check that failed.
#[derive(Debug, Clone)]
pub(crate) struct FailedCheck {
    /// Its name.
    pub(crate) name: String,
    /// Its set and class, such as `IF, knowledge`; `None` if the verifier names no set.
    pub(crate) set: Option<String>,
}

impl FailedCheck {
    /// Name, set and class.
    pub(crate) fn title(&self) -> String {
        self.set.as_ref().map_or_else(|| self.name.clone(), |set| format!("{} ({set})", self.name))
    }
}

impl RowResult {
    /// Whether the model read a skill, in a word.
    pub(crate) fn opened_word(&self) -> &'static str {
        match self.opened {
            Some(true) => "yes",
            Some(false) => "no",
            None => "unknown",
        }
    }
}

impl RowResult {
    fn new(record: &Record, outcomes: &RunOutcomes) -> Self {
        Self {
            outcome: record.outcome,
            cause: record.cause,
            score: outcomes.value(record),
            tokens: record.usage.map(|usage| usage.total()),
            cost_usd: record.cost_usd,
            seconds: record.seconds.agent,
            opened: record.has_opened(),
            failed_checks: record
                .checks()
                .into_iter()
                .filter(|check| check.passed() == Some(false))
                .map(|check| FailedCheck {
                    set: check.label.map(|label| label.describe_set()),
                    name: check.name,
                })
                .collect(),
        }
    }
}

impl RunData {
    /// Reads a run. `done` counts the records that were read.
    pub(crate) fn load(store: &Store, name: &str, done: &AtomicUsize) -> Result<Self, StoreError> {
        let plan = store.run(name)?;
        let failed = store.failed_checks(name)?;
        let trials: Vec<TrialId> = plan.trials().into_iter().cloned().collect();
        let mut records = read_records(store, &trials, done);
        let mut outcomes = RunOutcomes::new(plan.outcome);
        for record in records.iter().flatten().flatten() {
            outcomes.observe(record);
        }
        let results: Vec<Option<RowResult>> = records
            .iter()
            .map(|record| record.as_ref().ok().and_then(Option::as_ref))
            .map(|record| record.map(|record| RowResult::new(record, &outcomes)))
            .collect();
        let (cells, rows) = arrange(&plan, |trial| {
            let at = trials.binary_search(trial).ok()?;
            results.get(at).cloned().flatten()
        });
        let gathered = Gathered::from_records(&plan, &failed, |trial| {
            match trials.binary_search(trial).ok().and_then(|at| records.get_mut(at)) {
                None => Ok(None),
                Some(Ok(record)) => Ok(record.clone()),
                // An error is given once; the record counts as none from then on.
                Some(state) => std::mem::replace(state, Ok(None)),
            }
        })?;
        let gathered = gathered.closed(&plan, store.closing(name)?).gated(store.open_look(name));
        let gathered = gathered.asking(assay_analysis::question(store, &plan)?);
        drop(records);
        let report = analyze(&plan, &gathered);
        let mut by_trial = HashMap::with_capacity(rows.len());
        for (at, row) in rows.iter().enumerate() {
            by_trial.entry(row.trial.clone()).or_insert(at);
        }
        let html = run_html(&report, &RunLinks::new(&plan.run, &report, &cells));
        Ok(Self { plan, report, html, cells, rows, by_trial })
    }

    /// The first row of a trial.
    pub(crate) fn row(&self, trial: &TrialId) -> Option<&TrialRow> {
        self.by_trial.get(trial).and_then(|at| self.rows.get(*at))
    }

    /// The trial whose id begins like this; otherwise what is wrong with the beginning.
    pub(crate) fn trial_by_prefix(&self, prefix: &str) -> Result<TrialId, PrefixError> {
        let prefix = prefix.trim();
        if prefix.len() < 4 || !prefix.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(PrefixError::Malformed);
        }
        let mut found: Vec<&TrialId> =
            self.by_trial.keys().filter(|id| id.as_str().starts_with(prefix)).take(2).collect();
        match (found.pop(), found.pop()) {
            (Some(id), None) => Ok(id.clone()),
            (None, _) => Err(PrefixError::Unknown(prefix.to_owned())),
            (Some(_), Some(_)) => Err(PrefixError::Ambiguous(prefix.to_owned())),
        }
    }

    pub(crate) fn cell_of(&self, row: &TrialRow) -> &CellGroup {
        &self.cells[row.cell]
    }

    /// The cell of a task under another condition, by the same agent in the same sandbox.
    pub(crate) fn sibling(&self, cell: &CellGroup, condition: &str) -> Option<&CellGroup> {
        self.cells
            .iter()
            .find(|other| other.task == cell.task && other.who == cell.who && other.condition == condition)
    }

    /// The baseline of the run.
    pub(crate) fn baseline(&self) -> Option<&str> {
        self.plan.conditions.first().map(String::as_str)
    }

    /// Trials with a record, and all trials: those that a sequential rule has not spared.
    pub(crate) fn progress(&self) -> (usize, usize) {
        let finished = self.by_trial.values().filter(|at| self.rows[**at].result.is_some()).count();
        let has_ended = self.plan.stopping.is_some() && !self.report.interim;
        (finished, if has_ended { finished } else { self.by_trial.len() })
    }

    /// Known cost of all trials with a record in USD; `None` if it is known of none.
    pub(crate) fn spent(&self) -> Option<f64> {
        let costs: Vec<f64> = self
            .by_trial
            .values()
            .filter_map(|at| self.rows[*at].result.as_ref().and_then(|result| result.cost_usd))
            .collect();
        // A sum that does not depend on the order of a map.
        let mut costs = costs;
        costs.sort_by(f64::total_cmp);
        (!costs.is_empty()).then(|| costs.iter().sum())
    }
}

/// Reads the records of trials with several threads, in their order.
fn read_records(
    store: &Store,
    trials: &[TrialId],
    done: &AtomicUsize,
) -> Vec<Result<Option<Record>, StoreError>> {
    let share = trials.len().div_ceil(THREADS).max(1);
    thread::scope(|scope| {
        let shares: Vec<_> = trials
            .chunks(share)
            .map(|share| {
                scope.spawn(move || {
                    let read = |trial| {
                        let record = store.record(trial);
                        done.fetch_add(1, Ordering::Relaxed);
                        record
                    };
                    share.iter().map(read).collect::<Vec<_>>()
                })
            })
            .collect();
        shares
            .into_iter()
            .flat_map(|share| share.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

fn arrange(
    plan: &RunFolder,
    find: impl Fn(&TrialId) -> Option<RowResult>,
) -> (Vec<CellGroup>, Vec<TrialRow>) {
    let mut cells: Vec<CellGroup> = Vec::new();
    let mut known: HashMap<(&str, usize, &str, &str), usize> = HashMap::new();
    let mut rows = Vec::with_capacity(plan.cells.len());
    for cell in &plan.cells {
        let key = (cell.task.as_str(), cell.agent, cell.sandbox.as_str(), cell.condition.as_str());
        let number = *known.entry(key).or_insert_with(|| {
            let agent = &plan.agents[cell.agent];
            let who = AgentKey {
                agent: agent.name().to_owned(),
                model: agent.label.model.clone(),
                sandbox: cell.sandbox.clone(),
            };
            let (task, condition) = (cell.task.clone(), cell.condition.clone());
            cells.push(CellGroup { task, who, condition, rows: Vec::new() });
            cells.len() - 1
        });
        cells[number].rows.push(rows.len());
        let (trial, repetition) = (cell.trial.clone(), cell.repetition);
        let result = find(&trial);
        rows.push(TrialRow { trial, cell: number, repetition, result });
    }
    (cells, rows)
}

/// The addresses of what a report's figures rest on.
struct RunLinks<'a> {
    run: &'a str,
    cells: BTreeMap<(&'a str, &'a AgentKey, &'a str), usize>,
    comparisons: Vec<(&'a AgentKey, &'a str)>,
}

impl<'a> RunLinks<'a> {
    fn new(run: &'a str, report: &'a Report, cells: &'a [CellGroup]) -> Self {
        let mut numbers = BTreeMap::new();
        for (number, cell) in cells.iter().enumerate() {
            numbers.entry((cell.task.as_str(), &cell.who, cell.condition.as_str())).or_insert(number);
        }
        let comparisons =
            report.comparisons.iter().map(|found| (&found.who, found.condition.as_str())).collect();
        Self { run, cells: numbers, comparisons }
    }
}

impl Links for RunLinks<'_> {
    fn href(&self, target: &Target) -> Option<String> {
        match target {
            Target::Cell { task, who, condition } => {
                let number = self.cells.get(&(task.as_str(), who, condition.as_str()))?;
                Some(urls::cell(self.run, *number))
            }
            Target::Trial { trial, check } => {
                let anchor = check.as_deref().map_or_else(|| "verifier".to_owned(), urls::check_anchor);
                Some(format!("{}#{anchor}", urls::trial(self.run, trial)))
            }
            Target::Comparison { who, condition } => {
                let own = |found: &(&AgentKey, &str)| *found == (who, condition.as_str());
                self.comparisons.iter().position(own).map(|number| urls::comparison(self.run, number))
            }
            Target::Skill { digest } => Some(urls::skill(self.run, digest)),
        }
    }
}
