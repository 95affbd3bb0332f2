//! The adherence report and the headline, for a terminal.

use assay_audit::adherence::Change;
use assay_audit::calibrated::{
    ArmFindings, CheckOutcome, DirectiveFinding, DirectiveReport, Evidence, RunName,
};
use assay_audit::directive::Modality;
use unicode_width::UnicodeWidthStr;

use crate::text::clean;

/// Directives of a skill that are shown; JSON and `--details` have all.
const SHOWN: usize = 12;

/// Lines that are no further apart are named as one passage.
const NEAR: usize = 12;

/// Checks that are named for a directive.
const CHECKS: usize = 3;

/// Longest quoted line, in characters.
const QUOTE_CAP: usize = 140;

/// The sentence of an arm with its evidence.
pub(super) fn headline(arm: &ArmFindings, width: usize) -> String {
    let mut text = paragraph(&clean(&arm.sentence), 2, 2, width);
    if !arm.evidence.is_empty() {
        text.push('\n');
    }
    for evidence in &arm.evidence {
        text.push_str(&shown_evidence(evidence, width));
    }
    text
}

fn shown_evidence(evidence: &Evidence, width: usize) -> String {
    let span = &evidence.span;
    let mut text = paragraph(
        &format!(
            "{}, {}: {}",
            clean(&evidence.skill),
            line_of(&span.skill_file, span.skill_line),
            quote(&span.skill_text)
        ),
        2,
        4,
        width,
    );
    let place = place(&evidence.task, &evidence.name, span.step, span.file.as_deref());
    text.push_str(&paragraph(&format!("{place} {}: {}", span.manner, quote(&span.trace_text)), 4, 6, width));
    let gained: Vec<String> = span
        .checks
        .iter()
        .filter(|check| check.change == Change::Gained)
        .take(CHECKS)
        .map(|check| clean(&check.check))
        .collect();
    if !gained.is_empty() {
        let sentence = format!("failed without the skill, passed here: {}", gained.join(", "));
        text.push_str(&paragraph(&sentence, 4, 6, width));
    }
    text
}

/// The directives of an arm, by skill.
pub(super) fn report(directives: &[DirectiveReport], details: bool, width: usize) -> String {
    let mut text = String::new();
    let mut from = 0;
    if directives.iter().all(|one| one.finding == DirectiveFinding::NotOpened) {
        return text;
    }
    while let Some(first) = directives.get(from) {
        let same = |other: &&DirectiveReport| other.skill == first.skill && other.tasks == first.tasks;
        let count = directives[from..].iter().take_while(same).count();
        text.push_str(&of_skill(&directives[from..from + count], details, width));
        from += count;
    }
    text
}

fn of_skill(directives: &[DirectiveReport], details: bool, width: usize) -> String {
    let Some(first) = directives.first() else { return String::new() };
    let copies = match first.copies {
        0 => String::new(),
        1 => "; 1 more is a copy of these".to_owned(),
        copies => format!("; {copies} more are copies of these"),
    };
    let head = format!(
        "Directives of {} ({}; {} with the skill, opened by {}{copies})",
        clean(&first.skill),
        if first.tasks.len() == 1 {
            format!("task {}", clean(&first.tasks[0]))
        } else {
            format!("{} tasks", first.tasks.len())
        },
        counted(first.runs, "run"),
        first.opened,
    );
    let mut text = format!("\n{}", paragraph(&head, 2, 4, width));
    let urgent = |one: &&DirectiveReport| {
        matches!(one.finding, DirectiveFinding::Violated | DirectiveFinding::NotFollowedChecksFail)
    };
    let listed: Vec<&DirectiveReport> = directives.iter().filter(|one| details || urgent(one)).collect();
    let groups: Vec<&[&DirectiveReport]> = listed.chunk_by(|a, b| is_alike(a, b)).collect();
    let shown = if details { groups.len() } else { groups.len().min(SHOWN) };
    for group in &groups[..shown] {
        text.push_str(&shown_group(group, width));
    }
    let chosen: Vec<&DirectiveReport> =
        groups[..shown].iter().flat_map(|group| group.iter().copied()).collect();
    let mut rest: Vec<&DirectiveReport> =
        directives.iter().filter(|one| !chosen.iter().any(|other| std::ptr::eq(*one, *other))).collect();
    let lost: Vec<&DirectiveReport> =
        rest.iter().copied().filter(|one| one.finding == DirectiveFinding::NeverDelivered).collect();
    for file in lost.chunk_by(|a, b| a.file == b.file) {
        text.push_str(&never_delivered(file, width));
    }
    rest.retain(|one| one.finding != DirectiveFinding::NeverDelivered);
    if !rest.is_empty() {
        text.push_str(&paragraph(&others(&rest, chosen.is_empty() && lost.is_empty()), 4, 4, width));
    }
    text
}

