//! Two runs of a task side by side: outcome and checks of the verifier, the skill's directives with
//! their status in both runs, and the aligned steps.
//!
//! Statuses are those of [`crate::adherence`], the findings are those of [`crate::calibrated`] for
//! this one pair, without a null: a single pair cannot show an effect beyond chance.

mod align;
mod passage;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use assay_trace::{Source, Step, Trajectory, carries};
use serde::Serialize;

use self::align::{Key, Row, align};
pub use self::passage::Passage;
use crate::Exposed;
use crate::adherence::{Assessment, Change, Delivery, DirectiveCounts, Location, Mattered, Status, mattered};
use crate::behaviour::{Action, DifferenceKind, Phase, actions, differences};
use crate::calibrated::{Finding, Run, RunAudit, RunName, TaskAudit, TaskRuns, audit_own};
use crate::directive::{Directive, Kind, Modality};
use crate::evidence::{Manner, SkillText};

/// The schema of a view.
pub const SCHEMA: &str = "assay.audit-show/2";

/// Two runs side by side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct View {
    /// `assay.audit-show/2`.
    pub schema: &'static str,
    /// The task; the name of the skill's folder if it is not known.
    pub task: String,
    /// The skill, and where its lines were followed or violated.
    pub skill: Skill,
    /// The run with it.
    pub with: Side,
    /// The run without it.
    pub without: Side,
    /// Whether both ran and wrote the same.
    pub identical: bool,
    /// The checks of the verifier in both runs, those that changed first.
    pub checks: Vec<CheckRow>,
    /// The directives of the skill with their status in both runs, those that differ first.
    pub directives: Vec<DirectiveRow>,
    /// Rows of each kind.
    pub counts: BTreeMap<&'static str, usize>,
    /// The steps, aligned.
    pub rows: Vec<Aligned>,
    /// Findings of no single step.
    pub findings: Vec<Finding>,
}

/// The skill.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Skill {
    /// Its name.
    pub name: String,
    /// Its instructions, line by line, blank ones too.
    pub lines: Vec<Line>,
}

/// A line of a skill's body.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// In the SKILL.md, from 1.
    pub line: usize,
    /// Its text.
    pub text: String,
    /// Where the run with the skill followed or violated it, in the order of the trace.
    pub places: Vec<Occurrence>,
}

/// A check of the verifier in both runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckRow {
    /// Its name.
    pub check: String,
    /// Whether it passed in the run with the skill; `None` if it was skipped or is missing there.
    pub with: Option<bool>,
    /// The same for the run without.
    pub without: Option<bool>,
    /// How it changed; `None` if it did not.
    pub change: Option<Change>,
    /// Its message in the run that failed; empty without one.
    pub message: String,
}

/// A directive in both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DirectiveRow {
    /// The file of the skill.
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
    /// Whether it comes from an example.
    pub example: bool,
    /// The clause under which it applies.
    pub applies_when: Option<String>,
    /// How it reached the run with the skill; `None` if it did not.
    pub delivered: Option<Delivery>,
    /// Its status in the run with the skill.
    pub with: Shown,
    /// Its status in the run without.
    pub without: Shown,
    /// Its weight in the score of the run with the skill.
    pub weight: f64,
    /// Checks that changed and share a literal, file or column with it.
    pub checks: Vec<Mattered>,
}

/// The status of a directive in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Shown {
    /// The status.
    pub status: Status,
    /// What shows it.
    pub location: Option<Location>,
}

/// Where a line of the skill was followed or violated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Occurrence {
    /// ATIF's `step_id`; 0 for the files that the run left.
    pub step: usize,
    /// Followed or violated.
    pub status: Status,
    /// `said`, `wrote`, `printed` or `ran`.
    pub manner: &'static str,
    /// Before or after the skill was opened.
    pub when: OpeningOrder,
    /// The line of the trace.
    pub text: String,
}

/// Whether a step is before or after the opening of the skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OpeningOrder {
    /// Before: it cannot come from the skill.
    Before,
    /// After.
    After,
    /// The skill was never opened: nothing is attributed to it.
    Unread,
}

impl OpeningOrder {
    /// In the words of a report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Before => "before the skill was opened",
            Self::After => "after the skill was opened",
            Self::Unread => "the skill was not opened",
        }
    }
}

