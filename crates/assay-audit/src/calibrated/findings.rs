//! The findings of an arm over its tasks.

use std::collections::{BTreeMap, BTreeSet};

use assay_stats::holm;
use serde::Serialize;

use super::headline::{Basis, Evidence, evidence, sentence};
use super::null::{Excess, LEVEL, Unit, mean, test};
use super::pattern::{Effect, Finding, Pattern};
use super::reader::{Reader, ReaderSpan, RunFinding};
use super::share::Rate;
use super::task::{ArmPairs, Counts, RunAudit, TaskAudit, count};
use crate::Mode;
use crate::adherence::{ADOPTED, Mattered, Status, mattered};

/// The seed of the assignments that are drawn.
const SEED: u64 = 20_261_121;

/// Thresholds of adoption that are compared.
const THRESHOLDS: [f64; 6] = [0.10, 0.15, 0.20, 0.25, 0.30, 0.40];

/// Tasks named in a report.
const TOP: usize = 5;

/// Runs before identical ones are counted once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct AllRuns {
    /// Those that had the skill.
    pub with: usize,
    /// Those without it.
    pub without: usize,
}

impl AllRuns {
    fn of(arm: &str, parts: &[Part<'_>]) -> Self {
        let runs = || parts.iter().flat_map(|part| &part.task.runs).filter(|run| run.arm == arm);
        Self { with: runs().filter(|run| run.with).count(), without: runs().filter(|run| !run.with).count() }
    }
}

/// The findings of one arm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArmFindings {
    /// The arm.
    pub arm: String,
    /// What the primary test says, in one sentence.
    pub sentence: String,
    /// The directives with the most weight, at most three.
    pub evidence: Vec<Evidence>,
    /// Tasks with runs.
    pub tasks: usize,
    /// Runs that had the skill; copies counted once.
    pub runs_with: usize,
    /// Runs without it.
    pub runs_without: usize,
    /// Runs with the skill and without it, copies included.
    pub all_runs: AllRuns,
    /// Exposure of the runs with the skill.
    pub exposure: ArmExposure,
    /// Mean score of runs with the skill beyond that of runs without, per task in which a score can be more than 0. `None`
    /// without such a task.
    pub adoption: Option<Excess>,
    /// Runs at or above the threshold, of those that could be; `None` if no run of the arm could.
    pub adopted: Option<Adopted>,
    /// The same for other thresholds; empty if `adopted` is unknown.
    pub sensitivity: Vec<AtThreshold>,
    /// Each pattern, found in pairs with the skill against without, beyond pairs without it.
    pub patterns: Vec<PatternFindings>,
    /// Whether adoption, the primary test, is beyond chance in an arm where a run read the skill: a
    /// skill that no run read explains nothing.
    pub beyond_chance: bool,
    /// Steps with a finding, in runs that read the skill.
    pub steps: Steps,
    /// The cost of the skill in tokens.
    pub cost: Option<Cost>,
    /// By pass rate without the skill, if known.
    pub buckets: Vec<Bucket>,
    /// The tasks with the most findings in runs that read the skill.
    pub top_tasks: Vec<TopTask>,
    /// Each run that read the skill.
    pub readers: Vec<Reader>,
}

/// Runs by stage of exposure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ArmExposure {
    /// The skill was listed.
    pub listed: usize,
    /// Listed only: nothing is attributed to the skill in these.
    pub only_listed: usize,
    /// Named it in a tool call.
    pub mentioned: usize,
    /// Read it.
    pub opened: usize,
    /// Ran a file of it.
    pub executed: usize,
    /// Controls that read it: their repository contains it.
    pub contaminated: usize,
}

/// Runs that reach the threshold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Adopted {
    /// Among those that read the skill.
    pub read: Rate,
    /// Among those that had it and did not read it.
    pub unread: Rate,
    /// Among those without it.
    pub controls: Rate,
}

/// Runs that reach another threshold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct AtThreshold {
    /// The threshold.
    pub threshold: f64,
    /// Runs that read the skill and reach it.
    pub read: usize,
    /// Runs with the skill, unread, that reach it.
    pub unread: usize,
    /// Controls that reach it.
    pub controls: usize,
}

