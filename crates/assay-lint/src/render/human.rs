//! Terminal output. Few findings: each with its source lines, then how each client loads the skill.
//! Many: counts by rule, then some of the findings, a line each.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use assay_diagnostic::{counted, escape, group_digits};

use crate::client::{Client, LoadResult};
use crate::diagnostic::{Diagnostic, Severity, Span};
use crate::outcome::{LintedSkill, Outcome, Summary};
use crate::rule::clipped;

/// Longest line of an excerpt, in characters.
const WIDTH: usize = 160;

/// Most lines that are printed unless all findings are asked for: two screens.
const LINES: usize = 80;
/// Most rules in the counts of a long outcome.
const RULES: usize = 20;
/// Most findings after the counts.
const FINDINGS: usize = 20;
/// The width if the terminal's is unknown, in columns.
const COLUMNS: usize = 120;
/// The minimum width.
const NARROW: usize = 60;

/// How an outcome is shown.
#[derive(Debug, Clone, Copy, Default)]
pub struct View {
    /// Findings of severity `info` as well.
    pub advice: bool,
    /// Every finding with its excerpt, however many there are.
    pub full: bool,
    /// In colours.
    pub color: bool,
    /// The width of the terminal, if known.
    pub columns: Option<usize>,
}

/// The outcome for a terminal, for the clients asked about.
pub fn human(outcome: &Outcome, clients: &[Client], view: View) -> String {
    let text = whole(outcome, clients, view);
    if view.full || text.lines().count() <= LINES { text } else { short(outcome, clients, view) }
}

/// The findings of a rule, and the skills that they are in.
type Hits<'a> = (Vec<&'a Diagnostic>, BTreeSet<&'a Path>);

/// Counts by rule, and the first findings of each rule, as many as fit.
fn short(outcome: &Outcome, clients: &[Client], view: View) -> String {
    let width = view.columns.unwrap_or(COLUMNS).max(NARROW);
    let shown = |found: &&Diagnostic| view.advice || found.severity > Severity::Info;
    let mut by_rule: BTreeMap<(&str, Severity), Hits<'_>> = BTreeMap::new();
    for skill in &outcome.skills {
        for found in skill.diagnostics.iter().filter(shown) {
            let (list, skills) = by_rule.entry((found.code, found.severity)).or_default();
            list.push(found);
            skills.insert(&skill.path);
        }
    }
    for found in outcome.diagnostics.iter().filter(shown) {
        by_rule.entry((found.code, found.severity)).or_default().0.push(found);
    }
    let mut rules: Vec<_> = by_rule.into_iter().collect();
    // Most severe first, then by number of findings.
    rules.sort_by_key(|((code, severity), (list, _))| {
        (std::cmp::Reverse(*severity), std::cmp::Reverse(list.len()), *code)
    });
    let mut text = counts(outcome, view.advice) + "\n";
    let abouts: BTreeMap<&str, &str> =
        crate::rules::rules().into_iter().map(|rule| (rule.code, rule.about)).collect();
    text.push_str(&clip(
        &format!("{:<8} {:<24} {:>8} {:>7}  finds", "severity", "rule", "findings", "skills"),
        width,
    ));
    text.push('\n');
    for ((code, severity), (list, skills)) in rules.iter().take(RULES) {
        let skills = if skills.is_empty() { "-".to_owned() } else { skills.len().to_string() };
        let about = abouts.get(code).copied().unwrap_or_default();
        let rest = format!("{code:<24} {:>8} {skills:>7}  {about}", list.len());
        text.push_str(&painted(*severity, 8, view.color));
        text.push_str(&clip(&format!(" {rest}"), width - 8));
        text.push('\n');
    }
    if rules.len() > RULES {
        text.push_str(&format!("and {}\n", counted(rules.len() - RULES, "more rule", "more rules")));
    }
    text.push('\n');
    // Round-robin, so that no rule fills the list.
    let mut left = FINDINGS;
    let mut taken: Vec<usize> = vec![0; rules.len()];
    while left > 0 && rules.iter().zip(&taken).any(|((_, (list, _)), taken)| *taken < list.len()) {
        for ((_, (list, _)), taken) in rules.iter().zip(&mut taken) {
            if left > 0 && *taken < list.len() {
                (*taken, left) = (*taken + 1, left - 1);
            }
        }
    }
    let mut total = 0;
    for (((code, severity), (list, _)), taken) in rules.iter().zip(&taken) {
        total += list.len();
        if *taken > 0 {
            text.push_str(&format!("{}[{code}]\n", painted(*severity, 0, view.color)));
        }
        for found in list.iter().take(*taken) {
            let file = escape(&found.file.to_string_lossy());
            let place = found.span.0.map_or(String::new(), |span| format!(":{}:{}", span.line, span.column));
            let start = format!("  {file}{place}: ");
            // After a long path, the line may exceed the width.
            let room = width.saturating_sub(start.chars().count()).max(NARROW);
            text.push_str(&format!("{start}{}\n", clip(&escape(&found.message), room)));
        }
    }
    let rest = total - taken.iter().sum::<usize>();
    if rest > 0 {
        text.push_str(&format!(
            "and {} (--full shows all, --select RULE only those of one rule)\n",
            counted(rest, "more finding", "more findings")
        ));
    }
    text.push('\n');
    text.push_str(&tallies(outcome, clients));
    text
}