/// One of the two runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Side {
    /// Its trace.
    pub trace: String,
    /// Condition, repetition and trial.
    #[serde(flatten)]
    pub name: RunName,
    /// The outcome, such as `passed`; `None` if unknown.
    pub outcome: Option<String>,
    /// Its steps.
    pub steps: usize,
    /// All four kinds of tokens, once a message.
    pub tokens: u64,
    /// Its exposure to the skill.
    pub exposure: Exposed,
    /// The step in which the skill had been read.
    pub opened_at: Option<usize>,
    /// The adoption score, against the other run alone; `None` where nothing of the skill can be adopted measurably.
    pub adoption: Option<f64>,
    /// How many directives have which status.
    pub directives: DirectiveCounts,
}

/// The relation of the two sides of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RowKind {
    /// Both do this to that.
    Shared,
    /// Only the run with the skill.
    OnlyWith,
    /// Only the run without it.
    OnlyWithout,
    /// Both do this, to different things.
    OtherTarget,
}

impl RowKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Shared, Self::OnlyWith, Self::OnlyWithout, Self::OtherTarget];

    /// The name it has in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::OnlyWith => "only_with",
            Self::OnlyWithout => "only_without",
            Self::OtherTarget => "other_target",
        }
    }

    /// A one-character sign.
    pub fn sign(self) -> char {
        match self {
            Self::Shared => '=',
            Self::OnlyWith => '+',
            Self::OnlyWithout => '−',
            Self::OtherTarget => '≠',
        }
    }
}

/// A row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Aligned {
    /// The relation of its sides.
    pub kind: RowKind,
    /// Differences of a shared act: `outcome`, `content`, `words`.
    pub differs: Vec<&'static str>,
    /// The run with the skill.
    pub with: Option<Cell>,
    /// The run without it.
    pub without: Option<Cell>,
}

/// A call, or a message without one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// ATIF's `step_id`.
    pub step: usize,
    /// `read`, `search`, `write` or `run`; `call` for other tools, `message` for one of the agent,
    /// `prompt` for one to it, and `injected` for one by its harness.
    pub act: &'static str,
    /// The target; the tool's name for `call`, empty for messages.
    pub target: String,
    /// Its phase.
    pub phase: &'static str,
    /// Whether it is reported as failed.
    pub failed: bool,
    /// Whether it is a check.
    pub check: bool,
    /// Whether the skill had been read with it.
    pub opened: bool,
    /// Reasoning before it.
    pub thought: Passage,
    /// What was said before it.
    pub said: Passage,
    /// The tool's name; empty for messages.
    pub tool: String,
    /// The arguments without the target, by name.
    pub input: Vec<(String, Passage)>,
    /// Its result.
    pub output: Passage,
    /// The directives that are followed or violated here, the heaviest first.
    pub evidence: Vec<Evidence>,
    /// Findings at this step.
    pub findings: Vec<Finding>,
}

/// A directive that is followed or violated in a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evidence {
    /// The file of the skill.
    pub skill_file: String,
    /// The line in it, from 1.
    pub skill_line: usize,
    /// Its text.
    pub skill_text: String,
    /// Followed or violated.
    pub status: Status,
    /// `said`, `wrote`, `printed` or `ran`.
    pub manner: &'static str,
    /// The text in the trace.
    pub trace_text: String,
    /// Its weight in the score.
    pub weight: f64,
    /// Before or after the skill was opened.
    pub when: OpeningOrder,
}

/// Two runs as the runs of a task. `skill_name` is the name of the skill's folder; `prompt` is the task's text, empty
/// if unknown.
pub fn pair_runs<'a>(
    task: &str,
    skill_name: &str,
    prompt: &str,
    skill: &'a SkillText,
    [with, without]: [Run; 2],
) -> TaskRuns<'a> {
    let runs =
        [(with, true), (without, false)].map(|(run, with)| Run { with, arm: String::new(), ..run }).into();
    TaskRuns {
        task: task.to_owned(),
        skill_name: skill_name.to_owned(),
        prompt: prompt.to_owned(),
        skill,
        runs,
        baseline: None,
    }
}

/// Aligns two runs, by themselves: see [`pair_runs`] and [`view_pair`].
pub fn view(task: &str, skill_name: &str, prompt: &str, skill: &SkillText, with: Run, without: Run) -> View {
    let task = pair_runs(task, skill_name, prompt, skill, [with, without]);
    view_pair(&task, &audit_own(&task, &[]))
}

