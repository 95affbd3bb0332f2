//! One task: its runs, each with its exposure and its adoption of the task's skill and of every
//! other, and its pairs of runs.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use assay_trace::{Exposure, OfferedSkill, Source, Trajectory, carries};

use super::pattern::{Finding, Pattern, RunFacts, patterns};
use super::planted;
use crate::Exposed;
use crate::behaviour::{Action, Difference, Phase, actions, differences};
use crate::cta::Mode;
use crate::evidence::{Adoption, Background, SkillText, TraceText, adoptions, words};

/// A run of a task.
#[derive(Debug, Clone)]
pub struct Run {
    /// What it is called in the output: its path below `traces/`.
    pub trace: String,
    /// The agent it belongs to.
    pub arm: String,
    /// Whether it had the skill.
    pub with: bool,
    /// What the agent did.
    pub trajectory: Trajectory,
    /// All four kinds of tokens, once a message.
    pub tokens: u64,
    /// What is known of the skill's way into the run, where somebody saw more than the trace shows.
    pub known: Option<Exposure>,
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
    pub arm: String,
    /// As in [`Run`].
    pub with: bool,
    /// As in [`Run`].
    pub tokens: u64,
    /// How far the skill reached it.
    pub exposure: Exposed,
    /// The step in which it had been read.
    pub opened_at: Option<usize>,
    /// What of the skill it shows.
    pub adoption: Adoption,
    /// The score it would get for each other skill of the library, in their order.
    pub placebo: Vec<f64>,
    /// The first run of the task that holds the same words: itself, unless it is a copy.
    pub original: usize,
    /// The score it would get with so many lines of the skill in it; empty unless asked for, and
    /// for runs that had the skill.
    pub planted: Vec<(usize, f64)>,
    /// Phase, first and last action of each stretch of its actions.
    pub phases: Vec<(&'static str, usize, usize)>,
}

/// What the runs of a task show, in their order.
#[derive(Debug, Clone)]
pub struct TaskAudit {
    /// The task.
    pub task: String,
    /// As in [`TaskRuns`].
    pub baseline: Option<f64>,
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
/// not. With `plant`, lines of the skill are spliced into the controls too.
pub fn audit(task: &TaskRuns<'_>, library: &[SkillText], plant: bool) -> TaskAudit {
    let skills = || library.iter().chain([task.skill]);
    let texts: Vec<TraceText> =
        task.runs.iter().map(|run| TraceText::new(&run.trajectory, skills())).collect();
    let own = scores(task, &texts, task.skill, library);
    let others = library.iter().filter(|skill| skill.body != task.skill.body);
    let placebo: Vec<Vec<Adoption>> = others.map(|skill| scores(task, &texts, skill, library)).collect();
    let originals: Vec<usize> = texts
        .iter()
        .map(|text| texts.iter().position(|other| text.same(other)).unwrap_or_default())
        .collect();
    let background = Background::new(&task.prompt, task.skill, library);
    let planted: Vec<Vec<(usize, f64)>> = (0..texts.len())
        .map(|at| {
            let wanted = plant && !task.runs[at].with && originals[at] == at;
            if wanted { planted::scores(&texts, at, task.skill, &background, at as u64) } else { Vec::new() }
        })
        .collect();
    let facts: Vec<RunFacts> =
        texts.into_iter().zip(&task.runs).map(|(text, run)| facts(text, run, task.skill)).collect();
    let runs: Vec<RunAudit> = own
        .into_iter()
        .enumerate()
        .map(|(at, adoption)| {
            let run = &task.runs[at];
            let (exposure, opened_at) = exposed(task, run);
            RunAudit {
                trace: run.trace.clone(),
                arm: run.arm.clone(),
                with: run.with,
                tokens: run.tokens,
                exposure,
                opened_at,
                adoption,
                placebo: placebo.iter().map(|skill| skill[at].score).collect(),
                original: originals[at],
                planted: planted[at].clone(),
                phases: stretches(&facts[at].actions),
            }
        })
        .collect();
    let names: BTreeSet<&str> = task.runs.iter().map(|run| run.arm.as_str()).collect();
    let arms = names.into_iter().map(|arm| pairs(arm, task, &runs, &facts, library)).collect();
    TaskAudit { task: task.task.clone(), baseline: task.baseline, runs, arms }
}

fn scores(
    task: &TaskRuns<'_>,
    texts: &[TraceText],
    skill: &SkillText,
    library: &[SkillText],
) -> Vec<Adoption> {
    // The task's own skill is background to the others, whether or not the library has it.
    let others = library.iter().chain([task.skill]);
    adoptions(texts, skill, &Background::new(&task.prompt, skill, others))
}

fn pairs(
    arm: &str,
    task: &TaskRuns<'_>,
    runs: &[RunAudit],
    facts: &[RunFacts],
    library: &[SkillText],
) -> ArmPairs {
    let background = &Background::new(&task.prompt, task.skill, library);
    let mut chosen: Vec<usize> = Vec::new();
    for (at, run) in runs.iter().enumerate().filter(|(_, run)| run.arm == arm) {
        if !chosen.iter().any(|&other| runs[other].original == run.original && runs[other].with == run.with) {
            chosen.push(at);
        }
    }
    let mut found = ArmPairs { arm: arm.to_owned(), ..ArmPairs::default() };
    found.runs.clone_from(&chosen);
    for &one in &chosen {
        let mut row = Vec::new();
        for &other in &chosen {
            let mut counts = Counts::default();
            if one != other {
                let findings = patterns(&facts[one], &facts[other], task.skill, background, &task.prompt);
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
        found.placebo = others.map(|other| placebo(&found.pairs, task, facts, other, library)).collect();
    }
    found
}

/// What the treatment pairs show of a skill that they had nothing to do with.
fn placebo(
    pairs: &[PairAudit],
    task: &TaskRuns<'_>,
    facts: &[RunFacts],
    other: &SkillText,
    library: &[SkillText],
) -> [f64; Pattern::ALL.len()] {
    let background = Background::new(&task.prompt, other, library.iter().chain([task.skill]));
    let mut means = [0.0; Pattern::ALL.len()];
    for pair in pairs {
        let found = patterns(&facts[pair.one], &facts[pair.other], other, &background, &task.prompt);
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

fn facts(text: TraceText, run: &Run, skill: &SkillText) -> RunFacts {
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
    RunFacts::new(text, actions(&run.trajectory), workspace, run.tokens)
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
