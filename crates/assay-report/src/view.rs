//! Two runs side by side, for a terminal and as a page.

mod html;
mod terminal;

use assay_audit::adherence::{Change, Status};
use assay_audit::calibrated::Finding;
use assay_audit::directive::Modality;
use assay_audit::view::{Cell, CheckRow, DirectiveRow, RowKind, Shown, Side, View};

pub use html::{PAIR_STYLE, PairOptions, pair_html, view_html};
pub use terminal::view_text;

use crate::text::{clean, clean_code, count, counted};

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
    let both =
        |name: &str, of: &dyn Fn(&Side) -> String| [name.to_owned(), of(&view.with), of(&view.without)];
    let yes = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    let optional = |text: Option<String>| text.map_or_else(|| "–".to_owned(), |text| clean(&text));
    vec![
        both("trial or trace", &|side| {
            let short = |id: &String| id.chars().take(12).collect::<String>();
            clean(&side.name.trial.as_ref().map_or_else(|| side.trace.clone(), short))
        }),
        both("condition", &|side| clean(&side.name.condition_name)),
        both("repetition", &|side| optional(side.name.repetition.map(|number| number.to_string()))),
        both("outcome", &|side| optional(side.outcome.clone())),
        both("checks passed", &|side| {
            let is_with = std::ptr::eq(side, &raw const view.with);
            let of = |row: &CheckRow| if is_with { row.with } else { row.without };
            let known: Vec<bool> = view.checks.iter().filter_map(of).collect();
            let passed = known.iter().filter(|passed| **passed).count();
            if known.is_empty() { "–".to_owned() } else { format!("{passed} of {}", known.len()) }
        }),
        both("steps", &|side| count(side.steps as f64)),
        both("tokens", &|side| count(side.tokens as f64)),
        both("skill listed", &|side| yes(side.exposure.listed)),
        both("skill mentions (tool calls)", &|side| count(side.exposure.mentions as f64)),
        both("skill opened", &|side| {
            side.opened_at.map_or_else(|| "no".to_owned(), |at| format!("step {at}"))
        }),
        both("directives followed", &|side| {
            format!("{} of {}", side.directives.followed, side.directives.total)
        }),
        both("directives violated", &|side| side.directives.violated.to_string()),
        both("directives undecided", &|side| side.directives.unknown.to_string()),
        both("adoption vs. other run", &|side| {
            side.adoption.map_or_else(|| "cannot be measured".to_owned(), |score| format!("{score:.3}"))
        }),
    ]
}

/// How to interpret the matches of a pair.
fn caution(view: &View) -> &'static str {
    if view.identical {
        return "Both runs ran and wrote the same, so there is nothing that the skill changed.";
    }
    match (view.with.opened_at, view.without.opened_at) {
        (_, Some(_)) => {
            "The run without the skill opened it as well, so it is not a control: differences cannot be attributed to the skill."
        }
        (None, None) => {
            "Neither run opened the skill: what they follow has another source and is not attributed to it."
        }
        (Some(_), None) => {
            "A single pair shows which directives were followed. It does not show how much of that is chance."
        }
    }
}

/// How many directives differ.
fn differing_directives(view: &View) -> String {
    let differ = view.directives.iter().filter(|row| differs(row)).count();
    format!(
        "Of {} of the skill, {} in the two runs",
        counted(view.directives.len(), "directive", "directives"),
        match differ {
            0 => "none differs".to_owned(),
            1 => "1 differs".to_owned(),
            differ => format!("{} differ", count(differ as f64)),
        }
    )
}

fn differs(row: &DirectiveRow) -> bool {
    row.with.status != row.without.status
}

/// Whether a directive is listed by itself: it differs, or a run violated it.
fn is_listed(row: &DirectiveRow) -> bool {
    differs(row) || row.with.status == Status::Violated
}

/// The status of a directive, with its step.
fn status(row: &DirectiveRow, shown: &Shown) -> String {
    let word = match shown.status {
        Status::Followed => "followed",
        Status::Violated => "violated",
        Status::NotApplicable => "not applicable",
        Status::Unknown if row.modality == Modality::Forbidden => "no violation seen",
        Status::Unknown => "cannot tell",
    };
    match &shown.location {
        Some(location) if location.step > 0 => format!("{word} (step {})", location.step),
        Some(_) => format!("{word} (at the end)"),
        None => word.to_owned(),
    }
}

/// Where a directive comes from.
fn line_of(file: &str, line: usize) -> String {
    if file == "SKILL.md" || file.is_empty() {
        format!("line {line}")
    } else {
        format!("{} line {line}", clean(file))
    }
}

/// The directives that are not listed, by their status in both runs.
fn other_directives(view: &View) -> Option<String> {
    let mut kinds: Vec<(String, usize)> = Vec::new();
    for row in view.directives.iter().filter(|row| !is_listed(row)) {
        let name = match row.with.status {
            Status::Followed => "followed in both",
            Status::Violated => "violated in both",
            Status::NotApplicable => "not applicable in both",
            Status::Unknown => "cannot tell in both",
        };
        match kinds.iter_mut().find(|(known, _)| known == name) {
            Some((_, count)) => *count += 1,
            None => kinds.push((name.to_owned(), 1)),
        }
    }
    let parts: Vec<String> = kinds.into_iter().map(|(name, count)| format!("{name}: {count}")).collect();
    (!parts.is_empty()).then(|| format!("Other directives: {}", parts.join(", ")))
}

/// The result of a check in both runs, and how it changed.
fn check_result(row: &CheckRow) -> [&'static str; 3] {
    let word = |passed: Option<bool>| match passed {
        Some(true) => "passed",
        Some(false) => "failed",
        None => "–",
    };
    let change = match row.change {
        Some(Change::Gained) => "gained",
        Some(Change::Lost) => "lost",
        None => "",
    };
    [word(row.with), word(row.without), change]
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
    text.lines().map(clean_code).collect()
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