/// Aligns the two runs of [`pair_runs`], of which an audit found this.
pub fn view_pair(task: &TaskRuns<'_>, found: &TaskAudit) -> View {
    let skill = task.skill;
    let sides: Vec<Side> = found
        .runs
        .iter()
        .zip(&task.runs)
        .map(|(audit, run)| Side {
            trace: run.trace.clone(),
            name: run.name.clone(),
            outcome: run.outcome.clone(),
            steps: run.trajectory.steps.len(),
            tokens: run.tokens,
            exposure: audit.exposure,
            opened_at: audit.opened_at,
            adoption: audit.adoption,
            directives: audit.adherence.counts(),
        })
        .collect();
    let acts: Vec<Vec<Action>> = task.runs.iter().map(|run| actions(&run.trajectory)).collect();
    let mut cells: Vec<Vec<Cell>> = task
        .runs
        .iter()
        .zip(&acts)
        .zip(&sides)
        .map(|((run, acts), side)| self::cells(&run.trajectory, acts, side.opened_at, skill))
        .collect();
    let opened_at = sides[0].opened_at;
    let mut lines = lines(skill);
    for (directive, assessment) in skill.directives.iter().zip(&found.runs[0].adherence.assessments) {
        let Some(location) = assessment.place.as_ref() else { continue };
        let evidence = Evidence {
            skill_file: directive.file.clone(),
            skill_line: directive.line,
            skill_text: passage::line(&directive.text),
            status: assessment.status,
            manner: location.manner.name(),
            trace_text: passage::line(&location.text),
            weight: assessment.weight,
            when: when(location.step, opened_at),
        };
        let of_body = directive.file == "SKILL.md";
        if let Some(line) = lines.iter_mut().find(|line| of_body && line.line == directive.line) {
            line.places.push(Occurrence {
                step: location.step,
                status: assessment.status,
                manner: evidence.manner,
                when: evidence.when,
                text: evidence.trace_text.clone(),
            });
        }
        if let Some(cell) = cell_of(&mut cells[0], location.step, location.manner, &location.text) {
            cell.evidence.push(evidence);
        }
    }
    for cell in &mut cells[0] {
        cell.evidence.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.skill_line.cmp(&b.skill_line)));
    }
    let pair = found.arms.first().and_then(|arm| arm.pairs.first());
    let mut findings = Vec::new();
    for finding in pair.map(|pair| pair.findings.clone()).unwrap_or_default() {
        match cell_of(&mut cells[0], finding.step, Manner::Wrote, &finding.trace_text) {
            Some(cell) => cell.findings.push(finding),
            None => findings.push(finding),
        }
    }
    let rows = rows(cells, &acts);
    let mut counts: BTreeMap<&'static str, usize> = RowKind::ALL.map(|kind| (kind.name(), 0)).into();
    for row in &rows {
        *counts.entry(row.kind.name()).or_default() += 1;
    }
    let directives = directive_rows(&skill.directives, &found.runs[0], &found.runs[1]);
    let checks = check_rows(&found.runs[0], &found.runs[1]);
    let [with, without] = <[Side; 2]>::try_from(sides).expect("there are two runs");
    let skill = Skill { name: skill.name.clone(), lines };
    View {
        schema: SCHEMA,
        task: task.task.clone(),
        skill,
        with,
        without,
        identical: found.runs[1].original == 0,
        checks,
        directives,
        counts,
        rows,
        findings,
    }
}

/// Checks by name: changed ones, then failed ones, then the others.
fn check_rows(with: &RunAudit, without: &RunAudit) -> Vec<CheckRow> {
    let mut names: Vec<&str> = Vec::new();
    for check in with.checks.iter().chain(&without.checks) {
        if !names.contains(&check.name.as_str()) {
            names.push(&check.name);
        }
    }
    let mut rows: Vec<CheckRow> = names
        .into_iter()
        .map(|name| {
            let find = |run: &RunAudit| run.checks.iter().find(|check| check.name == name).cloned();
            let (one, other) = (find(with), find(without));
            let passed =
                |check: &Option<crate::adherence::TestCheck>| check.as_ref().and_then(|check| check.passed);
            let (with, without) = (passed(&one), passed(&other));
            let change = match (with, without) {
                (Some(true), Some(false)) => Some(Change::Gained),
                (Some(false), Some(true)) => Some(Change::Lost),
                _ => None,
            };
            let failed = if with == Some(false) { one } else { other.filter(|_| without == Some(false)) };
            let message = failed.map(|check| passage::line(check.message.trim())).unwrap_or_default();
            CheckRow { check: passage::line(name), with, without, change, message }
        })
        .collect();
    rows.sort_by_key(|row| (row.change.is_none(), row.with != Some(false) && row.without != Some(false)));
    rows
}

