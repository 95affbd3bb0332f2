//! What a run measured on one task, for those who review the task. Exploratory: no verdict rests on one task.

use std::collections::{BTreeMap, BTreeSet};

use assay_stats::clopper_pearson;
use assay_store::{DOUBLES_UNKNOWN_CALLS, Outcome, Record, RunFolder, Store, StoreError, TrialId};
use serde::Serialize;

use crate::checks::verdicts;
use crate::model::AgentKey;

/// The results of a run on one task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskResults {
    /// The run.
    pub run: String,
    /// Whether an agent of the run uses a model. `false`: a demonstration.
    pub measures_a_model: bool,
    /// The condition that the others are compared with.
    pub baseline: String,
    /// Agent by agent, in the order of the run's conditions.
    pub arms: Vec<TaskArmResults>,
    /// Every test of the verifier that a trial reports.
    pub tests: Vec<TestResults>,
    /// Trials that did not pass, and infrastructure errors.
    pub failures: Vec<FailedTrial>,
    /// Trials that passed although they had a skill and did not open it.
    pub passed_unopened: Vec<TrialId>,
}

/// The trials of an agent under a condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskArmResults {
    /// Agent, model and sandbox.
    #[serde(flatten)]
    pub who: AgentKey,
    /// The condition.
    pub condition: String,
    /// Whether it provides a skill on this task.
    pub has_skills: bool,
    /// Valid trials.
    pub trials: u64,
    /// Of these, those that passed.
    pub passed: u64,
    /// The share that passed; `null` without a trial.
    pub pass_rate: Option<f64>,
    /// Its exact 95% CI (Clopper & Pearson 1934); `null` without a trial.
    pub ci95: Option<[f64; 2]>,
    /// The pass rate minus that of the same agent's baseline; `null` for the baseline, and if either is unknown.
    pub difference: Option<f64>,
    /// The mean reward of the valid trials that have one.
    pub reward: Option<f64>,
    /// Mean tokens of the valid trials; `null` if any is unknown.
    pub tokens: Option<f64>,
    /// Mean cost in USD; `null` if any is unknown.
    pub cost_usd: Option<f64>,
    /// Mean seconds of the agent; `null` if any is unknown.
    pub seconds: Option<f64>,
    /// Valid trials in which the model read a skill; `null` if that of any is unknown.
    pub opened: Option<u64>,
    /// Valid trials in which the agent ran out of time.
    pub timed_out: u64,
    /// Infrastructure errors.
    pub infrastructure: u64,
    /// Planned trials without a record.
    pub unfinished: u64,
}

/// How often a test passed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TestResults {
    /// Its name.
    pub name: String,
    /// By condition: trials that passed it, and trials that report it.
    pub conditions: BTreeMap<String, (u64, u64)>,
}

impl TestResults {
    /// Trials that passed it, and trials that report it, over all conditions.
    pub fn total(&self) -> (u64, u64) {
        self.conditions.values().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }
}

/// A trial that did not pass.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FailedTrial {
    /// Its id.
    pub trial: TrialId,
    /// Agent, model and sandbox.
    #[serde(flatten)]
    pub who: AgentKey,
    /// The condition.
    pub condition: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Why, for an infrastructure error and the like.
    pub reason: Option<String>,
    /// The tests that failed.
    pub failed: Vec<String>,
    /// What its record has against it: changed verifier files, skills that were not provided, calls that no test double answers.
    pub signs: Vec<String>,
}

/// Runs of a store that may have results of a task.
#[derive(Debug)]
pub struct MeasuredRuns {
    store: Option<Store>,
    runs: Vec<RunFolder>,
}

impl MeasuredRuns {
    /// The named runs of a store, or all of it. Without a store there are none.
    ///
    /// # Errors
    /// A run is missing or cannot be read.
    pub fn read(store: Option<Store>, names: &[String]) -> Result<Self, StoreError> {
        let Some(store) = store else { return Ok(Self { store, runs: Vec::new() }) };
        let names = if names.is_empty() { store.run_names() } else { names.to_vec() };
        let runs = names.iter().map(|name| store.run(name)).collect::<Result<_, _>>()?;
        Ok(Self { store: Some(store), runs })
    }

