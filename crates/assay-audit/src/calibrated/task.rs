//! One task: its runs, each with its exposure and its adoption of the task's skill and of every
//! other, and its pairs of runs.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use assay_trace::{Exposure, OfferedSkill, Source, Trajectory, carries};
use serde::Serialize;

use super::pattern::{Finding, Pair as PatternPair, Pattern, RunFacts, patterns};
use crate::Exposed;
use crate::Mode;
use crate::adherence::{
    ADOPTED, Adherence, Cohort, DeclaredCheck, Delivery, Known, Left, RunEvidence, TestCheck, adherences,
    attainable, can_adopt, deliveries,
};
use crate::behaviour::{Action, Difference, Phase, actions, differences};
use crate::directive::Directive;
use crate::evidence::{SkillText, words};

/// What identifies a run in reports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RunName {
    /// The condition, such as `none` and `curated`; `with` or `without` in folders of transcripts.
    pub condition_name: String,
    /// The repetition, from 1; `None` if unknown.
    pub repetition: Option<usize>,
    /// The trial's id; `None` for transcripts of no trial.
    pub trial: Option<String>,
}

impl RunName {
    /// Condition, repetition and trial in words.
    pub fn describe(&self) -> String {
        let mut text = format!("condition {}", self.condition_name);
        if let Some(repetition) = self.repetition {
            text.push_str(&format!(", repetition {repetition}"));
        }
        if let Some(trial) = &self.trial {
            let short: String = trial.chars().take(12).collect();
            text.push_str(&format!(" (trial {short})"));
        }
        text
    }
}

/// A run of a task.
#[derive(Debug, Clone)]
pub struct Run {
    /// What it is called in the output: its path below `traces/`.
    pub trace: String,
    /// Its condition, repetition and trial.
    pub name: RunName,
    /// The agent it belongs to.
    pub arm: String,
    /// Whether it had the skill.
    pub with: bool,
    /// What the agent did.
    pub trajectory: Trajectory,
    /// All four kinds of tokens, once a message.
    pub tokens: u64,
    /// Exposure that was recorded while the run was executed, if it was: it has more than the trace.
    pub known: Option<Exposure>,
    /// The files that it left.
    pub left: Left,
    /// The checks of the verifier; empty where they are not known.
    pub checks: Vec<TestCheck>,
    /// The checks that test directives of the task's skill, as its verifier declares them; empty where it does not.
    pub declared: Vec<DeclaredCheck>,
    /// The outcome, such as `passed`, where it is known. Only the pattern `skill_inertia` depends on it.
    pub outcome: Option<String>,
}

impl Run {
    /// A run of which no more than the transcript is known.
    pub fn new(trace: &str, arm: &str, with: bool, trajectory: Trajectory, tokens: u64) -> Self {
        let condition_name = if with { "with" } else { "without" }.to_owned();
        Self {
            trace: trace.to_owned(),
            name: RunName { condition_name, ..RunName::default() },
            arm: arm.to_owned(),
            with,
            trajectory,
            tokens,
            known: None,
            left: Left::default(),
            checks: Vec::new(),
            declared: Vec::new(),
            outcome: None,
        }
    }
}

/// A task with its skill and all its runs.
#[derive(Debug, Clone)]
pub struct TaskRuns<'a> {
    /// Its name.
    pub task: String,
    /// The name that agents know the skill by: its folder's.
    pub skill_name: String,
    /// What the agent was asked; empty where it is not known.
    pub prompt: String,
    /// The task's skill.
    pub skill: &'a SkillText,
    /// The runs, of every arm.
    pub runs: Vec<Run>,
    /// Pass rate without the skill, where it is known.
    pub baseline: Option<f64>,
}

