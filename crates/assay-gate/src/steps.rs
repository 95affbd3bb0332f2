//! The steps of a gate, from the skills that changed to its document.

#[cfg(test)]
mod tests;

use crate::attainable::{PlannedClaim, check_attainable};
use crate::cost::CostForecast;
use crate::decisions::decide_skills;
use crate::document::{GateDocument, GateVerdict, LedgerSummary};
use crate::gate::Gate;
use crate::gate_error::GateError;
use crate::host::{GateEvent, GateEvents};
use crate::measure::{GateTrials, PlannedSkill, Unmeasured};
use crate::measured::{Gated, LookLevel};
use crate::new_skill::check_new_tasks;
use crate::policy::Policy;
use crate::rows::{block_weakened, check_without_trials, first_row, is_opened, note_opened};

impl Gate<'_> {
    /// Decides on the skills: opens their looks, executes or reads their trials, and completes the looks. Without a policy nothing
    /// is decided, and nothing is executed.
    ///
    /// # Errors
    /// The policy is unattainable, or the gate cannot go on. What only blocks a skill is in the document.
    pub fn decide(&self) -> Result<GateDocument, GateError> {
        let mut document = self.describe();
        if let Some(policy) = &self.scope.policy {
            let mut gated = self.find_skills(policy);
            check_new_tasks(self, &mut gated)?;
            self.decide_open(policy, (&mut document, &mut gated))?;
            document.skills = gated.into_iter().map(|gated| gated.row).collect();
            document.verdict =
                document.skills.iter().map(|row| row.verdict).max().unwrap_or(GateVerdict::Nothing);
        }
        self.finish(&mut document);
        Ok(document)
    }

    /// The skills before any trial.
    pub(crate) fn find_skills(&self, policy: &Policy) -> Vec<Gated> {
        let subjects = self.scope.subjects.iter().map(|subject| Gated {
            row: first_row(subject, self.scope.terms.skills.get(&subject.skill), policy),
            measured: None,
            look: None,
            is_known: subject.is_known,
        });
        subjects.collect()
    }

    /// The document before any decision.
    fn describe(&self) -> GateDocument {
        let (request, scope) = (self.request, self.scope);
        let mut document = GateDocument {
            schema: "assay.gate/2",
            policy: request.policy.display().to_string(),
            policy_hash: scope.terms.hash.clone(),
            commit: None,
            changed_since: request.changed_since.clone(),
            verdict: GateVerdict::Nothing,
            skills: Vec::new(),
            rules_changed: Vec::new(),
            untrusted: Vec::new(),
            weakened: Vec::new(),
            ledger: LedgerSummary::default(),
            forecast: None,
            view_url: request.view_url.clone(),
            notes: scope.notes.clone(),
        };
        if let Some(evaluation) = &scope.evaluation {
            document.commit = Some(evaluation.head().to_owned());
            document.rules_changed.clone_from(&evaluation.rules_changed);
            document.untrusted.clone_from(&evaluation.untrusted);
            document.weakened.clone_from(&evaluation.weakened);
        }
        document
    }

    /// Measures the open skills and decides on them.
    fn decide_open(
        &self,
        policy: &Policy,
        (document, gated): (&mut GateDocument, &mut [Gated]),
    ) -> Result<(), GateError> {
        let (scope, terms) = (self.scope, &self.scope.terms);
        if !gated.iter().any(Gated::is_open) {
            return Ok(());
        }
        let block = |gated: &mut [Gated], reason: &str| {
            gated
                .iter_mut()
                .filter(|gated| gated.is_open())
                .for_each(|gated| reason.clone_into(&mut gated.row.reason));
        };
        let store = match scope.find_store(self.store, self.host) {
            Ok((store, note)) => {
                document.notes.extend(note);
                store
            }
            Err(reason) => {
                block(gated, &reason.to_string());
                return Ok(());
            }
        };
        if let Some(reason) = scope.explain_missing_key(self.host)? {
            check_without_trials(gated, terms);
            block(gated, &reason);
            return Ok(());
        }
        // Only a pull request has looks: without a target nothing is merged.
        let mut looks = None;
        if let Some(evaluation) = &scope.evaluation {
            match self.read_looks(policy, evaluation)? {
                Ok((found, notes)) => {
                    document.notes.extend(notes);
                    looks = Some(found);
                }
                Err(reason) => {
                    let reason = reason.to_string();
                    block(gated, &reason);
                    document.notes.push(reason);
                    return Ok(());
                }
            }
        }
        let store = self.open_trials(&store)?;
        let cancel = self.host.watch_signals()?;
        assay_trial::clean_up(&store);
        self.host.remove_stale_containers(&store);
        let sandboxes = self.host.open_sandboxes()?;
        let here = self.machine_context(policy, &sandboxes);
        let mut trials = self.prepare_trials(policy, looks, (&store, &here, &cancel));
        document.forecast = Some(self.measure_open(policy, &mut trials, gated)?);
        decide_skills(policy, terms, gated);
        if let Some(looks) = &mut trials.looks {
            looks.complete_all(gated, &store);
            document.ledger = looks.summary();
        }
        Ok(())
    }

    /// Plans the trials of the open skills, opens their looks, and executes or reads the trials.
    fn measure_open(
        &self,
        policy: &Policy,
        trials: &mut GateTrials<'_>,
        gated: &mut [Gated],
    ) -> Result<CostForecast, GateError> {
        let scope = self.scope;
        let mut planned = Vec::new();
        for (row, gated) in gated.iter().enumerate().filter(|(_, gated)| gated.is_open()) {
            let Some((name, of)) = scope.terms.skills.get_key_value(&gated.row.skill) else { continue };
            let versions = self.find_versions(policy, gated, trials.looks.as_ref());
            planned.push(trials.prepare(row, (name, of), versions)?);
        }
        // What it can show, and what it may cost, come first: no look is opened for what is refused.
        let next = |skill: &PlannedSkill<'_>| LookLevel::of(trials.next_numbers(skill), policy.error_budget);
        let expected: Vec<LookLevel> = planned.iter().map(next).collect();
        forecast_power(policy, planned.iter().zip(&expected), gated, self.events)?;
        let mut forecast = CostForecast::none(trials.budget);
        for skill in &planned {
            let all = if skill.rounds.len() > 1 { Some(trials.whole_plan(skill)?) } else { None };
            forecast.add(
                &skill.plan,
                all.as_ref().unwrap_or(&skill.plan),
                skill.rounds.len(),
                trials.store,
                self.host.env(),
            )?;
        }
        self.events.handle_event(&GateEvent::Forecast(&forecast));
        for (skill, expected) in planned.iter().zip(expected) {
            let found = &mut gated[skill.row];
            match trials.open_look(skill) {
                Ok(numbers) => {
                    let look = LookLevel::of(numbers, policy.error_budget);
                    // Another gate opened a look meanwhile, so that this one has a stricter level.
                    let refused = (look != expected)
                        .then(|| check_attainable(policy, &[planned_at(skill, look)]).err())
                        .flatten();
                    match refused {
                        Some(failure) => {
                            found.row.reason = format!("another gate opened a look first: {failure}");
                        }
                        None => found.look = Some(look),
                    }
                }
                Err(Unmeasured::Blocked(reason)) => found.row.reason = reason,
                Err(Unmeasured::Opened) => note_opened(&mut found.row),
                Err(Unmeasured::Failed(failure)) => return Err(failure),
            }
        }
        trials.measure((policy, &scope.terms), &planned, gated)?;
        Ok(forecast)
    }

    /// Blocks what may not pass, and names files as in the repository.
    fn finish(&self, document: &mut GateDocument) {
        let scope = self.scope;
        if let Some(evaluation) = &scope.evaluation
            && !evaluation.is_trusted
            // The job that goes on with these looks decides.
            && !document.skills.iter().any(is_opened)
        {
            block_weakened(document, evaluation.head());
        }
        if let Some(evaluation) = &scope.evaluation {
            let rows = document
                .skills
                .iter_mut()
                .flat_map(|row| std::iter::once(&mut row.reason).chain(&mut row.notes));
            rows.for_each(|text| *text = evaluation.shorten(text));
        }
    }
}

fn planned_at<'a>(skill: &PlannedSkill<'a>, look: LookLevel) -> PlannedClaim<'a> {
    PlannedClaim {
        skill: skill.name,
        terms: skill.terms,
        look,
        has_version: skill.versions.base.is_some(),
        has_reference: skill.has_reference(),
    }
}

/// What the claims of the open skills can show; refuses those that can show nothing.
fn forecast_power<'a>(
    policy: &Policy,
    planned: impl Iterator<Item = (&'a PlannedSkill<'a>, &'a LookLevel)>,
    gated: &mut [Gated],
    events: &dyn GateEvents,
) -> Result<(), GateError> {
    let planned: Vec<(usize, PlannedClaim<'_>)> =
        planned.map(|(skill, look)| (skill.row, planned_at(skill, *look))).collect();
    let claims: Vec<PlannedClaim<'_>> = planned.iter().map(|(_, planned)| *planned).collect();
    for ((row, planned), forecast) in planned.iter().zip(check_attainable(policy, &claims)?) {
        events.handle_event(&GateEvent::Power { skill: planned.skill, note: &forecast.note });
        gated[*row].row.power_equal = forecast.power_equal;
    }
    Ok(())
}