    /// The results on the task of a name, and the runs that measured a version of it whose digest `is_version` refuses.
    ///
    /// # Errors
    /// As [`task_results`].
    pub fn results_of(
        &self,
        task: &str,
        is_version: impl Fn(&str) -> bool,
    ) -> Result<(Vec<TaskResults>, Vec<String>), StoreError> {
        let (mut results, mut others) = (Vec::new(), Vec::new());
        let Some(store) = &self.store else { return Ok((results, others)) };
        for run in &self.runs {
            match run.tasks.iter().find(|planned| planned.name == task) {
                Some(planned) if is_version(&planned.digest) => {
                    results.extend(task_results(store, run, task)?);
                }
                Some(_) => others.push(run.run.clone()),
                None => {}
            }
        }
        Ok((results, others))
    }
}

/// The results of a run on the task of a name; `None` if its plan has no such task.
///
/// # Errors
/// Records that cannot be read, or are of another version.
pub fn task_results(store: &Store, run: &RunFolder, task: &str) -> Result<Option<TaskResults>, StoreError> {
    if !run.tasks.iter().any(|planned| planned.name == task) {
        return Ok(None);
    }
    let baseline = run.conditions.first().cloned().unwrap_or_default();
    let mut arms: Vec<Trials> = Vec::new();
    // The oracle and the no-op check the task: they measure no agent.
    let agents = run
        .agents
        .iter()
        .enumerate()
        .filter(|(_, agent)| !["oracle", "nop"].contains(&agent.label.name.as_str()));
    for (number, agent) in agents {
        for condition in &run.conditions {
            let cells = run
                .cells
                .iter()
                .filter(|cell| cell.agent == number && cell.task == task && &cell.condition == condition);
            let mut ids: BTreeMap<&str, BTreeSet<&TrialId>> = BTreeMap::new();
            for cell in cells {
                ids.entry(&cell.sandbox).or_default().insert(&cell.trial);
            }
            for (sandbox, ids) in ids {
                let mut trials = Trials {
                    who: AgentKey::new(agent, sandbox),
                    condition: condition.clone(),
                    has_skills: has_skills(run, task, condition),
                    records: Vec::new(),
                    unfinished: 0,
                };
                for id in ids {
                    match store.record(id)? {
                        Some(record) => trials.records.push(record),
                        None => trials.unfinished += 1,
                    }
                }
                arms.push(trials);
            }
        }
    }
    let valid = |trials: &Trials| -> Vec<Record> {
        trials.records.iter().filter(|record| record.outcome.counts()).cloned().collect()
    };
    let rate = |who: &AgentKey| {
        let of = arms.iter().find(|arm| arm.condition == baseline && &arm.who == who)?;
        pass_rate(&valid(of))
    };
    let results = TaskResults {
        run: run.run.clone(),
        measures_a_model: run.agents.iter().any(|agent| agent.measures_a_model),
        arms: arms.iter().map(|trials| trials.results(&baseline, rate(&trials.who))).collect(),
        tests: tests(&arms),
        failures: arms.iter().flat_map(Trials::failures).collect(),
        passed_unopened: arms.iter().flat_map(Trials::passed_unopened).collect(),
        baseline,
    };
    Ok(Some(results))
}

fn has_skills(run: &RunFolder, task: &str, condition: &str) -> bool {
    let mut provisions = run.provisions.iter();
    provisions.any(|provision| {
        provision.task == task && provision.condition == condition && !provision.skills.is_empty()
    })
}

/// The records of an agent under a condition.
struct Trials {
    who: AgentKey,
    condition: String,
    has_skills: bool,
    records: Vec<Record>,
    unfinished: u64,
}

fn count(records: &[&Record], wanted: impl Fn(&Record) -> bool) -> u64 {
    records.iter().filter(|record| wanted(record)).count() as u64
}