/// What one run shows.
#[derive(Debug, Clone)]
pub struct RunAudit {
    /// As in [`Run`].
    pub trace: String,
    /// As in [`Run`].
    pub name: RunName,
    /// As in [`Run`].
    pub arm: String,
    /// As in [`Run`].
    pub with: bool,
    /// As in [`Run`].
    pub tokens: u64,
    /// How far the skill reached it.
    pub exposure: Exposed,
    /// The step in which it had been read.
    pub opened_at: Option<usize>,
    /// What it shows of the skill's directives.
    pub adherence: Adherence,
    /// Its adoption score; `None` where the skill cannot be measured in this task: what its directives demand shows nothing
    /// there, its checks declare no answer, and no run wrote out its text.
    pub adoption: Option<f64>,
    /// Whether it reaches the threshold; `None` where no run could.
    pub adopted: Option<bool>,
    /// The adoption score it would get for each other skill of the library, in their order.
    pub other_skills: Vec<f64>,
    /// The checks of the verifier.
    pub checks: Vec<TestCheck>,
    /// The first run of the task that holds the same words: itself, unless it is a copy.
    pub original: usize,
    /// The run of its arm and condition that counts in its place, because it holds the same words; `None` unless it is a
    /// copy.
    pub copy_of: Option<usize>,
    /// Phase, first and last action of each stretch of its actions.
    pub phases: Vec<(&'static str, usize, usize)>,
}

/// What the runs of a task show, in their order.
#[derive(Debug, Clone)]
pub struct TaskAudit {
    /// The task.
    pub task: String,
    /// As in [`TaskRuns`].
    pub skill_name: String,
    /// As in [`TaskRuns`].
    pub baseline: Option<f64>,
    /// The directives of its skill.
    pub directives: Vec<Directive>,
    /// Its runs.
    pub runs: Vec<RunAudit>,
    /// Its pairs, by arm.
    pub arms: Vec<ArmPairs>,
}

/// The pairs of runs of one task in one arm. Copies of a run are left out.
#[derive(Debug, Clone, Default)]
pub struct ArmPairs {
    /// The arm.
    pub arm: String,
    /// Its runs, as places in [`TaskAudit::runs`].
    pub runs: Vec<usize>,
    /// `counts[i][j]`: what run i of `runs` shows compared with run j, in the order of
    /// [`Pattern::ALL`].
    pub counts: Vec<Vec<Counts>>,
    /// For each other skill of the library, the mean counts of the treatment pairs with it in the
    /// right one's place. Only where no condition has two runs: with repetitions they are the null.
    pub placebo: Vec<[f64; Pattern::ALL.len()]>,
    /// The pairs that are reported.
    pub pairs: Vec<PairAudit>,
}

/// One count for each of [`Pattern::ALL`].
pub type Counts = [usize; Pattern::ALL.len()];

/// One pair.
#[derive(Debug, Clone)]
pub struct PairAudit {
    /// How the two were put together.
    pub mode: Mode,
    /// The run that plays the one with the skill, as a place in [`TaskAudit::runs`].
    pub one: usize,
    /// The other.
    pub other: usize,
    /// Differences by kind.
    pub by_type: BTreeMap<&'static str, usize>,
    /// Differences by phase.
    pub by_phase: BTreeMap<&'static str, usize>,
    /// What of the skill the first shows and the second does not.
    pub findings: Vec<Finding>,
}

/// Audits the runs of one task. `library` holds every skill there is, the task's own among them or
/// not.
pub fn audit(task: &TaskRuns<'_>, library: &[SkillText]) -> TaskAudit {
    audit_against(task, library, library)
}

/// As [`audit`], without what the runs show of other skills, which takes most of the time. What they show of the task's
/// own is the same: text of other skills in `library` is left out of their evidence here, too.
pub fn audit_own(task: &TaskRuns<'_>, library: &[SkillText]) -> TaskAudit {
    audit_against(task, library, &[])
}

/// Audits the runs of one task. The text of skills in `known_skills` is no evidence; `library` are those in the place of
/// the task's own.
fn audit_against(task: &TaskRuns<'_>, known_skills: &[SkillText], library: &[SkillText]) -> TaskAudit {
    let skills = || known_skills.iter().chain([task.skill]);
    let materials: Vec<RunEvidence> =
        task.runs.iter().map(|run| RunEvidence::new(&run.trajectory, &run.left, skills())).collect();
    let originals: Vec<usize> = materials
        .iter()
        .map(|run| materials.iter().position(|other| run == other).unwrap_or_default())
        .collect();
    let seen = Known::new(&task.prompt, &materials);
    let declared: Vec<Vec<DeclaredCheck>> = task.runs.iter().map(|run| run.declared.clone()).collect();
    let adherence = Cohort::new(task.skill, &materials, &seen).with_declared(&declared).adherences();
    let declared_items: BTreeSet<&str> = declared.iter().flatten().map(|check| check.name.as_str()).collect();
    let weight = attainable(task.skill, &seen) + declared_items.len() as f64;
    let is_measurable = weight > 0.0 || adherence.iter().any(|adherence| adherence.score > 0.0);
    let others = library.iter().filter(|skill| skill.body != task.skill.body);
    let other_skills: Vec<Vec<Adherence>> =
        others.map(|skill| adherences(skill, &materials, &seen)).collect();
    let facts: Vec<RunFacts> = task.runs.iter().map(|run| facts(run, task.skill)).collect();
    let runs: Vec<RunAudit> = adherence
        .into_iter()
        .enumerate()
        .map(|(at, adherence)| {
            let run = &task.runs[at];
            let (exposure, opened_at) = exposed(task, run);
            let deliveries = delivered(&task.skill.directives, run, exposure);
            let reaches = adherence.score >= ADOPTED;
            RunAudit {
                trace: run.trace.clone(),
                name: run.name.clone(),
                arm: run.arm.clone(),
                with: run.with,
                tokens: run.tokens,
                exposure,
                opened_at,
                adoption: is_measurable.then_some(adherence.score),
                adopted: (is_measurable && can_adopt(weight)).then_some(reaches),
                adherence: Adherence { deliveries, ..adherence },
                other_skills: other_skills.iter().map(|skill| skill[at].score).collect(),
                checks: run.checks.clone(),
                original: originals[at],
                copy_of: task.runs[..at].iter().zip(&originals).position(|(other, first)| {
                    *first == originals[at] && other.arm == run.arm && other.with == run.with
                }),
                phases: stretches(&facts[at].actions),
            }
        })
        .collect();
    let names: BTreeSet<&str> = task.runs.iter().map(|run| run.arm.as_str()).collect();
    let compared = Compared { task, facts: &facts, library, other_skills: &other_skills, known: &seen };
    let arms = names.into_iter().map(|arm| pairs(arm, &runs, &compared)).collect();
    let directives = task.skill.directives.clone();
    TaskAudit {
        task: task.task.clone(),
        skill_name: task.skill_name.clone(),
        baseline: task.baseline,
        directives,
        runs,
        arms,
    }
}

/// What the runs of a task are compared by.
struct Compared<'a> {
    task: &'a TaskRuns<'a>,
    facts: &'a [RunFacts],
    library: &'a [SkillText],
    /// What each run shows of each other skill of the library.
    other_skills: &'a [Vec<Adherence>],
    /// What the task and its inputs say.
    known: &'a Known,
}

