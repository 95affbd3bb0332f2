//! Two traces side by side, step against step, with the skill's line beside what shows it.
//!
//! Steps are aligned by what is done to what (an edit is a write), in order: the alignment with the most shared actions, and among
//! those with the most pairs of the same action on another target in the same phase. Phases know outcomes. Findings come from
//! [`crate::evidence`], with the run without the skill and the task's text as what has to be exceeded.

mod html;

use assay_trace::{OfferedSkill, Source, Trajectory, exposure};
use serde::Serialize;

use crate::behaviour::{Action, actions};
use crate::evidence::{Background, SkillText, TraceText, adoptions};

pub use html::html;

/// More actions of a run than these are not aligned: the table of the alignment grows with their product.
const ACTIONS: usize = 3000;

/// So many lines of the skill are shown, those that weigh most.
const FINDINGS: usize = 60;

/// So many places of a line.
const PLACES: usize = 5;

/// So many characters of a line or a target are kept.
const TEXT: usize = 300;

/// What a row of the view shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RowKind {
    /// Both runs do this to that.
    Shared,
    /// Both do this in the same phase, to another target.
    OtherTarget,
    /// Only the run with the skill.
    OnlyWith,
    /// Only the run without.
    OnlyWithout,
}

impl RowKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Shared, Self::OtherTarget, Self::OnlyWith, Self::OnlyWithout];

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::OtherTarget => "other target",
            Self::OnlyWith => "only with",
            Self::OnlyWithout => "only without",
        }
    }

    /// One character for a narrow column.
    pub fn mark(self) -> char {
        match self {
            Self::Shared => '=',
            Self::OtherTarget => '~',
            Self::OnlyWith => '+',
            Self::OnlyWithout => '-',
        }
    }
}

/// An action as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Shown {
    /// ATIF's `step_id`.
    pub step: usize,
    /// `read`, `search`, `write` or `run`.
    pub verb: &'static str,
    /// What it was done to.
    pub target: String,
    /// The phase, which uses outcomes.
    pub phase: &'static str,
    /// Whether it failed.
    pub failed: bool,
    /// Whether it checks what was made.
    pub check: bool,
}

/// A step of one run against a step of the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// What it shows.
    pub kind: RowKind,
    /// The run with the skill.
    pub with: Option<Shown>,
    /// The run without.
    pub without: Option<Shown>,
    /// Whether both write the file, and not the same into it.
    pub other_content: bool,
    /// Whether it fails in one of them only.
    pub other_outcome: bool,
}

/// A line of the skill that turns up in the run with it, and not in the run without nor in the task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// In the SKILL.md, from 1.
    pub skill_line: usize,
    /// Its text.
    pub skill_text: String,
    /// How much of it, weighed by how rare its words are.
    pub weight: f64,
    /// Where.
    pub places: Vec<FindingPlace>,
}

/// A place of the trace where a line of the skill turns up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FindingPlace {
    /// ATIF's `step_id`.
    pub step: usize,
    /// Whether it was said, thought, written or run.
    pub manner: &'static str,
    /// The line of the trace.
    pub text: String,
    /// Whether the skill had been opened by then; `None` where it never was.
    pub after_opening: Option<bool>,
}

/// What is known of one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Side {
    /// The file.
    pub trace: String,
    /// All steps.
    pub steps: usize,
    /// Actions among them.
    pub actions: usize,
    /// Actions that are not shown, because there are too many.
    pub left_out: usize,
    /// The first step that lists the skill.
    pub listed: Option<usize>,
    /// The first that touches it.
    pub touched: Option<usize>,
    /// The step by which it was opened.
    pub opened: Option<usize>,
}

/// Two runs side by side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct View {
    /// The skill.
    pub skill: String,
    /// The run with it.
    pub with: Side,
    /// The run without.
    pub without: Side,
    /// How much of the skill the run with it shows beyond the run without, in [0, 1].
    pub adoption: f64,
    /// Steps against steps, in order.
    pub rows: Vec<Row>,
    /// Lines of the skill, by the step where they first turn up.
    pub findings: Vec<Finding>,
}

