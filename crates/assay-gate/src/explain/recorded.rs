//! What the store has of the trials of a skill.

use assay_analysis::Evidence;
use assay_report::{clean, counted, points, pp};
use assay_store::{ConditionRole, RunFolder, Store, StoreError};
use serde::Serialize;

use super::figures::{LiftFigures, bound_in_points};
use crate::decide::{Claim, Decision};
use crate::decisions::claim_of;
use crate::document::GateVerdict;
use crate::gate::Gate;
use crate::gate_error::{GateError, UnusableStore};
use crate::looks::Looks;
use crate::measure::PlannedSkill;
use crate::measured::{CONDITION, Gated, LookLevel};
use crate::policy::{OnUndecided, Policy};
use crate::rounds::{Round, decide_rounds};
use crate::terms::SkillTerms;

/// One side of a comparison.
#[derive(Debug, Serialize)]
pub(super) struct RecordedArm {
    condition: String,
    /// Which version of the skill it has.
    version: String,
    /// Trials with a result.
    pub(super) recorded: usize,
    pub(super) planned: usize,
    /// Repetitions that every task has.
    pub(super) repetitions: u32,
    /// Repetitions at the end of the last round.
    pub(super) most_repetitions: u32,
}

impl RecordedArm {
    pub(super) fn describe_trials(&self) -> String {
        let planned = counted(self.planned, "trial", "trials");
        format!("{}: {} of {planned} recorded", clean(&self.version), self.recorded)
    }
}

/// What the recorded trials of an agent show.
#[derive(Debug, Serialize)]
pub(super) struct RecordedFinding {
    agent: String,
    tasks: usize,
    lift: Option<f64>,
    /// The interval at the level.
    interval: Option<[f64; 2]>,
    /// What the lift must be above.
    bound: f64,
    /// Whether every planned trial until the end of a round is recorded.
    complete: bool,
    #[serde(flatten)]
    decision: Decision,
}

impl RecordedFinding {
    pub(super) fn figures(&self) -> Option<LiftFigures> {
        let [low, high] = self.interval?;
        Some(LiftFigures(self.lift?, low, high))
    }

    pub(super) fn describe_result(&self) -> String {
        let tasks = counted(self.tasks, "task", "tasks");
        let agent = clean(&self.agent);
        let Some(lift) = self.lift else { return format!("{agent}: no lift yet, {tasks} compared") };
        let interval = self
            .interval
            .map_or("no interval".to_owned(), |[low, high]| format!("{} to {}", points(low), points(high)));
        let word = match (self.complete, GateVerdict::from(self.decision.outcome).word()) {
            (true, word) => word.to_owned(),
            (false, _) => "no verdict before all trials are recorded".to_owned(),
        };
        let against = self.decision.reference.map_or(String::new(), |test| {
            let lift = test.lift.map_or("no lift".to_owned(), pp);
            let outcome = GateVerdict::from(test.outcome).word();
            format!("; against the reference version {lift}, {outcome} at level {:.4}", test.level)
        });
        format!(
            "{agent}: {} ({interval}) over {tasks}, above {} at level {:.4}: {word}{against}",
            pp(lift),
            bound_in_points(self.bound),
            self.decision.level
        )
    }
}

/// What the store has of a skill.
pub(super) struct RecordedTrials {
    pub(super) arms: Vec<RecordedArm>,
    pub(super) results: Vec<RecordedFinding>,
    /// The repetitions that rounds end with.
    pub(super) rounds: Vec<u32>,
    /// The look that a gate continues or opens here.
    pub(super) next: Option<LookLevel>,
}

