//! The plan of a run, in the columns of a table that `assay export data` wrote.

use std::collections::{BTreeMap, BTreeSet};

use assay_store::{ConditionRole, OutcomeRule, Stopping};
use assay_table::Value;

use super::roles::{AnalysisOptions, PrimaryOption};
use super::{MARGIN, SEED};

/// The columns of `trials` that say how the run was planned. Any of them may mean something else in other tables: they
/// are read from tables that have all of them.
pub const PLAN_COLUMNS: [&str; 8] =
    ["role", "primary", "task_cluster", "task_control", "task_excluded", "margin", "seed", "rounds"];

/// The columns of `trials` on the tasks that take part in no round. Older exports do not have them; as [`PLAN_COLUMNS`], they
/// are read from tables that have all of them.
pub const STAGE_COLUMNS: [&str; 3] = ["first_tasks", "more_tasks", "second_stage"];
/// The column with the rule of the outcome, which exports of earlier versions do not have.
pub const OUTCOME_RULE: &str = "outcome_rule";

/// The column with the baseline's rows, which older exports have as well.
const BASELINE: &str = "baseline";

/// What a row says of its run's plan.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PlanCells {
    baseline: Option<bool>,
    primary: Option<bool>,
    role: Option<ConditionRole>,
    margin: Option<f64>,
    seed: Option<u64>,
    rounds: Option<u32>,
    /// The tasks of the rounds, and those after them.
    stages: Option<(u32, u32)>,
    outcome: Option<OutcomeRule>,
    is_control: bool,
    is_second_stage: bool,
}

impl PlanCells {
    /// Reads them by column; `read` gives [`Value::Null`] for columns that are ignored.
    pub(super) fn read<'a>(read: impl Fn(&str) -> &'a Value) -> Self {
        let [role, primary, _, control, _, margin, seed, rounds] = PLAN_COLUMNS;
        let [first, more, second] = STAGE_COLUMNS;
        let whole = |column: &str| match read(column) {
            Value::Integer(value) => u64::try_from(*value).ok(),
            _ => None,
        };
        let count = |column: &str| whole(column).and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0);
        Self {
            baseline: truth(read(BASELINE)),
            primary: truth(read(primary)),
            role: match read(role) {
                Value::Text(text) => {
                    Some(ConditionRole::of(text)).filter(|role| *role != ConditionRole::Other)
                }
                _ => None,
            },
            margin: read(margin).as_f64().filter(|margin| *margin > 0.0 && *margin < 1.0),
            seed: whole(seed),
            rounds: count(rounds),
            stages: count(first).zip(count(more)),
            is_second_stage: truth(read(second)) == Some(true),
            outcome: match read(OUTCOME_RULE) {
                Value::Text(text) => OutcomeRule::of(text),
                _ => None,
            },
            is_control: truth(read(control)) == Some(true),
        }
    }
}

/// A cell that is true or false, in CSV by its word.
pub(super) fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(value) => Some(*value),
        Value::Text(text) => text.parse().ok(),
        _ => None,
    }
}

/// How the trials of a table are analyzed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TablePlan {
    pub(super) analysis: AnalysisOptions,
    pub(super) margin: f64,
    pub(super) seed: u64,
    pub(super) stopping: Option<Stopping>,
    /// The rule of the outcome.
    pub(super) outcome: OutcomeRule,
    /// The tasks on which no skill should help.
    pub(super) controls: BTreeSet<String>,
    /// The tasks that take part in no round.
    pub(super) second_stage: BTreeSet<String>,
}

