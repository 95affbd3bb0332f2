//! Two runs side by side, for a terminal and as a page.

mod html;
mod terminal;

use assay_audit::calibrated::Finding;
use assay_audit::view::{Cell, RowKind, View};

pub use html::view_html;
pub use terminal::view_text;

use crate::text::{clean, count, counted};

/// What a row is, in words.
fn word(kind: RowKind) -> &'static str {
    match kind {
        RowKind::Shared => "shared",
        RowKind::OnlyWith => "only with",
        RowKind::OnlyWithout => "only without",
        RowKind::OtherTarget => "other target",
    }
}

/// What both runs came to, side by side: name, with, without.
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
        both("calls that name it", &|side| count(side.exposure.mentions as f64)),
        both("skill read", &|side| {
            side.opened_at.map_or_else(|| "no".to_owned(), |at| format!("by step {at}"))
        }),
        both("words of evidence", &|side| format!("{:.0}", side.evidence)),
        both("adoption against the other", &|side| format!("{:.3}", side.adoption)),
    ]
}

/// What the evidence of a pair is worth, in a sentence.
fn caution(view: &View) -> &'static str {
    match (view.with.opened_at, view.without.opened_at) {
        (_, Some(_)) => {
            "The run without the skill read it too: it is no control, and differences are not the skill's."
        }
        (None, None) => {
            "Nobody read the skill: nothing is attributed to it, and what looks like it comes from elsewhere."
        }
        (Some(_), None) => {
            "One pair shows where the skill's words turned up, and not what chance would have shown."
        }
    }
}

/// How many lines of the skill turned up, in words.
fn found_lines(view: &View) -> String {
    let found = view.skill.lines.iter().filter(|line| !line.places.is_empty()).count();
    let of = view.skill.lines.iter().filter(|line| !line.text.trim().is_empty()).count();
    format!("{} of {} lines of the skill turned up in the run with it", count(found as f64), count(of as f64))
}

/// What a call or a message is called.
fn act(cell: &Cell) -> &'static str {
    match cell.act {
        "say" => "says",
        "told" => "is told",
        "injected" => "is told by the harness",
        act => act,
    }
}

/// What is to be known of a cell at a glance.
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