/// Directives: those whose status differs, the heaviest first; then those that were violated, then
/// the others, by line.
fn directive_rows(directives: &[Directive], with: &RunAudit, without: &RunAudit) -> Vec<DirectiveRow> {
    let checks = mattered(directives, &with.checks, &without.checks);
    let shown = |assessment: &Assessment| Shown {
        status: assessment.status,
        location: assessment
            .place
            .clone()
            .map(|location| Location { text: passage::line(&location.text), ..location }),
    };
    let both = with.adherence.assessments.iter().zip(&without.adherence.assessments);
    let mut rows: Vec<DirectiveRow> = directives
        .iter()
        .zip(both)
        .zip(checks)
        .enumerate()
        .map(|(at, ((directive, (one, other)), checks))| DirectiveRow {
            file: directive.file.clone(),
            line: directive.line,
            text: passage::line(&directive.text),
            subject: passage::line(&directive.subject),
            demand: directive.kind,
            modality: directive.modality,
            example: directive.example,
            applies_when: directive.condition.clone(),
            delivered: with.adherence.deliveries.get(at).copied().flatten(),
            with: shown(one),
            without: shown(other),
            weight: one.weight,
            checks,
        })
        .collect();
    rows.sort_by(|a, b| {
        let rank = |row: &DirectiveRow| {
            let violated = row.with.status == Status::Violated || row.without.status == Status::Violated;
            (row.with.status == row.without.status, !violated)
        };
        rank(a)
            .cmp(&rank(b))
            .then(b.weight.total_cmp(&a.weight))
            .then((a.file != "SKILL.md").cmp(&(b.file != "SKILL.md")))
            .then(a.file.cmp(&b.file))
            .then(a.line.cmp(&b.line))
    });
    rows
}

fn when(step: usize, opened_at: Option<usize>) -> OpeningOrder {
    opened_at.map_or(OpeningOrder::Unread, |opened| {
        if step == 0 || step > opened { OpeningOrder::After } else { OpeningOrder::Before }
    })
}

fn lines(skill: &SkillText) -> Vec<Line> {
    let texts = skill.body.lines().enumerate();
    texts
        .map(|(at, text)| Line { line: skill.before + at + 1, text: passage::line(text), places: Vec::new() })
        .collect()
}

/// The cell of a step that contains a text; the first cell of the step if that is unclear.
fn cell_of<'a>(cells: &'a mut [Cell], step: usize, manner: Manner, text: &str) -> Option<&'a mut Cell> {
    let from = cells.partition_point(|cell| cell.step < step);
    let to = cells.partition_point(|cell| cell.step <= step);
    let among = &mut cells[from..to];
    let holds = |cell: &Cell| {
        cell.target.contains(text) || cell.input.iter().any(|(_, passage)| passage.text.contains(text))
    };
    let at = if manner >= Manner::Wrote { among.iter().position(holds) } else { None };
    among.get_mut(at.unwrap_or_default())
}

/// A trace as cells: each call is one, with what was said before it; and each message without a
/// call.
fn cells(trajectory: &Trajectory, acts: &[Action], opened_at: Option<usize>, skill: &SkillText) -> Vec<Cell> {
    let acts: BTreeMap<(usize, usize), &Action> =
        acts.iter().map(|act| ((act.step, act.call), act)).collect();
    let mut phase = Phase::Orientation.name();
    let mut cells: Vec<Cell> = Vec::new();
    for step in &trajectory.steps {
        let first = cells.len();
        if step.tool_calls.is_empty() {
            cells.push(message(step, phase));
        }
        for at in 0..step.tool_calls.len() {
            let cell = call(step, at, acts.get(&(step.step_id, at)).copied(), phase);
            phase = cell.phase;
            cells.push(cell);
        }
        let here = &mut cells[first..];
        here[0].thought = Passage::of(step.reasoning_content.as_deref().unwrap_or_default());
        if step.source == Source::Agent {
            here[0].said = Passage::of(&step.message);
        }
        if opened_at == Some(step.step_id) {
            let result = |at: usize| {
                let call = step.tool_calls.get(at)?;
                step.result_of(&call.tool_call_id)?.content.as_deref()
            };
            let carrier =
                (0..here.len()).find(|&at| result(at).is_some_and(|text| carries(text, &skill.body)));
            here[carrier.unwrap_or_default()].opened = true;
        }
    }
    cells
}