/// Whether two directives of one line fared alike, so that they are shown as one.
fn is_alike(one: &DirectiveReport, other: &DirectiveReport) -> bool {
    let key = |one: &DirectiveReport| {
        (one.line, one.finding, one.delivered, one.followed, one.violated, one.not_applicable, one.unknown)
    };
    one.file == other.file && key(one) == key(other) && one.checks == other.checks
}

fn shown_group(group: &[&DirectiveReport], width: usize) -> String {
    let Some(one) = group.first() else { return String::new() };
    let condition = if one.applies_when.is_some() { " (conditional)" } else { "" };
    let mut subjects: Vec<String> = group.iter().map(|one| quote(&one.subject)).collect();
    subjects.dedup();
    let head =
        format!("{}, {}: {}{condition}", line_of(&one.file, one.line), subjects.join(", "), status(one));
    let mut text = paragraph(&head, 4, 6, width);
    text.push_str(&paragraph(&quote(&one.text), 6, 8, width));
    if one.violated > 0
        && let Some(found) = &one.example_location
    {
        let location = &found.location;
        let place = place(&found.task, &found.name, location.step, location.file.as_deref());
        let shown = format!("{place} {}: {}", location.manner.name(), quote(&location.text));
        text.push_str(&paragraph(&shown, 6, 8, width));
    }
    for checks in one.checks.chunk_by(is_same_result) {
        text.push_str(&paragraph(&failing_checks(checks), 6, 8, width));
    }
    text
}

fn is_same_result(one: &CheckOutcome, other: &CheckOutcome) -> bool {
    let key = |one: &CheckOutcome| (one.failed, one.not_followed, one.passed, one.followed);
    one.task == other.task && key(one) == key(other)
}

/// Checks of one task with the same result, in words.
fn failing_checks(checks: &[CheckOutcome]) -> String {
    let Some(first) = checks.first() else { return String::new() };
    let mut names: Vec<String> = checks.iter().take(CHECKS).map(|check| clean(&check.check)).collect();
    if checks.len() > CHECKS {
        names.push(format!("{} more", checks.len() - CHECKS));
    }
    let one = checks.len() == 1;
    let mut text = format!(
        "{} {} of task {} {} in {} of {} not seen to follow it",
        if one { "check" } else { "checks" },
        names.join(", "),
        clean(&first.task),
        if one { "fails" } else { "fail" },
        first.failed,
        counted(first.not_followed, "run")
    );
    if first.followed > 0 {
        let verb = if one { "passes" } else { "pass" };
        text.push_str(&format!(", {verb} in {} of {} that followed it", first.passed, first.followed));
    }
    text
}

/// Directives of one file that no run was given, by lines.
fn never_delivered(directives: &[&DirectiveReport], width: usize) -> String {
    let Some(first) = directives.first() else { return String::new() };
    let mut lines: Vec<usize> = directives.iter().map(|one| one.line).collect();
    lines.sort_unstable();
    lines.dedup();
    // Lines that are near each other are one passage.
    let passages: Vec<String> = lines
        .chunk_by(|a, b| b - a <= NEAR)
        .map(|passage| match passage {
            [one] => one.to_string(),
            [first, .., last] => format!("{first} to {last}"),
            [] => String::new(),
        })
        .collect();
    let shown = passages.len().min(SHOWN);
    let more =
        if passages.len() > shown { format!(" and {} more", passages.len() - shown) } else { String::new() };
    let file = if first.file == "SKILL.md" { String::new() } else { format!("{} ", clean(&first.file)) };
    let head = format!(
        "{file}line{} {}{more}: {} {}",
        if lines.len() == 1 { "" } else { "s" },
        passages[..shown].join(", "),
        counted(directives.len(), "directive"),
        status(first)
    );
    let mut text = paragraph(&head, 4, 6, width);
    if let Some(one) = directives.iter().find(|one| !one.example).filter(|_| directives.len() <= 3) {
        text.push_str(&paragraph(&quote(&one.text), 6, 8, width));
    }
    text
}

