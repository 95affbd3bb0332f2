//! A folder of traces, audited task by task.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use assay_trace::read;
use serde::Serialize;
use serde_json::{Value, json};

use super::check::{Check, check};
use super::findings::{ArmFindings, findings};
use super::task::{PairAudit, Run, TaskAudit, TaskRuns, audit, count};
use super::{Finding, Pattern};
use crate::Exposed;
use crate::corpus::{Corpus, Group, Notice, TraceFile};
use crate::cta::SCHEMA;
use crate::evidence::{ADOPTED, SkillText};
use crate::sheet;

/// Longest text of a skill or a task that is read, in bytes.
const TEXT_CAP: u64 = 4 << 20;

/// The audit of a corpus.
#[derive(Debug, Clone)]
pub struct CorpusAudit {
    /// By task.
    pub tasks: Vec<TaskAudit>,
    /// By arm.
    pub arms: Vec<ArmFindings>,
    /// The validation of the score on this corpus, if requested.
    pub check: Option<Check>,
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
    /// `with` or `without`.
    pub condition: &'static str,
    /// Its exposure to the skill.
    pub exposure: Exposed,
    /// The score, in [0, 1].
    pub adoption: f64,
    /// Words of the skill, weighed.
    pub evidence: f64,
    /// The median of the task's other traces.
    pub floor: f64,
    /// The largest score for another skill; `null` without another.
    pub best_placebo: Option<f64>,
    /// All four kinds of tokens, once a message.
    pub tokens: u64,
}

/// Audits a corpus; problems go to `notice`. With `checked`, the score is validated on the corpus,
/// and lines of skills are planted in its controls.
///
/// Only the runs of one task are in memory at a time.
pub fn corpus(root: &Path, corpus: &Corpus, checked: bool, mut notice: impl FnMut(Notice)) -> CorpusAudit {
    let mut tasks: BTreeMap<&str, Vec<&Group>> = BTreeMap::new();
    for group in &corpus.groups {
        tasks.entry(&group.task).or_default().push(group);
    }
    let skills: BTreeMap<&str, SkillText> =
        tasks.iter().filter_map(|(task, groups)| Some((*task, skill(task, groups, &mut notice)?))).collect();
    let library: Vec<SkillText> = skills.values().cloned().collect();
    let metadata = metadata(root, &mut notice);
    let mut found = Vec::new();
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
        found.push(audit(&task, &library, checked));
    }
    CorpusAudit::new(found, checked)
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
    text(path, notice).map(|bytes| SkillText::parse(&bytes))
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
            Some(Run {
                trace: file.name.clone(),
                arm: group.arm.clone(),
                with,
                tokens: transcript.tally.usage.total(),
                trajectory: transcript.trajectory,
                known: None,
            })
        }
        Err(error) => {
            notice(new_notice(file.path.clone(), None, format!("{error}; excluded")));
            None
        }
    }
}

/// Audits one task: without repetitions the null is the other skills of `library` in place of the
/// right one.
pub fn pairs(task: &TaskRuns<'_>, library: &[SkillText]) -> CorpusAudit {
    CorpusAudit::new(vec![audit(task, library, false)], false)
}

impl CorpusAudit {
    /// The audit of some tasks; with `checked`, also the validation of the score.
    pub fn new(tasks: Vec<TaskAudit>, checked: bool) -> Self {
        Self { arms: findings(&tasks), check: checked.then(|| check(&tasks)), tasks }
    }

    /// The lines of the audit: pairs and traces by arm and task, and the findings last.
    pub fn lines(&self, mut line: impl FnMut(Value)) {
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
                        adoption: run.adoption.score,
                        evidence: run.adoption.evidence,
                        floor: run.adoption.floor,
                        best_placebo: run.placebo.iter().copied().max_by(f64::total_cmp),
                        tokens: run.tokens,
                    }));
                }
            }
        }
        line(json!({
            "schema": SCHEMA,
            "kind": "findings",
            "method": "calibrated",
            "threshold": ADOPTED,
            "arms": self.arms,
            "check": self.check,
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

impl CorpusAudit {
    /// The findings of all pairs, for people to label. Raters see the two spans; which of the runs
    /// had the skill they do not.
    pub fn sheet(&self) -> Vec<sheet::Finding> {
        let pairs = self.tasks.iter().flat_map(|task| {
            task.arms
                .iter()
                .flat_map(move |arm| arm.pairs.iter().map(move |pair| (task, arm.arm.as_str(), pair)))
        });
        let of_pair = |(task, arm, pair): (&TaskAudit, &str, &PairAudit)| -> Vec<sheet::Finding> {
            let made = |(at, finding): (usize, &Finding)| sheet::Finding {
                stratum: format!("{arm} {} {}", pair.mode.name(), finding.pattern.name()),
                key: json!({
                    "arm": arm, "task": task.task, "mode": pair.mode.name(), "with_trace": task.runs[pair.one].trace,
                    "without_trace": task.runs[pair.other].trace, "record": at, "pattern": finding.pattern.name(),
                }),
                task: task.task.clone(),
                pattern: finding.pattern.name().to_owned(),
                intent_plus: finding.trace_text.clone(),
                intent_minus: String::new(),
                actions: format!("step {}", finding.step),
                skill_section: finding.skill_text.clone(),
            };
            pair.findings.iter().enumerate().map(made).collect()
        };
        pairs.flat_map(of_pair).collect()
    }
}