fn cell(step: &Step, act: &'static str, phase: &'static str) -> Cell {
    Cell {
        step: step.step_id,
        act,
        target: String::new(),
        phase,
        failed: false,
        check: false,
        opened: false,
        thought: Passage::default(),
        said: Passage::default(),
        tool: String::new(),
        input: Vec::new(),
        output: Passage::default(),
        evidence: Vec::new(),
        findings: Vec::new(),
    }
}

/// Messages to the agent are output of the cell, as tool results are; its own are in `said`.
fn message(step: &Step, phase: &'static str) -> Cell {
    let act = match step.source {
        Source::Agent => "message",
        _ if step.is_injected() => "injected",
        _ => "prompt",
    };
    let mut cell = cell(step, act, phase);
    if step.source != Source::Agent {
        cell.output = Passage::of(&step.message);
    }
    cell
}

fn call(step: &Step, at: usize, action: Option<&Action>, phase: &'static str) -> Cell {
    let call = &step.tool_calls[at];
    let mut cell = cell(step, "call", phase);
    cell.tool.clone_from(&call.function_name);
    cell.input = passage::arguments(&call.arguments);
    if let Some(action) = action {
        cell.act = action.verb.name();
        cell.target = passage::line(&action.target);
        (cell.phase, cell.failed, cell.check) = (action.phase.name(), action.failed, action.check);
        // The target is not repeated.
        cell.input.retain(|(_, passage)| passage.text.trim_start_matches("./") != cell.target);
    } else {
        let skill = call.arguments.get("skill").and_then(serde_json::Value::as_str);
        let name = [Some(call.function_name.as_str()), skill];
        cell.target = passage::line(&name.into_iter().flatten().collect::<Vec<_>>().join(" "));
    }
    if let Some(result) = step.result_of(&call.tool_call_id) {
        cell.output = Passage::of(result.content.as_deref().unwrap_or_default());
        cell.failed |= result.failed() == Some(true);
    }
    cell
}

fn rows(cells: Vec<Vec<Cell>>, acts: &[Vec<Action>]) -> Vec<Aligned> {
    let content: BTreeSet<String> = differences(&acts[0], &acts[1])
        .into_iter()
        .filter(|difference| difference.kind == DifferenceKind::Content)
        .map(|difference| passage::line(&difference.target))
        .collect();
    // Messages are compared by how they begin.
    let key = |cell: &Cell| {
        let words = if cell.said.is_empty() { &cell.output } else { &cell.said };
        let target = if cell.tool.is_empty() { passage::line(&words.text) } else { cell.target.clone() };
        Key { act: cell.act, target, phase: cell.phase }
    };
    let keys: Vec<Vec<Key>> = cells.iter().map(|cells| cells.iter().map(key).collect()).collect();
    let mut sides: Vec<Vec<Option<Cell>>> =
        cells.into_iter().map(|cells| cells.into_iter().map(Some).collect()).collect();
    let mut made = Vec::new();
    for row in align(&keys[0], &keys[1]) {
        let mut take = |side: usize, at: usize| sides[side][at].take();
        let (kind, with, without) = match row {
            Row::Shared(a, b) => (RowKind::Shared, take(0, a), take(1, b)),
            Row::Other(a, b) => (RowKind::OtherTarget, take(0, a), take(1, b)),
            Row::First(a) => (RowKind::OnlyWith, take(0, a), None),
            Row::Second(b) => (RowKind::OnlyWithout, None, take(1, b)),
        };
        let differs = match (&with, &without) {
            (Some(one), Some(other)) if kind == RowKind::Shared => differs(one, other, &content),
            _ => Vec::new(),
        };
        made.push(Aligned { kind, differs, with, without });
    }
    made
}

fn differs(one: &Cell, other: &Cell, content: &BTreeSet<String>) -> Vec<&'static str> {
    let words = one.tool.is_empty() && (&one.said, &one.output) != (&other.said, &other.output);
    let found = [
        (one.failed != other.failed, "outcome"),
        (one.act == "write" && content.contains(&one.target), "content"),
        (words, "words"),
    ];
    found.into_iter().filter(|(differs, _)| *differs).map(|(_, name)| name).collect()
}