/// A severity's word in its colour, padded to a width.
fn painted(severity: Severity, width: usize, color: bool) -> String {
    let word = format!("{:<width$}", severity.word());
    let code = match severity {
        Severity::Error => "1;31",
        Severity::Warning => "1;33",
        Severity::Info => "1;34",
    };
    if color { format!("\u{1b}[{code}m{word}\u{1b}[0m") } else { word }
}

/// Truncates a line to a width.
fn clip(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let mut out: String = line.chars().take(width.saturating_sub(1)).collect();
    out.truncate(out.trim_end().len());
    out.push('…');
    out
}

/// Every finding with its excerpt.
fn whole(outcome: &Outcome, clients: &[Client], view: View) -> String {
    let View { advice, columns, .. } = view;
    let renderer = if view.color { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.decor_style(DecorStyle::Ascii);
    let mut text = String::new();
    for found in &outcome.diagnostics {
        text.push_str(&one(found, None, clients, &renderer, columns));
    }
    for skill in &outcome.skills {
        let shown: Vec<&Diagnostic> =
            skill.diagnostics.iter().filter(|found| advice || found.severity > Severity::Info).collect();
        if shown.is_empty() {
            continue;
        }
        for found in shown {
            text.push_str(&one(found, skill.document.as_ref(), clients, &renderer, columns));
        }
        text.push_str(&load_results(skill, clients));
    }
    text.push_str(&sum(outcome, clients, advice));
    text
}

fn one(
    found: &Diagnostic,
    document: Option<&(std::path::PathBuf, String)>,
    clients: &[Client],
    renderer: &Renderer,
    columns: Option<usize>,
) -> String {
    let level = match found.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Info => Level::INFO,
    };
    let path = escape(&found.file.to_string_lossy());
    let message = escape(&found.message);
    let mut group = level
        .primary_title(&message)
        .id(found.code)
        .elements([] as [Snippet<'_, annotate_snippets::Annotation<'_>>; 0]);
    let excerpt = document
        .filter(|(file, _)| *file == found.file)
        .and_then(|(_, text)| found.span.0.and_then(|span| excerpt(text, span, columns)));
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
    let hint = found.hint.as_deref().map(escape);
    if let Some(hint) = &hint {
        group = group.element(Level::HELP.message(hint.as_str()));
    }
    let drops = names(found, Severity::Error, clients);
    if !drops.is_empty() {
        group = group.element(Level::NOTE.message(drops.as_str()));
    }
    let fix = found.fix.as_ref().map(|fix| format!("--fix can do this: {}", escape(&fix.title)));
    if let Some(fix) = &fix {
        group = group.element(Level::HELP.message(fix.as_str()));
    }
    renderer.render(&[group]) + "\n\n"
}

/// The clients that reject or do not load the skill because of it: none, for safety rules.
fn names(found: &Diagnostic, severity: Severity, clients: &[Client]) -> String {
    if crate::safety::owns(found.code) {
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
        (false, true) => format!("rejected by {refuse}"),
        (true, false) => format!("not loaded by {drop}"),
        (false, false) => format!("rejected by {refuse}; not loaded by {drop}"),
    }
}

/// The first line of a span and its highlight: line number, column, the escaped line, the
/// highlighted bytes.
fn excerpt(
    text: &str,
    span: Span,
    columns: Option<usize>,
) -> Option<(usize, usize, String, std::ops::Range<usize>)> {
    let line = text.lines().nth(span.line - 1)?;
    let from = span.column - 1;
    let to = if span.end_line > span.line { usize::MAX } else { span.end_column - 1 };
    // A window of the line, so that it fits beside its number and with dots at both ends.
    let margin = span.line.to_string().len() + 3 + 6;
    let width = columns.map_or(WIDTH, |columns| columns.max(NARROW) - margin).min(WIDTH);
    let first = from.saturating_sub(width / 4);
    let mut shown = if first > 0 { "...".to_owned() } else { String::new() };
    let mut mark = None;
    let mut end = shown.len();
    for (at, c) in line.chars().enumerate().skip(first).take(width) {
        if at == from {
            mark = Some(shown.len());
        }
        if c == '\t' {
            shown.push_str("    ");
        } else {
            shown.push_str(&escape(&c.to_string()));
        }
        if at < to {
            end = shown.len();
        }
    }
    if line.chars().nth(first + width).is_some() {
        shown.push_str("...");
    }
    let start = mark.unwrap_or(shown.len());
    Some((span.line, first, shown, start..end.max(start)))
}