impl Compared<'_> {
    /// The findings in a run compared with another, by what they show of a skill. A copy has nothing
    /// over its original.
    fn findings<'r>(
        &self,
        (one, other): (usize, usize),
        skill: &SkillText,
        of: &dyn Fn(usize) -> &'r Adherence,
    ) -> Vec<Finding> {
        patterns(&PatternPair {
            one: &self.facts[one],
            other: &self.facts[other],
            of_one: of(one),
            of_other: of(other),
            skill,
            prompt: &self.task.prompt,
            known: self.known,
        })
    }
}

fn pairs(arm: &str, runs: &[RunAudit], compared: &Compared<'_>) -> ArmPairs {
    let (task, facts, library) = (compared.task, compared.facts, compared.library);
    let is_chosen = |run: &RunAudit| run.arm == arm && run.copy_of.is_none();
    let chosen: Vec<usize> = (0..runs.len()).filter(|&at| is_chosen(&runs[at])).collect();
    let mut found = ArmPairs { arm: arm.to_owned(), ..ArmPairs::default() };
    found.runs.clone_from(&chosen);
    for &one in &chosen {
        let mut row = Vec::new();
        for &other in &chosen {
            let mut counts = Counts::default();
            if one != other && runs[one].original != runs[other].original {
                let findings = compared.findings((one, other), task.skill, &|at| &runs[at].adherence);
                counts = count(&findings);
                let mode = match (runs[one].with, runs[other].with) {
                    (true, false) => Some(Mode::Treatment),
                    (false, false) => Some(Mode::NullMinus),
                    (true, true) => Some(Mode::NullPlus),
                    (false, true) => None,
                };
                if let Some(mode) = mode {
                    let differ = differences(&facts[one].actions, &facts[other].actions);
                    let tally = |name: fn(&Difference) -> &'static str| {
                        differ.iter().fold(BTreeMap::new(), |mut all: BTreeMap<_, usize>, difference| {
                            *all.entry(name(difference)).or_default() += 1;
                            all
                        })
                    };
                    let (by_type, by_phase) = (tally(|d| d.kind.name()), tally(|d| d.phase.name()));
                    found.pairs.push(PairAudit { mode, one, other, by_type, by_phase, findings });
                }
            }
            row.push(counts);
        }
        found.counts.push(row);
    }
    found.pairs.sort_by_key(|pair| pair.mode);
    if found.pairs.iter().all(|pair| pair.mode == Mode::Treatment) {
        let others = library.iter().filter(|other| other.body != task.skill.body);
        found.placebo = others
            .zip(compared.other_skills)
            .map(|(other, shown)| placebo(&found.pairs, compared, other, shown))
            .collect();
    }
    found
}