/// One pattern in an arm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PatternFindings {
    /// The pattern.
    pub pattern: Pattern,
    /// Its effect on the task.
    pub effect: Effect,
    /// `runs` if the null is pairs of one condition, `placebo` if it is other skills in place of
    /// the right one, and both words if tasks differ.
    pub null: String,
    /// Per pair, beyond the null. `None` without any null.
    pub excess: Option<Excess>,
    /// Findings in runs that read the skill, against every control.
    pub attributed: usize,
    /// Mean per pair of two runs with the skill.
    pub null_plus: Option<f64>,
}

/// Steps with a finding, in runs that read the skill.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Steps {
    /// With any finding.
    pub any: usize,
    /// With a constructive one.
    pub constructive: usize,
    /// With a destructive one.
    pub destructive: usize,
    /// With both.
    pub both: usize,
    /// Share of constructive steps: those that are nothing else, and all of them.
    pub constructive_share: Option<(f64, f64)>,
    /// Share of destructive steps, likewise.
    pub destructive_share: Option<(f64, f64)>,
}

/// Tokens with the skill over tokens without, all four kinds, once a message.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cost {
    /// Tasks with runs of both kinds.
    pub tasks: usize,
    /// Mean over tasks of the ratio of means.
    pub mean_ratio: f64,
    /// Their median.
    pub median_ratio: f64,
    /// Tasks that cost less with the skill.
    pub cheaper: usize,
}

/// Tasks of one range of pass rates without the skill.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bucket {
    /// `ceiling` from .9 on, `floor` below .5, `mid` between, `unknown`.
    pub bucket: &'static str,
    /// Tasks.
    pub tasks: usize,
    /// Runs that read the skill.
    pub opened: usize,
    /// Those of them that reach the threshold; `None` if none of them could.
    pub adopted: Option<usize>,
    /// Findings in runs that read the skill, by effect.
    pub findings: BTreeMap<&'static str, usize>,
}

/// A task and its number of findings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TopTask {
    /// The task.
    pub task: String,
    /// Findings in its runs that read the skill.
    pub findings: usize,
    /// The largest score among them; `None` where it cannot be measured.
    pub adoption: Option<f64>,
}

/// Findings of each arm, by name.
pub fn findings(tasks: &[TaskAudit]) -> Vec<ArmFindings> {
    let arms: BTreeSet<&str> = tasks.iter().flat_map(|task| &task.arms).map(|arm| arm.arm.as_str()).collect();
    let alone = arms.len() == 1;
    arms.into_iter().map(|arm| of_arm(arm, tasks, alone)).collect()
}

/// The findings that are attributed to the skill, by the run's place in the task.
pub(super) fn attributed(task: &TaskAudit) -> Vec<(usize, Finding)> {
    let parts = task.arms.iter().map(|pairs| Part { task, pairs });
    let mut found = Vec::new();
    for part in parts {
        for (at, _) in part.readers() {
            found.extend(part.attributed(at).into_iter().map(|finding| (at, finding)));
        }
    }
    found
}

/// A task's part in an arm.
struct Part<'a> {
    task: &'a TaskAudit,
    pairs: &'a ArmPairs,
}

impl<'a> Part<'a> {
    fn runs(&self) -> impl Iterator<Item = &'a RunAudit> + '_ {
        self.pairs.runs.iter().map(|&at| &self.task.runs[at])
    }

    fn labels(&self) -> Vec<bool> {
        self.runs().map(|run| run.with).collect()
    }

