//! A folder of traces, audited task by task.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::convert::Infallible;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use assay_trace::read;
use serde::Serialize;
use serde_json::{Value, json};

use super::Pattern;
use super::findings::{ArmFindings, findings};
use super::report::adherence_report;
use super::run_score::run_scores;
use super::task::{PairAudit, Run, RunName, TaskAudit, TaskRuns, audit, count};
use crate::Exposed;
use crate::SCHEMA;
use crate::adherence::{ADOPTED, DirectiveCounts};
use crate::corpus::{Corpus, Group, Notice, TraceFile};
use crate::evidence::SkillText;

/// Longest text of a skill or a task that is read, in bytes.
const TEXT_CAP: u64 = 4 << 20;

/// The audit of a corpus.
#[derive(Debug, Clone)]
pub struct CorpusAudit {
    /// By task.
    pub tasks: Vec<TaskAudit>,
    /// By arm.
    pub arms: Vec<ArmFindings>,
}

/// The line of one trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceLine {
    /// `assay.audit/2`.
    pub schema: &'static str,
    /// `trace`.
    pub kind: &'static str,
    /// Its path below `traces/`.
    pub trace: String,
    /// The task.
    pub task: String,
    /// The arm.
    pub arm: String,
    /// `with` or `without` the skill.
    pub condition: &'static str,
    /// The condition by name, the repetition and the trial.
    #[serde(flatten)]
    pub name: RunName,
    /// Its exposure to the skill.
    pub exposure: Exposed,
    /// What it adopted of the skill.
    pub adoption: AdoptionLine,
    /// The largest score for another skill; `null` without another.
    pub best_placebo: Option<f64>,
    /// All four kinds of tokens, once a message.
    pub tokens: u64,
    /// The trace that counts in its place, because it holds the same words; `None` unless it is a copy.
    pub copy_of: Option<String>,
}

/// What a run adopted of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct AdoptionLine {
    /// The score, in [0, 1]; `None` where nothing of the skill can be adopted measurably.
    pub score: Option<f64>,
    /// Whether it reaches the threshold; `None` where no run could.
    pub adopted: Option<bool>,
    /// How many directives have which status.
    pub directives: DirectiveCounts,
}

/// Audits a corpus; problems go to `notice`.
pub fn corpus(root: &Path, corpus: &Corpus, notice: impl FnMut(Notice)) -> CorpusAudit {
    match corpus_with(root, corpus, notice, |_| Ok::<(), Infallible>(()), |_, _| {}) {
        Ok(audit) => audit,
        Err(never) => match never {},
    }
}

