//! A campaign on a real skill: its trials, executed and recorded as those of runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use assay_skill::{Package, tokens};
use assay_stats::ablation::PartSet;
use assay_store::{ConditionRole, OutcomeKind, RunOutcomes, Store, StoreError};
use assay_trial::{Event, Experiment, MachineContext, Plan, PlanError, RunError, RunOptions};

use super::decide::next_step;
use super::design::{Refusal, ScreeningRule, ShrinkDesign};
use super::outcome::{ShrinkDecision, ShrinkOutcome, ShrinkStep};
use super::parts::{SkillPart, split_body};
use super::trials::{CellTrials, ReferenceTrials, ShrinkCell, ShrinkScores, ShrinkStage, WantedTrials};
use super::variant::{Replacement, VariantError, render_body, write_copy};

/// What a campaign is given.
#[derive(Clone, Debug)]
pub struct ShrinkRequest {
    /// The skill.
    pub skill: Package,
    /// Its experiment: tasks, agent, model and sandbox.
    pub experiment: Experiment,
    /// The most trials.
    pub budget: usize,
    /// How much worse the shorter skill may be, as a share of trials that pass.
    pub margin: f64,
    /// Concurrent trials; those of the experiment if `None`.
    pub jobs: Option<usize>,
}

/// Where trials are executed.
pub struct ShrinkMachine<'a> {
    /// Where they are recorded.
    pub store: &'a Store,
    /// The machine.
    pub context: &'a MachineContext<'a>,
    /// Set to stop.
    pub cancel: &'a AtomicBool,
}

/// Why a campaign has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShrinkError {
    /// The campaign could not show anything.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The experiment's own trials are not all recorded.
    #[error("{missing} of {planned} trials with and without the skill are not recorded")]
    Unrecorded {
        /// Without a record.
        missing: usize,
        /// Of the plan.
        planned: usize,
    },
    /// Another agent or model would be another question.
    #[error("the experiment has {agents} agents: a campaign needs one")]
    Agents {
        /// Their number.
        agents: usize,
    },
    /// A task of another skill, or of several.
    #[error("task {task} is given {skills}, not this skill alone")]
    OtherSkill {
        /// The task.
        task: String,
        /// How many skills, in words.
        skills: String,
    },
    /// A task that cannot be run.
    #[error("task {task} cannot be run: {reason}")]
    Excluded {
        /// The task.
        task: String,
        /// Why.
        reason: String,
    },
    /// No recorded trial opened the skill.
    #[error("no trial with the skill opened it ({trials} recorded): none of its parts can have an effect")]
    NeverOpened {
        /// The trials.
        trials: usize,
    },
    /// Trials are missing: interrupted, capped, or stopped.
    #[error("{missing} trials of the {stage} have no result: run the same command again to continue")]
    Unfinished {
        /// The stage.
        stage: &'static str,
        /// Without a result.
        missing: usize,
    },
    /// The stages do not end.
    #[error("the campaign asks for the same trials again: some cannot be recorded")]
    Stuck,
    /// A variant.
    #[error(transparent)]
    Variant(#[from] VariantError),
    /// The plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A campaign that has ended.
#[derive(Clone, Debug)]
pub struct ShrunkSkill {
    /// All parts of the skill.
    pub parts: Vec<SkillPart>,
    /// For each part its number in the outcome; `None` for a part that no trial delivered, which is dead without a trial.
    pub numbers: Vec<Option<usize>>,
    /// The tasks by number.
    pub tasks: Vec<String>,
    /// What was shown.
    pub outcome: ShrinkOutcome,
    /// The smallest effect that is found with 80% power.
    pub detectable: Option<f64>,
    /// The body of the shorter skill, if it is shorter.
    pub shorter: Option<String>,
    /// Tokens of the body that a session saves.
    pub saved: usize,
    /// The runs in the store.
    pub runs: Vec<String>,
}

impl ShrunkSkill {
    /// Whether a part is in the shorter skill.
    pub fn keeps(&self, part: usize) -> bool {
        has_part(&self.numbers, self.outcome.kept, part)
    }
}

fn has_part(numbers: &[Option<usize>], kept: PartSet, part: usize) -> bool {
    numbers.get(part).copied().flatten().is_some_and(|number| kept.has(number))
}

/// What a variant is made of: parts, and what takes the place of the others.
type Made = (PartSet, Replacement);

/// A campaign between two stages.
struct Trials<'a> {
    request: &'a ShrinkRequest,
    machine: &'a ShrinkMachine<'a>,
    parts: Vec<SkillPart>,
    numbers: Vec<Option<usize>>,
    tasks: Vec<String>,
    /// The next repetition of a variant on a task.
    next: BTreeMap<(usize, Made), u32>,
    /// The repetitions of a cell.
    repetitions: BTreeMap<ShrinkCell, std::ops::Range<u32>>,
    runs: Vec<String>,
}