    fn readers(&self) -> impl Iterator<Item = (usize, &'a RunAudit)> + '_ {
        let runs = self.pairs.runs.iter().map(|&at| (at, &self.task.runs[at]));
        runs.filter(|(_, run)| run.with && run.exposure.opened)
    }

    /// Findings of run `at` against every control: one that a control explains is not attributed to
    /// the skill.
    fn attributed(&self, at: usize) -> Vec<Finding> {
        let opened = self.task.runs[at].opened_at.unwrap_or_default();
        let mut against = self
            .pairs
            .pairs
            .iter()
            .filter(|pair| pair.mode == Mode::Treatment && pair.one == at)
            .map(|pair| &pair.findings);
        let Some(first) = against.next() else { return Vec::new() };
        let rest: Vec<&Vec<Finding>> = against.collect();
        let after = |finding: &&Finding| finding.step == 0 || finding.step > opened;
        let everywhere = |finding: &&Finding| rest.iter().all(|other| other.iter().any(|f| same(f, finding)));
        first.iter().filter(after).filter(everywhere).cloned().collect()
    }
}

/// Whether two pairs show the same thing. The text of inertia differs by pair.
fn same(one: &Finding, other: &Finding) -> bool {
    (one.pattern, one.skill_line, one.step) == (other.pattern, other.skill_line, other.step)
        && (one.step == 0 || one.trace_text == other.trace_text)
}

fn of_arm(arm: &str, tasks: &[TaskAudit], alone: bool) -> ArmFindings {
    let part = |task| {
        let pairs = |task: &'_ TaskAudit| task.arms.iter().position(|pairs| pairs.arm == arm);
        pairs(task).map(|at| Part { task, pairs: &task.arms[at] })
    };
    let parts: Vec<Part<'_>> = tasks.iter().filter_map(part).collect();
    let runs: Vec<&RunAudit> = parts.iter().flat_map(Part::runs).collect();
    let with: Vec<&RunAudit> = runs.iter().copied().filter(|run| run.with).collect();
    let controls: Vec<&RunAudit> = runs.iter().copied().filter(|run| !run.with).collect();
    let units = |part: &Part<'_>| {
        let scores: Vec<f64> = part.runs().map(|run| run.adoption).collect::<Option<_>>()?;
        Unit::of_runs(&part.task.task, &part.labels(), &scores)
    };
    let adoption = test(&parts.iter().filter_map(units).collect::<Vec<_>>(), LEVEL, SEED);
    let found: BTreeMap<(usize, usize), Vec<Finding>> = parts
        .iter()
        .enumerate()
        .flat_map(|(at, part)| part.readers().map(move |(run, _)| ((at, run), part.attributed(run))))
        .collect();
    let patterns = patterns(&parts, found.values().flatten());
    let opened = with.iter().filter(|run| run.exposure.opened).count();
    let beyond_chance =
        opened > 0 && adoption.as_ref().is_some_and(|excess| excess.p <= LEVEL && excess.excess > 0.0);
    let readers: Vec<Reader> = parts
        .iter()
        .enumerate()
        .flat_map(|(at, part)| part.readers().map(move |(run, audit)| (at, part, run, audit)))
        .map(|(at, part, run, audit)| reader(part, audit, &found[&(at, run)]))
        .collect();
    let evidence = evidence(&readers);
    let exposure = exposure(&with, &controls);
    let exclusive = |reader: &&Reader| {
        reader.adopted == Some(true) && reader.spans.iter().any(|span| span.followed_without == 0)
    };
    let sentence = sentence(&Basis {
        subject: subject(arm, with.first().copied(), alone),
        runs_with: with.len(),
        runs_without: controls.len(),
        opened,
        contaminated: exposure.contaminated,
        exclusive: readers.iter().filter(exclusive).count(),
        adopted: readers.iter().filter(|reader| reader.adopted == Some(true)).count(),
        measured: readers.iter().filter(|reader| reader.adoption.is_some()).count(),
        decided: readers.iter().filter(|reader| reader.adopted.is_some()).count(),
        adoption: adoption.as_ref(),
        evidence: &evidence,
    });
    ArmFindings {
        arm: arm.to_owned(),
        sentence,
        evidence,
        tasks: parts.len(),
        runs_with: with.len(),
        runs_without: controls.len(),
        all_runs: AllRuns::of(arm, &parts),
        exposure,
        adopted: adopted(&with, &controls),
        sensitivity: sensitivity(&with, &controls),
        adoption,
        patterns,
        beyond_chance,
        steps: steps(&found),
        cost: token_cost(&parts),
        buckets: buckets(&parts, &found),
        top_tasks: top_tasks(&parts, &found),
        readers,
    }
}

