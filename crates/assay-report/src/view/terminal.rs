use assay_audit::adherence::Status;
use assay_audit::view::{Aligned, Cell, RowKind, View};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{
    action_label, by_pattern, caution, check_result, differing_directives, facts, is_listed, line_of,
    other_directives, remarks, status, word,
};
use crate::Style;
use crate::text::{clean, count, counted};

/// The minimum width of a column, however narrow the terminal.
const NARROWEST: usize = 24;

/// The most lines of a target, a message or a match.
const LINES: usize = 3;

/// Directives shown for a step; the page and JSON have all.
const EVIDENCE: usize = 6;

/// Checks that did not change and are shown; the page and JSON have all.
const UNCHANGED: usize = 5;

/// The emphasis of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Emphasis {
    Plain,
    Strong,
    Faint,
}

/// The view in two columns, for a terminal of the given width.
pub fn view_text(view: &View, width: usize, style: Style<'_>) -> String {
    let column = (width.saturating_sub(5) / 2).max(NARROWEST);
    let mut text = format!("{}: two runs side by side\n\n", clean(&view.task));
    let facts = facts(view);
    let name = facts.iter().map(|fact| fact[0].width()).max().unwrap_or_default();
    let value = (column * 2 + 5).saturating_sub(name + 6) / 2;
    for [fact, with, without] in &facts {
        let (with, without) = (wrap(with, value, usize::MAX), wrap(without, value, usize::MAX));
        for at in 0..with.len().max(without.len()) {
            let part = |lines: &[String]| padded(lines.get(at).map_or("", String::as_str), value);
            let fact = if at == 0 { fact } else { "" };
            let line = format!("  {}  {}  {}", padded(fact, name), part(&with), part(&without));
            text.push_str(&format!("{}\n", line.trim_end()));
        }
    }
    let counts: Vec<String> = RowKind::ALL
        .iter()
        .map(|kind| format!("{} {} ({})", kind.sign(), word(*kind), count(view.counts[kind.name()] as f64)))
        .collect();
    text.push('\n');
    let mut paragraph = |sentence: &str, indent: usize, hanging: usize| {
        for (at, line) in
            wrap(sentence, column * 2 + 5 - indent - hanging, usize::MAX).into_iter().enumerate()
        {
            let indent = if at == 0 { indent } else { indent + hanging };
            text.push_str(&format!("{}{line}\n", " ".repeat(indent)));
        }
    };
    paragraph(caution(view), 2, 0);
    checks(view, &mut paragraph);
    directives(view, &mut paragraph);
    let here = view.rows.iter().filter_map(|row| row.with.as_ref()).flat_map(|cell| &cell.findings);
    for finding in view.findings.iter().chain(here) {
        let name = finding.pattern.name().replace('_', " ");
        paragraph(&format!("{name}: {}", clean(&finding.sentence)), 2, 2);
    }
    paragraph("", 0, 0);
    paragraph(&format!("Steps: {}", counts.join(", ")), 2, 0);
    text.push_str(&format!("\n  {} │ without\n", padded("with the skill", column)));
    text.push_str(&format!("──{}┼{}\n", "─".repeat(column + 1), "─".repeat(column + 1)));
    let mut phases = ("", "");
    for row in &view.rows {
        let now = (
            row.with.as_ref().map_or(phases.0, |cell| cell.phase),
            row.without.as_ref().map_or(phases.1, |cell| cell.phase),
        );
        let heads = (now.0 != phases.0, now.1 != phases.1);
        if heads.0 || heads.1 {
            let head = |new: bool, phase: &str| if new { format!("· {phase} ·") } else { String::new() };
            let line = format!("  {} │ {}", padded(&head(heads.0, now.0), column), head(heads.1, now.1));
            text.push_str(&format!("{}\n", line.trim_end()));
            phases = now;
        }
        self::row(row, column, style, &mut text);
    }
    text
}

fn checks(view: &View, paragraph: &mut impl FnMut(&str, usize, usize)) {
    if view.checks.is_empty() {
        return;
    }
    paragraph("", 0, 0);
    let changed = view.checks.iter().filter(|row| row.change.is_some()).count();
    paragraph(
        &format!(
            "Checks of the verifier, with and without the skill ({changed} of {} changed)",
            view.checks.len()
        ),
        2,
        0,
    );
    for row in view.checks.iter().take(changed + UNCHANGED) {
        let [with, without, change] = check_result(row);
        let change = if change.is_empty() { String::new() } else { format!(" ({change})") };
        let message =
            if row.message.is_empty() { String::new() } else { format!(": {}", clean(&row.message)) };
        paragraph(&format!("{with}, {without}{change}  {}{message}", clean(&row.check)), 4, 4);
    }
    if view.checks.len() > changed + UNCHANGED {
        paragraph(&format!("and {} more that did not change", view.checks.len() - changed - UNCHANGED), 4, 0);
    }
}

fn directives(view: &View, paragraph: &mut impl FnMut(&str, usize, usize)) {
    paragraph("", 0, 0);
    paragraph(&format!("{}.", differing_directives(view)), 2, 0);
    for row in view.directives.iter().filter(|row| is_listed(row)) {
        let sides = format!("with: {}; without: {}", status(row, &row.with), status(row, &row.without));
        paragraph(&format!("{}, {}: {sides}", line_of(&row.file, row.line), clean(&row.subject)), 4, 2);
        paragraph(&format!("“{}”", clean(&row.text)), 6, 2);
        if let Some(location) = &row.with.location {
            paragraph(&format!("{}: {}", location.manner.name(), clean(&location.text)), 6, 2);
        }
        let checks: Vec<String> = row.checks.iter().map(|check| clean(&check.check)).collect();
        if !checks.is_empty() {
            paragraph(&format!("changed checks: {}", checks.join(", ")), 6, 2);
        }
    }
    if let Some(others) = other_directives(view) {
        paragraph(&format!("{others}."), 2, 2);
    }
}

