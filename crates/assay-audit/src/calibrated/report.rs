//! The adherence report: what the runs of an arm show of each directive of the skill.

use std::collections::BTreeMap;

use serde::Serialize;

use super::task::{ArmPairs, RunAudit, RunName, TaskAudit};
use crate::SCHEMA;
use crate::adherence::{Change, Location, Status, TestCheck, mattered};
use crate::directive::{Directive, Kind, Modality};

/// Longest text of a location, in characters.
const TEXT_CAP: usize = 300;

/// How a directive fared. The order is that of the report: what an author has to act on first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DirectiveFinding {
    /// A run to which it was delivered did what it forbids, or something else in its place.
    Violated,
    /// It was delivered and not followed, and checks of the verifier that share a literal, file or
    /// column with it fail there.
    NotFollowedChecksFail,
    /// Runs read the skill, and it was delivered to none of them.
    NeverDelivered,
    /// Some of the runs to which it was delivered followed it.
    PartlyFollowed,
    /// All of them did.
    Followed,
    /// The situation in which it applies did not arise.
    NotApplicable,
    /// No run shows whether it was followed.
    Unknown,
    /// No run opened the skill.
    NotOpened,
}

/// Why a line was not delivered, in runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Undelivered {
    /// The skill was not opened.
    pub not_opened: usize,
    /// No line of the file came.
    pub file_not_read: usize,
    /// Other lines of the file came: what was read, or the output of the tool, ended before this one
    /// or did not include it.
    pub cut: usize,
}

/// A check of the verifier that shares a literal, file or column with a directive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckOutcome {
    /// The task.
    pub task: String,
    /// Its name.
    pub check: String,
    /// Runs that did not follow the directive and fail it.
    pub failed: usize,
    /// Runs that did not follow the directive.
    pub not_followed: usize,
    /// Runs that followed the directive and pass it.
    pub passed: usize,
    /// Runs that followed the directive.
    pub followed: usize,
}

/// The location of a status, with the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunLocation {
    /// The task.
    pub task: String,
    /// Condition, repetition and trial.
    #[serde(flatten)]
    pub name: RunName,
    /// Step, manner, file and text.
    #[serde(flatten)]
    pub location: Location,
}

/// One directive over the runs of an arm that had the skill.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DirectiveReport {
    /// `assay.audit/2`.
    pub schema: &'static str,
    /// `directive`.
    pub kind: &'static str,
    /// The arm.
    pub arm: String,
    /// The condition of its runs.
    pub condition_name: String,
    /// The skill.
    pub skill: String,
    /// The tasks of the runs.
    pub tasks: Vec<String>,
    /// The file of the package.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// Its text.
    pub text: String,
    /// The part of the line that is checked.
    pub subject: String,
    /// What it demands.
    pub demand: Kind,
    /// Whether it demands or forbids.
    pub modality: Modality,
    /// Whether it comes from an example, which need not be followed.
    pub example: bool,
    /// The clause under which it applies.
    pub applies_when: Option<String>,
    /// How it fared.
    pub finding: DirectiveFinding,
    /// Runs with the skill; copies counted once.
    pub runs: usize,
    /// Runs with the skill that are copies of these, and are not counted.
    pub copies: usize,
    /// Runs that opened the skill.
    pub opened: usize,
    /// Runs to which it was delivered. The four counts below are of these.
    pub delivered: usize,
    /// Runs that followed it.
    pub followed: usize,
    /// Runs that violated it.
    pub violated: usize,
    /// Runs in which the situation did not arise.
    pub not_applicable: usize,
    /// Runs that do not show it.
    pub unknown: usize,
    /// Why it was not delivered to the others.
    pub undelivered: Undelivered,
    /// Runs without the skill that do what it demands.
    pub followed_without: usize,
    /// Runs without the skill.
    pub runs_without: usize,
    /// Its largest weight in a run with the skill.
    pub weight: f64,
    /// Checks that fail where it was not followed, and pass where it was.
    pub checks: Vec<CheckOutcome>,
    /// Checks that changed between runs that followed it and runs without the skill that did not.
    pub mattered: Vec<MatteredCheck>,
    /// An example of the status, `None` without one.
    pub example_location: Option<RunLocation>,
}

/// A check that changed with a directive.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct MatteredCheck {
    /// The task.
    pub task: String,
    /// The name of the check.
    pub check: String,
    /// How it changed.
    pub change: Change,
}

/// The runs of an arm on one task.
pub(super) struct Members<'a> {
    pub(super) task: &'a TaskAudit,
    pub(super) with: Vec<&'a RunAudit>,
    pub(super) without: Vec<&'a RunAudit>,
    /// Runs with the skill that are copies of others.
    copies: usize,
}