/// How many runs reach a threshold, of those that could reach [`ADOPTED`]; with or without having opened the skill, or either.
fn at_least(runs: &[&RunAudit], opened: Option<bool>, threshold: f64) -> (usize, usize) {
    let kept = || {
        let is_kept = |run: &&&RunAudit| {
            run.adopted.is_some() && opened.is_none_or(|opened| run.exposure.opened == opened)
        };
        runs.iter().filter(is_kept)
    };
    (kept().filter(|run| run.adherence.score >= threshold).count(), kept().count())
}

fn adopted(with: &[&RunAudit], controls: &[&RunAudit]) -> Option<Adopted> {
    let rate = |(count, of)| Rate::new(count, of);
    with.iter().chain(controls).any(|run| run.adopted.is_some()).then(|| Adopted {
        read: rate(at_least(with, Some(true), ADOPTED)),
        unread: rate(at_least(with, Some(false), ADOPTED)),
        controls: rate(at_least(controls, None, ADOPTED)),
    })
}

fn sensitivity(with: &[&RunAudit], controls: &[&RunAudit]) -> Vec<AtThreshold> {
    let at = |threshold| AtThreshold {
        threshold,
        read: at_least(with, Some(true), threshold).0,
        unread: at_least(with, Some(false), threshold).0,
        controls: at_least(controls, None, threshold).0,
    };
    adopted(with, controls).map_or_else(Vec::new, |_| THRESHOLDS.into_iter().map(at).collect())
}

/// What a headline is about: the condition where that is enough, else the arm.
fn subject(arm: &str, run: Option<&RunAudit>, alone: bool) -> String {
    let condition = run.map_or("", |run| run.name.condition_name.as_str());
    let named = !matches!(condition, "" | "with");
    match (named, alone) {
        (true, true) => format!("`{condition}`"),
        (true, false) => format!("`{arm}`"),
        (false, true) => "The skill".to_owned(),
        (false, false) => format!("The skill in `{arm}`"),
    }
}

fn exposure(with: &[&RunAudit], controls: &[&RunAudit]) -> ArmExposure {
    let count = |wanted: &dyn Fn(&RunAudit) -> bool| with.iter().filter(|run| wanted(run)).count();
    ArmExposure {
        listed: count(&|run| run.exposure.listed),
        only_listed: count(&|run| run.exposure.listed && run.exposure.mentions == 0 && !run.exposure.opened),
        mentioned: count(&|run| run.exposure.mentions > 0),
        opened: count(&|run| run.exposure.opened),
        executed: count(&|run| run.exposure.executed),
        contaminated: controls.iter().filter(|run| run.exposure.opened).count(),
    }
}