/// As [`corpus`]; `prepare` may change each skill before anything is compared with it. Each task is given to `each` with
/// what was found.
///
/// # Errors
///
/// The first error of `prepare`.
pub fn corpus_with<E>(
    root: &Path,
    corpus: &Corpus,
    notice: impl FnMut(Notice),
    prepare: impl FnMut(&mut SkillText) -> Result<(), E>,
    mut each: impl FnMut(&TaskRuns<'_>, &TaskAudit),
) -> Result<CorpusAudit, E> {
    let mut found = Vec::new();
    visit_with(root, corpus, notice, prepare, |task, library| {
        let audited = audit(task, library);
        each(task, &audited);
        found.push(audited);
    })?;
    Ok(CorpusAudit::new(found))
}

/// Reads a corpus task by task, and gives each to `each` with all skills; problems go to `notice`.
///
/// Only the runs of one task are in memory at a time.
pub fn visit(
    root: &Path,
    corpus: &Corpus,
    notice: impl FnMut(Notice),
    each: impl FnMut(&TaskRuns<'_>, &[SkillText]),
) {
    match visit_with(root, corpus, notice, |_| Ok::<(), Infallible>(()), each) {
        Ok(()) => {}
        Err(never) => match never {},
    }
}

fn visit_with<E>(
    root: &Path,
    corpus: &Corpus,
    mut notice: impl FnMut(Notice),
    mut prepare: impl FnMut(&mut SkillText) -> Result<(), E>,
    mut each: impl FnMut(&TaskRuns<'_>, &[SkillText]),
) -> Result<(), E> {
    let mut tasks: BTreeMap<&str, Vec<&Group>> = BTreeMap::new();
    for group in &corpus.groups {
        tasks.entry(&group.task).or_default().push(group);
    }
    let mut skills: BTreeMap<&str, SkillText> =
        tasks.iter().filter_map(|(task, groups)| Some((*task, skill(task, groups, &mut notice)?))).collect();
    skills.values_mut().try_for_each(&mut prepare)?;
    let library: Vec<SkillText> = skills.values().cloned().collect();
    let metadata = metadata(root, &mut notice);
    for (task, skill) in &skills {
        let prompt = tasks[task].iter().find_map(|group| group.prompt.as_ref());
        let prompt = prompt.and_then(|path| text(path, &mut notice)).unwrap_or_default();
        let runs = tasks[task].iter().flat_map(|group| runs(group, &mut notice)).collect();
        let baseline = metadata.get(*task).and_then(|task| {
            task.get("baseline_pass_rate").or_else(|| task.get("without_skill_pass_rate"))?.as_f64()
        });
        let prompt = String::from_utf8_lossy(&prompt).into_owned();
        let task = TaskRuns {
            task: (*task).to_owned(),
            skill_name: (*task).to_owned(),
            prompt,
            skill,
            runs,
            baseline,
        };
        each(&task, &library);
    }
    Ok(())
}

fn new_notice(path: PathBuf, line: Option<usize>, message: String) -> Notice {
    Notice { path, line, message }
}

fn skill(task: &str, groups: &[&Group], notice: &mut dyn FnMut(Notice)) -> Option<SkillText> {
    let Some(path) = groups.iter().find_map(|group| group.skill.as_ref()) else {
        let first = groups.iter().flat_map(|group| group.with.iter().chain(&group.without)).next();
        let message = format!("no SKILL.md for the task {task}; its traces are excluded");
        notice(new_notice(first.map(|file| file.path.clone()).unwrap_or_default(), None, message));
        return None;
    };
    Some(SkillText::of_file(path, &text(path, notice)?))
}

fn text(path: &Path, notice: &mut dyn FnMut(Notice)) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    match File::open(path).and_then(|file| file.take(TEXT_CAP).read_to_end(&mut bytes)) {
        Ok(_) => Some(bytes),
        Err(error) => {
            notice(new_notice(path.to_owned(), None, format!("cannot read: {error}; excluded")));
            None
        }
    }
}

fn metadata(root: &Path, notice: &mut dyn FnMut(Notice)) -> BTreeMap<String, Value> {
    let path = root.join("task_metadata.json");
    if !path.is_file() {
        return BTreeMap::new();
    }
    let bytes = text(&path, notice).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_else(|error| {
        notice(Notice {
            path,
            line: None,
            message: format!("invalid task table: {error}; pass rates are unknown"),
        });
        BTreeMap::new()
    })
}

fn runs(group: &Group, notice: &mut dyn FnMut(Notice)) -> Vec<Run> {
    let mut sessions: HashMap<String, &str> = HashMap::new();
    let mut found = Vec::new();
    for (file, with) in
        group.with.iter().map(|file| (file, true)).chain(group.without.iter().map(|file| (file, false)))
    {
        let Some(run) = run(file, with, group, notice) else { continue };
        if let Some(session) = &run.trajectory.session_id
            && let Some(other) = sessions.insert(session.clone(), &file.name)
        {
            let message = format!("same session as {other}; both are audited");
            notice(new_notice(file.path.clone(), None, message));
        }
        found.push(run);
    }
    found
}

fn run(file: &TraceFile, with: bool, group: &Group, notice: &mut dyn FnMut(Notice)) -> Option<Run> {
    match read::read(&file.path, None) {
        Ok(transcript) => {
            for diagnostic in &transcript.diagnostics {
                let message = diagnostic.message.clone();
                notice(new_notice(file.path.clone(), diagnostic.line, message));
            }
            let tokens = transcript.tally.usage.total();
            let mut run = Run::new(&file.name, &group.arm, with, transcript.trajectory, tokens);
            run.name.repetition = repetition(&file.name);
            Some(run)
        }
        Err(error) => {
            notice(new_notice(file.path.clone(), None, format!("{error}; excluded")));
            None
        }
    }
}

/// The number in the folder of a trace: 3 of `arm/task/with/r3/x.jsonl`.
fn repetition(name: &str) -> Option<usize> {
    let folder = name.rsplit('/').nth(1)?;
    folder.strip_prefix('r').unwrap_or(folder).parse().ok()
}

/// Audits one task: without repetitions the null is the other skills of `library` in place of the
/// right one.
pub fn pairs(task: &TaskRuns<'_>, library: &[SkillText]) -> CorpusAudit {
    CorpusAudit::new(vec![audit(task, library)])
}

impl CorpusAudit {
    /// The audit of some tasks.
    pub fn new(tasks: Vec<TaskAudit>) -> Self {
        Self { arms: findings(&tasks), tasks }
    }

    /// The lines of the audit: pairs, traces and directives by arm, then `more`, and the findings last.
    pub fn lines(&self, more: Vec<Value>, mut line: impl FnMut(Value)) {
        let arms: BTreeSet<&str> =
            self.tasks.iter().flat_map(|task| &task.arms).map(|arm| arm.arm.as_str()).collect();
        for arm in arms {
            for task in &self.tasks {
                for pair in task.arms.iter().filter(|pairs| pairs.arm == arm).flat_map(|pairs| &pairs.pairs) {
                    line(pair_line(task, arm, pair));
                }
            }
            for (task, run) in self.tasks.iter().flat_map(|task| task.runs.iter().map(move |run| (task, run)))
            {
                if run.arm == arm {
                    line(json!(TraceLine {
                        schema: SCHEMA,
                        kind: "trace",
                        trace: run.trace.clone(),
                        task: task.task.clone(),
                        arm: arm.to_owned(),
                        condition: if run.with { "with" } else { "without" },
                        exposure: run.exposure,
                        name: run.name.clone(),
                        adoption: AdoptionLine {
                            score: run.adoption,
                            adopted: run.adopted,
                            directives: run.adherence.counts(),
                        },
                        best_placebo: run.other_skills.iter().copied().max_by(f64::total_cmp),
                        tokens: run.tokens,
                        copy_of: run.copy_of.map(|at| task.runs[at].trace.clone()),
                    }));
                }
            }
            for directive in adherence_report(arm, &self.tasks) {
                line(json!(directive));
            }
        }
        for run in run_scores(&self.tasks) {
            let mut run = json!(run);
            run["schema"] = json!(SCHEMA);
            run["kind"] = json!("run");
            line(run);
        }
        more.into_iter().for_each(&mut line);
        let sentences: Vec<&str> = self.arms.iter().map(|arm| arm.sentence.as_str()).collect();
        line(json!({
            "schema": SCHEMA,
            "kind": "findings",
            "method": "calibrated",
            "sentence": sentences.join(" "),
            "threshold": ADOPTED,
            "arms": self.arms,
        }));
    }
}

fn pair_line(task: &TaskAudit, arm: &str, pair: &PairAudit) -> Value {
    let (one, other) = (&task.runs[pair.one], &task.runs[pair.other]);
    let counts = count(&pair.findings);
    let sips: BTreeMap<&str, usize> = Pattern::ALL
        .into_iter()
        .zip(counts)
        .filter(|(_, n)| *n > 0)
        .map(|(pattern, n)| (pattern.name(), n))
        .collect();
    json!({
        "schema": SCHEMA,
        "kind": "pair",
        "method": "calibrated",
        "arm": arm,
        "task": task.task,
        "mode": pair.mode,
        "with": one.name,
        "without": other.name,
        "with_trace": one.trace,
        "without_trace": other.trace,
        "divergences": {
            "total": pair.by_type.values().sum::<usize>(),
            "by_type": pair.by_type,
            "by_phase": pair.by_phase,
        },
        "sips": {"total": pair.findings.len(), "by_type": sips},
        "phases": {"plus": one.phases, "minus": other.phases},
        "tokens": {"plus": {"dedup_all_four": one.tokens}, "minus": {"dedup_all_four": other.tokens}},
        "exposure": {"plus": one.exposure, "minus": other.exposure},
        "findings": pair.findings,
    })
}
