//! The headline of an arm: one sentence from the primary test, and the directives it is based on.

use std::cmp::Reverse;

use serde::Serialize;

use super::null::{Excess, LEVEL};
use super::reader::{Reader, ReaderSpan};
use super::task::RunName;
use crate::adherence::Change;
use crate::directive::Kind;
use crate::evidence::Manner;

/// Directives shown as evidence.
const SHOWN: usize = 3;

/// Longest line of a skill in the sentence, in characters.
const QUOTE_CAP: usize = 90;

/// A directive that a run followed, as evidence of the headline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evidence {
    /// The task.
    pub task: String,
    /// The skill.
    pub skill: String,
    /// Condition, repetition and trial.
    #[serde(flatten)]
    pub name: RunName,
    /// The directive, and where it was followed.
    #[serde(flatten)]
    pub span: ReaderSpan,
}

/// What a headline is made of.
pub(super) struct Basis<'a> {
    /// The condition, or the arm where conditions are not named.
    pub(super) subject: String,
    pub(super) runs_with: usize,
    pub(super) runs_without: usize,
    pub(super) opened: usize,
    pub(super) contaminated: usize,
    /// Runs that opened the skill, reach the threshold, and followed a directive that no run of the
    /// task without the skill follows.
    pub(super) exclusive: usize,
    /// Runs that opened the skill and reach the threshold.
    pub(super) adopted: usize,
    /// Runs that opened the skill, of tasks in which a score can be more than 0.
    pub(super) measured: usize,
    /// Runs that opened the skill, of tasks in which a run can reach the threshold.
    pub(super) decided: usize,
    pub(super) adoption: Option<&'a Excess>,
    pub(super) evidence: &'a [Evidence],
}

/// The three directives that carry most, of different tasks if possible: by weight, those that
/// changed a check first.
pub(super) fn evidence(readers: &[Reader]) -> Vec<Evidence> {
    let mut all: Vec<Evidence> = Vec::new();
    for reader in readers {
        for span in reader.spans.iter().filter(|span| span.after_opening) {
            all.push(Evidence {
                task: reader.task.clone(),
                skill: reader.skill.clone(),
                name: reader.name.clone(),
                span: span.clone(),
            });
        }
    }
    let rank = |one: &Evidence| {
        let gained = one.span.checks.iter().any(|check| check.change == Change::Gained);
        // Showing a file is no clear sign of having written it.
        let is_act = matches!(one.span.demand, Kind::Command | Kind::Flag | Kind::Script | Kind::Order);
        let clear = is_act == (one.span.manner == Manner::Ran.name());
        Reverse((gained, clear, !one.span.example, one.span.subject.chars().count()))
    };
    // Weights of nearly one are all alike.
    let weight = |one: &Evidence| (one.span.weight * 10.0).round();
    all.sort_by(|a, b| {
        let exclusive = |one: &Evidence| one.span.followed_without == 0;
        exclusive(b)
            .cmp(&exclusive(a))
            .then(weight(b).total_cmp(&weight(a)))
            .then_with(|| rank(a).cmp(&rank(b)))
    });
    let mut chosen: Vec<Evidence> = Vec::new();
    for distinct in [true, false] {
        for one in &all {
            let known = chosen.iter().any(|other| {
                (distinct && other.task == one.task)
                    || (other.span.skill_line == one.span.skill_line
                        && other.span.subject == one.span.subject)
            });
            if chosen.len() < SHOWN && !known {
                chosen.push(one.clone());
            }
        }
    }
    chosen
}