fn patterns<'a>(parts: &[Part<'_>], attributed: impl Iterator<Item = &'a Finding>) -> Vec<PatternFindings> {
    let mut all = Counts::default();
    for finding in attributed {
        all[finding.pattern as usize] += 1;
    }
    let family = Pattern::ALL.len();
    let unit = |part: &Part<'_>, pattern: usize| {
        let row = |row: &Vec<Counts>| row.iter().map(|counts| counts[pattern] as f64).collect();
        let rows: Vec<Vec<f64>> = part.pairs.counts.iter().map(row).collect();
        let of_runs = Unit::of_pairs(&part.task.task, &part.labels(), &rows).map(|unit| (unit, "runs"));
        of_runs.or_else(|| {
            let treated = part.pairs.pairs.iter().filter(|pair| pair.mode == Mode::Treatment);
            let own = mean(treated.map(|pair| count(&pair.findings)[pattern] as f64))?;
            let others: Vec<f64> = part.pairs.placebo.iter().map(|means| means[pattern]).collect();
            Some((Unit::of_placebo(&part.task.task, own, &others)?, "placebo"))
        })
    };
    let mut found: Vec<PatternFindings> = Pattern::ALL
        .into_iter()
        .map(|pattern| {
            let (units, nulls): (Vec<Unit>, BTreeSet<&str>) =
                parts.iter().filter_map(|part| unit(part, pattern as usize)).unzip();
            let plus = parts.iter().filter_map(|part| {
                let pairs = part.pairs.pairs.iter().filter(|pair| pair.mode == Mode::NullPlus);
                mean(pairs.map(|pair| pair.findings.iter().filter(|f| f.pattern == pattern).count() as f64))
            });
            PatternFindings {
                pattern,
                effect: pattern.effect(),
                null: nulls.into_iter().collect::<Vec<_>>().join(" and "),
                excess: test(&units, LEVEL / family as f64, SEED),
                attributed: all[pattern as usize],
                null_plus: mean(plus),
            }
        })
        .collect();
    let p: Vec<f64> =
        found.iter().map(|pattern| pattern.excess.as_ref().map_or(1.0, |excess| excess.p)).collect();
    for (pattern, adjusted) in found.iter_mut().zip(holm(&p)) {
        if let Some(excess) = &mut pattern.excess {
            excess.p_holm = adjusted;
        }
    }
    found
}

fn steps(found: &BTreeMap<(usize, usize), Vec<Finding>>) -> Steps {
    let mut steps: BTreeMap<(usize, usize, usize), (bool, bool)> = BTreeMap::new();
    for ((task, run), findings) in found {
        for finding in findings {
            let step = steps.entry((*task, *run, finding.step)).or_default();
            step.0 |= finding.pattern.effect() == Effect::Constructive;
            step.1 |= finding.pattern.effect() == Effect::Destructive;
        }
    }
    let count = |wanted: &dyn Fn(&(bool, bool)) -> bool| steps.values().filter(|step| wanted(step)).count();
    let (constructive, destructive, both) = (count(&|s| s.0), count(&|s| s.1), count(&|s| s.0 && s.1));
    let any = steps.len();
    let share = |of: usize| (any > 0).then(|| ((of - both) as f64 / any as f64, of as f64 / any as f64));
    Steps {
        any,
        constructive,
        destructive,
        both,
        constructive_share: share(constructive),
        destructive_share: share(destructive),
    }
}

fn token_cost(parts: &[Part<'_>]) -> Option<Cost> {
    let tokens = |part: &Part<'_>, with: bool| {
        mean(part.runs().filter(|run| run.with == with && run.tokens > 0).map(|run| run.tokens as f64))
    };
    let ratio = |part: &Part<'_>| Some(tokens(part, true)? / tokens(part, false)?);
    let mut ratios: Vec<f64> = parts.iter().filter_map(ratio).collect();
    ratios.sort_by(f64::total_cmp);
    let n = ratios.len();
    let middle = n.checked_sub(1)? / 2;
    Some(Cost {
        tasks: n,
        mean_ratio: mean(ratios.iter().copied())?,
        median_ratio: f64::midpoint(ratios[middle], ratios[n / 2]),
        cheaper: ratios.iter().filter(|ratio| **ratio < 1.0).count(),
    })
}

fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::Constructive => "constructive",
        Effect::Neutral => "neutral",
        Effect::Destructive => "destructive",
    }
}

fn buckets(parts: &[Part<'_>], found: &BTreeMap<(usize, usize), Vec<Finding>>) -> Vec<Bucket> {
    let bucket = |baseline: Option<f64>| match baseline {
        Some(rate) if rate >= 0.9 => "ceiling",
        Some(rate) if rate >= 0.5 => "mid",
        Some(_) => "floor",
        None => "unknown",
    };
    let of = |name: &'static str| {
        let here: Vec<usize> =
            (0..parts.len()).filter(|&at| bucket(parts[at].task.baseline) == name).collect();
        let readers = || here.iter().flat_map(|&at| parts[at].readers());
        let decided: Vec<bool> = readers().filter_map(|(_, run)| run.adopted).collect();
        let mut findings: BTreeMap<&'static str, usize> = BTreeMap::new();
        for finding in
            found.iter().filter(|((at, _), _)| here.contains(at)).flat_map(|(_, findings)| findings)
        {
            *findings.entry(effect(finding.pattern.effect())).or_default() += 1;
        }
        Bucket {
            bucket: name,
            tasks: here.len(),
            opened: readers().count(),
            adopted: (!decided.is_empty()).then(|| decided.iter().filter(|adopted| **adopted).count()),
            findings,
        }
    };
    ["ceiling", "mid", "floor", "unknown"].into_iter().map(of).filter(|bucket| bucket.tasks > 0).collect()
}

