//! The trials of a skill's experiment: how they are planned, and what they need.

mod drift;
mod experiment;
mod run;

use std::sync::atomic::AtomicBool;

use assay_store::Store;
use assay_trial::{Experiment, MachineContext, Plan};

use crate::cost::judges_bill;
use crate::gate_error::GateError;
use crate::host::{GateEvent, GateEvents, GateHost};
use crate::ledger::Numbers;
use crate::looks::Looks;
use crate::policy::{OnUndecided, Requirement, Reuse};
use crate::reference::ReferenceVersion;
use crate::request::GateRequest;
use crate::rounds::Round;
use crate::terms::SkillTerms;

/// The versions that a skill is compared with.
#[derive(Debug, Clone, Default)]
pub(crate) struct Versions {
    /// The commit of the target, if the skill was there.
    pub(crate) base: Option<String>,
    /// The version that it may not fall behind.
    pub(crate) reference: Option<ReferenceVersion>,
}

/// A skill whose trials are planned.
pub(crate) struct PlannedSkill<'a> {
    /// The number of its row.
    pub(crate) row: usize,
    pub(crate) name: &'a str,
    pub(crate) terms: &'a SkillTerms,
    pub(crate) versions: Versions,
    /// The ends of the rounds; none without `on_undecided = "extend"`.
    pub(crate) rounds: Vec<Round>,
    experiment: Experiment,
    /// The trials of the first round.
    pub(crate) plan: Plan,
}

impl PlannedSkill<'_> {
    /// The version that it may not fall behind, unless its claim is about the baseline alone.
    fn reference_version(&self) -> Option<ReferenceVersion> {
        self.versions.reference.clone().filter(|_| self.terms.rule.require != Requirement::Helps)
    }

    /// Whether a reference version has trials of its own.
    pub(crate) fn has_reference(&self) -> bool {
        self.versions.reference.as_ref().is_some_and(|found| self.terms.is_measured_against(found))
    }
}

/// Why there is no decision on a skill.
pub(crate) enum Unmeasured {
    /// Trials are missing.
    Blocked(String),
    /// The look is opened, and that was all that was to be done.
    Opened,
    /// The command cannot go on.
    Failed(GateError),
}

impl<E: Into<GateError>> From<E> for Unmeasured {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// What all skills of a gate have in common.
pub(crate) struct GateTrials<'a> {
    pub(crate) request: &'a GateRequest,
    pub(crate) host: &'a dyn GateHost,
    pub(crate) events: &'a dyn GateEvents,
    pub(crate) store: &'a Store,
    /// The looks that are counted, if there is a target.
    pub(crate) looks: Option<Looks>,
    pub(crate) machine: &'a MachineContext<'a>,
    pub(crate) cancel: &'a AtomicBool,
    pub(crate) reuse: Option<Reuse>,
    pub(crate) on_undecided: OnUndecided,
    /// US dollars that are left.
    pub(crate) budget: Option<f64>,
    /// Recorded with every run.
    pub(crate) policy_hash: &'a str,
}