/// Sets two runs side by side. The names are what the traces are called.
pub fn view(with: (&str, &Trajectory), without: (&str, &Trajectory), skill: &SkillText) -> View {
    let (ours, theirs) = (actions(with.1), actions(without.1));
    let (with_side, without_side) =
        (side(with.0, with.1, ours.len(), skill), side(without.0, without.1, theirs.len(), skill));
    let (ours, theirs) = (&ours[..ours.len().min(ACTIONS)], &theirs[..theirs.len().min(ACTIONS)]);
    let traces = [with.1, without.1].map(|trajectory| TraceText::new(trajectory, [skill]));
    let background = Background::new(prompt(with.1), skill, []);
    let adoption = adoptions(&traces, skill, &background).into_iter().next();
    let (score, spans) = adoption.map_or((0.0, Vec::new()), |adoption| (adoption.score, adoption.spans));
    let mut spans: Vec<_> =
        spans.into_iter().filter(|span| span.weight > 0.0 && !span.places.is_empty()).collect();
    spans.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.skill_line.cmp(&b.skill_line)));
    spans.truncate(FINDINGS);
    let mut findings: Vec<Finding> = spans
        .into_iter()
        .map(|span| Finding {
            skill_line: span.skill_line,
            skill_text: short(&span.skill_text),
            weight: span.weight,
            places: span
                .places
                .into_iter()
                .take(PLACES)
                .map(|place| FindingPlace {
                    step: place.step,
                    manner: place.manner.name(),
                    text: short(&place.text),
                    after_opening: with_side.opened.map(|opened| place.step >= opened),
                })
                .collect(),
        })
        .collect();
    findings.sort_by_key(|finding| (finding.places.first().map(|place| place.step), finding.skill_line));
    View {
        skill: skill.name.clone(),
        with: with_side,
        without: without_side,
        adoption: score,
        rows: align(ours, theirs),
        findings,
    }
}

fn side(name: &str, trajectory: &Trajectory, actions: usize, skill: &SkillText) -> Side {
    let offered = OfferedSkill {
        name: &skill.name,
        description: &skill.description,
        body: &skill.body,
        mount: "",
        files: &[],
    };
    let found = exposure(trajectory, &[offered]).into_iter().next();
    let at = |fact: fn(&assay_trace::Exposure) -> Option<usize>| found.as_ref().and_then(fact);
    Side {
        trace: name.to_owned(),
        steps: trajectory.steps.len(),
        actions,
        left_out: actions.saturating_sub(ACTIONS),
        listed: at(|found| found.advertised),
        touched: at(|found| found.touched),
        opened: at(|found| found.opened),
    }
}

/// The task, as the agent was given it.
fn prompt(trajectory: &Trajectory) -> &str {
    let asked = trajectory.steps.iter().find(|step| step.source == Source::User && !step.is_injected());
    asked.map(|step| step.message.as_str()).unwrap_or_default()
}

fn short(text: &str) -> String {
    let mut cut: String = text.chars().take(TEXT).collect();
    if text.chars().count() > TEXT {
        cut.push('…');
    }
    cut
}

/// What a pair of actions is worth: the same target outweighs any number of other ones within reach.
fn worth(a: &Action, b: &Action) -> u32 {
    if a.verb != b.verb {
        return 0;
    }
    if a.target == b.target {
        return 4;
    }
    u32::from(a.phase == b.phase && a.check == b.check)
}