/// What the treatment pairs show of a skill that they had nothing to do with.
fn placebo(
    pairs: &[PairAudit],
    compared: &Compared<'_>,
    other: &SkillText,
    shown: &[Adherence],
) -> [f64; Pattern::ALL.len()] {
    let mut means = [0.0; Pattern::ALL.len()];
    for pair in pairs {
        let found = compared.findings((pair.one, pair.other), other, &|at| &shown[at]);
        for (mean, count) in means.iter_mut().zip(count(&found)) {
            *mean += count as f64 / pairs.len() as f64;
        }
    }
    means
}

/// How many findings there are of each pattern.
pub(super) fn count(findings: &[Finding]) -> Counts {
    let mut counts = Counts::default();
    for finding in findings {
        counts[finding.pattern as usize] += 1;
    }
    counts
}

fn facts(run: &Run, skill: &SkillText) -> RunFacts {
    let mut workspace = HashSet::new();
    for step in run.trajectory.steps.iter().filter(|step| step.source == Source::Agent) {
        for result in step.observation.iter().flat_map(|observation| &observation.results) {
            let content = result.content.as_deref().unwrap_or_default();
            // What brought the skill is not the workspace.
            if !carries(content, &skill.body) {
                workspace.extend(content.lines().flat_map(words).map(str::to_lowercase));
            }
        }
    }
    let passed = run.outcome.as_deref().map(|outcome| outcome == "passed");
    RunFacts::new(actions(&run.trajectory), workspace, run.tokens, run.checks.clone(), passed)
}

fn stretches(actions: &[Action]) -> Vec<(&'static str, usize, usize)> {
    let mut stretches: Vec<(Phase, usize, usize)> = Vec::new();
    for (at, action) in actions.iter().enumerate() {
        match stretches.last_mut() {
            Some((phase, _, last)) if *phase == action.phase => *last = at,
            _ => stretches.push((action.phase, at, at)),
        }
    }
    stretches.into_iter().map(|(phase, first, last)| (phase.name(), first, last)).collect()
}

/// The deliveries of a run that the skill reached. Elsewhere a few of its lines may be lines of the
/// workspace.
fn delivered(directives: &[Directive], run: &Run, exposure: Exposed) -> Vec<Option<Delivery>> {
    let found = deliveries(directives, &run.trajectory);
    let most = 2 * found.iter().flatten().count() >= found.len();
    if exposure.opened || exposure.mentions > 0 || most { found } else { vec![None; found.len()] }
}

fn exposed(task: &TaskRuns<'_>, run: &Run) -> (Exposed, Option<usize>) {
    let skill = OfferedSkill {
        name: &task.skill_name,
        description: &task.skill.description,
        body: &task.skill.body,
        mount: "",
        files: &[],
    };
    Exposed::in_trajectory(&run.trajectory, &skill, run.known.as_ref())
}