/// The sentence.
pub(super) fn sentence(basis: &Basis<'_>) -> String {
    let Basis { subject, runs_with, opened, exclusive, adopted, .. } = basis;
    if *runs_with == 0 {
        return format!("{subject}: there is no run with the skill.");
    }
    if *opened == 0 {
        let none = match runs_with {
            1 => "the one run with the skill did not open it".to_owned(),
            _ => format!("none of the {runs_with} runs with the skill opened it"),
        };
        return format!("{subject}: {none}, so nothing is attributed to it.");
    }
    if basis.measured == 0 {
        return format!(
            "{subject}: adoption cannot be measured: what the skill demands is common or already in the task, so that following \
             it does not show that a run used the skill."
        );
    }
    let Some(excess) = basis.adoption else {
        let reason = if basis.runs_without == 0 {
            "there is no run without the skill"
        } else {
            "no task has runs with and without the skill"
        };
        return format!("{subject}: adoption cannot be compared with chance, because {reason}.");
    };
    let scores = format!("mean adoption {} against {}", share(excess.treatment), share(excess.null));
    let decided = basis.decided;
    let what = if decided == 0 {
        "a single run cannot show adoption, because the skill demands too little that is not common or in the task".to_owned()
    } else if *exclusive > 0 {
        let count = share_of_runs(*exclusive, decided);
        format!("{count}, the agent followed directives that no run of the task without it follows")
    } else if *adopted > 0 {
        let count = share_of_runs(*adopted, decided);
        format!("{count}, the agent followed directives that few runs of the task without it follow")
    } else if decided == 1 {
        "the one run that opened the skill shows no adoption".to_owned()
    } else {
        format!("none of the {decided} runs that opened the skill shows adoption")
    };
    let significant = excess.p <= LEVEL && excess.excess > 0.0;
    let mut text = if significant && *adopted > 0 {
        format!("{subject} changed what the agent did: {what} ({scores}, {})", p_value(excess.p))
    } else if significant && decided == 0 {
        format!(
            "{subject}: {what}; together the runs with the skill differ from those without it ({scores}, {})",
            p_value(excess.p)
        )
    } else if significant {
        format!(
            "{subject}: a single run does not show adoption, but together the runs with the skill follow more of what is \
             specific to it than those without ({scores}, {})",
            p_value(excess.p)
        )
    } else if excess.smallest_p > LEVEL {
        format!(
            "{subject}: {what} ({scores}); with {} no p below {} is possible, so this cannot be distinguished from chance",
            if excess.tasks == 1 {
                "one task and so few runs".to_owned()
            } else {
                format!("{} tasks and so few runs", excess.tasks)
            },
            bare(excess.smallest_p)
        )
    } else if *adopted > 0 {
        format!("{subject}: {what}, but the difference is within chance ({scores}, {})", p_value(excess.p))
    } else {
        format!("{subject}: {what} ({scores}, {})", p_value(excess.p))
    };
    if *adopted > 0
        && let Some(first) = basis.evidence.first()
    {
        text.push_str(&format!("; e.g. {}, “{}”", line_of(first), quote(&first.span.skill_text)));
    }
    text.push('.');
    if decided > 0 && decided < *opened {
        let left = *opened - decided;
        text.push_str(&format!(
            " {left} more opened it in tasks in which no run can show adoption: what the skill demands there is common or in the \
             task."
        ));
    }
    match basis.contaminated {
        0 => {}
        1 => text.push_str(" One run without the skill opened it as well."),
        n => text.push_str(&format!(" {n} runs without the skill opened it as well.")),
    }
    text
}

/// So many of the runs that opened the skill.
fn share_of_runs(count: usize, opened: usize) -> String {
    match (count, opened) {
        (1, 1) => "in the one run that opened the skill".to_owned(),
        (2, 2) => "in both runs that opened the skill".to_owned(),
        (count, opened) if count == opened => format!("in all {opened} runs that opened the skill"),
        (count, opened) => format!("in {count} of the {opened} runs that opened the skill"),
    }
}

fn line_of(evidence: &Evidence) -> String {
    let span = &evidence.span;
    let skill = if evidence.skill.is_empty() { "the skill" } else { &evidence.skill };
    if span.skill_file == "SKILL.md" || span.skill_file.is_empty() {
        format!("line {} of {skill}", span.skill_line)
    } else {
        format!("line {} of {} of {skill}", span.skill_line, span.skill_file)
    }
}

fn quote(text: &str) -> String {
    let text =
        text.trim().trim_start_matches(['-', '*', '#', ' ']).trim_end_matches(['.', ',', ';', ':', ' ']);
    match text.char_indices().nth(QUOTE_CAP) {
        Some((end, _)) => format!("{}…", text[..end].trim_end_matches([',', ';', ':', ' '])),
        None => text.to_owned(),
    }
}

/// A share in two digits.
fn share(value: f64) -> String {
    let text = format!("{value:.2}").replace('-', "−");
    text.strip_prefix('0').map_or(text.clone(), str::to_owned)
}

fn p_value(p: f64) -> String {
    if p < 0.001 { "p < .001".to_owned() } else { format!("p = {}", bare(p)) }
}

/// A probability in three digits, without those at the end that say nothing.
fn bare(p: f64) -> String {
    let text = format!("{p:.3}");
    let text = text.trim_end_matches('0');
    text.strip_prefix('0').unwrap_or(text).trim_end_matches('.').to_owned()
}