fn pass_rate(records: &[Record]) -> Option<f64> {
    let passed = records.iter().filter(|record| record.outcome == Outcome::Passed).count();
    (!records.is_empty()).then(|| passed as f64 / records.len() as f64)
}

/// The mean; `None` if a value is unknown or there is none.
fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let values = values.collect::<Option<Vec<f64>>>()?;
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

impl Trials {
    fn results(&self, baseline: &str, of_baseline: Option<f64>) -> TaskArmResults {
        let valid: Vec<&Record> = self.records.iter().filter(|record| record.outcome.counts()).collect();
        let trials = valid.len() as u64;
        let passed = count(&valid, |record| record.outcome == Outcome::Passed);
        let rate = (trials > 0).then(|| passed as f64 / trials as f64);
        let ci95 = rate.map(|_| {
            let interval = clopper_pearson(passed, trials, 0.95);
            [interval.low, interval.high]
        });
        TaskArmResults {
            who: self.who.clone(),
            condition: self.condition.clone(),
            has_skills: self.has_skills,
            trials,
            passed,
            pass_rate: rate,
            ci95,
            difference: rate
                .zip(of_baseline)
                .filter(|_| self.condition != baseline)
                .map(|(own, base)| own - base),
            reward: mean(valid.iter().filter(|record| record.reward.is_some()).map(|record| record.reward)),
            tokens: mean(valid.iter().map(|record| record.usage.map(|usage| usage.total() as f64))),
            cost_usd: mean(valid.iter().map(|record| record.cost_usd)),
            seconds: mean(valid.iter().map(|record| record.seconds.agent)),
            opened: valid.iter().map(|record| record.has_opened().map(u64::from)).sum(),
            timed_out: count(&valid, |record| record.outcome == Outcome::TimedOut),
            infrastructure: (self.records.len() - valid.len()) as u64,
            unfinished: self.unfinished,
        }
    }

    fn failures(&self) -> Vec<FailedTrial> {
        let failed = self
            .records
            .iter()
            .filter(|record| record.outcome != Outcome::Passed || !signs(record).is_empty());
        let described = failed.map(|record| FailedTrial {
            trial: record.trial.clone(),
            who: self.who.clone(),
            condition: self.condition.clone(),
            outcome: record.outcome,
            reason: record.reason.clone(),
            failed: verdicts(record)
                .into_iter()
                .filter(|(_, passed)| !passed)
                .map(|(name, _)| name)
                .collect(),
            signs: signs(record),
        });
        described.collect()
    }

    fn passed_unopened(&self) -> Vec<TrialId> {
        let passed = self.records.iter().filter(|record| {
            self.has_skills && record.outcome == Outcome::Passed && record.has_opened() == Some(false)
        });
        passed.map(|record| record.trial.clone()).collect()
    }
}

fn signs(record: &Record) -> Vec<String> {
    let mut signs = Vec::new();
    if !record.tampered.is_empty() {
        signs.push(format!("changed files that could decide its reward: {}", record.tampered.join(", ")));
    }
    if !record.contaminated.is_empty() {
        signs.push(format!("had skills that were not provided: {}", record.contaminated.join(", ")));
    }
    if let Some(calls) = record.numbers.get(DOUBLES_UNKNOWN_CALLS).filter(|calls| **calls > 0.0) {
        signs.push(format!("made {calls} calls that no test double answers"));
    }
    signs
}

fn tests(arms: &[Trials]) -> Vec<TestResults> {
    let mut tests: BTreeMap<String, BTreeMap<String, (u64, u64)>> = BTreeMap::new();
    for arm in arms {
        for record in arm.records.iter().filter(|record| record.outcome.counts()) {
            for (name, passed) in verdicts(record) {
                let counts = tests.entry(name).or_default().entry(arm.condition.clone()).or_default();
                counts.0 += u64::from(passed);
                counts.1 += 1;
            }
        }
    }
    tests.into_iter().map(|(name, conditions)| TestResults { name, conditions }).collect()
}