impl RecordedTrials {
    /// Reads the records of the trials that a gate would plan now.
    ///
    /// # Errors
    /// Why they cannot be planned or read.
    pub(super) fn read(
        (gate, policy): (&Gate<'_>, &Policy),
        (gated, terms): (&Gated, &SkillTerms),
        looks: Option<Looks>,
        look: LookLevel,
    ) -> Result<Self, GateError> {
        let (path, _) = gate.scope.find_store(gate.store, gate.host)?;
        if !path.is_dir() {
            return Err(UnusableStore::Missing(path).into());
        }
        let store = gate.open_trials(&path)?;
        let sandboxes = gate.host.open_sandboxes()?;
        let here = gate.machine_context(policy, &sandboxes);
        let cancel = std::sync::atomic::AtomicBool::new(false);
        let versions = gate.find_versions(policy, gated, looks.as_ref());
        let is_counted = looks.is_some();
        let trials = gate.prepare_trials(policy, looks, (&store, &here, &cancel));
        let skill = trials.prepare(0, (&gated.row.skill, terms), versions)?;
        let all = trials.whole_plan(&skill)?.run_folder();
        let arms = arms(&skill, &all, &store);
        let done = arms.iter().map(|arm| arm.repetitions).min().unwrap_or(0);
        // The newest round whose trials are all there, else the first.
        let round = skill.rounds.iter().rev().find(|round| round.repetitions <= done);
        let round = round.or(skill.rounds.first()).cloned();
        let folder = trials.plan_of(&skill, round.as_ref())?.run_folder();
        let complete = done > 0 && done >= round.as_ref().map_or(done, |round| round.repetitions);
        let is_complete = complete && is_recorded(&folder, &store);
        let results = results(&skill, (&folder, &store), (look, round), policy, is_complete)?;
        let is_extended = policy.on_undecided == OnUndecided::Extend;
        let rounds = skill.rounds.iter().filter(|_| is_extended).map(|round| round.repetitions).collect();
        let next = is_counted.then(|| LookLevel::of(trials.next_numbers(&skill), policy.error_budget));
        Ok(Self { arms, results, rounds, next })
    }
}

fn is_recorded(folder: &RunFolder, store: &Store) -> bool {
    folder.cells.iter().all(|cell| has_result(cell, store))
}

fn has_result(cell: &assay_store::Cell, store: &Store) -> bool {
    store.record(&cell.trial).ok().flatten().is_some_and(|record| record.outcome.counts())
}

fn arms(skill: &PlannedSkill<'_>, folder: &RunFolder, store: &Store) -> Vec<RecordedArm> {
    let arm = |condition: &String| {
        let cells: Vec<_> = folder.cells.iter().filter(|cell| cell.condition == *condition).collect();
        let missing = cells.iter().filter(|cell| !has_result(cell, store));
        let most = cells.iter().map(|cell| cell.repetition).max().unwrap_or(0);
        let repetitions = missing.map(|cell| cell.repetition - 1).min().unwrap_or(most);
        RecordedArm {
            condition: condition.clone(),
            version: version(skill, condition),
            recorded: cells.iter().filter(|cell| has_result(cell, store)).count(),
            planned: cells.len(),
            repetitions,
            most_repetitions: most,
        }
    };
    folder.conditions.iter().map(arm).collect()
}

/// Which version of the skill a condition has.
fn version(skill: &PlannedSkill<'_>, condition: &str) -> String {
    let short = |commit: &str| commit.get(..12).unwrap_or(commit).to_owned();
    let reference = skill.versions.reference.as_ref();
    if condition == CONDITION.name() {
        return "this version".to_owned();
    }
    if let Some(reference) = reference.filter(|found| found.condition() == condition) {
        let target = if reference.is_target { ", the target" } else { "" };
        return format!("the reference version, at {}{target}", short(&reference.commit));
    }
    let base = skill.versions.base.as_deref();
    if let Some(base) = base.filter(|base| format!("{}:{base}", ConditionRole::Version) == condition) {
        return format!("the version at the target, {}", short(base));
    }
    format!("the baseline `{condition}`")
}

fn results(
    skill: &PlannedSkill<'_>,
    (folder, store): (&RunFolder, &Store),
    (look, round): (LookLevel, Option<Round>),
    policy: &Policy,
    complete: bool,
) -> Result<Vec<RecordedFinding>, StoreError> {
    let own = |found: Vec<Evidence>| found.into_iter().filter(|found| found.condition == CONDITION.name());
    let evidence: Vec<Evidence> = own(assay_analysis::evidence(store, folder)?).collect();
    let reference: Vec<Evidence> = match folder.conditions.get(2) {
        Some(condition) => own(assay_analysis::evidence_against(store, folder, condition)?).collect(),
        None => Vec::new(),
    };
    let claims: Vec<(Claim, Option<Round>)> = evidence
        .iter()
        .map(|found| {
            let against = reference.iter().find(|other| other.who == found.who);
            let claim = Claim {
                tasks: found.tasks.clone(),
                reference: against.map(|other| other.tasks.clone()),
                reference_level: round
                    .as_ref()
                    .map_or(look.reference_level, |round| round.level(look.reference_level)),
                ..claim_of(skill.name, skill.terms, look)
            };
            (claim, round.clone())
        })
        .collect();
    let decisions = decide_rounds(&claims, policy.budget_scope);
    let found =
        claims.iter().zip(decisions).zip(&evidence).filter(|((claim, _), _)| !claim.0.tasks.is_empty());
    Ok(found
        .map(|(((claim, _), decision), evidence)| RecordedFinding {
            agent: evidence.who.short().to_owned(),
            tasks: claim.tasks.len(),
            lift: assay_stats::lift(&claim.tasks, 0.95).map(|found| found.mean),
            interval: claim.interval_at(decision.level).map(|found| [found.low, found.high]),
            bound: claim.bound(),
            complete,
            decision,
        })
        .collect())
}