impl<'a> Members<'a> {
    pub(super) fn new(task: &'a TaskAudit, pairs: &ArmPairs) -> Self {
        let runs: Vec<&RunAudit> = pairs.runs.iter().map(|&at| &task.runs[at]).collect();
        let (with, without) = runs.into_iter().partition(|run| run.with);
        let is_copy = |run: &&RunAudit| run.arm == pairs.arm && run.with && run.copy_of.is_some();
        Self { task, with, without, copies: task.runs.iter().filter(is_copy).count() }
    }
}

/// The report of an arm: by skill, then what to act on first, then by line.
pub fn adherence_report(arm: &str, tasks: &[TaskAudit]) -> Vec<DirectiveReport> {
    let mut skills: BTreeMap<&str, Vec<Vec<Members<'_>>>> = BTreeMap::new();
    for task in tasks {
        let Some(pairs) = task.arms.iter().find(|pairs| pairs.arm == arm) else { continue };
        let members = Members::new(task, pairs);
        let groups = skills.entry(&task.skill_name).or_default();
        // Skills of one name may differ between tasks.
        match groups.iter_mut().find(|group| group[0].task.directives == task.directives) {
            Some(group) => group.push(members),
            None => groups.push(vec![members]),
        }
    }
    let mut reports = Vec::new();
    for group in skills.values().flatten() {
        let mut of_skill: Vec<DirectiveReport> =
            (0..group[0].task.directives.len()).map(|at| report(arm, group, at)).collect();
        of_skill.sort_by(|a, b| {
            let heavy = b.checks.len().cmp(&a.checks.len());
            a.finding.cmp(&b.finding).then(heavy).then(a.file.cmp(&b.file)).then(a.line.cmp(&b.line))
        });
        reports.extend(of_skill);
    }
    reports
}

fn report(arm: &str, group: &[Members<'_>], at: usize) -> DirectiveReport {
    let directive = &group[0].task.directives[at];
    let with = || group.iter().flat_map(|members| members.with.iter().map(move |run| (members.task, *run)));
    let without = || group.iter().flat_map(|members| members.without.iter());
    let delivered: Vec<(&TaskAudit, &RunAudit)> = with().filter(|(_, run)| is_delivered(run, at)).collect();
    let status = |run: &RunAudit| run.adherence.assessments.get(at).map(|found| found.status);
    let count =
        |status: Status| delivered.iter().filter(|(_, run)| self::status(run, at) == Some(status)).count();
    let (followed, violated) = (count(Status::Followed), count(Status::Violated));
    let checks: Vec<CheckOutcome> =
        group.iter().flat_map(|members| check_outcomes(members, directive, at)).collect();
    let runs = with().count();
    let undelivered = undelivered(with().map(|(_, run)| run), &group[0].task.directives, at);
    let finding = if violated > 0 {
        DirectiveFinding::Violated
    } else if !checks.is_empty() {
        DirectiveFinding::NotFollowedChecksFail
    } else if undelivered.not_opened == runs {
        DirectiveFinding::NotOpened
    } else if delivered.is_empty() {
        DirectiveFinding::NeverDelivered
    } else if followed == delivered.len() {
        DirectiveFinding::Followed
    } else if followed > 0 {
        DirectiveFinding::PartlyFollowed
    } else if count(Status::NotApplicable) == delivered.len() {
        DirectiveFinding::NotApplicable
    } else {
        DirectiveFinding::Unknown
    };
    let shown = if violated > 0 { Status::Violated } else { Status::Followed };
    let example = delivered.iter().find(|(_, run)| status(run) == Some(shown));
    DirectiveReport {
        schema: SCHEMA,
        kind: "directive",
        arm: arm.to_owned(),
        condition_name: with().next().map(|(_, run)| run.name.condition_name.clone()).unwrap_or_default(),
        skill: group[0].task.skill_name.clone(),
        tasks: group.iter().map(|members| members.task.task.clone()).collect(),
        file: directive.file.clone(),
        line: directive.line,
        text: directive.text.clone(),
        subject: directive.subject.clone(),
        demand: directive.kind,
        modality: directive.modality,
        example: directive.example,
        applies_when: directive.condition.clone(),
        finding,
        runs,
        copies: group.iter().map(|members| members.copies).sum(),
        opened: with().filter(|(_, run)| run.exposure.opened).count(),
        delivered: delivered.len(),
        followed,
        violated,
        not_applicable: count(Status::NotApplicable),
        unknown: count(Status::Unknown),
        undelivered,
        followed_without: without().filter(|run| status(run) == Some(Status::Followed)).count(),
        runs_without: without().count(),
        weight: with()
            .filter_map(|(_, run)| Some(run.adherence.assessments.get(at)?.weight))
            .fold(0.0, f64::max),
        checks,
        mattered: changed_checks(group, directive, at),
        example_location: example.and_then(|(task, run)| location(task, run, at)),
    }
}

fn status(run: &RunAudit, at: usize) -> Option<Status> {
    run.adherence.assessments.get(at).map(|found| found.status)
}

fn is_delivered(run: &RunAudit, at: usize) -> bool {
    run.adherence.deliveries.get(at).is_some_and(Option::is_some)
}

fn location(task: &TaskAudit, run: &RunAudit, at: usize) -> Option<RunLocation> {
    let mut location = run.adherence.assessments.get(at)?.place.clone()?;
    location.text = location.text.chars().take(TEXT_CAP).collect();
    Some(RunLocation { task: task.task.clone(), name: run.name.clone(), location })
}

fn undelivered<'a>(
    runs: impl Iterator<Item = &'a RunAudit>,
    directives: &[Directive],
    at: usize,
) -> Undelivered {
    let mut counts = Undelivered::default();
    for run in runs.filter(|run| !is_delivered(run, at)) {
        let same_file = |other: usize| directives[other].file == directives[at].file;
        let came = (0..directives.len()).any(|other| same_file(other) && is_delivered(run, other));
        if came {
            counts.cut += 1;
        } else if run.exposure.opened {
            counts.file_not_read += 1;
        } else {
            counts.not_opened += 1;
        }
    }
    counts
}