/// The best alignment in order (Needleman and Wunsch, 1970, without a cost of gaps).
fn align(ours: &[Action], theirs: &[Action]) -> Vec<Row> {
    let (n, m) = (ours.len(), theirs.len());
    let width = m + 1;
    // best[i * width + j]: of the actions from i and from j on.
    let mut best = vec![0_u32; (n + 1) * width];
    for i in (0..n).rev() {
        for j in (0..m).rev() {
            let worth = worth(&ours[i], &theirs[j]);
            let pair = if worth > 0 { worth + best[(i + 1) * width + j + 1] } else { 0 };
            best[i * width + j] = pair.max(best[(i + 1) * width + j]).max(best[i * width + j + 1]);
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut rows = Vec::with_capacity(n.max(m));
    while i < n || j < m {
        let here = best[i * width + j];
        let paired = i < n && j < m && {
            let worth = worth(&ours[i], &theirs[j]);
            worth > 0 && here == worth + best[(i + 1) * width + j + 1]
        };
        if paired {
            rows.push(row(Some(&ours[i]), Some(&theirs[j])));
            (i, j) = (i + 1, j + 1);
        } else if i < n && (j == m || here == best[(i + 1) * width + j]) {
            rows.push(row(Some(&ours[i]), None));
            i += 1;
        } else {
            rows.push(row(None, Some(&theirs[j])));
            j += 1;
        }
    }
    rows
}

fn row(with: Option<&Action>, without: Option<&Action>) -> Row {
    let (kind, other_content, other_outcome) = match (with, without) {
        (Some(a), Some(b)) if a.target == b.target => {
            (RowKind::Shared, a.content != b.content, a.failed != b.failed)
        }
        (Some(a), Some(b)) => (RowKind::OtherTarget, false, a.failed != b.failed),
        (Some(_), None) => (RowKind::OnlyWith, false, false),
        (None, _) => (RowKind::OnlyWithout, false, false),
    };
    let shown = |action: &Action| Shown {
        step: action.step,
        verb: action.verb.name(),
        target: short(&action.target),
        phase: action.phase.name(),
        failed: action.failed,
        check: action.check,
    };
    Row { kind, with: with.map(shown), without: without.map(shown), other_content, other_outcome }
}

impl View {
    /// How many rows there are of a kind.
    pub fn count(&self, kind: RowKind) -> usize {
        self.rows.iter().filter(|row| row.kind == kind).count()
    }

    /// What of the skill turns up first at a step of the run with it.
    pub fn at(&self, step: usize) -> impl Iterator<Item = (&Finding, &FindingPlace)> {
        self.findings.iter().filter_map(move |finding| {
            let place = finding.places.first().filter(|place| place.step == step)?;
            Some((finding, place))
        })
    }

    /// Findings that stand at no action: what was said in a message that calls nothing, or in one whose call is none.
    pub fn elsewhere(&self) -> impl Iterator<Item = (&Finding, &FindingPlace)> {
        let shown: std::collections::BTreeSet<usize> =
            self.rows.iter().filter_map(|row| Some(row.with.as_ref()?.step)).collect();
        self.findings.iter().filter_map(move |finding| {
            let place = finding.places.first().filter(|place| !shown.contains(&place.step))?;
            Some((finding, place))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::behaviour::{Phase, Verb};

    fn action(step: usize, verb: Verb, target: &str) -> Action {
        let (target, content) = (target.to_owned(), String::new());
        Action { step, verb, target, failed: false, check: false, phase: Phase::Implementation, content }
    }

    /// The rows of two runs, written `r:file` for reads, `w:file` for writes and `x:command`.
    fn check(with: &[&str], without: &[&str], expected: &[&str]) {
        let made = |run: &[&str]| -> Vec<Action> {
            let one = |(at, text): (usize, &&str)| {
                let (verb, target) = text.split_once(':').unwrap();
                let verb = match verb {
                    "r" => Verb::Read,
                    "w" => Verb::Write,
                    _ => Verb::Run,
                };
                action(at + 1, verb, target)
            };
            run.iter().enumerate().map(one).collect()
        };
        let told = |side: &Option<Shown>| side.as_ref().map_or(String::new(), |shown| shown.target.clone());
        let rows: Vec<String> = align(&made(with), &made(without))
            .iter()
            .map(|row| format!("{}{}|{}", row.kind.mark(), told(&row.with), told(&row.without)))
            .collect();
        assert_eq!(rows, expected, "{with:?} against {without:?}");
    }

    #[test]
    fn steps_are_aligned_by_what_is_done_to_what() {
        check(&[], &[], &[]);
        check(&["r:a"], &[], &["+a|"]);
        check(&[], &["r:a"], &["-|a"]);
        check(&["r:a", "w:b"], &["r:a", "w:b"], &["=a|a", "=b|b"]);
        // The same action on another target of the same phase stands beside it.
        check(&["r:a", "w:b"], &["r:a", "w:c"], &["=a|a", "~b|c"]);
        // Actions of other kinds do not.
        check(&["r:a"], &["w:a"], &["+a|", "-|a"]);
        // A shared action outweighs two on other targets.
        check(&["w:a", "w:b", "w:c"], &["w:c"], &["+a|", "+b|", "=c|c"]);
        check(&["w:c"], &["w:a", "w:b", "w:c"], &["-|a", "-|b", "=c|c"]);
        check(&["x:ls", "r:a", "w:b"], &["r:a", "x:make", "w:b"], &["+ls|", "=a|a", "-|make", "=b|b"]);
    }

    #[test]
    fn long_runs_are_aligned_too() {
        let run: Vec<Action> = (0..ACTIONS).map(|step| action(step, Verb::Read, &step.to_string())).collect();
        let rows = align(&run, &run[1..]);
        assert_eq!(rows.iter().filter(|row| row.kind == RowKind::Shared).count(), ACTIONS - 1);
    }
}