fn row(row: &Aligned, column: usize, style: Style<'_>, text: &mut String) {
    let left = row.with.as_ref().map(|cell| self::cell(cell, row, column)).unwrap_or_default();
    let right = row.without.as_ref().map(|cell| self::cell(cell, row, column)).unwrap_or_default();
    for at in 0..left.len().max(right.len()) {
        let part = |lines: &[(Emphasis, String)]| {
            let (emphasis, line) =
                lines.get(at).map_or((Emphasis::Plain, ""), |(emphasis, line)| (*emphasis, line.as_str()));
            painted(&padded(line, column), emphasis, style)
        };
        let sign = if at == 0 { row.kind.sign() } else { ' ' };
        text.push_str(format!("{sign} {} │ {}", part(&left), part(&right)).trim_end_matches(' '));
        text.push('\n');
    }
}

fn cell(cell: &Cell, row: &Aligned, column: usize) -> Vec<(Emphasis, String)> {
    let mut lines = Vec::new();
    let mut add = |emphasis: Emphasis, indent: usize, text: &str, most: usize| {
        for line in wrap(&clean(text), column.saturating_sub(indent), most) {
            lines.push((emphasis, format!("{}{line}", " ".repeat(indent))));
        }
    };
    let marks: Vec<String> = remarks(cell).into_iter().map(|mark| format!(" [{mark}]")).collect();
    let differs: String = row.differs.iter().map(|what| format!(" [other {what}]")).collect();
    let emphasis = if row.kind == RowKind::Shared { Emphasis::Faint } else { Emphasis::Plain };
    add(
        emphasis,
        0,
        &format!("{} {} {}{}{differs}", cell.step, action_label(cell), cell.target, marks.concat()),
        LINES,
    );
    if cell.opened {
        add(Emphasis::Strong, 2, "◆ the skill was opened here", LINES);
    }
    let words = if cell.said.is_empty() && cell.tool.is_empty() { &cell.output } else { &cell.said };
    if let Some(first) = words.text.lines().find(|line| !line.trim().is_empty()) {
        add(Emphasis::Faint, 2, &format!("“{}”", first.trim()), LINES);
    }
    for evidence in cell.evidence.iter().take(EVIDENCE) {
        let what = if evidence.status == Status::Violated { "violated, " } else { "" };
        let head = format!(
            "◂ skill {}, {what}{}:",
            line_of(&evidence.skill_file, evidence.skill_line),
            evidence.when.name()
        );
        add(Emphasis::Strong, 2, &head, LINES);
        add(Emphasis::Plain, 4, &evidence.skill_text, LINES);
        add(Emphasis::Plain, 4, &format!("{}: {}", evidence.manner, evidence.trace_text), LINES);
    }
    if cell.evidence.len() > EVIDENCE {
        add(
            Emphasis::Plain,
            2,
            &format!(
                "… and {} of the skill",
                counted(cell.evidence.len() - EVIDENCE, "more line", "more lines")
            ),
            LINES,
        );
    }
    for (pattern, findings) in by_pattern(&cell.findings) {
        let lines: Vec<String> = findings.iter().map(|finding| finding.skill_line.to_string()).collect();
        add(Emphasis::Strong, 2, &format!("◂ {pattern}, skill line {}", lines.join(", ")), LINES);
    }
    lines
}

fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

fn painted(text: &str, emphasis: Emphasis, style: Style<'_>) -> String {
    match emphasis {
        Emphasis::Strong if style.color => format!("\u{1b}[1m{text}\u{1b}[0m"),
        Emphasis::Faint if style.color => format!("\u{1b}[2m{text}\u{1b}[0m"),
        _ => text.to_owned(),
    }
}

/// Lines of at most `width` columns, broken at spaces if there are any; text beyond `most` lines is
/// cut.
fn wrap(text: &str, width: usize, most: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let mut used = lines.last().map_or(0, |line| line.width());
        if used > 0 && used + 1 + word.width() > width && word.width() <= width {
            lines.push(String::new());
        } else if used > 0 {
            used += 1;
            lines.last_mut().expect("there is always a line").push(' ');
        }
        if lines.last().is_some_and(String::is_empty) {
            used = 0;
        }
        for c in word.chars() {
            let wide = c.width().unwrap_or(0);
            if used + wide > width {
                lines.push(String::new());
                used = 0;
            }
            used += wide;
            lines.last_mut().expect("there is always a line").push(c);
        }
        if lines.len() > most {
            lines.truncate(most);
            let last = lines.last_mut().expect("most is not 0");
            while last.width() + 1 > width {
                last.pop();
            }
            last.push('…');
            break;
        }
    }
    lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_wrap_at_spaces_by_display_width() {
        let check = |text: &str, width: usize, most: usize, expected: &[&str]| {
            assert_eq!(wrap(text, width, most), expected, "{text:?} in {width}");
        };
        check("", 5, 3, &[""]);
        check("one two three", 7, 3, &["one two", "three"]);
        check("one two three four", 5, 2, &["one", "two…"]);
        check("abcdefghij", 4, 9, &["abcd", "efgh", "ij"]);
        check("a abcdefghij", 4, 9, &["a ab", "cdef", "ghij"]);
        check("技能技能", 5, 9, &["技能", "技能"]);
        check("技", 1, 9, &["", "技"]);
        check("abcdefghij", 4, 2, &["abcd", "efg…"]);
        for width in 1..12 {
            for line in wrap("two words andalongone 技能技能 end", width.max(2), 99) {
                assert!(line.width() <= width.max(2), "{line:?} in {width}");
            }
        }
    }
}