fn load_results(skill: &LintedSkill, clients: &[Client]) -> String {
    let mut text = format!("{}\n", escape(&skill.path.to_string_lossy()));
    for (client, load_result) in skill.clients.iter().filter(|(client, _)| clients.contains(client)) {
        text.push_str(&format!("  {:<12} {}\n", client.name(), becomes(*client, load_result)));
    }
    text.push('\n');
    text
}

/// How a client loads a skill, as a fragment.
fn becomes(client: Client, load_result: &LoadResult) -> String {
    let reason = load_result
        .reason
        .as_deref()
        .map(|reason| format!(": {}", escape(&clipped(reason.to_owned()))))
        .unwrap_or_default();
    if client.validates() {
        return if load_result.valid { "valid".to_owned() } else { format!("rejected{reason}") };
    }
    if !load_result.loads {
        return format!("not loaded{reason}");
    }
    let name: String = load_result.name.as_deref().unwrap_or("").chars().take(WIDTH).collect();
    let name = escape(&name);
    let length = load_result.description.as_deref().map_or(0, |text| text.chars().count());
    let listed = if load_result.listed { "listed" } else { "loaded, not listed" };
    let cut = if load_result.truncated { ", truncated" } else { "" };
    format!("{listed} as `{name}`, description {}{cut}{reason}", counted(length, "character", "characters"))
}

/// Counts of findings that are not reported, with those of safety rules, so that every omission is
/// visible.
pub fn omitted(sum: &Summary) -> Vec<String> {
    let mut parts = Vec::new();
    let counts = [
        (sum.suppressed, sum.suppressed_safety, "suppressed"),
        (sum.ignored, sum.ignored_safety, "ignored"),
        (sum.lowered, sum.lowered_safety, "with lowered severity"),
        (sum.baselined, 0, "in the baseline"),
        (sum.excluded, 0, if sum.excluded == 1 { "skill excluded" } else { "skills excluded" }),
    ];
    for (count, safety, word) in counts {
        match (count, safety) {
            (0, _) => {}
            (_, 0) => parts.push(format!("{} {word}", group_digits(count))),
            _ => parts.push(format!("{} {word} ({} safety)", group_digits(count), group_digits(safety))),
        }
    }
    if sum.baselined_safety > 0 {
        let safety = counted(sum.baselined_safety, "safety finding", "safety findings");
        parts.push(format!("{safety} reported although in the baseline"));
    }
    parts
}

fn sum(outcome: &Outcome, clients: &[Client], advice: bool) -> String {
    counts(outcome, advice) + &tallies(outcome, clients)
}

/// A line with the numbers of skills and findings.
fn counts(outcome: &Outcome, advice: bool) -> String {
    let sum = &outcome.summary;
    let mut text = format!(
        "{}: {}, {}, {}",
        counted(sum.skills, "skill", "skills"),
        counted(sum.errors, "error", "errors"),
        counted(sum.warnings, "warning", "warnings"),
        counted(sum.infos, "info", "infos"),
    );
    if sum.infos > 0 && !advice {
        text.push_str(if sum.infos == 1 { " (-v shows it)" } else { " (-v shows them)" });
    }
    for part in omitted(sum) {
        text.push_str(&format!(", {part}"));
    }
    text.push('\n');
    text
}

/// One line per client: how many skills it loads.
fn tallies(outcome: &Outcome, clients: &[Client]) -> String {
    let sum = &outcome.summary;
    let mut text = String::new();
    for client in clients {
        let Some(tally) = sum.clients.get(client.name()) else { continue };
        let line = if client.validates() {
            format!("{} of {} valid", group_digits(tally.valid), group_digits(sum.skills))
        } else {
            format!(
                "{} of {} listed, {} not loaded, {} truncated",
                group_digits(tally.listed),
                group_digits(sum.skills),
                group_digits(sum.skills - tally.loads),
                group_digits(tally.truncated)
            )
        };
        text.push_str(&format!("  {:<12} {line}\n", client.name()));
    }
    text
}