/// Checks that fail where the directive was delivered and not followed, and that no run which
/// followed it fails. Only those that share a literal, file or column with it: others have their own
/// reasons.
fn check_outcomes(members: &Members<'_>, directive: &Directive, at: usize) -> Vec<CheckOutcome> {
    let of = |wanted: &[Status]| -> Vec<&RunAudit> {
        let runs = members.with.iter().copied().filter(|run| is_delivered(run, at));
        runs.filter(|run| status(run, at).is_some_and(|status| wanted.contains(&status))).collect()
    };
    // That a run does not show a prohibition, or did not use an example, is no failure to follow it.
    let counts_unknown = directive.modality == Modality::Required && !directive.example;
    let not_followed =
        of(if counts_unknown { &[Status::Violated, Status::Unknown] } else { &[Status::Violated] });
    let followed = of(&[Status::Followed]);
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for run in &not_followed {
        for check in failing_checks(directive, &run.checks) {
            *found.entry(check).or_default() += 1;
        }
    }
    let outcome = |(check, failed): (String, usize)| {
        let has = |run: &&RunAudit, passed: bool| {
            run.checks.iter().any(|other| other.name == check && other.passed == Some(passed))
        };
        if followed.iter().any(|run| has(run, false)) {
            return None;
        }
        Some(CheckOutcome {
            task: members.task.task.clone(),
            failed,
            not_followed: not_followed.len(),
            passed: followed.iter().filter(|run| has(run, true)).count(),
            followed: followed.len(),
            check,
        })
    };
    found.into_iter().filter_map(outcome).collect()
}

/// The failing checks of a run that share a literal, file or column with a directive.
fn failing_checks(directive: &Directive, checks: &[TestCheck]) -> Vec<String> {
    // As if another run had passed them all.
    let passed: Vec<TestCheck> = checks
        .iter()
        .map(|check| TestCheck { passed: Some(true), message: String::new(), ..check.clone() })
        .collect();
    let shared = mattered(std::slice::from_ref(directive), &passed, checks);
    shared
        .into_iter()
        .flatten()
        .filter(|found| found.change == Change::Gained)
        .map(|found| found.check)
        .collect()
}

/// Checks that changed between a run that followed the directive and one without the skill that did
/// not, and share a literal, file or column with it.
fn changed_checks(group: &[Members<'_>], directive: &Directive, at: usize) -> Vec<MatteredCheck> {
    let mut found = Vec::new();
    for members in group {
        let followed = members.with.iter().filter(|run| status(run, at) == Some(Status::Followed));
        for run in followed {
            let others = members.without.iter().filter(|run| status(run, at) != Some(Status::Followed));
            for other in others {
                let shared = mattered(std::slice::from_ref(directive), &run.checks, &other.checks);
                found.extend(shared.into_iter().flatten().map(|shared| MatteredCheck {
                    task: members.task.task.clone(),
                    check: shared.check,
                    change: shared.change,
                }));
            }
        }
    }
    found.sort();
    found.dedup();
    found
}
