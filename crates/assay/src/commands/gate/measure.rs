//! The trials of a skill's experiment, and what they show.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use assay_analysis::{Evidence, LEAST_DELIVERED};
use assay_gate::{
    DriftEstimate, FEWEST_SESSIONS, Numbers, OnUndecided, Policy, ReferenceVersion, Requirement, Reuse,
    Round, Session, SkillTerms, Terms, drift_sd,
};
use assay_report::{counted, points};
use assay_stats::{PairedTask, SessionDrift};
use assay_store::{
    Cell, ConditionRole, MetricDirection, MetricScale, MetricSource, MetricSpec, RunFolder, RunOutcomes,
    Selection, Store,
};
use assay_trial::{Event, Experiment, MachineContext, Plan, RunOptions, RunOutcome};

use super::cost::judges_bill;
use super::looks::Looks;
use super::measured::{CONDITION, COST, Drift, Gated, LookLevel, Measured};
use super::{decisions, rows};
use crate::args::gate::GateArgs;
use crate::config::Settings;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::ui::Ui;
use crate::{machine, prices};

/// The fewest tasks of the baseline that are executed again: as many as an interval needs.
const FEWEST_SENTINELS: usize = 5;

/// The versions that a skill is compared with.
#[derive(Debug, Clone, Default)]
pub(super) struct Versions {
    /// The commit of the target, if the skill was there.
    pub(super) base: Option<String>,
    /// The version that it may not fall behind.
    pub(super) reference: Option<ReferenceVersion>,
}

/// A skill whose trials are planned.
pub(super) struct PlannedSkill<'a> {
    /// The number of its row.
    pub(super) row: usize,
    pub(super) name: &'a str,
    pub(super) terms: &'a SkillTerms,
    pub(super) versions: Versions,
    /// The ends of the rounds; none without `on_undecided = "extend"`.
    pub(super) rounds: Vec<Round>,
    experiment: Experiment,
    /// The trials of the first round.
    pub(super) plan: Plan,
}

impl PlannedSkill<'_> {
    /// The version that it may not fall behind, unless its claim is about the baseline alone.
    fn reference_version(&self) -> Option<ReferenceVersion> {
        self.versions.reference.clone().filter(|_| self.terms.rule.require != Requirement::Helps)
    }

    /// Whether a reference version has trials of its own.
    pub(super) fn has_reference(&self) -> bool {
        self.versions.reference.as_ref().is_some_and(|found| self.terms.is_measured_against(found))
    }
}

/// Why there is no decision on a skill.
pub(super) enum Unmeasured {
    /// Trials are missing.
    Blocked(String),
    /// The look is opened, and that was all that was to be done.
    Opened,
    /// The command cannot go on.
    Failed(Failure),
}

impl<E: Into<Failure>> From<E> for Unmeasured {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// What all skills of a gate have in common.
pub(super) struct Gate<'a> {
    pub(super) args: &'a GateArgs,
    pub(super) settings: &'a Settings,
    pub(super) store: &'a Store,
    /// The looks that are counted, if there is a target.
    pub(super) looks: Option<Looks>,
    pub(super) machine: &'a MachineContext<'a>,
    pub(super) cancel: &'a AtomicBool,
    pub(super) reuse: Option<Reuse>,
    pub(super) on_undecided: OnUndecided,
    /// US dollars that are left.
    pub(super) budget: Option<f64>,
    /// Recorded with every run.
    pub(super) policy_hash: &'a str,
    pub(super) ui: &'a Ui,
}

