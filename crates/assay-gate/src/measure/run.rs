//! Runs of the trials of a gate's skills, round after round.

use assay_analysis::{Evidence, LEAST_DELIVERED};
use assay_report::counted;
use assay_store::RunFolder;
use assay_trial::{Event, Plan, RunOptions, RunOutcome};

use super::{GateTrials, PlannedSkill, Unmeasured};
use crate::decisions::find_undecided;
use crate::gate_error::GateError;
use crate::host::GateEvent;
use crate::measured::{CONDITION, Gated, LookLevel, Measured};
use crate::policy::Policy;
use crate::rows::note_opened;
use crate::terms::Terms;

impl GateTrials<'_> {
    /// Executes the missing trials of skills whose looks are opened. With `on_undecided = "extend"` all skills that are undecided
    /// get round after round.
    pub(crate) fn measure(
        &mut self,
        (policy, terms): (&Policy, &Terms),
        skills: &[PlannedSkill<'_>],
        gated: &mut [Gated],
    ) -> Result<(), GateError> {
        // Those without a look are left out.
        let mut open: Vec<&PlannedSkill<'_>> = skills.iter().collect();
        for number in 0.. {
            for skill in std::mem::take(&mut open) {
                let found = &mut gated[skill.row];
                let Some(look) = found.look else { continue };
                match self.measure_round((skill, look), number, found.measured.take()) {
                    Ok(measured) => {
                        found.measured = Some(measured);
                        open.push(skill);
                    }
                    Err(Unmeasured::Blocked(reason)) => found.row.reason = reason,
                    Err(Unmeasured::Opened) => note_opened(&mut found.row),
                    Err(Unmeasured::Failed(failure)) => return Err(failure),
                }
            }
            let undecided = find_undecided(policy, terms, gated);
            open.retain(|skill| number + 1 < skill.rounds.len() && undecided.contains(&skill.row));
            for skill in &open {
                let repetitions = skill.rounds.get(number).map_or(0, |round| round.repetitions);
                self.events.handle_event(&GateEvent::Undecided { skill: skill.name, repetitions });
            }
            if open.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Executes a round, with what the rounds before it executed.
    fn measure_round(
        &mut self,
        (skill, look): (&PlannedSkill<'_>, LookLevel),
        number: usize,
        before: Option<Measured>,
    ) -> Result<Measured, Unmeasured> {
        if number == 0 {
            let claim = skill.terms.rule.require.word();
            self.events.handle_event(&GateEvent::SkillBegan { skill: skill.name, claim });
        }
        let round = skill.rounds.get(number);
        let mut measured = if number == 0 {
            self.execute_plan(skill, &skill.plan, look)?
        } else {
            self.execute_plan(skill, &self.plan(&skill.experiment, round)?, look)?
        };
        measured.round = round.cloned();
        if let Some(before) = before {
            measured.executed += before.executed;
            measured.spent_usd += before.spent_usd;
            measured.reused = before.reused;
        }
        Ok(measured)
    }

    fn execute_plan(
        &mut self,
        skill: &PlannedSkill<'_>,
        plan: &Plan,
        look: LookLevel,
    ) -> Result<Measured, Unmeasured> {
        let (folder, outcome) = self.execute_run(plan, Some(skill.name))?;
        let recorded = outcome.cached;
        let mut measured = Measured {
            run: folder.run.clone(),
            report: assay_analysis::report_for_gate(self.store, &folder)?,
            evidence: assay_analysis::evidence(self.store, &folder)?
                .into_iter()
                .filter(|found| found.condition == CONDITION.name())
                .collect(),
            reference: self.reference(&folder)?,
            reference_version: skill.reference_version(),
            reference_level: look.reference_level,
            executed: outcome.executed,
            reused: recorded,
            spent_usd: outcome.spent_usd,
            drift: None,
            round: None,
        };
        if measured.report.interim {
            let assay_analysis::Progress { trials, planned } = measured.report.progress;
            return Err(Unmeasured::Blocked(format!(
                "no verdict yet: {trials} of {}",
                counted(planned, "trial", "trials")
            )));
        }
        if measured.report.model_mismatch {
            return Err(Unmeasured::Blocked("another model than the requested one replied".to_owned()));
        }
        let changed = measured.report.origins.map_or(0, |origins| origins.changed);
        if changed > 0 {
            return Err(Unmeasured::Blocked(assay_report::changed_records(changed)));
        }
        let mut shares = measured.report.comparisons.iter().filter_map(|found| found.delivered);
        if let Some(share) = shares.find(|share| *share < LEAST_DELIVERED) {
            return Err(Unmeasured::Blocked(format!(
                "the skill was available in {:.0}% of its trials only",
                100.0 * share
            )));
        }
        if let Some(reuse) = self.reuse.filter(|_| recorded > 0) {
            measured.drift = Some(self.measure_drift(plan, &folder, reuse, &mut measured.executed)?);
        }
        Ok(measured)
    }

    /// The skill's results against the reference version, if the run has one.
    fn reference(&self, folder: &RunFolder) -> Result<Vec<Evidence>, Unmeasured> {
        let Some(reference) = folder.conditions.get(2) else { return Ok(Vec::new()) };
        let found = assay_analysis::evidence_against(self.store, folder, reference)?;
        Ok(found.into_iter().filter(|found| found.condition == CONDITION.name()).collect())
    }

    pub(super) fn options(&self, plan: &Plan) -> RunOptions {
        RunOptions {
            max_usd: self.budget,
            checks: true,
            ..RunOptions::new(self.request.jobs.unwrap_or(plan.experiment.concurrency))
        }
    }

    pub(super) fn execute_run(
        &mut self,
        plan: &Plan,
        skill: Option<&str>,
    ) -> Result<(RunFolder, RunOutcome), Unmeasured> {
        let resolver = plan.resolver(self.store, self.machine);
        let options = self.options(plan);
        let folder = plan.begin_run(self.store)?;
        let look = match (&mut self.looks, skill) {
            (Some(looks), Some(name)) => looks.of_run(name, &folder.run),
            _ => None,
        };
        let event = serde_json::json!({
            "event": "gate", "policy_hash": self.policy_hash, "look": look, "at": jiff::Timestamp::now().to_string(),
        });
        self.store.event(&folder.run, &event)?;
        let events = self.events;
        events.handle_event(&GateEvent::RunBegan);
        let mut on_event = |event: Event<'_>| events.handle_event(&GateEvent::Trial(&event));
        let result =
            assay_trial::run(plan, &folder.run, self.store, &resolver, &options, self.cancel, &mut on_event);
        events.handle_event(&GateEvent::RunEnded);
        self.store.clear_scratch();
        let outcome = result?;
        self.budget = self.budget.map(|budget| (budget - outcome.spent_usd).max(0.0));
        match explain_blocked(&outcome) {
            Some(reason) => Err(Unmeasured::Blocked(reason)),
            None => Ok((folder, outcome)),
        }
    }
}

/// Why the outcome of a run allows no decision.
fn explain_blocked(outcome: &RunOutcome) -> Option<String> {
    if let Some(failed) = outcome.failed_checks.first() {
        return Some(format!("task {}: {}", failed.task, failed.reason));
    }
    if outcome.interrupted {
        return Some("interrupted".to_owned());
    }
    if let Some(reason) = outcome.stopped.as_ref().or(outcome.capped.as_ref()) {
        return Some(reason.clone());
    }
    if outcome.infrastructure > 0 {
        let errors = counted(outcome.infrastructure, "infrastructure error", "infrastructure errors");
        return Some(format!("{errors}: run the gate again to retry"));
    }
    (outcome.unfinished > 0).then(|| format!("{} unfinished", counted(outcome.unfinished, "trial", "trials")))
}