/// Executes a campaign. Trials that are recorded are not repeated, so that an interrupted campaign goes on where it was.
///
/// # Errors
/// A refused design, and whatever keeps trials from being executed.
pub fn shrink_skill(
    request: &ShrinkRequest,
    machine: &ShrinkMachine<'_>,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<ShrunkSkill, ShrinkError> {
    let parts = split_body(&request.skill.body);
    let known = Recorded::read(request, machine, &parts)?;
    let numbers = known.numbers(&parts);
    let tested = numbers.iter().flatten().count();
    let design = ShrinkDesign {
        parts: tested,
        budget: request.budget,
        margin: request.margin,
        seed: request.experiment.seed,
        rule: ScreeningRule::Assay,
    };
    design.check(&known.reference)?;
    let all = PartSet::all(tested);
    let next = known.reference.iter().enumerate().flat_map(|(task, _)| {
        // The whole skill is the same by placebo and without its parts.
        [Replacement::Placebo, Replacement::Nothing].map(|kind| ((task, (all, kind)), known.repetitions + 1))
    });
    let mut trials = Trials {
        request,
        machine,
        parts,
        numbers,
        tasks: known.tasks,
        next: next.collect(),
        repetitions: BTreeMap::new(),
        runs: Vec::new(),
    };
    let mut scores = ShrinkScores::new();
    loop {
        match next_step(&design, &known.reference, &scores) {
            ShrinkStep::Done(outcome) => {
                let detectable = design.detectable(&known.reference);
                return trials.finish(outcome, detectable);
            }
            ShrinkStep::Run(wanted) => {
                let before = scores.len();
                trials.execute(&wanted, all, &mut scores, on_event)?;
                if scores.len() == before {
                    return Err(ShrinkError::Stuck);
                }
            }
        }
    }
}

/// The experiment's own trials.
struct Recorded {
    tasks: Vec<String>,
    reference: Vec<ReferenceTrials>,
    repetitions: u32,
    /// The text that reached an agent with the skill, by part: whether a line of it did, of those with a transcript.
    delivered: Vec<bool>,
    transcripts: usize,
}

impl Recorded {
    fn read(
        request: &ShrinkRequest,
        machine: &ShrinkMachine<'_>,
        parts: &[SkillPart],
    ) -> Result<Self, ShrinkError> {
        let mut experiment = request.experiment.clone();
        let [none, curated] =
            [ConditionRole::None, ConditionRole::Curated].map(|role| role.name().to_owned());
        experiment.conditions = vec![none.clone(), curated.clone()];
        let plan = plan_of(experiment, machine)?;
        if plan.agents.len() != 1 {
            return Err(ShrinkError::Agents { agents: plan.agents.len() });
        }
        let own = request.skill.digest.to_string();
        for task in &plan.tasks {
            let skills = plan.curated.get(&task.name).map(Vec::as_slice).unwrap_or_default();
            if skills != [own.clone()] {
                let skills =
                    if skills.len() == 1 { "another skill".to_owned() } else { skills.len().to_string() };
                return Err(ShrinkError::OtherSkill { task: task.name.clone(), skills });
            }
        }
        let folder = plan.run_folder();
        let outcomes = RunOutcomes::read(machine.store, &folder)?;
        let tasks: Vec<String> = plan.tasks.iter().map(|task| task.name.clone()).collect();
        let clusters: BTreeSet<&str> = plan.tasks.iter().filter_map(|task| task.cluster.as_deref()).collect();
        let cluster = |name: Option<&str>| clusters.iter().position(|known| Some(*known) == name);
        let mut reference: Vec<ReferenceTrials> = plan
            .tasks
            .iter()
            .map(|task| ReferenceTrials {
                cluster: cluster(task.cluster.as_deref()).map(|at| at as u64),
                ..ReferenceTrials::default()
            })
            .collect();
        let (mut missing, mut opened, mut with) = (0, 0, 0);
        let (mut delivered, mut transcripts) = (vec![false; parts.len()], 0);
        for cell in &plan.cells {
            let record = machine.store.record(&cell.trial)?;
            let Some((record, at)) = record.zip(tasks.iter().position(|task| *task == cell.task)) else {
                missing += 1;
                continue;
            };
            let value = outcomes.value(&record);
            if cell.condition == none {
                reference[at].none.extend(value);
                continue;
            }
            reference[at].whole.extend(value);
            with += 1;
            opened += usize::from(record.has_opened() != Some(false));
            let attempts = machine.store.trial_folder(&record.trial).join("attempts");
            let path = attempts.join(record.attempt.to_string()).join("trajectory.json");
            if let Ok(transcript) = assay_trace::read::read(&path, None) {
                transcripts += 1;
                for (part, seen) in parts.iter().zip(&mut delivered) {
                    let text = &request.skill.body[part.range.clone()];
                    let found = assay_trace::ingestion(&transcript.trajectory, text);
                    // A part without a long line cannot be told.
                    *seen |= found.lines == 0 || found.ingested > 0;
                }
            }
        }
        if missing > 0 {
            return Err(ShrinkError::Unrecorded { missing, planned: plan.cells.len() });
        }
        if opened == 0 {
            return Err(ShrinkError::NeverOpened { trials: with });
        }
        let repetitions = plan.experiment.most_repetitions();
        Ok(Self { tasks, reference, repetitions, delivered, transcripts })
    }

