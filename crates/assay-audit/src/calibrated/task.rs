//! One task: its runs, each with its exposure and its adoption of the task's skill and of every other.

use assay_trace::{OfferedSkill, Trajectory, exposure, ingestion, touches};
use serde::Serialize;

use crate::evidence::{Adoption, Background, SkillText, TraceText, adoptions};

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
}

/// A task with its skill and all its runs.
#[derive(Debug, Clone)]
pub struct TaskRuns<'a> {
    /// Its name, which is that of the skill's folder.
    pub task: String,
    /// What the agent was asked; empty where it is not known.
    pub prompt: String,
    /// Which of the library is the task's.
    pub skill: &'a SkillText,
    /// The runs, of every arm.
    pub runs: Vec<Run>,
    /// Pass rate without the skill, where it is known.
    pub baseline: Option<f64>,
}

/// How far the skill reached a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Exposed {
    /// The agent was told of it.
    pub listed: bool,
    /// The agent read it.
    pub opened: bool,
    /// Tool calls that name it or a path in it.
    pub touches: usize,
    /// Lines of its body, of 40 characters or more, that came back from tools.
    pub body_lines_ingested: usize,
    /// A file of it was run.
    pub executed: bool,
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
}

/// Audits the runs of one task. `library` holds every skill there is, the task's own among them or not.
pub fn audit(task: &TaskRuns<'_>, library: &[SkillText]) -> TaskAudit {
    let skills = || library.iter().chain([task.skill]);
    let texts: Vec<TraceText> =
        task.runs.iter().map(|run| TraceText::new(&run.trajectory, skills())).collect();
    let own = scores(task, &texts, task.skill, library);
    let others = library.iter().filter(|skill| skill.body != task.skill.body);
    let placebo: Vec<Vec<Adoption>> = others.map(|skill| scores(task, &texts, skill, library)).collect();
    let runs = own.into_iter().enumerate().map(|(at, adoption)| {
        let run = &task.runs[at];
        let (exposure, opened_at) = exposed(task, &run.trajectory);
        RunAudit {
            trace: run.trace.clone(),
            arm: run.arm.clone(),
            with: run.with,
            tokens: run.tokens,
            exposure,
            opened_at,
            adoption,
            placebo: placebo.iter().map(|skill| skill[at].score).collect(),
            original: texts.iter().position(|text| text.same(&texts[at])).unwrap_or(at),
        }
    });
    TaskAudit { task: task.task.clone(), baseline: task.baseline, runs: runs.collect() }
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

fn exposed(task: &TaskRuns<'_>, trajectory: &Trajectory) -> (Exposed, Option<usize>) {
    let skill = OfferedSkill {
        name: &task.task,
        description: &task.skill.description,
        body: &task.skill.body,
        mount: "",
        files: &[],
    };
    let facts = exposure(trajectory, &[skill]).remove(0);
    let exposed = Exposed {
        listed: facts.advertised.is_some(),
        opened: facts.opened.is_some(),
        touches: touches(trajectory, &skill),
        body_lines_ingested: ingestion(trajectory, &task.skill.body).ingested,
        executed: facts.executed.is_some(),
    };
    (exposed, facts.opened)
}