fn top_tasks(parts: &[Part<'_>], found: &BTreeMap<(usize, usize), Vec<Finding>>) -> Vec<TopTask> {
    let of = |(at, part): (usize, &Part<'_>)| TopTask {
        task: part.task.task.clone(),
        findings: found.iter().filter(|((task, _), _)| *task == at).map(|(_, findings)| findings.len()).sum(),
        adoption: part.readers().filter_map(|(_, run)| run.adoption).max_by(f64::total_cmp),
    };
    let mut tasks: Vec<TopTask> = parts.iter().enumerate().map(of).filter(|task| task.findings > 0).collect();
    tasks.sort_by(|a, b| {
        let adoption = |task: &TopTask| task.adoption.unwrap_or_default();
        b.findings.cmp(&a.findings).then(adoption(b).total_cmp(&adoption(a))).then(a.task.cmp(&b.task))
    });
    tasks.truncate(TOP);
    tasks
}

fn reader(part: &Part<'_>, run: &RunAudit, findings: &[Finding]) -> Reader {
    let opened = run.opened_at.unwrap_or_default();
    let controls: Vec<&RunAudit> = part.runs().filter(|run| !run.with).collect();
    let directives = &part.task.directives;
    let checks: Vec<Vec<Vec<Mattered>>> =
        controls.iter().map(|control| mattered(directives, &run.checks, &control.checks)).collect();
    let span = |at: usize| {
        let (directive, assessment) = (&directives[at], &run.adherence.assessments[at]);
        let counts = assessment.status == Status::Followed && assessment.weight > 0.0;
        let location = assessment.place.as_ref().filter(|_| counts)?;
        let followed = |control: &&&RunAudit| {
            control.adherence.assessments.get(at).is_some_and(|found| found.status == Status::Followed)
        };
        let mut changed: Vec<Mattered> = Vec::new();
        for one in checks.iter().flat_map(|of_control| &of_control[at]) {
            if !changed.contains(one) {
                changed.push(one.clone());
            }
        }
        Some(ReaderSpan {
            skill_file: directive.file.clone(),
            skill_line: directive.line,
            skill_text: directive.text.clone(),
            subject: directive.subject.clone(),
            demand: directive.kind,
            example: directive.example,
            step: location.step,
            manner: location.manner.name(),
            file: location.file.clone(),
            trace_text: location.text.chars().take(300).collect(),
            weight: assessment.weight,
            // Files that are left were last changed at the end.
            after_opening: location.step == 0 || location.step > opened,
            followed_without: controls.iter().filter(followed).count(),
            checks: changed,
        })
    };
    let mut spans: Vec<ReaderSpan> =
        (0..directives.len().min(run.adherence.assessments.len())).filter_map(span).collect();
    spans.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.skill_line.cmp(&b.skill_line)));
    let task = &part.task.task;
    let named = |finding: &Finding| RunFinding {
        task: task.clone(),
        name: run.name.clone(),
        finding: finding.clone(),
    };
    Reader {
        task: task.clone(),
        skill: part.task.skill_name.clone(),
        name: run.name.clone(),
        trace: run.trace.clone(),
        opened_at: run.opened_at,
        adoption: run.adoption,
        adopted: run.adopted,
        best_placebo: run.other_skills.iter().copied().max_by(f64::total_cmp),
        spans,
        findings: findings.iter().map(named).collect(),
    }
}