/// What the runs show, in words.
fn status(one: &DirectiveReport) -> String {
    if one.delivered == 0 {
        let reasons = [
            (one.undelivered.cut, "what was read ended before or left this out"),
            (one.undelivered.file_not_read, "its file was not read"),
            (one.undelivered.not_opened, "the skill was not opened"),
        ];
        let most = reasons.into_iter().max_by_key(|(runs, _)| *runs).map_or("", |(_, reason)| reason);
        return format!("never delivered ({most})");
    }
    let of = counted(one.delivered, "run");
    let forbidden = one.modality == Modality::Forbidden;
    let mut parts = Vec::new();
    if one.violated > 0 {
        parts.push(format!("violated in {} of {of}", one.violated));
    }
    // Where it cannot be told, 0 would say too much.
    if one.followed > 0 || (!forbidden && one.violated == 0 && one.unknown == 0) {
        parts.push(if parts.is_empty() {
            format!("followed in {} of {of}", one.followed)
        } else {
            format!("followed in {}", one.followed)
        });
    }
    if one.not_applicable > 0 {
        let of = if parts.is_empty() { format!(" of {of}") } else { String::new() };
        parts.push(format!("not applicable in {}{of}", one.not_applicable));
    }
    if one.unknown > 0 {
        let what = if forbidden { "no violation seen in" } else { "cannot tell in" };
        let count =
            if parts.is_empty() { format!("{} of {of}", one.unknown) } else { one.unknown.to_string() };
        parts.push(format!("{what} {count}"));
    }
    parts.join(", ")
}

/// One line about the directives that are not shown.
fn others(rest: &[&DirectiveReport], alone: bool) -> String {
    let kinds = [
        (DirectiveFinding::Violated, "violated"),
        (DirectiveFinding::NotFollowedChecksFail, "not seen to be followed where checks fail"),
        (DirectiveFinding::Followed, "followed in all runs"),
        (DirectiveFinding::PartlyFollowed, "followed in some"),
        (DirectiveFinding::NotApplicable, "not applicable"),
        (DirectiveFinding::Unknown, "cannot tell"),
        (DirectiveFinding::NeverDelivered, "never delivered"),
        (DirectiveFinding::NotOpened, "skill not opened"),
    ];
    let count = |kind: DirectiveFinding| rest.iter().filter(|one| one.finding == kind).count();
    let parts: Vec<String> = kinds
        .into_iter()
        .map(|(kind, name)| (count(kind), name))
        .filter(|(n, _)| *n > 0)
        .map(|(n, name)| format!("{name} {n}"))
        .collect();
    let head = if alone { "" } else { "others: " };
    format!("{head}{} (of {})", parts.join(", "), counted(rest.len(), "directive"))
}

fn line_of(file: &str, line: usize) -> String {
    if file == "SKILL.md" || file.is_empty() {
        format!("line {line}")
    } else {
        format!("{} line {line}", clean(file))
    }
}

/// Where a run shows something.
fn place(task: &str, name: &RunName, step: usize, file: Option<&str>) -> String {
    let mut text = format!("task {}", clean(task));
    if let Some(repetition) = name.repetition {
        text.push_str(&format!(", repetition {repetition}"));
    }
    text.push_str(&match step {
        0 => ", at the end".to_owned(),
        step => format!(", step {step}"),
    });
    if let Some(file) = file {
        text.push_str(&format!(", {}", clean(file)));
    }
    text.push(',');
    text
}

/// A hostile text in one line that is not long.
pub(super) fn quote(text: &str) -> String {
    let text = clean(text.trim());
    match text.char_indices().nth(QUOTE_CAP) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text,
    }
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A text broken between words, the first line behind `first` spaces and the others behind `rest`.
pub(super) fn paragraph(text: &str, first: usize, rest: usize, width: usize) -> String {
    let mut lines = String::new();
    let mut line = " ".repeat(first);
    let mut empty = true;
    for word in text.split_whitespace() {
        if !empty && line.width() + 1 + word.width() > width {
            lines.push_str(&line);
            lines.push('\n');
            line = " ".repeat(rest);
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    lines + &line + "\n"
}
