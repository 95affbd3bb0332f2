//! For people: each finding with the lines it speaks of, then what becomes of each skill.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use assay_skill::printable;

use crate::client::{Client, Fate};
use crate::diagnostic::{Diagnostic, Severity, Span};
use crate::engine::{LintedSkill, Outcome, Summary};
use crate::rule::clipped;

/// Longest line of an excerpt, in characters.
const WIDTH: usize = 160;

/// The outcome for a terminal. Advice is shown when `advice` asks for it, and only the clients asked about.
pub fn human(outcome: &Outcome, clients: &[Client], advice: bool, color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.decor_style(DecorStyle::Ascii);
    let mut text = String::new();
    for found in &outcome.diagnostics {
        text.push_str(&one(found, None, clients, &renderer));
    }
    for skill in &outcome.skills {
        let shown: Vec<&Diagnostic> =
            skill.diagnostics.iter().filter(|found| advice || found.severity > Severity::Info).collect();
        if shown.is_empty() {
            continue;
        }
        for found in shown {
            text.push_str(&one(found, skill.document.as_ref(), clients, &renderer));
        }
        text.push_str(&fates(skill, clients));
    }
    text.push_str(&sum(outcome, clients, advice));
    text
}

fn one(
    found: &Diagnostic,
    document: Option<&(std::path::PathBuf, String)>,
    clients: &[Client],
    renderer: &Renderer,
) -> String {
    let level = match found.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Info => Level::INFO,
    };
    let path = printable(&found.file.to_string_lossy());
    let message = printable(&found.message);
    let mut group = level
        .primary_title(&message)
        .id(found.code)
        .elements([] as [Snippet<'_, annotate_snippets::Annotation<'_>>; 0]);
    let excerpt = document
        .filter(|(file, _)| *file == found.file)
        .and_then(|(_, text)| found.span.0.and_then(|span| excerpt(text, span)));
    group = match (&excerpt, found.span.0) {
        (Some((line, start, source, range)), _) => {
            let _ = start;
            group.element(
                Snippet::source(source.as_str())
                    .line_start(*line)
                    .path(path.as_str())
                    .annotation(AnnotationKind::Primary.span(range.clone())),
            )
        }
        (None, span) => {
            let origin = annotate_snippets::Origin::path(path.as_str());
            group.element(match span {
                Some(span) => origin.line(span.line).char_column(span.column),
                None => origin,
            })
        }
    };
    let hint = found.hint.as_deref().map(printable);
    if let Some(hint) = &hint {
        group = group.element(Level::HELP.message(hint.as_str()));
    }
    let drops = names(found, Severity::Error, clients);
    if !drops.is_empty() {
        group = group.element(Level::NOTE.message(drops.as_str()));
    }
    let fix = found.fix.as_ref().map(|fix| format!("--fix does this: {}", printable(&fix.title)));
    if let Some(fix) = &fix {
        group = group.element(Level::HELP.message(fix.as_str()));
    }
    renderer.render(&[group]) + "\n\n"
}

/// Who refuses or drops the skill for it: nobody does for danger.
fn names(found: &Diagnostic, severity: Severity, clients: &[Client]) -> String {
    if crate::safety::lint::owns(found.code) {
        return String::new();
    }
    let all: Vec<Client> =
        found.clients.at_least(severity).filter(|client| clients.contains(client)).collect();
    let list = |keep: fn(&Client) -> bool| {
        all.iter().copied().filter(keep).map(Client::name).collect::<Vec<_>>().join(", ")
    };
    let (refuse, drop) = (list(|client| client.validates()), list(|client| !client.validates()));
    match (refuse.is_empty(), drop.is_empty()) {
        (true, true) => String::new(),
        (false, true) => format!("refused by {refuse}"),
        (true, false) => format!("dropped by {drop}"),
        (false, false) => format!("refused by {refuse}; dropped by {drop}"),
    }
}