impl GateTrials<'_> {
    /// Plans the trials of a skill.
    pub(crate) fn prepare<'a>(
        &self,
        row: usize,
        (name, terms): (&'a str, &'a SkillTerms),
        versions: Versions,
    ) -> Result<PlannedSkill<'a>, GateError> {
        let experiment = self.write_experiment(name, terms, &versions)?;
        let is_extended = self.on_undecided == OnUndecided::Extend;
        let rounds = if is_extended { terms.rounds() } else { Vec::new() };
        let plan = self.plan(&experiment, rounds.first())?;
        Ok(PlannedSkill { row, name, terms, versions, rounds, experiment, plan })
    }

    /// The trials until the end of a round.
    pub(super) fn plan(&self, experiment: &Experiment, round: Option<&Round>) -> Result<Plan, GateError> {
        let mut experiment = experiment.clone();
        experiment.repetitions = round.map_or(experiment.repetitions, |round| round.repetitions);
        Ok(Plan::build(experiment, self.store, self.machine)?)
    }

    /// The trials of a skill until the end of a round.
    pub(crate) fn plan_of(&self, skill: &PlannedSkill<'_>, round: Option<&Round>) -> Result<Plan, GateError> {
        self.plan(&skill.experiment, round)
    }

    /// The trials of all rounds.
    pub(crate) fn whole_plan(&self, skill: &PlannedSkill<'_>) -> Result<Plan, GateError> {
        self.plan(&skill.experiment, skill.rounds.last())
    }

    /// Which look the trials of a skill are, if no other gate opens one first.
    pub(crate) fn next_numbers(&self, skill: &PlannedSkill<'_>) -> Numbers {
        let folder = skill.plan.run_folder();
        self.looks.as_ref().map_or(Numbers { version: 1, look: 1 }, |looks| {
            looks.numbers(skill.name, skill.terms, &folder, self.store)
        })
    }

    /// Opens the look at a skill, if all that its trials need is there.
    pub(crate) fn open_look(&mut self, skill: &PlannedSkill<'_>) -> Result<Numbers, Unmeasured> {
        self.check_plan(&skill.plan, Some(skill.terms))?;
        if !self.request.open_looks {
            self.check_ready(&skill.plan)?;
        }
        let Some(looks) = &mut self.looks else { return Ok(Numbers { version: 1, look: 1 }) };
        let folder = skill.plan.run_folder();
        let numbers = looks
            .open(skill.name, skill.terms, &folder, self.store)
            .map_err(|error| Unmeasured::Blocked(error.to_string()))?;
        if self.request.open_looks { Err(Unmeasured::Opened) } else { Ok(numbers) }
    }

    /// Why a plan does not measure what it should.
    pub(super) fn check_plan(&self, plan: &Plan, terms: Option<&SkillTerms>) -> Result<(), Unmeasured> {
        for diagnostic in &plan.diagnostics {
            self.events.handle_event(&GateEvent::PlanDiagnostic(diagnostic));
        }
        if let Some(excluded) = plan.excluded.first() {
            let reason = format!("task {} cannot be run: {}", excluded.task, excluded.reason);
            return Err(Unmeasured::Blocked(reason));
        }
        match terms.and_then(|terms| other_skill(plan, terms)) {
            Some(reason) => Err(Unmeasured::Blocked(reason)),
            None => Ok(()),
        }
    }

    /// Checks what the trials need, and that they may cost something.
    pub(super) fn check_ready(&self, plan: &Plan) -> Result<(), Unmeasured> {
        self.check_cap(plan)?;
        assay_trial::preflight(
            plan,
            self.store,
            &self.options(plan),
            self.machine.env,
            self.cancel,
            &mut |_| {},
        )
        .map_err(|error| Unmeasured::Blocked(error.to_string()))?;
        self.host.check_agents(plan, self.store).map_err(|error| Unmeasured::Blocked(error.to_string()))
    }

    /// A paid model is not run without a cap.
    fn check_cap(&self, plan: &Plan) -> Result<(), GateError> {
        let paid = plan.agents.iter().find(|entry| {
            let spec = &entry.spec;
            // A list price is a guess about the model's name, and says nothing about who bills at an address of this machine.
            let own = entry.price.filter(|_| spec.list_price.is_none());
            let base_url = spec.base_url.as_deref();
            let is_paid = |model: &str| assay_ask::is_paid(model, base_url, own, self.machine.env);
            spec.model.as_deref().is_some_and(is_paid)
        });
        let Some(entry) = paid else {
            if judges_bill(plan, self.machine.env) && self.budget.is_none() && !self.request.no_cap {
                return Err(GateError::NoCap { model: None });
            }
            return Ok(());
        };
        let model = entry.label.model.clone().unwrap_or_default();
        if self.budget.is_none() && !self.request.no_cap {
            return Err(GateError::NoCap { model: Some(model) });
        }
        if self.budget.is_some() && entry.price.is_none() {
            return Err(GateError::NoPrice { model });
        }
        Ok(())
    }
}

/// Why a plan measures another skill than the one that is decided on: a name can lead to another folder.
fn other_skill(plan: &Plan, terms: &SkillTerms) -> Option<String> {
    let package = terms.package.as_ref()?;
    let digest = package.digest.to_string();
    let own = plan.tasks.iter().filter(|task| !task.negative_control);
    let mut others =
        own.filter(|task| plan.curated.get(&task.name).is_none_or(|skills| !skills.contains(&digest)));
    let task = others.next()?;
    Some(format!("task {} is given another skill than this one by its name or its own folder", task.name))
}
