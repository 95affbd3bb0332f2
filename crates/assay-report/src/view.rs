//! Two runs side by side, for a terminal and as a page.

mod html;
mod terminal;

use assay_audit::calibrated::Finding;
use assay_audit::view::{Cell, RowKind, View};

pub use html::view_html;
pub use terminal::view_text;

use crate::text::{clean, count, counted};

/// The label of a kind of row.
fn word(kind: RowKind) -> &'static str {
    match kind {
        RowKind::Shared => "shared",
        RowKind::OnlyWith => "only with",
        RowKind::OnlyWithout => "only without",
        RowKind::OtherTarget => "other target",
    }
}

/// Facts of both runs: name, with, without.
fn facts(view: &View) -> Vec<[String; 3]> {
    let both = |name: &str, of: &dyn Fn(&assay_audit::view::Side) -> String| {
        [name.to_owned(), of(&view.with), of(&view.without)]
    };
    let yes = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    vec![
        both("trace", &|side| clean(&side.trace)),
        both("steps", &|side| count(side.steps as f64)),
        both("tokens", &|side| count(side.tokens as f64)),
        both("skill listed", &|side| yes(side.exposure.listed)),
        both("skill mentions (tool calls)", &|side| count(side.exposure.mentions as f64)),
        both("skill opened", &|side| {
            side.opened_at.map_or_else(|| "no".to_owned(), |at| format!("step {at}"))
        }),
        both("matched words", &|side| format!("{:.0}", side.evidence)),
        both("overlap score vs. other run", &|side| format!("{:.3}", side.adoption)),
    ]
}

/// How to interpret the matches of a pair.
fn caution(view: &View) -> &'static str {
    match (view.with.opened_at, view.without.opened_at) {
        (_, Some(_)) => {
            "The run without the skill opened it as well, so it is not a control: differences cannot be attributed to the skill."
        }
        (None, None) => {
            "Neither run opened the skill: matches have another source and are not attributed to it."
        }
        (Some(_), None) => {
            "A single pair shows where text of the skill occurs. It does not show how much of that is chance."
        }
    }
}

/// The number of lines of the skill that match.
fn found_lines(view: &View) -> String {
    let found = view.skill.lines.iter().filter(|line| !line.places.is_empty()).count();
    let of = view.skill.lines.iter().filter(|line| !line.text.trim().is_empty()).count();
    format!(
        "{} of {} lines of the skill match text in the run with the skill",
        count(found as f64),
        count(of as f64)
    )
}

/// The label of a call or a message.
fn action_label(cell: &Cell) -> &'static str {
    match cell.act {
        "message" => "reply",
        "prompt" => "user message",
        "injected" => "harness message",
        act => act,
    }
}

/// Tags of a cell.
fn remarks(cell: &Cell) -> Vec<&'static str> {
    let all = [(cell.check, "check"), (cell.failed, "failed")];
    all.into_iter().filter(|(is, _)| *is).map(|(_, name)| name).collect()
}

/// A hostile text, with its lines kept.
fn clean_lines(text: &str) -> Vec<String> {
    text.lines().map(|line| clean(&line.replace('\t', "    "))).collect()
}

fn lines_of(text: &str) -> String {
    counted(text.lines().count(), "line", "lines")
}

/// Findings of one pattern together, in their order.
fn by_pattern(findings: &[Finding]) -> Vec<(String, Vec<&Finding>)> {
    let mut all: Vec<(String, Vec<&Finding>)> = Vec::new();
    for finding in findings {
        let name = finding.pattern.name().replace('_', " ");
        match all.iter_mut().find(|(known, _)| *known == name) {
            Some((_, list)) => list.push(finding),
            None => all.push((name, vec![finding])),
        }
    }
    all
}
