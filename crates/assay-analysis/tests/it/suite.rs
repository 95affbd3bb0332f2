//! A run in a few letters, and the report on it.
//!
//! A cell is a word with a letter for each repetition: `P` passed, `F` failed, `T` out of time, `X`
//! tampered, `i` infrastructure error, `0` to `9` failed with a reward of so many tenths, `.`
//! without a record, `?` with an unreadable one. An empty word is a cell that was not planned.

use std::collections::BTreeMap;

use assay_analysis::{Comparison, Gathered, Report, analyze};
use assay_store::{
    AgentLabel, Cause, Cell, Exclusion, Outcome, PlannedAgent, PlannedTask, Record, RunFolder, Seconds,
    Selection, StoreError, TrialId,
};

/// A run with its records.
pub(crate) struct Suite {
    pub(crate) run: RunFolder,
    pub(crate) failed: Vec<Exclusion>,
    records: BTreeMap<TrialId, Option<Record>>,
}

/// The tasks of a suite: a name, and a cell for each condition.
pub(crate) type Rows<'a> = &'a [(&'a str, &'a [&'a str])];

impl Suite {
    /// One agent's table.
    pub(crate) fn new(conditions: &[&str], rows: Rows<'_>) -> Self {
        let run = RunFolder {
            schema: "assay.plan/1".into(),
            run: "test".into(),
            plan: String::new(),
            extends: None,
            relabels: None,
            margin: 0.1,
            primary: None,
            seed: 1,
            repetitions: 5,
            conditions: conditions.iter().map(|&name| name.to_owned()).collect(),
            disclosure: "offered".into(),
            agents: Vec::new(),
            tasks: rows.iter().map(|(name, _)| task(name)).collect(),
            cells: Vec::new(),
            excluded: Vec::new(),
            skills: BTreeMap::new(),
            equal_conditions: Vec::new(),
            provisions: Vec::new(),
            warnings: Vec::new(),
            metrics: Vec::new(),
            settings: BTreeMap::new(),
            stopping: None,
            judge: None,
            outcome: Some(assay_store::OutcomeRule::Auto),
            reused: Vec::new(),
            imported: None,
            imported_from: None,
            reused_imports: None,
            selected_by: Vec::new(),
        };
        Self { run, failed: Vec::new(), records: BTreeMap::new() }.agent("openai:one", rows)
    }

    /// Twenty tasks with the same results.
    pub(crate) fn uniform(conditions: &[&str], words: &[&str]) -> Self {
        let names: Vec<String> = (0..20).map(|n| format!("t{n:02}")).collect();
        let rows: Vec<(&str, &[&str])> = names.iter().map(|name| (name.as_str(), words)).collect();
        Self::new(conditions, &rows)
    }

    /// Six tasks of `measured` and thirty negative controls of `control`, baseline and arm each.
    pub(crate) fn with_controls(condition: &str, measured: [&str; 2], control: [&str; 2]) -> Self {
        let names: Vec<String> = (0..36).map(|n| format!("t{n:02}")).collect();
        let rows: Vec<(&str, &[&str])> = names
            .iter()
            .enumerate()
            .map(|(n, name)| (name.as_str(), if n < 6 { &measured[..] } else { &control[..] }))
            .collect();
        Self::new(&["none", condition], &rows)
            .plan(|run| run.tasks[6..].iter_mut().for_each(|task| task.negative_control = true))
    }

    /// One more agent, on the same tasks.
    pub(crate) fn agent(mut self, model: &str, rows: Rows<'_>) -> Self {
        let label = AgentLabel { name: "loop".into(), version: "1".into(), model: Some(model.into()) };
        self.run.agents.push(PlannedAgent {
            label: label.clone(),
            arm: None,
            placement: None,
            measures_a_model: true,
            server: None,
            list_price: None,
        });
        for (task, words) in rows {
            for (condition, word) in self.run.conditions.clone().iter().zip(*words) {
                for (number, letter) in word.chars().enumerate() {
                    let repetition = u32::try_from(number).unwrap() + 1;
                    let agent = self.run.agents.len() - 1;
                    let trial = TrialId::of(&serde_json::json!([agent, task, condition, repetition]));
                    let cell = Cell {
                        task: (*task).to_owned(),
                        agent,
                        sandbox: "bubblewrap".into(),
                        condition: condition.clone(),
                        repetition,
                        trial: trial.clone(),
                    };
                    match letter {
                        '.' => {}
                        '?' => _ = self.records.insert(trial, None),
                        letter => {
                            let record = record(&cell, &label, letter);
                            self.records.insert(trial, Some(record));
                        }
                    }
                    self.run.cells.push(cell);
                }
            }
        }
        self
    }

    /// Changes records.
    pub(crate) fn each(mut self, change: impl Fn(&mut Record)) -> Self {
        self.records.values_mut().flatten().for_each(change);
        self
    }

    /// A run with trials of its own.
    pub(crate) fn named(mut self, name: &str) -> Self {
        let id = |trial: &TrialId| TrialId::of(&serde_json::json!([name, trial]));
        let records = std::mem::take(&mut self.records).into_iter();
        self.records = records
            .map(|(trial, record)| (id(&trial), record.map(|record| Record { trial: id(&trial), ..record })))
            .collect();
        self.run.cells.iter_mut().for_each(|cell| cell.trial = id(&cell.trial));
        name.clone_into(&mut self.run.run);
        self
    }

    /// Changes the plan.
    pub(crate) fn plan(mut self, change: impl FnOnce(&mut RunFolder)) -> Self {
        change(&mut self.run);
        self
    }

    /// The records, gather onto the plan.
    pub(crate) fn gathered(&self) -> Gathered {
        self.gather().unwrap()
    }

    /// The same, with a possible error.
    pub(crate) fn gather(&self) -> Result<Gathered, StoreError> {
        self.gather_selected(&Selection::default())
    }

    /// The report on some cells.
    pub(crate) fn selected(&self, only: &Selection) -> Report {
        analyze(&self.run, &self.gather_selected(only).unwrap())
    }

    fn gather_selected(&self, only: &Selection) -> Result<Gathered, StoreError> {
        let read = |trial: &TrialId| match self.records.get(trial) {
            None => Ok(None),
            Some(Some(record)) => Ok(Some(record.clone())),
            Some(None) => {
                Err(StoreError::Format { path: "record.json".into(), message: "not JSON".to_owned() })
            }
        };
        Gathered::from_selected_records(&self.run, &self.failed, only, read)
    }

    /// Every record, `None` if it cannot be read.
    pub(crate) fn records(&self) -> impl Iterator<Item = (&TrialId, Option<&Record>)> {
        self.records.iter().map(|(trial, record)| (trial, record.as_ref()))
    }

    pub(crate) fn report(&self) -> Report {
        let report = analyze(&self.run, &self.gathered());
        // JSON would turn NaN into null, and so hide it.
        let all = format!("{report:?}");
        for no_number in ["NaN", ": inf", ": -inf", "(inf", "(-inf", "[inf", "[-inf"] {
            assert!(!all.contains(no_number), "{no_number} in {all}");
        }
        report
    }

    /// The first comparison of the report.
    pub(crate) fn compared(&self) -> Comparison {
        self.report().comparisons.remove(0)
    }
}

pub(crate) fn close(found: impl Into<Option<f64>>, expected: f64) {
    let found = found.into();
    assert!(found.is_some_and(|found| (found - expected).abs() < 1e-12), "{found:?} is not {expected}");
}

fn task(name: &str) -> PlannedTask {
    PlannedTask {
        name: name.to_owned(),
        digest: format!("blake3:{name}"),
        cluster: None,
        difficulty: None,
        category: None,
        negative_control: false,
        second_stage: false,
        curated: Vec::new(),
    }
}

fn record(cell: &Cell, label: &AgentLabel, letter: char) -> Record {
    let (outcome, cause) = match letter {
        'P' => (Outcome::Passed, None),
        // A digit is the tenths of a reward.
        'F' | '0'..='9' => (Outcome::Failed, None),
        'T' => (Outcome::TimedOut, None),
        'X' => (Outcome::Tampered, None),
        'i' => (Outcome::Infrastructure, Some(Cause::ModelProvider)),
        other => panic!("no outcome is written {other}"),
    };
    Record {
        sandbox: cell.sandbox.clone(),
        condition: cell.condition.clone(),
        repetition: cell.repetition,
        cause,
        reward: letter.to_digit(10).map(|tenths| f64::from(tenths) / 10.0),
        turns: Some(2),
        exposure: Some(Vec::new()),
        seconds: Seconds { agent: Some(3.0), total: Some(4.0), ..Seconds::default() },
        measures_a_model: true,
        started_at: Some("2026-01-01T00:00:00Z".into()),
        finished_at: Some("2026-01-01T00:00:04Z".into()),
        ..Record::new(cell.trial.clone(), cell.task.clone(), label.clone(), outcome)
    }
}
