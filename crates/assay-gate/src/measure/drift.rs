//! The drift between recorded trials of a baseline and new ones.

use std::collections::{BTreeMap, BTreeSet};

use assay_report::{counted, points};
use assay_stats::{PairedTask, SessionDrift};
use assay_store::{Cell, RunFolder, RunOutcomes};
use assay_trial::Plan;

use super::experiment::{escape_pattern, run_name, seed_of};
use super::{GateTrials, Unmeasured};
use crate::drift::{DriftEstimate, Session, detectable_drift, drift_sd};
use crate::gate_error::GateError;
use crate::measured::MeasuredDrift;
use crate::policy::Reuse;

/// The fewest tasks of the baseline that are executed again: as many as an interval needs.
const FEWEST_SENTINELS: usize = 5;

impl GateTrials<'_> {
    /// Executes a part of the baseline again, beside recorded trials of it.
    pub(super) fn measure_drift(
        &mut self,
        plan: &Plan,
        folder: &RunFolder,
        reuse: Reuse,
        executed: &mut usize,
    ) -> Result<MeasuredDrift, Unmeasured> {
        let baseline = folder.conditions.first().cloned().unwrap_or_default();
        let sessions = self.sessions(plan, folder, &baseline);
        let recorded = self.effective_sessions(folder, &baseline);
        let between = match (drift_sd(&sessions), reuse.drift_sd) {
            (Some(DriftEstimate { sd, sessions }), _) => {
                SessionDrift { sd, sessions: Some(sessions), recorded }
            }
            (None, Some(sd)) => SessionDrift { sd, sessions: None, recorded },
            (None, None) => return Err(GateError::UnknownDrift.into()),
        };
        let mut tasks: Vec<&assay_store::PlannedTask> = folder.tasks.iter().collect();
        // A random part, and the same whenever the plan is.
        tasks.sort_by_key(|task| blake3::hash(format!("{}{}", folder.plan, task.name).as_bytes()).to_hex());
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a small number"
        )]
        let part = (reuse.sentinel * tasks.len() as f64).ceil() as usize;
        let names: Vec<&str> =
            tasks.iter().take(part.max(FEWEST_SENTINELS)).map(|task| task.name.as_str()).collect();
        let mut experiment = plan.experiment.clone();
        experiment.name = run_name(&format!("{}-sentinel", experiment.name));
        experiment.suite = plan
            .tasks
            .iter()
            .filter(|task| names.contains(&task.name.as_str()))
            .map(|task| {
                escape_pattern(&std::path::absolute(&task.root).unwrap_or_default().display().to_string())
            })
            .collect();
        experiment.pairings.retain(|task, _| names.contains(&task.as_str()));
        experiment.conditions.truncate(1);
        experiment.metrics.clear();
        experiment.seed = seed_of(experiment.seed, &folder.plan);
        let sentinel = self.plan(&experiment, None)?;
        self.check_plan(&sentinel, None)?;
        self.check_ready(&sentinel)?;
        let (sentinel, outcome) = self.execute_run(&sentinel, None)?;
        *executed += outcome.executed;
        let recorded = self.scores(folder, &baseline);
        let again = self.scores(&sentinel, &baseline);
        let pairs: Vec<PairedTask> = again
            .iter()
            .filter_map(|(task, arm)| {
                let base = recorded.iter().find(|(known, _)| known == task)?.1.clone();
                Some(PairedTask { arm: arm.clone(), base, cluster: None })
            })
            .collect();
        let observed = assay_stats::lift(&pairs, 0.95);
        if let Some(interval) =
            observed.and_then(|found| found.interval).filter(|found| found.excludes_zero())
        {
            return Err(Unmeasured::Blocked(format!(
                "the baseline has changed since its trials were recorded: executed again, {} differ by {} to {} (95% CI); remove `reuse_baseline` or the recorded trials",
                counted(pairs.len(), "task", "tasks"),
                points(interval.low),
                points(interval.high)
            )));
        }
        let observed = observed.map(|estimate| estimate.mean);
        Ok(MeasuredDrift { between, detectable: detectable_drift(&pairs), observed })
    }

    /// The number of sessions that the baseline's trials of a run weigh as: that of sessions of one size whose mean varies as
    /// much.
    fn effective_sessions(&self, folder: &RunFolder, baseline: &str) -> usize {
        let mut days: BTreeMap<String, usize> = BTreeMap::new();
        for cell in folder.cells.iter().filter(|cell| cell.condition == baseline) {
            let record = self.store.record(&cell.trial).ok().flatten();
            let day = record.and_then(|record| record.started_at?.get(..10).map(str::to_owned));
            *days.entry(day.unwrap_or_default()).or_default() += 1;
        }
        let all: usize = days.values().sum();
        let squares: usize = days.values().map(|trials| trials.pow(2)).sum();
        (all.pow(2) / squares.max(1)).max(1)
    }

    /// The outcome values of a condition by task.
    fn scores(&self, folder: &RunFolder, condition: &str) -> Vec<(String, Vec<f64>)> {
        let mut found: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        let outcomes =
            RunOutcomes::read(self.store, folder).unwrap_or_else(|_| RunOutcomes::new(folder.outcome));
        for cell in folder.cells.iter().filter(|cell| cell.condition == condition) {
            let record = self.store.record(&cell.trial).ok().flatten();
            let value = record.and_then(|record| outcomes.value(&record));
            found.entry(cell.task.clone()).or_default().extend(value);
        }
        found.into_iter().collect()
    }

    /// The baseline's trials on the tasks of a run, in every run of the store, by day. The baseline is the same by what
    /// it is, and a task by its digest, which contains its labels in runs of 0.1.0.
    fn sessions(&self, plan: &Plan, folder: &RunFolder, baseline: &str) -> Vec<Session> {
        let mut found: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        let mut outcomes = RunOutcomes::new(folder.outcome);
        let mut recorded = Vec::new();
        for name in self.store.run_names() {
            let Ok(run) = self.store.run(&name) else { continue };
            let same: BTreeSet<&str> = run
                .tasks
                .iter()
                .filter(|known| {
                    plan.tasks.iter().any(|own| own.name == known.name && own.has_digest(&known.digest))
                })
                .map(|task| task.name.as_str())
                .collect();
            let is_own = |cell: &&Cell| {
                let label = run.agents.get(cell.agent).map(|agent| &agent.label);
                let is_agent = label.is_some_and(|label| {
                    let mut agents = folder.agents.iter().map(|own| &own.label);
                    agents.any(|own| (&own.name, &own.model) == (&label.name, &label.model))
                });
                is_agent
                    && run.condition_of(&cell.condition) == folder.condition_of(baseline)
                    && same.contains(cell.task.as_str())
            };
            for cell in run.cells.iter().filter(is_own) {
                if !seen.insert(cell.trial.clone()) {
                    continue;
                }
                let Some(record) = self.store.record(&cell.trial).ok().flatten() else { continue };
                // Where and how others measured is unknown.
                if record.imported_from.is_some() {
                    continue;
                }
                // The session of a trial without a time is unknown.
                let Some(day) = record.started_at.as_deref().and_then(|time| time.get(..10)) else {
                    continue;
                };
                // The rule is that of the gate's run, whatever that of the run which executed the trial.
                let values = record.outcome_values();
                outcomes.observe_values(&cell.task, &values);
                recorded.push((day.to_owned(), cell.task.clone(), values));
            }
        }
        for (day, task, values) in recorded {
            if let Some(value) = values.of(outcomes.kind(&task)) {
                found.entry((day, task)).or_default().push(value);
            }
        }
        found.into_iter().map(|((session, task), scores)| Session { session, task, scores }).collect()
    }
}