/// The first line of a span, with what is to be marked in it: line, its column, the line made harmless, the bytes of the mark.
fn excerpt(text: &str, span: Span) -> Option<(usize, usize, String, std::ops::Range<usize>)> {
    let line = text.lines().nth(span.line - 1)?;
    let from = span.column - 1;
    let to = if span.end_line > span.line { usize::MAX } else { span.end_column - 1 };
    // A window of the line, so that one long line does not fill the screen.
    let first = from.saturating_sub(WIDTH / 4);
    let mut shown = if first > 0 { "...".to_owned() } else { String::new() };
    let mut mark = None;
    let mut end = shown.len();
    for (at, c) in line.chars().enumerate().skip(first).take(WIDTH) {
        if at == from {
            mark = Some(shown.len());
        }
        if c == '\t' {
            shown.push_str("    ");
        } else {
            shown.push_str(&printable(&c.to_string()));
        }
        if at < to {
            end = shown.len();
        }
    }
    if line.chars().nth(first + WIDTH).is_some() {
        shown.push_str("...");
    }
    let start = mark.unwrap_or(shown.len());
    Some((span.line, first, shown, start..end.max(start)))
}

fn fates(skill: &LintedSkill, clients: &[Client]) -> String {
    let mut text = format!("{}\n", printable(&skill.path.to_string_lossy()));
    for (client, fate) in skill.clients.iter().filter(|(client, _)| clients.contains(client)) {
        text.push_str(&format!("  {:<12} {}\n", client.name(), becomes(*client, fate)));
    }
    text.push('\n');
    text
}

/// What becomes of a skill, in half a sentence.
fn becomes(client: Client, fate: &Fate) -> String {
    let reason = fate
        .reason
        .as_deref()
        .map(|reason| format!(": {}", printable(&clipped(reason.to_owned()))))
        .unwrap_or_default();
    if client.validates() {
        return if fate.valid { "valid".to_owned() } else { format!("refused{reason}") };
    }
    if !fate.loads {
        return format!("dropped{reason}");
    }
    let name: String = fate.name.as_deref().unwrap_or("").chars().take(WIDTH).collect();
    let name = printable(&name);
    let length = fate.description.as_deref().map_or(0, |text| text.chars().count());
    let listed = if fate.listed { "listed" } else { "loaded and not listed" };
    let cut = if fate.truncated { ", cut" } else { "" };
    format!("{listed} as `{name}`, description of {length} characters{cut}{reason}")
}

/// What is not reported, and how many of it safety rules found: always counted, so that nothing is hidden without a trace.
pub fn omitted(sum: &Summary) -> Vec<String> {
    let mut parts = Vec::new();
    let counts = [
        (sum.suppressed, sum.suppressed_safety, "suppressed"),
        (sum.ignored, sum.ignored_safety, "ignored"),
        (sum.baselined, 0, "known before"),
        (sum.excluded, 0, if sum.excluded == 1 { "skill excluded" } else { "skills excluded" }),
    ];
    for (count, safety, word) in counts {
        match (count, safety) {
            (0, _) => {}
            (_, 0) => parts.push(format!("{count} {word}")),
            _ => parts.push(format!("{count} {word} ({safety} safety)")),
        }
    }
    parts
}

fn sum(outcome: &Outcome, clients: &[Client], advice: bool) -> String {
    let sum = &outcome.summary;
    let plural = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let mut text = format!(
        "{}: {}, {}, {}",
        plural(sum.skills, "skill"),
        plural(sum.errors, "error"),
        plural(sum.warnings, "warning"),
        plural(sum.infos, "note"),
    );
    if sum.infos > 0 && !advice {
        text.push_str(" (-v shows them)");
    }
    for part in omitted(sum) {
        text.push_str(&format!(", {part}"));
    }
    text.push('\n');
    for client in clients {
        let Some(tally) = sum.clients.get(client.name()) else { continue };
        let line = if client.validates() {
            format!("{} of {} valid", tally.valid, sum.skills)
        } else {
            format!(
                "{} of {} listed, {} dropped, {} cut",
                tally.listed,
                sum.skills,
                sum.skills - tally.loads,
                tally.truncated
            )
        };
        text.push_str(&format!("  {:<12} {line}\n", client.name()));
    }
    text
}