    /// The numbers of the parts that trials tell apart. Without a transcript of every trial nothing is known to be undelivered.
    fn numbers(&self, parts: &[SkillPart]) -> Vec<Option<usize>> {
        let trials: usize = self.reference.iter().map(|task| task.whole.len()).sum();
        let is_known = self.transcripts >= trials && trials > 0;
        let mut next = 0..;
        parts
            .iter()
            .zip(&self.delivered)
            .map(|(_, delivered)| if !is_known || *delivered { next.next() } else { None })
            .collect()
    }
}

impl Trials<'_> {
    fn execute(
        &mut self,
        wanted: &[WantedTrials],
        all: PartSet,
        scores: &mut ShrinkScores,
        on_event: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), ShrinkError> {
        let stage = wanted.first().map_or(ShrinkStage::Screening, |one| one.cell.stage);
        let replacement = match stage {
            // What is accepted is the skill without the parts.
            ShrinkStage::Confirmation => Replacement::Nothing,
            _ => Replacement::Placebo,
        };
        for one in wanted {
            let made = (one.cell.kept, replacement);
            let next = self.next.entry((one.cell.task, made)).or_insert(1);
            let range = *next..*next + u32::try_from(one.repetitions).unwrap_or(u32::MAX - *next);
            if self.repetitions.contains_key(&one.cell) {
                return Err(ShrinkError::Stuck);
            }
            *next = range.end;
            if one.cell.kept == all {
                for kind in [Replacement::Placebo, Replacement::Nothing] {
                    self.next.insert((one.cell.task, (all, kind)), range.end);
                }
            }
            self.repetitions.insert(one.cell, range);
        }
        let mut experiment = self.request.experiment.clone();
        experiment.name = run_name(&self.request.skill.directory, stage);
        experiment.conditions = Vec::new();
        experiment.settings = BTreeMap::new();
        (experiment.stopping, experiment.primary, experiment.metrics) = (None, None, Vec::new());
        // The tasks of a stage: a test of single tasks has few.
        let mut conditions: BTreeMap<PartSet, String> = BTreeMap::new();
        for one in wanted {
            let kept = one.cell.kept;
            let name = match conditions.get(&kept) {
                Some(name) => name.clone(),
                None if kept == all => ConditionRole::Curated.name().to_owned(),
                None => {
                    format!("{}:{}", ConditionRole::Version, self.write_variant(kept, replacement)?.display())
                }
            };
            conditions.insert(kept, name.clone());
            let last = self.repetitions.get(&one.cell).map_or(1, |range| range.end.saturating_sub(1));
            let settings = experiment.settings.entry(name).or_default();
            settings.repetitions = settings.repetitions.max(Some(last));
        }
        experiment.conditions = conditions.values().cloned().collect();
        let mut plan = plan_of(experiment, self.machine)?;
        let planned: BTreeMap<(&str, &str), &ShrinkCell> = wanted
            .iter()
            .filter_map(|one| {
                let task = self.tasks.get(one.cell.task)?;
                Some(((task.as_str(), conditions.get(&one.cell.kept)?.as_str()), &one.cell))
            })
            .collect();
        let cell_of = |cell: &assay_store::Cell| {
            let found = planned.get(&(cell.task.as_str(), cell.condition.as_str()))?;
            let range = self.repetitions.get(found)?;
            range.contains(&cell.repetition).then_some(**found)
        };
        plan.cells.retain(|cell| cell_of(cell).is_some());
        let trials: BTreeSet<_> = plan.cells.iter().map(|cell| cell.trial.clone()).collect();
        plan.trials.retain(|trial, _| trials.contains(trial));
        let tasks: BTreeSet<_> = plan.cells.iter().map(|cell| cell.task.clone()).collect();
        plan.checks.retain(|check| tasks.contains(&check.task));
        let expected: usize = wanted.iter().map(|one| one.repetitions).sum();
        if plan.cells.len() != expected {
            return Err(ShrinkError::Unfinished {
                stage: stage.word(),
                missing: expected.abs_diff(plan.cells.len()),
            });
        }
        let resolver = plan.resolver(self.machine.store, self.machine.context);
        let options = RunOptions {
            checks: true,
            ..RunOptions::new(self.request.jobs.unwrap_or(plan.experiment.concurrency))
        };
        let folder = plan.begin_run(self.machine.store)?;
        self.runs.push(folder.run.clone());
        let (store, cancel) = (self.machine.store, self.machine.cancel);
        let result = assay_trial::run(&plan, &folder.run, store, &resolver, &options, cancel, on_event);
        store.clear_scratch();
        let ran = result?;
        let missing = ran.unfinished;
        if ran.interrupted || missing > 0 || ran.stopped.is_some() {
            return Err(ShrinkError::Unfinished { stage: stage.word(), missing });
        }
        let outcomes = RunOutcomes::read(store, &folder)?;
        for cell in &plan.cells {
            let Some(key) = cell_of(cell) else { continue };
            let record = store.record(&cell.trial)?;
            let kind: OutcomeKind = outcomes.kind(&cell.task);
            let value = record.and_then(|record| record.outcome_values().of(kind));
            let found: &mut CellTrials = scores.entry(key).or_default();
            match value {
                Some(value) => found.scores.push(value),
                None => found.lost += 1,
            }
        }
        Ok(())
    }

    /// Writes the variant with some parts, and gives the folder that contains it.
    fn write_variant(&self, kept: PartSet, replacement: Replacement) -> Result<PathBuf, ShrinkError> {
        let skill = &self.request.skill;
        let seed = self.request.experiment.seed;
        // A part that was never delivered stays where it is until the shorter skill is tried.
        let stays = |part: usize| match self.numbers.get(part).copied().flatten() {
            Some(number) => kept.has(number),
            None => replacement == Replacement::Placebo,
        };
        let body = render_body(skill, &self.parts, stays, replacement, seed)?;
        let names: String = (0..self.parts.len()).map(|part| if stays(part) { '1' } else { '0' }).collect();
        let kind = if replacement == Replacement::Placebo { "placebo" } else { "shorter" };
        let made = std::path::absolute(self.machine.store.made_folder()).unwrap_or_default();
        let folder = made.join("shrink").join(format!("{}-{seed}-{kind}-{names}", skill.digest.short()));
        write_copy(skill, &body, &folder.join(&skill.directory))?;
        Ok(folder)
    }

    fn finish(self, mut outcome: ShrinkOutcome, detectable: Option<f64>) -> Result<ShrunkSkill, ShrinkError> {
        let kept = outcome.kept;
        let keeps = |part: usize| has_part(&self.numbers, kept, part);
        let is_shorter =
            (0..self.parts.len()).any(|part| !keeps(part)) && outcome.decision != ShrinkDecision::Worse;
        // What was never delivered is left out although every part that trials tell apart stays.
        if is_shorter && outcome.decision == ShrinkDecision::Keep {
            outcome.decision = ShrinkDecision::Shorter;
        }
        let skill = &self.request.skill;
        let shorter = is_shorter
            .then(|| {
                render_body(skill, &self.parts, keeps, Replacement::Nothing, self.request.experiment.seed)
            })
            .transpose()?;
        let saved = shorter.as_ref().map_or(0, |body| tokens(&skill.body).saturating_sub(tokens(body)));
        Ok(ShrunkSkill {
            parts: self.parts,
            numbers: self.numbers,
            tasks: self.tasks,
            outcome,
            detectable,
            shorter,
            saved,
            runs: self.runs,
        })
    }
}

/// Plans an experiment of which every task can be run.
fn plan_of(experiment: Experiment, machine: &ShrinkMachine<'_>) -> Result<Plan, ShrinkError> {
    let plan = Plan::build(experiment, machine.store, machine.context)?;
    match plan.excluded.first() {
        Some(excluded) => {
            Err(ShrinkError::Excluded { task: excluded.task.clone(), reason: excluded.reason.clone() })
        }
        None => Ok(plan),
    }
}

/// The run of a stage.
fn run_name(skill: &str, stage: ShrinkStage) -> String {
    let name: String =
        skill.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' }).take(40).collect();
    format!("shrink-{}-{}", name.trim_matches('-'), stage.word())
}