impl TablePlan {
    /// The options of the user, completed by what the rows say: the task, the condition, and the cells of each.
    pub(super) fn of<'a>(
        rows: impl Iterator<Item = (&'a str, &'a str, &'a PlanCells)>,
        given: &AnalysisOptions,
        notes: &mut Vec<String>,
    ) -> Self {
        let mut analysis = given.clone();
        let (mut controls, mut second_stage) = (BTreeSet::new(), BTreeSet::new());
        let (mut margins, mut seeds) = (Distinct::default(), Distinct::default());
        let (mut rounds, mut stages) = (Distinct::default(), Distinct::default());
        let mut outcomes = Distinct::default();
        let (mut baselines, mut primaries) = (BTreeSet::new(), BTreeSet::new());
        let mut by_condition: BTreeMap<&str, Distinct<ConditionRole>> = BTreeMap::new();
        let mut says_primary = false;
        for (task, condition, cells) in rows {
            margins.add(cells.margin);
            seeds.add(cells.seed);
            rounds.add(cells.rounds);
            stages.add(cells.stages);
            outcomes.add(cells.outcome);
            by_condition.entry(condition).or_default().add(cells.role);
            says_primary |= cells.primary.is_some();
            baselines.extend(Some(condition).filter(|_| cells.baseline == Some(true)));
            primaries.extend(Some(condition).filter(|_| cells.primary == Some(true)));
            if cells.is_control {
                controls.insert(task.to_owned());
            }
            if cells.is_second_stage {
                second_stage.insert(task.to_owned());
            }
        }
        let mut unclear = Vec::new();
        let mut one_of = |column: &'static str, names: BTreeSet<&str>| {
            let mut names = names.into_iter();
            let first = names.next();
            if names.next().is_some() {
                unclear.push(column);
                return None;
            }
            first.map(str::to_owned)
        };
        let (baseline, primary) = (one_of(BASELINE, baselines), one_of("primary", primaries));
        if analysis.baseline.is_none() {
            analysis.baseline = baseline;
        }
        if analysis.primary == PrimaryOption::ByRole && says_primary && !unclear.contains(&"primary") {
            analysis.primary = primary.map_or(PrimaryOption::Disabled, PrimaryOption::Named);
        }
        for (condition, role) in by_condition {
            if role.differs {
                unclear.push("role");
            } else if let Some(role) = role.first {
                analysis.roles.entry(condition.to_owned()).or_insert(role);
            }
        }
        let differing = [
            ("margin", margins.differs),
            ("seed", seeds.differs),
            ("rounds", rounds.differs),
            ("more_tasks", stages.differs),
            (OUTCOME_RULE, outcomes.differs && given.outcome.is_none()),
        ];
        unclear.extend(differing.into_iter().filter(|(_, differs)| *differs).map(|(column, _)| column));
        unclear.dedup();
        if !unclear.is_empty() {
            notes.push(format!(
                "Rows differ in {}, which are settings of a run and not used: `--where run=NAME` imports one run of a table.",
                unclear.iter().map(|column| format!("`{column}`")).collect::<Vec<_>>().join(", ")
            ));
        }
        let stopping = rounds.only().map(|rounds| Stopping {
            first_tasks: stages.only().map(|(first, _)| first),
            more_tasks: stages.only().map(|(_, more)| more),
            ..Stopping::new(rounds)
        });
        if stopping.is_none_or(|stopping| stopping.stages().is_none()) {
            second_stage.clear();
        }
        Self {
            // Rows of a run from before there were rules name none: their scores are what it compared.
            outcome: given.outcome.or(outcomes.only()).unwrap_or_default(),
            analysis,
            margin: margins.only().unwrap_or(MARGIN),
            seed: seeds.only().unwrap_or(SEED),
            stopping,
            controls,
            second_stage,
        }
    }
}

/// The values of a column.
struct Distinct<T> {
    first: Option<T>,
    is_empty: bool,
    differs: bool,
}

impl<T> Default for Distinct<T> {
    fn default() -> Self {
        Self { first: None, is_empty: true, differs: false }
    }
}

impl<T: Copy + PartialEq> Distinct<T> {
    fn add(&mut self, value: Option<T>) {
        self.differs |= !self.is_empty && self.first != value;
        self.first = if self.is_empty { value } else { self.first };
        self.is_empty = false;
    }

    fn only(&self) -> Option<T> {
        self.first.filter(|_| !self.differs)
    }
}