impl Gate<'_> {
    /// The experiment of a skill: its tasks, the baseline and the skill.
    fn experiment(&self, name: &str, terms: &SkillTerms, versions: &Versions) -> Result<Experiment, Failure> {
        let mut experiment = terms.experiment.clone().ok_or_else(|| Failure::bad_input("no experiment"))?;
        prices::fill(&mut experiment, None, self.settings)?;
        let first = experiment.conditions.first().cloned().unwrap_or_default();
        let baseline = match (terms.rule.require, &versions.base) {
            (Requirement::NonInferior, Some(commit)) => format!("{}:{commit}", ConditionRole::Version),
            // Settings are removed below, a name that `is` another condition among them.
            _ => experiment.condition_of(terms.rule.baseline.as_ref().unwrap_or(&first)).to_owned(),
        };
        experiment.name = run_name(name);
        let folders = terms.tasks.values().map(|task| {
            std::path::absolute(&task.folder).unwrap_or_else(|_| task.folder.clone()).display().to_string()
        });
        experiment.suite = folders.map(|folder| escape_pattern(&folder)).collect();
        experiment.pairings.retain(|task, _| terms.tasks.contains_key(task));
        experiment.conditions = vec![baseline, CONDITION.name().to_owned()];
        if let Some(reference) = versions.reference.as_ref().filter(|found| terms.is_measured_against(found))
        {
            let reference = reference.condition();
            if !experiment.conditions.contains(&reference) {
                experiment.conditions.push(reference);
            }
        }
        experiment.settings.clear();
        experiment.primary = None;
        // Claims of all skills share the error budget by p-values of one look.
        experiment.stopping = None;
        if let Some(ratio) = terms.rule.guards.cost_ratio {
            experiment.metrics = vec![MetricSpec {
                name: COST.to_owned(),
                source: MetricSource::CostUsd,
                unit: Some("USD".to_owned()),
                direction: MetricDirection::Lower,
                scale: MetricScale::Log,
                margin: None,
                guard: Some(ratio),
            }];
        }
        if let (None, Some(package)) = (self.reuse, &terms.package) {
            experiment.seed = seed_of(experiment.seed, &package.digest.to_string());
        }
        Ok(experiment)
    }

    /// Plans the trials of a skill.
    pub(super) fn prepare<'a>(
        &self,
        row: usize,
        (name, terms): (&'a str, &'a SkillTerms),
        versions: Versions,
    ) -> Result<PlannedSkill<'a>, Failure> {
        let experiment = self.experiment(name, terms, &versions)?;
        let is_extended = self.on_undecided == OnUndecided::Extend;
        let rounds = if is_extended { terms.rounds() } else { Vec::new() };
        let plan = self.plan(&experiment, rounds.first())?;
        Ok(PlannedSkill { row, name, terms, versions, rounds, experiment, plan })
    }

    /// The trials until the end of a round.
    fn plan(&self, experiment: &Experiment, round: Option<&Round>) -> Result<Plan, Failure> {
        let mut experiment = experiment.clone();
        experiment.repetitions = round.map_or(experiment.repetitions, |round| round.repetitions);
        Ok(Plan::build(experiment, self.store, self.machine)?)
    }

    /// The trials of a skill until the end of a round.
    pub(super) fn plan_of(&self, skill: &PlannedSkill<'_>, round: Option<&Round>) -> Result<Plan, Failure> {
        self.plan(&skill.experiment, round)
    }

    /// The trials of all rounds.
    pub(super) fn whole_plan(&self, skill: &PlannedSkill<'_>) -> Result<Plan, Failure> {
        self.plan(&skill.experiment, skill.rounds.last())
    }

    /// Which look the trials of a skill are, if no other gate opens one first.
    pub(super) fn next_numbers(&self, skill: &PlannedSkill<'_>) -> Numbers {
        let folder = skill.plan.run_folder();
        self.looks.as_ref().map_or(Numbers { version: 1, look: 1 }, |looks| {
            looks.numbers(skill.name, skill.terms, &folder, self.store)
        })
    }

    /// Opens the look at a skill, if all that its trials need is there.
    pub(super) fn open_look(&mut self, skill: &PlannedSkill<'_>) -> Result<Numbers, Unmeasured> {
        self.check_plan(&skill.plan, Some(skill.terms))?;
        if !self.args.open_looks {
            self.check_ready(&skill.plan)?;
        }
        let Some(looks) = &mut self.looks else { return Ok(Numbers { version: 1, look: 1 }) };
        let folder = skill.plan.run_folder();
        let numbers = looks
            .open(skill.name, skill.terms, &folder, self.store)
            .map_err(|error| Unmeasured::Blocked(error.to_string()))?;
        if self.args.open_looks { Err(Unmeasured::Opened) } else { Ok(numbers) }
    }

    /// Executes the missing trials of skills whose looks are opened. With `on_undecided = "extend"` all skills that are undecided
    /// get round after round.
    pub(super) fn measure(
        &mut self,
        (policy, terms): (&Policy, &Terms),
        skills: &[PlannedSkill<'_>],
        gated: &mut [Gated],
    ) -> Result<(), Failure> {
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
                    Err(Unmeasured::Opened) => rows::opened(&mut found.row),
                    Err(Unmeasured::Failed(failure)) => return Err(failure),
                }
            }
            let undecided = decisions::find_undecided(policy, terms, gated);
            open.retain(|skill| number + 1 < skill.rounds.len() && undecided.contains(&skill.row));
            for skill in &open {
                let repetitions = skill.rounds.get(number).map_or(0, |round| round.repetitions);
                let after = counted(repetitions, "repetition", "repetitions");
                self.ui.note(&format!("{}: undecided after {after}", skill.name));
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
            self.ui.note(&format!("{}: {}", skill.name, skill.terms.rule.require.word()));
        }
        let round = skill.rounds.get(number);
        let mut measured = if number == 0 {
            self.execute(skill, &skill.plan, look)?
        } else {
            self.execute(skill, &self.plan(&skill.experiment, round)?, look)?
        };
        measured.round = round.cloned();
        if let Some(before) = before {
            measured.executed += before.executed;
            measured.spent_usd += before.spent_usd;
            measured.reused = before.reused;
        }
        Ok(measured)
    }

    fn execute(
        &mut self,
        skill: &PlannedSkill<'_>,
        plan: &Plan,
        look: LookLevel,
    ) -> Result<Measured, Unmeasured> {
        let (folder, outcome) = self.run(plan, Some(skill.name))?;
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
            measured.drift = Some(self.drift(plan, &folder, reuse, &mut measured.executed)?);
        }
        Ok(measured)
    }

    /// The skill's results against the reference version, if the run has one.
    fn reference(&self, folder: &RunFolder) -> Result<Vec<Evidence>, Unmeasured> {
        let Some(reference) = folder.conditions.get(2) else { return Ok(Vec::new()) };
        let found = assay_analysis::evidence_against(self.store, folder, reference)?;
        Ok(found.into_iter().filter(|found| found.condition == CONDITION.name()).collect())
    }

    /// Why a plan does not measure what it should.
    fn check_plan(&self, plan: &Plan, terms: Option<&SkillTerms>) -> Result<(), Unmeasured> {
        for diagnostic in &plan.diagnostics {
            self.ui.detail(&diagnostic.to_string());
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

    fn options(&self, plan: &Plan) -> RunOptions {
        RunOptions {
            max_usd: self.budget,
            checks: true,
            ..RunOptions::new(self.args.jobs.map_or(plan.experiment.concurrency, usize::from))
        }
    }

    fn run(&mut self, plan: &Plan, skill: Option<&str>) -> Result<(RunFolder, RunOutcome), Unmeasured> {
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
        let mut progress = Progress::new(self.ui);
        let mut on_event = |event: Event<'_>| progress.report(&event);
        let result =
            assay_trial::run(plan, &folder.run, self.store, &resolver, &options, self.cancel, &mut on_event);
        progress.finish();
        self.store.clear_scratch();
        let outcome = result?;
        self.budget = self.budget.map(|budget| (budget - outcome.spent_usd).max(0.0));
        match blocked(&outcome) {
            Some(reason) => Err(Unmeasured::Blocked(reason)),
            None => Ok((folder, outcome)),
        }
    }

    /// Checks what the trials need, and that they may cost something.
    fn check_ready(&self, plan: &Plan) -> Result<(), Unmeasured> {
        self.check_cap(plan)?;
        assay_trial::preflight(
            plan,
            self.store,
            &self.options(plan),
            &machine::env,
            self.cancel,
            &mut |_| {},
        )
        .map_err(|error| Unmeasured::Blocked(error.to_string()))?;
        crate::commands::agent::doctor::check_planned_agents(plan, &Selection::default(), self.store, self.ui)
            .map_err(|failure| Unmeasured::Blocked(failure.to_string()))
    }

    /// A paid model is not run without a cap.
    fn check_cap(&self, plan: &Plan) -> Result<(), Failure> {
        let paid = plan.agents.iter().find(|entry| {
            let spec = &entry.spec;
            // A list price is a guess about the model's name, and says nothing about who bills at an address of this machine.
            let own = entry.price.filter(|_| spec.list_price.is_none());
            spec.model.as_deref().is_some_and(|model| machine::is_paid(model, spec.base_url.as_deref(), own))
        });
        let Some(entry) = paid else {
            if judges_bill(plan) && self.budget.is_none() && !self.args.no_cap {
                return Err(Failure::bad_input("a judge is a paid model, and this gate has no cap")
                    .hint("set --max-usd USD, or pass --no-cap"));
            }
            return Ok(());
        };
        let model = entry.label.model.as_deref().unwrap_or_default();
        if self.budget.is_none() && !self.args.no_cap {
            return Err(Failure::bad_input(format!("{model} is a paid model, and this gate has no cap"))
                .hint("set --max-usd USD, or pass --no-cap"));
        }
        if self.budget.is_some() && entry.price.is_none() {
            return Err(Failure::bad_input(format!("`--max-usd` needs the price of {model}")).hint(
                "add `price = { input = …, output = … }`, in USD for a million tokens, to its [[agents]] table",
            ));
        }
        Ok(())
    }

    /// Executes a part of the baseline again, beside recorded trials of it.
    fn drift(
        &mut self,
        plan: &Plan,
        folder: &RunFolder,
        reuse: Reuse,
        executed: &mut usize,
    ) -> Result<Drift, Unmeasured> {
        let baseline = folder.conditions.first().cloned().unwrap_or_default();
        let sessions = self.sessions(plan, folder, &baseline);
        let recorded = self.effective_sessions(folder, &baseline);
        let between = match (drift_sd(&sessions), reuse.drift_sd) {
            (Some(DriftEstimate { sd, sessions }), _) => {
                SessionDrift { sd, sessions: Some(sessions), recorded }
            }
            (None, Some(sd)) => SessionDrift { sd, sessions: None, recorded },
            (None, None) => {
                let failure = Failure::bad_input(format!(
                    "`reuse_baseline` needs an estimate of drift: the store has fewer than {FEWEST_SESSIONS} sessions of the baseline"
                ));
                return Err(failure
                    .hint("remove `reuse_baseline`, or set `drift_sd`, the known standard deviation of the baseline's mean score between sessions")
                    .into());
            }
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
        let (sentinel, outcome) = self.run(&sentinel, None)?;
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
        Ok(Drift { between, detectable: assay_gate::detectable_drift(&pairs), observed })
    }

    /// The number of sessions that the baseline's trials of a run weigh as: that of sessions of one size whose mean varies as
    /// much.
    fn effective_sessions(&self, folder: &RunFolder, baseline: &str) -> usize {
        let mut days: std::collections::BTreeMap<String, usize> = std::collections::BTreeMap::new();
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
        let mut found: std::collections::BTreeMap<String, Vec<f64>> = std::collections::BTreeMap::new();
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
        let mut found: std::collections::BTreeMap<(String, String), Vec<f64>> =
            std::collections::BTreeMap::new();
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

/// Why the outcome of a run allows no decision.
fn blocked(outcome: &RunOutcome) -> Option<String> {
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

/// A seed for one version of a skill: its trials, and those of the baseline beside them, are executed together.
fn seed_of(seed: u64, of: &str) -> u64 {
    let hash = blake3::hash(format!("{seed} {of}").as_bytes());
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&hash.as_bytes()[..8]);
    // TOML and JSON have signed numbers.
    u64::from_le_bytes(bytes) >> 1
}

/// The run of a skill.
fn run_name(skill: &str) -> String {
    let name: String = skill
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '-' })
        .collect();
    let name = name.trim_start_matches("gate-").trim_matches('-');
    format!("gate-{}", name.chars().take(60).collect::<String>())
}

/// A path as a pattern that matches nothing else.
fn escape_pattern(path: &str) -> String {
    let mut pattern = String::new();
    for c in path.chars() {
        match c {
            '*' | '?' | '[' | ']' | '{' | '}' => pattern.extend(['[', c, ']']),
            c => pattern.push(c),
        }
    }
    pattern
}
